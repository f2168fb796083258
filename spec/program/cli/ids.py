"""ids.py -- explain, guess, make, range, fit and layout."""
import json
import time

from harness import claim, fails, like, main, same

NOT_IDS = ["-0", "+1", "0x", "0x1ffffffffffffffff", "-9223372036854775809", "1e3", "1.5", "18446744073709551616", "9" * 400, "١٢", "12 34", "", "9223372036854775808x", "1\x1b[0m"]

PUBLISHED = """\
1138729511026688  read as vesta-legacy-second

  0 0 00 0000000001 000000101110101011001000000000 00000000000000000000
  │ │ │  │          │                              └─ seq 0
  │ │ │  │          └─ time 12235264  2015-05-22T06:41:04Z, ... years ago
  │ │ │  └─ machine 1  the worker
  │ │ └─ method 0
  │ └─ type 0
  └─ version 0

  hex 00040bab20000000   base32 0010BNCG00000   base62 005DLyEuNDU
"""


@claim("explain draws the published example of Vesta (Java)")
def _(w):
    result = w.run("explain", "--layout", "vesta-legacy-second", "1138729511026688")
    same((result.code, result.err), (0, ""))
    like(result.out, PUBLISHED)


@claim("explain reads the same id differently under the default layout")
def _(w):
    like(w.run("explain", "1138729511026688").out,
         "1138729511026688  read as vesta-second\n...machine 0  the worker\n...seq 524288\n...2015-01-12T22:35:24Z...")


@claim("explain --json prints every field, the worker and the time, with the id as a string")
def _(w):
    got = json.loads(w.run("explain", "--json", "2319542600899494910").out)
    same(got, {"id": "2319542600899494910", "version": 0, "type": 0, "method": 2, "time": 12758739, "seq": 0, "machine": 1022,
               "worker": 1022, "unix_ms": 1432800339000, "iso": "2015-05-28T08:05:39Z"})


@claim("explain marks an id of the future")
def _(w):
    like(w.run("explain", "--layout", "snowflake", str(2**63 - 1)).out, "...2080-07-10T17:30:30.208Z, in ... years: in the future\n...")


@claim("explain reads ids of a layout whose time has ended")
def _(w):
    like(w.run("explain", "--layout", "uid", "8099276818849767424").out, "...worker 1501381\n...time 235719979  2023-11-07T21:46:19Z, ... years ago\n...")
    same(json.loads(w.run("explain", "--json", "--layout", "uid", str(218592000 << 35 | 7 << 13 | 5)).out)["iso"], "2023-04-23T16:00:00Z")


@claim("explain reads stdin with blank lines, CRLF and spaces")
def _(w):
    want = w.run("explain", "--json", "1", "2").out
    same(w.run("explain", "--json", stdin="1\n\n  2 \r\n").out, want)
    same(w.run("explain", stdin="").out, "")


@claim("explain and guess reject and name an invalid id, and continue with the next")
def _(w):
    for text in NOT_IDS:
        for command in ("explain", "guess"):
            fails(w.run(command, text), 2, "is not an id: ", "18446744073709551615")
    mixed = w.run("explain", "--json", stdin=b"1\nx\x00y\n2\n" + b"9" * 100000 + b"\n")
    same((mixed.code, len(mixed.lines())), (2, 2))
    assert 'line 2: "x\\x00y" is not an id' in mixed.err, mixed.err
    assert "line 4:" in mixed.err and len(mixed.err) < 600, mixed.err


@claim("explain rejects with 1 an id whose constant bits do not match the layout")
def _(w):
    fails(w.run("explain", "--layout", "snowflake", str(2**63)), 1, str(2**63), "sign is 1, not 0", "vesta guess", "bad_id")
    fails(w.run("explain", "--layout", "vesta-milli", "1"), 1, "type is 0, not 1")


@claim("explain reads hex, base32 and base62 as it prints them")
def _(w):
    for form, text in (("hex", "00040bab20000000"), ("base32", "0010BNCG00000"), ("base62", "005DLyEuNDU")):
        like(w.run("explain", "--format", form, text).out, "1138729511026688  read...")
    same(w.run("explain", "--format", "hex", "0x00040bab20000000").code, 0)
    fails(w.run("explain", "1.39784E+18"), 2, '"1.39784E+18" is not an id: it was rounded, and its last digits are lost: export the ids again, as text')
    fails(w.run("explain", "--format", "hex", "0xg"), 2, '"0xg" is not an id', "hex digits, at most 16")
    for form, text in (("base62", "zzzzzzzzzzz"), ("base62", "LygHa16AHYG"), ("base32", "G000000000000"), ("dec", "18446744073709551616"),
                       ("any", "18446744073709551616"), ("any", "LygHa16AHYG")):
        fails(w.run("explain", "--format", form, text), 2, '"%s" is not an id: it is larger than 64 bits hold' % text)
    fails(w.run("explain", "--format", "base32", "U"), 2, '"U" is not an id')


@claim("guess lists the layout of the published example first")
def _(w):
    like(w.run("guess", "1138729511026688").out,
         "1138729511026688  could be, likeliest first:\n   ... %  vesta-legacy-second    2015-05-22T06:41:04Z, ... version=0 method=0 machine=1 seq=0\n...")
    got = json.loads(w.run("guess", "--json", "1138729511026688").out)
    same((got["id"], got["guesses"][0]["layout"], got["guesses"][0]["worker"]), ("1138729511026688", "vesta-legacy-second", 1))


@claim("guess reports with 1 that no generator can have made an id")
def _(w):
    result = w.run("guess", str(2**64 - 1))
    same(result.code, 1)
    like(result.out, "18446744073709551615  none of the layouts could have made this id by now\n...")
    same(json.loads(w.run("guess", "--json", str(2**64 - 1)).out)["guesses"], [])


@claim("make is the inverse of explain, for every preset and for extreme values")
def _(w):
    for preset in map(json.loads, w.run("layout", "--json").lines()):
        fields = json.loads(w.run("layout", "--json", preset["name"]).out)["fields"]
        for pick in (lambda f: f["max"], lambda f: 0, lambda f: f["max"] // 2):
            given = {f["name"]: f.get("constant", pick(f)) for f in fields}
            made = w.run("make", "--layout", preset["name"], *("%s=%d" % item for item in given.items()))
            same(made.code, 0)
            got = json.loads(w.run("explain", "--json", "--layout", preset["name"], made.out.strip()).out)
            same({name: got[name] for name in given}, given)


@claim("make takes a date for the time, and `worker` for the field `machine`")
def _(w):
    same(w.run("make", "time=2015-05-28T08:05:39Z", "seq=0", "worker=1022", "method=2").out, "2319542600899494910\n")
    same(w.run("make", "time=12758739", "seq=0", "machine=1022", "method=2", "--format", "hex").out, "2030abb4c00003fe\n")
    same(json.loads(w.run("make", "time=1", "seq=1", "machine=1", "--json").out), {"id": "1073742849"})


@claim("make rejects with 2 a field that is missing, unknown, repeated, too large or not a number, and names it")
def _(w):
    fails(w.run("make"), 2, "give the fields", "time=N seq=N machine=N")
    fails(w.run("make", "time=1", "seq=1"), 2, "machine is missing")
    fails(w.run("make", "time=1", "seq=1", "machine=1", "color=1"), 2, "color")
    fails(w.run("make", "time=1", "seq=1", "machine=1", "seq=1"), 2, "seq is given twice")
    fails(w.run("make", "time=1", "seq=1", "machine=1024"), 2, "machine", "1024", "1023")
    fails(w.run("make", "time=1", "seq=1", "machine=1", "type=1"), 2, "type", "fixes it to 0")
    fails(w.run("make", "time=1", "seq=-1", "machine=1"), 2, '"seq" is "-1"')
    fails(w.run("make", "time=1", "seq=18446744073709551616", "machine=1"), 2, "18446744073709551616")
    fails(w.run("make", "time=1;2", "seq=1", "machine=1"), 2, '"1;2"', "2026-01-01T00:00:00Z")
    fails(w.run("make", "time=2014-01-01T00:00:00Z", "seq=1", "machine=1"), 2, "before the layout's epoch")
    fails(w.run("make", "time=yesTerday", "seq=1", "machine=1"), 2, "yesTerday")
    fails(w.run("make", "5"), 2, '"5" is not of the form field=value')
    fails(w.run("make", "=5"), 2, '"=5" is not of the form')
    fails(w.run("make", *["seq=1"] * 100), 2, "100 values")


INVOICE = "INV-{day:%Y%m%d}-{number:6}-{luhn}"


@claim("make --form writes a business number for the day in that zone, and explain --form reads it back")
def _(w):
    for zone, day in (("UTC", "2026-11-22"), ("Europe/Berlin", "2026-11-23"), ("Pacific/Kiritimati", "2026-11-23")):
        made = w.run("make", "--form", INVOICE, "--zone", zone, "number=421", "time=2026-11-22T23:00:00Z")
        same((made.code, made.err, made.out[:13]), (0, "", "INV-" + day.replace("-", "") + "-"))
        got = json.loads(w.run("explain", "--json", "--form", INVOICE, made.out.strip()).out)
        same((got["text"], got["day"], got["number"]), (made.out.strip(), day, "421"))
        same(int(got["counter"]) % 2 ** 40, 421)
    same(w.run("make", "--form", "{number:3}", "number=7").out, "007\n")
    same(w.run("explain", "--form", "{month:%y%m}-{number}", "2611-5").out[:41], "2611-5  number 5 of the month 2026-11, co")


@claim("make --form and explain --form reject invalid forms and values, and conflicting options")
def _(w):
    for words in (["--form", "{number", "number=1"], ["--form", "", "number=1"], ["--form", INVOICE], ["--zone", "UTC", "time=1"],
                  ["--form", INVOICE, "number=0"], ["--form", INVOICE, "number=-1"], ["--form", INVOICE, "number=" + "9" * 400],
                  ["--form", INVOICE, "number=1000000"], ["--form", INVOICE, "number=1", "time=yesterday"],
                  ["--form", INVOICE, "number=1", "time=9999-12-31T23:59:59Z", "--zone", "Pacific/Kiritimati"],
                  ["--form", INVOICE, "number=1", "colour=red"], ["--form", INVOICE, "number=1", "--zone", "Europe/Atlantis"],
                  ["--form", INVOICE, "number=1", "--zone", "../../../etc/passwd"], ["--form", INVOICE, "number=1", "--layout", "uid"],
                  ["--form", INVOICE, "number=1", "--format", "hex"], ["--form", "x" * 100000, "number=1"],
                  ["--form", "{day:%Y%m%d}{number}", "number=1099511627776"]):
        fails(w.run("make", *words), 2)
    for words, code in ((["--form", INVOICE], 2), (["--form", INVOICE, "x", "--layout", "uid"], 2), (["--form", "{", "x"], 2),
                        (["--form", INVOICE, "INV-20261122-000421-3"], 1), (["--form", INVOICE, "\x1b[2J"], 1),
                        (["--form", INVOICE, ""], 1), (["--form", INVOICE, "9" * 100000], 1)):
        fails(w.run("explain", *words), code)


@claim("range prints the smallest and the largest id of an instant or a day, and includes the ids that make prints")
def _(w):
    same(w.run("range", "--layout", "snowflake", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z").out, "2006515713438646272 2006878101304246271\n")
    same(w.run("range", "2026-01-01T00:00:00Z", "version=0", "method=0").out, "372785981423616000 372785982497357823  version=0  method=0\n")
    low, high = map(int, w.run("range", "--layout", "snowflake", "1767225600000").out.split())
    made = int(w.run("make", "--layout", "snowflake", "time=2026-01-01T00:00:00Z", "seq=4095", "worker=1023").out)
    same((made, low % 2**22), (high, 0))


@claim("range takes days, `now` and times relative to now")
def _(w):
    def pair(*words):
        done = w.run("range", "--layout", "snowflake", *words)
        same((done.code, done.err), (0, ""))
        return list(map(int, done.out.split()))
    day = pair("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    same((pair("2026-01-01"), pair("2026-01-01", "2026-01-02")), (day, day))
    same(pair("2026-02-28", "2026-03-01"), pair("2026-02-28"))
    before = int(time.time() * 1000)
    hour, until = pair("-1h", "now")
    after = int(time.time() * 1000)
    epoch = 1288834974657
    assert before - 3600000 <= (hour >> 22) + epoch <= after - 3600000, (before, hour)
    assert before <= (until >> 22) + 1 + epoch <= after + 1, (before, until, after)
    for word, ms in (("-90m", -5400000), ("+2d", 172800000), ("-1w", -604800000), ("-5s", -5000), ("+0ms", 0)):
        before = int(time.time() * 1000)
        got = (pair(word)[0] >> 22) + epoch - ms
        assert before <= got <= int(time.time() * 1000), (word, got)
    low, high = pair("today")
    same((high - low) >> 22, 86399999)
    same(((low >> 22) + epoch) % 86400000, 0)


@claim("range prints one pair for each combination of the fields above the time, also as JSON")
def _(w):
    for words in (["--all"], ["--layout", "vesta-second"]):
        result = w.run("range", *words, "2026-01-01T00:00:00Z")
        same((len(result.lines()), result.err), (8, ""))
    first = json.loads(w.run("range", "--all", "2026-01-01T00:00:00Z", "--json").lines()[0])
    same(first, {"min": "372785981423616000", "max": "372785982497357823", "version": 0, "method": 0})
    fails(w.run("range", "--layout", "vesta-legacy-second", "2026-01-01T00:00:00Z"), 1, "machine")


@claim("range prints one pair for the ids that a namespace issues, and lists the values of the fields above the time")
def _(w):
    def lines(*words):
        done = w.run("range", *words, "2026-01-01T00:00:00Z")
        same(done.code, 0)
        return done.lines(), done.err
    two = "2678628990637309952 2678628991711051775  version=0  method=2"
    same(lines(), ([two], "vesta range: only ids with version=0 method=2, as issued now (see also --all)\n"))
    same(lines()[0][0] in lines("--all")[0], True)
    same(w.run("range", "2026-01-01T00:00:00Z", "version=0", "method=2").err, "")
    id = int(w.run("gen").out)
    low, high = map(int, w.run("range", "today", "--namespace", "default").out.split()[:2])
    assert low <= id <= high, (low, id, high)
    for settings, methods in (("method = 1", [1]), ("method = 'by_protocol'", [0, 1, 2, 3]), ("fields = { method = 3 }", [3]),
                              ("layout = 'vesta-second method:2=1'", [])):
        with open(w.path("vesta.lua"), "w") as file:
            file.write("return { namespaces = { orders = { %s } } }" % settings)
        got = lines("-c", w.path("vesta.lua"))[0]
        same([int(line.split("method=")[1]) for line in got if "method=" in line], methods)
        same(len(got), max(1, len(methods)))


@claim("range rejects invalid times, reversed times, and times outside the layout")
def _(w):
    fails(w.run("range"), 2, "give a time first")
    for text in ("-1", "-1y", "-h", "+", "-1hh", "--1h", "-1.5h", "1h", "-99999999999999999999d", "-9999999w", "2026-02-30", "2026-1-1",
                 "2026-01-01x", "20260101-1", "-026-01-01", "Now", "", "-1h\x1b[2J", "9" * 4000):
        same(w.run("range", "--layout", "snowflake", "--", text).code, 2)
    fails(w.run("range", "tomorrow"), 2, "tomorrow")
    fails(w.run("range", "2026-13-01T00:00:00Z"), 2, "2026-13-01T00:00:00Z")
    fails(w.run("range", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"), 2, '"2026-01-01T00:00:00Z" is not after "2026-01-02T00:00:00Z"')
    fails(w.run("range", "1", "2", "3"), 2, 'unexpected operand "3": a range has one or two times')
    fails(w.run("range", "1999-01-01T00:00:00Z"), 1, "2014-12-31T16:00:00Z", "epoch_end")
    fails(w.run("range", "2026-01-01T00:00:00Z", "method=9"), 2, "method", "9")


@claim("a time that is probably in Unix seconds causes a warning, and make takes a day like range")
def _(w):
    for words in (["range", "--layout", "clickhouse", "1714924800"], ["guess", "--made", "1714924800", "7193010915251875840"]):
        err = w.run(*words).err
        assert "warning: 1714924800 in Unix milliseconds is 1970-01-20T20:22:04.800Z" in err and "write 2024-05-05T16:00:00Z" in err, err
    same(w.run("range", "--layout", "clickhouse", "1714924800000").err, "")
    made = [w.run("make", "--layout", "clickhouse", "seq=0", "worker=1", "time=" + time) for time in ("2017-10-07", "2017-10-07T00:00:00Z")]
    same([(one.code, one.out) for one in made], [(0, "6322218703257604096\n")] * 2)
    fails(w.run("make", "--layout", "clickhouse", "seq=0", "worker=1", "time=2017-13-07"), 2, "12 months")


FIT = """\
sign:1=0 time:41 seq:8 worker:14 unit=1ms epoch=2026-01-01T00:00:00Z

  0 ttttttttttttttttttttttttttttttttttttttttt ssssssss wwwwwwwwwwwwww
  │ │                                         │        └─ worker  14 bits, leased, 0 to 16383
  │ │                                         └─ seq  8 bits, 0 to 255
  │ └─ time  41 bits, 0 to 2199023255551
  └─ sign  1 bit, always 0

                                      needed        possible
  ids per second and node             50,000         256,000
  nodes                                4,000          16,384
  years                                 30.0            69.7  until 2095-09-07T15:47:35.552Z

  The unit is 1ms: the clocks of hosts do not agree better, and most systems store dates in milliseconds.
"""


@claim("fit proposes a layout that meets the needs")
def _(w):
    args = ["--nodes", "4000", "--years", "30", "--epoch", "2026-01-01T00:00:00Z"]
    same(w.run("fit", "--rate", "50000/s", *args).out, FIT)
    for form in ("50000", "50k/s", "50/ms", "3000k/min", "0.05M/s"):
        same(w.run("fit", "--rate", form, *args).out, FIT)
    got = json.loads(w.run("fit", "--rate", "50000/s", "--json", *args).out)
    same((got["rate_max"], got["nodes_max"], got["end"]), (256000, 16384, "2095-09-07T15:47:35.552Z"))
    same(w.run("layout", got["text"]).code, 0)


@claim("fit explains a unit other than a millisecond, and uses the unit of --unit")
def _(w):
    args = ["--rate", "8100/s", "--nodes", "4000000", "--years", "8.5"]
    like(w.run("fit", *args).out, "... unit=1s ...\n  The unit is 1s: with 1ms a rate of 8100/s is too much: ... leave 3 of 63 bits, 8000/s.\n")
    got = json.loads(w.run("fit", "--json", *args).out)
    same((got["unit"], got["why"][:26]), ("1s", "with 1ms a rate of 8100/s "))
    args = ["--rate", "400k/s", "--nodes", "900", "--years", "100"]
    like(w.run("fit", *args, "--unit", "1us").out, "sign:1=0 time:52 worker:11 unit=1us ...\n  The unit is 1us: you chose it with --unit.\n")
    fails(w.run("fit", *args[:4], "--years", "300", "--unit", "1us"), 1, "300 years is too much: 53 bits of 1us are 285 years")
    for unit in ("3us", "2s", "0ms", "1", "ms", "1us1us", "", "1min"):
        fails(w.run("fit", *args, "--unit", unit), 2, "--unit")


@claim("fit --bits 53 proposes ids that JavaScript represents exactly, and reports if 53 bits are too few")
def _(w):
    got = json.loads(w.run("fit", "--bits", "53", "--rate", "1000/s", "--nodes", "50", "--years", "20", "--json").out)
    assert got["text"].startswith("zero:11=0 time:40 seq:7 worker:6 unit=1ms "), got
    largest = int(w.run("make", "--layout", got["text"], "time=%d" % (2**40 - 1), "seq=127", "worker=63").out)
    same(largest, 2**53 - 1)
    fails(w.run("fit", "--bits", "53", "--rate", "1M/s", "--nodes", "5000", "--years", "50"), 1, "leave", "of 53 bits")
    for bits in ("31", "64", "x", ""):
        fails(w.run("fit", "--bits", bits, "--rate", "1/s", "--nodes", "5", "--years", "5"), 2, "--bits", "32 to 63")


@claim("fit without an epoch starts with this year")
def _(w):
    like(w.run("fit", "--rate", "1/s", "--nodes", "1", "--years", "1").out, "sign:1=0 ... epoch=20...-01-01T00:00:00Z\n...")


@claim("fit rejects needs that are missing, invalid, or too large for 63 bits")
def _(w):
    fails(w.run("fit"), 2, "--rate is missing")
    fails(w.run("fit", "--rate", "1/s", "--nodes", "1"), 2, "--years is missing")
    for rate in ("0", "-1/s", "nan", "inf", "0x10", "50000/fortnight", "1e999/s", "5/s; ls", ""):
        same(w.run("fit", "--rate", rate, "--nodes", "1", "--years", "1").code, 2)
    for nodes in ("0", "-1", "1.5", "18446744073709551616"):
        fails(w.run("fit", "--rate", "1/s", "--nodes", nodes, "--years", "1"), 2, "--nodes is", nodes)
    for years in ("0", "-3", "nan", "many", "1e300", "0x1p3"):
        fails(w.run("fit", "--rate", "1/s", "--nodes", "1", "--years", years), 2, "--years is", years)
    fails(w.run("fit", "--rate", "1/s", "--nodes", "1", "--years", "1", "--epoch", "soon"), 2, "soon")
    fails(w.run("fit", "--rate", "1/s", "--nodes", "1", "--years", "1", "again"), 2, '"again"')
    fails(w.run("fit", "--rate", "100M/s", "--nodes", "9999999999", "--years", "3000"), 1, "63 bits")


LAYOUT = """\
sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z

  0 ttttttttttttttttttttttttttttttttttttttttt wwwwwwwwww ssssssssssss
  │ │                                         │          └─ seq  12 bits, 0 to 4095
  │ │                                         └─ worker  10 bits, leased, 0 to 1023
  │ └─ time  41 bits, 0 to 2199023255551
  └─ sign  1 bit, always 0

  ids per worker  4,096,000 in a second (4,096 per ms)
  workers         1,024
  time            2010-11-04T01:42:54.657Z to 2080-07-10T17:30:30.209Z, ends in ... years
  fingerprint     697889f139a236ab
  shards          uneven by id % N for even N: at low rates each sequence starts at 0
                  For N even shards, add seq_start=shards:N and choose them by id % N.
"""


@claim("layout draws a preset, and the same picture from its text, quoted or not")
def _(w):
    like(w.run("layout", "snowflake").out, LAYOUT)
    text = w.run("layout", "snowflake").lines()[0]
    like(w.run("layout", text).out, LAYOUT)
    like(w.run("layout", *text.split()).out, LAYOUT)
    like(w.run("layout", "--layout", text).out, LAYOUT)


@claim("layout states whether shards are even, and how to choose even ones")
def _(w):
    def told(*words):
        return w.run("layout", *words).out.split("\n  shards ")[1].split("\n\n")[0]
    for words, parts in ((["vesta-second"], ["the lowest 10 bits are equal in all ids of a worker", "choose them by (id >> 10) % N.\n"]),
                         (["shardingsphere"], ["uneven by id % N for many N: at low rates each sequence starts below 2\n"]),
                         (["tsid"], ["about even by id % N: each sequence starts at one of 4,096 values, at random\n"]),
                         (["sonyflake"], ["(id >> 16) % N, up to N = 256. For more shards, use pacing=history"]),
                         (["yitter"], ["up to N = 64. For more shards, also widen the sequence by time:47 seq:10, and"]),
                         (["tid"], ["For even shards, use pacing=history and choose them by (id >> 10) % N.\n"]),
                         (["time:41 worker:22 unit=1ms epoch=0"], ["the lowest 22 bits", "pacing=history"]),
                         (["time:35 worker:20 seq:8 unit=10ms epoch=0"], ["also widen the sequence by worker:18 seq:10, and choose"]),
                         (["time:34 a:21 seq:8 unit=10ms epoch=0"], ["For more shards, choose them by a hash of the id"])):
        for part in parts:
            assert part in told(*words), (words, told(*words))
    same(told("vesta-second", "seq_start=shards:12"), "         even by (id >> 10) % 12: each id belongs to the shard after that of the id before it\n")
    same(json.loads(w.run("layout", "--json", "yitter").out)["shards"],
         {"now": "uneven by id % N for even N: at low rates each sequence starts at 0", "uneven": True, "by": "id % N",
          "seq_start": "shards:N", "max": 64, "above": "time:47 seq:10"})
    same([json.loads(w.run("layout", "--json", name).out)["shards"] for name in ("mastodon", "instagram")], [None, None])


@claim("an idle generator issues ids of one shard after the other, also if the mode of its live namespace changes")
def _(w):
    def ids(layout, n):
        return [int(w.run("gen", "--layout", layout, "--namespace", "live").out) for _ in range(n)]
    plain = ids("snowflake", 3)
    twelve = ids("snowflake seq_start=shards:12", 13)
    seven = ids("snowflake seq_start=shards:7", 8)
    for n, got in ((12, twelve), (7, seven)):
        same([i % n for i in got], [(got[0] + k) % n for k in range(len(got))])
    everything = plain + twelve + seven + ids("snowflake", 1)
    same(everything, sorted(set(everything)))


@claim("layout warns that a layout's time has ended, and an override extends it")
def _(w):
    result = w.run("layout", "uid")
    same(result.code, 0)
    like(result.out, "...ended ... years ago\n...!! The time of this layout ended at 2024-11-20T13:24:16Z...override...")
    assert "!!" not in w.run("layout", "uid", "epoch=2026-01-01T00:00:00Z").out


@claim("an epoch in seconds or microseconds, or in the future, causes a warning when a layout is chosen")
def _(w):
    seconds = "snowflake epoch=1577836800"
    advice = "the layout's epoch is 1970-01-19T06:17:16.800Z: if 1577836800 are seconds, write epoch=2020-01-01T00:00:00Z"
    assert "  !! " + advice + "\n" in w.run("layout", seconds).out
    assert "!!" not in w.run("layout", "clickhouse").out
    store = "sqlite:" + w.path("s.db")
    made = w.run("store", "init", "--store", store, "--namespace", "a", "--layout", seconds)
    same((made.code, made.err), (0, "vesta store: " + advice + "\n"))
    assert made.lines()[-1] == "each worker id issues at most 4,096,000 ids per second, until 2039-09-25T22:04:52.352Z, and there are 1,024 worker ids", made.out
    for layout, part in (("uid", "the layout's time ended at 2024-11-20T13:24:16Z"), ("snowflake epoch=2999-01-01T00:00:00Z", "is in the future: use an earlier epoch"),
                         ("mastodon", "can be read, not issued")):
        failed = w.run("store", "init", "--store", store, "--namespace", "b", "--layout", layout)
        assert failed.code == 1 and "the namespace was not created: " in failed.err and part in failed.err, failed.err
        assert "b: " not in w.run("store", "show", "--store", store).out
    fails(w.run("layout", "snowflake epoch=1577836800000000"), 2, "as a date or as Unix milliseconds")


@claim("layouts with extreme values work: epoch 0, an epoch in the future, no worker, sixteen fields")
def _(w):
    like(w.run("layout", "time:41 seq:20 dc:2 unit=1ms epoch=0").out, "sign:1=0 time:41 seq:20 dc:2 unit=1ms epoch=1970-01-01T00:00:00Z\n...workers         1\n...")
    to_come = "time:41 seq:12 worker:10 unit=1ms epoch=2999-01-01T00:00:00Z"
    same(w.run("layout", to_come).code, 0)
    fails(w.run("gen", "--layout", to_come, "--worker", "1"), 2, "2999-01-01T00:00:00Z", "in the future")
    many = " ".join("f%d:1" % i for i in range(13)) + " time:40 seq:7 worker:4 unit=10ms epoch=2026-01-01T00:00:00Z"
    same(len(json.loads(w.run("layout", "--json", many).out)["fields"]), 16)
    fails(w.run("layout", "f13:1 " + many), 2, "at most 16 fields")


@claim("layout lists every preset, and marks those whose time has ended")
def _(w):
    lines = w.run("layout").lines()
    same(lines[0].split(), ["PRESET", "IDS/S", "ENDS", "ABOUT"])
    assert [line.split()[1] for line in lines if line.startswith("uid ")] == ["8,192"], lines
    same([line.split()[0] for line in lines if "(over)" in line], ["uid"])
    objects = [json.loads(line) for line in w.run("layout", "--json").lines()]
    same([o["name"] for o in objects], [line.split()[0] for line in lines[1:]])
    same([o["name"] for o in objects if o["over"]], ["uid"])


@claim("layout rejects an invalid text, and names the word")
def _(w):
    for text, part in (("nonsense", "nonsense"), ("time:41", "41"), ("a:1 a:1", "a:1"), ("sign:0", "sign:0"), ("time:64", "time:64"),
                       ("time:-1", "time:-1"), ("time:99999999999999999999", "time:99999999999999999999"), ("uid epoch=never", "never"),
                       ("uid unit=2s", "unit=2s"), ("uid time=30", "write a field as name:width"), ("uid time:29", "64"), ("uid\x1b[2J", "x1"), ("é:1", "bad layout"),
                       ("sign:1=2", "sign:1=2"), ("uid color=red", "color=red"), (" ", "empty")):
        fails(w.run("layout", text), 2, part, "vesta help layout")
        if text.strip():
            fails(w.run("explain", "--layout", text, "1"), 2, part)
    for widths, total in (("time:40 seq:10 worker:12", 62), ("time:41 seq:12 worker:12", 65), ("time:53 seq:9 worker:53", 115)):
        fails(w.run("layout", widths + " unit=1ms epoch=0"), 2, "add up to %d" % total)
    wide = w.run("layout", "time:52 seq:12 unit=1ms epoch=0")
    same((wide.code, "can be read, not issued" in wide.out), (0, True))
    fails(w.run("layout", "sign:1 time:41 seq:22 unit=1ms epoch=0", "time:41"), 2, "twice")
    fails(w.run("layout", "sign:1 time:63 unit=1ms epoch=0"), 2, "time:63")
    fails(w.run("layout", "sign:2 seq:30 worker:32 unit=1ms epoch=0"), 2, "time", "missing")
    fails(w.run("layout", "time:41 seq:20 dc:2 unit=1ms"), 2, "epoch= is missing")
    fails(w.run("layout", "time:41 seq:20 dc:2 epoch=0"), 2, "unit= is missing")
    fails(w.run("layout", "time:41 seq:20 dc:2 unit=1ms epoch=-1"), 2, "-1")
    fails(w.run("layout", "x" * 5000), 2, "longer than 4096")
    fails(w.run("layout", "--layout", "y" * 100000), 2, "bad layout")
    fails(w.run("layout", "uid", "--layout", "leaf"), 2, "given twice")


main()
