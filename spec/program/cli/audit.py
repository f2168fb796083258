"""audit.py -- `vesta audit`."""
import json
import math
import os
import pty
import select
import random
import sqlite3

from harness import SLOW, claim, cpu_s, fails, main, same

LAYOUT = "snowflake"


def snow(time, worker, seq, sign=0):
    return sign << 63 | time << 22 | worker << 12 | seq


@claim("audit of empty input reports no duplicates")
def _(w):
    result = w.run("audit")
    same((result.code, result.out), (0, "total                     0\ndistinct                  0\nduplicates                0\n"))
    same((w.run("audit", "--layout", "snowflake").code, w.run("audit", "--layout", "snowflake").err), (0, ""))


@claim("duplicates are listed with their lines, each extra occurrence is counted, and the exit code is 1")
def _(w):
    result = w.run("audit", stdin="7\n8\n7\n7\n7\n7\n8\n")
    same(result.code, 1)
    same(result.out, "total                     7\ndistinct                  2\nduplicates                5\n"
         "  7  5 times: stdin line 1, stdin line 3, stdin line 4, stdin line 5, ...\n  8  2 times: stdin line 2, stdin line 7\n")


@claim("audit reads ids from vesta's own JSON, from gen --json and /v1/ids, and ignores the other numbers of an object")
def _(w):
    made = w.run("gen", "--json", "-n", "3", "--worker", "5").out
    same(w.run("audit", stdin=made).out, "total                     3\ndistinct                  3\nduplicates                0\n")
    text = made + '{"ids":["2709177311676072161","2709177311676073185","2709177311676072161"]}\n{"id":2709177311676072999,"of":2709177311676073185}\n7\n'
    done = w.run("audit", stdin=text)
    same((done.code, done.lines()[:3]), (1, ["total                     8", "distinct                  7", "duplicates                1"]))
    same(done.lines()[3:], ["  2709177311676072161  2 times: stdin line 4, stdin line 4"])
    same(w.run("audit", stdin='{"name":"x"}\n').code, 2)


@claim("the counts of random ids with planted duplicates are exact in any order")
def _(w):
    draw = random.Random(20261121)
    for bits in (8, 33, 64):
        ids = [draw.getrandbits(bits) for _ in range(100000 // SLOW)]
        got = json.loads(w.run("audit", "--json", stdin="\n".join(map(str, ids))).out)
        same((got["total"], got["distinct"], got["duplicates"]), (len(ids), len(set(ids)), len(ids) - len(set(ids))))
    ids = list(range(2**64 - 1, 2**64 - 50001, -1))
    same(w.run("audit", stdin="\n".join(map(str, ids))).code, 0)
    same(w.run("audit", stdin="\n".join(map(str, ids + ids[777:778]))).code, 1)


@claim("several files are audited together, and line numbers count blank lines")
def _(w):
    open(w.path("a"), "w").write("1\n\n\n2\n")
    open(w.path("b"), "w").write("3\r\n\r\n1,red\n4 blue\n5\tgreen")
    result = w.run("audit", "a", "b")
    same(result.code, 1)
    assert "  1  2 times: a line 1, b line 3\n" in result.out, result.out
    assert "total                     6\n" in result.out, result.out
    result = w.run("audit", "a", "-", stdin="2\n")
    assert "  2  2 times: a line 4, stdin line 1\n" in result.out, result.out


@claim("an incomplete id at the end of a file is reported and not counted, but a complete id needs no newline")
def _(w):
    open(w.path("a"), "w").write("1234\n12")
    open(w.path("b"), "w").write("1235\n12")
    result = w.run("audit", "a", "b")
    same((result.code, result.out.split()), (0, ["total", "2", "distinct", "2", "duplicates", "0"]))
    assert 'a line 2: "12" has no newline and is shorter than the id before it: an incomplete id, not counted' in result.err, result.err
    for text in ("12\n12", "7", "99\n100", "5\n5,x"):
        result = w.run("audit", stdin=text)
        same(result.err, "")
        assert "total                     %d\n" % len(text.split("\n")) in result.out, result.out


@claim("only the first ten duplicates are listed, but all are counted")
def _(w):
    result = w.run("audit", stdin="\n".join(str(i // 2) for i in range(5000)))
    same(result.out.count("times:"), 10)
    assert "duplicates            2,500\n" in result.out, result.out


@claim("a line that is not an id is reported and the exit code is 2, or 1 if there are duplicates as well")
def _(w):
    result = w.run("audit", stdin=b"1\nabc\n--2\n3x\n1.39784E+18\n18446744073709551616\n\x00\n4\n")
    same(result.code, 2)
    for part in ('stdin line 2: "abc" is not an id', 'line 3: "--2"', 'line 4: "3x"', 'line 5: "1.39784E+18" is not an id: it was rounded, and its last digits are lost', 'line 6: "18446744073709551616" is not an id: it is larger than 64 bits hold',
                 'line 7: "\\x00"'):
        assert part in result.err, (part, result.err)
    assert "unreadable                6\n" in result.out, result.out
    same(w.run("audit", stdin="x\n1\n1\n").code, 1)
    many = w.run("audit", stdin="x\n" * 5000)
    same((many.code, many.err.count("is not an id")), (2, 10))


@claim("audit accepts the notations of explain: a byte order mark, quotes, a suffix, a typeset minus")
def _(w):
    ids = ["\ufeff7", '"8",x', "  9", "'10'; y", "11n", "12LL", "13ul", "-5", "\u22125", "[14]", " \t ", "15\r"]
    result = w.run("audit", "--json", stdin="\n".join(ids) + "\n")
    same((result.code, result.err), (1, ""))
    got = json.loads(result.out)
    same((got["total"], got["min"], got["max"], got["shown"][0]["id"]), (11, "7", str(2**64 - 5), str(2**64 - 5)))
    for text in ids[:1] + ids[2:3] + ids[4:10]:
        same((text, w.run("explain", "--layout", "a:1 time:41 worker:10 seq:12 unit=1ms epoch=0", text).code), (text, 0))
    hexes = json.loads(w.run("audit", "--format", "hex", "--json", stdin="1f\n0x1F\n20\n").out)
    same((hexes["total"], hexes["duplicates"], hexes["max"]), (3, 1, "32"))


UPPER = "vesta-milli version:1=1"


@claim("ids from 2^63 on are read from a signed SQL column, mixed with unsigned ids, and sort in their order")
def _(w):
    ids = [int(line) for line in w.run("gen", "-n", "100", "--namespace", "upper", "--layout", UPPER, "--worker", "5").lines()]
    assert all(number >= 2**63 for number in ids)
    table = sqlite3.connect(":memory:")
    table.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
    table.executemany("INSERT INTO t VALUES (?)", [(number - 2**64,) for number in ids])
    column = ["%d,paid" % row for row in table.execute("SELECT id FROM t ORDER BY id")]
    assert all(line[0] == "-" for line in column)
    got = w.run("audit", "--layout", UPPER, stdin="\n".join(column) + "\n")
    same((got.code, got.err), (0, ""))
    for part in ("distinct                100\n", "foreign                   0\n", "inversions                0\n", "machine 5               100\n"):
        assert part in got.out, got.out
    got = w.run("audit", stdin="\n".join([column[0], str(ids[7]), str(ids[0])]) + "\n")
    same((got.code, "  %d  2 times: stdin line 1, stdin line 3\n" % ids[0] in got.out), (1, True))
    for edge in ("-1\n18446744073709551615\n", "-9223372036854775808\n9223372036854775808\n"):
        same(w.run("audit", stdin=edge).code, 1)
    for wrong in ("-0", "-", "-9223372036854775809", "-18446744073709551615", "- 1", "+1"):
        same((wrong, w.run("audit", stdin="1\n%s\n" % wrong).code), (wrong, 2))


@claim("a missing file, a folder and a line that is too long end the audit with a message")
def _(w):
    fails(w.run("audit", "missing"), 1, 'cannot open "missing": No such file')
    fails(w.run("audit", "."), 1, 'cannot read ".": Is a directory')
    fails(w.run("audit", stdin=b"x" * 10**6), 2, "stdin line 1 is longer than 65536 bytes")


@claim("--layout reports ids of another layout, of the future and out of order, without failing")
def _(w):
    ids = [snow(100, 1, 0), snow(100, 1, 1), snow(50, 2, 0), snow(99, 1, 7), snow(2**41 - 1, 2, 0), snow(5, 3, 0, sign=1), snow(101, 1, 0)]
    text = "".join("%d\n" % i for i in ids)
    result = w.run("audit", "--layout", LAYOUT, stdin=text)
    same((result.code, result.err), (0, ""))
    lines = result.lines()
    for i, start in ((3, "foreign                   1  another layout made these. The first is %d, stdin line 6" % ids[5]),
                     (4, "future                    1  later than this machine's clock. The first is %d, stdin line 5" % ids[4]),
                     (5, "inversions                1  older than the id before it of its worker. The first is %d, stdin line 4" % ids[3]),
                     (6, "time         2010-11-04T01:42:54.707Z to 2080-07-10T17:30:30.208Z"),
                     (7, "worker  1                 4"), (8, "worker  2                 2")):
        same(lines[i], start)
    got = json.loads(w.run("audit", "--json", "--layout", LAYOUT, stdin=text).out)
    same((got["foreign"], got["future"], got["inversions"], got["workers"]), (1, 1, 1, {"1": 4, "2": 2}))


@claim("ids whose order differs from their times are counted for all workers, and the deciding fields are named")
def _(w):
    def make(second, method, machine, version=0):
        return version << 63 | method << 60 | second << 30 | machine
    ids = [make(1, 2, 5), make(2, 1, 5), make(3, 0, 6), make(4, 0, 7), make(4, 0, 5), make(3, 3, 5, version=1)]
    text = "".join("%d\n" % id for id in ids)
    got = json.loads(w.run("audit", "--json", "--layout", "vesta-second", stdin=text).out)
    same((got["duplicates"], got["inversions"], got["unsorted"]), (0, 1, 3))
    line = next(line for line in w.run("audit", "--layout", "vesta-second", stdin=text).lines() if line.startswith("unsorted"))
    assert line.startswith("unsorted                  3  sorts on the other side of the id before it than"), line
    shown = " ".join(w.run("audit", "--layout", "vesta-second", stdin=text).out.split())
    assert "because of version method. The first is %d, stdin line 2" % ids[1] in shown, shown
    ordered = "".join("%d\n" % id for id in (make(1, 2, 5), make(2, 2, 6), make(3, 2, 5)))
    assert "unsorted                  0\n" in w.run("audit", "--layout", "vesta-second", stdin=ordered).out
    # Time is the highest field of LAYOUT.
    assert "unsorted" not in w.run("audit", "--layout", LAYOUT, stdin="%d\n" % snow(1, 1, 1)).out


@claim("ids are counted per worker, also for many workers")
def _(w):
    got = json.loads(w.run("audit", "--json", "--layout", "uid", stdin="\n".join(str(i << 13) for i in range(20000))).out)
    same((len(got["workers"]), got["workers"]["19999"]), (20000, 1))
    assert w.run("audit", "--layout", "uid", stdin="\n".join(str(i << 13) for i in range(20000))).out.endswith("and 19984 more\n")


@claim("progress is shown on a terminal after two seconds, and never in a script's stderr")
def _(w):
    waits = '(echo 1; sleep 2.3; echo 2) | "$vesta" audit'
    result = w.shell(waits)
    same((result.code, result.err), (0, ""))
    ours, terminal = pty.openpty()
    same(w.shell("(%s) 2>/dev/fd/%d" % (waits, terminal), pass_fds=[terminal]).code, 0)
    said, want = "", "vesta audit: 2 ids read so far\r\x1b[K"
    while len(said) < len(want) and select.select([ours], [], [], 10)[0]:
        said += os.read(ours, 4096).decode()
    same(said, want)
    os.close(ours)
    os.close(terminal)


def p_of(chi, degrees):
    """The upper tail of the chi-square distribution, for an even number of degrees of freedom: a finite sum."""
    term = total = 1.0
    for i in range(1, degrees // 2):
        term *= chi / 2 / i
        total += term
    return math.exp(-chi / 2) * total


@claim("--mod counts the ids of each shard as Python does, with the chi-square test, and leaves the exit code alone")
def _(w):
    draw = random.Random(28)
    for n, shift, bits, count in ((3, 0, 64, 5000), (65, 0, 64, 5000), (1023, 10, 64, 20000), (17, 63, 64, 1000), (5, 1, 8, 200)):
        ids = sorted({draw.getrandbits(bits) for _ in range(count)})
        counts = [0] * n
        for i in ids:
            counts[(i >> shift) % n] += 1
        done = w.run("audit", "--json", "--mod", str(n), *(["--shift", str(shift)] if shift else []), stdin="\n".join(map(str, ids)))
        got, mean = json.loads(done.out)["mod"], len(ids) / n
        chi = sum((c - mean) ** 2 / mean for c in counts)
        same((done.code, got["n"], got["shift"], got["counts"], got["degrees"]), (0, n, shift, counts, n - 1))
        assert abs(got["chi_square"] - chi) <= 1e-5 * chi, (got["chi_square"], chi)
        assert abs(got["p"] - p_of(chi, n - 1)) <= 1e-4 * got["p"] + 1e-9, (n, got["p"], p_of(chi, n - 1))
    same(json.loads(w.run("audit", "--json", "--mod", "3", stdin="-1\n").out)["mod"]["counts"], [1, 0, 0])  # 2^64 - 1 is a multiple of 3


@claim("--mod draws a bar for each of up to 32 shards, and 16 bars for more")
def _(w):
    out = w.run("audit", "--mod", "4", stdin="\n".join(str(i) for i in list(range(0, 80, 4)) + list(range(1, 41, 4)))).lines()
    same(out[3:], ["shards       id % 4",
                   "  0                      20  " + "\u2588" * 30,
                   "  1                      10  " + "\u2588" * 15,
                   "  2                       0", "  3                       0",
                   "chi-square             36.7  with 3 degrees of freedom",
                   "p                 5.413e-08  uneven"])
    same(w.run("audit", "--mod", "2", stdin="1\n2\n").lines()[-1], "chi-square   not computed: it needs at least 10 ids, 5 for each remainder")
    out = w.run("audit", "--mod", "33", "--shift", "2", stdin="\n".join(map(str, range(0, 4000, 4)))).lines()
    same(len(out), 3 + 1 + 16 + 2)
    same((out[3], out[4], out[-1].split()[-1]), ("shards       (id >> 2) % 33", "  0-1                    62  " + "\u2588" * 30 + "  31 each", "even"))


@claim("--mod and --shift outside their limits are rejected")
def _(w):
    for value in ("0", "-1", "1", "65537", "9" * 30, "x", "", "3.5", "0x10", " 2"):
        fails(w.run("audit", "--mod", value, stdin="1\n"), 2, "--mod is", "a whole number from 2 to 65536")
    fails(w.run("audit", "--mod", "2", "--shift", "64", stdin="1\n"), 2, "--shift is", "from 0 to 63")
    fails(w.run("audit", "--shift", "3", stdin="1\n"), 2, "--shift 3 needs --mod N")
    fails(w.run("audit", "--mod", "2", stdin="1\n018f3c2a-7b1e-7000-8000-0123456789ab\n"), 2, "the input has 1 ids of 128 bits: leave out --mod")


@claim("auditing a million ids takes at most one second of CPU")
def _(w):
    open(w.path("ids"), "w").write("\n".join(map(str, range(10**18, 10**18 + 10**6))) + "\n")
    start = cpu_s()
    same(w.run("audit", "ids").code, 0)
    assert cpu_s() - start < SLOW * 1.0, cpu_s() - start


main()
