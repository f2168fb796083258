"""guess.py -- `vesta guess`."""
import calendar
import json
import os
import random
import time

from harness import claim, fails, like, main, same

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "vectors", "ids.csv")

NOW_MS = 1795219200000  # 2026-11-21. The program's clock is later, which does not change the results.
DAY_MS = 86400000


def guessed(w, ids, *words, code=0):
    done = w.run("guess", "--json", *words, stdin="\n".join(map(str, ids)))
    same((done.code, done.err), (code, ""))
    return json.loads(done.out)


def split(epoch_ms, time_bits, *fields, unit=1):
    """Returns a generator with these fields below the time, each as (bits, function of worker and random numbers)."""
    def make(at_ms, worker, rng):
        value = (at_ms - epoch_ms) // unit
        assert 0 <= value < 1 << time_bits
        for bits, of in fields:
            value = value << bits | of(worker, rng) & ((1 << bits) - 1)
        return value
    return make


def low(_, rng):
    return 0 if rng.random() < .75 else rng.randrange(8)


def chance(_, rng):
    return rng.getrandbits(32)


def worker(number, _):
    return number * 31


KNOWN = {
    "snowflake": split(1288834974657, 41, (10, worker), (12, low)),
    "sonyflake": split(1409529600000, 39, (8, low), (16, lambda n, _: n * 2570), unit=10),
    "butterfly": split(1582300800000, 41, (8, chance), (13, worker), (1, chance)),
    "yitter": split(1582136402000, 51, (6, worker), (6, lambda _, rng: 5 + rng.randrange(8))),
    "vesta-second": split(1420041600000, 30, (20, lambda _, rng: rng.randrange(4096)), (10, worker), unit=1000),
}
FAMILY = {"leaf": "snowflake", "twitter": "snowflake", "butterfly-v1.0.1": "butterfly",
          "yitter-js": "yitter", "yitter-net": "yitter"}
# Layouts with random bits below the time, or with the worker above it.
FIELD = {
    "instagram": split(1314220021721, 41, (13, worker), (10, chance)),
    "mastodon": split(0, 48, (16, chance)),
    "tsid": split(1577836800000, 42, (10, worker), (12, chance)),
    "seata": lambda at, n, rng: (n * 31 % 1024) << 53 | (at - 1588435200000) << 12 | rng.randrange(4096),
    "tid": lambda at, n, rng: (at * 1000 + rng.randrange(1000)) << 10 | rng.randrange(1024),
    "pgedge": split(1672531200000, 41, (10, worker), (12, low)),
    "pgedge": split(1672531200000, 41, (10, worker), (12, low)),
    "discord": split(1420070400000, 42, (5, worker), (5, lambda *_: 0), (12, low)),
    "pgedge-v1.1": split(1672531200000, 41, (12, low), (10, worker)),
    "cosid": split(1577203200000, 41, (10, worker), (12, low)),
    "sonyflake-v2": split(1735689600000, 39, (8, low), (16, lambda n, _: n * 2570), unit=10),
    "cockroachdb": lambda at, n, rng: ((at - 1420070400000) * 100 + rng.randrange(100)) << 15 | n,
}
# Layouts that match no preset.
UNKNOWN = {
    "microseconds": lambda at, n, rng: at * 1000 + rng.randrange(1000),
    "any": lambda at, n, rng: rng.getrandbits(63),
}
DISCORD = split(1420070400000, 42, (5, worker), (5, lambda *_: 0), (12, low))
DISCORD_LAYOUT = "time:42 machine:5 process:5 seq:12 unit=1ms epoch=2015-01-01T00:00:00Z"


def some(make, count, seed, until_ms=NOW_MS, span_ms=30 * DAY_MS):
    rng = random.Random(seed)
    return [make(until_ms - rng.randrange(span_ms), 1 + rng.randrange(4), rng) for _ in range(count)]


@claim("thirty ids of a preset in any order identify the preset")
def _(w):
    for name, make in KNOWN.items():
        for seed in range(3):
            ids = some(make, 30, seed)
            got = guessed(w, ids)
            first = got["guesses"][0]["layout"]
            same(FAMILY.get(first, first), name)
            share = sum(g["share"] for g in got["guesses"] if FAMILY.get(g["layout"], g["layout"]) == name)
            assert share > 0.75, (name, seed, got)
            same(guessed(w, sorted(ids, key=str)), got)


@claim("thirty ids that match no preset are reported as no preset's")
def _(w):
    for name, make in UNKNOWN.items():
        for seed in range(3):
            ids = some(make, 30, seed)
            done = w.run("guess", "--json", stdin="\n".join(map(str, ids)))
            got = json.loads(done.out)
            assert got["none"] > 0.75, (name, seed, got)


@claim("with --made, ids with an unknown epoch are split at that epoch, and ids that count from 1970 match clickhouse")
def _(w):
    day = time.strftime("%Y-%m-%d", time.gmtime(NOW_MS / 1000))
    for epoch_ms, text in ((1577836800000, "2020-01-01T00:00:00Z"), (1546272000000, "2018-12-31T16:00:00Z"), (1592179200000, "2020-06-15T00:00:00Z")):
        ids = some(split(epoch_ms, 41, (10, worker), (12, low)), 30, 1, span_ms=DAY_MS // 4)
        got = guessed(w, ids, "--made", "%d" % (NOW_MS - DAY_MS // 8))
        names = [g["layout"] for g in got["guesses"]]
        if text == "2020-01-01T00:00:00Z":
            same(names[0], "tsid")
            continue
        assert names[0] == "snowflake epoch=" + text and not got["sure"], got
        shown = w.run("guess", "--made", day, *map(str, ids[:3])).out
        assert "The epoch follows from --made, and is right within a day." in shown, shown
        same(w.run("explain", "--layout", names[0], str(ids[0])).code, 0)
    ids = [at << 22 | 3 << 12 | 5 for at in range(NOW_MS - 1000, NOW_MS, 100)]
    got = guessed(w, ids, "--made", day)
    same((got["guesses"][0]["layout"], got["sure"]), ("clickhouse", True))
    same(w.run("guess", "--made", "now", "12345").code, 1)


@claim("with --made, thirty ids of a preset with random bits, or with the worker above the time, identify it")
def _(w):
    for name, make in FIELD.items():
        day = time.strftime("%Y-%m-%d", time.gmtime(NOW_MS / 1000))
        got = guessed(w, some(make, 30, 1, span_ms=DAY_MS // 4), "--made", day)
        same((name, got["guesses"][0]["layout"]), (name, name))


def known_ids(w):
    """Returns ids of the presets' original generators, at least a month after their epochs, as [(preset, id)]."""
    presets = map(json.loads, w.run("layout", "--json").lines())
    epochs = {p["name"]: calendar.timegm(time.strptime(p["epoch"][:19], "%Y-%m-%dT%H:%M:%S")) for p in presets}
    with open(VECTORS) as file:
        rows = [line.strip().split(",") for line in file if line.startswith("ok,")]
    return [(layout, int(number)) for _, layout, _, number, _, ms in rows
            if layout in epochs and epochs[layout] + 30 * 86400 < int(ms) / 1000 < time.time()]


def family_of(got, name):
    return next(f for f in got["families"] if name in f["layouts"])


@claim("for one known id, its preset is among the likely ones in 95 % of cases, and the answer is never certain")
def _(w):
    known = known_ids(w)
    rows = list(map(json.loads, w.run("guess", "--json", "--each", stdin="\n".join(str(number) for _, number in known)).lines()))
    same([row["id"] for row in rows], [str(number) for _, number in known])
    same([row["sure"] for row in rows], [False] * len(known))
    unlikely = [pair for pair, row in zip(known, rows) if not family_of(row, pair[0])["likely"]]
    assert len(known) >= 130 and len(unlikely) * 20 <= len(known), unlikely


@claim("if an answer for known ids of one preset is certain, the preset is in the first family")
def _(w):
    known, sure = known_ids(w), set()
    for name in {name for name, _ in known}:
        got = guessed(w, [number for preset, number in known if preset == name])
        if got["sure"]:
            sure.add(name)
            assert name in got["families"][0]["layouts"], (name, got)
    assert {"vesta-milli", "snowflake", "twitter", "leaf", "butterfly", "uid"} <= sure, sure


@claim("layouts with the time in the same bits form one group, the likeliest first, and evidence against a layout is "
       "marked")
def _(w):
    text = w.run("guess", "175928847299117063").out  # the example in Discord's documentation
    like(text, "175928847299117063  could be, likeliest first:\n"
         "   ... %  a time in units of 1ms from bit 22 on:\n"
         "...    discord              2016-04-30T11:18:25.796Z, ...worker=1 process=0 seq=7\n..."
         "...    snowflake            2012-03-03T13:01:20.453Z, ... years ago? worker=32? seq=7\n..."
         "...  sonyflake              2017-12-27T16:16:04.490Z, ...seq=2 machine=7\n..."
         "  less likely:\n...tid ..."
         "  ? less likely: ...")
    got = guessed(w, [175928847299117063])
    first = got["families"][0]
    same((first["unit"], first["bit"], first["likely"], got["sure"]), ("1ms", 22, True, False))
    assert "discord" in first["layouts"] and "sonyflake" not in first["layouts"], first
    shares = {g["layout"]: g["share"] for g in got["guesses"]}
    for family in got["families"]:
        assert abs(sum(shares[name] for name in family["layouts"]) - family["share"]) < 0.0001, family
    same([name for family in got["families"] for name in family["layouts"]], [g["layout"] for g in got["guesses"]])
    same(sorted(got["families"], key=lambda f: -f["share"]), got["families"])
    same({g["layout"]: g["against"] for g in got["guesses"]}["snowflake"], ["time", "worker"])
    assert all("against" not in g for g in guessed(w, [1, 2])["guesses"])


@claim("naming a layout twice does not increase the probability of its family")
def _(w):
    once = guessed(w, [175928847299117063])
    twice = guessed(w, [175928847299117063], "--layout", "cosid", "--layout", "discord")
    same((len(twice["guesses"]), family_of(twice, "discord")["share"]),
         (len(once["guesses"]) + 2, family_of(once, "discord")["share"]))


@claim("the answer for one id is never certain, and contains advice")
def _(w):
    for make in (*UNKNOWN.values(), DISCORD):
        for number in some(make, 5, 7):
            done = w.run("guess", "--json", str(number))
            got = json.loads(done.out)
            assert all(g["share"] <= 0.8 for g in got["guesses"]) and (done.code == 0) == bool(got["guesses"]), (number, got)
            same(round(got["none"] + sum(g["share"] for g in got["guesses"]), 3), 1.0)
    text = w.run("guess", "175928847299117063").out
    like(text, "175928847299117063  could be, likeliest first:\n...none of these, or one of them with another epoch\n\n..."
         "  This is not yet an answer.  To narrow it down:\n    give more ids of the same kind\n    add the time when they were made: --made now, --made 2026-01-31\n"
         "    add layouts of your own: --layout TEXT, -c FILE\n")


@claim("the date of creation distinguishes epochs")
def _(w):
    ids = some(DISCORD, 5, 1, until_ms=1767225600000 + DAY_MS, span_ms=DAY_MS)
    assert guessed(w, ids)["guesses"][0]["share"] < 0.75
    got = guessed(w, ids, "--made", "2026-01-01")
    same(([g["layout"] for g in got["guesses"]], got["guesses"][0]["share"] > 0.99), (["discord"], True))
    got = guessed(w, ids, "--made", "2026-01-01", "--layout", DISCORD_LAYOUT)
    same([g["layout"] for g in got["guesses"]], [DISCORD_LAYOUT, "discord"])
    same((got["guesses"][0]["workers"] <= 4, got["guesses"][0]["from_ms"] >= 1767225600000), (True, True))
    like(w.run("guess", "--made", "2027-01-01", *map(str, ids)).out, "5 ids of one layout  none of the layouts could have made all of them...")


UID_README = "uid time:29 worker:21 epoch=2016-09-20T00:00:00+08:00"


@claim("UidGenerator with the settings of its README is named with these settings, not as the default preset")
def _(w):
    rng = random.Random(11)
    ids = sorted((((1794000000 - 1474300800 + rng.randrange(1000000)) << 34) | (rng.randrange(321, 326) << 13) | rng.randrange(4)) for _ in range(30))
    got = guessed(w, ids)
    same((got["guesses"][0]["layout"], got["sure"]), (UID_README, True))
    same(guessed(w, ids, "--layout", UID_README)["guesses"][0]["layout"], UID_README)


@claim("ids from a burst identify their layout, because a counting sequence is not evidence against it")
def _(w):
    leaf, rng = [], random.Random(12)
    for ms in range(0, 60, 6):
        first = rng.randrange(100)
        leaf += [((1795000000000 + ms - 1288834974657) << 22) | 2 << 12 | seq for seq in range(first, first + 25)]
    got = guessed(w, leaf)
    assert "leaf" in got["families"][0]["layouts"] and got["sure"], got["families"]
    uid = [((1795000000 + second - 1474300800) << 34) | worker << 13 | seq
           for worker in (321, 322) for second in range(4) for seq in range(0, 1300, 30)]
    got = guessed(w, uid)
    same((got["guesses"][0]["layout"], got["sure"]), (UID_README, True))


@claim("small numbers are reported as a counter's, and large ones are not")
def _(w):
    for numbers in ([7], [880000 + 3 * i for i in range(20)], list(range(1200001, 1201001))):
        got = w.run("guess", *map(str, numbers)).out
        assert "Numbers this small usually come from a counter" in got, got
        assert guessed(w, numbers)["none"] > 0.9
    assert "counter" not in w.run("guess", "2006515713438674944").out


@claim("if --made excludes every layout, the answer names --made")
def _(w):
    ids = some(KNOWN["snowflake"], 50, 3)
    done = w.run("guess", "--made", "-10d", *map(str, ids))
    like(done.out, "50 ids of one layout  none of the layouts could have made all of them within a day of --made\n..."
         "    give only ids of the day of --made, or leave --made out\n"
         "    if the ids come from several generators, judge each by itself: --each\n...")


@claim("layouts given by --layout, and layouts of a config's namespaces, are tried first")
def _(w):
    ids = some(DISCORD, 30, 2)
    own = "snowflake time:42 worker:10 seq:12 sign:0"
    fails(w.run("guess", "--layout", own, "1"), 2, "sign")
    same(guessed(w, ids, "--layout", "js53", "--layout", DISCORD_LAYOUT)["guesses"][0]["layout"] in (DISCORD_LAYOUT, "twitter"), True)
    with open(w.path("vesta.lua"), "w") as file:
        file.write('return { namespaces = { chat = { layout = "%s" }, plain = {} } }' % DISCORD_LAYOUT)
    names = [g["layout"] for g in guessed(w, ids, "-c", "vesta.lua")["guesses"]]
    assert "chat" in names and "plain" not in names, names
    same([g["layout"] for g in guessed(w, some(KNOWN["snowflake"], 5, 3), "--layout", "snowflake epoch=1288834974657")["guesses"]][0],
         "snowflake epoch=1288834974657")


@claim("--each examines each id separately")
def _(w):
    rows = [json.loads(line) for line in w.run("guess", "--json", "--each", "1138729511026688", "2006515713438674944").lines()]
    same([(row["id"], row["guesses"][0]["layout"]) for row in rows],
         [("1138729511026688", "vesta-legacy-second"), ("2006515713438674944", "snowflake")])
    same(w.run("guess", "--each", "1138729511026688", str(2**64 - 1)).code, 1)


@claim("guess examines a thousand ids, and reports how many it leaves out")
def _(w):
    ids = some(KNOWN["snowflake"], 1002, 4)
    done = w.run("guess", "--json", stdin="\n".join(map(str, ids)))
    same((done.code, json.loads(done.out)["ids"]), (0, 1000))
    assert "only the first 1000 ids are examined, and 2 more are ignored" in done.err, done.err
    same(guessed(w, [ids[0]] * 1000)["guesses"][0]["workers"], 1)


@claim("a command accepts thousands of operands")
def _(w):
    done = w.run("guess", "--json", *map(str, some(KNOWN["snowflake"], 5000, 4)))
    same((done.code, json.loads(done.out)["ids"]), (0, 1000))
    assert "only the first 1000 ids are examined, and 4,000 more are ignored" in done.err, done.err


@claim("wrong, empty and hostile values are rejected")
def _(w):
    for words, part in ((["--layout", "nothing"], "nothing"), (["--layout", ""], "needs a value"), (["--made", "soon"], "soon"),
                        (["--made", ""], "needs a value"), (["--made", "9" * 400], "is not a time"), (["--layout", "x" * 100000], ""),
                        (["--layout", "a\x1b[2Jb"], ""), (["--layout", "js53"] * 17, "16 times at most"), (["--format", "oct"], "any|dec")):
        fails(w.run("guess", *words, "1"), 2, part)
    fails(w.run("guess", "-c", "missing.lua", "1"), 1, "missing.lua")
    fails(w.run("guess", "hello"), 2, "is not an id")
    same((w.run("guess", stdin="").code, w.run("guess", stdin="").out), (0, ""))
    for number in (0, 1, 2**63 - 1, 2**63, 2**64 - 1):
        assert w.run("guess", str(number)).code in (0, 1)
        assert w.run("guess", "--made", "now", str(number), str(2**64 - 1)).code == 1


main()
