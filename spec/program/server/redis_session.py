"""redis_session.py -- connections of the Redis protocol."""
import os
import re
import socket
import threading

from serving import Configured, Server, bulks, claim, command, fails, free_port, get, main, same, SLOW, until_closed

SLOW_SECOND = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"
PASSWORD = "open sesame, this is he \u00e9"
NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"


def with_password(world, *flags, **kw):
    path = world.path("password")
    with open(path, "w") as file:
        file.write(PASSWORD + "\n")
    return Server(world, "--resp-password-file", path, *flags, **kw)


def talk(server, *commands):
    return server.say(server.resp, b"".join(command(*words) for words in commands))


# ------------------------------------------------------------------ protocols

@claim("HELLO selects the protocol: maps and nulls have their own form in RESP3, and arrays stay the same")
def _(world):
    greeting = (b"$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.0.0\r\n$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%d\r\n"
                b"$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n")
    with Server(world) as server:
        same(talk(server, ["HELLO"]), b"*14\r\n" + greeting % (2, 1))
        same(talk(server, ["HELLO", "2"]), b"*14\r\n" + greeting % (2, 2))
        same(talk(server, ["HELLO", "3"], ["hello"]), b"%7\r\n" + greeting % (3, 3) + b"%7\r\n" + greeting % (3, 3))
        same(talk(server, ["CLIENT", "GETNAME"], ["COMMAND", "INFO", "x"]), b"$-1\r\n*1\r\n*-1\r\n")
        data = talk(server, ["HELLO", "3", "SETNAME", "me"], ["CLIENT", "GETNAME"], ["COMMAND", "INFO", "x"], ["TIME"],
                    ["CONFIG", "GET", "save"], ["MGET", "default"], ["RESET"], ["CLIENT", "GETNAME"], ["CONFIG", "GET", "save"])
        assert re.fullmatch(rb"%7\r\n.*\*0\r\n\$2\r\nme\r\n\*1\r\n_\r\n\*2\r\n\$10\r\n\d+\r\n\$\d\r\n\d+\r\n%1\r\n\$4\r\nsave\r\n\$0\r\n\r\n"
                            rb"\*1\r\n\$\d+\r\n\d+\r\n\+RESET\r\n\$-1\r\n\*2\r\n\$4\r\nsave\r\n\$0\r\n\r\n", data, re.DOTALL), data
        for wrong in ("1", "4", "", "x", "3.0", "-3", "9" * 400, b"\0"):
            same((wrong, talk(server, ["HELLO", wrong], ["PING"])), (wrong, b"-NOPROTO unsupported protocol version\r\n+PONG\r\n"))
        for options in (["x"], ["AUTH", "default"], ["SETNAME"], ["AUTH"], ["SETNAME", "a", "b"]):
            assert talk(server, ["HELLO", "3", *options], ["CLIENT", "GETNAME"]).startswith(b"-ERR Syntax error in HELLO option"), options
        for name in ("a b", "x" * 48, "\n", b"\xff"):
            data = talk(server, ["HELLO", "3", "SETNAME", name], ["CLIENT", "GETNAME"])
            # The failed HELLO sets neither the name nor the protocol.
            assert re.fullmatch(rb"-ERR [ -~]+\r\n\$-1\r\n", data), (name, data)


# ------------------------------------------------------------------ passwords

@claim("without a configured password none is required, and AUTH fails with the text that clients recognise")
def _(world):
    with Server(world) as server:
        assert talk(server, ["AUTH", "x"]).startswith(b"-ERR AUTH <password> called without any password configured for the default user")
        same(talk(server, ["AUTH", "default", "x"], ["AUTH", "admin", "x"]), b"+OK\r\n" + WRONGPASS)
        same(talk(server, ["HELLO", "3", "AUTH", "admin", "x"], ["PING"]), WRONGPASS + b"+PONG\r\n")


@claim("before the password only AUTH, HELLO, RESET and QUIT are answered, and no id is issued")
def _(world):
    with with_password(world) as server:
        before = server.tick()
        for words in (["GET", "default"], ["MGET", "default"], ["VESTA.NEXT", "default"], ["VESTA.BLOCK", "default", "5"], ["PING"],
                      ["INFO"], ["COMMAND"], ["CLIENT", "ID"], ["MULTI"], ["EXEC"], ["SELECT", "0"], ["ECHO", "x"]):
            same((words, talk(server, words, words)), (words, NOAUTH * 2))
        assert talk(server, ["HELLO", "3"]).startswith(b"-NOAUTH HELLO must be called")
        assert talk(server, ["NOSUCH"]).startswith(b"-ERR unknown command")
        same(talk(server, ["RESET"]), b"+RESET\r\n")
        same(server.say(server.resp, command("QUIT"), end=False), b"+OK\r\n")
        same(server.tick(), before + 1)


@claim("only the right password is accepted, HELLO can contain it, and RESET requires it again")
def _(world):
    with with_password(world) as server:
        good = PASSWORD.encode()
        for wrong in (b"", good[:-1], good + b"x", good + b"\n", good + b"\0", good.upper(), good * 2, b"x" * 16384, b"\0" * len(good)):
            same((wrong[:40], talk(server, ["AUTH", wrong], ["PING"])), (wrong[:40], WRONGPASS + NOAUTH))
        for user in ("admin", "", "Default", "default "):
            same((user, talk(server, ["AUTH", user, PASSWORD], ["PING"])), (user, WRONGPASS + NOAUTH))
        same(talk(server, ["AUTH", PASSWORD], ["PING"], ["AUTH", "x"], ["PING"]), b"+OK\r\n+PONG\r\n" + WRONGPASS + b"+PONG\r\n")
        same(talk(server, ["AUTH", "default", PASSWORD], ["PING"], ["RESET"], ["PING"]), b"+OK\r\n+PONG\r\n+RESET\r\n" + NOAUTH)
        data = talk(server, ["HELLO", "3", "AUTH", "default", PASSWORD, "SETNAME", "me"], ["CLIENT", "GETNAME"])
        assert data.startswith(b"%7\r\n") and data.endswith(b"$2\r\nme\r\n"), data
        same(talk(server, ["HELLO", "3", "AUTH", "default", "x"], ["PING"]), WRONGPASS + NOAUTH)
        same(server.say(server.resp, b'AUTH "open sesame, this is he \\xc3\\xa9"\r\nPING\r\n'), b"+OK\r\n+PONG\r\n")


@claim("before the password Redis' limits apply, 10 arguments of 16 KiB, and vesta's limits afterwards")
def _(world):
    with with_password(world) as server:
        for data in (command(*["MGET"] + ["default"] * 10), command("ECHO", "x" * 16385), b"x" * 4096, b"*11\r\n", b"*1\r\n$16385\r\n"):
            reply = server.say(server.resp, data, end=False)
            assert re.fullmatch(rb"-ERR Protocol error: [ -~]+\r\n", reply), (data[:40], reply)
            same(talk(server, ["AUTH", PASSWORD], ["PING"]), b"+OK\r\n+PONG\r\n")
        same(talk(server, ["ECHO", "x" * 16384], ["MGET"] + ["default"] * 9), NOAUTH * 2)
        data = talk(server, ["AUTH", PASSWORD], ["MGET"] + ["default"] * 10, ["ECHO", "x" * 65536])
        assert data.startswith(b"+OK\r\n*10\r\n") and data.endswith(b"x" * 65536 + b"\r\n")


@claim("a password is one line of a file, and any other file is rejected at the start")
def _(world):
    def serve(content, *flags):
        if content is not None:
            with open(world.path("secret"), "wb") as file:
                file.write(content)
        return world.run("serve", "--http", "off", "--resp", "127.0.0.1:%d" % free_port(), "--resp-password-file", world.path("secret"), *flags)
    fails(serve(None), 1, "--resp-password-file", "No such file")
    for content in (b"", b"\n", b"a\nb\n", b"a\rb\n", b"a\0b\n", b"x" * 1024, b"x" * 100000, b"\na"):
        fails(serve(content), 2, "--resp-password-file", "a secret of 1 to 1023 bytes")
    os.remove(world.path("secret"))
    os.mkdir(world.path("secret"))
    fails(serve(None), 1, "directory")
    os.rmdir(world.path("secret"))
    for idle in ("0", "99", "-1", "x", "", "86400001", "9" * 30, "1e3"):
        fails(serve(b"a", "--resp-idle-ms", idle), 2, "resp-idle-ms")


@claim("secrets, configs, policies and clients files written on Windows are read")
def _(world):
    def write(name, text):
        with open(world.path(name), "wb") as file:
            file.write(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
        return world.path(name)
    with Server(world, "--resp-password-file", write("password", "s\u00e9same\n")) as server:
        same(talk(server, ["AUTH", "s\u00e9same"], ["PING"]), b"+OK\r\n+PONG\r\n")
    write("policy.lua", "return { api = 1 }\n")
    write("config.lua", 'return {\n  resp = { password = file("password") },\n  namespaces = { default = { worker = 5, policy = "./policy.lua" } } }\n')
    with Configured(world, world.path("config.lua")) as server:
        same(talk(server, ["AUTH", "s\u00e9same"], ["PING"]), b"+OK\r\n+PONG\r\n")
    added = world.run("client", "add", "web", "--file", world.path("clients"))
    same(added.code, 0)
    with open(world.path("clients")) as file:
        write("clients", file.read())
    same(world.run("client", "list", "--file", world.path("clients")).code, 0)


@claim("with a password the Redis protocol may listen on public addresses")
def _(world):
    port = free_port()
    with open(world.path("password"), "w") as file:
        file.write(PASSWORD)
    server = world.start("serve", "--http", "off", "--resp", "0.0.0.0:%d" % port, "--worker", "5", "--resp-password-file",
                         world.path("password"), stderr=open(world.path("said"), "w"))
    try:
        done = world.shell("for i in $(seq 200); do redis-cli -p %d PING && break; sleep 0.05; done 2>/dev/null; "
                           'REDISCLI_AUTH="$PASSWORD" redis-cli -p %d GET default' % (port, port), env={"PASSWORD": PASSWORD})
        assert re.search(r"NOAUTH Authentication required.\n\n\d{18,19}\n", done.out), (done.out, done.err, open(world.path("said")).read())
    finally:
        server.terminate()
        same(server.wait(15 * SLOW), 0)
    with open(world.path("said")) as said:
        assert re.search(r"level=warn msg=\"clients send their secrets to this address unencrypted.* proto=resp address=0.0.0.0:%d" % port, said.read())
    fails(world.run("serve", "--http", "off", "--resp", "0.0.0.0:%d" % port, "--resp-password-file", world.path("password")), 2,
          "--worker")


# ------------------------------------------------------------------ inline commands

@claim("an inline command may be quoted as in Redis, and an unclosed quote ends the connection")
def _(world):
    with Server(world) as server:
        def types(line):
            return server.say(server.resp, line + b"\r\n")
        same(types(b'ECHO "a \\"b\\" \\x41\\n"'), b'$8\r\na "b" A\n\r\n')
        same(types(b"ECHO 'it\\'s'"), b"$4\r\nit's\r\n")
        same(types(b'"PING" ""'), b"$0\r\n\r\n")
        same(len(bulks(types(b'  GET\t"default"  '))), 1)
        for line in (b'ECHO "a', b"ECHO 'a", b'ECHO "a"b', b"ECHO 'a'b", b'ECHO "a\\"', b"ECHO it's", b'"'):
            same((line, server.say(server.resp, line + b"\r\nPING\r\n", end=False)),
                 (line, b"-ERR Protocol error: unbalanced quotes in request\r\n"))
            same(server.redis("PING"), b"+PONG\r\n")
        same(types(b"ECHO " + b"x" * 65000), b"$65000\r\n" + b"x" * 65000 + b"\r\n")
        same(server.say(server.resp, b"x" * 65536, end=False), b"-ERR Protocol error: too big inline request (at most 65536 bytes)\r\n")


# ------------------------------------------------------------------ idle clients

@claim("an idle client of the Redis protocol is disconnected, but not a client that waits for an id, or an HTTP client")
def _(world):
    with Server(world, "--resp-idle-ms", "300", "--wait-ms", "20000", layout=SLOW_SECOND, pacing="clock") as server:
        resting, waiting, browser = server.connect(server.resp), server.connect(server.resp), server.connect(server.http)
        waiting.sendall(command("MGET", *["default"] * 13))  # 4 ids per second
        same(until_closed(resting), b"")
        same(server.redis("PING"), b"+PONG\r\n")
        waiting.shutdown(socket.SHUT_WR)
        same(len(bulks(until_closed(waiting))), 13)
        browser.sendall(get("/healthz", "Connection: close"))
        assert until_closed(browser).startswith(b"HTTP/1.1 200 ")
        for sock in (resting, waiting, browser):
            sock.close()


@claim("a policy decides about a transaction as a whole, which waits and gets all ids, or fails with one error")
def _(world):
    for verdict in ("wait", "refuse"):
        with open(world.path("policy.lua"), "w") as file:
            file.write('return { api = 1, on_exhausted = function() return "%s" end }' % verdict)
        with Server(world, "--policy", world.path("policy.lua"), "--wait-ms", "10", "--namespace", verdict, layout=SLOW_SECOND,
                    pacing="clock") as server:
            stream = b"MULTI\r\nGET %s\r\nPING\r\nVESTA.NEXT %s 12\r\nEXEC\r\nPING\r\nEXEC\r\n".replace(b"%s", verdict.encode())
            # On a slow machine the policy's first answer may be too late.
            for _ in range(20 if verdict == "wait" else 1):
                data = server.say(server.resp, stream)
                assert data.startswith(b"+OK\r\n" + b"+QUEUED\r\n" * 3) and data.endswith(b"+PONG\r\n-ERR EXEC without MULTI\r\n"), data
                ids = bulks(data)
                same((len(ids), data.count(b"-TRYAGAIN ")), (13, 0) if ids else (0, 1))
                if ids:
                    break
            same(bool(ids), verdict == "wait")  # 4 ids per second, and a few more may be available.
            assert all(b > a for a, b in zip(ids, ids[1:])), data


# ------------------------------------------------------------------ clients that never read

def send_all(sock, data):
    try:
        sock.sendall(data)
    except OSError:
        pass


def unread(server, data):
    """Sends all data without reading, and returns the growth of the server's memory, the socket, and the sending
    thread."""
    sock = server.connect(server.resp)
    sock.settimeout(300)
    before = most = server.rss_kb()
    sender = threading.Thread(target=send_all, args=(sock, data), daemon=True)
    sender.start()
    for _ in range(20):
        sender.join(0.1)
        most = max(most, server.rss_kb())
        same(server.redis("PING"), b"+PONG\r\n")
    return most - before, sock, sender


@claim("a client that sends a million commands and never reads costs bounded memory, and no reply is lost")
def _(world):
    with Server(world) as server:
        grown, sock, sender = unread(server, b"*2\r\n$3\r\nGET\r\n$7\r\ndefault\r\n" * 1000000)
        assert grown < 8 * 1024 * SLOW, "%d KiB" % grown
        assert sender.is_alive()  # The server stopped reading, so the client is blocked.
        parts, lines = [], 0
        while lines < 2000000:
            parts.append(sock.recv(1 << 20))
            lines += parts[-1].count(b"\n")
        ids = bulks(b"".join(parts))
        same(len(ids), 1000000)
        assert all(b > a for a, b in zip(ids, ids[1:]))
        sender.join()
        sock.close()


@claim("short commands with long unread replies cost bounded memory, in a transaction or not")
def _(world):
    with Server(world) as server:
        for data in (b"COMMAND DOCS\r\n" * 20000, b"VESTA.NEXT default 10000\r\n" * 2000,
                     b"MULTI\r\n" + b"COMMAND DOCS\r\n" * 9000 + b"EXEC\r\n"):
            grown, sock, _ = unread(server, data)
            assert grown < 8 * 1024 * SLOW, (data[:20], "%d KiB" % grown)
            sock.close()
            same(server.redis("PING"), b"+PONG\r\n")


main()
