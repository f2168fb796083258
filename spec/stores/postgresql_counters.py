"""postgresql_counters.py -- tests counters in PostgreSQL: the contract on our table, and on tables with the columns of
Leaf and of tinyid, next to programs that run Leaf's and tinyid's own SQL, and faults.  postgresql_counters.py STORE_CALL
STORE_COUNTERS STORE_RESERVATIONS"""
import sys
import threading

from servers import Caller, PgBouncer, PostgreSQL, Proxy, claim, contract, has, main, until

CALL, COUNTERS, RESERVATIONS = sys.argv[1:4]
db = PostgreSQL().start()
db.sql("CREATE ROLE owner LOGIN PASSWORD 'o'; CREATE ROLE taker LOGIN PASSWORD 't'")
db.sql("CREATE DATABASE leaf OWNER owner")
db.sql("ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, UPDATE ON TABLES TO taker", "leaf")
HASTY_MS = 800  # short, because these cases wait for the deadline

# the columns of their projects' SQL files, in the types that PostgreSQL has for them
LEAF = ("CREATE TABLE %s (biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL,"
        " description varchar(256), update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)")
TINYID = ("CREATE TABLE %s (id bigserial PRIMARY KEY, biz_type varchar(63) NOT NULL DEFAULT '' UNIQUE, begin_id bigint NOT NULL DEFAULT 0,"
          " max_id bigint NOT NULL DEFAULT 0, step integer DEFAULT 0, delta integer NOT NULL DEFAULT 1, remainder integer NOT NULL DEFAULT 0,"
          " create_time timestamp NOT NULL DEFAULT '2010-01-01', update_time timestamp NOT NULL DEFAULT '2010-01-01',"
          " version bigint NOT NULL DEFAULT 0)")


def uri(user="taker:t", port=None, more=""):
    return "postgresql://%s@127.0.0.1:%d/leaf%s" % (user, port or db.port, more)


OWNER = uri("owner:o")


def taker(**kw):
    return Caller(CALL, uri(), **kw)


def sql(text):
    return db.sql(text, "leaf")


def made(text):
    """Runs statements as the owner, so that the users have their rights on the tables."""
    sql("SET ROLE owner; " + text)


def row(tag, max_id=1, step=10, table="leaf_alloc"):
    sql("DELETE FROM %s WHERE biz_tag = '%s'; INSERT INTO %s (biz_tag, max_id, step) VALUES ('%s', %s, %s)" % (table, tag, table, tag, max_id, step))


def tiny(change, tag="test"):
    sql("DELETE FROM tiny_id_info WHERE biz_type = '%s'; INSERT INTO tiny_id_info (biz_type, max_id, step) VALUES ('%s', 0, 10);"
        "UPDATE tiny_id_info SET %s WHERE biz_type = '%s'" % (tag, tag, change, tag))


def stands_at(tag, table="leaf_alloc"):
    return int(sql("SELECT max_id FROM %s WHERE biz_tag = '%s'" % (table, tag)))


def took(got):
    return got["from"], got["to"]


@claim("without the table, the store is refused with the command that creates it, and a user with the right creates it")
def _():
    with taker() as caller:
        for order in ("take orders 5", "untake orders 1 5", "add orders 1 10", "step orders 10", "tags"):
            has(caller.ask(order, "REFUSED")["text"], "has no table leaf_alloc", "vesta store init --segments")
        has(caller.ask("segments", "REFUSED")["text"], "permission denied for schema public", 'GRANT USAGE, CREATE ON SCHEMA "public" TO "taker"')
    with Caller(CALL, OWNER) as caller:
        caller.ask("segments", "OK")
        caller.ask("segments", "OK")  # a second time, it changes nothing
        caller.ask("add orders 1 10", "OK")
    with taker() as caller:
        caller.ask("segments", "OK")  # nor does it need the right to create then
        assert took(caller.ask("take orders 0", "OK")) == (1, 11)
        has(caller.ask("add other 1 10", "REFUSED")["text"], "permission denied for table leaf_alloc", 'GRANT SELECT, INSERT, UPDATE ON "public"."leaf_alloc" TO "taker"')
    tables = sql("SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
    assert tables == "leaf_alloc vesta_reservation vesta_segment_share", tables  # no other table is needed


@claim("the contract of counters holds in a table of Leaf and in one of tinyid, under any name")
def _():
    made(LEAF % "leaf_of_leaf" + ";" + TINYID % "tiny_id_info" + ";" + TINYID % '"Counters_of_$"')
    for table in ("leaf_of_leaf", "Counters_of_$"):
        contract(COUNTERS, (OWNER, table), 16)


@claim("the contract of reservations holds with our table and with tinyid's")
def _():
    for table in ("-", "tiny_id_info"):
        contract(RESERVATIONS, (OWNER, table), 7)


@claim("whatever the user's settings are, also through pgbouncer in transaction mode, numbers are granted as usual")
def _():
    pool = PgBouncer(db, owner="o")
    for isolation, port in (("serializable", db.port), ("repeatable read", pool.port)):
        for setting in ("default_transaction_isolation = '%s'" % isolation, "statement_timeout = 200", "lock_timeout = 1", "search_path = 'nowhere'",
                        "idle_in_transaction_session_timeout = 1", "standard_conforming_strings = off", "DateStyle = 'German'",
                        "TimeZone = 'Asia/Kathmandu'", "bytea_output = escape", "default_transaction_read_only = on"):
            sql("ALTER ROLE owner SET " + setting)
        try:
            for claims in ("concurrent takers", "a list of tags"):
                contract(COUNTERS, (uri("owner:o", port), "-", claims), 1)
            contract(RESERVATIONS, (uri("owner:o", port), "-", "after reservers were killed"), 1)
        finally:
            sql("ALTER ROLE owner RESET ALL")


@claim("a standby takes no number, and after its promotion it continues above every number of the primary")
def _():
    row("moved", 500)
    with taker() as caller:
        assert took(caller.ask("take moved 5", "OK")) == (500, 505)
    standby = PostgreSQL(primary=db).start()
    with Caller(CALL, uri(port=standby.port)) as caller:
        for order in ("take moved 5", "untake moved 500 505", "step moved 7", "tags"):
            has(caller.ask(order, "REFUSED")["text"], "cannot set transaction read-write mode during recovery", "Name the primary")
        until(lambda: standby.has_replayed(db), "the standby has the counter")
        standby.promote()
        assert took(caller.settle("take moved 5")) == (505, 510)
    standby.end()


@claim("a table with other columns is reported as such")
def _():
    made("CREATE TABLE other (biz_tag varchar(20) PRIMARY KEY, max_id bigint, step integer)")
    with Caller(CALL, uri(), STORE_TABLE="other") as caller:
        has(caller.ask("take orders 5", "REFUSED")["text"], "the table other has neither the columns of")
        sql("ALTER TABLE other ADD update_time timestamptz")
        row("orders", table="other")
        assert took(caller.ask("take orders 5", "OK")) == (1, 6)
        sql("ALTER TABLE other DROP max_id")
        caller.ask("take orders 5", "REFUSED")
        sql("DROP TABLE other")
        has(caller.ask("take orders 5", "REFUSED")["text"], "has no table other")


@claim("a similar name and a table in another schema are named, and schema= in the URI selects that schema")
def _():
    made("CREATE SCHEMA s2 AUTHORIZATION owner; " + LEAF % 's2.only_here' + ";" + LEAF % '"Quoted_Name"')
    for table, part in (("only_here", "no table only_here in the schema public, but one in the schema s2: add schema=s2 to the URI"),
                        ("quoted_name", "no table quoted_name in the schema public, but Quoted_Name: use that name"),
                        ("x" * 64, "has no table " + "x" * 64)):
        with Caller(CALL, uri(), STORE_TABLE=table) as caller:
            has(caller.ask("take orders 5", "REFUSED")["text"], part)
    with Caller(CALL, OWNER + "?schema=s2", STORE_TABLE="only_here") as caller:
        caller.ask("add orders 7 10", "OK")
        assert took(caller.ask("take orders 5", "OK")) == (7, 12)
    with Caller(CALL, uri(more="?schema=s2"), STORE_TABLE="only_here") as caller:
        has(caller.ask("take orders 5", "REFUSED")["text"], "permission denied for schema s2", 'GRANT USAGE ON SCHEMA "s2" TO "taker"')
    with Caller(CALL, uri(more="?schema=s3")) as caller:
        has(caller.ask("take orders 5", "REFUSED")["text"], "has no schema s3", "CREATE SCHEMA")


HOSTILE = [
    ("max_id = -1", 5, "is at -1, below 0"),
    ("max_id = 9223372036854775807", 1, "exceed 2^63 - 1"),
    ("max_id = 9223372036854775800", 8, "is at 9223372036854775800: 8 more would exceed 2^63 - 1"),
    ("step = 0", 0, "vesta segments step hostile N"),
    ("step = -5", 7, "a step of -5"),
    ("step = -5", 0, "a step of -5"),
]


@claim("a row with unusable values is refused with the tag's name, and is not changed")
def _():
    for change, step, part in HOSTILE:
        row("hostile")
        sql("UPDATE leaf_alloc SET %s WHERE biz_tag = 'hostile'" % change)
        before = sql("SELECT * FROM leaf_alloc WHERE biz_tag = 'hostile'")
        with taker() as caller:
            has(caller.ask("take hostile %d" % step, "REFUSED")["text"], "'hostile'", part)
        assert sql("SELECT * FROM leaf_alloc WHERE biz_tag = 'hostile'") == before
    row("hostile", 1, 0)
    with taker() as caller:
        got = caller.ask("take hostile 5", "OK")
        assert took(got) == (1, 6) and got["step"] == 0, got
    made("CREATE TABLE wide (biz_tag varchar(20), max_id numeric(30,2), step bigint, update_time timestamp); GRANT INSERT ON wide TO taker")
    with Caller(CALL, uri(), STORE_TABLE="wide") as caller:
        row("wide", "99999999999999999999", 1, "wide")
        for value, part in (("99999999999999999999", "max_id is '99999999999999999999.00', which is not a 64-bit number"), ("NULL", "max_id is NULL"),
                            ("'NaN'", "max_id is 'NaN'"), ("5", "max_id is '5.00'")):
            sql("UPDATE wide SET max_id = %s" % value)
            before = sql("SELECT * FROM wide")
            for order in ("take wide 5", "add wide 1 5", "step wide 9", "untake wide 4 5", "reserve wide 1 1000"):
                has(caller.ask(order, "REFUSED")["text"], "the row of tag 'wide' cannot be used" if order[0] != "r" else "", part if order[0] != "r" else "")
            assert sql("SELECT * FROM wide") == before
            got = caller.ask("tags", "OK")
            assert (got["count"], got["passed"], got["unusable"]) == (1, 0, 1), got
            has(got["text"], "wide: ", part)
        sql("ALTER TABLE wide ALTER max_id TYPE numeric(10)")
        row("wide", 9999999990, 5, "wide")
        assert took(caller.ask("take wide 5", "OK")) == (9999999990, 9999999995)
        has(caller.ask("take wide 5", "REFUSED")["text"], "numeric field overflow")
        sql("UPDATE wide SET max_id = 1; ALTER TABLE wide ALTER max_id TYPE integer")
        row("wide", 2147483640, 5, "wide")
        has(caller.ask("take wide 8", "REFUSED")["text"], "integer out of range")
        assert took(caller.ask("take wide 7", "OK")) == (2147483640, 2147483647)
        sql("DELETE FROM wide; ALTER TABLE wide ALTER max_id TYPE bigint")
        row("wide", 1, 5000000000, "wide")
        has(caller.ask("take wide 5", "REFUSED")["text"], "a step of 5000000000")
        sql("DELETE FROM wide")
        sql("INSERT INTO wide (biz_tag, max_id, step) VALUES ('wide', 1, 5), ('wide', 9, 5)")
        has(caller.ask("take wide 5", "REFUSED")["text"], "has tag 'wide' twice: make biz_tag its primary key")
        assert sql("SELECT string_agg(max_id::text, ' ') FROM wide") == "1 9"
    for kind in ("text", "double precision", "real", "varchar(20)", "date"):
        sql("DROP TABLE wide")
        made("CREATE TABLE wide (biz_tag varchar(20), max_id %s, step bigint, update_time bigint)" % kind)
        with Caller(CALL, uri(), STORE_TABLE="wide") as caller:
            for order in ("take wide 5", "tags"):
                has(caller.ask(order, "REFUSED")["text"], "max_id has the type " + kind.replace("varchar", "character varying"), "TYPE bigint")
    sql("DROP TABLE wide")


@claim("tinyid's share of a counter is part of each range, and an invalid share is refused")
def _():
    with Caller(CALL, uri(), STORE_TABLE="tiny_id_info") as caller:
        tiny("delta = 2, remainder = 1, max_id = 100")
        got = caller.ask("take test 0", "OK")
        assert took(got) == (101, 111) and (got["delta"], got["remainder"], got["step"]) == (2, 1, 10), got
        assert sql("SELECT max_id, version FROM tiny_id_info WHERE biz_type = 'test'") == "110|1"
        caller.ask("untake test 105 111", "OK")
        assert sql("SELECT max_id, version FROM tiny_id_info WHERE biz_type = 'test'") == "104|2"
        for change, part in (("delta = 0", "a delta of 0"), ("delta = -1", "a delta of -1"), ("delta = 2, remainder = 2", "a remainder of 2 with a delta of 2"),
                             ("remainder = -1", "a remainder of -1"), ("max_id = 9223372036854775807", "cannot be used"),
                             ("max_id = -2", "is at -1, below 0")):
            tiny(change)
            before = sql("SELECT * FROM tiny_id_info WHERE biz_type = 'test'")
            has(caller.ask("take test 5", "REFUSED")["text"], "'test'", part)
            assert sql("SELECT * FROM tiny_id_info WHERE biz_type = 'test'") == before


@claim("a take sets update_time, and a NULL step of tinyid is its default 0")
def _():
    recent = "update_time >= now() - interval '1 minute'"
    with Caller(CALL, uri(), STORE_TABLE="tiny_id_info") as caller:
        tiny("step = NULL")
        has(caller.ask("take test 0", "REFUSED")["text"], "tag 'test' has a step of 0")
        assert caller.ask("take test 5", "OK")["step"] == 0
        assert sql("SELECT %s FROM tiny_id_info WHERE biz_type = 'test'" % recent) == "t"
        got = caller.ask("tags", "OK")
        assert got["unusable"] == 0, got
    made("CREATE TABLE odd (biz_tag text PRIMARY KEY, max_id integer, step smallint, update_time bigint)")  # the writers' own clock
    row("orders", table="odd")
    with Caller(CALL, uri(), STORE_TABLE="odd") as caller:
        assert took(caller.ask("take orders 5", "OK")) == (1, 6)
    sql("UPDATE leaf_alloc SET update_time = 'infinity'")
    with taker() as caller:
        caller.ask("tags", "OK")
        caller.ask("take orders 5", "OK")
    assert sql("SELECT %s FROM leaf_alloc WHERE biz_tag = 'orders'" % recent) == "t"


@claim("a table that a crash would empty can be read, but no number is taken from it or added to it, and neither from a view")
def _():
    made(LEAF % "unsafe" + "; ALTER TABLE unsafe SET UNLOGGED; CREATE VIEW seen AS SELECT * FROM leaf_alloc")
    row("a", table="unsafe")
    with Caller(CALL, OWNER, STORE_TABLE="unsafe") as caller:
        for order in ("take a 5", "untake a 1 5", "add b 1 5", "step a 7"):
            has(caller.ask(order, "REFUSED")["text"], "unsafe is not an ordinary, logged table", "SET LOGGED")
        assert caller.ask("tags", "OK")["count"] == 1
    sql("ALTER TABLE unsafe SET LOGGED; ALTER TABLE vesta_segment_share SET UNLOGGED")
    with Caller(CALL, OWNER, STORE_TABLE="unsafe") as caller:
        has(caller.ask("take a 5", "REFUSED")["text"], "vesta_segment_share is not an ordinary, logged table")
    sql("ALTER TABLE vesta_segment_share SET LOGGED")
    with Caller(CALL, OWNER, STORE_TABLE="seen") as caller:
        has(caller.ask("take orders 5", "REFUSED")["text"], "seen is not an ordinary")


@claim("a type or a collation that ignores case does not make two tags equal")
def _():
    made("CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
    made("CREATE TABLE nocase (biz_tag varchar(128) COLLATE nocase PRIMARY KEY, max_id bigint, step integer, update_time timestamp)")
    row("Orders", 500, table="nocase")
    with Caller(CALL, OWNER, STORE_TABLE="nocase") as caller:
        for tag in ("orders", "ORDERS"):
            for order in ("take %s 5", "step %s 5"):
                has(caller.ask(order % tag, "REFUSED")["text"], "has no tag '%s', but 'Orders'" % tag, "the collation of biz_tag treats as equal: use that tag")
            caller.ask("untake %s 1 500" % tag, "CONFLICT")
            has(caller.ask("add %s 1 5" % tag, "CONFLICT")["text"], "has no tag '%s', but 'Orders'" % tag)
        assert took(caller.ask("take Orders 5", "OK")) == (500, 505)


@claim("rows whose name is not a valid tag are skipped and counted, and one is named")
def _():
    for tag in ("it''s", "x" * 65, "", "\xe4"):
        row(tag)
    with taker() as caller:
        got = caller.ask("tags", "OK")
        assert got["passed"] == 4 and got["count"] >= 1, got
    sql("DELETE FROM leaf_alloc WHERE biz_tag IN ('it''s', '%s', '', '\xe4')" % ("x" * 65))


@claim("a locked row: the write is not done before the deadline, and succeeds later")
def _():
    row("locked")
    session = db.session("leaf")
    with taker() as caller:
        try:
            session.stdin.write("BEGIN; SELECT max_id FROM leaf_alloc WHERE biz_tag = 'locked' FOR UPDATE;\n")
            session.stdout.readline()
            for order in ("take locked 5", "untake locked 1 2", "step locked 7"):
                has(caller.ask(order, "DOWN")["text"], "lock timeout", "pg_stat_activity")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert took(caller.ask("take locked 0", "OK")) == (1, 11)


def trigger(body, table="leaf_alloc"):
    """A trigger before each UPDATE of the table."""
    made("CREATE OR REPLACE FUNCTION meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN %s END $$;"
         "CREATE OR REPLACE TRIGGER meddle BEFORE UPDATE ON %s FOR EACH ROW EXECUTE FUNCTION meddle()" % (body, table))


def no_trigger(table="leaf_alloc"):
    sql("DROP TRIGGER meddle ON %s" % table)


@claim("a deadlock or a conflict of transactions: the write is not done, and succeeds later")
def _():
    row("dead")
    with taker() as caller:
        for state in ("deadlock_detected", "serialization_failure"):
            trigger("RAISE '%s' USING ERRCODE = '%s';" % (state, state))
            try:
                has(caller.ask("take dead 5", "DOWN")["text"], state)
            finally:
                no_trigger()
        assert took(caller.ask("take dead 5", "OK")) == (1, 6)


@claim("a trigger that suppresses or changes a write: no number of it is granted")
def _():
    row("meddled")
    with taker() as caller:
        for body, outcome, part in (("RETURN NULL;", "REFUSED", "was not changed for tag 'meddled'"),
                                    ("NEW.max_id = OLD.max_id; RETURN NEW;", "UNKNOWN", "has other values for tag 'meddled'"),
                                    ("NEW.max_id = NEW.max_id + 1; RETURN NEW;", "UNKNOWN", "has other values")):
            trigger(body)
            try:
                has(caller.ask("take meddled 5", outcome)["text"], part)
            finally:
                no_trigger()


def slow_writes(seconds):
    trigger("PERFORM pg_sleep(%d); RETURN NEW;" % seconds)


WRITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


@claim("a connection killed during its write: not done; a lost reply: unknown and done, and its numbers are lost")
def _():
    row("severed")
    proxy = Proxy(db.port)
    slow_writes(2)
    try:
        with Caller(CALL, uri(port=proxy.port)) as caller:
            caller.send("take severed 5")
            sql("SELECT pg_terminate_backend(%s)" % until(lambda: sql(WRITING), "it writes"))
            assert caller.answer()["outcome"] == "UNKNOWN"
            assert stands_at("severed") == 1
            caller.send("take severed 5")
            until(lambda: sql(WRITING), "it writes")
            proxy.lose_answers = True
            assert caller.answer()["outcome"] == "UNKNOWN"
            proxy.lose_answers = False
            until(lambda: not sql(WRITING), "it has written")
    finally:
        no_trigger()
    assert stands_at("severed") == 6
    with taker() as caller:
        assert took(caller.ask("take severed 5", "OK")) == (6, 11)


@claim("after a lost reply, a repeated reserve or commit with the same token returns the same number")
def _():
    row("lost", 1)
    proxy = Proxy(db.port)
    slow_writes(2)
    with Caller(CALL, uri("owner:o", proxy.port)) as caller:
        try:
            caller.send("reserve lost 77 3600000")
            until(lambda: sql(WRITING), "it writes")
            proxy.lose_answers = True
            assert caller.answer()["outcome"] == "UNKNOWN"
            proxy.lose_answers = False
        finally:
            until(lambda: not sql(WRITING), "it has written")
            no_trigger()
        assert caller.settle("reserve lost 77 3600000")["from"] == 1
        assert caller.ask("reserve lost 78 3600000", "OK")["from"] == 2
        proxy.lose_answers = True
        caller.ask("commit lost 77 1", "UNKNOWN", "DOWN")
        proxy.lose_answers = False
        caller.settle("commit lost 77 1")
        has(caller.ask("cancel lost 77 1", "REFUSED")["text"], "is committed and cannot be cancelled")
        assert stands_at("lost") == 3


@claim("a counter that went back reserves no number twice, and a missing table, right or single database is reported")
def _():
    row("back", 1)
    with Caller(CALL, OWNER) as caller:
        for token in (1, 2):
            assert caller.ask("reserve back %d 3600000" % token, "OK")["from"] == token
            caller.ask("commit back %d %d" % (token, token), "OK")
        has(caller.ask("reserve back 3 3600000 4", "REFUSED")["text"], "went back: it is at 3, but this host was granted all numbers below 4")
        sql("UPDATE leaf_alloc SET max_id = 1 WHERE biz_tag = 'back'")
        has(caller.ask("reserve back 3 3600000", "REFUSED")["text"], "the counter 'back' went back: it is at 1, a number that was reserved before")
        assert stands_at("back") == 1
        sql("UPDATE leaf_alloc SET max_id = 3 WHERE biz_tag = 'back'")
        assert caller.ask("reserve back 3 3600000", "OK")["from"] == 3
        sql("ALTER TABLE vesta_reservation RENAME TO away")
        try:
            for order in ("reserve back 4 3600000", "commit back 3 3", "cancel back 3 3"):
                has(caller.ask(order, "REFUSED")["text"], "no table vesta_reservation", "vesta store init --segments")
        finally:
            sql("ALTER TABLE away RENAME TO vesta_reservation")
        with taker() as other:
            for order in ("reserve back 4 3600000",):
                has(other.ask(order, "REFUSED")["text"], "permission denied for table vesta_reservation", 'GRANT SELECT, INSERT, UPDATE ON "public"."vesta_reservation" TO "taker"')
    tiny("delta = 2, remainder = 1", "half")
    with Caller(CALL, OWNER, STORE_TABLE="tiny_id_info") as caller:
        has(caller.ask("reserve half 1 3600000", "REFUSED")["text"], "a delta of 2", "in a single database")


@claim("a server that stops: a call ends at its deadline")
def _():
    row("stopped")
    with taker(call_ms=HASTY_MS) as caller:
        caller.ask("take stopped 5", "OK")
        db.pause()
        try:
            for order in ("take stopped 5", "untake stopped 1 6", "tags"):
                got = caller.ask(order, "DOWN", "UNKNOWN")
                assert got["ms"] < 15000, got
        finally:
            db.go_on()
        caller.settle("take stopped 5")


@claim("a sequence and a table with an identity column show their next number, and nothing is taken from them")
def _():
    made("CREATE TABLE photos (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x text); CREATE TABLE serials (id serial);"
         "CREATE SEQUENCE pooled INCREMENT 50; CREATE SEQUENCE down INCREMENT -1; CREATE SEQUENCE round MAXVALUE 5 CYCLE")

    def stands(table, want="OK", user=OWNER):
        with Caller(CALL, user, STORE_TABLE=table) as caller:
            got = caller.ask("tags", want)
            return got["text"] if want != "OK" else (got["from"], got["delta"], got["remainder"])
    for name in ("photos", "photos_id_seq", "serials"):
        has(stands(name, "REFUSED"), "was never used, or was reset", "--from N")
    sql("INSERT INTO photos (x) VALUES ('a'), ('b'); DELETE FROM photos; INSERT INTO serials DEFAULT VALUES; SELECT nextval('pooled')")
    assert stands("photos") == stands("photos_id_seq") == (3, 1, 0)
    assert stands("serials") == stands("serials_id_seq") == (2, 1, 0)
    sql("INSERT INTO photos (id) VALUES (500)")
    assert stands("photos") == (501, 1, 0) and stands("photos_id_seq") == (3, 1, 0)
    assert stands("pooled") == (51, 1, 0)  # above every number of a program that uses 50 numbers per nextval
    sql("SELECT setval('pooled', 700, false)")
    assert stands("pooled") == (700, 1, 0)
    has(stands("down", "REFUSED"), "counts down")
    has(stands("round", "REFUSED"), "starts again at its end")
    sql("SELECT setval('photos_id_seq', 9223372036854775807)")
    has(stands("photos", "REFUSED"), "is at 9223372036854775807")
    has(stands("serials_id_seq", "REFUSED", uri()), "permission denied for sequence", 'GRANT USAGE, SELECT ON SEQUENCE "public"."serials_id_seq" TO "taker"')
    with Caller(CALL, OWNER, STORE_TABLE="photos") as caller:
        for order in ("take photos 5", "untake photos 1 5", "add photos 1 5", "step photos 5"):
            has(caller.ask(order, "REFUSED")["text"], "belongs to a sequence", "vesta segments import")


def taken_by_us(ranges, table, tag, count, step):
    with Caller(CALL, uri(), STORE_TABLE=table) as caller:
        while count:
            got = caller.ask("take %s %d" % (tag, step), "OK", "CONFLICT", "DOWN")
            if got["outcome"] == "OK":
                ranges.append(took(got))
                count -= 1


def taken_by_leaf(ranges, tag, count):
    """Runs the statements of Leaf's IDAllocMapper, in one transaction of one session."""
    session = db.session("leaf")
    for _ in range(count):
        session.stdin.write("BEGIN; UPDATE leaf_alloc SET max_id = max_id + step WHERE biz_tag = '%s';"
                            "SELECT biz_tag, max_id, step FROM leaf_alloc WHERE biz_tag = '%s'; COMMIT;\n" % (tag, tag))
        _, max_id, step = session.stdout.readline().split("|")
        ranges.append((int(max_id) - int(step), int(max_id)))
    session.communicate(timeout=20)


def taken_by_tinyid(ranges, tag, count):
    """Runs the statements of tinyid's DbSegmentIdServiceImpl: read committed, and an update by version, repeated after
    a conflict."""
    session = db.session("leaf")
    while count:
        session.stdin.write("BEGIN; SELECT id, max_id, step, version FROM tiny_id_info WHERE biz_type = '%s';\n" % tag)
        number, max_id, step, version = (int(cell) for cell in session.stdout.readline().split("|"))
        session.stdin.write("WITH w AS (UPDATE tiny_id_info SET max_id = %d, update_time = now(), version = version + 1 WHERE id = %d AND max_id = %d"
                            " AND version = %d AND biz_type = '%s' RETURNING 1) SELECT COUNT(*) FROM w; COMMIT;\n" % (max_id + step, number, max_id, version, tag))
        if int(session.stdout.readline()) == 1:
            ranges.append((max_id + 1, max_id + step + 1))
            count -= 1
    session.communicate(timeout=20)


def side_by_side(*takers):
    """Runs all takers at once.  Returns their ranges in order.  They must be consecutive."""
    ranges, threads = [], []
    for function, *args in takers:
        threads.append(threading.Thread(target=function, args=(ranges, *args)))
        threads[-1].start()
    for thread in threads:
        thread.join()
    ranges.sort()
    assert len(ranges) == sum(args[-2] if function is taken_by_us else args[-1] for function, *args in takers), "one of them ended early"
    for one, next_one in zip(ranges, ranges[1:]):
        assert one[1] == next_one[0], (one, next_one)
    return ranges


@claim("next to a Leaf server on the same row, no number is taken twice or skipped")
def _():
    row("shared", 1, 7)
    ranges = side_by_side((taken_by_leaf, "shared", 150), (taken_by_leaf, "shared", 150), (taken_by_us, "leaf_alloc", "shared", 150, 3),
                          (taken_by_us, "leaf_alloc", "shared", 150, 0))
    assert ranges[0][0] == 1 and ranges[-1][1] == stands_at("shared") == 1 + 7 * 450 + 3 * 150


@claim("next to a tinyid server on the same row, no number is taken twice or skipped")
def _():
    tiny("step = 7", "shared")
    ranges = side_by_side((taken_by_tinyid, "shared", 60), (taken_by_tinyid, "shared", 60), (taken_by_us, "tiny_id_info", "shared", 60, 3))
    assert ranges[0][0] == 1 and ranges[-1][1] == 1 + 7 * 120 + 3 * 60


main(sys.argv[4] if len(sys.argv) > 4 else "")
