"""sqlite.py -- tests the sqlite: store: the contract, and faults.  sqlite.py STORE_CONTRACT STORE_CALL STORE_COUNTERS
STORE_RESERVATIONS"""
import os
import sqlite3
import stat
import subprocess
import sys
import tempfile

from servers import Caller, claim, contract, has, main

CONTRACT, CALL, COUNTERS, RESERVATIONS = sys.argv[1:5]
in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
box = tempfile.TemporaryDirectory(prefix="vesta-sqlite-", dir=in_memory)
HASTY_MS = 800
_turn = [0]


def place():
    _turn[0] += 1
    return os.path.join(box.name, str(_turn[0]), "vesta.db")


def fresh(path, **kw):
    """Creates a namespace with worker id 7 at version 1.  Returns the caller that made it."""
    caller = Caller(CALL, "sqlite:" + path, **kw)
    caller.ask("make 5 77", "OK")
    caller.ask("swap 7 0 10", "OK")
    return caller


def change(path, statement, *values):
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


def refused_to_open(uri):
    done = subprocess.run([CALL, uri, "orders"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and done.stdout == "", done.stdout
    return done.stderr


@claim("the contract holds on a disk in memory and in write-ahead mode")
def _():
    contract(CONTRACT, "sqlite:" + place(), 18)
    path = place()
    fresh(path).__exit__()
    change(path, "PRAGMA journal_mode = WAL")
    contract(CONTRACT, "sqlite:" + path, 18)


@claim("the contract of counters holds, in leaf_alloc and in a table of another name")
def _():
    contract(COUNTERS, "sqlite:" + place(), 16)
    contract(COUNTERS, ("sqlite:" + place(), "order$counters"), 16)


@claim("the contract of reservations holds")
def _():
    contract(RESERVATIONS, "sqlite:" + place(), 7)
    contract(RESERVATIONS, ("sqlite:" + place(), "invoices"), 7)


@claim("a counter that went back reserves no number twice")
def _():
    path = place()
    with Caller(CALL, "sqlite:" + path) as caller:
        caller.ask("add orders 1 10", "OK")
        for token in (1, 2):
            assert caller.ask("reserve orders %d 3600000" % token, "OK")["from"] == token
            caller.ask("commit orders %d %d" % (token, token), "OK")
        change(path, "UPDATE leaf_alloc SET max_id = 1")
        has(caller.ask("reserve orders 3 3600000", "REFUSED")["text"], "the counter 'orders' went back: it is at 1, a number that was reserved before")
        change(path, "UPDATE leaf_alloc SET max_id = 3")
        assert caller.ask("reserve orders 3 3600000", "OK")["from"] == 3


HOSTILE_COUNTERS = [
    ("max_id = -1", "take orders 5", "is at -1, below 0"),
    ("max_id = 'many'", "take orders 5", "cannot be used: its max_id is 'many'"),
    ("max_id = 1.5", "take orders 5", "cannot be used: its max_id is '1.5'"),
    ("max_id = 9223372036854775807", "take orders 1", "exceed 2^63 - 1"),
    ("step = 0", "take orders 0", "vesta segments step orders"),
    ("step = -5", "take orders 7", "a step of -5, which is out of range: set it with vesta segments step orders"),
    ("step = 4294967297", "take orders 7", "a step of 4294967297"),
    ("step = 9223372036854775807", "take orders 0", "a step of 9223372036854775807"),
    ("step = x'00'", "take orders 7", "cannot be used: its step is"),
]


@claim("a counter's row with unusable values is refused with the tag's name, and is not changed")
def _():
    for what, order, part in HOSTILE_COUNTERS:
        path = place()
        with Caller(CALL, "sqlite:" + path) as caller:
            caller.ask("add orders 1 10", "OK")
            change(path, "UPDATE leaf_alloc SET " + what)
            with open(path, "rb") as file:
                before = file.read()
            has(caller.ask(order, "REFUSED")["text"], part, "'orders'")
            with open(path, "rb") as file:
                assert file.read() == before
    with Caller(CALL, "sqlite:" + path) as caller:
        change(path, "UPDATE leaf_alloc SET step = 0")
        got = caller.ask("take orders 5", "OK")
        assert (got["from"], got["to"], got["step"]) == (1, 6, 0), got


@claim("rows whose name is not a valid tag are skipped and counted, and one is named")
def _():
    path = place()
    with Caller(CALL, "sqlite:" + path) as caller:
        caller.ask("add orders 1 10", "OK")
        for name in ("it's", "x" * 65, "", b"a\0b"):
            change(path, "INSERT INTO leaf_alloc VALUES (?, 1, 1, NULL)", name)
        got = caller.ask("tags", "OK")
        assert (got["count"], got["passed"]) == (1, 4), got
        for value, part in (("'x'", "max_id is 'x'"), ("1.5", "max_id is '1.5'"), ("9223372036854775808", "max_id is '9.2"), ("x'00'", "not a 64-bit integer")):
            change(path, "INSERT OR REPLACE INTO leaf_alloc VALUES ('spoilt', %s, 1, NULL)" % value)
            got = caller.ask("tags", "OK")
            assert (got["count"], got["passed"], got["unusable"]) == (2, 4, 1), got
            has(got["text"], "spoilt: ", part)
            for order in ("take spoilt 5", "add spoilt 1 5", "step spoilt 5"):
                has(caller.ask(order, "REFUSED")["text"], "'spoilt' cannot be used", part)


@claim("a locked file: a counter's write is not done before the deadline, and succeeds later")
def _():
    path = place()
    with Caller(CALL, "sqlite:" + path, call_ms=HASTY_MS) as caller:
        caller.ask("add orders 1 10", "OK")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN")
        db.execute("SELECT * FROM leaf_alloc").fetchall()  # a reader only blocks the commit
        for order in ("take orders 5", "untake orders 1 2", "add other 1 10", "step orders 5"):
            caller.ask(order, "DOWN", "CONFLICT")
        db.execute("ROLLBACK")
        db.close()
        got = caller.ask("take orders 0", "OK")
        assert (got["from"], got["to"]) == (1, 11), got


@claim("the file is created for its owner only, in a folder that is also created, and marked as vesta's")
def _():
    path = place()
    fresh(path).__exit__()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA application_id").fetchone()[0] == 0x76737461
    db.close()


@claim("a database of another program or of a newer vesta, or a file that is no database, is refused and not changed")
def _():
    path = place()
    fresh(path).__exit__()
    for pragma, part in (("PRAGMA user_version = 2", "newer version of vesta"), ("PRAGMA application_id = 5", "another program's"),
                         ("PRAGMA application_id = 0", "another program's")):
        change(path, pragma)
        with Caller(CALL, "sqlite:" + path) as caller:
            for order in ("ns", "read 7", "swap 7 1 20", "list", "make 5 77"):
                has(caller.ask(order, "REFUSED")["text"], part)
    path = place()
    os.makedirs(os.path.dirname(path))
    for text in (b"hello, I am a letter\n" * 50, b"SQLite format 3\0" + b"\xff" * 5000):
        with open(path, "wb") as file:
            file.write(text)
        with Caller(CALL, "sqlite:" + path) as caller:
            caller.ask("ns", "REFUSED")
            caller.ask("make 5 77", "REFUSED")
        with open(path, "rb") as file:
            assert file.read() == text


@claim("a locked file: a call is not done before the deadline, and succeeds later")
def _():
    path = place()
    with fresh(path, call_ms=HASTY_MS) as caller:
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN EXCLUSIVE")
        for order in ("swap 7 1 20", "read 7", "ns"):
            has(caller.ask(order, "DOWN")["text"], " has locked ", "nd or continue the process")
        db.execute("ROLLBACK")
        assert caller.ask("read 7", "OK")["until"] == 10
        db.execute("BEGIN")
        db.execute("SELECT * FROM vesta_lease").fetchall()  # a reader only blocks the commit
        caller.ask("swap 7 1 20", "DOWN")
        db.execute("ROLLBACK")
        db.close()
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


HOSTILE = [
    ("record = substr(record, 1, 100)", "truncated"),
    ("record = x''", "empty"),
    ("record = CAST(replace(CAST(record AS TEXT), 'until 10', 'until 11') AS BLOB)", "checksum"),
    ("record = 'vesta lease 2' || char(10) || 'more' || char(10)", "newer vesta"),
    ("record = 'hello'", "not a vesta record"),
    ("record = zeroblob(1048576)", "not a vesta record"),
    ("record = 17", "not a vesta record"),
    ("ver = 9", "by hand"),
    ("ver = 'one'", "by hand"),
]


@claim("a damaged, foreign or newer row is refused and never overwritten")
def _():
    for what, part in HOSTILE:
        path = place()
        with fresh(path) as caller:
            change(path, "UPDATE vesta_lease SET " + what)
            with open(path, "rb") as file:
                before = file.read()
            has(caller.ask("read 7", "REFUSED")["text"], part)
            for order in ("list", "swap 7 0 20", "swap 7 1 20", "swap 7 9 20"):
                caller.ask(order, "REFUSED")
            with open(path, "rb") as file:
                assert file.read() == before


@claim("a damaged namespace row is refused")
def _():
    for what in ("record = substr(record, 1, 40)", "ver = 3"):
        path = place()
        with fresh(path) as caller:
            change(path, "UPDATE vesta_namespace SET " + what)
            for order in ("ns", "make 5 77", "swap 7 1 20"):
                caller.ask(order, "REFUSED")


@claim("missing tables and tables of another shape are refused, and not created again")
def _():
    for statement in ("DROP TABLE vesta_lease", "ALTER TABLE vesta_lease RENAME COLUMN ver TO v",
                      "ALTER TABLE vesta_namespace RENAME TO other"):
        path = place()
        with fresh(path) as caller:
            change(path, statement)
            caller.ask("swap 7 1 20", "REFUSED")


@claim("a file that was removed is detected as another store")
def _():
    path = place()
    with fresh(path) as caller:
        os.unlink(path)
        caller.ask("swap 7 1 20", "REFUSED")  # a call opens the file but never creates it
        with Caller(CALL, "sqlite:" + path) as other:
            other.ask("make 5 78", "OK")
        caller.ask("swap 7 1 20", "MOVED")
        caller.ask("swap 7 0 20", "MOVED")


@claim("invalid paths are refused at open")
def _():
    has(refused_to_open("sqlite:relative.db"), "absolute path")
    has(refused_to_open("sqlite:"), "absolute path")
    has(refused_to_open("sqlite:/"), "does not name a file")
    has(refused_to_open("sqlite:" + box.name + "/"), "does not name a file")
    has(refused_to_open("sqlite:" + box.name), "irectory")
    path = place()
    fresh(path).__exit__()
    os.symlink(path, path + ".link")
    has(refused_to_open("sqlite:" + path + ".link"), "symbolic links")
    os.mkfifo(path + ".fifo")
    has(refused_to_open("sqlite:" + path + ".fifo"), "not a regular file")


@claim("on a full disk the old record is kept, and the store recovers by itself")
def _():
    disk = os.path.join(box.name, "disk")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False).returncode:
        print("# not shown: a full disk (no right to mount a small one)")
        return
    try:
        with fresh(disk + "/vesta.db") as caller:
            with open(disk + "/fill", "wb", buffering=0) as file:
                try:
                    while file.write(b"x" * 4096):
                        pass
                except OSError:
                    pass
            caller.ask("swap 7 1 20", "REFUSED", "DOWN")
            os.unlink(disk + "/fill")
            got = caller.ask("read 7", "OK")
            assert (got["ver"], got["until"]) == (1, 10), got
            caller.ask("swap 7 1 20", "OK")
    finally:
        subprocess.run(["umount", disk], check=True)


@claim("a file that can be read but not written is refused")
def _():
    if os.geteuid() != 0:
        print("# not shown: a file that may not be written (needs root)")
        return
    path = place()
    fresh(path).__exit__()
    os.chmod(box.name, 0o755)
    os.chmod(os.path.dirname(path), 0o755)
    os.chmod(path, 0o444)
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CALL, "sqlite:" + path, "orders"],
                          input="ns\nswap 7 1 20\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "Permission denied" in done.stderr, done
    os.chmod(path, 0o666)  # the file is writable, but not its folder, so no journal can be created
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", CALL, "sqlite:" + path, "orders"],
                          input="ns\nswap 7 1 20\n", capture_output=True, text=True, timeout=60)
    assert "OK" not in done.stdout.splitlines()[1].split(), done
    os.chmod(path, 0o600)


main(sys.argv[5] if len(sys.argv) > 5 else "")
