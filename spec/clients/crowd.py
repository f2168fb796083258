"""crowd.py VESTA BUILD [SECONDS] -- two processes of each language take ids from two servers.  One server is killed with -9 and
restarted, then both are killed and restarted.  Prints where the ids came from over time, and fails after a duplicate.

Each phase lasts at least SECONDS (0.5), and until each process has seen it: it got ids, or, without servers, an error that
names both servers.  C and Lua fall back on generators of their own.
"""
import os
import sys
import tempfile
import threading
import time

ARGUMENTS = sys.argv[2:]
from cell import Vesta  # noqa: E402
from columns import COLUMNS  # noqa: E402
from driver import Driver, Ledger  # noqa: E402
from harness import SLOW  # noqa: E402
from servers import until  # noqa: E402

LAYOUT = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"  # of `ids` in cell.py
PROCESSES, IDS, PATIENCE_S = 2, 20, 120
FALLBACK_WORKER = 100
WAIT_MS, BLOCK = 300, 200
BOTH, KILLED, BACK, NONE, HEALED = ("both serve", "a is killed -9", "a is back", "both are killed", "both are back")


class Caller:
    """A process of a language, and the thread that makes it take ids until the end."""

    def __init__(self, crowd, column, number):
        self.crowd, self.name, self.folder = crowd, "%s %d" % (column.name, number), crowd.folder
        self.met, self.wrong, self.errors = {}, None, {}
        self.driver = Driver(self, column, crowd.build, crowd.ledger)
        more = {}
        if column.falls_back:
            path = os.path.join(crowd.folder, self.name.replace(" ", "") + ".gen")
            self.worker = FALLBACK_WORKER + len(crowd.callers)
            more["fallback"] = "layout=%s path=%s worker=%d pacing=history" % ("'%s'" % LAYOUT, path, self.worker)
        self.falls_back = column.falls_back
        self.driver.open([server.address for server in crowd.servers], size=BLOCK, timeout=WAIT_MS, wait=WAIT_MS, **more)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __str__(self):
        return self.name

    def run(self):
        try:
            while not self.crowd.is_over:
                phase = self.crowd.phase
                said = self.driver.try_next(IDS)
                self.crowd.count(said)
                if phase == self.crowd.phase:
                    self.see(phase, said)
                time.sleep(0.01)
            assert self.driver.end() == 0, "it did not end by itself"
        except Exception as error:
            self.wrong = "%s: %s" % (self.name, error)

    def see(self, phase, said):
        """Counts the replies that show this phase."""
        if phase != NONE:
            self.met[phase] = self.met.get(phase, 0) + len(said.ids)
        elif self.falls_back:
            self.met[phase] = self.met.get(phase, 0) + sum(id & 1023 == self.worker for id in said.ids)
        elif said.error and all(server.address in said.error for server in self.crowd.servers):
            self.met[phase] = self.met.get(phase, 0) + 1


class Crowd:
    def __init__(self, folder, build, seconds):
        self.folder, self.build, self.seconds = folder, build, seconds
        self.ledger, self.lock, self.phase, self.is_over, self.rows, self.callers = Ledger(), threading.Lock(), BOTH, False, [], []
        self.begun = time.monotonic()
        self.servers = [Vesta(os.path.join(folder, name), worker) for name, worker in (("a", 10), ("b", 11))]
        for column in COLUMNS:
            for number in range(PROCESSES):
                self.callers.append(Caller(self, column, number + 1))

    def count(self, said):
        step = max(0.5, self.seconds / 5)
        at = int((time.monotonic() - self.begun) / step) * step
        with self.lock:
            if not self.rows or self.rows[-1][0] != at or self.rows[-1][1] != self.phase:
                self.rows.append([at, self.phase, 0, 0, 0, 0])
            for id in said.ids:
                self.rows[-1][2 + min(id % 1024 - 10, 2)] += 1
            self.rows[-1][5] += bool(said.error)

    def live(self, phase, *more):
        """Starts a phase, and waits until all processes have seen it."""
        begun, self.phase = time.monotonic(), phase
        until(lambda: time.monotonic() - begun >= self.seconds and not self.missing(phase) and all(one() for one in more),
              lambda: "%r is seen by %s" % (phase, ", ".join(self.missing(phase)) or "a server that issues ids again"), PATIENCE_S)

    def missing(self, phase):
        self.look()
        return [caller.name for caller in self.callers if not caller.met.get(phase)]

    def look(self):
        wrong = [caller.wrong for caller in self.callers if caller.wrong]
        assert not wrong, wrong[0]

    def given_by_a(self):
        return sum(row[2] for row in self.rows if row[1] == self.phase)

    def run(self):
        a, b = self.servers
        for caller in self.callers:
            caller.thread.start()
        self.live(BOTH)
        a.kill()
        self.live(KILLED)
        a.start()
        self.live(BACK, self.given_by_a)
        a.kill()
        b.kill()
        self.live(NONE)
        a.start()
        b.start()
        self.live(HEALED)
        self.is_over = True
        for caller in self.callers:
            caller.thread.join(PATIENCE_S * SLOW)
            assert not caller.thread.is_alive(), "%s did not end" % caller
        self.look()

    def tell(self):
        print("%8s  %-16s %8s %8s %12s %12s" % ("seconds", "", "from a", "from b", "fallback", "failed calls"))
        for row in self.rows:
            print("%8.1f  %-16s %8d %8d %12d %12d" % tuple(row))
        print("\n%d processes: %s" % (len(self.callers), ", ".join(column.name for column in COLUMNS)))
        print("%d ids were issued, %s" % (len(self.ledger), "with duplicates" if any("twice" in (c.wrong or "") for c in self.callers)
                                          else "no duplicate"))


def main():
    build, seconds = ARGUMENTS[0], float(ARGUMENTS[1]) if len(ARGUMENTS) > 1 else 0.5
    with tempfile.TemporaryDirectory(prefix="vesta-crowd-") as folder:
        crowd = Crowd(folder, os.path.abspath(build), seconds)
        wrong = ""
        try:
            crowd.run()
        except AssertionError as error:
            wrong = str(error)
        finally:
            for server in crowd.servers:
                server.end()
        crowd.tell()
        print(("not ok" if wrong else "ok") + " - processes of every language take ids while servers are killed and restarted\n" + wrong)
        print("%d passed, %d failed" % (not wrong, bool(wrong)))
        sys.exit(bool(wrong))


main()
