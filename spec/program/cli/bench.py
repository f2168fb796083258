"""bench.py -- the quick bench for users: it measures, touches no state, and says what it cannot do."""
import json
import os

from harness import claim, fails, like, main, same

ROWS = ["atomic add, 1 thread", "next, 1 thread", "next_n of 256, 1 thread", "atomic add, 2 threads", "next, 2 threads"]


@claim("bench prints five rows with figures above nothing, and touches no state")
def _(w):
    for args in ([], ["--layout", "snowflake"], ["--pacing", "history"], ["--layout", "js53", "--pacing", "history"]):
        result = w.run("bench", "--ms", "2", *args)
        same(result.code, 0)
        rows = [line for line in result.lines() if line.startswith("  ") and "thread" in line]
        same([row[2:28].strip() for row in rows], ROWS)
        assert all(float(row.split("thread")[1].lstrip("s").split()[0]) > 0 for row in rows), result.out
    same(os.listdir(w.folder), [])


@claim("bench --json has the same rows, and the layout's own limit")
def _(w):
    got = json.loads(w.run("bench", "--ms", "2", "--json").out)
    same((got["per_second_max"], got["pacing"]), (1048576, "clock"))
    assert all(got[key]["ns"] > 0 for key in ("add_1", "next_1", "next_n_1", "add_2", "next_2"))
    assert got["next_n_1"]["to_add"] > got["next_1"]["to_add"] > 0


@claim("bench refuses a layout that is over or that cannot be, and what is no option")
def _(w):
    fails(w.run("bench", "--layout", "uid"), 1, "2024-11-20T13:24:16Z", "epoch_end")
    fails(w.run("bench", "--layout", "x"), 2, "no preset 'x'")
    fails(w.run("bench", "--ms", "0"), 2, '"0"', "1 to 10000")
    fails(w.run("bench", "now"), 2, '"now"')


main()
