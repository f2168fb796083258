"""postgresql_copies.py BUILD -- dumps, replicas and subscribers copy ids, and never issue one."""
import json
import sys

from extended import Extended
from servers import claim, main, until

BUILD = sys.argv[1]
db = Extended(BUILD)
standby = None
ROWS = 5000


def tick(server=None):
    """Issues an id, and returns its position in the sequence of all ids of the generator."""
    fields = json.loads((server or db).sql("SELECT vesta_explain(vesta_next('counted'), 'counted')"))
    return fields["time"] << 12 | fields["seq"]


def issued_since(before):
    """How many ids were issued since that position.  A generator may skip a few positions, far fewer than there are rows."""
    skipped_max = ROWS // 10
    passed = tick() - before
    return passed - passed % ROWS if passed % ROWS <= skipped_max else passed


@claim("a restored dump has the same ids, and consumes none")
def dump():
    db.start(wal_level="logical", max_wal_senders=4, max_replication_slots=4)
    db.generator("counted", "--layout", "snowflake", "--pacing", "history")
    db.sql("CREATE EXTENSION vesta; CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT vesta_next('counted'), n int); "
           "CREATE INDEX ON orders (vesta_time_of(id, 'snowflake')); INSERT INTO orders (n) SELECT generate_series(1, %d)" % ROWS)
    db.sql("CREATE DATABASE copy")
    for form in "plain", "custom":
        path = db.path("dump." + form)
        before = tick()
        db.tool("pg_dump", "-F", form, "-f", path, "postgres")
        if form == "plain":
            db.tool("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", "copy", "-f", path)
        else:
            db.tool("pg_restore", "--clean", "-d", "copy", path)
        assert issued_since(before) == 0, form
        assert same_rows(db, "copy")
    assert db.sql("INSERT INTO orders (n) VALUES (0); SELECT count(*) FROM orders", "copy") == str(ROWS + 1)


def same_rows(server, database="postgres"):
    query = "SELECT count(*), min(id), max(id), sum(id) FROM orders"
    return server.sql(query, database) == db.sql(query)


@claim("a standby has the primary's ids, issues none on replay, and rejects vesta_next")
def replica():
    global standby
    before = tick()
    standby = Extended(BUILD, primary=db)
    standby.start(**{"vesta.directory": db.generators})
    db.sql("INSERT INTO orders (n) SELECT generate_series(1, %d)" % ROWS)
    until(lambda: standby.has_replayed(db), "the standby has the rows")
    assert same_rows(standby)
    assert issued_since(before) == ROWS
    said = standby.tool_fails("psql", "-X", "-v", "VERBOSITY=verbose", "-c", "SELECT vesta_next('counted')")
    assert "ERROR:  25006: cannot execute vesta_next() during recovery" in said, said
    assert standby.sql("SELECT count(*) FROM orders WHERE vesta_between(id, now() - interval '1 h', now() + interval '1 h', 'counted')") == str(2 * ROWS)
    assert standby.sql("SELECT count(*) FROM orders WHERE vesta_worker(id, 'counted') IS NULL") == "0"


@claim("a promoted standby issues ids that its primary did not issue")
def promoted():
    standby.promote()
    until(lambda: standby.client("INSERT INTO orders (n) VALUES (1)").returncode == 0, "the standby issues ids")
    ids = standby.sql("SELECT vesta_next('counted', 1000)").split() + db.sql("SELECT vesta_next('counted', 1000)").split()
    assert len(set(ids)) == 2000


@claim("a subscriber of logical replication gets the publisher's ids and issues none")
def logical():
    db.sql("CREATE PUBLICATION p FOR TABLE orders")
    db.sql("SELECT pg_create_logical_replication_slot('s', 'pgoutput')")
    db.sql("TRUNCATE orders", "copy")
    db.tool("psql", "-X", "-d", "copy", "-c", "CREATE SUBSCRIPTION s CONNECTION 'host=%s port=%d user=postgres dbname=postgres' PUBLICATION p "
            "WITH (create_slot = false, slot_name = s)" % (db.folder, db.port))
    before = tick()
    db.sql("INSERT INTO orders (n) SELECT generate_series(1, %d)" % ROWS)
    until(lambda: same_rows(db, "copy"), "the subscriber has the rows")
    assert issued_since(before) == ROWS


main()
