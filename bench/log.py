"""log.py -- the cost of marking the ids in a log: `vesta explain -` next to `grep -c`, in turn."""
import os
import random
import resource
import subprocess

from rows import Folder, Made

MEGABYTES = int(os.environ.get("BENCH_LOG_MB", "100"))
FIRST, SPREAD = 2006515713438674944, 1 << 50  # snowflake's first id of 2026, and a span of two weeks
LINE = ("2026-01-%02dT06:12:%02d.%06dZ web%d shop[%d]: INFO saved order=%d customer=%d in %d us, status 200 "
        "path=/v1/orders/%d?page=%d\n")
BLOCK_LINES = 50_000


def make(path, wanted):
    """Writes lines of a shop's log, with two ids in each, and numbers that are not ids."""
    chance = random.Random(1)
    block = "".join(LINE % (1 + chance.randrange(14), chance.randrange(60), chance.randrange(10**6), chance.randrange(9),
                            chance.randrange(9999), FIRST + chance.randrange(SPREAD), chance.randrange(10**8),
                            chance.randrange(10**6), FIRST + chance.randrange(SPREAD), chance.randrange(99))
                    for _ in range(BLOCK_LINES)).encode()
    with open(path, "wb") as file:
        while file.tell() < wanted * 10**6:
            file.write(block)
        return file.tell() / 1e6


def speed(megabytes, path, *command, to=subprocess.DEVNULL):
    """Returns megabytes per second of CPU time, because other processes may use the cores."""
    with open(path, "rb") as file:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([str(word) for word in command], stdin=file, stdout=to, timeout=300,
                              env={**os.environ, "LC_ALL": "C"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, command
    return megabytes / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def explain(turns):
    with Folder() as folder:
        path = folder / "log"
        megabytes = make(path, turns.few(MEGABYTES, 1))
        ours = (turns.build / "vesta", "explain", "--layout", "snowflake", "--since", "2025-01-01", "-")
        grep = ("grep", "-cE", "[0-9]{18,20}")
        # grep writes to a pipe, because with /dev/null as its output it stops at the first match.
        speed(megabytes, path, *ours)  # From here on the file is in memory.
        made = [(speed(megabytes, path, *ours), speed(megabytes, path, *grep, to=subprocess.PIPE)) for _ in range(turns.samples)]
    return Made([{"speed": (mine, 200.0), "grep": (mine, theirs)} for mine, theirs in made],
                notes={"": f"{megabytes:,.0f} MB, CPU time"})
