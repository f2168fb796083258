"""If the process that keeps a generator file is stopped (Ctrl-Z, docker pause, a debugger), the other processes of the
file continue to issue ids, because one of them replaces it."""
import os
import signal
import subprocess
import threading
import time

from harness import SLOW, VESTA, World, claim, main, same

ISSUER = os.path.join(os.path.dirname(VESTA), "spec", "leases", "lease_issuer")
GAP_MS_MAX = 3000 * SLOW  # the longest gap in the ids while the keeper is stopped
WINDOW_S = 5              # the window of an assigned worker id


class Issuer:
    """A process that issues ids continuously, and reports their number every 50 ms."""

    def __init__(self, world, name, **options):
        self.given = []  # (uptime in ms, ids so far)
        self.out = world.path(name)
        options = dict(path=world.path("a.gen"), store="file:" + world.path("store"), layout="snowflake", rate=1000) | options
        self.process = subprocess.Popen([ISSUER, "run", self.out, *("%s=%s" % pair for pair in options.items())],
                                        stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()
        end = time.monotonic() + 20 * SLOW
        while not self.given or not self.given[-1][1]:
            assert time.monotonic() < end, "%s gets no id" % name
            time.sleep(0.02)

    def read(self):
        for line in self.process.stdout:
            _, ms, given, _ = line.split(" ", 3)
            self.given.append((int(ms), int(given)))

    def gap_ms(self):
        longest, since = 0, self.given[0][0]
        for (_, before), (ms, after) in zip(self.given, self.given[1:]):
            if after > before:
                since = ms
            longest = max(longest, ms - since)
        return longest

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(20 * SLOW)


def beside_a_stopped_keeper(world, **options):
    keeper = Issuer(world, "keeper", **options)
    other = Issuer(world, "other", **options)
    try:
        keeper.process.send_signal(signal.SIGSTOP)
        time.sleep(10)
        gap_ms = other.gap_ms()
        print("    %r: without ids for %d ms" % (options, gap_ms))
        assert gap_ms <= GAP_MS_MAX, "without ids for %d ms beside a stopped keeper" % gap_ms
        keeper.process.send_signal(signal.SIGCONT)
        time.sleep(3)
        assert other.gap_ms() <= GAP_MS_MAX and keeper.given[-1][1] > 0
        before = keeper.given[-1][1], other.given[-1][1]
        time.sleep(1)
        assert keeper.given[-1][1] > before[0] and other.given[-1][1] > before[1], "the file is not kept well after that"
    finally:
        keeper.end()
        other.end()
    ids = [line for name in ("keeper", "other") for line in open(world.path(name))]
    same(len(ids), len(set(ids)))


@claim("a stopped keeper is replaced by another process of its file, and ids continue within three seconds")
def _(world):
    beside_a_stopped_keeper(world, worker=7)


@claim("a `vesta gen` stopped with Ctrl-Z causes no other to fail")
def _(world):
    flags = ("gen", "--path", world.path("a.gen"), "--store", "file:" + world.path("store"), "--layout", "snowflake", "--worker", "7")
    stopped = world.start(*flags, "-n", "100000000", stdout=subprocess.PIPE)
    try:
        stopped.stdout.read(1)  # It has a lease, and keeps it.
        stopped.send_signal(signal.SIGSTOP)
        time.sleep(WINDOW_S + 1)
        done = world.run(*flags, "--wait-ms", str(GAP_MS_MAX))
        same((done.code, len(done.lines())), (0, 1))  # On a busy machine it may also print that it waits.
    finally:
        stopped.kill()
        stopped.wait()


main()
