"""postgresql.py -- tests the postgresql: store on a real PostgreSQL: the contract, and faults.  postgresql.py
STORE_CONTRACT STORE_CALL [PART OF A CLAIM]
"""
import os
import signal
import subprocess
import sys
import time

from between import Between
from servers import Caller, PgBouncer, PostgreSQL, Proxy, claim, contract, has, main, until

CONTRACT, CALL = sys.argv[1:3]
SHIFT = os.path.join(os.path.dirname(os.path.abspath(CALL)), "..", "..", "clock_shift.so")
db = PostgreSQL().start()
db.sql("CREATE ROLE owner LOGIN PASSWORD 'own/er'; CREATE ROLE vesta LOGIN PASSWORD 's3cret'")
RIGHTS = "ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE ON TABLES TO PUBLIC"


def database(name, more=""):
    db.sql("CREATE DATABASE %s OWNER owner TEMPLATE template0 %s" % (name, more))
    db.sql(RIGHTS, name)


database("vesta")


def sql(text, name="vesta"):
    return db.sql(text, name)


def uri(user="vesta:s3cret", port=None, name="vesta", more=""):
    return "postgresql://%s@127.0.0.1:%d/%s%s" % (user, port or db.port, name, more)


OWNER = uri("owner:own%2Fer")


HASTY_MS = 800  # short, because these cases wait for the deadline


def fresh(ns, where=None, **kw):
    """Creates a namespace with worker id 7 at version 1.  Returns the caller that made it."""
    caller = Caller(CALL, where or uri(), ns, **kw)
    caller.ask("make 5 77", "OK")
    caller.ask("swap 7 0 10", "OK")
    return caller


@claim("without tables, the store is refused with the command that creates them, and creates none")
def _():
    with Caller(CALL, OWNER) as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10"):
            has(caller.ask(order, "REFUSED")["text"], "vesta store init")
    assert sql("SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'vesta%'") == "0"


@claim("init needs the right to create tables, and work needs SELECT, INSERT and UPDATE")
def _():
    with Caller(CALL, uri()) as caller:
        has(caller.ask("init", "REFUSED")["text"], "permission denied for schema public", "(init also needs CREATE)")
    with Caller(CALL, OWNER) as caller:
        caller.ask("init", "OK")
        caller.ask("init", "OK")  # a second time, it changes nothing
    with Caller(CALL, uri(), "rights") as caller:
        caller.ask("make 5 77", "OK")
        caller.ask("swap 7 0 10", "OK")
        caller.ask("advance 99", "OK")
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        assert caller.ask("list", "OK")["count"] == 1


@claim("the contract holds with these rights")
def _():
    contract(CONTRACT, OWNER, 18)


# ---------------------------------------------------------------- settings that could change what a statement means

# "name = value" of a role, which would change the results or the durability of a session that relies on defaults
HOSTILE_SETTINGS = (
    "default_transaction_isolation = serializable", "default_transaction_read_only = on", "default_transaction_deferrable = on",
    "statement_timeout = 700", "lock_timeout = 300", "idle_in_transaction_session_timeout = 1", "synchronous_commit = off",
    "search_path = evil, pg_catalog, public", "standard_conforming_strings = off", "backslash_quote = on", "bytea_output = escape",
    "DateStyle = 'SQL, DMY'", "IntervalStyle = sql_standard", "TimeZone = 'Asia/Kolkata'", "extra_float_digits = -10", "row_security = off",
    "default_toast_compression = pglz", "quote_all_identifiers = on", "client_min_messages = debug1", "client_encoding = latin1")
# objects that a search_path would find first, or that a trigger or a rule could add
EVIL = ("CREATE SCHEMA evil; GRANT USAGE ON SCHEMA evil TO PUBLIC; CREATE TABLE evil.vesta_lease AS SELECT * FROM public.vesta_lease;"
        "CREATE VIEW evil.vesta_namespace AS SELECT ns, ver + 1 AS ver, incarnation + 1 AS incarnation, record FROM public.vesta_namespace;"
        "CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '2001-01-01'::timestamptz $$;"
        "CREATE FUNCTION evil.encode(bytea, text) RETURNS text LANGUAGE sql AS $$ SELECT 'ff' $$;"
        "GRANT ALL ON ALL TABLES IN SCHEMA evil TO PUBLIC")


def make_hostile():
    database("latin", "ENCODING LATIN1")
    with Caller(CALL, uri("owner:own%2Fer", name="latin")) as caller:
        caller.ask("init", "OK")
    sql(EVIL, "latin")
    db.sql("CREATE ROLE hostile LOGIN PASSWORD 'h'")
    for setting in HOSTILE_SETTINGS:
        db.sql("ALTER ROLE hostile SET " + setting)


@claim("the contract holds through pgbouncer in transaction mode, in a LATIN1 database, with a user whose settings are hostile")
def _():
    pool = PgBouncer(db, hostile="h", probe="p")
    contract(CONTRACT, uri("hostile:h", pool.port, "latin"), 18)


@claim("each write is durable when it is acknowledged, at READ COMMITTED, and its settings end with it")
def _():
    with Caller(CALL, uri("hostile:h", name="latin"), "watched") as caller:
        caller.ask("make 5 77", "OK")
        sql("CREATE TABLE seen (name text, value text); GRANT INSERT ON seen TO PUBLIC;"
            "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.seen SELECT name, setting FROM pg_settings"
            " WHERE name IN ('synchronous_commit', 'transaction_isolation', 'lock_timeout'); RETURN NEW; END $$;"
            "CREATE TRIGGER watch BEFORE INSERT OR UPDATE ON vesta_lease FOR EACH ROW EXECUTE FUNCTION watch()", "latin")
        for order in ("swap 7 0 10", "swap 7 1 20"):
            sql("DELETE FROM seen", "latin")
            caller.ask(order, "OK")
            assert sql("SELECT value FROM seen ORDER BY name", "latin").split("\n") == ["1000", "on", "read committed"]
        sql("DROP TRIGGER watch ON vesta_lease", "latin")
    pool = PgBouncer(db, hostile="h")
    with Caller(CALL, uri("hostile:h", pool.port, "latin"), "watched") as caller:
        caller.ask("swap 7 2 30", "OK")
        shown = subprocess.run(["psql", "-X", "-A", "-t", "-q", "-c", "SHOW lock_timeout; SHOW synchronous_commit; SHOW search_path",
                                "postgresql://hostile:h@127.0.0.1:%d/latin" % pool.port], capture_output=True, text=True, timeout=60)
        assert shown.stdout.split("\n")[:3] == ["300ms", "off", "evil, pg_catalog, public"], shown


@claim("a holder's name has every character in a database without an encoding, and in LATIN1")
def _():
    database("ascii", "ENCODING SQL_ASCII")
    with Caller(CALL, uri("owner:own%2Fer", name="ascii"), "ascii") as caller:
        for order in ("init", "make 5 77", "swap 7 0 10"):
            caller.ask(order, "OK")
    contract(CONTRACT, (uri("owner:own%2Fer", name="ascii"), "every field"), 1)
    contract(CONTRACT, (uri("owner:own%2Fer", name="latin"), "every field"), 1)


@claim("tables may be in another schema, which the URI names")
def _():
    sql("CREATE SCHEMA \"Apps-1\" AUTHORIZATION owner; GRANT USAGE ON SCHEMA \"Apps-1\" TO vesta")
    here = uri("owner:own%2Fer", more="?schema=Apps-1")
    with Caller(CALL, here, "there") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "missing in the schema Apps-1")
        for order in ("init", "make 5 77", "swap 7 0 10"):
            caller.ask(order, "OK")
    with Caller(CALL, uri(more="?schema=Apps-1"), "there") as caller:
        caller.ask("read 7", "OK")
    assert sql("SELECT COUNT(*) FROM vesta_lease WHERE ns = 'there'") == "0"
    assert sql("SELECT COUNT(*) FROM \"Apps-1\".vesta_lease WHERE ns = 'there'") == "1"
    with Caller(CALL, uri("owner:own%2Fer", more="?schema=none"), "there") as caller:
        has(caller.ask("init", "REFUSED")["text"], 'schema "none" does not exist', "CREATE SCHEMA")


@claim("variables of the client library do not change what a URI means")
def _():
    with Caller(CALL, uri(), "rights", PGHOSTADDR="192.0.2.1", PGHOST="192.0.2.1", PGPORT="1", PGDATABASE="none", PGUSER="nobody", PGPASSWORD="x",
                PGSSLMODE="require", PGTARGETSESSIONATTRS="standby", PGCLIENTENCODING="EUC_JP", PGAPPNAME="x", PGSSLROOTCERT="/no/such") as caller:
        caller.ask("ns", "OK")


# ---------------------------------------------------------------- locks

@claim("while a namespace is being repaired, no earlier write succeeds, and no first one")
def _():
    with fresh("mending") as caller:
        session = db.session("vesta")
        try:
            session.stdin.write("BEGIN; UPDATE vesta_namespace SET ver = ver WHERE ns = 'mending'; SELECT 1;\n")
            assert session.stdout.readline() == "1\n"
            has(caller.ask("swap 7 1 20", "DOWN")["text"], "lock timeout", "pg_stat_activity")
            has(caller.ask("swap 8 0 20", "DOWN")["text"], "lock timeout")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        caller.ask("swap 8 0 20", "OK")


@claim("a repair that commits while a write waits for it: the write is not done")
def _():
    with fresh("repaired") as caller:
        session = db.session("vesta")
        try:
            session.stdin.write("BEGIN; UPDATE vesta_namespace SET incarnation = incarnation + 1 WHERE ns = 'repaired'; SELECT 1;\n")
            assert session.stdout.readline() == "1\n"
            caller.send("swap 7 1 20")
            until(lambda: db.sql("SELECT COUNT(*) FROM pg_locks WHERE NOT granted") == "1", "the write waits")
        finally:
            session.communicate("COMMIT;\n", timeout=20)
        got = caller.answer()
        assert got["outcome"] == "REFUSED", got  # the columns were changed by hand
        has(got["text"], "by hand")
        sql("UPDATE vesta_namespace SET incarnation = incarnation - 1 WHERE ns = 'repaired'")
        assert caller.ask("read 7", "OK")["until"] == 10


@claim("a locked row: the write is not done before the deadline, reads are not delayed, and the write succeeds later")
def _():
    with fresh("locked") as caller:
        session = db.session("vesta")
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta_lease WHERE ns = 'locked' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            for _ in range(2):
                has(caller.ask("swap 7 1 20", "DOWN")["text"], "lock timeout")
                caller.ask("read 7", "OK")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


# both the server and the client give up after about a second, in any order
@claim("with the shortest deadline, the outcome may also be unknown, and abandoned connections do not pile up")
def _():
    with fresh("locked2", call_ms=HASTY_MS) as caller:
        session = db.session("vesta")
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta_lease WHERE ns = 'locked2' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            for _ in range(3):
                caller.ask("swap 7 1 20", "DOWN", "UNKNOWN")
                assert int(db.sql("SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'vesta'")) <= 2
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        got = caller.settle("read 7")
        caller.ask("swap 7 %d 30" % got["ver"], "OK", "CONFLICT")  # the abandoned write may come first


@claim("a connection that is ended while its write waits: the outcome is unknown, and the write was not done")
def _():
    with fresh("severed") as caller:
        session = db.session("vesta")
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta_lease WHERE ns = 'severed' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            caller.send("swap 7 1 20")
            until(lambda: db.sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted") == "t", "the write waits for the row")
            got = caller.answer()
            assert got["outcome"] == "UNKNOWN", got
            has(got["text"], "terminating connection", "Start the store")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


# ---------------------------------------------------------------- replies

@claim("a lost reply: the outcome is unknown, and the write was done")
def _():
    proxy = Proxy(db.port)
    fresh("lost").__exit__()
    with Caller(CALL, uri(port=proxy.port), "lost") as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")  # connected now: a swap takes one message
        proxy.lose_answers = True
        caller.ask("swap 7 2 30", "UNKNOWN")
        proxy.lose_answers = False
        got = caller.ask("read 7", "OK")
        assert (got["ver"], got["until"]) == (3, 30), got
        caller.ask("swap 7 2 31", "CONFLICT")


@claim("a lost request: the outcome is unknown, and the write was not done")
def _():
    proxy = Proxy(db.port)
    fresh("lost2").__exit__()
    with Caller(CALL, uri(port=proxy.port), "lost2") as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        proxy.lose_requests = True
        caller.ask("swap 7 2 30", "UNKNOWN")
        caller.ask("read 7", "DOWN")
        proxy.lose_requests = False
        got = caller.ask("read 7", "OK")
        assert (got["ver"], got["until"]) == (2, 20), got
        caller.ask("swap 7 2 30", "OK")


@claim("a list that arrives too slowly ends at its deadline, and its connection is dropped")
def _():
    proxy = Proxy(db.port)
    with fresh("trickle") as caller:
        for worker in range(100, 500):
            caller.ask("swap %d 0 10" % worker, "OK")
    with Caller(CALL, uri(port=proxy.port), "trickle") as caller:
        assert caller.ask("list", "OK")["count"] == 401
        proxy.trickle = True
        has(caller.ask("list", "DOWN")["text"], "no reply before the deadline")
        proxy.trickle = False
        assert caller.ask("list", "OK")["count"] == 401


@claim("a connection that was ended while idle is opened again, and no outcome is unknown")
def _():
    mine = "FROM pg_stat_activity WHERE usename = 'vesta'"
    with fresh("killed") as caller:
        for ver in range(1, 4):
            db.sql("SELECT pg_terminate_backend(pid) " + mine)
            until(lambda: db.sql("SELECT COUNT(*) " + mine) == "0", "they are gone")
            caller.ask("swap 7 %d 20" % ver, "OK")


@claim("a server that stops: a call ends at its deadline, and requests that it received may be done later")
def _():
    with fresh("stopped", call_ms=HASTY_MS) as caller:
        caller.ask("swap 7 1 15", "OK")
        db.pause()
        try:
            caller.ask("swap 7 2 20", "UNKNOWN")
            for order in ("read 7", "swap 7 1 21", "ns"):
                caller.ask(order, "DOWN")  # no connection yet
        finally:
            db.go_on()
        got = caller.settle("read 7")
        assert got["ver"] in (2, 3)
        until(lambda: caller.ask("swap 7 %d 30" % caller.ask("read 7", "OK")["ver"])["outcome"] == "OK", "a swap goes through")


@claim("a server that restarts: calls are down in the meantime, nothing is lost, and the store recovers")
def _():
    with fresh("restart", call_ms=HASTY_MS) as caller:
        db.stop(signal.SIGKILL)
        caller.ask("read 7", "DOWN")
        caller.ask("swap 7 1 20", "DOWN")
        db.start()
        got = caller.settle("read 7")
        assert got["until"] == 10
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")


@claim("a server whose clock is an hour off: the store returns that clock, in every time zone")
def _():
    db.stop()
    db.env = dict(LD_PRELOAD=SHIFT, CLOCK_SHIFT="+3600")
    db.start()
    db.sql("ALTER ROLE vesta SET TimeZone = 'Asia/Kolkata'")
    try:
        with fresh("hour") as caller:
            got = caller.ask("read 7", "OK")
            assert 3590e3 < got["store_ms"] - time.time() * 1000 < 3610e3, got
            assert 3590e3 < got["written_ms"] - time.time() * 1000 < 3610e3, got
    finally:
        db.stop()
        db.env = {}
        db.start()
        db.sql("ALTER ROLE vesta RESET ALL")


# ---------------------------------------------------------------- rows and tables that were changed by hand

HOSTILE = [
    ("record = substr(record, 1, 100)", "truncated"),
    ("record = ''", "empty"),
    ("record = record || 'x'", "truncated"),
    ("record = replace(convert_from(record, 'UTF8'), 'until 10', 'until 11')::bytea", "checksum"),
    ("record = E'vesta lease 2\\nmore\\n'", "newer vesta"),
    ("record = 'hello'", "not a vesta record"),
    ("record = repeat('x', 1048576)::bytea", "not a vesta record"),
    ("ver = 9", "by hand"),
    ("ver = 0", "by hand"),
]


@claim("a damaged, foreign or newer row is refused and never overwritten")
def _():
    for at, (change, part) in enumerate(HOSTILE):
        ns = "hostile%d" % at
        with fresh(ns) as caller:
            sql("UPDATE vesta_lease SET %s WHERE ns = '%s'" % (change, ns))
            before = sql("SELECT md5(record), ver, written_us FROM vesta_lease WHERE ns = '%s'" % ns)
            has(caller.ask("read 7", "REFUSED")["text"], part)
            caller.ask("list", "REFUSED")
            caller.ask("swap 7 0 20", "REFUSED")
            if "until 11" not in change:  # a reader of this version read it before the change, which only the checksum reveals
                caller.ask("swap 7 1 20", "REFUSED")
                assert sql("SELECT md5(record), ver, written_us FROM vesta_lease WHERE ns = '%s'" % ns) == before


@claim("impossible times in a row do no harm")
def _():
    for written in ("-9223372036854775808", "-1", "9223372036854775807"):
        with fresh("times%s" % written) as caller:
            sql("UPDATE vesta_lease SET written_us = %s WHERE ns = 'times%s'" % (written, written))
            assert caller.ask("read 7", "OK")["written_ms"] >= 0
            caller.ask("list", "OK")


@claim("a namespace's row that is damaged, or whose incarnation was changed by hand, is refused")
def _():
    for at, change in enumerate(("record = substr(record, 1, 50)", "record = ''", "incarnation = 78", "ver = 4")):
        ns = "nsrow%d" % at
        with fresh(ns) as caller:
            sql("UPDATE vesta_namespace SET %s WHERE ns = '%s'" % (change, ns))
            caller.ask("ns", "REFUSED")
            caller.ask("make 5 77", "REFUSED")


def changed(change, order, part, back):
    """Changes a table, and checks that an open store and a new one refuse it."""
    with Caller(CALL, uri(), "shape") as caller:
        caller.ask("ns", "OK")
        sql(change)
        try:
            if order:
                has(caller.ask(order, "REFUSED")["text"], *part)
            with Caller(CALL, uri(), "shape") as other:
                has(other.ask(order or "ns", "REFUSED")["text"], *part)
        finally:
            sql(back)


@claim("tables of another shape are refused: unlogged, views, other keys, missing or narrow columns, policies")
def _():
    with fresh("shape") as caller:
        changed("ALTER TABLE vesta_lease SET UNLOGGED", None, ("vesta_lease is not an ordinary, logged table", "SET LOGGED"), "ALTER TABLE vesta_lease SET LOGGED")
        changed("ALTER TABLE vesta_lease RENAME TO kept; CREATE VIEW vesta_lease AS SELECT * FROM kept; GRANT ALL ON vesta_lease TO vesta", None,
                ("vesta_lease is not an ordinary",), "DROP VIEW vesta_lease; ALTER TABLE kept RENAME TO vesta_lease")
        for table, key, other in (("vesta_lease", "ns, worker", "worker, ns"), ("vesta_namespace", "ns", "ns, ver")):
            back = "ALTER TABLE %s DROP CONSTRAINT IF EXISTS %s_pkey, ADD PRIMARY KEY (%s)" % (table, table, key)
            drop = "ALTER TABLE %s DROP CONSTRAINT %s_pkey" % (table, table)
            changed(drop, None, ("primary keys",), back)
            changed(drop + ", ADD PRIMARY KEY (%s)" % other, None, ("primary keys",), back)
        sql("ALTER TABLE vesta_lease DROP CONSTRAINT vesta_lease_pkey")  # an open store notices it at its next first claim
        has(caller.ask("swap 8 0 10", "REFUSED")["text"], "ON CONFLICT", "docs/stores.md")
        sql("ALTER TABLE vesta_lease ADD PRIMARY KEY (ns, worker)")
        changed("ALTER TABLE vesta_lease RENAME COLUMN written_us TO w", "swap 7 1 20", ("written_us", "docs/stores.md"), "ALTER TABLE vesta_lease RENAME COLUMN w TO written_us")
        changed("ALTER TABLE vesta_lease ALTER written_us TYPE int USING 0", "swap 7 1 20", ("out of range", "docs/stores.md"),
                "ALTER TABLE vesta_lease ALTER written_us TYPE bigint")
        changed("ALTER TABLE vesta_lease ADD CHECK (ver < 2) NOT VALID", "swap 7 1 20", ("check constraint",), "ALTER TABLE vesta_lease DROP CONSTRAINT vesta_lease_ver_check")
        changed("ALTER TABLE vesta_lease ENABLE ROW LEVEL SECURITY", "read 7", ("row-level security",), "ALTER TABLE vesta_lease DISABLE ROW LEVEL SECURITY")
        sql("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
            "CREATE TRIGGER keep BEFORE UPDATE ON vesta_lease FOR EACH ROW EXECUTE FUNCTION keep()")
        has(caller.ask("swap 7 1 20", "DOWN")["text"], "the row changed during the write")
        sql("DROP TRIGGER keep ON vesta_lease")
        caller.ask("swap 7 1 20", "OK")


@claim("a store that was emptied and created again is detected as another one")
def _():
    with fresh("wiped") as caller:
        sql("DELETE FROM vesta_lease WHERE ns = 'wiped'; DELETE FROM vesta_namespace WHERE ns = 'wiped'")
        caller.ask("swap 7 1 20", "MOVED")
        caller.ask("swap 8 0 20", "MOVED")
        with Caller(CALL, uri(), "wiped") as other:
            other.ask("make 5 78", "OK")
            other.ask("swap 7 0 5", "OK")
        caller.ask("swap 7 1 20", "MOVED")
        assert caller.ask("ns", "OK")["incarnation"] == 78


# ---------------------------------------------------------------- errors

@claim("an error about missing rights names the GRANT, and shows no password")
def _():
    db.sql("CREATE ROLE looker LOGIN PASSWORD 'l'; REVOKE CONNECT ON DATABASE postgres FROM PUBLIC")
    sql("CREATE SCHEMA looking; CREATE TABLE looking.vesta_lease (LIKE vesta_lease INCLUDING ALL); "
        "CREATE TABLE looking.vesta_namespace (LIKE vesta_namespace INCLUDING ALL); GRANT SELECT ON ALL TABLES IN SCHEMA looking TO looker")
    for where, words in ((uri("vesta:wr0ng"), 'password authentication failed for user "vesta"'), (uri("nobody:wr0ng"), "password authentication failed"),
                         (uri(name="postgres"), 'permission denied for database "postgres"')):
        with Caller(CALL, where) as caller:
            text = caller.ask("ns", "REFUSED")["text"]
            has(text, words)
            assert "wr0ng" not in text and "s3cret" not in text
    where = uri("looker:l", more="?schema=looking")
    with Caller(CALL, where, "looker") as caller:  # without USAGE, the server hides the tables
        has(caller.ask("ns", "REFUSED")["text"], "missing in the schema looking")
    sql("GRANT USAGE ON SCHEMA looking TO looker")
    with Caller(CALL, where, "looker") as caller:
        caller.ask("ns", "OK")
        has(caller.ask("make 5 77", "REFUSED")["text"], "permission denied for table vesta_namespace", "GRANT USAGE ON SCHEMA, and SELECT, INSERT, UPDATE")


@claim("passwords of SCRAM and md5 are accepted, and every login that fails is reported in the server's words, with its remedy")
def _():
    db.sql("SET password_encryption = md5; CREATE ROLE old LOGIN PASSWORD 'o'; RESET password_encryption;"
           "CREATE ROLE locked PASSWORD 'l'; CREATE ROLE expired LOGIN PASSWORD 'e' VALID UNTIL '2001-01-01';"
           "CREATE ROLE single LOGIN PASSWORD 's' CONNECTION LIMIT 1; CREATE ROLE barred LOGIN PASSWORD 'b'; CREATE ROLE peer LOGIN")
    db.hba("host all barred 127.0.0.1/32 reject\nhost all old 127.0.0.1/32 md5\nlocal all peer peer\nhost all peer 127.0.0.1/32 ident\n"
           "host vesta none 127.0.0.1/32 trust\n" + db.HBA.replace("all all 127", "vesta,latin,ascii,nowhere all 127"))
    db.sql("SELECT pg_reload_conf()")
    with Caller(CALL, uri("old:o"), "rights") as caller:
        caller.ask("ns", "OK")
    names = "postgresql://vesta:s3cret@nobody-has-this-name.invalid/vesta?tls=off"
    for where, outcome, words, remedy in (
            (uri("old:wrong"), "REFUSED", "password authentication failed", "Correct the user and the password"),
            (uri("vesta:"), "REFUSED", "no password supplied", "Correct the user and the password"),
            (uri("locked:l"), "REFUSED", 'role "locked" is not permitted to log in', "Correct the user"),
            (uri("expired:e"), "REFUSED", "password authentication failed", "Correct the user"),
            (uri("none:"), "REFUSED", 'role "none" does not exist', "Correct the user"),
            (uri("barred:b"), "REFUSED", "pg_hba.conf rejects connection", "Add a line"),
            (uri(name="template1"), "REFUSED", "no pg_hba.conf entry for host", "Add a line for this user, database and address to pg_hba.conf"),
            (uri("peer:", more="?socket=" + db.folder), "REFUSED", "Peer authentication failed", "Correct the user"),
            (uri(name="nowhere"), "REFUSED", 'database "nowhere" does not exist', "CREATE DATABASE"),
            (uri(more="?tls=verify"), "REFUSED", "server does not support SSL", "tls=off"),
            (uri(port=1), "DOWN", "Connection refused", "Start the store"),
            (names, "DOWN", "nobody-has-this-name.invalid", "Correct the host name")):
        with Caller(CALL, where) as caller:
            has(caller.ask("ns", outcome)["text"], words, remedy)
    with Caller(CALL, uri("single:s")) as first, Caller(CALL, uri("single:s")) as second:
        first.ask("ns", "OK")
        has(second.ask("ns", "DOWN")["text"], "too many connections", "Raise the server's limit of connections")
    db.hba(db.HBA)
    db.sql("SELECT pg_reload_conf()")


# raised by a trigger: the state, the outcome of a write, and its remedy
STATES = (("40P01", "DOWN", ""), ("40001", "DOWN", ""), ("57014", "DOWN", "pg_stat_activity"), ("53100", "UNKNOWN", "Free space"), ("53200", "UNKNOWN", "error log"),
          ("XX001", "UNKNOWN", "error log"), ("40003", "UNKNOWN", "network path"), ("P0001", "UNKNOWN", "error log"), ("22003", "REFUSED", "docs/stores.md"),
          ("25006", "REFUSED", "HOST1,HOST2"), ("42704", "REFUSED", "server version"))


@claim("each error of a statement has its outcome, and a write that it ended was not done")
def _():
    with fresh("states") as caller:
        for state, outcome, remedy in STATES:
            sql("CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'it is %s' USING ERRCODE = '%s'; END $$;"
                "CREATE OR REPLACE TRIGGER fail BEFORE UPDATE ON vesta_lease FOR EACH ROW WHEN (NEW.ns = 'states') EXECUTE FUNCTION fail()" % (state, state))
            has(caller.ask("swap 7 1 20", outcome)["text"], "it is " + state, remedy)
            assert caller.ask("read 7", "OK")["until"] == 10
        sql("DROP TRIGGER fail ON vesta_lease")
        caller.ask("swap 7 1 20", "OK")


class Older(Between):
    """A proxy that makes the server's version older."""

    def met(self, client, server):
        self.in_background(self.pump, client, server)
        self.in_background(self.pump, server, client)

    @staticmethod
    def pump(source, sink):
        try:
            while data := source.recv(65536):
                at = data.find(b"server_version\0")
                if at >= 0:
                    end = data.index(b"\0", at + 15)
                    data = data[:at + 15] + b"9.6.24".ljust(end - at - 15) + data[end:]
                sink.sendall(data)
        except OSError:
            pass
        Proxy.end(source, sink)


@claim("a server that is too old is refused with its version")
def _():
    with Caller(CALL, uri(port=Older(db.port).port)) as caller:
        has(caller.ask("ns", "REFUSED")["text"], "the server has version 9, and vesta needs 12", "docs/stores.md")


@claim("invalid URIs are refused at open")
def _():
    for bad, part in (("postgresql:/x", "no '//'"), ("postgresql://h/db", "no user"), ("postgresql://u@h", "no database"), ("postgresql://u@h/", "no database"),
                      ("postgresql://u@h/a/b", "no database"), ("postgresql://u@h/" + "d" * 64, "no database"), ("postgresql://u@h1,,h2/db", "not a HOST:PORT"),
                      ("postgresql://u@h:0/db", "not a HOST:PORT"), ("postgresql://u@%s/db" % ",".join("abcdefghi"), "more than 8 hosts"),
                      ("postgresql://u@h/db?tls=require", "verify or off"), ("postgresql://u@h/db?schema=a%22b", "not the name of a schema"),
                      ("postgresql://u@h/db?socket=run", "must be a folder"), ("postgresql://u@h/db?sslmode=disable", "unknown key"),
                      ("postgres://u@h/db", "Did you mean postgresql:?"), ("postgresql://u@h/db?secret_file=/no/such", "No such file")):
        done = subprocess.run([CALL, bad, "orders"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and part in done.stderr, (bad, part, done.stderr)


@claim("the secret can be in a file, and the connection can use a socket, whatever PGHOSTADDR says")
def _():
    path = db.path("secret")
    with open(path, "w") as file:
        file.write("s3cret\nsecond line\n")
    with Caller(CALL, uri("vesta", more="?secret_file=" + path), "rights") as caller:
        caller.ask("ns", "OK")
    with Caller(CALL, uri("postgres", more="?socket=" + db.folder), "rights", PGHOSTADDR="127.0.0.1") as caller:
        caller.ask("ns", "OK")


@claim("TLS is verified: the right CA is accepted, another or a missing one is refused, and no connection falls back to plain text")
def _():
    folder = db.start_with_tls()
    db.hba(db.HBA.replace("host all", "hostssl all"))
    db.sql("SELECT pg_reload_conf()")
    try:
        with Caller(CALL, uri(more="?tls=off"), "tls") as caller:
            has(caller.ask("ns", "REFUSED")["text"], "no encryption", "pg_hba.conf")
        for more in ("?tls=verify", "?tls=verify&ca=%s/other.pem" % folder, "?tls=verify&ca=/no/such"):
            with Caller(CALL, uri(more=more), "tls", PGSSLROOTCERT=folder + "/ca.pem") as caller:
                has(caller.ask("ns", "REFUSED")["text"], "certificate", "ca=FILE")
        with Caller(CALL, uri(more="?tls=verify&ca=%s/ca.pem" % folder), "tls") as caller:
            caller.ask("make 5 77", "OK")
            caller.ask("swap 7 0 10", "OK")
        with Caller(CALL, uri(more="?ca=%s/ca.pem" % folder), "tls") as caller:
            caller.ask("ns", "OK")
        other_name = uri(more="?ca=%s/ca.pem" % folder).replace("127.0.0.1", "localhost")  # the certificate is for the address
        with Caller(CALL, other_name, "tls") as caller:
            has(caller.ask("ns", "REFUSED")["text"], "does not match host name")
    finally:
        db.hba(db.HBA)
        db.sql("SELECT pg_reload_conf()")


# ---------------------------------------------------------------- standbys

def listed(*servers, ns_user="vesta:s3cret"):
    return "postgresql://%s@%s/vesta" % (ns_user, ",".join("127.0.0.1:%d" % server.port for server in servers))


@claim("a standby is refused by name, and a list of hosts leads to the primary, before and after a failover that loses a write")
def _():
    standby = PostgreSQL(primary=db).start()
    with Caller(CALL, uri(port=standby.port), "rights") as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10", "init"):
            has(caller.ask(order, "REFUSED")["text"], "recovery", "Name the primary in the store's URI, or all servers: HOST1,HOST2")
    with fresh("failover", listed(standby, db), call_ms=3000) as caller:
        caller.ask("swap 7 1 20", "OK")
        until(lambda: standby.has_replayed(db), "the standby has it")
        standby.sql("ALTER SYSTEM SET primary_conninfo = ''")
        standby.sql("SELECT pg_reload_conf()")
        until(lambda: standby.sql("SELECT COUNT(*) FROM pg_stat_wal_receiver") == "0", "the standby is cut off")
        caller.ask("swap 7 2 30", "OK")  # acknowledged, and lost
        db.stop(signal.SIGKILL)
        has(caller.settle("read 7", "DOWN")["text"], "Connection refused")  # the standby may be promoted at any time
        standby.promote()
        got = caller.settle("read 7")
        assert (got["ver"], got["until"]) == (2, 20), got
        caller.ask("swap 7 3 40", "CONFLICT")  # so the lease engine finds that the store went back
        caller.ask("swap 7 2 31", "OK")
    standby.end()
    db.start()


@claim("with a synchronous standby that is gone, no write is acknowledged, also if its wait is canceled")
def _():
    with fresh("sync", call_ms=1500) as caller:
        db.sql("ALTER SYSTEM SET synchronous_standby_names = 'ghost'")
        db.sql("SELECT pg_reload_conf()")
        try:
            until(lambda: db.sql("SHOW synchronous_standby_names") == "ghost", "it is set")
            waits = "SELECT %s FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

            def is_over():  # The store's own cancellation may have come first.
                db.sql(waits % "pg_cancel_backend(pid)")
                return db.sql(waits % "COUNT(*)") == "0"
            caller.ask("swap 7 1 20", "UNKNOWN")
            caller.ask("read 7", "OK", "DOWN")
            until(is_over, "its wait has ended")
            caller.settle("read 7")
            with Caller(CALL, uri(), "sync", call_ms=60000) as patient:
                patient.send("swap 7 2 30")
                until(lambda: "t" in db.sql(waits % "pg_cancel_backend(pid)"), "it is canceled")
                got = patient.answer()
            assert got["outcome"] == "UNKNOWN", got
            has(got["text"], "the wait for the standby was canceled")
        finally:
            db.sql("ALTER SYSTEM RESET ALL")
            db.sql("SELECT pg_reload_conf()")
        caller.settle("swap 7 3 40")


part = sys.argv[3] if len(sys.argv) > 3 else ""
if part:  # the state that the first claims leave
    with Caller(CALL, OWNER) as first:
        first.ask("init", "OK")
make_hostile()
main(part)
