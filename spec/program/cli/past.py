"""past.py -- `vesta range lease` and `vesta range release`: ids of past dates for an import."""
import json
import os
import signal
import subprocess

from harness import SLOW, claim, fails, like, main, same

YEAR = ("--from", "2019-01-01", "--until", "2020-01-01")


def lease(w, *options, dates=YEAR):
    got = w.run("range", "lease", *dates, "--json", *options)
    same((got.code, got.err), (0, ""))
    return json.loads(got.out)


def explain(w, *ids):
    return [json.loads(line) for line in w.run("explain", "--json", *ids).out.splitlines()]


def workers(w, *options):
    return {row["worker"]: row for row in json.loads(w.run("workers", "--json", *options).out)["workers"]}


@claim("a lease has a worker id, its dates, the smallest and largest id, and how many more fit")
def _(w):
    same(w.run("gen").code, 0)  # a live generator, whose worker id has no room in the past
    got = lease(w)
    same([got[key] for key in ("namespace", "from", "until", "count", "others")],
         ["default", "2019-01-01T00:00:00Z", "2020-01-01T00:00:00Z", 365 * 86400 << 20, 1022])
    first, last = explain(w, got["min"], got["max"])
    same([part["iso"] for part in (first, last)], ["2019-01-01T00:00:00Z", "2019-12-31T23:59:59Z"])
    same([part["machine"] for part in (first, last)], [got["worker"]] * 2)
    text = w.run("range", "lease", *YEAR)
    rows = dict(line.split("\t") for line in text.out.splitlines())
    same(sorted(rows), sorted(["namespace", "worker", "from", "until", "count", "min", "max", "others", "lease"]))
    same(rows["others"], "1021")
    row = workers(w)[got["worker"]]
    same((row["state"], row["identity"]), ("free", "past 2019-01-01T00:00:00Z to 2020-01-01T00:00:00Z"))
    assert "vesta range lease" in row["holder"], row


@claim("each line with a row's time gets an id of that time, and the text after a tab follows it")
def _(w):
    rows = ["1551675967000\ta", "2019-03-04 05:06:07.999999+00\tb\tc", "2019-03-04T05:06:07Z", "2019-03-04 05:06:08\t",
            "2019-03-05", "2019-03-05T01:00:00+01:00\r"]
    got = w.run("range", "lease", *YEAR, "--times", "-", stdin="\n".join(rows))
    same((got.code, got.err), (0, ""))
    lines = [line.partition("\t") for line in got.out.splitlines()]
    same([tab + rest for _, tab, rest in lines], ["\ta", "\tb\tc", "", "\t", "", ""])
    parts = explain(w, *[id for id, _, _ in lines])
    same([part["iso"] for part in parts], ["2019-03-04T05:06:07Z"] * 3 + ["2019-03-04T05:06:08Z"] + ["2019-03-05T00:00:00Z"] * 2)
    same([part["seq"] for part in parts], [0, 1, 2, 0, 0, 1])
    same(len({part["machine"] for part in parts}), 1)
    row, = workers(w).values()
    same(row["until_ms"], 1551744000000)  # the unit of the last id, so the rest was returned
    with open(w.path("rows"), "w") as file:
        file.write("1551830400000\n")
    again = w.run("range", "lease", "--from", "2019-03-06", "--until", "2020-01-01", "--times", w.path("rows"), "--format", "hex")
    same((again.code, len(again.out)), (0, 17))
    same(list(workers(w)), [row["worker"]])  # the worker id of the first import is used again


@claim("--shape prints UUIDs of the rows' times, which ascend, and of which version 8 contains the leased worker id")
def _(w):
    rows = "".join("%d\t%d\n" % (1551675967000 + i // 3, i) for i in range(3000))
    words = "range", "lease", *YEAR, "--layout", "snowflake", "--namespace", "wide", "--times", "-", "--shape"
    for shape in "uuid7", "uuid8", "ulid", "hex32":
        got = w.run(*words, shape, stdin=rows)
        same((got.code, got.err), (0, ""))
        ids, places = zip(*[line.split("\t") for line in got.out.splitlines()])
        same((list(places), list(ids)), ([str(i) for i in range(3000)], sorted(set(ids))))
        parts = explain(w, "--layout", "snowflake", *ids[::299])
        same([part["unix_ms"] for part in parts], [1551675967000 + i // 3 for i in range(0, 3000, 299)])
        if shape == "uuid8":
            assert {part["worker"] for part in parts} <= set(workers(w, "--namespace", "wide")), parts
    fails(w.run("range", "lease", *YEAR, "--shape", "uuid7"), 2, "--shape needs --times")
    fails(w.run(*words, "uuid7", "--format", "hex", stdin=rows), 2, "--format is for ids of 64 bits")
    narrow = "range", "lease", *YEAR, "--namespace", "narrow", "--layout", "sign:1 time:31 seq:25 worker:7 unit=1s epoch=2010-01-01T00:00:00Z"
    fails(w.run(*narrow, "--times", "-", "--shape", "hex32", stdin=rows), 2, "hex32", "25")


@claim("ids start the sequence of a time unit as the layout's seq_start defines, so that they are even modulo shards")
def _(w):
    rows = "".join("%d\n" % (1551675967000 + i // 2 * 10) for i in range(400))
    for layout in "leaf", "shardingsphere":
        got = w.run("range", "lease", *YEAR, "--namespace", layout, "--layout", layout, "--times", "-", stdin=rows)
        ids = [int(line) for line in got.out.splitlines()]
        same((got.code, len(set(ids)), ids == sorted(ids)), (0, 400, True))
        firsts, seconds = ([id & 4095 for id in ids[i::2]] for i in (0, 1))
        same([b - a for a, b in zip(firsts, seconds)], [1] * 200)
        if layout == "leaf":
            assert len(set(firsts)) > 50 and max(firsts) < 100, firsts
        else:
            same(firsts, [0, 1] * 100)
    rows = "".join("%d\n" % (1551675967000 + i) for i in range(200))  # in adjacent time units
    got = w.run("range", "lease", *YEAR, "--namespace", "turns", "--layout", "snowflake worker:16 seq:6 seq_start=rotate:64", "--times", "-", stdin=rows)
    same([int(line) & 63 for line in got.out.splitlines()], [i % 64 for i in range(200)])


@claim("rows that are not sorted, outside the dates, or no times end the import, with the line and the ids before it")
def _(w):
    for rows, part in ((["1551675967000", "1551675966999"], "line 2: the row's time 2019-03-04T05:06:06.999Z is before the last row's"),
                       (["1551675967000", "1577836800000"], "line 2: the row's time 2020-01-01T00:00:00Z is not in the range"),
                       (["1551675967000", ""], "line 2: '' is not a time"),
                       (["1551675967000", "2019-02-30 00:00:00"], "that month has no such day"),
                       (["1551675967000", "2019-03-05 " + "9" * 60], "is not a time")):
        got = w.run("range", "lease", *YEAR, "--times", "-", stdin="\n".join(rows) + "\n")
        same((got.code, len(got.out.splitlines())), (2, 1))
        assert part in got.err and "1 ids were printed before it" in got.err, got.err
    fails(w.run("range", "lease", *YEAR, "--times", "/none"), 1, "cannot open", "No such file")
    got = w.run("range", "lease", "--layout", "vesta-milli", "--namespace", "milli", "--from", "1551675967000", "--until", "1551675967002",
                "--times", "-", stdin="1551675967001\n" * 1025)
    same((got.code, len(got.out.splitlines())), (1, 1024))
    assert "line 1025: the range has no id left" in got.err, got.err


@claim("dates that are wrong, ids that do not fit, and another layout lease nothing")
def _(w):
    same(w.run("gen").code, 0)
    before = list(workers(w))
    for options, code, part in (
            (("--from", "2020-01-01", "--until", "2019-01-01"), 2, "put the earlier time first"),
            (("--from", "2019-01-01", "--until", "+1h"), 2, "not in the past"),
            (("--from", "2014-01-01", "--until", "2019-01-01"), 2, "start it at 2014-12-31T16:00:00Z or later"),
            (("--from", "2019-01-01"), 2, "--until is missing"), (("--until", "2019-01-01"), 2, "--from is missing"),
            ((*YEAR, "--count", str(1 << 45)), 1, "the range has 33067892736000 ids, and 35184372088832 are needed"),
            ((*YEAR, "--worker", "1024"), 2, "use at most 1023"), ((*YEAR, "--fields", "color=1"), 2, "color"),
            ((*YEAR, "--layout", "snowflake"), 1, "has another layout"), ((*YEAR, "x"), 2, "unexpected operand"),
            ((*YEAR, "--times", "-", "--json"), 2, "leave one out"),
            (("--from", "1546300800000", "--until", "1546300800999"), 2, "no whole time unit")):
        fails(w.run("range", "lease", *options), code, part)
    same(list(workers(w)), before)


@claim("two leases of one worker id never overlap, and a worker id that was used live has no earlier range")
def _(w):
    same(w.run("gen", "--worker", "5").code, 0)
    fails(w.run("range", "lease", *YEAR, "--worker", "5"), 1, "worker id 5 was used until")
    first = lease(w, "--worker", "6")
    fails(w.run("range", "lease", *YEAR, "--worker", "6"), 1, "worker id 6 was used until 2020-01-01T00:00:00Z")
    second = lease(w, "--worker", "6", dates=("--from", "2020-01-01", "--until", "2020-02-01"))
    assert int(first["max"]) < int(second["min"])


@claim("a range is returned by its lease: unused, or after the last id, and not after it was leased again")
def _(w):
    tiny = ("--namespace", "tiny", "--layout", "sign:1 time:41 worker:1 seq:21 unit=1ms epoch=2015-01-01T00:00:00Z")
    first, second = lease(w, *tiny), lease(w, *tiny)
    same(second["others"], 0)
    fails(w.run("range", "lease", *YEAR, *tiny), 1, "no worker id is free for these dates", "vesta range release")
    release = ("range", "release", "--namespace", "tiny")
    fails(w.run(*release, first["lease"]), 2, "--last ID")
    fails(w.run(*release, "--unused", "5.5"), 2, "is not a lease")
    fails(w.run(*release, "--last", second["max"], first["lease"]), 2, "is not an id of this range")
    fails(w.run(*release, "--last", "abc", first["lease"]), 2, "decimal digits")
    same(w.run(*release, "--unused", first["lease"]).code, 0)
    same(w.run(*release, "--last", second["min"], second["lease"]).code, 0)
    third = lease(w, *tiny)
    same(third["worker"], first["worker"])
    fails(w.run(*release, "--unused", first["lease"]), 1, "was leased again")
    fourth = lease(w, *tiny, dates=("--from", "1546300800001", "--until", "2020-01-01"))
    same(fourth["worker"], second["worker"])
    fails(w.run(*release, "--unused", "0.1.4000000000000000000." + "a" * 32), 1, "has lost this lease", "vesta store advance")


@claim("an import that is killed and started again gets another worker id, and repeats no id")
def _(w):
    ids = []
    with open(w.path("rows"), "w") as file:
        file.write("1551675967000\n" * 50000)  # more ids than a pipe has room for
    for _ in range(3):
        importer = w.start("range", "lease", *YEAR, "--times", w.path("rows"), stdout=subprocess.PIPE)
        ids += [int(importer.stdout.readline()) for _ in range(100)]
        os.kill(importer.pid, signal.SIGKILL)
        importer.wait(timeout=60 * SLOW)
        importer.stdout.close()
    same(len(set(ids)), 300)
    same(len(workers(w)), 3)


@claim("after vesta store advance, dates from before it are rejected")
def _(w):
    same(w.run("gen").code, 0)
    same(w.run("store", "advance", "--store", "file:" + w.path("state"), "--yes", "--lease", "local").code, 0)
    fails(w.run("range", "lease", *YEAR), 2, "the store once lost data", "or use another namespace")


@claim("the fields of a config's namespace are in the ids, and --fields replaces them")
def _(w):
    with open(w.path("c.lua"), "w") as file:
        file.write("return { namespaces = { orders = { layout = 'vesta-milli', fields = { version = 1 }, store = 'file:%s' } } }" % w.path("s"))
    got = lease(w, "-c", w.path("c.lua"))
    same([explain(w, "--layout", "vesta-milli", got["min"])[0][key] for key in ("version", "method")], [1, 2])
    got = lease(w, "-c", w.path("c.lua"), "--fields", "method=3")
    same([explain(w, "--layout", "vesta-milli", got["min"])[0][key] for key in ("version", "method")], [0, 3])
    like(w.run("range", "lease", *YEAR, "-c", w.path("c.lua"), "--effective").out, "...orders...")


main()
