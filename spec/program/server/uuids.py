"""uuids.py -- ids of 128 bits over HTTP and the Redis protocol."""
import json
import re

from serving import WIDE, Configured, Server, claim, command, main, same, set_clock, shifted

SHAPES = {
    "uuid7": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "uuid8": r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ulid": "[0-7][0-9A-HJKMNP-TV-Z]{25}",
    "hex32": "[0-9a-f]{32}",
}
TYPEID = "order_[0-7][0-9a-hjkmnp-tv-z]{25}"
V7 = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
SNOWFLAKE = "return { namespaces = { a = { layout = 'snowflake', worker = 7 }, b = { layout = 'snowflake', worker = 8%s } }%s }"


def texts(data):
    return [text.decode() for text in re.findall(rb"\$\d+\r\n([^\r]+)\r\n", data)]


def refused(reply, status, code, *parts):
    error = json.loads(reply.body)
    same((reply.status, error["code"]), (status, code))
    for part in parts:
        assert part in error["detail"], (part, error)


@claim("both protocols issue each shape, one or many, as JSON and as text, and the ids ascend and differ")
def _(world):
    with Configured(world, SNOWFLAKE % ("", "")) as server:
        for shape, pattern in SHAPES.items():
            got = json.loads(server.get("/v1/ids?ns=a&n=50&shape=" + shape).body)["ids"]
            got += server.get("/v1/ids?ns=a&n=3&format=text&shape=" + shape).body.split()
            got += server.get("/v1/ids?shape=%s&format=text" % shape.upper()).body.split()
            got += texts(server.redis("VESTA.NEXT", "a", "50", shape.upper()))
            got += texts(server.redis("vesta.next", "a", "1", shape))
            same(len(got), 105)
            assert all(re.fullmatch(pattern, text) for text in got), got
            same(got, sorted(set(got)))
        got = json.loads(server.get("/v1/ids?ns=a&n=2&prefix=order").body)["ids"] + texts(server.redis("VESTA.NEXT", "a", "2", "UUID7", "order"))
        assert len(got) == 4 and all(re.fullmatch(TYPEID, text) for text in got), got
        assert re.fullmatch(TYPEID[6:], server.get("/v1/ids?ns=a&prefix=&format=text").body.strip())
        metrics = server.get("/metrics").body
        for proto, count in ("http", 4 * 54 + 3), ("resp", 4 * 51 + 2):
            assert 'vesta_ids_issued_total{namespace="a",proto="%s"} %d\n' % (proto, count) in metrics, metrics


@claim("a batch has at most 3,000 ids of 128 bits, which fit a reply with the longest prefix, and the client's limits apply")
def _(world):
    prefix = "a" * 63
    with Server(world, layout=WIDE) as server:
        same(len(set(json.loads(server.get("/v1/ids?n=3000&prefix=" + prefix).body)["ids"])), 3000)
        same(len(set(texts(server.redis("VESTA.NEXT", "default", "3000", "UUID7", prefix)))), 3000)
        refused(server.get("/v1/ids?n=3001&shape=uuid7"), 400, "bad_count", "1 to 3000")
        assert server.redis("VESTA.NEXT", "default", "3001", "UUID7").startswith(b"-ERR n '3001' must be")
    with Configured(world, SNOWFLAKE % (", rate = 10, wait_ms_max = 0", "")) as server:
        same(server.get("/v1/ids?ns=b&n=3000&shape=uuid7").status, 200)
        refused(server.get("/v1/ids?ns=b&shape=uuid7"), 429, "over_share")


@claim("without random bytes for the key, shapes with random bits are rejected with the next step, and uuid8 is issued")
def _(world):
    env = dict(shifted("+0"), NO_RANDOM="16")  # the size of the key
    why = "the kernel returned no random bytes for %s when the generator was opened: permit getrandom and open the generator again, or use uuid8"
    with Configured(world, SNOWFLAKE % ("", "")) as first:
        same(first.get("/v1/ids?ns=a&shape=uuid7").status, 200)
        with Configured(world, SNOWFLAKE % ("", ""), env=env) as second:  # shares the first one's leases
            for shape in "uuid7", "ulid", "hex32":
                refused(second.get("/v1/ids?ns=a&shape=" + shape), 503, "not_served", "'a': " + why % shape)
            refused(second.get("/v1/ids?ns=a&prefix=order"), 503, "not_served", why % "uuid7")
            same(second.redis("VESTA.NEXT", "a", "1", "ULID"), ("-ERR 'a': %s\r\n" % (why % "ulid")).encode())
            assert re.fullmatch(SHAPES["uuid8"], second.get("/v1/ids?ns=a&format=text&shape=uuid8").body.strip())
            same(second.get("/genid?ns=a").status, 200)


@claim("a bad shape, prefix or count is rejected with the valid ones, and nothing is issued")
def _(world):
    config = "return { namespaces = { a = { layout = '%s', worker = 7, pacing = 'history' } }, stores = { s = { uri = 'sqlite:%s' } }, segments = { { store = 's', tags = 'tag' } } }"
    uri = world.path("v.db")
    same(world.run("segments", "add", "tag", "--store", "sqlite:" + uri).code, 0)
    with Configured(world, config % ("sign:1 time:31 seq:25 worker:7 unit=1s epoch=2020-01-01T00:00:00Z", uri)) as server:
        same(len(server.redis("VESTA.NEXT", "tag", "2").split(b"$")), 3)
        first = server.get("/genid").body
        for query, parts in (("shape=uuid4", ("'uuid4'", "uuid7, uuid8, ulid or hex32")), ("shape=", ("''", "uuid7, uuid8, ulid or hex32")),
                             ("shape=uuid7\0", ("uuid7, uuid8, ulid or hex32",)),
                             ("shape=hex32", ("hex32", "counter")), ("prefix=" + "a" * 64, ("63",)), ("prefix=order1", ("'order1'", "a to z")),
                             ("prefix=_a", ("'_a'", "begin and end")), ("prefix=a&shape=ulid", ("ulid", "a TypeID is a uuid7 or uuid8")),
                             ("ns=tag&shape=uuid7", ("'tag'", "use a namespace"))):
            refused(server.get("/v1/ids?" + query.replace("\0", "%00")), 400, "bad_field", *parts)
        for words, part in ((("UUID4",), b"'UUID4' must be uuid7, uuid8, ulid or hex32"), (("ULID", "order"), b"a TypeID is a uuid7 or uuid8"),
                            (("UUID7", "Order"), b"a to z")):
            reply = server.redis("VESTA.NEXT", "a", "1", *words)
            assert reply.startswith(b"-ERR ") and part in reply, reply
        assert server.redis("VESTA.NEXT", "a", "1", "UUID7", "order", "x").startswith(b"-ERR ")
        refused(server.get("/v1/ids?shape=uuid7&n=0"), 400, "bad_count")
        same(int(server.get("/genid").body) - int(first), 128)  # the next tick


@claim("the explain route reads ids of both widths: shape, worker id and time, and those that were made elsewhere")
def _(world):
    with Configured(world, SNOWFLAKE % ("", "")) as server:
        for shape in SHAPES:
            text = server.get("/v1/ids?ns=a&format=text&shape=" + shape).body.strip()
            got = json.loads(server.get("/v1/ids/%s?ns=a" % text).body)
            same((got["id"], got["kind"] if shape != "hex32" else shape, got["layout"], got["counter"]), (text, shape, "snowflake", got["seq"]))
            same(got.get("worker"), 7 if shape == "uuid8" else None)
            if shape == "uuid8":
                inner = json.loads(server.get("/v1/ids/%s?ns=a" % got["from"]).body)
                same((inner["worker"], inner["unix_ms"], inner["seq"]), (7, got["unix_ms"], got["seq"]))
        got = json.loads(server.get("/v1/ids/urn:uuid:%s?ns=a" % V7.upper()).body)
        same((got["id"], got["version"], got["unix_ms"], got["iso"]), (V7, 7, 1645557742000, "2022-02-22T19:22:22Z"))
        reply = server.redis("VESTA.EXPLAIN", "a", "order_01h455vb4pex5vsknk084sn02q")
        assert reply.startswith(b"*") and b"$5\r\nuuid7\r\n" in reply and b":1688096058518\r\n" in reply, reply
        same(server.redis("VESTA.EXPLAIN", "919108f7-52d1-4320-9bac-f847db4148a8").startswith(b"*12\r\n"), True)
        header = "00-%s-00f067aa0ba902b7-01" % ("a" * 32)  # traceparent of W3C Trace Context
        same(json.loads(server.get("/v1/ids/%s?ns=a" % header).body)["id"], "a" * 32)
        refused(server.get("/v1/ids/%sg" % V7[:-1]), 400, "bad_id", V7[:-1] + "g", "8-4-4-4-12")
        refused(server.get("/v1/ids/8ZZZZZZZZZZZZZZZZZZZZZZZZZ"), 400, "bad_id", "must be 0 to 7")
        refused(server.get("/v1/ids/hello"), 400, "bad_id", "decimal")


@claim("in a transaction, shapes are issued like other ids, and a bad shape is an error of its command")
def _(world):
    with Configured(world, SNOWFLAKE % ("", "")) as server:
        words = [command("MULTI"), command("VESTA.NEXT", "a", "2", "UUID7"), command("GET", "a"), command("VESTA.NEXT", "b", "1", "ULID"),
                 command("VESTA.NEXT", "a", "1", "UUID8", "order"), command("EXEC")]
        reply = server.say(server.resp, b"".join(words))
        got = texts(reply)
        same(len(got), 5)
        for text, pattern in zip(got, (SHAPES["uuid7"], SHAPES["uuid7"], r"\d+", SHAPES["ulid"], TYPEID)):
            assert re.fullmatch(pattern, text), got
        assert got[0] < got[1], got
        reply = server.say(server.resp, command("MULTI") + command("VESTA.NEXT", "a", "1", "UUID4") + command("EXEC"))
        same(reply, b"+OK\r\n+QUEUED\r\n*1\r\n-ERR shape 'UUID4' must be uuid7, uuid8, ulid or hex32\r\n")


@claim("if the clock is set back by 60 s, UUIDs are issued at once and ascend, while 64-bit ids wait")
def _(world):
    set_clock(world.path("clock"), "+0")
    with Configured(world, SNOWFLAKE % (", wait_ms_max = 100", ""), env=shifted(world.path("clock"))) as server:
        before = json.loads(server.get("/v1/ids?ns=b&n=100&shape=uuid7").body)["ids"]
        same(server.get("/genid?ns=b").status, 200)
        set_clock(world.path("clock"), "-60")
        after = json.loads(server.get("/v1/ids?ns=b&n=100&shape=uuid7").body)["ids"] + texts(server.redis("VESTA.NEXT", "b", "9", "UUID7"))
        same(before + after, sorted(set(before + after)))
        refused(server.get("/v1/ids?ns=b"), 503, "clock_back")


@claim("after a restart with another worker id and the clock set back by 50 s, ids are issued at once, and UUIDs ascend")
def _(world):
    set_clock(world.path("clock"), "+0")
    uuids, ids, workers = [], [], []
    for _start in "first", "second":
        with Configured(world, "return { namespaces = { a = { layout = 'snowflake' } } }", env=shifted(world.path("clock"))) as server:
            ids.append(int(server.get("/genid?ns=a").body))
            uuids += json.loads(server.get("/v1/ids?ns=a&n=100&shape=uuid8").body)["ids"]
            workers.append(json.loads(server.get("/v1/ids/%s?ns=a" % uuids[-1]).body)["worker"])
        set_clock(world.path("clock"), "-50")
    same(uuids, sorted(set(uuids)))
    assert ids[0] > ids[1] and workers[0] != workers[1], (ids, workers)


@claim("a request for TypeIDs that waits keeps its shape and its prefix")
def _(world):
    layout = "sign:1 time:44 seq:3 worker:16 unit=1ms epoch=2020-01-01T00:00:00Z"  # eight per millisecond
    with Configured(world, "return { namespaces = { few = { layout = '%s', worker = 3, wait_ms_max = 20000 } } }" % layout) as server:
        got = texts(server.redis("VESTA.NEXT", "few", "1000", "UUID7", "order"))
        got += json.loads(server.get("/v1/ids?n=1000&shape=uuid8&prefix=order").body)["ids"]
        same(len(set(got)), 2000)
        assert all(re.fullmatch(TYPEID, text) for text in got), got[:3]


if __name__ == "__main__":
    main()
