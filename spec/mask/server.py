"""server.py -- masked ids and numbers over HTTP and the Redis protocol, with every command that can issue them."""
import json
import re
import sqlite3

from serving import Configured, claim, command, main, same
from tables import until
from worlds import config, key

PLAIN = b"-ERR "


def texts(data):
    return [text.decode() for text in re.findall(rb"\$\d+\r\n([^\r]+)\r\n", data)]


def served(world, more=""):
    a, b = key(world, "a.key"), key(world, "b.key", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    world.run("segments", "add", "invoices", "--step", "50", "--store", "sqlite:" + world.path("v.db"))
    return Configured(world, config(world, "digits = 19, check = 'luhn', secret_file = '%s'" % a,
                                    "digits = 10, check = 'damm', secret_file = { '1:%s', '%s' }" % (b, a), "threads = 2, " + more))


def read(server, name, text):
    reply = server.get("/v1/ids/%s?ns=%s&mask=1" % (text, name))
    same((text, reply.status), (text, 200))
    return json.loads(reply.body)


def all_replies(server, name):
    """Returns texts of the name from every command and route that issues ids."""
    got = texts(server.redis("GET", name)) + texts(server.redis("VESTA.NEXT", name, "70"))
    got += texts(server.redis("MGET", name, name, "plain"))[:2]
    got += texts(server.say(server.resp, command("GET", name) * 3))  # identical requests
    exec_ = server.say(server.resp, b"MULTI\r\nGET %b\r\nVESTA.NEXT %b 2\r\nMGET %b plain\r\nEXEC\r\n" % ((name.encode(),) * 3))
    got += texts(exec_)[:4]
    got.append(server.get("/genid?ns=" + name).body)
    got += json.loads(server.get("/v1/ids?ns=%s&n=70" % name).body)["ids"]
    got += server.get("/v1/ids?ns=%s&n=2&format=text" % name).body.split("\n")[:2]
    got.append(server.get("/api/%s/get/%s" % ("segment" if name == "invoices" else "snowflake", name)).body)
    same(len(got), 154)
    return got


@claim("every command and route masks the ids of a namespace, with one text per id")
def _(world):
    with served(world) as server:
        got = all_replies(server, "orders")
        same({len(text) for text in got}, {20})
        parts = [read(server, "orders", text) for text in got]
        ids = [int(one["id"]) for one in parts]
        same((len(set(ids)), ids), (154, sorted(ids)))
        same({(one["worker"], one["key_version"]) for one in parts}, {(5, 0)})
        assert all(str(number) not in got for number in ids)
        same(len(set(json.loads(server.get("/v1/ids?ns=orders&n=10000").body)["ids"])), 10000)
        same(len(set(texts(server.redis("VESTA.NEXT", "orders", "10000")))), 10000)


@claim("every command and route masks the numbers of a counter, and texts of an older key are still read")
def _(world):
    with served(world) as server:
        got = all_replies(server, "invoices")
        same({(len(text), text[0]) for text in got}, {(12, "1")})
        same([int(read(server, "invoices", text)["number"]) for text in got], list(range(1, 155)))
        same({read(server, "invoices", text)["key_version"] for text in got}, {1})
        assert "to read a masked number, add mask=1" in server.get("/v1/ids/%s?ns=invoices" % got[0]).body
    old = "digits = 10, check = 'damm', secret_file = '%s'" % world.path("a.key")
    with Configured(world, config(world, "digits = 19, secret_file = '%s'" % world.path("a.key"), old)) as server:
        older = server.get("/genid?ns=invoices").body
        same((len(older), server.get("/v1/ids/%s?ns=invoices&mask=1" % got[0]).status), (11, 400))
    with served(world) as server:
        same(read(server, "invoices", older)["key_version"], 0)


@claim("blocks, shapes, consecutive numbers and tinyid's replies would show plain numbers, and are rejected")
def _(world):
    with served(world) as server:
        same(server.redis("VESTA.BLOCK", "orders", "5"), b"-ERR the ids of 'orders' are masked, and a block would show plain ids: take n with VESTA.NEXT orders n\r\n")
        same(server.get("/v1/blocks?ns=orders&n=5").status, 400)
        assert server.redis("VESTA.BLOCK", "invoices", "5").startswith(b"-ERR the numbers of 'invoices' are text")
        for words in (("INCR", "invoices"), ("INCRBY", "invoices", "2")):
            assert server.redis(*words).startswith(b"-ERR the numbers of 'invoices' are text")
        same(server.redis("VESTA.NEXT", "orders", "1", "UUID7"), b"-ERR the ids of 'orders' are masked, and a uuid7 would show the plain id: leave out shape\r\n")
        same(server.get("/v1/ids?ns=orders&shape=ulid").status, 400)
        for path in ("nextId", "nextSegmentId"):
            same(json.loads(server.get("/tinyid/id/%s?bizType=invoices" % path).body)["data"], None)


@claim("a block of past dates would show plain ids, and is rejected")
def _(world):
    body = ("return { namespaces = { orders = { layout = 'snowflake', store = 'file:%s', mask = { digits = 19, secret_file = '%s' } } }, leases = { 'orders' } }"
            % (world.path("s"), key(world, "a.key")))
    with Configured(world, body) as server:
        reply = server.get("/v1/blocks?ns=orders&n=5&from=2019-01-01T00:00:00Z&until=2020-01-01T00:00:00Z", "POST")
        same((reply.status, json.loads(reply.body)["detail"]),
             (400, "the ids of 'orders' are masked, and a block would show plain ids: import with vesta range lease"))
        assert server.redis("VESTA.BLOCK", "orders", "5", "1546300800000", "1577836800000").startswith(b"-ERR the ids of 'orders' are masked")


@claim("masked ids are read only with the right, and wrong texts are rejected with a reason")
def _(world):
    clients = world.path("clients")
    for name, calls in (("shop", "give,read"), ("staff", "read,unmask")):
        done = world.run("client", "add", name, "--names", "orders", "--calls", calls, "--file", clients)
        same(done.code, 0)
        world.own = getattr(world, "own", {})
        world.own[name] = re.search(r"vesta_\S+", done.out).group(0) if "vesta_" in done.out else done.out.split()[-1]
    with served(world, "clients = '%s'," % clients) as server:
        def ask(path, who):
            return server.get(path, headers={"Authorization": "Bearer " + world.own[who]})
        text = ask("/genid?ns=orders", "shop").body
        reply = ask("/v1/ids/%s?ns=orders&mask=1" % text, "staff")
        same((reply.status, reply.body), (200, reply.body))
        refused = ask("/v1/ids/%s?ns=orders&mask=1" % text, "shop")
        same((refused.status, json.loads(refused.body)["detail"]), (403, "client 'shop' may not read masked numbers: add unmask to its calls"))
        same(server.get("/v1/ids/%s?ns=orders&mask=1" % text).status, 403)  # a local client without a name
        wrong = text[:-1] + str((int(text[-1]) + 1) % 10)
        for given, why in ((wrong, "has a wrong check digit"), ("0" + text, "has 21 characters"), ("x" * 20, "must consist of decimal digits")):
            reply = ask("/v1/ids/%s?ns=orders&mask=1" % given, "staff")
            same(reply.status, 400)
            assert why in reply.body, reply.body
        for query, status in (("mask=2", 400), ("mask=0", 400 if len(text) > 20 else 200 if int(text) < 2**63 else 400)):
            same((query, ask("/v1/ids/%s?ns=orders&%s" % (text, query), "staff").status), (query, status))


@claim("without the right unmask, the ids of masked namespaces are not in INFO's sum of further namespaces")
def _(world):
    clients = world.path("clients")
    tokens = {name: world.run("client", "add", name, "--calls", calls, "--file", clients).out.split()[-1]
              for name, calls in (("watch", "give,read"), ("staff", "give,read,unmask"))}
    plain = "".join("a%d = { worker = %d }, " % (i, i) for i in range(64))
    body = ("return { namespaces = { %s y = { worker = 64 }, z = { layout = 'snowflake', mask = { digits = 19, secret_file = '%s' } } }, clients = '%s' }"
            % (plain, key(world, "a.key"), clients))
    with Configured(world, body) as server:
        for name, n in (("y", 2), ("z", 5)):
            same(server.get("/v1/ids?ns=%s&n=%d" % (name, n), headers={"Authorization": "Bearer " + tokens["watch"]}).status, 200)
        for who, ids in (("watch", 2), ("staff", 7)):
            said = server.say(server.resp, command("AUTH", who, tokens[who]) + command("INFO", "vesta"))
            same((who, re.findall(rb"vesta_ids_\(other\):(\d+)", said)), (who, [b"%d" % ids]))


def went_back(world, server, ask):
    """Restores an old counter, and takes numbers until the server reports it."""
    with sqlite3.connect(world.path("v.db")) as db:
        db.execute("update leaf_alloc set max_id = 1 where biz_tag = 'invoices'")
    until(lambda: ask("/v1/ids?ns=invoices&n=20").status == 500)


@claim("only the right unmask shows the position, the counts and the faults of a masked counter")
def _(world):
    clients, numbers = world.path("clients"), re.compile(r"\b(51|101|151)\b")
    tokens = {}
    for name, calls in (("watch", "give,read"), ("staff", "give,read,unmask")):
        tokens[name] = world.run("client", "add", name, "--calls", calls, "--file", clients).out.split()[-1]
    with served(world, "clients = '%s'," % clients) as server:
        def ask(who):
            return lambda path: server.get(path, headers={"Authorization": "Bearer " + tokens[who]})
        def row(who, path):
            (one,) = json.loads(ask(who)(path).body)["segments"]
            return one
        ask("watch")("/v1/ids?ns=invoices&n=7")
        for path in ("/v1/segments", "/v1/segments?tag=invoices"):
            seen, whole = row("watch", path), row("staff", path)
            same((whole["position"], whole["given"], whole["databases"][0]["ranges"] > 0), ("8", "7", True))
            same(set(seen), {"tag", "table", "masked", "order", "pauses", "databases"})
            same(set(whole["databases"][0]) - set(seen["databases"][0]), {"step", "ranges"})
        for who, expected in (("watch", (False, True, b"vesta_tag_numbers:0\r\n")), ("staff", (True, True, b"vesta_tag_numbers:7\r\n"))):
            said = server.say(server.resp, command("AUTH", who, tokens[who]) + command("INFO", "vesta"))
            same((who, b"vesta_ids_orders:" in said, b"vesta_ids_plain:" in said, expected[2] in said), (who,) + expected[:2] + (True,))
        went_back(world, server, ask("watch"))
        for path in ("/v1/ids?ns=invoices", "/readyz", "/v1/segments?tag=invoices"):
            assert not numbers.search(ask("watch")(path).body), ask("watch")(path).body
            until(lambda: "went back" in ask("staff")(path).body)
        assert not numbers.search(ask("watch")("/v1/segments?tag=invoices").body)
        same(row("watch", "/v1/segments?tag=invoices")["databases"][0]["trouble"], "the server's log has the reason")


@claim("over the Redis protocol, MASK after the id reads a masked id")
def _(world):
    with served(world) as server:
        (text,) = texts(server.redis("GET", "orders"))
        assert b"$2\r\nid\r\n" in server.redis("VESTA.EXPLAIN", "orders", text, "MASK")
        (number,) = texts(server.redis("GET", "invoices"))
        same(texts(server.redis("VESTA.EXPLAIN", "invoices", number, "MASK"))[:2], ["number", "1"])
        same(server.redis("VESTA.EXPLAIN", "plain", "1", "MASK"), b"-ERR the ids of 'plain' have no mask\r\n")
        same(server.redis("VESTA.EXPLAIN", "orders", text, "OPEN"), b"-ERR 'OPEN' must be MASK\r\n")


@claim("UUIDs of version 7 are shown as version 4, and read back with the right, and other shapes are rejected")
def _(world):
    u = "uuid_secret_file = '%s'" % key(world, "u.key")
    with Configured(world, config(world, u)) as server:
        got = json.loads(server.get("/v1/ids?ns=orders&shape=uuid7&n=3000").body)["ids"] + texts(server.redis("VESTA.NEXT", "orders", "2", "UUID7", "order"))
        same((len(set(got)), {text[14] for text in got[:3000]}, {text[:6] for text in got[3000:]}), (3002, {"4"}, {"order_"}))
        back = [read(server, "orders", text) for text in got[::100] + got[3000:]]
        same(({one["kind"] for one in back}, {one["version"] for one in back}), ({"uuid7"}, {7}))
        times = [one["unix_ms"] for one in back]
        assert times == sorted(times) and times[-1] - times[0] < 60000, times
        same([text[19:] for text in got[:1]], [back[0]["uuid"][19:]])  # only the time is hidden
        assert server.get("/genid?ns=orders").body.isdigit()  # ids of 64 bits have no mask here
        for shape in ("uuid8", "ulid", "hex32"):
            assert "would show the plain id: use shape uuid7" in server.get("/v1/ids?ns=orders&shape=" + shape).body
        for text, why in ((back[0]["uuid"], "must be a UUID of version 4 that this namespace issued"), ("123", "must be a UUID, because only the UUIDs"),
                          ("019b76da-a800-zzzz-8034-940635bd87f1", "")):
            reply = server.get("/v1/ids/%s?ns=orders&mask=1" % text)
            assert reply.status == 400 and why in reply.body, reply.body
        same(server.get("/v1/ids/%s?ns=plain&mask=1" % got[0]).status, 400)


@claim("a counter that exceeds its mask is rejected with the last number of the mask, costs one number per second, and is still read")
def _(world):
    a = key(world, "a.key")
    uri = "sqlite:" + world.path("v.db")
    same(world.run("segments", "add", "invoices", "--from", "999999", "--step", "10", "--store", uri).code, 0)
    with Configured(world, config(world, "digits = 19, secret_file = '%s'" % a, "digits = 6, secret_file = '%s'" % a)) as server:
        last = server.get("/genid?ns=invoices").body
        same(len(last), 6)
        for _ in range(3):
            reply = json.loads(server.get("/v1/ids?ns=invoices").body)
            same((reply["code"], reply["detail"]),
                 ("used_up", "'invoices': a number exceeds 999999, the last number of its mask: use a counter with more digits"))
            same(read(server, "invoices", last)["number"], "999999")
        assert " tag=invoices" in server.heard("a counter has no number left that fits its mask")


main()
