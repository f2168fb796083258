"""inside.py -- the rows within a process: programs in C and Lua that print samples of vesta and of their yardstick."""
import json
import os
import shutil
import statistics
import subprocess

from rows import ROOT, Folder, Made, Missing, pairs

SHARE_MIN = 0.95  # the share of a core that each worker must have had
ROUNDS_MAX = 6    # the most repetitions of a row's bad samples
GROWTH_IDS = 1_000_000_000


def environment(turns):
    """Returns the environment that makes the programs run briefly in a test."""
    return {**os.environ, **({"BENCH_TINY": "1"} if turns.tiny else {})}


def printed(turns, *command, env=None):
    out = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, text=True, timeout=300, check=True,
                         env={**environment(turns), **(env or {})}).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def core(name, binary="core"):
    """A row of bench_core or similar, with only those samples in which every worker had its own core."""
    def measure(turns):
        good, thrown, counted = [], 0, {}
        for again in range(ROUNDS_MAX):
            *made, ids = printed(turns, turns.program(binary), name, turns.samples - len(good),
                                 env={"BENCH_UNCOUNTED": "1"} if again else {})
            counted = counted or ids
            good += [s for s in made if s["share"] >= SHARE_MIN or turns.tiny]
            thrown += sum(s["share"] < SHARE_MIN for s in made)
            if len(good) >= turns.samples:
                break
        if not good:
            raise RuntimeError("no sample in which the workers had their cores: the machine is too busy")
        notes = [f"samples discarded, because a core was busy: {thrown}"] if thrown else []
        if "clock_read" in good[0]:
            notes.append(f"a bare clock read: {statistics.median(s['clock_read'] for s in good):.1f} ns")
        return Made(pairs("ns", [(s["ours"], s["yard"]) for s in good]), counted, {"": "; ".join(notes)})
    return measure


def capacity(turns):
    *made, counted = printed(turns, turns.program("capacity"), turns.samples)
    return Made([{"rate": (s["ours"], s["yard"]), "core": (s["core"], 1.0)} for s in made], counted)


def growth(turns):
    """Compares ids after the given number of ids with the first thousand, each relative to an atomic add in the same
    turn."""
    steps = printed(turns, turns.program("growth"), turns.samples, turns.few(GROWTH_IDS, 100_000))
    adds = [[ours / yard for ours, yard in step["samples"]] for step in steps]
    told = ", ".join(f"{statistics.median(a):.2f} after 10^{len(str(step['ids'])) - 1}" for step, a in zip(steps, adds))
    return Made(pairs("adds", zip(adds[-1], adds[0])), notes={"": "atomic adds per id: " + told})


def lua(interpreter, version):
    def measure(turns):
        if not shutil.which(interpreter):
            raise Missing(f"{interpreter} is not here")
        env = {"LUA_PATH": f"{ROOT}/lua/?.lua;{ROOT}/lua/?/init.lua", "LUA_CPATH": f"{turns.build}/lua/{version}/?.so"}
        with Folder(turns) as folder:
            *made, counted = printed(turns, interpreter, ROOT / "bench/lua.lua", turns.samples, folder / "w.gen",
                                     f"{turns.program('core')} yard", env=env)
        return Made([{**{call: (s[call], s["yard"]) for call in ("next", "next_int", "batch")},
                      "batch_to_next": (s["batch"], s["next"]), "next_to_fresh": (s["next"], s["fresh"])} for s in made], counted)
    return measure
