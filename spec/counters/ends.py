"""ends.py VESTA ENDING [ENDS] -- servers, `vesta fill` and programs end on three hosts at the same time and on each
kind of store, with kills between: no number repeats.

A host is a separate folder of maps.  All ranges have one step, so another host's range can end where a rest was put
back.  If that rest were put back twice, the counter would be lowered below the other host's numbers.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import threading

ENDING = sys.argv.pop(2)

from served import mysql_uri, postgresql_uri, zk_uri  # noqa: E402
from serving import VESTA, Configured, claim, main, same  # noqa: E402
from taking import Connection, Tally, size, told  # noqa: E402

ENDS = size(0, 40)
HOSTS, STEP = 3, 2
WAYS = ["release", "close", "twice", "handles", "fork", "kill"]
SERVERS = {"mysql": "mariadbd", "postgresql": "psql", "zk": "java"}
SCHEMES = ["file", "sqlite", *SERVERS]


class Host:
    """One host after another with the same counter.  Each end follows the one before."""

    def __init__(self, world, place, name):
        self.world, self.place, self.dice, self.ends, self.wrong = world, place, random.Random(name), 0, []
        self.env = {"VESTA_STATE": world.path(name), "VESTA_MAPS": world.path(name + ".maps")}
        os.makedirs(self.env["VESTA_MAPS"], 0o700)

    def program(self, tally):
        count, way, dice = self.dice.randrange(1, 4 * STEP), self.dice.choice(WAYS), self.dice.randrange(1 << 20)
        done = subprocess.run([ENDING, self.place.uri, "orders", str(count), way, str(dice)], env=dict(os.environ, **self.env),
                              capture_output=True, text=True, timeout=300)
        assert done.returncode in (0, -signal.SIGKILL), (way, done.returncode, done.stderr)
        tally.add([int(line) for line in done.stdout.split()])

    def serve(self, tally):
        server = Configured(self.world, self.place.config, env=self.env)
        with server:
            connection = Connection(server.resp)
            for _ in range(self.dice.randrange(1, 4)):
                tally.add(connection.numbers("orders", self.dice.randrange(1, 4 * STEP)))
            connection.close()
            if self.dice.randrange(3) == 0:
                server.was_killed = True
                server.process.kill()

    def fill(self, tally):
        port = self.place.redis.port
        name = "%s.%d" % (os.path.basename(self.env["VESTA_STATE"]), self.ends)
        process = subprocess.Popen([VESTA, "fill", "--tag", "orders", "--store", self.place.uri, "--redis", "127.0.0.1:%d" % port,
                                    "--list", name, "--low", "5", "--high", "15"], env=dict(os.environ, **self.env), stderr=subprocess.PIPE)
        numbers, client = [], Connection(port)
        while len(numbers) < 10:
            numbers.append(int(client.ask("BLPOP", name, "60")[1]))
        process.send_signal(self.dice.choice([signal.SIGTERM, signal.SIGKILL]))
        process.communicate(timeout=60)
        while int(client.ask("LLEN", name)):
            numbers.append(int(client.ask("LPOP", name)))
        client.close()
        tally.add(numbers)

    def run(self, tally, until):
        ways = [self.program] * 8 + [self.serve] + ([self.fill] if self.place.redis else [])
        try:
            while self.ends < until:
                self.dice.choice(ways)(tally)
                self.ends += 1
        except Exception as wrong:  # noqa: BLE001, reported by the waiting thread
            self.wrong.append(repr(wrong))


class Redis:
    def __init__(self, world):
        from ports import free_port
        self.port = free_port()
        self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", world.folder],
                                        stdout=subprocess.DEVNULL)


class Place:
    """A counter in a store."""

    def __init__(self, world, scheme):
        self.redis = Redis(world) if shutil.which("redis-server") else None
        self.uri = {"file": lambda: "file:" + world.path("files"), "sqlite": lambda: "sqlite:" + world.path("v.db"),
                    "mysql": mysql_uri, "postgresql": postgresql_uri, "zk": lambda: zk_uri(root="/ends")}[scheme]()
        self.config = ("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = 'orders', step_max = %d, "
                       "wait_ms_max = 60000 } } }" % (self.uri, STEP))
        if scheme in SERVERS:
            done = world.run("store", "init", "--segments", "--store", self.uri, "--namespace", "unused", "--layout", "snowflake")
            same((done.code, done.err), (0, ""))
        done = world.run("segments", "add", "orders", "--step", str(STEP), "--store", self.uri)
        same((done.code, done.err), (0, ""))


def is_here(scheme):
    return scheme not in SERVERS or shutil.which(SERVERS[scheme], path=os.environ["PATH"] + ":/usr/sbin") is not None


for scheme in filter(is_here, SCHEMES):
    @claim("%s: servers, fill and programs end on three hosts, with kills between: no number repeats" % scheme)
    def _(world, scheme=scheme):
        place, tally = Place(world, scheme), Tally()
        hosts = [Host(world, place, "host%d" % i) for i in range(HOSTS)]
        until = -(-ENDS // (len(SCHEMES) * HOSTS))
        threads = [threading.Thread(target=host.run, args=(tally, until)) for host in hosts]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            if place.redis:
                place.redis.process.kill()
                place.redis.process.wait()
        told("%s: %d ends, %d numbers, %d twice", scheme, sum(host.ends for host in hosts), tally.given, tally.twice)
        same(([wrong for host in hosts for wrong in host.wrong], tally.twice), ([], 0))


main()
