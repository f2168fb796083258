"""running.py -- `vesta lease run` on a store that stops answering, and answers after the deadline.
running.py ISSUER VESTA sqlite|mysql|postgresql|zk [PART]"""
import json
import os
import subprocess
import sys
import tempfile
import time

from world import PLACES
from servers import SLOW, _started, claim, main, until

VESTA = sys.argv[2]
place = PLACES[sys.argv[3]]().begin()
TTL_S = 4
can_pause = place.kind in ("mysql", "zk")  # one process.  An answer that it owes arrives after the deadline

# Appends the time of its clock to a file every few milliseconds, like a generator, and ignores TERM.
CLOCK = "trap 'date +%s%3N > $1.term' TERM; while :; do date +%s%3N >> $1; sleep 0.02; done"


def vesta(*words, **kw):
    return subprocess.run([VESTA, *words], capture_output=True, text=True, timeout=120, **kw)


def times(path):
    with open(path) as file:
        return [int(line) for line in file.read().splitlines()]


class Holder:
    def __init__(self, folder, name, *options):
        self.path = os.path.join(folder, name)
        self.program = subprocess.Popen(
            [VESTA, "lease", "run", "--store", place.uri(), "--namespace", "orders", "--ttl", str(TTL_S), "--worker", "3", *options,
             "--", "bash", "-c", CLOCK, "-", self.path], stderr=subprocess.PIPE, text=True)

    def end(self):
        self.program.kill()

    def is_running(self):
        return os.path.exists(self.path) and len(times(self.path)) > 1


def row():
    got = vesta("workers", "--store", place.uri(), "--namespace", "orders", "--json")
    return next(row for row in json.loads(got.stdout)["workers"] if row["worker"] == 3)


@claim("a program is ended before its lease ends, an answer after the deadline changes nothing, and ids of two holders differ")
def _():
    vesta("store", "init", "--store", place.uri(), "--namespace", "orders", "--layout", "snowflake", check=True)
    with tempfile.TemporaryDirectory(prefix="vesta-run-") as folder:
        first = Holder(folder, "first", "--kill-after", "1")
        _started.append(first)
        until(first.is_running, "the first holder runs")
        second = Holder(folder, "second", "--wait", "100")
        _started.append(second)
        time.sleep(TTL_S * 0.5)
        written_ms = row()["written_ms"]
        (place.pause if can_pause else place.down)()
        paused_ms = time.time() * 1000
        _, said = first.program.communicate(timeout=60)
        ended = times(first.path)
        (place.go_on if can_pause else place.up)()
        assert first.program.returncode == 124 and "was not renewed" in said and "sending KILL" in said, said
        assert ended[-1] < max(paused_ms, written_ms) + TTL_S * 1000 * SLOW, (ended[-1], written_ms)  # its last renewal was before
        assert times(first.path + ".term")[0] <= ended[-1]
        until(second.is_running, "the second holder runs", 60)
        assert times(second.path)[0] >= ended[-1] + 1000, (times(second.path)[0], ended[-1])
        second.program.terminate()
        time.sleep(0.5)
        assert second.program.poll() is None and row()["state"] == "held"  # the program ignores TERM
        second.program.kill()
        until(lambda: row()["state"] == "free", "the worker id is released")
        assert row()["until_ms"] <= time.time() * 1000


main(sys.argv[4] if len(sys.argv) > 4 else "")
