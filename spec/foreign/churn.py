"""churn.py -- holders run a foreign generator under `vesta lease run` while generators, fronts and keepers are killed and
stopped, connections to the store are cut and delayed, and clocks differ by a minute and are set.  No two generators may
have one worker id at one time, and no two may issue equal ids.

    churn.py VESTA FLAKE JUDGE SHIFT file|mysql|postgresql|zk

Environment: VESTA_CHURN="HOLDERS CHURNS SECONDS".
"""
import os
import subprocess
import sys

from crew import Crew, Slot, Weather
from servers import SLOW, MariaDB, PostgreSQL, Server, ZooKeeper, claim, main

VESTA, FLAKE, JUDGE, SHIFT = map(os.path.abspath, sys.argv[1:5])
STORE = sys.argv[5]
HOLDERS, CHURNS, SECONDS = map(int, os.environ.get("VESTA_CHURN", "12 120 %d" % (6 * SLOW)).split())
IS_LONG = HOLDERS > 16
TTL_S = 2 if IS_LONG or SLOW > 1 else 1
BITS = HOLDERS.bit_length()  # at most twice as many worker ids as holders, so that all are used again and again
BEHIND_S = 60 if IS_LONG else 3
WEATHERS = 8


def started():
    """Starts a store.  Returns its port, None for a store without connections, and the function that makes its URI for
    a port."""
    if STORE == "file":
        server = Server("file")
        return None, lambda port: "file:" + server.folder
    if STORE == "mysql":
        server = MariaDB().start("--max-connections=1000")
        server.sql("CREATE DATABASE vesta")
        return server.port, lambda port: "mysql://root@127.0.0.1:%d/vesta" % port
    if STORE == "postgresql":
        server = PostgreSQL().start()
        server.sql("CREATE ROLE vesta LOGIN PASSWORD 'secret'")
        server.sql("CREATE DATABASE vesta OWNER vesta")
        return server.port, lambda port: "postgresql://vesta:secret@127.0.0.1:%d/vesta" % port
    server = ZooKeeper("maxClientCnxns=0\n").start().ready()
    return server.port, lambda port: "zk://me:secret@127.0.0.1:%d/vesta" % port


class Clock:
    """The clock of a slot, in seconds from the true time, in a file that clock_shift.c reads."""

    def __init__(self, path, shift, steps=(), dice=None):
        self.path, self.shift, self.steps, self.dice = path, shift, steps, dice
        self.count = 0
        self.set(shift)

    def set(self, shift):
        with open(self.path + ".new", "w") as file:
            file.write("%+d" % shift)
        os.rename(self.path + ".new", self.path)

    def __call__(self, slot):
        """A generator is alive: sometimes sets its clock back.  Ids of a clock that is set forward may pass the end of the
        lease before the keeper can prevent it, so clocks go forward between two generators."""
        if self.steps and self.dice.random() < 0.3:
            self.shift += self.dice.choice(self.steps)
            self.set(self.shift)
            self.count += 1

    def is_far(self):
        return bool(self.steps) and self.shift < -1.5 * BEHIND_S

    def correct(self):
        self.shift = 0
        self.set(self.shift)


@claim("%d holders over %s: no two generators with one worker id at one time, and no equal ids" % (HOLDERS, STORE))
def _():
    port, uri = started()
    subprocess.run([VESTA, "store", "init", "--store", uri(port), "--namespace", "churn", "--layout",
                    "snowflake worker:%d seq:%d" % (BITS, 22 - BITS)], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    weathers = [Weather(port) for _ in range(WEATHERS if port else 0)]

    def command(slot):
        own_port = port and weathers[slot.number % WEATHERS].port
        # A quarter of the holders keep a name, so that they get their last worker id again.
        name = ["--identity", "host-%d" % slot.number] if slot.number % 4 == 3 else []
        return [VESTA, "lease", "run", "--store", uri(own_port), "--namespace", "churn", "--ttl", str(TTL_S), "--skew-ms", "100", "--wait", "30",
                "--env", "SNOWFLAKE_NODE", *name, "--"]

    slots = [Slot(n, {}, [word for word, odd in (("wall", n % 2), ("stubborn", n % 5 == 4)) if odd]) for n in range(HOLDERS)]
    crew = Crew(FLAKE, JUDGE, command, slots, TTL_S, weathers)
    try:
        # Half of the clocks are true, a quarter is behind, and the last quarter is set.  The clock of file: is the host's.
        for slot in slots[1::2] if port else ():
            path = os.path.join(crew.folder, "clock-%d" % slot.number)
            is_set = slot.number % 8 >= 4
            slot.clock = Clock(path, -BEHIND_S / 2 if is_set else -BEHIND_S, (-BEHIND_S / 3, -1) if is_set else (), crew.dice)
            slot.env = dict(LD_PRELOAD=SHIFT, CLOCK_SHIFT=path, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        if IS_LONG:
            crew.run(CHURNS, SECONDS)
        else:
            crew.run(CHURNS, SECONDS, CHURNS / 4, 1.5)
        crew.end()
        got, faults = crew.judged()
        show(crew, slots, got)
        for line in faults:
            print("    " + line)
        assert got["pairs"] == 0 and got["equal"] == 0, got
        assert got["ids"] > 0, crew.said
    finally:
        crew.close()


def show(crew, slots, got):
    rows = sorted(crew.injected.items())
    rows.append(("clock set back while the generator ran", sum(slot.clock.count for slot in slots if slot.clock)))
    for name, count in rows:
        print("    | %s | %d |" % (name, count))
    print("    %d holders, %d worker ids, %.0f s: %d churns, %d lives, %d ids; pairs %d, equal ids %d"
          % (len(slots), got["workers"], crew.seconds, crew.churns, got["lives"], got["ids"], got["pairs"], got["equal"]))
    print("    exit codes: %r" % dict(crew.codes))
    for text, count in crew.said.most_common(12):
        print("    %5d %s" % (count, text))


main(sys.argv[6] if len(sys.argv) > 6 else "")
