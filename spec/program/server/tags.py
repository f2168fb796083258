"""tags.py -- tags of counters from the clients' side: every command and route, changing tables, unreachable stores. The
database is SQLite, or MariaDB if another program must use it too."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import time

from served import LEAF
from serving import Configured, bulks, claim, command, main, same
from tables import Table, config, until

EXAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "config", "segments.lua")


def integers(data):
    return [int(digits) for digits in re.findall(rb":(\d+)\r\n", data)]


def reread(server, part):
    """Makes the server reread the tables, and waits for the result in the log."""
    server.process.send_signal(signal.SIGHUP)
    return server.listen(part)


# ------------------------------------------------------------------ protocols

@claim("all commands and routes share one counter, each number is issued once, in the reply format of each")
def _(world):
    table = Table(world, orders=1000, users=1000)
    with Configured(world, config(table, more="namespaces = { ids = { worker = 5 } },")) as server:
        same(server.redis("GET", "orders"), b"$1\r\n1\r\n")
        same(server.redis("INCR", "orders"), b":2\r\n")
        same(server.redis("INCRBY", "orders", "10"), b":12\r\n")
        same(bulks(server.redis("VESTA.NEXT", "orders", "3")), [13, 14, 15])
        same(bulks(server.redis("MGET", "orders", "users", "orders")), [16, 1, 17])
        ids = bulks(server.redis("MGET", "ids", "orders"))
        assert ids[1] == 18 and ids[0] > 1 << 40, ids
        block = json.loads(server.get("/v1/blocks?ns=orders&n=5").body)
        same(block, {"ns": "orders", "kind": "numbers", "first": "19", "count": 5, "stride": 1})
        same(server.redis("VESTA.BLOCK", "orders", "2"), b"*10\r\n$2\r\nns\r\n$6\r\norders\r\n$4\r\nkind\r\n$7\r\nnumbers\r\n$5\r\nfirst\r\n"
             b"$2\r\n24\r\n$5\r\ncount\r\n:2\r\n$6\r\nstride\r\n:1\r\n")
        same(server.get("/genid?ns=orders").body, "26")
        same(json.loads(server.get("/v1/ids?ns=orders&n=2").body), {"ids": ["27", "28"]})
        same(server.get("/api/segment/get/orders").body, "29")
        multi = b"MULTI\r\nINCR orders\r\nINCRBY orders 10\r\nMGET users ids\r\nINCRBY orders 1\r\nEXEC\r\n"
        data = server.say(server.resp, multi)
        same((integers(data), bulks(data)[0]), ([30, 40, 41], 2))
        assert b"vesta_tags:2\r\nvesta_tag_numbers:43\r\n" in server.redis("INFO", "vesta"), server.redis("INFO", "vesta")
        same(server.get("/readyz").status, 200)


@claim("a wrong kind of name is reported: a tag has no layout, a namespace does not count, and MGET returns all or an "
       "error")
def _(world):
    table = Table(world, orders=1000)
    with Configured(world, config(table, more="namespaces = { ids = { worker = 5 } },")) as server:
        for words in (["VESTA.EXPLAIN", "orders", "1"], ["VESTA.MAKE", "orders", "time", "1", "seq", "1"]):
            same(server.redis(*words), b"-ERR 'orders' is a tag, and its numbers have no parts\r\n")
        for path in ("/v1/ids/1?ns=orders", "/expid?id=1&ns=orders", "/makeid?time=1&seq=1&ns=orders", "/api/snowflake/get/orders"):
            reply = server.get(path)
            assert reply.status == 400 and "'orders' is a tag" in reply.body, (path, reply.status, reply.body)
        for words in (["INCR", "ids"], ["INCRBY", "ids", "5"], ["DECR", "ids"]):
            assert server.redis(*words).startswith(b"-ERR 'ids' is a namespace, not a counter: take an id with GET ids, "), words
        same(server.redis("DECRBY", "orders", "5"), b"-ERR 'orders' does not count down: take its next number with INCR orders\r\n")
        same(server.get("/api/segment/get/ids").status, 404)
        same(server.redis("MGET", "orders", "nobody", "ids"), b"-ERR unknown name 'nobody': this server has 'ids' and 1 more\r\n")
        same(server.redis("INCR", "orders"), b":1\r\n")
    with Configured(world, config(table)) as server:
        same(server.get("/genid").body, "the request needs a name: this server has tags but no namespace, such as 'orders'\n")
        assert server.redis("VESTA.EXPLAIN", "5").startswith(b"-ERR the request needs a name")


@claim("INCRBY's numbers are consecutive, and more than a range contains are rejected before a number is lost")
def _(world):
    table = Table(world, orders=100)
    with Configured(world, config(table, "tags = 'orders', step_max = 100")) as server:
        lasts = [integers(server.redis("INCRBY", "orders", "30"))[0] for _ in range(9)]
        assert all(b - a >= 30 for a, b in zip(lasts, lasts[1:])), lasts
        assert all((last - 1) // 100 == (last - 30) // 100 for last in lasts), lasts
        refusal = b"-ERR n 101 exceeds the 100 numbers of a range of 'orders': raise its step\r\n"
        same(server.redis("INCRBY", "orders", "101"), refusal)
        assert b"+OK\r\n" + refusal + b"-EXECABORT" in server.say(server.resp, b"MULTI\r\nINCRBY orders 101\r\nEXEC\r\n")
        assert 0 < integers(server.redis("INCR", "orders"))[0] - lasts[-1] <= 100


@claim("redis-benchmark and a stock client library count exactly")
def _(world):
    table = Table(world, orders=1000)
    with Configured(world, config(table), "--threads", "2") as server:
        done = world.shell("redis-benchmark -p %d -n 20000 -c 8 -P 16 -q INCR orders" % server.resp)
        assert done.code == 0 and "rror" not in done.out + done.err, done.out + done.err
        same(integers(server.redis("INCR", "orders")), [20001])
        done = world.shell("/usr/bin/python3 -c 'import redis, sys; r = redis.Redis(port=%d); p = r.pipeline(); p.incr(\"orders\"); "
                           "p.incrby(\"orders\", 50); p.get(\"orders\"); print(r.incr(\"orders\"), r.incrby(\"orders\", 5), p.execute(), "
                           "r.get(\"orders\"), r.mget(\"orders\", \"orders\"))'" % server.resp)
        if "No module named 'redis'" not in done.err:
            same((done.out, done.err), ("20002 20007 [20008, 20058, b'20059'] b'20060' [b'20061', b'20062']\n", ""))


@claim("tinyid's clients get its bodies and codes, always with status 200, and its tokens do not appear in the log")
def _(world):
    table = Table(world, test=1000)
    with Configured(world, config(table, more="tinyid = { tokens = { 's3cret-that-none-guesses', 'another-that-none-guesses' } },")) as server:
        def ask(path, query, method="GET"):
            reply = server.get("/tinyid/id/%s?%s" % (path, query), method)
            same(reply.status, 200)
            return reply.body
        same(ask("nextId", "bizType=test&token=s3cret-that-none-guesses"), '{"data":[1],"code":200,"message":""}')
        same(ask("nextId", "bizType=test&token=another-that-none-guesses&batchSize=2", "POST"), '{"data":[2,3],"code":200,"message":""}')
        same(ask("nextIdSimple", "bizType=test&token=s3cret-that-none-guesses&batchSize=3"), "4,5,6")
        same(ask("nextIdSimple", "bizType=test&token=s3cret-that-none-guesses"), "7")
        current, loading, last, delta, remainder = map(int, ask("nextSegmentIdSimple", "bizType=test&token=s3cret-that-none-guesses").split(","))
        same((current, last, delta, remainder), (7, 1000, 1, 0))
        same(loading, 7 + 993 // 5)
        segment = json.loads(ask("nextSegmentId", "bizType=test&token=s3cret-that-none-guesses"))
        same(segment["data"]["currentId"], 1000)
        same((segment["code"], segment["message"], segment["data"]["delta"]), (200, "", 1))
        for query in ("bizType=test", "bizType=test&token=", "bizType=test&token=s3cret-that-none-guesse", "bizType=test&token=s3cret-that-none-guessess", "token=%00"):
            same((query, ask("nextId", query)), (query, '{"data":null,"code":5,"message":"token is error"}'))
            same(ask("nextIdSimple", query) + ask("nextSegmentIdSimple", query), "")
        for query in ("bizType=nobody&token=s3cret-that-none-guesses", "token=s3cret-that-none-guesses", "bizType=test&token=s3cret-that-none-guesses&batchSize=0", "x=1",
                      "bizType=test&token=s3cret-that-none-guesses&batchSize=-1", "bizType=test&token=s3cret-that-none-guesses&batchSize=1e3", "bizType=%27%3B&token=s3cret-that-none-guesses"):
            reply = json.loads(ask("nextId", query))
            assert reply["code"] == 6 and reply["data"] is None and reply["message"], (query, reply)
            same(ask("nextIdSimple", query), "")
        same(len(json.loads(ask("nextId", "bizType=test&token=another-that-none-guesses&batchSize=100000"))["data"]), 10000)
        assert "s3cret-that-none-guesses" not in world.run("check", "--effective", world.path("vesta.lua")).out
        server.process.send_signal(signal.SIGUSR2)
        server.listen("state of the tags")
        assert "s3cret-that-none-guesses" not in server.said, server.said


HOSTILE = ("'; DROP TABLE leaf_alloc; --", '"', "a b", "x" * 65, "x" * 60000, "..", "\u00fcber", "*", "%", "ORDERS", "orders ", "order", "a\r\nb")
COUNTS = ("0", "-1", "+1", "65537", "9223372036854775808", "18446744073709551616", "1;2", "1.5", "1e3", "", "0x10", "1 ", b"1\0")


@claim("hostile names and counts are rejected by each command and route, and cost no number")
def _(world):
    table = Table(world, orders=1000)
    with Configured(world, config(table)) as server:
        for name in HOSTILE:
            for words in (["GET", name], ["INCR", name], ["INCRBY", name, "2"], ["VESTA.NEXT", name, "2"], ["VESTA.BLOCK", name, "2"],
                          ["MGET", "orders", name]):
                data = server.say(server.resp, command(*words) + command("PING"))
                assert re.fullmatch(rb"-ERR [ -~]+\r\n\+PONG\r\n", data), (words, data)
        for name in ("%27%3B", "x" * 65, "%00", "orders%20", "..", "ORDERS"):
            for path in ("/genid?ns=", "/v1/ids?ns=", "/v1/blocks?n=1&ns=", "/api/segment/get/", "/v1/segments?tag="):
                same((path, name, server.get(path + name).status), (path, name, 404))
        for count in COUNTS:
            for words in (["INCRBY", "orders", count], ["VESTA.NEXT", "orders", count]):
                data = server.say(server.resp, command(*words) + command("PING"))
                assert re.fullmatch(rb"-ERR n [ -~]+\r\n\+PONG\r\n", data), (words, data)
        same(server.redis("INCR", "orders"), b":1\r\n")


@claim("in strict order a request that begins after another's reply gets a larger number, over two servers and all "
       "routes")
def _(world):
    table = Table(world, orders=1)
    text, seen = config(table, "tags = '*', order = 'strict'"), []
    with Configured(world, text, env={"VESTA_STATE": world.path("one")}) as one:
        with Configured(world, text, "--threads", "2", env={"VESTA_STATE": world.path("two")}) as two:
            def ask(server, *words):
                began = time.monotonic()
                data = server.redis(*words)
                ended = time.monotonic()
                seen.extend((began, ended, number) for number in integers(data) + bulks(data))
                return len(integers(data) + bulks(data))
            for server in one, two, two, one:
                same(ask(server, "INCR", "orders"), 1)
                same(ask(server, "VESTA.NEXT", "orders", "3"), 3)
                same(ask(server, "MGET", "orders", "orders"), 2)
                same(ask(server, "INCRBY", "orders", "5"), 1)
                same(ask(server, "GET", "orders"), 1)
            same([number for _, _, number in seen[:8]], [1, 2, 3, 4, 5, 6, 11, 12])
            threads = [threading.Thread(target=lambda server: [ask(server, "INCR", "orders") for _ in range(15)], args=(server,))
                       for server in (one, two) * 4]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            data = one.say(one.resp, b"MULTI\r\nINCR orders\r\nINCRBY orders 3\r\nGET orders\r\nEXEC\r\n")
            (a, b), (c,) = integers(data), bulks(data)
            assert max(number for _, _, number in seen) < a < b - 2 < b < c, data
            assert one.redis("VESTA.BLOCK", "orders", "5").startswith(b"-ERR 'orders' has strict order, which a block would break")
            same(json.loads(one.get("/tinyid/id/nextSegmentId?bizType=orders").body)["code"], 6)
            same(json.loads(one.get("/v1/segments").body)["segments"][0]["order"], "strict")
    same(len({number for _, _, number in seen}), len(seen))
    for began, _, number in seen:
        assert all(other < number for _, ended, other in seen if ended < began), (began, number)


@claim("in strict order a slow database loses no number")
def _(world):
    table = Table(world, orders=1)
    with Configured(world, config(table, "tags = '*', order = 'strict'")) as server:
        same(server.redis("INCR", "orders"), b":1\r\n")
        for number in (2, 3):
            lock = sqlite3.connect(table.path, timeout=60, isolation_level=None)
            lock.execute("BEGIN EXCLUSIVE")
            with server.connect(server.resp) as sock:
                sock.sendall(command("INCR", "orders"))
                time.sleep(0.7)
                lock.execute("ROLLBACK")
                lock.close()
                same(sock.recv(100), b":%d\r\n" % number)


# ------------------------------------------------------------------ changing tables

@claim("if a key of Leaf's clients names a namespace and a tag, each command uses one of them, and the log names the "
       "key")
def _(world):
    table = Table(world, key=10)
    for tags in ("'*'", "{ 'key' }"):
        with Configured(world, config(table, "tags = " + tags, "namespaces = { key = { worker = 5 }, only = { worker = 6 } },")) as server:
            assert "tag=key" in server.heard("a tag and a namespace have the same name"), server.said
            until(lambda: server.get("/api/segment/get/key").status == 200)
            number = int(server.get("/api/segment/get/key").body)
            assert int(server.get("/api/snowflake/get/key").body) > 1 << 40
            for ask in (lambda: server.redis("GET", "key"), lambda: server.redis("VESTA.NEXT", "key"), lambda: server.redis("MGET", "key", "only")):
                assert bulks(ask())[0] > 1 << 40
            assert int(server.get("/genid?ns=key").body) > 1 << 40
            same(integers(server.redis("INCR", "key")), [number + 1])
            same(integers(server.redis("INCRBY", "key", "2")), [number + 3])
            same(json.loads(server.get("/tinyid/id/nextId?bizType=key").body)["data"], [number + 4])
            multi = server.say(server.resp, b"MULTI\r\nINCR key\r\nGET key\r\nINCR key\r\nEXEC\r\n")
            same((integers(multi), bulks(multi)[0] > 1 << 40), ([number + 5, number + 6], True))
            same(json.loads(server.get("/v1/segments?tag=key").body)["segments"][0]["tag"], "key")
            same(server.get("/api/segment/get/only").status, 404)
            assert server.redis("INCR", "only").startswith(b"-ERR 'only' is a namespace, not a counter")
            same(server.get("/api/snowflake/get/key", method="HEAD").status, 200)


@claim("tags are added and removed while others are served, and a name that cannot be a tag is ignored and counted")
def _(world):
    table = Table(world, orders=10, ids=10)
    with Configured(world, config(table, more="namespaces = { ids = { worker = 5 } },")) as server:
        assert bulks(server.redis("GET", "ids"))[0] > 1 << 40
        # The table has been read.
        until(lambda: server.redis("INCR", "fresh").startswith(b"-ERR unknown name 'fresh'"))
        table.add("fresh", max_id=7)
        table.do("INSERT INTO leaf_alloc VALUES (?, 1, 1, NULL)", "no tag")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.redis("INCR", "fresh") == b":7\r\n")
        metrics = server.get("/metrics").body
        assert "\nvesta_tags 3\n" in metrics and "\nvesta_tags_not_served 1\n" in metrics, metrics
        assert '\nvesta_tag_numbers_issued_total{tag="fresh",proto="resp"} 1\n' in metrics, metrics
        with server.connect(server.resp) as sock:  # A transaction uses the tags that existed when it began.
            sock.sendall(b"MULTI\r\nINCR fresh\r\n")
            until(lambda: sock.recv(100).endswith(b"+QUEUED\r\n"))
            table.do("DELETE FROM leaf_alloc WHERE biz_tag = 'fresh'")
            reread(server, "a tag was removed")
            until(lambda: server.redis("INCR", "fresh").startswith(b"-ERR unknown name 'fresh'"))
            same(server.get("/api/segment/get/fresh").status, 404)
            sock.sendall(b"EXEC\r\n")
            same(sock.recv(100), b"*1\r\n:8\r\n")
        until(lambda: '{tag="(other)",proto="resp"} 2\n' in server.get("/metrics").body)
        same(server.redis("INCR", "orders"), b":1\r\n")
        table.do("ALTER TABLE leaf_alloc RENAME TO away")
        reread(server, "cannot be read")
        same(server.redis("INCR", "orders"), b":2\r\n")
        same(server.get("/readyz").status, 200)
        table.do("ALTER TABLE away RENAME TO leaf_alloc")
        reread(server, "can be read again")


@claim("/v1/segments shows the state of every tag, page by page, or of one tag")
def _(world):
    table = Table(world, **{"t%03d" % i: 10 for i in range(900)})
    with Configured(world, config(table)) as server:
        server.redis("INCR", "t007")
        names, after = [], ""
        while after is not None:
            page = json.loads(server.get("/v1/segments" + after).body)
            names += [one["tag"] for one in page["segments"]]
            after = "?after=" + page["next"] if "next" in page else None
        same(names, ["t%03d" % i for i in range(900)])
        (one,) = json.loads(server.get("/v1/segments?tag=t007").body)["segments"]
        same((one["tag"], one["table"], one["order"], one["position"], one["given"]), ("t007", "leaf_alloc", "trend", "2", "1"))
        same([(db["store"], db["ranges"] >= 1, db["stopped"]) for db in one["databases"]], [("a", True, False)])
        metrics = server.get("/metrics").body
        assert len(re.findall(r"(?m)^vesta_tag_step\{", metrics)) == 200, len(metrics)


# ------------------------------------------------------------------ unreachable stores, and the end

@claim("until the table is first read, requests for its tags get -LOADING")
def _(world):
    table = Table(world, orders=10)
    table.do("ALTER TABLE leaf_alloc RENAME TO away")
    table.do("CREATE TABLE leaf_alloc (other INTEGER)")
    with Configured(world, config(table)) as server:
        assert server.redis("INCR", "orders").startswith(b"-LOADING 'orders' is not known yet: leaf_alloc of a: "), server.redis("INCR", "orders")
        same(server.get("/api/segment/get/orders").status, 503)
        reply = server.get("/readyz")
        assert reply.status == 503 and "tags_unread" in reply.body, reply.body
        table.do("DROP TABLE leaf_alloc")
        table.do("ALTER TABLE away RENAME TO leaf_alloc")
        until(lambda: server.redis("INCR", "orders") == b":1\r\n")
        until(lambda: server.get("/readyz").status == 200)  # The log reports the table when its tags are served.


@claim("without a range, requests wait up to their limit and are then rejected, and numbers are issued again with the "
       "database")
def _(world):
    table = Table(world, orders=10)
    with Configured(world, config(table, "tags = 'orders', wait_ms_max = 300", more="namespaces = { ids = { worker = 5 } },")) as server:
        table.do("UPDATE leaf_alloc SET step = 0")
        began = time.monotonic()
        with server.connect(server.resp) as sock:
            sock.sendall(command("INCR", "orders"))
            assert len(bulks(server.redis("GET", "ids"))) == 1  # on the same thread
            data = sock.recv(1000)
        assert data.startswith(b"-TRYAGAIN ") and time.monotonic() - began >= 0.3, data
        reply = server.get("/api/segment/get/orders")
        same((reply.status, "retry-after" in reply.headers), (503, True))
        reply = server.get("/readyz")
        assert reply.status == 503 and '"tag":"orders","code":"range"' in reply.body, reply.body
        server.listen("no numbers can be issued now")
        table.do("UPDATE leaf_alloc SET step = 10")
        until(lambda: server.redis("INCR", "orders").startswith(b":"))
        same(server.get("/readyz").status, 200)


@claim("an unusable row is a warning in /readyz, and if it is the only one, the server is not ready")
def _(world):
    table = Table(world, good=10, bad=10)
    table.do("UPDATE leaf_alloc SET step = 0 WHERE biz_tag = 'bad'")
    with Configured(world, config(table, "tags = '*', wait_ms_max = 300")) as server:
        server.redis("INCR", "good")
        assert server.redis("INCR", "bad").startswith(b"-TRYAGAIN "), "a step of 0 gives numbers"
        until(lambda: [one["tag"] for one in json.loads(server.get("/readyz").body)["warnings"]] == ["bad"])
        same(server.get("/readyz").status, 200)
        table.do("DELETE FROM leaf_alloc WHERE biz_tag = 'good'")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.get("/readyz").status == 503)
        assert '"tag":"bad","code":"range"' in server.get("/readyz").body


@claim("if several databases count a tag, its numbers are not consecutive: INCRBY is rejected, and all lists are "
       "correct")
def _(world):
    a, b = (Table(world, name, orders=100) for name in ("a.db", "b.db"))
    text = ("return { stores = { a = { uri = 'sqlite:%s' }, b = { uri = 'sqlite:%s' } }, segments = { { stores = { 'a', 'b' }, "
            "tags = 'orders', step_max = 100, wait_ms_max = 60000 } } }" % (a.path, b.path))
    with Configured(world, text) as server:
        seen = []
        refused = b"-ERR the numbers of 'orders' are 2 apart, because several databases issue them, so 10 of them are never consecutive: "
        assert server.redis("INCRBY", "orders", "10").startswith(refused), server.redis("INCRBY", "orders", "10")
        assert b"QUEUED" not in server.say(server.resp, b"MULTI\r\nINCRBY orders 10\r\nEXEC\r\n")
        for _ in range(60):
            seen.append(integers(server.redis("INCRBY", "orders", "1"))[0])
            seen.append(integers(server.redis("INCR", "orders"))[0])
            seen += bulks(server.redis("VESTA.NEXT", "orders", "7"))
            seen += map(int, json.loads(server.get("/v1/ids?ns=orders&n=5").body)["ids"])
            seen += json.loads(server.get("/tinyid/id/nextId?bizType=orders&batchSize=5").body)["data"]
            block = json.loads(server.get("/v1/blocks?ns=orders&n=5").body)
            same(block["stride"], 2)
            seen += [int(block["first"]) + i * 2 for i in range(block["count"])]
            part = json.loads(server.get("/tinyid/id/nextSegmentId?bizType=orders").body)["data"]
            seen += [n for n in range(part["currentId"] + 1, part["maxId"] + 1) if n % part["delta"] == part["remainder"]]
            assert server.redis("INCRBY", "orders", "2").startswith(b"-ERR"), seen[-1]
        same(len(seen), len(set(seen)))
        assert {n % 2 for n in seen} == {0, 1}, "both databases count"


@claim("if a row of tinyid grants every second number, INCRBY is rejected from the first request on")
def _(world):
    from served import mariadb
    db = mariadb()
    db.sql("CREATE DATABASE tiny; CREATE TABLE tiny.tiny_id_info (id BIGINT AUTO_INCREMENT PRIMARY KEY, biz_type VARCHAR(63) NOT NULL UNIQUE, "
           "begin_id BIGINT NOT NULL DEFAULT 0, max_id BIGINT NOT NULL DEFAULT 0, step INT DEFAULT 0, delta INT NOT NULL DEFAULT 1, "
           "remainder INT NOT NULL DEFAULT 0, create_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, update_time TIMESTAMP NOT NULL DEFAULT "
           "CURRENT_TIMESTAMP, version BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB; GRANT SELECT, UPDATE ON tiny.* TO vesta@'127.0.0.1';"
           "INSERT INTO tiny.tiny_id_info (biz_type, step, delta, remainder) VALUES ('one', 100, 2, 1), ('two', 100, 2, 1)")
    text = ("return { stores = { a = { uri = 'mysql://vesta@127.0.0.1:%d/tiny', password = 's3cret' } }, segments = { { store = 'a', "
            "table = 'tiny_id_info', tags = { 'one', 'two' }, wait_ms_max = 60000 } } }" % db.port)
    with Configured(world, text) as server:
        refused = b"-ERR the numbers of '%s' are 2 apart"
        same(server.redis("INCRBY", "one", "10")[:len(refused) + 1], refused % b"one")
        data = server.say(server.resp, b"MULTI\r\nINCRBY two 10\r\nEXEC\r\n")
        assert b"ERR the numbers of 'two' are 2 apart" in data, data
        [first] = integers(server.redis("INCRBY", "two", "1"))
        same((first % 2, bulks(server.redis("VESTA.NEXT", "two", "3"))), (1, [first + 2, first + 4, first + 6]))


@claim("a server with only one of two databases issues nothing, and reports which one is missing")
def _(world):
    a, b = (Table(world, name, orders=100) for name in ("a.db", "b.db"))
    stores = "stores = { a = { uri = 'sqlite:%s' }, b = { uri = 'sqlite:%s' } }, " % (a.path, b.path)
    both = "return { %s segments = { { stores = { 'a', 'b' }, tags = 'orders' } } }" % stores
    with Configured(world, both, env={"VESTA_STATE": world.path("both")}) as server:
        while {n % 2 for n in bulks(server.redis("VESTA.NEXT", "orders", "60"))} != {0, 1}:
            pass  # until both were used
    for name, missing in ("a", 1), ("b", 0):
        for order in "trend", "strict", "dense":
            alone = ("return { %s segments = { { store = '%s', tags = 'orders', order = '%s', wait_ms_max = 3000 } } }" % (stores, name, order))
            server = Configured(world, alone, env={"VESTA_STATE": world.path(name + order)})
            with server:
                said = server.redis(*(["VESTA.RESERVE", "orders"] if order == "dense" else ["INCR", "orders"]))
                assert b"including number %d" % missing in said, (order, said)
        done = world.run("segments", "take", "orders", "--store", "sqlite:" + world.path(name + ".db"))
        assert done.code == 1 and "including number %d" % missing in done.err, done


@claim("if one of two databases is unreachable, the log names it once, when it is back, and when it went back in time")
def _(world):
    a, b = (Table(world, name, orders=10, users=10) for name in ("a.db", "b.db"))
    text = ("return { stores = { a = { uri = 'sqlite:%s' }, b = { uri = 'sqlite:%s' } }, segments = { { stores = { 'a', 'b' }, "
            "tags = { 'orders', 'users' }, step_max = 10, wait_ms_max = 60000 } } }" % (a.path, b.path))
    with Configured(world, text) as server:
        stop, taken = threading.Event(), {"orders": [], "users": []}

        def take():
            while not stop.wait(0.02):
                for tag in taken:
                    taken[tag] += bulks(server.redis("VESTA.NEXT", tag, "3"))

        taker = threading.Thread(target=take)
        taker.start()
        try:
            until(lambda: b.max_id("orders") > 100 and b.max_id("users") > 100)
            lock = sqlite3.connect(b.path, timeout=60, isolation_level=None)
            lock.execute("BEGIN EXCLUSIVE")
            line = server.listen("a database of tags is unreachable")
            assert " store=b " in line and " tag=" in line and " why=" in line, line
            time.sleep(3)  # during which the server finds the same several times
            lock.execute("ROLLBACK")
            lock.close()
            assert " store=b" in server.listen("a database of tags is reachable again"), server.said
            same(server.said.count("a database of tags is unreachable"), 1)
            top = b.max_id("orders")
            b.do("UPDATE leaf_alloc SET max_id = 1 WHERE biz_tag = 'orders'")
            line = server.listen("a counter in a database went back")
            assert all(part in line for part in (" store=b ", " tag=orders ", " tags=1 ", " grants=1 ", "vesta segments resume")), line
            b.do("UPDATE leaf_alloc SET max_id = ? WHERE biz_tag = 'orders'", top + 1000)
            done = world.run("segments", "resume", "orders", "-c", world.path("vesta.lua"))
            same((done.code, done.out), (0, "orders was resumed\n"))
            assert " store=b" in server.listen("all counters of a database are correct again"), server.said
            same(server.said.count("a counter in a database went back"), 1)
        finally:
            stop.set()
            taker.join()
        assert "no numbers can be issued now" not in server.said, server.said
    for tag in taken:
        same(len(set(taken[tag])), len(taken[tag]))


@claim("a request that waits for a range gets its number when there is one, in order")
def _(world):
    table = Table(world, orders=10)
    table.do("UPDATE leaf_alloc SET step = 0")
    with Configured(world, config(table)) as server:
        waiting = [server.connect(server.resp) for _ in range(20)]
        for sock in waiting:
            sock.sendall(command("INCR", "orders"))
        until(lambda: "\nvesta_waiting_requests 20\n" in server.get("/metrics").body)
        table.do("UPDATE leaf_alloc SET step = 10")
        same(sorted(integers(sock.recv(1000))[0] for sock in waiting), list(range(1, 21)))
        for sock in waiting:
            sock.close()


@claim("at the end the rest of a range returns to the table")
def _(world):
    table = Table(world, orders=1000)
    for round in range(2):
        with Configured(world, config(table)) as server:
            same(server.redis("INCR", "orders"), b":%d\r\n" % (round + 1))
        same(table.max_id("orders"), round + 2)


# ------------------------------------------------------------------ Leaf's own table

@claim("a Leaf-like writer and two servers on Leaf's own table in MariaDB issue no duplicate")
def _(world):
    from served import mariadb
    db = mariadb()
    db.sql("CREATE DATABASE leaf; " + LEAF % "leaf" + "; INSERT INTO leaf.leaf_alloc (biz_tag, max_id, step) VALUES ('leaf-segment-test', 1, 100), "
           "('orders', 1, 100); GRANT SELECT, UPDATE ON leaf.* TO vesta@'127.0.0.1'")
    text = ("return { stores = { a = { uri = 'mysql://vesta@127.0.0.1:%d/leaf', password = 's3cret' } }, "
            "segments = { { store = 'a', tags = '*', wait_ms_max = 60000 } } }" % db.port)
    taken = []

    def write():
        for _ in range(20):
            end = int(db.sql("BEGIN; UPDATE leaf.leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'; "
                             "SELECT max_id FROM leaf.leaf_alloc WHERE biz_tag = 'orders'; COMMIT"))
            taken.extend(range(end - 100, end))

    writer = threading.Thread(target=write)
    writer.start()
    with Configured(world, text, env={"VESTA_STATE": world.path("one")}) as one:
        with Configured(world, text, env={"VESTA_STATE": world.path("two")}) as two:
            for _ in range(30):
                for server in one, two:
                    taken += bulks(server.redis("VESTA.NEXT", "orders", "100"))
            same(one.redis("INCR", "leaf-segment-test"), b":1\r\n")
    writer.join()
    same((len(taken), len(set(taken))), (8000, 8000))
    assert max(taken) < int(db.sql("SELECT max_id FROM leaf.leaf_alloc WHERE biz_tag = 'orders'"))


@claim("a server whose user may read the table but not update it is not ready, even before the first request")
def _(world):
    from served import mariadb
    db = mariadb()
    db.sql("CREATE DATABASE norights; " + LEAF % "norights" + "; INSERT INTO norights.leaf_alloc (biz_tag, max_id, step) VALUES "
           "('orders', 1, 100), ('users', 1, 100); CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'pw'; GRANT SELECT ON norights.* TO reader@'127.0.0.1'")
    text = ("return { stores = { a = { uri = 'mysql://reader:pw@127.0.0.1:%d/norights' } }, segments = { { store = 'a', tags = %s } } }")
    for tags in "'*'", "{ 'orders', 'users' }":
        with Configured(world, text % (db.port, tags)) as server:
            until(lambda: server.get("/readyz").status == 503)
            assert "UPDATE command denied to user 'reader'" in server.get("/readyz").body, server.get("/readyz").body
            db.sql("GRANT UPDATE ON norights.* TO reader@'127.0.0.1'")
            until(lambda: server.get("/readyz").status == 200)
            same(server.redis("INCR", "orders")[:1], b":")
            db.sql("REVOKE UPDATE ON norights.* FROM reader@'127.0.0.1'")


@claim("requests for a tag in a distant table wait briefly until it is read, and then an unknown tag is rejected")
def _(world):
    from far import Far
    from served import mariadb
    db = mariadb()
    db.sql("CREATE DATABASE far; " + LEAF % "far" + "; INSERT INTO far.leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 100); "
           "GRANT SELECT, UPDATE ON far.* TO vesta@'127.0.0.1'")
    text = ("return { stores = { a = { uri = 'mysql://vesta@127.0.0.1:%d/far', password = 's3cret' } }, segments = { { store = 'a', "
            "tags = '*', wait_ms_max = 60000 } } }" % Far(db.port, 0.1).port)
    for _ in range(5):
        server = Configured(world, text)
        server.quiet = True  # or the table is read by then
        with server, server.connect(server.resp) as one, server.connect(server.resp) as other:
            asked = time.monotonic()
            one.sendall(command("INCR", "orders"))
            other.sendall(command("INCR", "nobody"))
            answers = one.recv(1000), other.recv(1000)
            if b"-LOADING" not in answers[0] + answers[1]:
                break
            assert time.monotonic() - asked >= 1, answers  # This machine was suspended for a moment.
    assert re.fullmatch(rb":\d+\r\n", answers[0]) and answers[1].startswith(b"-ERR unknown name 'nobody'"), answers


@claim("the example config with segments is served unchanged, with the databases from the environment")
def _(world):
    from served import mariadb
    db = mariadb()
    db.sql("CREATE DATABASE IF NOT EXISTS ex_a; CREATE DATABASE IF NOT EXISTS ex_b; " + LEAF % "ex_a" + ";"
           + ";".join("CREATE TABLE %s.tiny_id_info (id bigint(20) NOT NULL AUTO_INCREMENT, biz_type varchar(63) NOT NULL DEFAULT '', "
                      "begin_id bigint(20) NOT NULL DEFAULT 0, max_id bigint(20) NOT NULL DEFAULT 0, step int(11) DEFAULT 0, "
                      "delta int(11) NOT NULL DEFAULT 1, remainder int(11) NOT NULL DEFAULT 0, "
                      "create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', "
                      "version bigint(20) NOT NULL DEFAULT 0, PRIMARY KEY (id), UNIQUE KEY uniq_biz_type (biz_type)); "
                      "INSERT INTO %s.tiny_id_info (biz_type, begin_id, max_id, step, delta, remainder) VALUES ('orders', 1, 1, 1000, 2, %d)"
                      % (name, name, remainder) for name, remainder in (("ex_a", 0), ("ex_b", 1)))
           + "; INSERT INTO ex_a.leaf_alloc (biz_tag, max_id, step) VALUES ('users', 1, 10); GRANT SELECT, UPDATE ON ex_a.* TO vesta@'127.0.0.1'; "
           "GRANT SELECT, UPDATE ON ex_b.* TO vesta@'127.0.0.1'")
    with open(world.path("db.pass"), "w") as file:
        file.write("s3cret\n")
    os.chmod(world.path("db.pass"), 0o600)
    env = {"VESTA_SECRETS": world.folder, "DB_TLS": "off", "DB1": "127.0.0.1:%d/ex_a" % db.port, "DB2": "127.0.0.1:%d/ex_b" % db.port}
    with Configured(world, EXAMPLE, env=env) as server:
        until(lambda: server.redis("INCR", "users") == b":1\r\n")
        numbers = []  # Either of the two databases may answer first.
        until(lambda: numbers.extend(bulks(server.redis("VESTA.NEXT", "orders", "100"))) or len({number % 2 for number in numbers}) == 2)
        same(len(set(numbers)), len(numbers))


main()
