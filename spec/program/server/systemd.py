"""systemd.py -- `vesta serve` and a service manager: sd_notify(3) to a real socket, the watchdog, sockets from the
parent, and waiting requests at SIGTERM."""
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from serving import SLOW, WIDE, Server, bulks, claim, command, get, main, same, until_closed

SLOW_SECOND = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"  # 2 ids per second


class Manager:
    """The receiver of NOTIFY_SOCKET. Notices are dictionaries, in order."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.socket.settimeout(20 * SLOW)
        self.env = {"NOTIFY_SOCKET": name}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def hears(self):
        return dict(line.split("=", 1) for line in self.socket.recv(65536).decode().split("\n") if line)

    def rest(self):
        self.socket.setblocking(False)
        heard = []
        try:
            while True:
                heard.append(self.hears())
        except BlockingIOError:
            return heard


def handed(world, names, *files):
    """Returns the environment and wrapper that pass the files as descriptors 3 and up, with the server's own pid in
    LISTEN_PID."""
    high = [fcntl.fcntl(file.fileno(), fcntl.F_DUPFD, 50) for file in files]
    moves = " ".join("%d<&%d %d<&-" % (3 + i, fd, fd) for i, fd in enumerate(high))
    script = "export LISTEN_PID=$$ LISTEN_FDS=%d LISTEN_FDNAMES=%s; exec \"$@\" %s" % (len(high), names, moves)
    return {"wrap": ["bash", "-c", script, "-"], "pass_fds": high}


def fails_to_start(server, *parts):
    try:
        server.__enter__()
    except AssertionError as error:
        for part in parts:
            assert part in str(error), error
        server.process.stderr.close()
        return
    server.__exit__(None, None, None)
    raise AssertionError("it started")


# ------------------------------------------------------------------ sd_notify

@claim("READY is sent when ids can be issued, RELOADING and READY at SIGHUP, STOPPING at SIGTERM, in this order")
def _(world):
    for name in (world.path("notify"), "@vesta-test-%d" % os.getpid()):
        with Manager(name) as manager, Server(world, env=manager.env) as server:
            notice = manager.hears()
            same(notice["READY"], "1")
            assert "1 namespace" in notice["STATUS"], notice
            assert re.fullmatch(r"\d+", server.get("/genid").body)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            server.process.send_signal(signal.SIGHUP)
            notice = manager.hears()
            same(notice["RELOADING"], "1")
            assert before <= int(notice["MONOTONIC_USEC"]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, notice
            same(manager.hears()["READY"], "1")
            server.process.send_signal(signal.SIGTERM)
            same(manager.hears()["STOPPING"], "1")
            same(server.process.wait(20 * SLOW), 0)
            same(manager.rest(), [])


@claim("READY is not sent before the lease is held")
def _(world):
    with Server(world, "--namespace", "orders"), Manager(world.path("notify")) as manager:
        other = world.start("serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--namespace", "orders",
                            "--worker", "5", "--layout", WIDE, "--path", world.path("second.gen"), "--store",
                            "file:" + world.path("state"), env=manager.env, stderr=subprocess.DEVNULL)
        try:  # Worker 5 belongs to the first server.
            notice = manager.hears()
            same((notice["STATUS"], "READY" in notice), ("waiting for a worker id of orders", False))
        finally:
            other.kill()
            other.wait()


@claim("a store that went back is in the status, and a server started before its repair waits for it, then issues ids")
def _(world):
    store, older = world.path("leases.db"), world.path("older.db")
    place = ("--store", "sqlite:" + store, "--namespace", "orders")
    same(world.run("store", "init", *place, "--layout", WIDE).code, 0)
    with Manager(world.path("notify")) as manager:
        with Server(world, *place, "--lease", "strict", env=manager.env) as server:
            assert "1 namespace" in manager.hears()["STATUS"]
            shutil.copy(store, older)
            time.sleep(3)  # The server renews each second.
            os.replace(older, store)
            same(manager.hears()["STATUS"], "1 of 1 namespaces issue no ids: the log has the reason")
            assert "the store went back" in server.get("/readyz").body
            server.kill()
        with Server(world, *place, "--lease", "strict", quiet=True) as server:
            while "the store went back" not in server.get("/readyz").body:
                time.sleep(0.1)
            same(world.run("store", "advance", *place, "--lease", "strict", "--yes").code, 0)
            until_s = time.monotonic() + 60 * SLOW  # The floor is 20 s later.
            while not re.fullmatch(r"\d+", server.get("/genid").body):
                assert time.monotonic() < until_s
                time.sleep(0.1)


@claim("READY after a reload is sent when it has ended, with its result")
def _(world):
    policy = world.path("p.lua")

    def write(text):
        with open(policy + ".new", "w") as file:
            file.write(text)
        os.rename(policy + ".new", policy)

    write("return { api = 1, on_exhausted = function() return 'wait' end }")
    with Manager(world.path("notify")) as manager, Server(world, "--policy", policy, env=manager.env) as server:
        same(manager.hears()["READY"], "1")
        for text, status in (("return { api = 1, on_exhausted = 5 }", "the reload failed, so the old policies stay in use"),
                             ("return { api = 1, on_exhausted = function() return 'refuse' end }", "reloaded")):
            write(text)
            server.process.send_signal(signal.SIGHUP)
            same(manager.hears()["RELOADING"], "1")
            same(manager.hears(), {"READY": "1", "STATUS": status})
            server.listen("generation=")
            assert re.fullmatch(r"\d+", server.get("/genid").body)


@claim("if the manager cannot be notified, one line is logged and the server continues")
def _(world):
    full = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    full.bind(world.path("dead"))
    full.close()
    for number, (name, part) in enumerate(((world.path("nobody"), "No such file"), (world.path("dead"), "refused"),
                                           ("/" + "x" * 200, "too long"), ("vsock:2:1234", "not supported"),
                                           ("relative", "not supported"), ("@" + "y" * 150, "too long"))):
        with Server(world, "--namespace", "n%d" % number, env={"NOTIFY_SOCKET": name}) as server:
            assert "cannot notify the service manager" in server.said and part in server.said, server.said
            assert re.fullmatch(r"\d+", server.get("/genid").body)
    with Server(world, "--namespace", "again", env={"NOTIFY_SOCKET": world.path("late"), "WATCHDOG_USEC": "200000"}) as server:
        time.sleep(1)
        with Manager(world.path("late")) as manager:
            same(manager.hears(), {"WATCHDOG": "1"})
            server.listen("the service manager can be notified again")
        same(server.said.count("cannot notify the service manager"), 1)  # not for each notice of the watchdog
    with Server(world, "--namespace", "none", env={"NOTIFY_SOCKET": ""}) as server:
        assert "cannot notify the service manager" not in server.said, server.said


@claim("the watchdog is notified regularly if it is for this process")
def _(world):
    with Manager(world.path("notify")) as manager:
        with Server(world, env={**manager.env, "WATCHDOG_USEC": "200000"}):
            same(manager.hears()["READY"], "1")
            for _ in range(3):
                same(manager.hears(), {"WATCHDOG": "1"})
    for number, env in enumerate(({"WATCHDOG_USEC": "100000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "0"},
                                  {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "-5"}, {"WATCHDOG_USEC": "9" * 30})):
        with Manager(world.path("other%d" % number)) as manager:
            with Server(world, "--namespace", "n%d" % number, env={**manager.env, **env}) as server:
                time.sleep(0.2)
                assert re.fullmatch(r"\d+", server.get("/genid").body)
            same([notice for notice in manager.rest() if "WATCHDOG" in notice], [])


# ------------------------------------------------------------------ inherited sockets

@claim("inherited sockets serve the protocol of their name, and unnamed ones are HTTP and RESP in this order")
def _(world):
    for number, (names, faces) in enumerate((("resp:http", "rh"), ("vesta.socket:vesta.socket", "hr"), ("http:resp", "hr"),
                                             ("", "hr"), ("http:http:resp", "hhr"))):
        socks = [socket.create_server(("127.0.0.1", 0)) for _ in faces]
        with Server(world, "--namespace", "n%d" % number, **handed(world, names, *socks)) as server:
            for face, sock in zip(faces, socks):
                port = sock.getsockname()[1]
                if face == "h":
                    assert server.say(port, get("/genid", "Connection: close")).startswith(b"HTTP/1.1 200 ")
                else:
                    same(server.say(port, command("PING")), b"+PONG\r\n")
                assert "127.0.0.1:%d" % port in server.said, server.said
            # The addresses of the flags are not bound, because their protocols have sockets.
            for port in (server.http, server.resp):
                try:
                    server.connect(port).close()
                    raise AssertionError("port %d is bound" % port)
                except ConnectionRefusedError:
                    pass
        for sock in socks:
            sock.close()


@claim("an inherited admin socket is served, and over TCP only with a token")
def _(world):
    path = world.path("admin.sock")
    with socket.socket(socket.AF_UNIX) as local, socket.create_server(("127.0.0.1", 0)) as inet:
        local.bind(path)
        local.listen()
        with Server(world, **handed(world, "admin", local)):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(get("/healthz", "Connection: close"))
                assert until_closed(client).startswith(b"HTTP/1.1 200 ")
        how = handed(world, "admin", inet)
        with Server(world, "--namespace", "other", env={"VESTA_ADMIN_TOKEN": "t" * 32}, **how) as server:
            assert "serving the admin routes" in server.said, server.said


@claim("a protocol without an inherited socket keeps its address, and an inherited Unix socket remains when the "
       "server ends")
def _(world):
    path = world.path("h.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        with Server(world, **handed(world, "http", listener)) as server:
            same(server.redis("PING"), b"+PONG\r\n")
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(path)
                client.sendall(get("/genid", "Connection: close"))
                assert until_closed(client).startswith(b"HTTP/1.1 200 ")
        assert os.path.exists(path)


@claim("a client that connects while the server is replaced waits for the next server, and no id is duplicated")
def _(world):
    listener = socket.create_server(("127.0.0.1", 0))
    port, ids = listener.getsockname()[1], []
    for _ in range(3):
        waiting = socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW)  # No server accepts at this time.
        waiting.sendall(command("MGET", "default", "default"))
        with Server(world, "--http", "off", **handed(world, "resp", listener)) as server:
            ids += bulks(waiting.recv(200))
            ids += bulks(server.say(port, command("GET", "default") * 100))
        waiting.close()
    same((len(ids), ids), (306, sorted(set(ids))))
    listener.close()


@claim("descriptors that are not listening stream sockets are rejected with a message")
def _(world):
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    left, right = socket.socketpair()
    datagram, packets = socket.socket(type=socket.SOCK_DGRAM), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with open(os.devnull) as file, bound, left, right, datagram, packets:
        for wrong, part in ((datagram, "ListenStream="), (packets, "ListenStream="), (bound, "does not listen"),
                            (left, "does not listen"), (file, "is not a socket")):
            fails_to_start(Server(world, **handed(world, "http", wrong)), "ended with 1", "3 ('http')", part)


@claim("too many sockets, invalid descriptor counts, and public sockets without a password are rejected")
def _(world):
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    fails_to_start(Server(world, **handed(world, "", *socks)), "ended with 1", "socket 5", "FileDescriptorName=")
    for text in ("x", "-1", "25", "99999999999999999999", "3 "):
        script = "LISTEN_PID=$$ LISTEN_FDS='%s' exec \"$@\"" % text
        fails_to_start(Server(world, wrap=["bash", "-c", script, "-"]), "ended with 1", "LISTEN_FDS")
    with socket.create_server(("0.0.0.0", 0)) as public:
        fails_to_start(Server(world, **handed(world, "resp", public)), "ended with 2", "password")
        with open(world.path("password"), "w") as file:
            file.write("x" * 32)
        with Server(world, "--resp-password-file", world.path("password"), **handed(world, "resp", public)) as server:
            assert "clients send their secrets to this address unencrypted" in server.said, server.said
    fails_to_start(Server(world, **handed(world, "admin", socks[0])), "ended with 2", "VESTA_ADMIN_TOKEN")
    for sock in socks:
        sock.close()


@claim("sockets for another process are ignored")
def _(world):
    for number, env in enumerate(({"LISTEN_PID": "1", "LISTEN_FDS": "2"}, {"LISTEN_PID": "", "LISTEN_FDS": "2"}, {"LISTEN_FDS": "1"})):
        with Server(world, "--namespace", "n%d" % number, env=env) as server:
            assert re.fullmatch(r"\d+", server.get("/genid").body)


# ------------------------------------------------------------------ the drain

@claim("every accepted request that waits at SIGTERM is answered, and no id is duplicated")
def _(world):
    for threads in ("1", "2"):
        with Server(world, "--wait-ms", "4000", "--threads", threads, "--namespace", "t" + threads, layout=SLOW_SECOND,
                    pacing="clock") as server:
            resp = [server.connect(server.resp) for _ in range(3)]
            http = [server.connect(server.http) for _ in range(3)]
            for sock in resp:
                sock.sendall(command("GET", "t" + threads))
            for sock in http:
                sock.sendall(get("/genid"))
            time.sleep(0.1)  # At most 2 of the 6 are answered before a second has passed.
            server.process.send_signal(signal.SIGTERM)
            ids = [bulks(until_closed(sock)) for sock in resp]
            ids += [[int(until_closed(sock).split(b"\r\n\r\n")[1])] for sock in http]
            same([len(one) for one in ids], [1] * 6)
            same(len({id for one in ids for id in one}), 6)
            same(server.process.wait(10 * SLOW), 0)


@claim("a request sent before SIGTERM is answered, and no id is duplicated")
def _(world):
    ids = []
    for _ in range(5):
        with Server(world, "--threads", "2") as server:
            socks = [server.connect(port) for port in (server.resp, server.http) * 20]
            for number, sock in enumerate(socks):  # Each connection was accepted and is being served.
                sock.sendall(get("/healthz") if number % 2 else command("PING"))
                assert sock.recv(4096)
            for number, sock in enumerate(socks):
                sock.sendall(get("/genid") if number % 2 else command("GET", "default"))
            server.process.send_signal(signal.SIGTERM)
            said = [until_closed(sock) for sock in socks]
            ids += [int(found) for one in said for found in re.findall(rb"\r\n(\d{15,20})", one)]
            same(server.process.wait(10 * SLOW), 0)
    same((len(ids), len(set(ids))), (200, 200))


main()
