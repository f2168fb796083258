"""names.py -- clients with names: rights, rotation of secrets, and invalid files."""
import base64
import json
import os
import re
import signal
import stat
import subprocess

from ports import free_port, give_back
from servers import until
from serving import Configured, Server, claim, command, fails, get, main, same, until_closed

NOAUTH = b"-NOAUTH Authentication required.\r\n"
WRONGPASS = b"-WRONGPASS invalid username-password pair or user is disabled.\r\n"
NOPERM = b"-NOPERM this user has no permissions to "
NOT_HIS = NOPERM + b"access one of the keys used as arguments\r\n"


def client(world, *words, code=0, stdin=b""):
    done = world.run("client", *words, "--file", world.path("clients"), stdin=stdin)
    assert done.code == code, (words, done.code, done.err)
    return done.out.strip()


def write(world, name, text):
    with open(world.path(name), "w") as file:
        file.write(text)
    return world.path(name)


def three(world):
    """Adds orders, web and ops, which has all rights, and returns their tokens."""
    return {"orders": client(world, "add", "orders", "--names", "default", "--calls", "give,block", "--n", "100"),
            "web": client(world, "add", "web", "--names", "other*,web", "--calls", "give"),
            "ops": client(world, "add", "ops", "--calls", "give,block,read,make,operate")}


def named(world, *flags, **kw):
    return Server(world, "--clients", world.path("clients"), *flags, **kw)


def talk(server, *commands):
    return server.say(server.resp, b"".join(command(*words) for words in commands))


def asks(server, path, *said, **kw):
    headers = {"Authorization": said[0]} if said else {}
    reply = server.get(path, headers=headers, **kw)
    code = json.loads(reply.body)["code"] if reply.headers["content-type"] == "application/problem+json" else None
    return (reply.status, code) if code else reply.status


def bearer(secret):
    return "Bearer " + secret


def basic(name, secret):
    return "Basic " + base64.b64encode(("%s:%s" % (name, secret)).encode()).decode()


def nobody(world):
    """Removes all rights of requests without credentials. By default, clients on this machine have most rights."""
    with open(world.path("clients"), "a") as file:
        file.write("default names=* calls=give secret=random:2026-11-23T15:30:00Z:%s\n" % ("ab" * 32))


def hup(server, part):
    server.process.send_signal(signal.SIGHUP)
    return server.listen(part)


# ------------------------------------------------------------------ rights

@claim("over the Redis protocol each client has its names and calls, with Redis' errors, and a client without "
       "credentials is default")
def _(world):
    secrets = three(world)
    nobody(world)
    with named(world) as server:
        same(talk(server, ["GET", "default"], ["ACL", "WHOAMI"]), NOAUTH + NOAUTH)
        for name, secret in secrets.items():
            same(talk(server, ["AUTH", name, secret], ["ACL", "WHOAMI"]), b"+OK\r\n$%d\r\n%s\r\n" % (len(name), name.encode()))
        orders = ["AUTH", "orders", secrets["orders"]]
        assert talk(server, orders, ["GET", "default"]).startswith(b"+OK\r\n$"), "its own name"
        same(talk(server, orders, ["GET", "nowhere"]), b"+OK\r\n" + NOT_HIS)
        same(talk(server, orders, ["MGET", "default", "nowhere"]), b"+OK\r\n" + NOT_HIS)
        same(talk(server, orders, ["VESTA.MAKE", "default", "time", "1", "seq", "1"]), b"+OK\r\n" + NOPERM + b"run the 'vesta.make' command\r\n")
        same(talk(server, orders, ["VESTA.EXPLAIN", "1"]), b"+OK\r\n" + NOPERM + b"run the 'vesta.explain' command\r\n")
        assert b"bad_count" not in talk(server, orders, ["VESTA.NEXT", "default", "100"])
        assert b"must be a number from 1 to 100\r\n" in talk(server, orders, ["VESTA.NEXT", "default", "101"])
        assert b"-ERR" in talk(server, orders, ["VESTA.BLOCK", "default", "101"])
        assert b"seq_bits" in talk(server, orders, ["VESTA.BLOCK", "default", "100"])
        same(talk(server, ["AUTH", "web", secrets["web"]], ["GET", "default"]), b"+OK\r\n" + NOT_HIS)
        assert b"user=orders" in talk(server, orders, ["CLIENT", "LIST"])
        hello = talk(server, ["HELLO", "3", "AUTH", "orders", secrets["orders"]], ["ACL", "WHOAMI"])
        assert hello.startswith(b"%7\r\n") and hello.endswith(b"$6\r\norders\r\n"), hello
        same(talk(server, ["AUTH", secrets["orders"]], ["ACL", "WHOAMI"]), b"+OK\r\n$6\r\norders\r\n")


@claim("a command without the right is rejected when it is queued, and discards the transaction as in Redis")
def _(world):
    secrets = three(world)
    with named(world) as server:
        same(talk(server, ["AUTH", "orders", secrets["orders"]], ["MULTI"], ["GET", "nowhere"], ["GET", "default"], ["EXEC"]),
             b"+OK\r\n+OK\r\n" + NOT_HIS + b"+QUEUED\r\n-EXECABORT Transaction discarded because of previous errors.\r\n")
        said = talk(server, ["AUTH", "orders", secrets["orders"]], ["MULTI"], ["VESTA.MAKE", "default", "time", "1", "seq", "1"], ["EXEC"])
        assert NOPERM + b"run the 'vesta.make' command\r\n-EXECABORT" in said, said


@claim("HTTP accepts a secret as Bearer, Basic or tinyid's token, and 401 and 403 have problem documents")
def _(world):
    secrets = three(world)
    nobody(world)
    with named(world) as server:
        same(asks(server, "/v1/ids"), (401, "no_password"))
        same(server.get("/genid").headers["www-authenticate"], 'Bearer realm="vesta", Basic realm="vesta"')
        for said in (bearer(secrets["orders"]), "bearer " + secrets["orders"], basic("orders", secrets["orders"]), basic("", secrets["orders"])):
            same((asks(server, "/v1/ids", said), asks(server, "/genid", said)), (200, 200))
        for wrong in (secrets["orders"], bearer("x")):
            assert "send the client's current token as Authorization: Bearer TOKEN" in server.get("/genid", headers={"Authorization": wrong}).body
        orders = bearer(secrets["orders"])
        same(asks(server, "/v1/ids?ns=nowhere", orders), (403, "not_allowed"))
        same(asks(server, "/v1/ids?n=101", orders), (400, "bad_count"))
        same(asks(server, "/v1/blocks?n=10", orders), 200)
        same(asks(server, "/v1/ids/5", orders), (403, "not_allowed"))
        same(asks(server, "/metrics", orders), 403)
        same(asks(server, "/genid", "=" + secrets["orders"]), 401)  # a header that looks like a cached token of tinyid
        same(asks(server, "/v1/ids", basic("web", secrets["web"])), (403, "not_allowed"))
        same(asks(server, "/v1/blocks?n=10", basic("web", secrets["web"])), (403, "not_allowed"))
        same((asks(server, "/healthz"), asks(server, "/readyz"), asks(server, "/metrics"), asks(server, "/")), (200, 200, 401, 401))
        assert 'vesta_client_ids_total{client="orders"} ' in server.get("/metrics", headers={"Authorization": bearer(secrets["ops"])}).body
        same(server.get("/tinyid/id/nextId?bizType=default&token=x").body, '{"data":null,"code":5,"message":"token is error"}')
        assert "is a namespace" in server.get("/tinyid/id/nextId?bizType=default&token=" + secrets["orders"]).body


@claim("a secret is valid only for its own request, even though threads cache headers")
def _(world):
    secrets = three(world)
    nobody(world)
    with named(world) as server:
        right, none = get("/genid", "Authorization: " + bearer(secrets["orders"])), get("/genid")
        wrong = get("/genid", "Authorization: " + bearer(secrets["orders"][:-1] + "0"))
        same(re.findall(rb"HTTP/1.1 (\d+)", server.say(server.http, right + none + right + wrong + right + none)),
             [b"200", b"401", b"200", b"401", b"200", b"401"])
        # Two of them share each entry of a thread's header cache.
        socks = [server.connect(server.http) for _ in range(130)]
        for sock in socks[::2]:
            sock.sendall(right)
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        for sock in socks[1::2]:
            sock.sendall(none)
            assert sock.recv(4096).startswith(b"HTTP/1.1 401 ")
        for sock in socks:
            sock.close()


@claim("a request that fails after its token was accepted leaves no rights to the next one, which a proxy may send "
       "for another client")
def _(world):
    secrets = three(world)
    client(world, "add", "default", "--names", "nothing", "--calls", "give")
    with named(world) as server, server.connect(server.http) as sock:
        def status(*said):
            sock.sendall(get("/v1/ids?ns=web", *said))
            return sock.recv(4096).split(b" ")[1]

        def is_refused():  # The token is valid, but this route has no images.
            same(status("Authorization: " + basic("web", secrets["web"]), "Accept: image/png"), b"406")
        is_refused()
        same(status(), b"403")
        is_refused()
        same(status("Authorization: " + basic("web", "a wrong one")), b"401")
        # It has the right, but the namespace does not exist.
        same(status("Authorization: " + basic("web", secrets["web"])), b"404")


@claim("without a line for default, this machine has all rights except operate, and a wrong secret still gets 401")
def _(world):
    three(world)
    port = free_port()
    with named(world, "--admin", "127.0.0.1:%d" % port) as server:
        assert talk(server, ["GET", "default"]).startswith(b"$")
        same((asks(server, "/genid"), asks(server, "/v1/blocks?n=3"), asks(server, "/metrics")), (200, 200, 200))
        same(asks(server, "/genid", bearer("nothing")), 401)
        assert b"401 Unauthorized" in server.say(port, get("/admin/status", "Connection: close"))
    give_back(port)


@claim("the admin's routes require the right to operate")
def _(world):
    secrets = three(world)
    port = free_port()
    with named(world, "--admin", "127.0.0.1:%d" % port) as server:
        def admin(secret):
            return server.say(port, get("/admin/status", "Authorization: " + bearer(secret), "Connection: close")).split(b"\r\n")[0]
        same(admin(secrets["ops"]), b"HTTP/1.1 200 OK")
        same(admin(secrets["orders"]), b"HTTP/1.1 403 Forbidden")
        same(admin("nothing"), b"HTTP/1.1 401 Unauthorized")
        server.listen("a wrong secret")
    give_back(port)


# The right that each call needs. This copy is written by hand, so a new row in the server's table without one here is a
# failure.
COMMANDS = {"give": ["get x", "mget x", "vesta.next x", "incr x", "incrby x 2", "decr x", "decrby x 2", "vesta.reserve x", "vesta.commit x 1 t",
                     "vesta.cancel x 1 t"],
            "block": ["vesta.block x 1"], "lease": ["vesta.lease x", "vesta.renew %s.1.x" % (48 * "0"), "vesta.release %s.1.x" % (48 * "0")], "read": ["vesta.explain x 1", "vesta.watermark x"], "make": ["vesta.make x time 1 seq 1"],
            "a client": ["ping", "vesta.info", "vesta.layouts", "multi", "exec", "discard", "watch x", "unwatch", "echo x", "time", "acl whoami",
                         "client id", "select 0", "command", "config get x", "info", "dbsize", "readonly", "readwrite", "wait 0 0",
                         "slowlog len", "latency latest", "memory stats", "module list", "cluster info", "role", "lastsave"],
            "nobody": ["hello", "auth x", "reset", "quit"]}
ROUTES = {"give": ["/genid?ns=x", "/v1/ids?ns=x", "/api/snowflake/get/x", "/api/segment/get/x", "/tinyid/id/nextId?bizType=x",
                   "/tinyid/id/nextIdSimple?bizType=x", "/v1/reservations?tag=x", "/v1/reservations/commit?tag=x&number=1&token=t",
                   "/v1/reservations/cancel?tag=x&number=1&token=t"],
          "block": ["/v1/blocks?ns=x&n=1", "/tinyid/id/nextSegmentId?bizType=x", "/tinyid/id/nextSegmentIdSimple?bizType=x"],
          "read": ["/v1/ids/1?ns=x", "/expid?id=1&ns=x", "/transtime?time=1&ns=x", "/v1/segments?tag=x", "/decodeSnowflakeId?snowflakeId=1&ns=x",
                   "/v1/segments", "/metrics", "/v1/watermark?ns=x"],
          "lease": ["/v1/leases?ns=x", "/v1/leases/%s.1.x" % (48 * "0")],
          "make": ["/makeid?ns=x&time=1&seq=1"], "a client": ["/version", "/"], "nobody": ["/healthz", "/readyz"]}
CLASSES = ("give", "block", "read", "make", "lease")


def lacking(world):
    """Adds a client per class with all rights but that one and every name, and a client with all rights for a name
    other than x."""
    nobody(world)
    far = client(world, "add", "far", "--names", "far", "--calls", ",".join(CLASSES))
    return far, {kind: client(world, "add", "no_" + kind, "--calls", ",".join(set(CLASSES) - {kind})) for kind in CLASSES}


@claim("every command checks the right and the name, and the list here is complete")
def _(world):
    far, without = lacking(world)
    with named(world) as server:
        listed = re.findall(rb"\r\n([a-z.]+)", talk(server, ["AUTH", far], ["COMMAND", "LIST"]))
        same(sorted(listed), sorted(call.split()[0].encode() for calls in COMMANDS.values() for call in calls))
        for kind, calls in COMMANDS.items():
            for words in map(str.split, calls):
                same((words, talk(server, words).startswith(NOAUTH)), (words, kind != "nobody"))
                if kind in CLASSES:
                    same(talk(server, ["AUTH", without[kind]], words), b"+OK\r\n" + NOPERM + b"run the '%s' command\r\n" % words[0].encode())
                    same(talk(server, ["AUTH", far], words), b"+OK\r\n" + NOT_HIS)


@claim("every route checks the right and the name, and the list here is complete")
def _(world):
    far, without = lacking(world)
    with named(world) as server:
        def status(path, *said):
            method = "PUT" if "/leases/" in path else "POST" if "/reservations" in path or "/leases" in path else "GET"
            said = {"Authorization": bearer(*said)} if said else {}
            reply = server.get(path, method, said)
            # tinyid reports errors with status 200. Its simple routes return an empty body, which shows that no id was
            # issued but not why.
            return 403 if "/tinyid/" in path and reply.body in ("", '{"data":null,"code":5,"message":"token is error"}') else reply.status
        index = server.get("/", headers={"Authorization": bearer(far)}).body
        listed = {re.sub(r"\{\w+\}", "", path) for path in re.findall(r"(?m)^(?:POST |PUT\|DELETE )?(/[\w/{}]*)", index)}
        same(sorted(listed), sorted({re.sub(r"\?.*|(?<=/)(?:[x1]\b|0{48}).*", "", path) for paths in ROUTES.values() for path in paths}))
        for kind, paths in ROUTES.items():
            for path in paths:
                same((path, status(path) in (401, 403)), (path, kind != "nobody"))
                if kind in CLASSES:
                    same((path, status(path, without[kind]), status(path, far)), (path, 403, 403))


@claim("tags with and without gaps are also checked for the right and the name")
def _(world):
    far, without = lacking(world)
    for tag in "counts", "dense":
        world.run("segments", "add", tag, "--store", "sqlite:" + world.path(tag))
    config = """return { clients = "clients", namespaces = { default = { worker = 1 } },
        stores = { a = { uri = "sqlite:%s" }, b = { uri = "sqlite:%s" } },
        segments = { { store = "a", tags = "*" }, { store = "b", tags = "*", order = "dense" } } }"""
    with Configured(world, config % (world.path("counts"), world.path("dense"))) as server:
        for words in ["INCR counts", "GET counts", "VESTA.BLOCK counts 1", "VESTA.RESERVE dense", "VESTA.COMMIT dense 1 " + "0" * 32,
                      "VESTA.CANCEL dense 1 " + "0" * 32]:
            same((words, talk(server, ["AUTH", far], words.split())), (words, b"+OK\r\n" + NOT_HIS))
        for path, kind, other in ("nextIdSimple", "give", "block"), ("nextSegmentIdSimple", "block", "give"):
            one, two, three = (server.get("/tinyid/id/%s?bizType=counts&token=%s" % (path, secret)).body for secret in (far, without[kind], without[other]))
            same((path, one, two, three[:1].isdigit()), (path, "", "", True))


# ------------------------------------------------------------------ changes at run time

@claim("a secret is rotated without a rejected request, because both are valid until the older one is dropped")
def _(world):
    old = three(world)["orders"]
    with named(world) as server:
        with server.connect(server.http) as sock:
            def ask(secret):
                sock.sendall(get("/genid", "Authorization: " + bearer(secret)))
                return sock.recv(4096).split(b" ")[1]
            same(ask(old), b"200")
            new = client(world, "rotate", "orders")
            hup(server, "was reloaded")
            same((ask(old), ask(new), ask(old)), (b"200", b"200", b"200"))
            client(world, "rotate", "orders", "--drop-old")
            hup(server, "a secret was removed")
            server.listen("was reloaded")
            until(lambda: ask(new) == b"200" and ask(old) == b"401", "the older is gone")
    client(world, "rotate", "orders", "--drop-old", code=2)


@claim("a transaction continues over a reload that keeps its client's rights, and is discarded if they changed")
def _(world):
    secret = three(world)["orders"]
    changes = ((("rotate", "orders"), b"*1\r\n$"), (("add", "more"), b"*1\r\n$"),
               (("set", "orders", "--n", "7"), b"-EXECABORT"), (("set", "orders", "--names", "*"), b"-EXECABORT"),
               (("set", "orders", "--calls", "give"), b"-EXECABORT"))
    with named(world) as server:
        for words, answer in changes:
            with server.connect(server.resp) as sock:
                sock.sendall(command("AUTH", "orders", secret) + command("MULTI") + command("GET", "default"))
                got = b""
                while got.count(b"\r\n") < 3:
                    got += sock.recv(100)
                same(got, b"+OK\r\n+OK\r\n+QUEUED\r\n")
                client(world, *words)
                hup(server, "was reloaded")
                sock.sendall(command("EXEC"))
                said = sock.recv(100)
                assert said.startswith(answer), (words, said)


@claim("a removed client has no rights on its open connections, not even those of default")
def _(world):
    secret = three(world)["orders"]
    with named(world) as server:
        with server.connect(server.resp) as sock, server.connect(server.http) as web:
            sock.sendall(command("AUTH", "orders", secret) + command("MULTI") + command("GET", "default"))
            got = b""
            while got.count(b"\r\n") < 3:
                got += sock.recv(100)
            web.sendall(get("/genid", "Authorization: " + bearer(secret)))
            assert web.recv(4096).startswith(b"HTTP/1.1 200 ")
            client(world, "remove", "orders")
            assert "client=orders" in hup(server, "a client was removed")
            server.listen("was reloaded")

            def gone():
                web.sendall(get("/genid", "Authorization: " + bearer(secret)))
                return web.recv(4096).startswith(b"HTTP/1.1 401 ")
            until(gone, "its secret is nobody's")
            sock.sendall(command("EXEC"))
            assert sock.recv(100).startswith(b"-NOAUTH"), "EXEC"
            sock.sendall(command("GET", "default"))
            same(sock.recv(100), NOAUTH)
        assert server.redis("GET", "default").startswith(b"$")


@claim("a client that is removed during a transaction's reply gets the whole reply, and nothing after it")
def _(world):
    secret = client(world, "add", "orders", "--calls", "give")
    nobody(world)
    with named(world) as server, server.connect(server.resp) as sock:
        sock.sendall(command("AUTH", "orders", secret) + command("MULTI") + command("VESTA.LAYOUTS") * 5000)
        queued = b""
        while queued.count(b"+QUEUED\r\n") < 5000:
            queued += sock.recv(65536)
        sock.sendall(command("EXEC") + command("GET", "default"))
        said = sock.recv(65536)  # The reply has begun, and is much larger than the buffers.
        client(world, "remove", "orders")
        hup(server, "a client was removed")
        server.listen("was reloaded")
        while not said.endswith(NOAUTH):
            said += sock.recv(1 << 20)
        head, one = said[:7], said[7:].split(b"\r\n", 1)[0] + b"\r\n"
        same((head, said.count(b"$9\r\nsnowflake\r\n"), said.count(b"-NOAUTH"), said.count(b"-EXECABORT")), (b"*5000\r\n", 5000, 1, 0))
        assert one.startswith(b"*"), one


@claim("a clients file that cannot be reloaded changes nothing and is reported, and one that others can read causes a "
       "warning")
def _(world):
    secret = three(world)["orders"]
    path = world.path("clients")
    with named(world) as server:
        for spoil in (lambda: open(path, "a").write("web names=*\n"), lambda: os.unlink(path)):
            with open(path) as file:
                was = file.read()
            spoil()
            event = hup(server, "cannot be reloaded")
            assert path in event and secret not in event, event
            same(asks(server, "/genid", bearer(secret)), 200)
            with open(path, "w") as file:
                file.write(was)
        os.chmod(path, 0o644)
        assert "access=read " in hup(server, "other users may access the file of clients")


# ------------------------------------------------------------------ errors

@claim("wrong, empty, too long, binary and swapped secrets and names are rejected, and the server continues")
def _(world):
    secrets = three(world)
    nobody(world)
    with named(world) as server:
        for name, secret in (("orders", "x"), ("orders", ""), ("", secrets["orders"]), ("orders", "y" * 16000), ("orders", b"\x00\xff\r\n"),
                             (secrets["orders"], "orders"), ("orders", secrets["web"]), ("web", secrets["orders"]), ("nobody", secrets["web"]),
                             ("ORDERS", secrets["orders"]), ("orders ", secrets["orders"]), ("orders\x00", secrets["orders"]),
                             ("*", secrets["web"]), ("orders", secrets["orders"] + "\x00")):
            said = talk(server, ["AUTH", name, secret], ["GET", "default"])
            assert said == WRONGPASS + NOAUTH, (name, secret, said)
            assert server.process.poll() is None
        event = server.heard("a wrong secret")
        assert "address=127.0.0.1" in event and secrets["orders"] not in event and secrets["web"] not in event, event
        assert talk(server, ["AUTH", "orders", secrets["orders"]], ["GET", "default"]).startswith(b"+OK\r\n$")
    assert secrets["orders"] not in server.said


@claim("an invalid clients file is rejected with its line before the server starts")
def _(world):
    good = "orders names=* calls=give secret=random:2026-11-23T15:30:00Z:" + "ab" * 32
    for line, *parts in ((good[:-1], "secret has a hash that is not 64 digits"), (good + "\n" + good, "clients:2:", "already has a line"),
                         ("orders names=a/b calls=give", "must be a pattern"), ("orders names= calls=give", "names has 0 bytes"),
                         ("orders names=web,*%s calls=give" % ("x" * 65), "names has a pattern of 66 bytes, but a name has at most 64"),
                         ("orders names=a,,b calls=give", "must be a pattern"), ("orders names=a, calls=give", "must be a pattern"),
                         ("orders names=* calls=gives", "calls has 'gives'"), ("orders names=* calls=give", "has no secret"),
                         ("orders names=* calls=give n=0", "n is '0'"), ("orders names=*", "has no calls"), ("orders speed=3", "'speed' is not a key"), ("orders rate=0", "rate is '0', which must be a whole number from 1 to 1000000000"),
                         ("orders requests=x", "requests is 'x'"), ("orders rate=1000000001", "1 to 1000000000"), ("orders weight=0", "weight is '0'"), ("orders leases=0", "leases is '0'"),
                         ("orders weight=1001", "1 to 1000"), ("orders rate=-1", "rate is"), ("orders rate=1.5", "rate is"), ("orders rate=", "rate is"),
                         ("or:ders " + good[7:], "colon"), ("a/b " + good[7:], "not a client name"),
                         (good + " " + " ".join(["secret=" + good.split("secret=")[1]] * 2), "more than 2 secrets"),
                         (good.replace("random", "md5"), "kind 'md5'"), (good.replace("T15", "T45"), "a time that cannot be read"), ("\x00", "NUL")):
        path = write(world, "clients", line + "\n")
        done = world.run("serve", "--clients", path)
        same(done.code, 2)
        for part in ("clients:", *parts):
            assert part in done.err, (line, done.err)
        assert "ab" * 20 not in done.err
    fails(world.run("serve", "--clients", world.path("nowhere")), 2, "create it with `vesta client add NAME --file %s`" % world.path("nowhere"))


@claim("`vesta check` reports patterns that match nothing, and settings that conflict with clients")
def _(world):
    three(world)
    config = 'return { clients = "clients", namespaces = { default = {}, web = {} }%s }'
    done = world.run("check", write(world, "v.lua", config % ""))
    same(done.code, 0)
    assert "clients: 'other*' of client web matches no namespace and no tag" in done.out and "'web'" not in done.out, done.out
    for more, part in ((", resp = { password = 'x' }", "resp.password and clients are both set"), (", open = true", "open and clients are both set"),
                       (", tinyid = { tokens = 'x' }", "tinyid.tokens and clients are both set")):
        done = world.run("check", write(world, "v.lua", config % more))
        assert done.code == 1 and part in done.err, (done.out, done.err)
    os.chmod(world.path("clients"), 0o644)
    assert "the clients file: chmod o= on it" in world.run("check", write(world, "v.lua", config % "")).out


@claim("HTTP that other machines can reach requires clients or open = true")
def _(world):
    text = 'return { http = { listen = "0.0.0.0:8088" }, namespaces = { default = { worker = 1 } }%s }'
    fails(world.run("check", write(world, "v.lua", text % "")), 1, "http.listen has 0.0.0.0:8088", "vesta client add", "open = true")
    for more in (", open = true", ', clients = "clients"'):
        three(world) if "clients" in more else None
        same(world.run("check", write(world, "v.lua", text % more)).code, 0)
    fails(world.run("serve", "--http", "0.0.0.0:8088", "--worker", "1"), 2, "--clients FILE", "--open")


# ------------------------------------------------------------------ vesta client

@claim("`vesta client` writes a private file, keeps manual edits, and prints a secret once")
def _(world):
    write(world, "clients", "# by hand\n\nweb names=web calls=give secret=random:2026-01-01T00:00:00Z:%s" % ("ab" * 32))
    os.chmod(world.path("clients"), 0o640)
    secret = client(world, "add", "orders")
    assert re.fullmatch("[a-z2-9]{32}", secret), secret
    with open(world.path("clients")) as file:
        text = file.read()
    assert text.startswith("# by hand\n\nweb names=web calls=give secret=") and text.count("\n") == 4 and secret not in text, text
    same(stat.S_IMODE(os.stat(world.path("clients")).st_mode), 0o640)
    listed = client(world, "list", "--json").splitlines()
    same([(json.loads(line)["client"], json.loads(line)["names"], len(json.loads(line)["secrets"])) for line in listed],
         [("web", "web", 1), ("orders", "*", 1)])
    assert "ab" * 8 not in "".join(listed) and secret not in client(world, "list")
    client(world, "set", "orders", "--calls", "read", "--n", "7")
    same(json.loads(client(world, "list", "--json").splitlines()[1])["calls"], "read")
    client(world, "remove", "web")
    with open(world.path("clients")) as file:
        same(re.sub("secret=.*", "", file.read()), "# by hand\n\norders names=* calls=read n=7 \n")
    for words in (("add", "orders"), ("rotate", "web"), ("remove", "web"), ("add", "a b"), ("add", "x", "--calls", "fly"), ("set", "orders")):
        client(world, *words, code=2)
    os.unlink(world.path("clients"))
    client(world, "add", "orders")
    same(stat.S_IMODE(os.stat(world.path("clients")).st_mode), 0o600)


@claim("concurrent `vesta client add` calls lose no client")
def _(world):
    args = [world.run.__globals__["VESTA"], "client", "add"]
    doing = [subprocess.Popen([*args, "c%d" % i, "--file", world.path("clients")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for i in range(20)]
    same([one.wait(60) for one in doing], [0] * 20)
    same(len(client(world, "list", "--json").splitlines()), 20)


main()
