"""life.py -- start, waits and end of `vesta serve`."""
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import time

from serving import Server, bulks, claim, command, fails, free_port, get, main, refuses_soon, same, SLOW, until_closed

SLOW_SECOND = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"    # 2 ids per second
SLOW_MILLI = "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"   # 4 ids per millisecond


@claim("a second server on a port ends with 1 and a message, and claims nothing")
def _(world):
    with Server(world) as server:
        for face, port in (("--http", server.http), ("--resp", server.resp)):
            other = "--resp" if face == "--http" else "--http"
            done = world.run("serve", face, "127.0.0.1:%d" % port, other, "off", "--worker", "6", "--namespace", "other")
            fails(done, 1, "127.0.0.1:%d is in use" % port, "choose another")
        assert not any("other" in name for _, _, names in os.walk(world.folder) for name in names)
        assert re.fullmatch(r"\d+", server.get("/genid").body)


@claim("invalid addresses, and addresses that others can reach without credentials, are rejected with 2")
def _(world):
    for flags, part in ((["--http", "8088"], "not an address"), (["--http", ":1"], "not an address"),
                        (["--http", "127.0.0.1:0"], "port '0'"), (["--http", "127.0.0.1:65536"], "65536"),
                        (["--http", "127.0.0.1:http"], "port 'http'"), (["--http", "::1:80"], "not an address"),
                        (["--http", "unix:"], "path"), (["--http", "unix:/" + "x" * 200], "path"),
                        (["--http", "no.such.host.invalid:80"], "no.such.host.invalid"), (["--http", ""], "needs a value"),
                        (["--http", "0.0.0.0:21099"], "--worker"), (["--http", "[::]:21099"], "--worker"),
                        (["--resp", "0.0.0.0:21099", "--worker", "1"], "password"),
                        (["--http", "off", "--resp", "off"], "nothing would be served"),
                        (["--threads", "0"], "threads"), (["--threads", "65"], "threads"), (["--wait-ms", "-1"], "wait-ms"),
                        (["extra"], "extra")):
        fails(world.run("serve", *flags), 2, part)
    fails(world.run("serve", "--http", "192.0.2.1:21099", "--worker", "1", "--open"), 1, "not an address of this machine")


@claim("a host name with several addresses is served on each of them, and the log names them")
def _(world):
    with open(world.path("hosts"), "w") as file:
        file.write("127.0.0.2 several.test\n127.0.0.3 several.test\n192.0.2.1 several.test\n")
    wrap = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', world.path("hosts"))
    host, addresses = "several.test", ["127.0.0.2", "127.0.0.3"]  # This machine does not have the third address.
    if subprocess.run([*wrap, "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        wrap, host, addresses = (), "localhost", ["127.0.0.1"]
    port = free_port()
    with Server(world, "--http", "%s:%d" % (host, port), "--open", "--resp", "off", wrap=wrap) as server:
        for address in addresses:
            with socket.create_connection((address, port)) as sock:
                sock.sendall(get("/healthz", "Connection: close"))
                assert until_closed(sock).endswith(b"ok\n"), address
            assert re.search(r'msg="serving HTTP" address="?[^"\n]*%s:%d' % (re.escape(address), port), server.said), server.said
        assert "192.0.2.1" not in server.said, server.said
    with open(world.path("hosts"), "w") as file:
        file.write("127.0.0.2 several.test\n0.0.0.0 several.test\n")
    if wrap:  # One of its addresses can be reached by other machines.
        serve = wrap[:4] + ("'%s'" % wrap[4], world.path("hosts"), '"$vesta"', "serve", "--http", "%s:%d" % (host, port))
        fails(world.shell(" ".join(serve)), 2, "other machines can reach it")


@claim("if a socket's path is not a socket, the message names what it is")
def _(world):
    path = world.path("s")
    for make, said in ((lambda: open(path, "w").close(), "this path is a file that is not a socket"),
                       (lambda: os.mkdir(path), "this path is a folder"),
                       (lambda: os.symlink("nowhere", path), "this path is a symbolic link")):
        make()
        done = world.run("serve", "--http", "unix:" + path, "--resp", "off", "--worker", "6")
        fails(done, 1, "unix:" + path, said)
        assert "another program" not in done.err, done.err
        os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    fails(world.run("serve", "--http", "unix:" + world.path("none", "s"), "--resp", "off", "--worker", "6"), 1, "folder does not exist")


@claim("the server listens on Unix sockets and on IPv6, and removes its socket file at the end")
def _(world):
    path, other = world.path("h.sock"), world.path("r.sock")
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(other)
    with Server(world, "--http", "unix:" + path, "--resp", "unix:" + other) as server:
        for name, say, answer in ((path, get("/healthz", "Connection: close"), b"ok\n"), (other, command("PING"), b"+PONG\r\n")):
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(name)
                sock.sendall(say)
                sock.shutdown(socket.SHUT_WR)
                assert until_closed(sock).endswith(answer)
        fails(world.run("serve", "--http", "unix:" + path, "--resp", "off", "--worker", "6"), 1, "is in use")
        assert "curl -s --unix-socket %s http://localhost/genid" % path in server.said, server.said
    assert not os.path.exists(path) and not os.path.exists(other)
    if os.path.exists("/proc/net/if_inet6") and open("/proc/net/if_inet6").read().strip():
        port = free_port()
        with Server(world, "--http", "[::1]:%d" % port) as server:
            with socket.create_connection(("::1", port), timeout=20) as sock:
                sock.sendall(get("/healthz", "Connection: close"))
                assert until_closed(sock).endswith(b"ok\n")


@claim("without --worker and --store the server draws a worker id, logs it, and keeps it")
def _(world):
    said = []
    for _ in range(2):
        server = Server(world)
        at = server.args.index("--worker")
        del server.args[at:at + 2]
        with server:
            said.append(re.search(r"worker=(\d+)(.*)", server.said).groups())
    assert "at random" in said[0][1], said
    same(said[0][0], said[1][0])


@claim("a request that must wait for an id does not delay other clients, and replies stay in order")
def _(world):
    with Server(world, "--wait-ms", "5000", layout=SLOW_MILLI, pacing="clock") as server:
        ids = json.loads(server.get("/v1/ids?n=100").body)["ids"]  # 25 ms of ids
        same(len(set(ids)), 100)
        data = server.say(server.resp, (command("GET", "default") + command("PING")) * 300)
        ids = bulks(data)
        assert len(ids) == 300 and ids == sorted(set(ids)), len(ids)
        assert re.fullmatch(rb"(\$\d+\r\n\d+\r\n\+PONG\r\n){300}", data), "out of order"
        with server.connect(server.resp) as sock:
            for _ in range(4):
                sock.sendall(command("MGET", *["default"] * 750))  # 188 ms each
            from_s = time.monotonic()
            same(server.get("/healthz").status, 200)
            waited_s = time.monotonic() - from_s
            assert sock.recv(100).startswith(b"*750\r\n$")
            assert waited_s < (time.monotonic() - from_s) / 2, "the loop was blocked"


@claim("single ids are issued while large batches wait")
def _(world):
    with Server(world, "--wait-ms", "3000", layout=SLOW_MILLI, pacing="clock") as server:
        greedy = [server.connect(server.http) for _ in range(4)]
        for sock in greedy:
            sock.sendall(get("/v1/ids?n=10000"))  # 2.5 s of ids each
        begun, singles = time.monotonic(), set()
        for _ in range(20):
            singles.add(server.get("/genid").body)
            if len(singles) == 1 or time.monotonic() - begun < 2:
                # None of the batches had to end first, except perhaps on a busy machine.
                same(select.select(greedy, [], [], 0)[0], [])
        same(len(singles), 20)
        for sock in greedy:
            assert re.match(rb"HTTP/1.1 (200|429|503) ", sock.recv(100))
            sock.close()


@claim("a request that would wait too long is rejected with the time to retry")
def _(world):
    with Server(world, "--wait-ms", "100", layout=SLOW_MILLI, pacing="clock") as server:
        reply = server.get("/v1/ids?n=10000")
        same((reply.status, reply.headers["retry-after"], json.loads(reply.body)["code"]), (503, "1", "full"))
        assert server.redis("MGET", *["default"] * 1000).startswith(b"-TRYAGAIN ")
        assert re.fullmatch(r"\d+", server.get("/genid").body)
    with Server(world, "--wait-ms", "0", "--namespace", "second", layout=SLOW_SECOND, pacing="clock") as server:
        replies = [server.get("/genid") for _ in range(8)]
        same(sorted({reply.status for reply in replies}), [200, 503])
        refused = [reply for reply in replies if reply.status == 503]
        assert all(reply.headers["retry-after"] in ("1", "2") for reply in refused), refused[0].headers
        refused = [server.redis("GET", "second")[:10] == b"-TRYAGAIN " for _ in range(8)]
        assert any(refused), "eight within a second or two, of which each has two ids"
    with Server(world, "--wait-ms", "5000", "--namespace", "patient", layout=SLOW_SECOND, pacing="clock") as server:
        same([server.get("/genid").status for _ in range(6)], [200] * 6)


@claim("ten thousand idle connections cost little memory, the next one is rejected, and closed ones make room again")
def _(world):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limit[1] >= 10500, "a hard limit of %d descriptors is too few for this test" % limit[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    path = world.path("admin.sock")
    with Server(world, "--admin", "unix:" + path) as server:
        before = server.rss_kb()
        socks = [socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW, source_address=("127.0.0.%d" % host, 0))
                 # One address may use half of a protocol's connections.
                 for host in (2, 3) for port in (server.http, server.resp) * 2500]
        for sock in socks[-2:]:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n" if sock is socks[-2] else b"PING\r\n")
            assert sock.recv(4096)
        grown = server.rss_kb() - before
        assert grown < 40 * 1024 * SLOW * SLOW, "%d KiB" % grown
        same(server.say(server.resp, b"", end=False), b"-ERR max number of clients reached\r\n")
        assert server.say(server.http, b"", end=False).startswith(b"HTTP/1.1 503 ")
        with socket.socket(socket.AF_UNIX) as admin:  # The admin has reserved descriptors.
            admin.connect(path)
            admin.sendall(get("/metrics", "Connection: close"))
            told = until_closed(admin)
        assert b'vesta_connections{proto="http"} 5000\n' in told and b'vesta_connections_refused_total{proto="http",reason="proto"} 1\n' in told
        for sock in socks[:100]:
            sock.close()
        time.sleep(0.2)
        same(server.redis("PING"), b"+PONG\r\n")
        for sock in socks:
            sock.close()


@claim("SIGTERM and SIGINT finish pending requests, reject new connections, and end with 0")
def _(world):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Server(world, "--wait-ms", "4000", "--threads", "2", "--namespace", "n%d" % number, layout=SLOW_SECOND, pacing="clock") as server:
            idle, busy, half = (server.connect(server.http) for _ in range(3))
            half.sendall(b"GET /genid HT")
            busy.sendall(get("/v1/ids?n=8"))  # 2 ids per second, and at most 6 before the first second has passed
            while "\nvesta_waiting_requests 1\n" not in server.get("/metrics").body:
                time.sleep(0.02)
            server.process.send_signal(number)
            refuses_soon(server)
            reply = until_closed(busy)
            assert reply.startswith(b"HTTP/1.1 200 OK\r\n") and b"Connection: close\r\n" in reply, reply
            same(len(json.loads(reply.split(b"\r\n\r\n")[1])["ids"]), 8)
            same(until_closed(idle), b"")
            half.close()
            same(server.process.wait(10 * SLOW), 0)


@claim("SIGTERM under load ends with 0, and every reply is complete")
def _(world):
    with Server(world, "--threads", "2") as server:
        load = subprocess.Popen(["redis-benchmark", "-p", str(server.resp), "-q", "-n", "100000000", "-P", "16", "GET", "default"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            server.process.send_signal(signal.SIGTERM)
            same(server.process.wait(10 * SLOW), 0)
        finally:
            load.kill()
            load.wait()


@claim("a second SIGTERM ends the server at once, and the next server issues no duplicate")
def _(world):
    server = Server(world, "--wait-ms", "60000", layout=SLOW_SECOND, pacing="clock").__enter__()
    first = [int(server.get("/genid").body) for _ in range(2)]
    with server.connect(server.resp) as sock:
        sock.sendall(command("MGET", *["default"] * 100))
        time.sleep(0.1)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        from_s = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(5), 128 + signal.SIGTERM)
        assert time.monotonic() - from_s < 3  # Draining would take five seconds.
    server.process.stderr.close()
    with Server(world, "--wait-ms", "60000", layout=SLOW_SECOND, pacing="clock") as second:
        assert int(second.get("/genid").body) > max(first)


@claim("if a second signal follows the first at once, the log still contains the first")
def _(world):
    with Server(world) as server:
        # Both signals are pending when the process continues.
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
            server.process.send_signal(number)
        assert server.process.wait(10 * SLOW) in (128 + signal.SIGINT, 128 + signal.SIGTERM)
        server.was_killed = True
        said = server.process.stderr.read()
        assert "stopping" in said, said


main()
