"""sqlite.py -- tests the extension for SQLite, in the shell, in Python and in many processes.  sqlite.py BUILD
"""
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from claims import claim, run
from servers import has

PYTHON = "/usr/bin/python3"  # Debian's. Other builds of Python may not load extensions of SQLite
if not hasattr(sqlite3.Connection, "enable_load_extension") and sys.executable != PYTHON:
    os.execv(PYTHON, [PYTHON, *sys.argv])
BUILD = os.path.abspath(sys.argv[1])
MODULE = os.path.join(BUILD, "extensions", "sqlite", "mod_vesta.so")
FOLDER = tempfile.TemporaryDirectory(prefix="vesta-sqlite-")
STATE = os.environ["VESTA_STATE"] = os.path.join(FOLDER.name, "state")
PROCESSES = 8


def vesta(*args, code=0):
    done = subprocess.run([os.path.join(BUILD, "vesta"), *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stdout.strip()


def shell(text, path=":memory:", fails=False, load=True, **env):
    """Runs statements in the sqlite3 shell, as a user would type them."""
    done = subprocess.run(["sqlite3", "-bail", path], input=(".load %s\n" % MODULE if load else "") + text, capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, **env))
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout.strip()


def connect(path=":memory:", **kw):
    db = sqlite3.connect(path, timeout=60, isolation_level=None, **kw)
    db.enable_load_extension(True)
    db.load_extension(MODULE)
    return db


def tick(id_):
    """Returns the tick of an id of the generator `counted`, whose ticks are consecutive."""
    text = vesta("explain", "--namespace", "counted", "--json", str(id_))
    found = {name: int(value) for name, value in re.findall(r'"(\w+)":"?(\d+)"?[,}]', text)}
    return (found["time"] << 20) + found["seq"]


vesta("gen", "--namespace", "orders")
vesta("gen")
vesta("gen", "--namespace", "counted", "--pacing", "history")
vesta("gen", "--namespace", "large", "--layout", "time:41 worker:10 seq:13 unit=1ms epoch=1970-01-01T00:00:00Z")
# A worker id that another generator holds, so that each call pauses.
vesta("gen", "--namespace", "held", "--worker", "5", "--path", os.path.join(FOLDER.name, "other.gen"))
subprocess.run([os.path.join(BUILD, "vesta"), "gen", "--namespace", "held", "--worker", "5", "--wait-ms", "1"], capture_output=True, timeout=60)


@claim("in the shell, a DEFAULT issues ids, and a range uses the primary key")
def _():
    got = shell("""
        CREATE TABLE orders (id INTEGER PRIMARY KEY DEFAULT (vesta_next('orders')), x) WITHOUT ROWID;
        CREATE TABLE bills (id BIGINT NOT NULL PRIMARY KEY DEFAULT (vesta_next('orders')), x);
        INSERT INTO orders (x) VALUES (1), (2); INSERT INTO bills (x) VALUES (3), (4);
        SELECT COUNT(DISTINCT id) FROM (SELECT id FROM orders UNION ALL SELECT id FROM bills) WHERE id > 1000000;
        SELECT DISTINCT abs(unixepoch(vesta_time(id, 'orders')) - unixepoch()) <= 5, vesta_worker(id, 'orders') FROM orders;
        SELECT COUNT(*) FROM orders WHERE id BETWEEN vesta_range_from(datetime('now', '-1 day'), 'orders') AND vesta_range_until(unixepoch() + 5, 'orders');
        EXPLAIN QUERY PLAN SELECT * FROM orders WHERE id BETWEEN vesta_range_from('2026-01-01', 'orders') AND vesta_range_until('2026-02-01', 'orders');
        SELECT vesta_range_from('2026-01-01', 'orders'), vesta_range_until('2026-02-01', 'orders');""").splitlines()
    worker = re.search(r'"machine":"?(\d+)', vesta("explain", "--namespace", "orders", "--json", vesta("gen", "--namespace", "orders")))[1]
    assert got[:3] == ["4", "1|" + worker, "2"], got
    has(got[-2], "SEARCH orders USING PRIMARY KEY (id>? AND id<?)")
    assert got[-1].split("|") == vesta("range", "--namespace", "orders", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z").split()[:2], got


@claim("the session in docs/database-functions.md runs as printed there")
def _():
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "database-functions.md")) as file:
        text = "".join(re.findall(r"(?ms)^```sqlite\n(.*?)^```", file.read()))
    typed = re.findall(r"(?m)^(?:sqlite>|   \.\.\.>) (.*)$", text)
    assert len(typed) == 11 and typed[0] == ".load mod_vesta", typed
    want = "".join(re.findall(r"(?m)^(?!sqlite>|   \.\.\.>).*\n", text))

    def plain(output):
        return re.sub(r"\|\d+$", "|WORKER", re.sub(r"\d{4}-[\d: .-]{21}", "TIME", re.sub(r"\b\d{19}\b", "ID", output.strip())), flags=re.M)
    assert plain(shell("\n".join(typed[1:]) + "\n")) == plain(want), want


@claim("UUIDs of each shape are issued in a DEFAULT, a generated column shows their times, and wrong texts are errors")
def _():
    got = shell("""
        CREATE TABLE events (id TEXT PRIMARY KEY DEFAULT (vesta_next_uuid('orders')), x, at TEXT AS (vesta_uuid_time(id)));
        INSERT INTO events (x) VALUES (1), (2); SELECT COUNT(DISTINCT id), MIN(id) GLOB '????????-????-7???-[89ab]???-*', MAX(abs(unixepoch(at) - unixepoch())) <= 5 FROM events;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT vesta_next_uuid('orders', 'ulid') FROM n;""").splitlines()
    assert got[0] == "2|1|1" and len(got) == 1001 and got[1:] == sorted(set(got[1:])), got[:3]
    assert shell("SELECT length(vesta_next_uuid()), length(vesta_next_uuid('orders', 'hex32')), substr(vesta_next_uuid('orders', 'uuid8'), 15, 1)") == "36|32|8"
    assert shell("SELECT vesta_typeid('prefix', '01890a5d-ac96-774b-bcce-b302099a8057'), vesta_uuid_time('01H455VB4PEX5VSKNK084SN02Q')") \
        == "prefix_01h455vb4pex5vsknk084sn02q|2023-06-30 03:34:18.518000"
    assert shell("SELECT vesta_uuid_time(NULL) IS NULL, vesta_typeid(NULL, 'x') IS NULL") == "1|1"
    for statement, *parts in [("SELECT vesta_next_uuid('orders', 'uuid4')", "'uuid4'", "uuid7, uuid8, ulid or hex32"),
                              ("SELECT vesta_next_uuid('orders', NULL)", "shape is NULL"), ("SELECT vesta_next_uuid('nope')", "nope.gen"),
                              ("SELECT vesta_uuid_time('919108f7-52d1-4320-9bac-f847db4148a8')", "its version is 4"),
                              ("SELECT vesta_uuid_time('hello')", "'hello'", "a ULID has 26"), ("SELECT vesta_typeid('%s', vesta_next_uuid())" % ("a" * 64), "63"),
                              ("SELECT vesta_typeid('order1', vesta_next_uuid())", "'order1'", "a to z")]:
        has(shell(statement + ";", fails=True), *parts)


@claim("NULL stays NULL, and a wrong argument is an error with its value")
def _():
    assert shell("SELECT vesta_time(NULL) IS NULL, vesta_worker(NULL) IS NULL, vesta_range_from(NULL) IS NULL") == "1|1|1"
    for statement, *parts in [
            ("SELECT vesta_next('../orders')", "'../orders' is not the name of a generator"),
            ("SELECT vesta_next('nope')", "there is no generator file %s/nope.gen" % STATE, "vesta gen --namespace nope"),
            ("SELECT vesta_next(NULL)", "name is NULL"), ("SELECT vesta_next(1, 2)", "wrong number of arguments"),
            ("SELECT vesta_time('a')", "not an integer"), ("SELECT vesta_range_from('yesterday')", "'yesterday' is not a time"),
            ("SELECT vesta_range_until(unixepoch() * 1000)", "not a time: write Unix seconds"),
            ("SELECT vesta_range_from('2026-01-01T00:00:00+24:00')", "is not a time"),
            ("SELECT vesta_range_from('2026-01-01 12:30.5')", "is not a time"),
            ("SELECT vesta_next('a' || printf('%.*c', 60, 'é'))", "'a" + 31 * r"\xc3\xa9" + r"\xc3' is not the name"),
            ("SELECT vesta_range_from('2100-01-01')", "outside this layout's time"),
            ("SELECT vesta_next('large')", "exceeds the largest number", "sign:1=0")]:
        has(shell(statement + ";", fails=True), *parts)
    assert shell("SELECT vesta_worker(-1, 'large'), vesta_range_from('2026-01-01T01:00:00+01:00') = vesta_range_from('2026-01-01'), "
                 "vesta_range_from('2026-01-01') = vesta_range_from(unixepoch('2026-01-01'))") == "1023|1|1"


@claim("a user without rights gets a message with the file, its owner and the next step")
def _():
    if os.geteuid() != 0:
        return
    os.chmod(FOLDER.name, 0o755)
    os.chmod(STATE, 0o755)

    def as_nobody(**more):
        code = "import sqlite3; d = sqlite3.connect(':memory:'); d.enable_load_extension(True); d.load_extension(%r); d.execute('SELECT vesta_next(\"orders\")')" % MODULE
        return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PYTHON, "-c", code], capture_output=True, text=True, **more).stderr
    path = STATE + "/orders.gen"
    has(as_nobody(), "user nobody may not use " + path, "belongs to user root alone", "--group NAME", "chgrp -R")
    os.chown(path, 0, 1)
    os.chmod(path, 0o660)
    has(as_nobody(), "belongs to user root and group daemon", "usermod -aG daemon nobody")
    os.chmod(STATE, 0o700)
    has(as_nobody(), "user nobody may not use %s, which" % STATE)
    has(as_nobody(cwd=STATE, env=dict(os.environ, VESTA_STATE="relative")), "cannot stat relative: Permission denied")
    os.chmod(STATE, 0o755)


@claim("a pause ends the statement with its reason, and stores no row")
def _():
    db = connect()
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
    begun = time.monotonic()
    for insert in ("INSERT OR IGNORE INTO t VALUES (vesta_next('held'), 1)",):
        try:
            db.execute(insert)
            raise AssertionError("it succeeded")
        except sqlite3.OperationalError as error:
            has(str(error), "the generator held issues no id now: no lease:", "Retry in", "(lease)")
    assert time.monotonic() - begun < 20
    assert db.execute("SELECT COUNT(*) FROM t").fetchone() == (0,)


@claim("schemas may call vesta_next where each row needs an id, unless they are not trusted")
def _():
    shell("CREATE TABLE t (id, x); CREATE TABLE u (id, x); CREATE TRIGGER a AFTER INSERT ON t BEGIN INSERT INTO u VALUES (vesta_next('orders'), new.x); END;"
          "INSERT INTO t VALUES (1, 2); SELECT 1 / (COUNT(*) = 1) FROM u WHERE id > 1000000;")
    has(shell("CREATE TABLE t (id); CREATE INDEX i ON t (vesta_next());", fails=True), "non-deterministic")
    has(shell("CREATE TABLE t (id, x AS (vesta_next()));", fails=True), "non-deterministic")
    assert shell("CREATE TABLE t (id, w AS (vesta_worker(id, 'orders'))); CREATE INDEX i ON t (vesta_worker(id, 'orders')); "
                 "INSERT INTO t VALUES (vesta_next('orders')); SELECT COUNT(*) FROM t WHERE w = vesta_worker(id, 'orders');") == "1"
    untrusted = "CREATE TABLE t (id DEFAULT (vesta_next('orders')), x); PRAGMA trusted_schema = OFF; "
    has(shell(untrusted + "INSERT INTO t (x) VALUES (1);", fails=True), "unsafe use of vesta_next()")
    assert shell(untrusted + "INSERT INTO t VALUES (vesta_next('orders'), 1); SELECT COUNT(*) FROM t;") == "1"


@claim(".dump and restore consume no ids, and need no extension")
def _():
    path = os.path.join(FOLDER.name, "dumped.db")
    first = shell("CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT (vesta_next('counted')), x); INSERT INTO t (x) VALUES (1); SELECT id FROM t;", path)
    dump = shell(".dump", path, load=False)
    shell(dump, path + "2", load=False)
    assert shell("SELECT id FROM t", path + "2", load=False) == first
    last = shell("INSERT INTO t (x) VALUES (2); SELECT max(id) FROM t;", path + "2")
    assert tick(last) == tick(first) + 1, (first, last)


@claim("INSERT SELECT of 1,000,000 rows gets as many ids")
def _():
    db = connect()
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
    db.execute("INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) SELECT vesta_next('orders'), i FROM n")
    assert db.execute("SELECT COUNT(*) FROM t").fetchone() == (1000000,)


@claim("8 processes, their forked children, threads and one killed process share a WAL database without a duplicate")
def _():
    path = os.path.join(FOLDER.name, "shared.db")
    db = connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE ids (id)")  # no key: a duplicate would be stored
    db.close()
    code = """
import os, sqlite3, sys, threading
def insert(count):
    db = sqlite3.connect(%r, timeout=60, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(%r)
    for _ in range(count):
        db.execute("INSERT INTO ids WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) SELECT vesta_next('orders') FROM n")
    db.close()
insert(2)
child = os.fork()
threads = [threading.Thread(target=insert, args=(5,)) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
if not child: os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
""" % (path, MODULE)
    processes = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(PROCESSES)]
    victim = subprocess.Popen([sys.executable, "-c", code.replace("insert(2)", "insert(1000000)")])
    db = connect(path)
    codes = [process.wait() for process in processes]
    victim.kill()
    victim.wait()
    assert codes == [0] * PROCESSES, codes
    count, distinct = db.execute("SELECT COUNT(*), COUNT(DISTINCT id) FROM ids").fetchone()
    assert count == distinct and count >= PROCESSES * 2200, (count, distinct)
    db.close()


@claim("a connection that loads the extension again, or unloads it while threads use it, keeps working")
def _():
    failed = []

    def work():
        try:
            for _ in range(20):
                db = connect()
                db.load_extension(MODULE)
                assert db.execute("SELECT COUNT(DISTINCT vesta_next('orders')) FROM (VALUES (1), (2), (3))").fetchone() == (3,)
                db.close()  # SQLite calls dlclose
        except Exception as error:
            failed.append(error)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


@claim("an INTEGER PRIMARY KEY of a table with rowids ignores its DEFAULT, as the documents say")
def _():
    assert shell("CREATE TABLE t (id INTEGER PRIMARY KEY DEFAULT (vesta_next('orders')), x); INSERT INTO t (x) VALUES (1); SELECT id FROM t;") == "1"


sys.exit(run(*(sys.argv[2:] or [""]), lambda function: function()))
