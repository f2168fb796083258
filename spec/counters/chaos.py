"""chaos.py VESTA DRAWING [NUMBERS [RATE]] -- processes on several hosts draw NUMBERS (600,000) of a PostgreSQL counter,
while processes are killed and stopped, the server crashes and stops, its network is disturbed, and its replica takes
over.  Each number is marked in a file, so a number that is issued twice is counted.

With a synchronous replica, a failover loses no write.  A replica that is behind has lost writes.  The counter is then
lower than numbers that were issued, and only the memory of the hosts prevents that they are issued again.
"""
import atexit
import contextlib
import itertools
import mmap
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

DRAWING = sys.argv.pop(2)

from servers import PostgreSQL, Proxy, until  # noqa: E402
from serving import VESTA, claim, main, same  # noqa: E402
from taking import size, told  # noqa: E402

NUMBERS, RATE = size(0, 600000), size(1, 100000)
STEP, TAKERS, BITS = 1000, 6, 1 << 31
DEADLINE_S = 1.0  # longer than the wait for one reply of the store
CALL_S = 2.0  # longer than a call that opens a connection
HEAD = struct.Struct("=4Q")


class Marks:
    """The file with the marks."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "marks")
        with open(self.path, "wb") as file:
            file.truncate(HEAD.size + BITS // 8)
        with open(self.path, "rb") as file:
            self.map = mmap.mmap(file.fileno(), HEAD.size, access=mmap.ACCESS_READ)

    def counts(self):
        """Returns how many numbers were issued, twice, beyond the file's end, and how often a stopped counter was met."""
        return HEAD.unpack(self.map[:])

    def given(self):
        return self.counts()[0]

    def marked(self):
        """Counts the marks themselves.  The file is sparse."""
        total = 0
        with open(self.path, "rb") as file:
            file.seek(HEAD.size)
            while chunk := file.read(1 << 20):
                total += int.from_bytes(chunk, "little").bit_count()
        return total


class Pair:
    """A primary and its replica, each behind a proxy.  The URI names both."""
    is_behind, away_s = False, 0

    def __init__(self, **settings):
        self.settings = dict(settings, wal_retrieve_retry_interval="100ms", wal_keep_size="64MB")
        self.primary = self.server().start()
        self.primary.sql("CREATE ROLE owner LOGIN PASSWORD 'o'")
        self.primary.sql("CREATE DATABASE leaf OWNER owner")
        self.replica = self.server(primary=self.primary).start(**self.settings)
        self.proxies = [Proxy(self.primary.port), Proxy(self.replica.port)]
        self.uri = "postgresql://owner:o@%s/leaf" % ",".join("127.0.0.1:%d" % proxy.port for proxy in self.proxies)
        self.primary.stop()
        self.primary.start(**self.settings)

    @staticmethod
    def server(**kw):
        server = PostgreSQL(**kw)
        atexit.register(server.end)
        return server

    def proxy(self):
        return next(proxy for proxy in self.proxies if proxy.target == self.primary.port)

    def fail_over(self):
        """The primary is lost, the replica takes over, and a new replica joins it."""
        old, proxy = self.primary, self.proxy()
        old.stop(signal.SIGKILL)
        time.sleep(self.away_s)
        if self.replica.process.poll() is not None:
            self.replica.start()
        self.replica.promote()
        until(lambda: self.replica.sql("SELECT pg_is_in_recovery()") == "f", "the replica is the primary")
        self.primary, self.replica = self.replica, self.server(primary=self.replica)
        proxy.target = self.replica.port
        proxy.cut()
        self.replica.start(**self.settings)
        old.end()

    def end(self):
        self.primary.end()
        self.replica.end()


class Chaos:
    def __init__(self, world, pair, hosts):
        self.world, self.pair, self.dice, self.done = world, pair, random.Random(27), {}
        # A host's processes share its ranges only in memory.
        self.folder = tempfile.mkdtemp(prefix="vesta-chaos-", dir="/dev/shm")
        self.marks, self.takers = Marks(self.folder), []
        self.envs = [dict(os.environ, VESTA_STATE=world.path("state%d" % n), VESTA_MAPS=os.path.join(self.folder, "host%d" % n)) for n in range(hosts)]
        for env in self.envs:
            os.mkdir(env["VESTA_MAPS"], 0o700)
        for words in (("store", "init", "--segments", "--namespace", "any", "--layout", "snowflake"), ("segments", "add", "orders", "--step", str(STEP))):
            done = world.run(*words, "--store", pair.uri)
            same(done.code, 0)

    def start(self, n):
        return subprocess.Popen([DRAWING, self.pair.uri, "orders", str(STEP), str(RATE), self.marks.path], env=self.envs[n % len(self.envs)])

    def resume(self):
        """What the documentation tells an operator to do on each host after the counter was lowered."""
        for env in self.envs:
            subprocess.run([VESTA, "segments", "resume", "orders", "--store", self.pair.uri], env=env, capture_output=True, timeout=60, check=False)

    def end(self):
        shutil.rmtree(self.folder)
        self.pair.end()

    # ------------------------------------------------------------ faults

    def kill(self):
        n = self.dice.randrange(TAKERS)
        self.takers[n].kill()
        self.takers[n].wait()
        self.takers[n] = self.start(n)

    def stop(self):
        taker = self.dice.choice(self.takers)
        taker.send_signal(signal.SIGSTOP)
        time.sleep(DEADLINE_S)
        taker.send_signal(signal.SIGCONT)

    def crash(self):
        self.pair.primary.stop(signal.SIGKILL)
        self.pair.primary.start()

    def freeze(self):
        """Stops the processes of the server's connections in the middle of their work.  The postmaster continues."""
        pids = [int(pid) for pid in self.pair.primary.sql("SELECT pid FROM pg_stat_activity WHERE datname = 'leaf'").split()]
        for number, rest_s in ((signal.SIGSTOP, DEADLINE_S), (signal.SIGCONT, 0)):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            time.sleep(rest_s)

    def cut(self):
        self.pair.proxy().cut()

    def lose(self):
        self.pair.proxy().lose_answers = True
        time.sleep(0.2)
        self.pair.proxy().heal()

    def hold(self):
        self.pair.proxy().hold_requests = True
        time.sleep(DEADLINE_S)
        self.pair.proxy().heal()

    def fail_over(self):
        self.pair.fail_over()

    def roll_back(self):
        """The replica misses some writes, and then takes over."""
        until(lambda: self.pair.replica.has_replayed(self.pair.primary), "the replica has the counter")
        self.pair.replica.stop()
        self.advance(4 * STEP * TAKERS)
        self.pair.fail_over()

    # ------------------------------------------------------------ the run

    def advance(self, count):
        """Waits until so many more numbers were issued."""
        begun = self.marks.given()

        def has_advanced():
            same([taker.poll() for taker in self.takers], [None] * TAKERS)
            if self.marks.given() >= begun + count:
                return True
            if self.pair.is_behind:
                self.resume()
            return False
        until(has_advanced, lambda: "numbers are issued: %r" % (self.marks.counts(),), 120)

    def run(self, faults, numbers):
        self.takers = [self.start(n) for n in range(TAKERS)]
        begun = time.monotonic()
        try:
            for name in itertools.chain.from_iterable(self.dice.sample(faults, len(faults)) for _ in itertools.count()):
                if self.marks.given() >= numbers and min(self.done.get(one, 0) for one in faults) > 0:
                    break
                self.advance(2 * STEP)
                getattr(self, name)()
                self.done[name] = self.done.get(name, 0) + 1
            self.advance(2 * STEP * TAKERS)
        finally:
            for taker in self.takers:
                taker.kill()
                taker.wait()
        given, twice, beyond, stops = self.marks.counts()
        marked = self.marks.marked()
        told("%d hosts, %d processes, %.0f s: %s", len(self.envs), TAKERS, time.monotonic() - begun, ", ".join("%s %d" % item for item in sorted(self.done.items())))
        told("%d numbers issued, %d marked, %d twice, %d beyond the file; stopped counters met %d times", given, marked, twice, beyond, stops)
        return marked, twice, beyond, stops


FAULTS = ["kill", "stop", "crash", "freeze", "cut", "lose", "hold"]


@claim("processes, the server and the network fail, and a synchronous replica takes over: no number is issued twice")
def _(world):
    pair = Pair(synchronous_standby_names="*")
    chaos = Chaos(world, pair, 3)
    try:
        marked, twice, beyond, stops = chaos.run([*FAULTS, "fail_over"], NUMBERS * 3 // 4)
        assert marked >= NUMBERS * 3 // 4, marked
        same((twice, beyond, stops), (0, 0, 0))  # a synchronous replica has all writes, so the counter never went back
    finally:
        chaos.end()


@claim("a replica that is behind takes over: the host that was granted the lost ranges stops the counter, and issues none of them twice")
def _(world):
    pair = Pair()
    # A call that began before the loss must end before the replica takes over.  Its process compares the reply with what
    # the host had been granted when the call began.
    pair.is_behind, pair.away_s = True, CALL_S
    chaos = Chaos(world, pair, 1)
    try:
        marked, twice, beyond, stops = chaos.run(["kill", "stop", "cut", "roll_back"], NUMBERS // 4)
        assert marked >= NUMBERS // 4 and stops > 0, (marked, stops)
        same((twice, beyond), (0, 0))
        # The control: a host without that memory repeats numbers of a counter that went back, and the file shows it.
        pair.primary.sql("UPDATE leaf_alloc SET max_id = 1", "leaf")
        shutil.rmtree(chaos.envs[0]["VESTA_MAPS"])
        os.mkdir(chaos.envs[0]["VESTA_MAPS"], 0o700)
        chaos.takers = [chaos.start(0)]
        try:
            until(lambda: chaos.marks.counts()[1] > 0, "duplicates are found")
        finally:
            chaos.takers[0].kill()
            chaos.takers[0].wait()
    finally:
        chaos.end()


main()
