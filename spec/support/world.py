"""world.py -- shared by the schedules of leases: places (a store of each kind that can be stopped, emptied and
restored), processes that issue ids, and the count of all ids at the end.  Knows no schedule."""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from servers import SLOW, MariaDB, PostgreSQL, Proxy, Server, ZooKeeper, until

ISSUER, VESTA = (os.path.abspath(p) for p in sys.argv[1:3])
LINE = 21  # length of an id's line in an issuer's file
LAYOUT = "snowflake"


def now_ms():
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


def told(text, *values):
    """Prints a figure for readers of the log.  No test depends on it."""
    print("    " + text % values, flush=True)


# ---------------------------------------------------------------- places

def version(text):
    """Returns the version of a record, or None if it has none."""
    found = re.search(rb"\nver (\d+)\n", text)
    return found and int(found[1])


class Sqlite(Server):
    kind = "sqlite"
    proxy = None

    def __init__(self):
        super().__init__("sqlite")
        self.file = self.path("vesta.db")
        self.lock = None

    def uri(self, **_):
        return "sqlite:" + self.file

    def begin(self):
        return self

    def down(self):
        """Keeps the file locked, like another process."""
        self.lock = sqlite3.connect(self.file, isolation_level=None)
        self.lock.execute("PRAGMA busy_timeout = 20000")
        self.lock.execute("BEGIN EXCLUSIVE")

    def up(self):
        self.lock.close()

    def save(self):
        """Makes a copy, like a backup.  restore() brings back the last copy."""
        with sqlite3.connect(self.path("saved")) as to, sqlite3.connect(self.file) as source:
            source.backup(to)

    def restore(self):
        shutil.copyfile(self.path("saved"), self.file)

    def wipe(self):
        os.unlink(self.file)

    def get(self, ns, number):
        """Returns the record of a worker id, as it is stored."""
        with sqlite3.connect(self.file) as db:
            return db.execute("SELECT record FROM vesta_lease WHERE ns = ? AND worker = ?", (ns, number)).fetchone()[0]

    def put(self, ns, number, text):
        """Writes a record, like a person who makes a mistake."""
        with sqlite3.connect(self.file) as db:
            db.execute("UPDATE vesta_lease SET record = ?, ver = coalesce(?, ver) WHERE ns = ? AND worker = ?",
                       (text, version(text), ns, number))


class Maria(MariaDB):
    kind = "mysql"
    TABLES = ("vesta_namespace", "vesta_lease")

    def uri(self, user="root", port=None):
        return "mysql://%s@127.0.0.1:%d/vesta" % (user, port or self.proxy.port)

    def begin(self):
        self.start()
        self.sql("CREATE DATABASE vesta; CREATE DATABASE saved")
        self.proxy = Proxy(self.port)
        return self

    def down(self):
        self.stop(signal.SIGKILL)

    def up(self):
        self.start()

    def save(self):
        for table in self.TABLES:
            self.sql("CREATE OR REPLACE TABLE saved.%s AS SELECT * FROM vesta.%s" % (table, table))

    def restore(self):
        self.sql("BEGIN; %s COMMIT" % "".join("DELETE FROM vesta.%s; INSERT INTO vesta.%s SELECT * FROM saved.%s;" % (t, t, t)
                                              for t in self.TABLES))

    def get(self, ns, number):
        return bytes.fromhex(self.sql("SELECT HEX(record) FROM vesta.vesta_lease WHERE ns = '%s' AND worker = %d" % (ns, number)))

    def put(self, ns, number, text):
        self.sql("UPDATE vesta.vesta_lease SET record = X'%s', ver = %s WHERE ns = '%s' AND worker = %d"
                 % (text.hex(), version(text) or "ver", ns, number))

    def turn(self, hours):
        """Sets the clock of new connections except root's, which ignore init_connect."""
        self.sql("SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + %d'" % (3600 * hours) if hours else "SET GLOBAL init_connect = ''")
        self.proxy.cut()

    def turned_uri(self):
        self.sql("CREATE USER IF NOT EXISTS plain@'127.0.0.1'; GRANT SELECT, INSERT, UPDATE ON vesta.* TO plain@'127.0.0.1'")
        return self.uri("plain")

    def wipe(self):
        self.sql("DROP TABLE %s" % ", ".join("vesta." + t for t in self.TABLES))


class Clocked:
    """A server whose clock can be set.  Only the first time, this restarts the server."""

    def set_clock(self, hours):
        """Returns its environment (see spec/program/cli/clock_shift.c)."""
        with open(self.path("clock.new"), "w") as file:
            file.write("%+d" % (3600 * hours))
        os.chmod(self.path("clock.new"), 0o644)
        os.rename(self.path("clock.new"), self.path("clock"))
        return dict(LD_PRELOAD=os.path.join(os.path.dirname(VESTA), "clock_shift.so"), CLOCK_SHIFT=self.path("clock"))

    def turned_uri(self):
        self.turn(0)
        return self.uri()


class Pg(Clocked, PostgreSQL):
    kind = "postgresql"
    TABLES = Maria.TABLES

    def uri(self, port=None):
        return "postgresql://postgres@127.0.0.1:%d/vesta" % (port or self.proxy.port)

    def begin(self):
        self.hba("local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n")
        self.start()
        self.sql("CREATE DATABASE vesta", "postgres")
        self.sql("CREATE SCHEMA saved")
        self.proxy = Proxy(self.port)
        return self

    def sql(self, text, database="vesta"):
        return super().sql(text, database)

    def down(self):
        self.stop(signal.SIGKILL)

    def up(self):
        self.start()

    def save(self):
        for table in self.TABLES:
            self.sql("DROP TABLE IF EXISTS saved.%s; CREATE TABLE saved.%s AS TABLE %s" % (table, table, table))

    def restore(self):
        self.sql("".join("DELETE FROM %s; INSERT INTO %s TABLE saved.%s;" % (t, t, t) for t in self.TABLES))

    def get(self, ns, number):
        return bytes.fromhex(self.sql("SELECT encode(record, 'hex') FROM vesta_lease WHERE ns = '%s' AND worker = %d" % (ns, number)))

    def put(self, ns, number, text):
        self.sql("UPDATE vesta_lease SET record = decode('%s', 'hex'), ver = %s WHERE ns = '%s' AND worker = %d"
                 % (text.hex(), version(text) or "ver", ns, number))

    def turn(self, hours):
        env = self.set_clock(hours)
        if not self.env:
            self.stop()
            self.env = env
            self.start()

    def wipe(self):
        self.sql("DROP TABLE %s" % ", ".join(self.TABLES))


class Zoo(Clocked, ZooKeeper):
    kind = "zk"
    clock = {}

    def uri(self, user="me:secret", port=None):
        return "zk://%s@127.0.0.1:%d/vesta" % (user, port or self.proxy.port)

    def begin(self):
        self.up()
        self.proxy = Proxy(self.port)
        return self

    def down(self):
        self.stop(signal.SIGKILL)

    def up(self):
        self.start(**self.clock).ready()

    def turn(self, hours):
        """Sets its clock.  Its uptime, and so its sessions, continue."""
        env = self.set_clock(hours)
        if not self.clock:
            self.clock = env
            self.down()
            self.up()

    def copy(self, source, to):
        self.down()
        shutil.rmtree(self.path(to), ignore_errors=True)
        shutil.copytree(self.path(source), self.path(to))
        self.up()

    def save(self):
        self.copy("data", "saved")

    def restore(self):
        self.copy("saved", "data")

    def raw(self, what, ns, number, text=b""):
        words = ["127.0.0.1:%d" % self.port, "me:secret", what, "/vesta/%s/w/%d/%d" % (ns, number // 128, number)]
        return subprocess.run([os.environ["VESTA_ZK_RAW"], *words], input=text, capture_output=True, check=True, timeout=60).stdout

    def get(self, ns, number):
        return self.raw("get", ns, number)

    def put(self, ns, number, text):
        self.raw("put", ns, number, text)

    def wipe(self):
        os.makedirs(self.path("empty"), exist_ok=True)
        self.copy("empty", "data")


PLACES = {place.kind: place for place in (Sqlite, Maria, Pg, Zoo)}


# ---------------------------------------------------------------- issuers

class Told:
    """A line that an issuer printed."""

    def __init__(self, line):
        self.word, at, given, refused, self.state, worker, self.text = line.rstrip("\n").split(" ", 6)
        self.ms, self.given, self.refused, self.worker = int(at), int(given), int(refused), int(worker)


class Issuer:
    """A process with a folder of its own that issues ids until it is told to stop."""

    def __init__(self, out, **options):
        self.out = out
        self.lines = []
        self.begun_ms = now_ms()
        words = ["%s=%s" % pair for pair in options.items()]
        self.process = subprocess.Popen([ISSUER, "run", out, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=open(out + ".err", "wb"), text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.lines.append(Told(line))

    def last(self):
        return self.lines[-1] if self.lines else None

    def when(self, true, what, seconds=30, since_ms=0):
        """Waits for the first line after an instant for which something is true."""
        def found():
            with open(self.out + ".err") as err:
                said = err.read()
            assert self.process.poll() in (None, 0, -signal.SIGKILL), "the issuer ended: " + said
            return next((line for line in list(self.lines) if line.ms >= since_ms and true(line)), None)
        try:
            return until(found, what, seconds)
        except AssertionError as error:
            raise AssertionError("%s; last: %r" % (error, self.last() and vars(self.last()))) from None

    def issues(self, seconds=30, since_ms=0):
        """Waits until ids are issued after an instant.  Returns the line that reports it."""
        given = [line.given for line in list(self.lines) if line.ms < since_ms]
        return self.when(lambda line: line.given > (given[-1] if given else 0), "ids are given", seconds, since_ms)

    def worker(self):
        return self.issues().worker

    def refused_between(self, from_ms, to_ms):
        lines = [line.refused for line in list(self.lines) if from_ms <= line.ms <= to_ms]
        return lines[-1] - lines[0] if lines else 0

    def given_between(self, from_ms, to_ms):
        lines = [line.given for line in list(self.lines) if from_ms <= line.ms <= to_ms]
        return lines[-1] - lines[0] if lines else 0

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, number=signal.SIGTERM):
        """Ends it as a user would, so that it releases the worker id."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30 * SLOW)
            self.reader.join()
            assert self.process.returncode == 0, open(self.out + ".err").read()
            assert self.last().word == "end", vars(self.last())

    def ids(self):
        """Returns how many whole lines its file has."""
        return os.path.getsize(self.out) // LINE


class Schedule:
    """A namespace in a place, its issuers, and all their ids."""
    made = 0

    def __init__(self, place, lease="strict", layout=LAYOUT):
        Schedule.made += 1
        self.place, self.lease, self.layout = place, lease, layout
        self.ns = "s%d" % Schedule.made
        self.folder = tempfile.mkdtemp(prefix="vesta-leases-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.issuers = []
        self.out_files = []  # ids of other programs, one per line

    def __enter__(self):
        self.make()
        return self

    def person(self, *words):
        """Runs a command on the store as an operator would, bypassing the proxy.  Returns its output."""
        done = subprocess.run([VESTA, *words, "--store", self.place.uri(port=self.place.port), "--namespace", self.ns],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def make(self):
        self.person("store", "init", "--layout", self.layout)

    def make_again(self):
        """Creates the namespace again in a store that was emptied, while other processes may still issue ids."""
        return self.person("store", "init", "--again", "--layout", self.layout, "--lease", self.lease)

    def advance(self):
        """Repairs a store that lost acknowledged data."""
        self.person("store", "advance", "--lease", self.lease, "--yes")

    def workers(self):
        """Returns the holders by worker id."""
        return {row["worker"]: row for row in json.loads(self.person("workers", "--json"))["workers"]}

    def fill(self, count):
        """Leases all worker ids below `count` to another holder."""
        subprocess.run([ISSUER, "fill", self.place.uri(port=self.place.port), self.ns, self.layout, str(count)],
                       check=True, stdin=subprocess.DEVNULL, timeout=120 * SLOW)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, home, **more):
        """Starts an issuer whose generator file is in the folder `home`."""
        options = dict(path=self.path(home, "w.gen"), store=self.place.uri(), ns=self.ns, lease=self.lease,
                       layout=self.layout, rate=5000)
        options.update(more)
        issuer = Issuer(self.path("ids-%d" % len(self.issuers)), **options)
        self.issuers.append(issuer)
        return issuer

    def count(self):
        """Ends all issuers and counts all ids: none may occur twice, and none may be missing."""
        for issuer in self.issuers:
            issuer.go_on()
            issuer.stop(signal.SIGINT)
            os.truncate(issuer.out, issuer.ids() * LINE)  # a partial line after a kill was not issued
        written = sum(issuer.ids() for issuer in self.issuers)
        given = sum(issuer.last().given for issuer in self.issuers if issuer.last() and issuer.last().word == "end")
        done = subprocess.run([VESTA, "audit", "--json", *self.out_files, *(issuer.out for issuer in self.issuers)], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300 * SLOW)
        found = json.loads(done.stdout)
        assert found["duplicates"] == 0 and found["unreadable"] == 0, done.stdout
        for path in self.out_files:
            with open(path) as file:
                written += sum(1 for _ in file)
        assert found["total"] == written >= given and written > 0, (found, written, given)
        told("%s: %d ids of %d processes, duplicates %d", self.place.kind, found["total"], len(self.issuers) + len(self.out_files), found["duplicates"])
        return found

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.count()
        finally:
            for issuer in self.issuers:
                issuer.kill()
            shutil.rmtree(self.folder, ignore_errors=True)
