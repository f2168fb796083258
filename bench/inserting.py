"""inserting.py -- the rows about ids made inside a database: INSERT and COPY into a table whose id is vesta_next, and
into one whose id is the database's own.  The databases do not sync, so that no disk hides the difference."""
import re
import sys
import tempfile

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


def rate_of(printed):
    return float(re.search(r"(?m)^tps = ([\d.]+)", printed)[1])


class PostgreSQL:
    def __init__(self, db, turns):
        self.db, self.turns = db, turns
        self.rows = db.write("rows", "".join("%d\n" % n for n in range(turns.few(1000000, 1000))))

    def inserts(self, sessions):
        """Transactions of one row each, with a prepared statement.  Returns rows per second."""
        def measure(table):
            self.db.sql("TRUNCATE %s; CHECKPOINT" % table)
            with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
                script.write("INSERT INTO %s (n) VALUES (1);\n" % table)
                script.flush()
                return rate_of(self.db.tool("pgbench", "-n", "-c", str(sessions), "-j", "1", "-T", str(self.turns.few(4, 1)), "-M", "prepared",
                                            "-f", script.name, "postgres"))
        return measure

    def timed(self, statement):
        """A statement that stores a million rows, timed inside a session.  Returns rows per second."""
        def measure(table):
            self.db.sql("TRUNCATE %s; CHECKPOINT" % table)
            printed = self.db.tool("psql", "-X", "-c", "SELECT vesta_next('orders'), nextval('yard_id')", "-c", "\\timing on", "-c", statement.format(table))
            return self.turns.few(1000000, 1000) / float(re.search(r"Time: ([\d.]+) ms", printed)[1]) * 1000
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
        made = [dict(zip(samples, pairs)) for pairs in zip(*samples.values())]
        twice = db.sql("SELECT count(*) - count(DISTINCT id) FROM ours")
        ids = db.sql("SELECT count(*) FROM ours")
    finally:
        db.end()
    return Made(made, {"ids": int(ids), "duplicates": int(twice)})
