"""explain.py -- `vesta explain`."""
import fcntl
import json
import os
import random
import re
import struct
import subprocess
import termios

from harness import SLOW, VESTA, claim, environment, fails, like, main, same
from terminal import look

ID = 2006515713438674944  # snowflake: 2026-01-01T00:00:00Z, worker 7, sequence 0
CONFIG = """return {
  namespaces = {
    default = { layout = "vesta-milli", store = "file:%(state)s" },
    orders = { layout = "snowflake", store = "file:%(state)s", path = "%(state)s/orders.gen" },
    unused = { layout = "js53" },
  },
}"""


def gen(w, *words):
    done = w.run("gen", *words)
    same(done.code, 0)
    return done.out.split()


def orders(w):
    """Creates ids of worker 7 in the namespace orders, and a config with that namespace."""
    ids = gen(w, "--namespace", "orders", "--layout", "snowflake", "--worker", "7", "-n", "2")
    with open(w.path("vesta.lua"), "w") as file:
        file.write(CONFIG % {"state": w.path("state")})
    return ids


def explained(w, *words, **more):
    done = w.run("explain", "--json", *words, **more)
    same((done.code, done.err), (0, ""))
    return json.loads(done.out)


@claim("explain finds the layout by config, generator file, store or name, and shows the holder of the worker id")
def _(w):
    first, _ = orders(w)
    store, path = "file:" + w.path("state"), w.path("state", "orders.gen")
    for words in (["-c", "vesta.lua", "--namespace", "orders"], ["--path", path], ["--namespace", "orders"],
                  ["--store", store, "--namespace", "orders"]):
        got = explained(w, *words, first)
        same((got["worker"], got["seq"], got["namespace"], got["claims"], got["granted"]), (7, 0, "orders", 1, True))
        assert got["state"] in ("held", "free"), got
        assert " pid " in got["holder"] and got["identity"] == path, got
    for variable, value in (("VESTA_CONFIG", "vesta.lua"), ("VESTA_STORE", store)):
        same(explained(w, first, env={variable: value, "VESTA_NAMESPACE": "orders"})["namespace"], "orders")
    text = w.run("explain", "--namespace", "orders", first).out
    like(text, first + "  read as snowflake\n...\n  worker 7 of orders, by " + store + "\n    ...held by ...pid ...identity " + path +
         "\n    ...it is the only process that ever claimed the worker id, so it made the id\n")


@claim("an id of a worker id that was never leased differs from an id that was granted")
def _(w):
    orders(w)
    for worker, state in ((7, "held"), (8, "never")):
        made = w.run("make", "--layout", "snowflake", "time=2070-01-01T00:00:00Z", "seq=0", "worker=%d" % worker).out.strip()
        got = explained(w, "--namespace", "orders", made)
        assert got["state"] in (state, "free") if worker == 7 else got["state"] == state, got
        same(got.get("granted", False), False)
        text = w.run("explain", "--namespace", "orders", made).out
        assert "this id was never granted" in text if worker == 7 else "never leased" in text, text


@claim("after a worker id was claimed twice, the issuer of an id is unknown, and a static worker id has no holder")
def _(w):
    store = "file:" + w.path("state")
    same(w.run("store", "init", "--store", store, "--namespace", "two", "--layout", "snowflake", "--static", "1000-1023").code, 0)
    for name in "ab":
        first, = gen(w, "--store", store, "--namespace", "two", "--layout", "snowflake", "--worker", "3", "--identity", "me", "--path",
                     w.path(name + ".gen"))
    got = explained(w, "--store", store, "--namespace", "two", first)
    same((got["claims"], got["granted"]), (2, True))
    assert "it is the 2nd to claim the worker id" in w.run("explain", "--store", store, "--namespace", "two", first).out
    by_hand = w.run("make", "--layout", "snowflake", "time=2026-01-01T00:00:00Z", "seq=0", "worker=1001").out.strip()
    same(explained(w, "--store", store, "--namespace", "two", by_hand)["state"], "static")


@claim("range, make, audit, gen, workers and store also take the namespace from a config or the environment")
def _(w):
    first, second = orders(w)
    store = "file:" + w.path("state")
    for words, env in ((["-c", "vesta.lua", "--namespace", "orders"], {}), ([], {"VESTA_CONFIG": "vesta.lua", "VESTA_NAMESPACE": "orders"}),
                       ([], {"VESTA_STORE": store, "VESTA_NAMESPACE": "orders"}), (["--store", store, "--namespace", "orders"], {"VESTA_CONFIG": "x"})):
        low, high = map(int, w.run("range", "today", *words, env=env).out.split())
        assert low <= int(first) <= high or low <= int(second) <= high or high - low > 1 << 40, (low, first, high)
        same(w.run("make", *words, "time=2026-01-01T00:00:00Z", "seq=0", "worker=7", env=env).out, "%d\n" % ID)
        audit = json.loads(w.run("audit", "--json", *words, stdin=first + "\n" + second, env=env).out)
        same((audit["total"], audit["foreign"]), (2, 0))
        table = json.loads(w.run("workers", "--json", *words, env=env).out)
        same((table["namespace"], [row["worker"] for row in table["workers"]]), ("orders", [7]))
        shown = json.loads(w.run("store", "show", "--json", *words, env=env).out)
        same((shown["namespace"], shown["layout"][:15]), ("orders", "sign:1=0 time:4"))
    for words, env in ((["-c", "vesta.lua", "--namespace", "orders"], {}), ([], {"VESTA_CONFIG": "vesta.lua", "VESTA_NAMESPACE": "orders"}),
                       (["--namespace", "orders"], {"VESTA_CONFIG": "vesta.lua"}), ([], {"VESTA_NAMESPACE": "orders"})):
        done = w.run("gen", *words, env=env)
        same((done.code, explained(w, "--layout", "snowflake", done.out.strip())["worker"]), (0, 7))
    same(explained(w, "--layout", "vesta-milli", w.run("gen", "-c", "vesta.lua").out.strip())["type"], 1)


@claim("every command that takes a config rejects options that contradict it")
def _(w):
    orders(w)
    store = "file:" + w.path("state")
    for command in (["range", "now"], ["make", "time=1", "seq=1", "worker=1"], ["audit"], ["workers"], ["store", "show"], ["gen"]):
        for words, part in ((["-c", "vesta.lua", "--store", store], "--config"), (["-c", "vesta.lua", "--namespace", "zzz"], "has no namespace"),
                            (["-c", "vesta.lua", "--namespace", "\x1b[2J"], "\\x1b" if command == ["gen"] else ""), (["-c", ""], "needs a value")):
            fails(w.run(*command, *words), 2, part)
        fails(w.run(*command, "-c", "missing.lua"), 1, "missing.lua")
        fails(w.run(*command, env={"VESTA_CONFIG": "missing.lua"}), 1, "missing.lua")
        fails(w.run(*command, env={"VESTA_CONFIG": "vesta.lua", "VESTA_STORE": store}), 2, "both set")
    fails(w.run("gen", "--layout", "snowflake", env={"VESTA_CONFIG": "vesta.lua"}), 2, "VESTA_CONFIG determines")
    fails(w.run("workers", "-c", "vesta.lua", "--namespace", "unused"), 1, "no process has leased a worker id of namespace unused")
    made = w.run("store", "init", "-c", "vesta.lua", "--namespace", "default")
    same(made.code, 0)
    assert "namespace default was created: version:1 type:1=1" in made.out or "already exists" in made.out, made.out


@claim("--effective shows each resolved setting and its source")
def _(w):
    orders(w)
    rows = [json.loads(line) for line in w.run("explain", "--effective", "--json", "-c", "vesta.lua").lines()]
    got = {row["key"]: (row["value"], row.get("by")) for row in rows}
    same(got["config"], ("vesta.lua", "--config"))
    same(got["namespace"], ("default", "the config, of which it is the first"))
    same(got["layout"], ("vesta-milli", "the config"))
    same(w.run("explain", "--effective").out.split(), ["default", "layout", "vesta-second"])
    text = w.run("explain", "--effective", env={"VESTA_NAMESPACE": "orders"}).out
    assert re.search(r"env +namespace +orders  by VESTA_NAMESPACE\n", text) and "by the generator file" in text, text
    with open(w.path("secret.lua"), "w") as file:
        file.write('return { namespaces = { a = { layout = "snowflake", store = "mysql://u:hunter2@127.0.0.1:1/x" } } }')
    shown = w.run("explain", "--effective", "-c", "secret.lua")
    assert "hunter2" not in shown.out + shown.err and "u:***@" in shown.out, shown.out + shown.err


@claim("if the store is unreachable, explain reports that, and reads the id if the layout is known")
def _(w):
    with open(w.path("away.lua"), "w") as file:
        file.write('return { namespaces = { a = { layout = "snowflake", store = "zk://127.0.0.1:1/x" } } }')
    done = w.run("explain", "--json", "-c", "away.lua", str(ID))
    same((done.code, json.loads(done.out)["worker"]), (0, 7))
    assert "so the output does not show which processes held the worker ids" in done.err, done.err


@claim("options that conflict are rejected, with advice")
def _(w):
    first, _ = orders(w)
    store = "file:" + w.path("state")
    for words, code, parts in (
            (["-c", "vesta.lua", "--layout", "snowflake", first], 2, ["--config determines the layout", "leave out --layout"]),
            (["-c", "vesta.lua", "--store", store, first], 2, ["leave out --store"]),
            (["-c", "vesta.lua", "--namespace", "ordres", first], 2, ['no namespace "ordres"', "default, orders, unused"]),
            (["-c", "missing.lua", first], 1, ["missing.lua"]),
            (["-c", "/dev/null", first], 1, ["not a regular file"]),
            (["--path", "missing.gen", first], 1, ['no generator file "missing.gen"', "vesta gen --path"]),
            (["--path", "vesta.lua", first], 1, ["vesta.lua"]),
            (["--namespace", "nothing", first], 1, ["no generator file on this machine", "--store URI", "-c FILE"]),
            (["--namespace", "../x", first], 2, ["../x"]),
            (["--namespace", "a" * 65, first], 2, ["namespace"]),
            (["--store", "nothing:x", first], 2, ["nothing"]),
            (["--store", store, "--namespace", "nothing", first], 1, ["not in the store", "vesta store show"]),
            (["--store", store, "--namespace", "orders", "--layout", "twitter", first], 2, ["differs from that of the namespace orders"]),
            (["--namespace", "orders", "--layout", "twitter", first], 2, ["Leave it out", "orders.gen"]),
            (["--since", "-1h", first], 2, ["--since can only be combined with -"]),
            (["--compare", first], 2, ["--compare needs two ids, but there are 1"])):
        done = w.run("explain", "--json", *words)
        same((words, done.code), (words, code))
        for part in parts:
            assert part in done.err, (words, done.err)
    both = {"VESTA_CONFIG": "vesta.lua", "VESTA_STORE": store}
    fails(w.run("explain", first, env=both), 2, "VESTA_CONFIG and VESTA_STORE are both set")
    same(explained(w, "--layout", "snowflake", "--store", store, "--namespace", "orders", first, env=both)["worker"], 7)


@claim("an impossible time is reported with a reference to `vesta guess`")
def _(w):
    made = w.run("make", "--layout", "snowflake", "time=2070-01-01T00:00:00Z", "seq=0", "worker=7").out.strip()
    like(w.run("explain", "--layout", "snowflake", made).out, "...!! The time is in the future: is this the id's layout?\n...vesta guess " + made + "...")
    like(w.run("explain", "1138729511026688").out, "...first month...\n  !! `vesta guess 1138729511026688` suggests vesta-legacy-second first.\n")
    assert "!!" not in w.run("explain", "2319542600899494910").out
    assert "!!" not in w.run("explain", "--layout", "vesta-second", "1138729511026688").out


@claim("explain reads an id in any notation, quoted, negative, or anywhere in a line")
def _(w):
    for text in ("1138729511026688", "00040bab20000000", "00040BAB20000000", "0x40bab20000000", "0X00040BAB20000000", "0010BNCG00000",
                 "0010bncg00000", "005DLyEuNDU", '"1138729511026688"', "'00040bab20000000',", "[1138729511026688]", "id=1138729511026688",
                 '{"id":"1138729511026688","n":5}', "saved order 1138729511026688 in 12 ms", " 1138729511026688\t"):
        same((text, explained(w, text)["id"]), (text, "1138729511026688"))
        same((text, explained(w, stdin=text + "\r\n")["id"]), (text, "1138729511026688"))
    for text, want in (("-1", 2**64 - 1), ("-9223372036854775808", 2**63), ("0xffffffffffffffff", 2**64 - 1), ("FZZZZZZZZZZZZ", 2**64 - 1),
                       ("LygHa16AHYF", 2**64 - 1), ("12345678901", 12345678901), ("1234567890123456", 1234567890123456)):
        same((text, explained(w, "--layout", "a:1 time:41 worker:10 seq:12 unit=1ms epoch=0", text)["id"]), (text, str(want)))
    text = w.run("explain", "00040bab20000000").out
    assert text.startswith("1138729511026688  hex, read as vesta-second\n"), text
    same(len(w.run("explain", "--json", "a 1138729511026688 b 1138729511026689").lines()), 2)
    for text in ("G000000000000", "M0000000000", "0xg", "1138729511026688x", "x1138729511026688", "1.138729511026688", "12 34", "hello",
                 "113872951102668_8", "99999999999999999999 99999999999999999999"):
        fails(w.run("explain", text), 2, "is not an id")
    fails(w.run("explain", "--format", "dec", "00040bab20000000"), 2, "is not an id")


def made(w, when, seq, worker, *more):
    return w.run("make", "--layout", "snowflake", "time=" + when, "seq=%d" % seq, "worker=%d" % worker, *more).out.strip()


@claim("explain compares two ids: which is older, by how much, and how certain that is")
def _(w):
    a, b = made(w, "2026-01-01T00:00:00Z", 5, 7), made(w, "2026-01-03T00:00:00Z", 1, 7)
    for one, other in ((a, b), (b, a)):
        like(w.run("explain", "--layout", "snowflake", one, other).out, "...\n" + a + " is older than " + b + "\n  2 days apart (172,800,000 ms)\n"
             "  the same worker, 7: its ids ascend, so this is the order in which they were made\n")
    c = made(w, "2026-01-03T00:00:00Z", 0, 3)
    like(w.run("explain", "--layout", "snowflake", a, c).out, "...different workers, 7 and 3: the order is as accurate as their clocks agreed\n")
    like(w.run("explain", "--layout", "snowflake", b, c).out, "...neither is known to be older\n  in the same millisecond, 1 sequence number apart\n"
         "  different workers, 7 and 3: the ids do not show which was made first\n")
    like(w.run("explain", "--layout", "snowflake", a, a).out, "...\nboth are the same id\n")
    legacy = [w.run("make", "--layout", "vesta-legacy-second", "time=%d" % t, "seq=0", "machine=%d" % m).out.strip() for t, m in ((5, 9), (6, 1))]
    like(w.run("explain", "--layout", "vesta-legacy-second", *legacy).out, "...as numbers they sort the other way...")
    got = json.loads(w.run("explain", "--json", "--compare", "--layout", "snowflake", b, a).lines()[2])
    same(got, {"compare": [b, a], "equal": False, "older": a, "by": "worker", "apart_ms": 172800000, "apart_ticks": str((172800000 << 12) - 4),
               "same_worker": True})
    same(len(w.run("explain", "--json", "--layout", "snowflake", b, a).lines()), 2)
    assert "older" not in w.run("explain", "--layout", "snowflake", a, b, c).out


@claim("ids of a namespace that changed its layout are compared in their own layouts, and across layouts by time only")
def _(w):
    store, layouts = ["--store", "file:" + w.path("state"), "--namespace", "moved"], ("vesta-second", "vesta-milli version:1=0", "vesta-milli version:1=1")
    for command, layout in zip(("init", "relayout", "relayout"), layouts):
        same(w.run("store", command, *store, "--layout", layout).code, 0)

    def made(layout, when, worker=7):
        more = [] if layout == layouts[0] else ["method=0"]
        return w.run("make", "--layout", layout, "time=" + when, "seq=0", "worker=%d" % worker, *more).out.strip()
    second, milli, third = (made(layout, "2026-01-01T00:00:00Z") for layout in layouts)
    for of, first in zip(layouts, (second, milli, third)):
        later, other = made(of, "2026-01-03T00:00:00Z"), made(of, "2026-01-03T00:00:00Z", 3)
        same(json.loads(w.run("explain", "--json", "--compare", *store, later, first).lines()[2])["by"], "worker")
        like(w.run("explain", *store, first, other).out, "...\n" + first + " is older than " + other + "\n  2 days apart...\n  different workers, 7 and 3:...")
        for newer in (made(layout, "2026-01-03T00:00:00Z") for layout in layouts if layout != of):
            done = w.run("explain", *store, newer, first)
            same((done.code, done.err), (0, ""))
            like(done.out, "...\n" + first + " is older than " + newer + "\n  2 days apart (172,800,000 ms)\n  of two layouts, so only their times...")
    for other, apart, older in ((made(layouts[1], "2026-01-01T00:00:00.999Z"), 999, {}), (made(layouts[1], "2026-01-01T00:00:01Z"), 1000, {"older": second}),
                                (made(layouts[1], "2025-12-31T23:59:59.999Z"), 1, None)):
        older = {"older": other} if older is None else older
        got = json.loads(w.run("explain", "--json", "--compare", *store, second, other).lines()[2])
        same(got, {"compare": [second, other], "equal": False, **older, "by": "clocks" if older else "unknown", "apart_ms": apart})
    like(w.run("explain", *store, second, milli).out, "...neither is known to be older\n  of two layouts, so only their times...within one time unit\n")
    done = w.run("explain", "--compare", *store, second, milli, third)
    same((done.code, "--compare needs two ids, but there are 3" in done.err), (2, True))


def marked(w, text, *words, **more):
    done = w.run("explain", "--layout", "snowflake", *words, "-", stdin=text, **more)
    same((done.code, done.err), (0, ""))
    return done.out


MARK = "[2026-01-01T00:00:00Z worker=7 seq=0]"


@claim("explain - copies its input, and marks only the ids in it")
def _(w):
    text = "%d" % ID
    for before, after in (("", ""), ("order=", "\n"), ('{"id":"', '"}\n'), ("a ", " b\n"), ("-", "-"), ("(", ")"), ("\x1b[1m", "\x1b[0m\n")):
        same(marked(w, before + text + after), before + text + MARK + after)
    same(marked(w, text + "," + text), text + MARK + "," + text + MARK)
    for other in ("", "\n", "plain\n", "1795400000000\n", text + "x", "x" + text, text + "_", "1." + text, text + ".5", text + "0", "9" * 400,
                  "18446744073709551615", "00000000000000000001", "0x" + text):
        same(marked(w, other), other)
    ids = orders(w)
    out = w.run("explain", "--namespace", "orders", "-", stdin="made %s." % ids[0]).out
    assert re.fullmatch(r"made %s\[20\S+Z worker=7 seq=0 \S+ pid \d+\]\." % ids[0], out), out


@claim("explain - marks ids made in the last ten years, or since --since")
def _(w):
    old = made(w, "2012-01-01T00:00:00Z", 0, 7)
    late = made(w, "2070-01-01T00:00:00Z", 0, 7)
    same(marked(w, "%s %s" % (old, late)), "%s %s" % (old, late))
    same(marked(w, "%s %s" % (old, late), "--since", "2012-01-01"), "%s[2012-01-01T00:00:00Z worker=7 seq=0] %s" % (old, late))
    same(marked(w, str(ID), "--since", "2026-01-02"), str(ID))
    for since in ("never", "-1y", "", "\x1b", "9" * 400, "2999-01-01"):
        same(w.run("explain", "--layout", "snowflake", "--since", since, "-", stdin="x").code, 2)


@claim("explain - reads the notation that --format names, and prints objects with --json")
def _(w):
    for form in ("hex", "base32", "base62"):
        text = w.run("make", "--layout", "snowflake", "time=2026-01-01T00:00:00Z", "seq=0", "worker=7", "--format", form).out.strip()
        same(marked(w, "at " + text + " end", "--format", form), "at " + text + MARK + " end")
        same(marked(w, "at " + text + " end"), "at " + text + " end")
    same(marked(w, "administrator encyclopedi", "--format", "base32"), "administrator encyclopedi")
    rows = [json.loads(line) for line in marked(w, "a\nb %d\n\nc %d %d" % (ID, ID + 1, ID + 2), "--json").splitlines()]
    same([(row["line"], row["id"], row["seq"]) for row in rows], [(2, str(ID), 0), (4, str(ID + 1), 1), (4, str(ID + 2), 2)])


@claim("explain - reads negative numbers as ids from 2^63 on if the minus is a sign")
def _(w):
    for layout in ("vesta-milli version:1=1", "vesta-second version:1=1", "a:1=1 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"):
        text = w.run("make", "--layout", layout, "time=2026-01-01T00:00:00Z", "seq=0", "worker=7",
                     *(["method=0"] if layout[0] == "v" else [])).out.strip()
        negative, mark = str(int(text) - 2**64), "[2026-01-01T00:00:00Z worker=7 seq=0]"
        run = lambda stdin, *words: w.run("explain", "--layout", layout, *words, "-", stdin=stdin).out  # noqa: E731
        for before, after in (("", "\n"), ("id=", " ok"), ('{"id":', "}"), ("a, ", ","), ("(", ")")):
            same(run(before + negative + after), before + negative + mark + after)
            same(run(before + text + after), before + text + mark + after)
        same(run("order" + negative), "order" + negative)
        same(run("order-" + text), "order-" + text + mark)
        same([json.loads(line)["id"] for line in run("%s %s" % (negative, text), "--json").splitlines()], [text, text])
    same(marked(w, " -%d" % ID), " -%d%s" % (ID, MARK))


@claim("explain - marks the same ids for any read boundary, line length and bytes")
def _(w):
    rng = random.Random(11)
    text, want = [], []
    for _ in range(4000):
        word = rng.choice([b"x" * rng.randrange(300), bytes(rng.randrange(1, 256) for _ in range(5)), b"2026-11-23T02:38:52.331Z", b"\0", b"\n"])
        text += [word, b" %d " % ID]
        want += [word, b" %d" % ID + MARK.encode() + b" "]
    long = b"y" * (3 << 20)
    text, want = b"".join(text) + long + b" %d" % ID, b"".join(want) + long + b" %d" % ID + MARK.encode()
    reader = subprocess.Popen([VESTA, "explain", "--layout", "snowflake", "-"], stdin=subprocess.PIPE, stdout=open(w.path("out"), "wb"),
                              cwd=w.folder, env=environment(w.folder))
    at = 0
    while at < len(text):
        n = rng.choice((1, 7, 100, 4096, 65536, 1 << 20))
        reader.stdin.write(text[at:at + n])
        reader.stdin.flush()
        at += n
    reader.stdin.close()
    same(reader.wait(timeout=60 * SLOW), 0)
    with open(w.path("out"), "rb") as file:
        got = file.read()
    assert got == want, "differs at byte %d of %d" % (next((i for i in range(len(want)) if got[i:i + 1] != want[i:i + 1]), -1), len(want))


@claim("explain - writes each line before it reads the next")
def _(w):
    reader = subprocess.Popen([VESTA, "explain", "--layout", "snowflake", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              cwd=w.folder, env=environment(w.folder))
    for i in range(3):
        reader.stdin.write(b"%d\n" % ID)
        reader.stdin.flush()
        same(reader.stdout.readline().decode(), "%d%s\n" % (ID, MARK))
    reader.stdin.close()
    same(reader.stdout.read(), b"")
    same(reader.wait(timeout=60 * SLOW), 0)
    reader.stdout.close()


@claim("explain - ends quietly when its reader closes, and reports a full disk")
def _(w):
    quiet = w.shell('yes %d | "$vesta" explain --layout snowflake - | head -n 1; exit ${PIPESTATUS[1]}' % ID)
    same((quiet.code, quiet.err, quiet.out), (0, "", "%d%s\n" % (ID, MARK)))
    fails(w.shell('echo %d | "$vesta" explain --layout snowflake - >/dev/full' % ID), 1, "cannot write the output")
    fails(w.shell('"$vesta" explain --layout snowflake - </'), 1, "cannot read stdin: Is a directory")


def on_terminal(w, *words, **more):
    """Returns what the program writes to a terminal, after Ctrl-D at an empty line."""
    master, slave = os.openpty()
    program = w.start(*words, stdin=slave, stdout=slave, stderr=slave, **more)
    os.close(slave)
    os.write(master, b"%d\n\x04" % ID)
    said = b""
    try:
        while piece := os.read(master, 65536):
            said += piece
    except OSError:  # EIO: the terminal has no user left.
        pass
    same(program.wait(timeout=60 * SLOW), 0)
    os.close(master)
    return said.decode()


@claim("on a terminal, explain uses colour unless NO_COLOR or TERM=dumb is set, and prompts for input")
def _(w):
    words = ["explain", "--layout", "snowflake", "-"]
    said = on_terminal(w, *words, env={"TERM": "xterm"})
    assert "reading text from stdin" in said and "Ctrl-D ends" in said and "\x1b[36m" + MARK + "\x1b[0m" in said, said
    for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {}):
        said = on_terminal(w, *words, env=env)
        assert MARK in said and "\x1b" not in said, said
    assert "reading ids from stdin" in on_terminal(w, "explain", "--layout", "snowflake", env={})
    assert "reading ids from stdin" in on_terminal(w, "audit", env={})


@claim("the table of workers fits a terminal of 80 columns, and is complete in a pipe")
def _(w):
    orders(w)
    words = ["workers", "--store", "file:" + w.path("state"), "--namespace", "orders"]
    said = look(w, 80, *words)
    assert all(len(line) <= 80 for line in said.split("\n")) and "CLOCK" not in said and "..." in said and "\x1b" not in said, said
    for columns in (1, 20, 60, 79, 81, 99):
        assert "orders: 1 held" in look(w, columns, *words)
    whole = w.run(*words).out
    assert w.path("state", "orders.gen") in whole and "CLOCK" in whole, whole
    same(len(look(w, 400, *words).split("\n")), len(whole.split("\n")))


@claim("warnings are coloured on a terminal, and not with NO_COLOR")
def _(w):
    words = ["explain", "1138729511026688"]
    assert "\x1b[33m  !! The time" in look(w, 80, *words, TERM="xterm")
    for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
        assert "\x1b" not in look(w, 80, *words, **env)
    assert "\x1b" not in w.run(*words, env={"TERM": "xterm"}).out
    doctor = look(w, 80, "doctor", "--path", "/nonexistent/x.gen", TERM="xterm")
    assert re.search(r"\x1b\[3[13]m(fail|warn)", doctor), doctor


@claim("if an id does not fit a config's first namespace, explain names the namespaces that it fits")
def _(w):
    with open(w.path("two.lua"), "w") as file:
        file.write('return { namespaces = { orders = { layout = "vesta-milli" }, shops = { layout = "vesta-milli" }, users = { layout = "snowflake" } } }')
    fails(w.run("explain", "-c", "two.lua", str(ID)), 1, "it may be an id of users: use --namespace users")
    # The id's time is seven minutes after the epoch of users.
    assert "--namespace" not in w.run("explain", "-c", "two.lua", "1795370400000").err
    assert "shops: use --namespace" not in w.run("explain", "-c", "two.lua", str(ID)).err
    same(w.run("explain", "-c", "two.lua", "--namespace", "users", str(ID)).code, 0)


main()
