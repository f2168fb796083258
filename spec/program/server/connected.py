"""connected.py -- connections and the commands that list or end them, over all threads."""
import json
import os
import re
import signal
import socket
import subprocess
import time

from serving import SLOW, Server, claim, command, get, main, same, until_closed

NOPERM = b"-NOPERM this user has no permissions to run the 'client|kill' command\r\n"
WORDS = ("id addr laddr fd name age idle flags db sub psub ssub multi qbuf qbuf-free argv-mem multi-mem rbs rbp obl oll omem tot-mem "
         # The keys of Redis 7.0 in its order. go-redis rejects a line with any other key.
         "events cmd user redir resp").split()


class Connection:
    def __init__(self, server, *first):
        self.sock = server.connect(server.resp)
        self.file = self.sock.makefile("rb")
        for words in (["PING"], *first):  # The reply proves that the connection is registered.
            assert not self.ask(*words).startswith(b"-"), words

    def ask(self, *words):
        self.sock.sendall(command(*words))
        return self.reply()

    def reply(self):
        """Returns a reply as received, with bulk strings stripped of their length."""
        line = self.file.readline()
        if line[:1] == b"$" and line != b"$-1\r\n":
            return self.file.read(int(line[1:]) + 2)[:-2]
        if line[:1] == b"*":
            return [self.reply() for _ in range(int(line[1:]))]
        return line

    def id(self):
        return int(self.ask("CLIENT", "ID")[1:])

    def is_closed(self):
        return until_closed(self.sock) == b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def lines(text):
    return [dict(word.split("=", 1) for word in line.split(" ")) for line in text.decode().splitlines()]


def with_clients(world, *flags, **kw):
    """A server with an operator and two clients that may only request ids."""
    path = world.path("clients")
    with open(path, "w") as file:
        os.fchmod(file.fileno(), 0o600)
        for name, calls in (("ops", "give,read,operate"), ("shop", "give weight=3"), ("mail", "give")):
            digest = subprocess.run(["sha256sum"], input=secret(name), capture_output=True, text=True).stdout.split()[0]
            file.write("%s names=* calls=%s secret=random:2026-01-01T00:00:00Z:%s\n" % (name, calls, digest))
    return Server(world, "--clients", path, *flags, **kw)


def secret(name):
    return name.ljust(32, "x")


def auth(name):
    return ["AUTH", name, secret(name)]


def waits(server, has, expect):
    until = time.monotonic() + 20 * SLOW
    with Connection(server, auth("ops")) as ops:
        while True:
            seen = lines(ops.ask("CLIENT", "LIST"))
            if has(seen) == expect:
                return seen
            assert time.monotonic() < until, seen


# ------------------------------------------------------------------ lists

@claim("CLIENT LIST returns a line per connection of all threads and protocols, in Redis' format, to clients that may "
       "operate")
def _(world):
    with with_clients(world, "--threads", "4") as server:
        web = server.connect(server.http)
        web.sendall(b"GET /genid HTTP/1.1\r\nHost: t\r\n\r\n")
        assert web.recv(4096).startswith(b"HTTP/1.1 200 ")
        with Connection(server, auth("ops")) as ops, Connection(server, auth("shop"), ["CLIENT", "SETNAME", "till-3"]) as shop, \
                Connection(server, ["GET", "default"]) as nobody:
            shop.ask("GET", "default")
            shop.ask("MULTI"), shop.ask("GET", "default")
            text = ops.ask("CLIENT", "LIST")
            seen = {line["id"]: line for line in lines(text)}
            assert all([word.split("=", 1)[0] for word in line.split(" ")] == WORDS for line in text.decode().splitlines()), text
            same(list(map(int, seen)), sorted(map(int, seen)))
            me, till = seen[str(ops.id())], next(line for line in seen.values() if line["name"] == "till-3")
            same((me["cmd"], me["user"], me["flags"], me["resp"]), ("client|list", "ops", "N", "2"))
            same((till["cmd"], till["user"], till["flags"], till["multi"]), ("get", "shop", "x", "1"))
            same(till["addr"], "127.0.0.1:%d" % shop.sock.getsockname()[1])
            same({line["laddr"] for line in seen.values()}, {"127.0.0.1:%d" % server.resp, "127.0.0.1:%d" % server.http})
            same([line["user"] for line in seen.values() if line["cmd"] == "/genid"], ["default"])
            same(len(seen), 4)
            same(lines(ops.ask("CLIENT", "LIST", "ID", till["id"], "999999", str(2**63 - 1))), [till])
            same((len(lines(ops.ask("CLIENT", "LIST", "TYPE", "normal"))), ops.ask("CLIENT", "LIST", "TYPE", "pubsub")), (4, b""))
            same([line["id"] for line in lines(ops.ask("CLIENT", "INFO"))], [me["id"]])
            # A client without the right to operate sees only itself, whatever it asks for.
            same([line["name"] for line in lines(nobody.ask("CLIENT", "LIST"))], [""])
            same(nobody.ask("CLIENT", "LIST", "ID", till["id"]), b"")
        web.close()


@claim("invalid arguments of CLIENT LIST and KILL are rejected in Redis' words, and unsupported ones by name")
def _(world):
    with with_clients(world) as server, Connection(server, auth("ops")) as ops:
        for words, reply in (
                (["LIST", "ID", "x"], "Invalid client ID"), (["LIST", "ID", "9" * 30], "Invalid client ID"),
                (["LIST", "ID"], "syntax error"), (["LIST", "WHO", "x"], "syntax error"), (["LIST", "TYPE", "a"], "Unknown client type 'a'"),
                (["KILL", "ID", "0"], "client-id should be greater than 0"), (["KILL", "ID", "-1"], "client-id should be greater than 0"),
                (["KILL", "ID", "9" * 20], "client-id should be greater than 0"), (["KILL", "ID", ""], "client-id should be greater than 0"),
                (["KILL", "1.2.3.4:5"], "No such client"), (["KILL", ""], "No such client"), (["KILL", "\n\0"], "No such client"),
                (["KILL", "USER", "\r\nnobody"], "No such user '\\x0d\\x0anobody'"), (["KILL", "TYPE", "x"], "Unknown client type 'x'"),
                (["KILL", "SKIPME", "perhaps"], "syntax error"), (["KILL", "ID", "1", "ADDR"], "syntax error"), (["KILL", "MAXAGE", "1"], "syntax error"),
                (["NO-EVICT", "x"], "syntax error")):
            same((words, ops.ask("CLIENT", *words)), (words, b"-ERR " + reply.encode() + b"\r\n"))
        for words in (["PAUSE", "10"], ["PAUSE", "10", "WRITE"], ["UNPAUSE"], ["UNBLOCK", "1"], ["REPLY", "OFF"], ["TRACKING", "ON"]):
            assert re.fullmatch(rb"-ERR CLIENT [A-Z]+ is rejected[ -~]+\r\n", ops.ask("CLIENT", *words)), words
        for words in (["NO-EVICT", "on"], ["REPLY", "on"], ["TRACKING", "off"], ["SETINFO", "lib-name", "x"]):
            same((words, ops.ask("CLIENT", *words)), (words, b"+OK\r\n"))
        for words in (["ID", str(2**63 - 1)], ["ADDR", "x"], ["ADDR", "[::1]:1"], ["LADDR", "0.0.0.0:0"], ["TYPE", "pubsub"], ["USER", "mail"]):
            same((words, ops.ask("CLIENT", "KILL", *words)), (words, b":0\r\n"))
        same(ops.ask("PING"), b"+PONG\r\n")


# ------------------------------------------------------------------ ending

@claim("CLIENT KILL ends connections by id, address, local address, user and all of them, but not the caller unless "
       "it asks for that")
def _(world):
    with with_clients(world, "--threads", "4") as server, Connection(server, auth("ops")) as ops:
        def killed(victims, *words, reply):
            same((words, ops.ask("CLIENT", "KILL", *words)), (words, reply))
            for victim in victims:
                assert victim.is_closed(), words
        one = Connection(server)
        killed([one], "ID", str(one.id()), reply=b":1\r\n")
        one = Connection(server)
        killed([one], "127.0.0.1:%d" % one.sock.getsockname()[1], reply=b"+OK\r\n")
        one, other = Connection(server, auth("shop")), Connection(server, auth("shop"))
        killed([one], "ADDR", "127.0.0.1:%d" % one.sock.getsockname()[1], "USER", "shop", reply=b":1\r\n")
        killed([other], "USER", "shop", reply=b":1\r\n")
        some = [Connection(server, auth("mail")) for _ in range(8)]
        killed(some, "LADDR", "127.0.0.1:%d" % server.resp, "TYPE", "normal", reply=b":8\r\n")
        same(ops.ask("CLIENT", "KILL", "ID", str(ops.id())), b":0\r\n")
        line = server.listen("CLIENT KILL ended connections")
        assert "ended=1" in line and "address=127.0.0.1 client=ops proto=resp" in line, line
        same(ops.ask("CLIENT", "KILL", "USER", "ops", "SKIPME", "no"), b":1\r\n")
        assert ops.is_closed()


@claim("a client without the right to operate can end only itself, and a server without a clients file requires the "
       "password or a Unix socket")
def _(world):
    with with_clients(world) as server, Connection(server, auth("ops")) as ops, Connection(server, auth("shop")) as shop:
        same([shop.ask("CLIENT", "KILL", *words) for words in (["USER", "ops"], ["ID", str(ops.id())], ["127.0.0.1:1"])], [NOPERM] * 3)
        same(shop.ask("CLIENT", "KILL", "127.0.0.1:%d" % shop.sock.getsockname()[1]), b"+OK\r\n")
        assert shop.is_closed() and ops.ask("PING") == b"+PONG\r\n"
        same(server.redis("MULTI") + server.say(server.resp, command("MULTI") + command("CLIENT", "KILL", "SKIPME", "no") + command("EXEC") + command("PING")),
             b"+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:1\r\n+PONG\r\n")
    path = world.path("s")
    with Server(world) as server, Connection(server) as tcp:
        same(tcp.ask("CLIENT", "KILL", "USER", "default"), NOPERM)
    with Server(world, "--resp", "unix:" + path, quiet=True) as server, socket.socket(socket.AF_UNIX) as sock:
        web = server.connect(server.http)
        web.sendall(get("/genid"))
        assert web.recv(4096).startswith(b"HTTP/1.1 200 ")
        sock.connect(path)
        sock.sendall(command("CLIENT", "LIST") + command("CLIENT", "KILL", "USER", "default") + command("QUIT"))
        text = until_closed(sock)
        assert b"addr=unix laddr=unix " in text and b"laddr=127.0.0.1:" in text and b":1\r\n+OK\r\n" in text, text
        same(until_closed(web), b"")


@claim("a connection can be ended while it waits for an id, in a transaction, and while it reads a long list")
def _(world):
    slow = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"
    with with_clients(world, "--threads", "2", "--wait-ms", "5000", layout=slow, pacing="clock") as server, Connection(server, auth("ops")) as ops:
        waiting, queued = Connection(server, auth("shop")), Connection(server, auth("shop"), ["MULTI"])
        queued.ask("GET", "default")
        waiting.sock.sendall(command("VESTA.NEXT", "default", "1000"))
        seen = waits(server, lambda seen: sorted(line["flags"] for line in seen if line["user"] == "shop"), ["b", "x"])
        same([line["multi"] for line in seen if line["flags"] == "x"], ["1"])
        same(ops.ask("CLIENT", "KILL", "USER", "shop"), b":2\r\n")
        assert waiting.is_closed() and queued.is_closed()
        assert re.search(r"(?m)^vesta_waiting_requests 0$", server.get("/metrics", headers={"Authorization": "Bearer " + secret("ops")}).body)
        assert int(ops.ask("GET", "default")) > 0


@claim("1,400 connections on four threads are listed completely and ended at once")
def _(world):
    many = 1400
    with with_clients(world, "--threads", "4") as server:
        with Connection(server, auth("ops")) as ops:
            crowd = [Connection(server) for _ in range(many)]
            for one in crowd:
                one.sock.sendall(command(*auth("shop")) + command("CLIENT", "SETNAME", "n" * 47))
            for one in crowd:
                same(one.reply() + one.reply(), b"+OK\r\n+OK\r\n")
            text = ops.ask("CLIENT", "LIST")
            assert len(text) > 344 * 1024, len(text)  # longer than a reply may be
            same((len(lines(text)), text.count(b"user=shop ")), (many + 1, many))
            for one in crowd[:many // 2]:  # Half of them send a request while they are ended.
                one.sock.sendall(command("GET", "default") * 20)
            same(ops.ask("CLIENT", "KILL", "USER", "shop"), b":%d\r\n" % many)
            for one in crowd:
                until_closed(one.sock)
                one.sock.close()
            waits(server, lambda seen: [line["user"] for line in seen], ["ops", "ops"])


@claim("a client that is removed while connected is listed as default, and can be ended")
def _(world):
    with with_clients(world) as server, Connection(server, auth("ops")) as ops, Connection(server, auth("mail")) as mail:
        path = world.path("clients")
        with open(path) as file:
            left = [line for line in file if not line.startswith("mail ")]
        with open(path, "w") as file:
            file.writelines(left)
        server.process.send_signal(1)
        server.listen("the file of clients was reloaded")
        assert mail.ask("GET", "default").startswith(b"-NOAUTH"), "its secret is gone"
        same(ops.ask("CLIENT", "KILL", "USER", "mail"), b"-ERR No such user 'mail'\r\n")
        same([line["user"] for line in lines(ops.ask("CLIENT", "LIST"))], ["ops", "default"])
        same(ops.ask("CLIENT", "KILL", "USER", "default"), b":1\r\n")
        assert mail.is_closed()


# ------------------------------------------------------------------ the admin's routes, metrics, the log

def admin(world, path, method="GET", *headers):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(world.path("admin"))
        sock.sendall(get(path, "Connection: close", *headers, method=method))
        head, _, body = until_closed(sock).decode().partition("\r\n\r\n")
    assert body[:1] == "{", (head, body)
    return int(head.split()[1]), json.loads(body)


def administered(world, *flags):
    return with_clients(world, "--admin", "unix:" + world.path("admin"), *flags, env={"VESTA_ADMIN_TOKEN": "t" * 32})


BEARER = "Authorization: Bearer " + secret("ops")


@claim("/admin/clients lists clients, and connections in pages, with their number of ids and their address")
def _(world):
    with administered(world, "--threads", "3") as server, Connection(server, auth("shop"), ["CLIENT", "SETNAME", 'a"b\\']) as shop, \
            Connection(server, auth("mail")) as mail, Connection(server) as nobody:
        for _ in range(3):
            assert int(shop.ask("GET", "default")) > 0
        same(len(shop.ask("VESTA.NEXT", "default", "1000")), 1000)
        assert int(mail.ask("GET", "default")) > 0
        assert mail.ask("VESTA.INFO", "x").startswith(b"-ERR") and mail.ask("VESTA.BLOCK", "default", "5").startswith(b"-NOPERM")
        same(admin(world, "/admin/clients")[1]["code"], "no_token")
        until = time.monotonic() + 20 * SLOW
        while True:  # The rejected connection may still be listed for a moment.
            status, said = admin(world, "/admin/clients", "GET", BEARER)
            same(status, 200)
            known = {client["name"]: client for client in said["clients"]}
            if known["default"]["connections"] == 1:
                break
            assert time.monotonic() < until, known
        same(set(known), {"(others)", "default", "shop", "mail", "ops"})
        same([(known[name]["connections"], known[name]["ids"]) for name in ("default", "shop", "mail")], [(1, 0), (1, 1003), (1, 1)])
        same(known["mail"]["refused"], {"request": 1, "rights": 1, "rate": 0, "pause": 0})
        same(known["shop"]["share"], {"rate": 0, "requests": 0, "weight": 3, "held": 0, "refused": 0})
        # This client has no line in the file.
        same({name for name in known if "share" not in known[name]}, {"(others)", "default"})
        same(known["shop"]["last_address"], "127.0.0.1")
        assert abs(known["shop"]["last_unix_ms"] / 1000 - time.time()) < 600
        mine = next(c for c in said["connections"] if c["client"] == "shop")
        same((mine["name"], mine["proto"], mine["ids"], mine["requests"], mine["refused"], mine["last"], mine["waits"]),
             ('a"b\\', "resp", 1003, 7, 0, "vesta.next", False))
        same((mine["address"], mine["to"]), ("127.0.0.1:%d" % shop.sock.getsockname()[1], "127.0.0.1:%d" % server.resp))
        same(next(c for c in said["connections"] if c["proto"] == "admin")["client"], "ops")
        # Pages, and the order by ids.
        ids, after = [], ""
        while True:
            page = admin(world, "/admin/clients?n=1" + after, "GET", BEARER)[1]
            ids += [c["id"] for c in page["connections"]]
            if "next" not in page:
                break
            after = "&after=%d" % page["next"]
        assert ids == sorted(set(ids)) and {shop.id(), mail.id(), nobody.id()} < set(ids), ids
        same([c["client"] for c in admin(world, "/admin/clients?by=ids&n=2", "GET", BEARER)[1]["connections"]], ["shop", "mail"])
        same([c["client"] for c in admin(world, "/admin/clients?client=mail&address=127.0.0.1", "GET", BEARER)[1]["connections"]], ["mail"])
        same(admin(world, "/admin/clients?client=mail&address=::1", "GET", BEARER)[1]["connections"], [])
        for wrong in ("n=0", "n=401", "n=x", "after=-1", "after=" + "9" * 30, "by=name", "who=me"):
            same((wrong, admin(world, "/admin/clients?" + wrong, "GET", BEARER)[0]), (wrong, 400))


@claim("/admin/clients/end ends connections that match client, address and id together, and none without arguments")
def _(world):
    with administered(world, "--threads", "3") as server:
        shop, other, mail = Connection(server, auth("shop")), Connection(server, auth("shop")), Connection(server, auth("mail"))
        same(admin(world, "/admin/clients/end?client=shop", "POST")[1]["code"], "no_token")
        same(admin(world, "/admin/clients/end?client=shop", "GET", BEARER)[0], 405)
        same(admin(world, "/admin/clients/end?client=shop", "POST", BEARER, "Sec-Fetch-Site: cross-site")[0], 403)
        line = server.listen("a request from a web page of another site was rejected")
        assert "address=unix" in line and "proto=admin" in line, line
        same(admin(world, "/admin/clients/end?client=shop", "POST", "Authorization: Bearer " + secret("mail"))[1]["code"], "not_allowed")
        for wrong in ("", "?id=0", "?id=x", "?id=" + "9" * 30, "?all=1"):
            same((wrong, admin(world, "/admin/clients/end" + wrong, "POST", BEARER)[0]), (wrong, 400))
        same([c.ask("PING") for c in (shop, other, mail)], [b"+PONG\r\n"] * 3)
        same(admin(world, "/admin/clients/end?id=%d&client=mail" % shop.id(), "POST", BEARER), (200, {"ended": 0}))
        same(admin(world, "/admin/clients/end?id=%d&client=shop" % shop.id(), "POST", BEARER), (200, {"ended": 1}))
        assert shop.is_closed() and other.ask("PING") == b"+PONG\r\n"
        line = server.listen("admin: connections ended")
        assert "ended=0" in line and 'over="a unix socket" address=unix client=ops proto=admin' in line, line
        same(admin(world, "/admin/clients/end?address=127.0.0.1", "POST", BEARER), (200, {"ended": 2}))
        assert other.is_closed() and mail.is_closed()


@claim("metrics per client count open connections and rejected requests by cause")
def _(world):
    with with_clients(world) as server, Connection(server, auth("shop")) as shop, Connection(server) as nobody:
        def figures():
            body = server.get("/metrics", headers={"Authorization": "Bearer " + secret("ops")}).body
            return dict(re.findall(r'(?m)^(vesta_client_\w+\{client="[^"]+(?:",reason="\w+)?"\}) (\d+)$', body))
        shop.ask("VESTA.BLOCK", "default", "5"), shop.ask("GET", "nothing"), shop.ask("GET")
        shop.ask("AUTH", "mail", secret("mail"))
        seen = figures()
        same([seen['vesta_client_connections{client="%s"}' % name] for name in ("shop", "mail", "default", "ops")], ["0", "1", "1", "1"])
        same([seen['vesta_client_refused_total{client="shop",reason="%s"}' % why] for why in ("rights", "request", "pause", "rate")],
             ["1", "2", "0", "0"])
        shop.sock.close(), nobody.sock.close()
        shop.file.close(), nobody.file.close()
        until = time.monotonic() + 20 * SLOW
        while [figures()['vesta_client_connections{client="%s"}' % name] for name in ("mail", "default")] != ["0", "0"]:
            assert time.monotonic() < until, figures()


# ------------------------------------------------------------------ rights that change during a request

def rewrite(world, pattern, to):
    with open(world.path("clients")) as file:
        text = file.read()
    with open(world.path("clients"), "w") as file:
        file.write(re.sub("(?m)^" + pattern, to, text))


def reload_with(world, server, pattern, to):
    rewrite(world, pattern, to)
    server.process.send_signal(signal.SIGHUP)
    server.listen("the file of clients was reloaded")


@claim("a transaction that waited and began to reply is answered completely, even if its client's rights changed")
def _(world):
    text = "x" * 60000
    server = with_clients(world)
    rewrite(world, "shop .*", r"\g<0> requests=100")
    with server, socket.socket() as sock, Connection(server, auth("shop")) as other:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # Most of the reply does not fit into the buffers.
        sock.settimeout(20 * SLOW)
        sock.connect(("127.0.0.1", server.resp))
        sock.sendall(command(*auth("shop")) + command("MULTI") + command("ECHO", text) * 15)
        file = sock.makefile("rb")
        same([file.readline() for _ in range(17)], [b"+OK\r\n"] * 2 + [b"+QUEUED\r\n"] * 15)
        other.sock.sendall(command("PING") * 130)  # This exceeds the client's rate, so that EXEC waits.
        sock.sendall(command("EXEC"))
        same(file.read(1), b"*")
        reload_with(world, server, "shop names=. calls=give ", "shop names=* calls=give,read ")
        same(file.readline(), b"15\r\n")
        for _ in range(15):
            same((file.readline(), file.read(60002)), (b"$60000\r\n", text.encode() + b"\r\n"))
        sock.sendall(command("GET", "default"))
        assert file.readline()[:1] == b"$"


@claim("a connection whose client was removed does not wait for that client's rate")
def _(world):
    server = with_clients(world)
    rewrite(world, "shop .*", r"\g<0> requests=1")
    with server, Connection(server, auth("shop")) as shop:
        shop.ask("MULTI")
        for _ in range(20):
            shop.ask("PING")
        same(len(shop.ask("EXEC")), 20)  # The client is twenty seconds over its rate.
        reload_with(world, server, "shop .*\n", "")
        same(shop.ask("AUTH", "mail", secret("mail")), b"+OK\r\n")


@claim("an admin's event stream ends if its client is removed or loses the right to operate, and other streams "
       "continue")
def _(world):
    def watch(authorization):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20 * SLOW)
        sock.connect(world.path("admin"))
        sock.sendall(get("/admin/events", authorization))
        file = sock.makefile("rb")
        same(file.readline(), b"HTTP/1.1 200 OK\r\n")
        return file

    with administered(world) as server:
        reload_with(world, server, "shop names=. calls=give ", "shop names=* calls=give,operate ")
        by_token, gone, less = watch("Authorization: Bearer " + "t" * 32), watch(BEARER), watch("Authorization: Bearer " + secret("shop"))
        reload_with(world, server, "ops .*\n|shop names=. calls=give,operate (.*)",
                    lambda line: "shop names=* calls=give " + line[1] if line[1] else "")
        gone.read(), less.read()
        ended = time.time()
        while True:
            line = by_token.readline()
            assert line
            if line.startswith(b"data: ") and json.loads(line[6:])["unix_ms"] > 1000 * ended:
                break


main()
