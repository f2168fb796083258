"""uuids.py -- gen, explain, audit, range and guess of ids of 128 bits."""
import csv
import json
import os
import re
import uuid

from harness import SLOW, claim, fails, like, main, same, shifted

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "vectors", "uuids.csv")
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SHAPES = {
    "uuid7": r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "uuid8": r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    "ulid": "[0-7][%s]{25}" % CROCKFORD,
    "hex32": "[0-9a-f]{32}",
}
V7 = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f"
ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def gen(w, *words, **more):
    done = w.run("gen", *words, **more)
    same(done.code, 0)
    return done.out.split()


def explained(w, *words, **more):
    done = w.run("explain", "--json", *words, **more)
    same((done.code, done.err), (0, ""))
    return [json.loads(line) for line in done.lines()]


def unix_ms(text):
    """The first 48 bits of an id in any text."""
    text = text.split("_")[-1]
    if len(text) == 26:
        value = 0
        for digit in text.upper():
            value = value * 32 + CROCKFORD.index(digit)
        return value >> 80
    return int(text.replace("-", "")[:12], 16)


@claim("gen --shape prints ids of each shape, which ascend, and differ from each other")
def _(w):
    seen = set()
    for shape, pattern in SHAPES.items():
        ids = gen(w, "--layout", "snowflake", "--shape", shape, "-n", "2000")
        same(len(ids), 2000)
        assert all(re.fullmatch(pattern, text) for text in ids), ids[:3]
        same(ids, sorted(set(ids)))
        seen |= {unix_ms(text) for text in ids}
    assert max(seen) - min(seen) < 60000 * SLOW
    same(json.loads(w.run("gen", "--layout", "snowflake", "--shape", "ulid", "--json").out).keys(), {"id"})


@claim("gen --shape prints ascending ids although the clock is set back by 60 s, where gen waits")
def _(w):
    before = gen(w, "--layout", "snowflake", "--shape", "uuid7", "-n", "10")
    after = gen(w, "--layout", "snowflake", "--shape", "uuid7", "-n", "10", "--wait-ms", "500", env=shifted("-60"))
    same(before + after, sorted(set(before + after)))
    fails(w.run("gen", "--layout", "snowflake", "--wait-ms", "300", env=shifted("-60")), 1, "clock_back")


@claim("gen --type-prefix prints TypeIDs, which are UUIDs of version 7")
def _(w):
    ids = gen(w, "--layout", "snowflake", "--type-prefix", "line_item", "-n", "3")
    for text, got in zip(ids, explained(w, *ids)):
        assert re.fullmatch("line_item_[0-7][0-9a-hjkmnp-tv-z]{25}", text), text
        same((got["id"], got["prefix"], got["kind"], got["variant"]), (text, "line_item", "uuid7", 2))


@claim("gen rejects a bad prefix, a shape of TypeIDs that is no UUID, --format with a shape, and a layout whose counter does not fit")
def _(w):
    for prefix, part in (("a" * 64, "63"), ("order1", "a to z"), ("Order", "a to z"), ("_a", "begin and end"), ("a_", "begin and end")):
        fails(w.run("gen", "--type-prefix", prefix), 2, "'%s" % prefix[:40], part, "such as order")
        fails(w.run("range", "--type-prefix", prefix, "today"), 2, part)
    fails(w.run("gen", "--type-prefix", ""), 2, "--type-prefix needs a value")
    for shape in "ulid", "hex32":
        fails(w.run("gen", "--type-prefix", "order", "--shape", shape), 2, shape, "a TypeID is a uuid7 or uuid8")
        fails(w.run("range", "--type-prefix", "order", "--shape", shape, "today"), 2, shape, "a TypeID is a uuid7 or uuid8")
    fails(w.run("gen", "--shape", "uuid4"), 2, "uuid7|uuid8|ulid|hex32")
    fails(w.run("gen", "--shape", "uuid7", "--format", "hex"), 2, "--format is for ids of 64 bits")
    fails(w.run("gen", "--shape", "hex32", "--layout", "sign:1 time:31 seq:25 worker:7 unit=1s epoch=2020-01-01T00:00:00Z"), 2, "hex32")


@claim("explain reads the published vectors: their bits, version, variant and time")
def _(w):
    with open(VECTORS) as file:
        rows = [row for row in csv.reader(line for line in file if line[0] not in "#\n")]
    good = [row for row in rows if row[0] in ("uuid", "ulid", "hex32", "typeid", "read")]
    bad = [row for row in rows if row[0] == "bad" and re.fullmatch("[A-Za-z0-9_-]{25,}", row[2])]  # other characters separate words
    assert len(good) > 30 and len(bad) > 20
    for (kind, name, _, bits, unix_us), got in zip(good, explained(w, *[row[2] for row in good])):
        value = uuid.UUID(hex=bits)
        same((name, got["uuid"]), (name, str(value)))
        if "version" in got and got["kind"][:5] in ("uuid1", "uuid3", "uuid4", "uuid5"):
            same((got["version"], got["variant"]), (value.version, 2))
        if kind != "typeid" or len(got["id"]) > 26:  # a TypeID without a prefix is read as a ULID, which has a time
            same((name, got.get("unix_ms")), (name, None if unix_us == "-" else int(unix_us) // 1000))
    for row in bad:
        fails(w.run("explain", row[2]), 2, "is not a")


@claim("explain shows an id that was issued with a layout: counter, worker id and holder, and detects one made elsewhere")
def _(w):
    words = "--namespace", "orders", "--layout", "snowflake", "--worker", "7"
    of = {shape: gen(w, *words, "--shape", shape)[0] for shape in SHAPES}
    for shape, text in of.items():
        got = explained(w, "--namespace", "orders", text)[0]
        same((got["id"], got["kind"] if shape != "hex32" else shape, got["unix_ms"]), (text, shape, unix_ms(text)))
        assert 0 <= got["seq"] < 4096 and got["counter"] == got["seq"], got
        same("from" in got, shape == "uuid8")
    got = explained(w, "--namespace", "orders", of["uuid8"])[0]
    same((got["worker"], got["namespace"], got["granted"]), (7, "orders", True))
    inner = explained(w, "--layout", "snowflake", got["from"])[0]
    same((inner["worker"], inner["unix_ms"], inner["seq"]), (7, got["unix_ms"], got["seq"]))
    same(explained(w, of["uuid8"])[0]["layout"], "snowflake")  # found by its fingerprint among the presets
    text = w.run("explain", "--namespace", "orders", of["uuid8"]).out
    like(text, of["uuid8"] + "  UUID of version 8, read as uuid8 of snowflake\n...\n  from     " + got["from"] + "\n...└─ worker 7\n...held by...")
    old = str(uuid.UUID(int=1100000000000 << 80 | 7 << 76 | 2 << 62))  # before the layout's epoch
    like(w.run("explain", "--namespace", "orders", old).out, "...\n  Not issued by this namespace: no id of this layout has the time ...")
    assert "counter" not in explained(w, V7)[0]


@claim("explain reads ids of 64 and of 128 bits together, in lines of text, and compares two by their times")
def _(w):
    text = 'x id={%s}, 2006515713438674944 {"trace":"%s"} short 123\n%s\nurn:uuid:%s\n' % (V7.upper(), ULID, ULID.lower(), V7)
    same([got["id"] for got in explained(w, "--layout", "snowflake", stdin=text)], ["2006515713438674944", V7, ULID, ULID, V7])
    got = json.loads(w.run("explain", "--json", "--compare", "--layout", "snowflake", "2006515713438674944", V7).lines()[2])
    same(got, {"compare": ["2006515713438674944", V7], "equal": False, "older": V7, "by": "clocks", "apart_ms": 1767225600000 - 1645557742000})
    like(w.run("explain", V7, ULID).out, "...\n%s is older than %s\n  5 years apart...\n  they show no common worker, so...\n" % (ULID, V7))
    like(w.run("explain", V7, V7).out, "...both are the same id\n")
    done = w.run("explain", "--compare", V7, "919108f7-52d1-4320-9bac-f847db4148a8")
    same((done.code, "--compare needs ids that contain a time" in done.err), (2, True))
    fails(w.run("explain", "--format", "hex", V7), 2, "is not an id: hex digits, at most 16")


@claim("explain reads the trace id of a header traceparent, and shows its time only if the issuer can have been vesta")
def _(w):
    header = "00-%s-00f067aa0ba902b7-01"
    same([got["id"] for got in explained(w, header % ("a" * 32), stdin="")], ["a" * 32])
    same([got["id"] for got in explained(w, stdin="traceparent: %s\n" % (header % ("b" * 32)))], ["b" * 32])
    issued, = gen(w, "--layout", "snowflake", "--shape", "hex32")
    like(w.run("explain", header % (issued[:12] + "0" * 20)).out, "...32 hex digits\n\n  time     20...Z, if vesta issued this trace id: add --namespace NAME\n\n...")
    like(w.run("explain", "4bf92f3577b34da603ce929d0e0e4736").out, "...\n  time     none that vesta knows\n\n...")


@claim("a text that is almost an id of 128 bits is rejected with the reason, also beside letters that are not ASCII")
def _(w):
    typeid = "01h455vb4pex5vsknk084sn02q"
    fails(w.run("explain", "order_" + typeid[:-1]), 2, "is not a TypeID: its suffix '%s' must have 26 characters" % typeid[:-1])
    fails(w.run("explain", "gr\u00f6\u00dfe_" + typeid), 2, "is not a TypeID", "a to z")
    same([got["id"] for got in explained(w, "\u201c%s\u201d" % V7)], [V7])
    same([got["id"] for got in explained(w, stdin="\u8ba2\u5355\uff1aorder_%s \u201ca_%s\u201d\u2192b_%s \u8ba2\u5355c_%s \u0444d_%s" % ((typeid,) * 5))],
         ["%s_%s" % (prefix, typeid) for prefix in ("order", "a", "b", "c")])
    fails(w.run("explain", "foo"), 2, "or a UUID, ULID or TypeID")
    like(w.run("explain", "order_" + typeid).out, "...typeid order_%s\n" % typeid)


@claim("audit counts duplicates, inversions, kinds, times and the rate of ids of 128 bits, and names lines")
def _(w):
    ids = gen(w, "--layout", "snowflake", "--shape", "uuid7", "-n", "5000")
    got = json.loads(w.run("audit", "--json", stdin="\n".join(ids) + "\n").out)
    same((got["total"], got["distinct"], got["duplicates"], got["unreadable"]), (5000, 5000, 0, 0))
    wide = got["uuids"]
    same((wide["total"], wide["kinds"], wide["inversions"], wide["future"], wide["min"], wide["max"]), (5000, {"uuid7": 5000}, 0, 0, ids[0], ids[-1]))
    same(wide["burst"], max(map([unix_ms(text) for text in ids].count, {unix_ms(text) for text in ids})))
    open(w.path("a"), "w").write("\n".join(ids[:100]) + "\n")
    open(w.path("b"), "w").write("%s\n\n7\n%s,x\n%s\n{\"ids\":[\"%s\",\"%s\"]}\n7\n" % (ids[50], ids[60].upper(), ids[20], ULID, V7))
    done = w.run("audit", "a", "b")
    same(done.code, 1)
    same(done.lines()[:8], ["total                   107", "distinct                103", "duplicates                4",
                            "  7  2 times: b line 3, b line 7", "  %s  2 times: a line 21, b line 5" % ids[20], "  %s  2 times: a line 51, b line 1" % ids[50],
                            "  %s  2 times: a line 61, b line 4" % ids[60], "uuid7                   104"])
    like(done.out, "...\nulid                      1\ninversions                2  smaller than the id before it. The first is %s, b line 5\n..." % ids[20])
    got = json.loads(w.run("audit", "--json", "a", "b").out)["uuids"]
    same((got["inversions"], got["shown"][0]["lines"]), (2, [{"file": "a", "line": 21}, {"file": "b", "line": 5}]))


@claim("audit finds ids from the future, takes the times of version 8 from the layout, and expects no order of random ids")
def _(w):
    late = str(uuid.UUID(int=(4000000000000 << 80) | 7 << 76 | 2 << 62))
    got = json.loads(w.run("audit", "--json", stdin="%s\n%s\n" % (V7, late)).out)["uuids"]
    same((got["future"], got["last"]), (1, "2096-10-02T07:06:40Z"))
    ids = "\n".join(gen(w, "--layout", "snowflake", "--shape", "uuid8", "-n", "10"))
    same(json.loads(w.run("audit", "--json", stdin=ids).out)["uuids"].keys(), {"total", "min", "max", "kinds", "shown"})
    got = json.loads(w.run("audit", "--json", "--layout", "snowflake", stdin=ids).out)["uuids"]
    same((got["kinds"], got["inversions"], got["future"]), ({"uuid8": 10}, 0, 0))
    ids = "\n".join(str(uuid.uuid4()) for _ in range(20000 // SLOW))
    got = json.loads(w.run("audit", "--json", stdin=ids).out)
    same((got["duplicates"], got["uuids"].get("inversions"), got["uuids"]["kinds"]), (0, None, {"uuid4": 20000 // SLOW}))
    same(got["uuids"]["min"], min(ids.split()))
    done = w.run("audit", stdin=V7 + "\n" + V7[:-1] + "g\n")
    same(done.code, 2)
    assert "stdin line 2: '%sg' is not a UUID: write 32 hexadecimal digits as 8-4-4-4-12" % V7[:-1] in done.err, done.err


@claim("range prints the smallest and the largest id of an interval in each shape, and issued ids lie between them")
def _(w):
    words = "--layout", "snowflake", "2026-01-01"
    same(w.run("range", "--shape", "uuid7", *words).out, "019b76da-a800-7000-8000-000000000000 019b7c01-03ff-7fff-bfff-ffffffffffff\n")
    same(w.run("range", "--shape", "uuid8", *words).out, "019b76da-a800-8000-8000-000000000000 019b7c01-03ff-8fff-bfff-ffffffffffff\n")
    same(w.run("range", "--shape", "ulid", *words).out, "01KDVDNA000000000000000000 01KDY020ZZZZZZZZZZZZZZZZZZ\n")
    same(w.run("range", "--shape", "hex32", *words).out, "019b76daa80000000000000000000000 019b7c0103ffffffffffffffffffffff\n")
    same(json.loads(w.run("range", "--json", "--type-prefix", "order", *words).out),
         {"min": "order_01kdvdna00e008000000000000", "max": "order_01kdy020zzfzzvzzzzzzzzzzzz"})
    for shape in SHAPES:  # this layout has a time unit of a second
        text, = gen(w, "--layout", "vesta-second", "--shape", shape)
        low, high = w.run("range", "--layout", "vesta-second", "--shape", shape, str(unix_ms(text) + 700)).out.split()
        assert low <= text <= high, (low, text, high)
    fails(w.run("range", "--shape", "ulid", "1969-12-31"), 1, "no ulid has the time 1969-12-31", "1970-01-01")
    fails(w.run("range", "--shape", "ulid", "today", "worker=3"), 2, "worker=3")
    fails(w.run("range", "--shape", "ulid", "--format", "hex", "today"), 2, "--format is for ids of 64 bits")


@claim("guess recognizes the kind of ids of 128 bits, and the layout of those that vesta made")
def _(w):
    def kinds(*words):
        return [guess["kind"] for guess in json.loads(w.run("guess", "--json", *words).out)["guesses"]]
    same(kinds(V7), ["uuid7"])
    same(kinds(ULID), ["ulid"])
    same(kinds("01563e3a-b5d3-d676-4c61-efb99302bd5b"), ["ulid"])
    same(kinds("919108f7-52d1-4320-9bac-f847db4148a8"), ["uuid4"])
    same(kinds("4bf92f3577b34da6a3ce929d0e0e4736"), ["uuid4", "hex32"])
    same(kinds("order_01h455vb4pex5vsknk084sn02q"), ["uuid7"])
    same(w.run("guess", "01563e3a-b5d3-0676-4c61-efb99302bd5b", "ffffffff-ffff-0fff-ffff-ffffffffffff").code, 1)
    made = gen(w, "--layout", "snowflake", "--shape", "uuid8", "-n", "3")
    got = json.loads(w.run("guess", "--json", *made).out)
    same((got["ids"], got["guesses"][0]["kind"], got["guesses"][0]["layout"]), (3, "uuid8", "snowflake"))
    like(w.run("guess", made[0]).out, made[0] + "  UUID, could be, likeliest first:\n  uuid8   made by vesta with layout snowflake, from ...")
    mixed = [json.loads(line) for line in w.run("guess", "--json", V7, ULID, "2006515713438674944").lines()]
    same([got["id"] for got in mixed], ["2006515713438674944", V7, ULID])
    each = [json.loads(line)["id"] for line in w.run("guess", "--each", "--json", V7, "2006515713438674944", V7).lines()]
    same(each, [V7, "2006515713438674944", V7])


if __name__ == "__main__":
    main()
