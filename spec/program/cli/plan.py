"""plan.py -- `vesta plan`."""
import json
import math
import re

from harness import claim, fails, main, same
from terminal import look, plain

NEED = ["--rate", "2000/s", "--peak", "20k/s", "--issuers", "500", "--years", "20"]


def plan(w, *words, code=0):
    done = w.run("plan", *words, "--json")
    same((done.code, done.err), (code, ""))
    return json.loads(done.out)


def layout(got, name):
    return next(row for row in got["layouts"] if row["layout"] == name)


def near(got, want, share=1e-3):
    assert abs(got - want) <= share * max(abs(want), 1e-9), (got, want)


def late(mean, room):
    """Returns the expected share of a Poisson number of requests that exceeds the room, by direct summation."""
    p, sum_, n = math.exp(-mean), 0.0, 0
    while n < mean + 40 * math.sqrt(mean) + 60:
        sum_ += max(0, n - room) * p
        n += 1
        p *= mean / n
    return sum_ / mean


@claim("worker ids, load of the store, capacity and waits match the formulas")
def _(w):
    got = plan(w, *NEED, "--restarts", "10")
    leases = {row["lease"]: row for row in got["leases"]}
    for name, lease_s, renew_s, idle_s in (("strict", 15, 1, 1), ("balanced", 720, 5, 60), ("autonomous", 86400, 5, 60)):
        fenced = 500 * 10 / 86400 * lease_s
        near(leases[name]["fenced"], fenced)
        same(leases[name]["numbers"], math.ceil(500 * 1.25 + fenced + 3 * math.sqrt(fenced)))
        near(leases[name]["writes_s"], 500 / renew_s)
        near(leases[name]["idle_writes_s"], 500 / idle_s)
        near(leases[name]["starts_s"], 500 * 10 / 86400 * 3, 1e-2)
        near(leases[name]["all_at_once_s"], 200)
    same((got["numbers"], got["lease"]), (leases["balanced"]["numbers"], "balanced"))
    same([leases[name]["outage_ms"] for name in ("strict", "balanced", "autonomous")], [4000, 516000, 69060000])
    row = layout(plan(w, *NEED, "--peak", "25k/s", "--busiest", "25k/s", "--layout", "sonyflake"), "sonyflake")
    same((row["ids_s"], row["numbers"], row["fits"]), (25600.0, 65536, True))
    near(row["used"], 25000 / 25600)
    near(row["waits"], late(250, 256), 1e-3)
    for busiest, room, unit_s, name in (("19900/s", 4096, 0.001, "snowflake"), ("20k/s", 8192, 1, "uid epoch=2026-01-01T00:00:00Z")):
        row = layout(plan(w, *NEED, "--busiest", busiest, "--layout", name, code=0 if name == "snowflake" else 1), name)
        assert 0 <= row["waits"] <= 1 and (row["waits"] == 0) == (name == "snowflake"), row
    near(row["waits"], 1 - 8192 / 20000, 1e-2)  # far above the capacity, so all of the excess waits
    given = plan(w, *NEED, "--given", "--restarts", "10")
    same((given["numbers"], given["fenced"]), (625, 0.0))


@claim("plan shows if a layout fits or what is too small, builds a layout for the need, and ends with 1 if none fits")
def _(w):
    got = plan(w, *NEED)
    own = layout(got, "(made for it)")
    assert own["fits"] and own["numbers"] >= got["numbers"] and own["years"] >= 20, own
    same(w.run("layout", own["text"]).code, 0)
    for name, word in (("uid", "its time is over"), ("twitter", "worker ids: 32 of "), ("snowflake", "fits")):
        assert layout(got, name)["verdict"].startswith(word), layout(got, name)
    slow = plan(w, "--rate", "900M/s", "--issuers", "2", "--years", "20", "--layout", "snowflake", code=1)
    assert "too slow" in slow["layouts"][0]["verdict"], slow
    short = plan(w, *NEED[:-1], "90", "--layout", "snowflake", code=1)
    assert re.match(r"years: [45]\d\.\d of 90", short["layouts"][0]["verdict"]), short
    done = w.run("plan", "--rate", "1/s", "--issuers", "1000000000", "--years", "900000")
    same(done.code, 1)
    assert "no layout    can be made for this need" in done.out, done.out


@claim("for a clock that goes back, plan shows how long issuing pauses and how many ids wait")
def _(w):
    got = plan(w, *NEED, "--clock-ms", "500")
    assert (got["clock_ms"], got["clock_waits"]) == (500, 20), got
    assert "if it is set back by 500 ms, an issuer issues nothing for that time. The busiest issuer's 20 requests" in " ".join(w.run("plan", *NEED, "--clock-ms", "500").out.split())
    assert "clock  " not in w.run("plan", *NEED).out


@claim("options that are missing, empty, huge, negative or contradictory are rejected by name")
def _(w):
    for words, text in (([], "--rate is missing"), (["--rate", "1/s"], "--issuers is missing"), (NEED[:-2], "--years is missing"),
                        ([*NEED, "--peak", "1/s"], "--peak is \"1/s\", which is less than the average"),
                        ([*NEED, "--busiest", "1/s"], "--busiest is \"1/s\", which must be from 40/s"),
                        ([*NEED, "--busiest", "21k/s"], "--busiest is \"21k/s\", which must be from"),
                        ([*NEED, "--rate", "0/s"], "--rate is \"0/s\""), ([*NEED, "--rate", "nan"], "--rate is \"nan\""),
                        ([*NEED, "--rate", "1e99/s"], "--rate is \"1e99/s\""), ([*NEED, "--peak", ""], "--peak needs a value"),
                        ([*NEED, "--years", "-1"], "--years is \"-1\""), ([*NEED, "--years", "inf"], "--years is \"inf\""),
                        ([*NEED, "--issuers", "0"], "--issuers is \"0\""), ([*NEED, "--issuers", "1000000001"], "--issuers is"),
                        ([*NEED, "--restarts", "86401"], "--restarts is"), ([*NEED, "--surge", "101"], "--surge is"),
                        ([*NEED, "--clock-ms", "x"], "--clock-ms is"), ([*NEED, "--lease", "local"], "--lease is \"local\""),
                        ([*NEED, "--layout", "twiter"], "twiter"), ([*NEED, "--epoch", "never"], "never"),
                        ([*NEED, "x"], "unexpected operand \"x\"")):
        fails(w.run("plan", *words), 2, text)


@claim("the output fits a terminal of 80 columns, and each figure's formula is listed below")
def _(w):
    said = plain(look(w, 80, "plan", *NEED, "--clock-ms", "50", TERM="xterm"))
    same([line for line in said.split("\n") if len(line) > 80], [])
    for word in ("IDS/S EACH =", "USED =", "WAITS =", "UNTIL =", "fenced =", "WORKER IDS =", "WRITES/S =", "STARTS/S =", "ALL AT ONCE =",
                 "OUTAGE =", "set back by 50 ms"):
        assert word in said, (word, said)


main()
