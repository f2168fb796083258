"""inserting.py -- the rows about ids made inside a database: INSERT and COPY into a table whose id is vesta_next, and
into one whose id is the database's own.  The databases do not sync, so that no disk hides the difference."""
import os
import re
import subprocess
import sys
import tempfile
import time

from rows import ROOT, Made, Missing, need

sys.path.append(str(ROOT / "spec" / "support"))

OURS, YARD = "ours", "yard"
POSTGRESQL = ("CREATE EXTENSION vesta; "
              "CREATE TABLE ours (id bigint PRIMARY KEY DEFAULT vesta_next('orders'), n int); "
              "CREATE SEQUENCE yard_id; CREATE TABLE yard (id bigint PRIMARY KEY DEFAULT nextval('yard_id'), n int)")


def alternate(samples, measure):
    """Measures both tables, in changing order."""
    made = []
    for turn in range(samples):
        got = {table: measure(table) for table in ((OURS, YARD) if turn % 2 else (YARD, OURS))}
        made.append((got[OURS], got[YARD]))
    return made


def number(pattern, printed):
    return float(re.search(pattern, printed)[1])


def ended_cpu_s(pid):
    """CPU time of all processes of sessions that have ended."""
    with open("/proc/%d/stat" % pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


class PostgreSQL:
    def __init__(self, db, turns):
        self.db, self.turns = db, turns
        self.rows = db.write("rows", "".join("%d\n" % n for n in range(turns.few(1000000, 1000))))

    def inserts(self, sessions):
        """Transactions of one row each, with a prepared statement.  Returns rows per second, and microseconds of CPU time
        of the sessions per row, which other programs of the host disturb less."""
        def measure(table):
            self.db.sql("TRUNCATE %s; CHECKPOINT" % table)
            with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
                script.write("INSERT INTO %s (n) VALUES (1);\n" % table)
                script.flush()
                before = ended_cpu_s(self.db.process.pid)
                printed = self.db.tool("pgbench", "-n", "-c", str(sessions), "-j", "1", "-T", str(self.turns.few(4, 1)), "-M", "prepared", "-f", script.name,
                                       "postgres")
            time.sleep(0.1)  # the server has collected the sessions' processes
            rows = number(r"actually processed: (\d+)", printed)
            return number(r"(?m)^tps = ([\d.]+)", printed), (ended_cpu_s(self.db.process.pid) - before) / rows * 1e6
        return measure

    def timed(self, statement):
        """A statement that stores a million rows, timed inside a session.  Returns rows per second."""
        def measure(table):
            self.db.sql("TRUNCATE %s; CHECKPOINT" % table)
            printed = self.db.tool("psql", "-X", "-c", "SELECT vesta_next('orders'), nextval('yard_id')", "-c", "\\timing on", "-c", statement.format(table))
            return self.turns.few(1000000, 1000) / number(r"Time: ([\d.]+) ms", printed) * 1000
        return measure


def postgresql(turns):
    need("pg_config", "postgresql-server-dev-15")
    if not (turns.build / "postgresql" / "vesta.so").exists():
        raise Missing("the extension for PostgreSQL is not built")
    from extended import Extended
    db = Extended(str(turns.build))
    try:
        db.start(fsync="off", full_page_writes="off", synchronous_commit="off", shared_buffers="256MB", max_wal_size="4GB")
        db.generator("orders", "--layout", "snowflake")
        db.sql(POSTGRESQL)
        host = PostgreSQL(db, turns)
        ways = {"one": host.inserts(1), "sixteen": host.inserts(16), "copy": host.timed("COPY {} (n) FROM '%s'" % host.rows),
                "select": host.timed("INSERT INTO {} (n) SELECT generate_series(1, %d)" % turns.few(1000000, 1000))}
        samples = {key: alternate(turns.samples, measure) for key, measure in ways.items()}
        for key in "one", "sixteen":
            samples[key + ".cpu"] = [(ours[1], yard[1]) for ours, yard in samples[key]]
            samples[key] = [(ours[0], yard[0]) for ours, yard in samples[key]]
        made = [dict(zip(samples, pairs)) for pairs in zip(*samples.values())]
        twice = db.sql("SELECT count(*) - count(DISTINCT id) FROM ours")
        ids = db.sql("SELECT count(*) FROM ours")
    finally:
        db.end()
    return Made(made, {"ids": int(ids), "duplicates": int(twice)})


class MariaDBHost:
    def __init__(self, db, turns):
        self.db, self.turns, self.bulk = db, turns, turns.few(1000000, 1000)
        self.sql(f"""CREATE TABLE ours (id BIGINT PRIMARY KEY DEFAULT vesta_next('orders'), n INT)//
                     CREATE TABLE yard (id BIGINT PRIMARY KEY AUTO_INCREMENT, n INT)//""")
        for table in (OURS, YARD):
            self.sql(f"CREATE PROCEDURE add_{table}(k INT) FOR i IN 1..k DO INSERT INTO {table} (n) VALUES (1); END FOR//")

    def session(self, text):
        return subprocess.Popen(["mariadb", "--no-defaults", "-S", self.db.path("sock"), "-uroot", "-N", "-B", "--delimiter=//", "bench", "-e", text],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def sql(self, text):
        process = self.session(text)
        printed = process.communicate()[0]
        assert process.returncode == 0, text
        return printed.split()

    def inserts(self, sessions):
        """Statements of one row each, in a loop in the server.  Returns rows per second."""
        rows = self.turns.few(200000, 1000) // sessions

        def measure(table):
            self.sql(f"TRUNCATE {table}")
            begun = time.monotonic()
            running = [self.session(f"CALL add_{table}({rows})") for _ in range(sessions)]
            for process in running:
                process.communicate()
                assert process.returncode == 0
            return rows * sessions / (time.monotonic() - begun)
        return measure

    def select(self, table):
        text = f"TRUNCATE {table}// SET @begun = SYSDATE(6)// INSERT INTO {table} (n) SELECT seq FROM seq_1_to_{self.bulk}// "
        return self.bulk / float(self.sql(text + "SELECT TIMESTAMPDIFF(MICROSECOND, @begun, SYSDATE(6))")[0]) * 1e6


def mariadb(turns):
    need("mariadbd", "mariadb-server")
    plugins = turns.build / "extensions" / "mariadb"
    if not (plugins / "vesta.so").exists():
        raise Missing("the extension for MariaDB is not built")
    from servers import MariaDB
    with tempfile.TemporaryDirectory(prefix="vesta-bench.") as state:
        db = MariaDB()
        try:
            generate(turns, state)
            os.environ["VESTA_STATE"] = state  # of the server
            db.start(f"--plugin-dir={plugins.resolve()}", "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M")
            db.sql("CREATE DATABASE bench; " + (ROOT / "extensions/mariadb/functions.sql").read_text())
            host = MariaDBHost(db, turns)
            ways = {"one": host.inserts(1), "sixteen": host.inserts(16), "select": host.select}
            samples = {key: alternate(turns.samples, measure) for key, measure in ways.items()}
            ids, twice = host.sql("SELECT COUNT(*), COUNT(*) - COUNT(DISTINCT id) FROM ours")
        finally:
            os.environ.pop("VESTA_STATE", None)
            db.end()
    return Made([dict(zip(samples, pairs)) for pairs in zip(*samples.values())], {"ids": int(ids), "duplicates": int(twice)})


def generate(turns, state):
    subprocess.run([turns.build / "vesta", "gen", "--namespace", "orders", "--layout", "snowflake"], check=True,
                   env=dict(os.environ, VESTA_STATE=state), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def sqlite(turns):
    need("sqlite3", "sqlite3")
    module = (turns.build / "extensions" / "sqlite" / "mod_vesta.so").resolve()
    if not module.exists():
        raise Missing("the extension for SQLite is not built")
    numbers = "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT %d) " % turns.few(1000000, 1000)
    few = turns.few(100000, 1000)
    statements = {"one": {OURS: "INSERT INTO t VALUES (vesta_next('orders'), 1);\n" * few, YARD: "INSERT INTO t (n) VALUES (1);\n" * few},
                  "select": {OURS: f"INSERT INTO t {numbers} SELECT vesta_next('orders'), n FROM s;", YARD: f"INSERT INTO t (n) {numbers} SELECT n FROM s;"}}
    rows = {"one": few, "select": turns.few(1000000, 1000)}
    counted = {"ids": 0, "duplicates": 0}
    with tempfile.TemporaryDirectory(prefix="vesta-bench.") as state:
        generate(turns, state)

        def measure(key, table):
            text = f".load {module}\nCREATE TABLE t (id INTEGER PRIMARY KEY, n);\nSELECT vesta_next('orders') > 0;\nBEGIN;\n"
            text += "SELECT (julianday('now') - 2440587.5) * 86400;\n%s\nSELECT (julianday('now') - 2440587.5) * 86400;\n" % statements[key][table]
            text += "COMMIT;\nSELECT COUNT(*), COUNT(*) - COUNT(DISTINCT id) FROM t;\n"
            printed = subprocess.run(["sqlite3", "-bail", "-separator", " ", ":memory:"], input=text, capture_output=True, text=True, check=True,
                                     env=dict(os.environ, VESTA_STATE=state)).stdout.split()
            begun, ended, count, twice = printed[-4:]
            if table == OURS:
                counted["ids"] += int(count)
                counted["duplicates"] += int(twice)
            return rows[key] / max(float(ended) - float(begun), 0.001)  # SQLite's clock counts milliseconds
        samples = {key: alternate(turns.samples, lambda table, key=key: measure(key, table)) for key in statements}
    return Made([dict(zip(samples, pairs)) for pairs in zip(*samples.values())], counted)
