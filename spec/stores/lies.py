"""lies.py -- falsifies the replies of a store, or of the disk under it, at every call of the contract: lies.py
STORE_CALL SCHEME [all]

Whatever the reply: an OK is true, a write that is reported as not done was not done, and after true replies the same
object works again.  A forged, complete acknowledgement of the very write cannot be detected.  With `all`: each reply of
each call.  Otherwise: the last reply of each call, and the first calls of a connection.
"""
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time

from liar import LIES, DiskLiar, MysqlLiar, PgLiar, ZkLiar
from servers import Caller, Ended, MariaDB, PostgreSQL, SLOW, ZooKeeper, claim, main

CALL, SCHEME = sys.argv[1:3]
ALL = "all" in sys.argv[3:]
HASTY_MS = 400
ENDS = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS) + ((1,) if SLOW > 1 else ())  # 1: the exit status of a sanitizer
LATE_S = 1.6  # later than the deadline plus MariaDB's client timeout


class Maria:
    def __init__(self):
        self.db = MariaDB().start()
        self.db.sql("CREATE DATABASE vesta")
        self.liar = MysqlLiar(self.db.port, LATE_S)
        with Caller(CALL, self.uri(self.db.port)) as caller:
            caller.ask("init", "OK")
            caller.ask("segments", "OK")

    def uri(self, port=None):
        return "mysql://root@127.0.0.1:%d/vesta" % (port or self.liar.port)

    def record(self, ns, number):
        """Returns the stored version and `until`, or None if there is no record."""
        text = self.db.sql("SELECT record FROM vesta.vesta_lease WHERE ns = '%s' AND worker = %d" % (ns, number)).replace("\\n", "\n")
        return (value(text, "ver"), value(text, "until")) if text else None

    def namespace(self, ns):
        text = self.db.sql("SELECT record FROM vesta.vesta_namespace WHERE ns = '%s'" % ns).replace("\\n", "\n")
        return (value(text, "ver"), int(self.db.sql("SELECT incarnation FROM vesta.vesta_namespace WHERE ns = '%s'" % ns))) if text else None

    def count(self, ns):
        return int(self.db.sql("SELECT COUNT(*) FROM vesta.vesta_lease WHERE ns = '%s'" % ns))

    def counter(self, tag):
        return int(self.db.sql("SELECT max_id FROM vesta.leaf_alloc WHERE biz_tag = '%s'" % tag))


class Pg:
    def __init__(self):
        self.db = PostgreSQL().start()
        self.db.sql("ALTER ROLE postgres PASSWORD 'p'")
        self.db.sql("CREATE DATABASE vesta")
        self.liar = PgLiar(self.db.port, LATE_S)
        with Caller(CALL, self.uri(self.db.port)) as caller:
            caller.ask("init", "OK")
            caller.ask("segments", "OK")
        self.session = self.db.session("vesta")

    def ask(self, text, *values):
        self.session.stdin.write(text % values + ";\n\\echo .\n")
        return "\n".join(iter(lambda: self.session.stdout.readline().rstrip("\n"), "."))

    def uri(self, port=None):
        return "postgresql://postgres:p@127.0.0.1:%d/vesta" % (port or self.liar.port)

    def record(self, ns, number):
        text = self.ask("SELECT convert_from(record, 'UTF8') FROM vesta_lease WHERE ns = '%s' AND worker = %d", ns, number)
        return (value(text, "ver"), value(text, "until")) if text else None

    def namespace(self, ns):
        text = self.ask("SELECT ver, incarnation FROM vesta_namespace WHERE ns = '%s'", ns)
        return tuple(map(int, text.split("|"))) if text else None

    def count(self, ns):
        return int(self.ask("SELECT COUNT(*) FROM vesta_lease WHERE ns = '%s'", ns))

    def counter(self, tag):
        return int(self.ask("SELECT max_id FROM leaf_alloc WHERE biz_tag = '%s'", tag))


class Zoo:
    """Reads the stored records with a store object that bypasses the liar.  zk.py compares that object with ZooKeeper's
    own client."""

    def __init__(self):
        self.zk = ZooKeeper().start().ready()
        self.liar = ZkLiar(self.zk.port, LATE_S)
        with Caller(CALL, self.uri(self.zk.port)) as caller:
            caller.ask("init", "OK")

    def uri(self, port=None):
        return "zk://me:secret@127.0.0.1:%d/vesta" % (port or self.liar.port)

    def ask(self, ns, order):
        with Caller(CALL, self.uri(self.zk.port), ns) as caller:
            return caller.ask(order, "OK")

    def record(self, ns, number):
        got = self.ask(ns, "read %d" % number)
        return (got["ver"], got["until"]) if got["ver"] else None

    def namespace(self, ns):
        got = self.ask(ns, "ns")
        return (got["ns_ver"], got["incarnation"]) if got["ns_ver"] else None

    def count(self, ns):
        return self.ask(ns, "list")["count"]

    def counter(self, tag):
        return self.ask("none", "counter %s" % tag)["from"]


class Sqlite:
    """Falsifies the disk.  Each case has its own database, because a write from a wrong page damages it."""
    turn = 0

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="vesta-lies-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        build = os.path.join(os.path.dirname(os.path.abspath(CALL)), "..", "..")
        self.liar = DiskLiar(os.path.join(build, "lying_disk.so"), os.path.join(self.folder, "words"))

    def uri(self, _=None):
        return "sqlite:" + self.path()

    def path(self):
        return os.path.join(self.folder, str(self.turn), "vesta.db")

    def anew(self):
        shutil.rmtree(os.path.join(self.folder, str(self.turn)), ignore_errors=True)
        self.turn += 1

    def one(self, text, *values):
        db = sqlite3.connect(self.path())
        try:
            row = db.execute(text, values).fetchone()
            return row and row[0]
        except sqlite3.DatabaseError:
            return None  # damaged: not readable
        finally:
            db.close()

    def record(self, ns, number):
        text = self.one("SELECT CAST(record AS TEXT) FROM vesta_lease WHERE ns = ? AND worker = ?", ns, number)
        return text and (value(text, "ver"), value(text, "until"))

    def namespace(self, ns):
        text = self.one("SELECT CAST(record AS TEXT) FROM vesta_namespace WHERE ns = ?", ns)
        return text and (value(text, "ver"), int(value(text, "incarnation", 16)))

    def count(self, ns):
        return self.one("SELECT COUNT(*) FROM vesta_lease WHERE ns = ?", ns)

    def counter(self, tag):
        return self.one("SELECT max_id FROM leaf_alloc WHERE biz_tag = ?", tag)

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def value(text, name, base=10):
    return int(next(line for line in text.split("\n") if line.startswith(name + " ")).split()[1], base)


place = {"mysql": Maria, "postgresql": Pg, "zk": Zoo, "sqlite": Sqlite}[SCHEME]()
LIES = getattr(place.liar, "LIES", LIES)
ENV = getattr(place.liar, "env", {})
_turn = [0]


def fresh():
    """Creates a namespace with worker ids 7 and 8 by true replies, so that one reply can be replaced by another.  On a
    busy machine a connection may break before the first false reply.  Then another namespace is created."""
    for _ in range(9):
        ns = made()
        if ns:
            return ns
    raise AssertionError("the store does not answer, although it is told no lie")


def made():
    """Returns the name of a new namespace, or None if the store did not reply."""
    _turn[0] += 1
    ns = "n%d" % _turn[0]
    place.liar.tell_truth()
    if ENV:
        place.anew()
    with Caller(CALL, place.uri(), ns, 20000) as caller:
        for order in ("make 5 77", "swap 7 0 10", "read 7", "swap 8 0 10", "read 8", "swap 8 1 11", "list",
                      "add %s 1 10" % ns, "take %s 7" % ns, "ns"):  # the counter's tag is the namespace's name
            if caller.ask(order, "OK", "DOWN", "UNKNOWN")["outcome"] != "OK":
                return None
    return ns


def truth_of(order, ns):
    words = order.split()
    if words[0] in ("read", "swap"):
        return place.record(ns, int(words[1]))
    if words[0] == "list":
        return place.count(ns)
    if words[0] == "take":
        return place.counter(ns)
    return place.namespace(ns)


def said_of(order, got):
    """Returns the same values from a reply."""
    word = order.split()[0]
    if word in ("read", "swap"):
        return (got["ver"], got["until"]) if got["ver"] else None
    if word == "list":
        return got["count"]
    if word == "take":
        assert got["to"] == got["from"] + 5, got
        return got["to"]
    return (got["ns_ver"], got["incarnation"]) if got["ns_ver"] else None


def is_done(order, truth):
    """Whether the ordered write is stored."""
    words = order.split()
    if words[0] == "swap":
        return truth == (int(words[2]) + 1, int(words[3]))
    if words[0] == "take":
        return truth != 8
    return truth is not None and truth[1] == int(words[-1])


ORDERS = ("ns", "read 7", "swap 7 1 20", "swap 9 0 20", "list", "advance 4711", "take * 5")
WRITES = ("swap", "advance", "take")


def is_ours(said):
    """Whether the process ended in vesta's own code, by its sanitizer's report, and not in the client library."""
    frames = [line for line in said.splitlines() if re.match(r" +#\d+ 0x", line) and "libsanitizer" not in line]
    return bool(re.search(r"csrc/\S*: runtime error", said)) or (bool(frames) and "csrc/" in frames[0])


def meet(order, lie, at, connected, ns):
    """Falsifies one reply of one call.  Returns whether the call came that far, and whether its client library ended
    the process."""
    case = "%s, answer %d, %s%s" % (order, at, lie, "" if connected else ", not connected")
    said = tempfile.TemporaryFile("w+")
    caller = Caller(CALL, place.uri(), ns, HASTY_MS, stderr=said, **ENV)
    got = {"outcome": "UNKNOWN"}
    try:
        if connected:
            caller.settle("ns")
        place.liar.lie(lie, at)
        got = caller.ask(order.replace("*", ns))
        lied = place.liar.lied
        truth = truth_of(order, ns)
        if got["outcome"] == "OK":
            assert said_of(order, got) == truth, "%s: OK %r, and the store has %r" % (case, said_of(order, got), truth)
        if order.split()[0] in WRITES and got["outcome"] == "OK":
            assert is_done(order, truth), "%s: OK, and the store has %r" % (case, truth)
            assert abs(got["store_ms"] / 1000 - time.time()) < 3600, "%s: OK at %d" % (case, got["store_ms"])
        goes_on(caller, case, ns)
        caller.__exit__()
    except (Ended, BrokenPipeError):
        if not place.liar.is_fatal(lie, place.liar.lied_of):
            raise
        lied = True
        assert caller.process.wait(20) in ENDS, case
        said.seek(0)
        last_words = said.read()
        assert not is_ours(last_words), "%s:\n%s" % (case, last_words)
        with Caller(CALL, place.uri(), ns, HASTY_MS, **ENV) as other:
            goes_on(other, case, ns)
    if got["outcome"] not in ("OK", "UNKNOWN") and order.split()[0] in WRITES:
        assert not is_done(order, truth_of(order, ns)), "%s: %s, and it was done" % (case, got["outcome"])
    return lied


def replies_to(order, connected):
    """Returns the number of true replies to a call.  A lie in a later reply would not be told."""
    ns = fresh()
    with Caller(CALL, place.uri(), ns) as caller:
        if connected:
            caller.settle("ns")
        before = place.liar.answers
        caller.ask(order.replace("*", ns), "OK")
        return place.liar.answers - before


def goes_on(caller, case, ns):
    """Continues with true replies."""
    place.liar.tell_truth()
    after = caller.ask("ns") if ENV else caller.settle("ns")
    assert after["outcome"] != "OK" or said_of("ns", after) == place.namespace(ns), case
    if ENV:
        assert caller.ask("read 7")["outcome"] in ("OK", "REFUSED"), case  # a false reply of the disk may have damaged the record for good
    else:
        caller.settle("read 7")


def is_meant(order, lie, at, connected):
    """Selects the cases of a sample: each kind of lie and each reply, but not each pair.  A sanitizer checks what a
    reply does to memory, not the result of a call, so it gets the pairs in another order."""
    place = at + LIES.index(lie)
    every = (4, 6)
    if SCHEME == "postgresql":  # it has one answer per call, so most pairs are the same
        every = (8, 8)
    if SLOW > 1:
        place += ORDERS.index(order)
        every = (8, 12)
    if (lie == "late" and at > 3) or (order.startswith("take") and not connected):  # its connection is opened like the others
        return ALL
    return ALL or (lie in ("empty", "another", "timeless") or place % every[0] == 0 if connected
                   else lie != "late" and place % every[1] == 0)


for order in ORDERS:
    @claim("%s: whatever one reply contains, an OK is true, and the same object recovers" % order)
    def _(order=order):
        cases = told = 0
        for connected in (True, False):
            replies = 40 if ENV else min(12, replies_to(order, connected))
            for lie in LIES:
                for at in range(1, replies + 1):
                    if not is_meant(order, lie, at, connected):
                        continue
                    lied = meet(order, lie, at, connected, fresh())
                    told += lied
                    cases += 1
                    if not lied:
                        break
        print("# %d lies told in %d cases" % (told, cases))
        assert told >= 5, told


try:
    main()
finally:
    if ENV:
        place.end()
