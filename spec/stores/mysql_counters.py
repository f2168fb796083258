"""mysql_counters.py -- tests counters in MariaDB: the contract on Leaf's table, on tinyid's, and on ours, next to
programs that run Leaf's and tinyid's own SQL, and faults.  mysql_counters.py STORE_CALL STORE_COUNTERS
STORE_RESERVATIONS"""
import sys
import threading

from servers import Caller, MariaDB, Proxy, claim, contract, has, main, until

CALL, COUNTERS, RESERVATIONS = sys.argv[1:4]
db = MariaDB().start()
db.sql("CREATE DATABASE leaf; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'o'; GRANT ALL ON leaf.* TO owner@'127.0.0.1';"
       "CREATE USER taker@'127.0.0.1' IDENTIFIED BY 't'; GRANT SELECT, UPDATE ON leaf.* TO taker@'127.0.0.1'")
HASTY_MS = 800  # short, because these cases wait for the deadline

# from the SQL files of their projects
LEAF = ("CREATE TABLE leaf.%s (`biz_tag` varchar(128) NOT NULL DEFAULT '', `max_id` bigint(20) NOT NULL DEFAULT '1', `step` int(11) NOT NULL,"
        "`description` varchar(256) DEFAULT NULL, `update_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,"
        "PRIMARY KEY (`biz_tag`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3")
TINYID = ("CREATE TABLE leaf.%s (`id` bigint(20) unsigned NOT NULL AUTO_INCREMENT, `biz_type` varchar(63) NOT NULL DEFAULT '',"
          "`begin_id` bigint(20) NOT NULL DEFAULT '0', `max_id` bigint(20) NOT NULL DEFAULT '0', `step` int(11) DEFAULT '0',"
          "`delta` int(11) NOT NULL DEFAULT '1', `remainder` int(11) NOT NULL DEFAULT '0',"
          "`create_time` timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', `update_time` timestamp NOT NULL DEFAULT '2010-01-01 00:00:00',"
          "`version` bigint(20) NOT NULL DEFAULT '0', PRIMARY KEY (`id`), UNIQUE KEY `uniq_biz_type` (`biz_type`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3")


def uri(user="taker:t", port=None, more=""):
    return "mysql://%s@127.0.0.1:%d/leaf%s" % (user, port or db.port, more)


def taker(**kw):
    return Caller(CALL, uri(), **kw)


def row(tag, max_id=1, step=10, table="leaf_alloc"):
    db.sql("REPLACE INTO leaf.%s (biz_tag, max_id, step) VALUES ('%s', %s, %s)" % (table, tag, max_id, step))


def stands_at(tag, table="leaf_alloc"):
    return int(db.sql("SELECT max_id FROM leaf.%s WHERE biz_tag = '%s'" % (table, tag)))


def held_by(session, tag):
    session.stdin.write("BEGIN; SELECT max_id FROM leaf.leaf_alloc WHERE biz_tag = '%s' FOR UPDATE;\n" % tag)
    session.stdout.readline()


def took(got):
    return got["from"], got["to"]


@claim("without the table, the store is refused with the command that creates it, and a user with the right creates it")
def _():
    with taker() as caller:
        for order in ("take orders 5", "untake orders 1 5", "add orders 1 10", "step orders 10", "tags"):
            has(caller.ask(order, "REFUSED")["text"], "has no table leaf_alloc", "vesta store init --segments")
        has(caller.ask("segments", "REFUSED")["text"], "CREATE command denied")
    with Caller(CALL, uri("owner:o")) as caller:
        caller.ask("segments", "OK")
        caller.ask("segments", "OK")  # a second time, it changes nothing
        caller.ask("add orders 1 10", "OK")
    with taker() as caller:
        assert took(caller.ask("take orders 0", "OK")) == (1, 11)
        has(caller.ask("add other 1 10", "REFUSED")["text"], "INSERT command denied")
    assert db.sql("SHOW TABLES IN leaf").split() == ["leaf_alloc", "vesta_reservation", "vesta_segment_share"]  # no other table is needed


@claim("the contract of counters holds in our table, in Leaf's and in tinyid's, under any name")
def _():
    db.sql(LEAF % "leaf_of_leaf" + ";" + TINYID % "tiny_id_info" + ";" + TINYID % "counters_of_ours")
    for table in ("-", "leaf_of_leaf", "tiny_id_info", "counters_of_ours"):
        contract(COUNTERS, (uri("owner:o"), table), 16)


@claim("the contract of reservations holds with our table, Leaf's and tinyid's")
def _():
    for table in ("-", "leaf_of_leaf", "tiny_id_info"):
        contract(RESERVATIONS, (uri("owner:o"), table), 7)


@claim("a table with other columns is reported as such")
def _():
    db.sql("CREATE TABLE leaf.other (biz_tag VARCHAR(20) PRIMARY KEY, max_id BIGINT, step INT)")
    with Caller(CALL, uri(), STORE_TABLE="other") as caller:
        has(caller.ask("take orders 5", "REFUSED")["text"], "the table other has neither the columns of")
        db.sql("ALTER TABLE leaf.other ADD update_time TIMESTAMP")
        row("orders", table="other")
        assert took(caller.ask("take orders 5", "OK")) == (1, 6)
        db.sql("ALTER TABLE leaf.other DROP max_id")
        caller.ask("take orders 5", "REFUSED")
        db.sql("DROP TABLE leaf.other")
        has(caller.ask("take orders 5", "REFUSED")["text"], "has no table other")


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
        db.sql("UPDATE leaf.leaf_alloc SET %s WHERE biz_tag = 'hostile'" % change)
        before = db.sql("SELECT * FROM leaf.leaf_alloc WHERE biz_tag = 'hostile'")
        with taker() as caller:
            has(caller.ask("take hostile %d" % step, "REFUSED")["text"], "'hostile'", part)
        assert db.sql("SELECT * FROM leaf.leaf_alloc WHERE biz_tag = 'hostile'") == before
    row("hostile", 1, 0)
    with taker() as caller:
        got = caller.ask("take hostile 5", "OK")
        assert took(got) == (1, 6) and got["step"] == 0, got
    db.sql("CREATE TABLE leaf.wide (biz_tag VARCHAR(20), max_id DECIMAL(30,2), step BIGINT, update_time TIMESTAMP)")
    with Caller(CALL, uri(), STORE_TABLE="wide") as caller:
        row("wide", "99999999999999999999", 1, "wide")
        for value, part in (("99999999999999999999", "max_id is '99999999999999999999.00', which is not a 64-bit number"), ("NULL", "max_id is NULL")):
            db.sql("UPDATE leaf.wide SET max_id = %s" % value)
            for order in ("take wide 5", "add wide 1 5"):
                has(caller.ask(order, "REFUSED")["text"], "the row of tag 'wide' cannot be used", part)
            got = caller.ask("tags", "OK")
            assert (got["count"], got["passed"], got["unusable"]) == (1, 0, 1), got
            has(got["text"], "wide: ", part)
        db.sql("ALTER TABLE leaf.wide MODIFY max_id BIGINT; DELETE FROM leaf.wide")
        row("wide", 1, 5000000000, "wide")
        has(caller.ask("take wide 5", "REFUSED")["text"], "a step of 5000000000")
        db.sql("DELETE FROM leaf.wide")
        row("wide", 1, 5, "wide")
        row("wide", 9, 5, "wide")
        has(caller.ask("take wide 5", "REFUSED")["text"], "has tag 'wide' twice: make biz_tag its primary key")


@claim("tinyid's share of a counter is part of each range, and an invalid share is refused")
def _():
    with Caller(CALL, uri(), STORE_TABLE="tiny_id_info") as caller:
        def tiny(change):
            db.sql("REPLACE INTO leaf.tiny_id_info (biz_type, max_id, step, delta, remainder) VALUES ('test', 0, 10, 1, 0);"
                   "UPDATE leaf.tiny_id_info SET %s WHERE biz_type = 'test'" % change)
        tiny("delta = 2, remainder = 1, max_id = 100")
        got = caller.ask("take test 0", "OK")
        assert took(got) == (101, 111) and (got["delta"], got["remainder"], got["step"]) == (2, 1, 10), got
        assert db.sql("SELECT max_id, version FROM leaf.tiny_id_info WHERE biz_type = 'test'") == "110\t1"
        caller.ask("untake test 105 111", "OK")
        assert db.sql("SELECT max_id, version FROM leaf.tiny_id_info WHERE biz_type = 'test'") == "104\t2"
        for change, part in (("delta = 0", "a delta of 0"), ("delta = -1", "a delta of -1"), ("delta = 2, remainder = 2", "a remainder of 2 with a delta of 2"),
                             ("remainder = -1", "a remainder of -1"), ("max_id = 9223372036854775807", "cannot be used"),
                             ("max_id = -2", "is at -1, below 0")):
            tiny(change)
            has(caller.ask("take test 5", "REFUSED")["text"], "'test'", part)


@claim("a take from tinyid's table sets update_time as tinyid does, and a NULL step is its default 0")
def _():
    with Caller(CALL, uri(), STORE_TABLE="tiny_id_info") as caller:
        db.sql("REPLACE INTO leaf.tiny_id_info (biz_type, max_id, step) VALUES ('test', 0, NULL)")
        has(caller.ask("take test 0", "REFUSED")["text"], "tag 'test' has a step of 0")
        assert caller.ask("take test 5", "OK")["step"] == 0
        assert db.sql("SELECT update_time >= NOW() - INTERVAL 1 MINUTE FROM leaf.tiny_id_info WHERE biz_type = 'test'") == "1"
        got = caller.ask("tags", "OK")
        assert got["unusable"] == 0, got


@claim("a table with an engine that is not durable can be read, but no number is taken from it or added to it")
def _():
    db.sql(LEAF % "unsafe")
    row("a", table="unsafe")
    for engine in ("MEMORY", "MyISAM", "Aria"):
        db.sql("ALTER TABLE leaf.unsafe ENGINE=%s" % engine)
        with Caller(CALL, uri("owner:o"), STORE_TABLE="unsafe") as caller:
            for order in ("take a 5", "untake a 1 5", "add b 1 5", "step a 7"):
                has(caller.ask(order, "REFUSED")["text"], "unsafe has the engine %s. " % engine, "ENGINE=InnoDB")
            assert caller.ask("tags", "OK")["count"] == 1
    db.sql("ALTER TABLE leaf.unsafe ENGINE=InnoDB; ALTER TABLE leaf.vesta_segment_share ENGINE=MyISAM")
    with Caller(CALL, uri("owner:o"), STORE_TABLE="unsafe") as caller:
        has(caller.ask("take a 5", "REFUSED")["text"], "vesta_segment_share has the engine MyISAM")
    db.sql("ALTER TABLE leaf.vesta_segment_share ENGINE=InnoDB; CREATE VIEW leaf.seen AS SELECT * FROM leaf.unsafe")
    with Caller(CALL, uri("owner:o"), STORE_TABLE="seen") as caller:
        assert took(caller.ask("take a 5", "OK")) == (1, 6)


@claim("a case-insensitive collation does not make two tags equal")
def _():
    row("Orders", 500, table="leaf_of_leaf")
    row("spaced ", 500, table="leaf_of_leaf")
    with Caller(CALL, uri("owner:o"), STORE_TABLE="leaf_of_leaf") as caller:
        for tag in ("orders", "ORDERS", "spaced"):
            for order in ("take %s 5", "step %s 5"):
                has(caller.ask(order % tag, "REFUSED")["text"], "has no tag '%s', but '" % tag, "which the collation of biz_tag treats as equal: use the tag")
            caller.ask("untake %s 1 500" % tag, "CONFLICT")
            has(caller.ask("add %s 1 5" % tag, "CONFLICT")["text"], "has no tag '%s', but '" % tag, "the collation of biz_tag treats as equal")
        assert took(caller.ask("take Orders 5", "OK")) == (500, 505)


@claim("rows whose name is not a valid tag are skipped and counted, and one is named")
def _():
    for tag in ("it\\'s", "x" * 65, "", "\xe4"):
        row(tag)
    with taker() as caller:
        got = caller.ask("tags", "OK")
        assert got["passed"] == 4 and got["count"] >= 1, got
    db.sql("DELETE FROM leaf.leaf_alloc WHERE biz_tag IN ('it\\'s', '%s', '', '\xe4')" % ("x" * 65))


@claim("a read-only server is refused until it is writable again")
def _():
    row("readonly")
    db.sql("SET GLOBAL read_only = 1")
    try:
        for user in ("taker:t", "owner:o"):
            with Caller(CALL, uri(user)) as caller:
                has(caller.ask("take readonly 5", "REFUSED")["text"], "read-only")
        with taker() as caller:
            db.sql("SET GLOBAL read_only = 0")
            caller.ask("take readonly 5", "OK")
            db.sql("SET GLOBAL read_only = 1")
            for order in ("take readonly 5", "untake readonly 1 6", "step readonly 3"):
                has(caller.ask(order, "REFUSED")["text"], "read-only")
    finally:
        db.sql("SET GLOBAL read_only = 0")
    assert stands_at("readonly") == 6


@claim("a locked row: the write is not done before the deadline, and succeeds later")
def _():
    row("locked")
    session = db.session()
    with taker() as caller:
        try:
            held_by(session, "locked")
            for order in ("take locked 5", "untake locked 1 2", "step locked 7"):
                has(caller.ask(order, "DOWN")["text"], "locked")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert took(caller.ask("take locked 0", "OK")) == (1, 11)


@claim("a deadlock that the server resolves: the write is not done, and succeeds later")
def _():
    row("dead")
    db.sql("CREATE TRIGGER leaf.dead BEFORE UPDATE ON leaf.leaf_alloc FOR EACH ROW"
           " SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'")
    with taker() as caller:
        try:
            has(caller.ask("take dead 5", "DOWN")["text"], "Deadlock")
        finally:
            db.sql("DROP TRIGGER leaf.dead")
        assert took(caller.ask("take dead 5", "OK")) == (1, 6)


def slow_writes(seconds):
    db.sql("CREATE TRIGGER leaf.slow BEFORE UPDATE ON leaf.leaf_alloc FOR EACH ROW SET NEW.step = NEW.step + SLEEP(%d)" % seconds)


WRITING = "SELECT id FROM information_schema.processlist WHERE info LIKE 'UPDATE `leaf_alloc` %'"


@claim("a connection killed during its write: unknown and not done; a lost reply: unknown and done, and its numbers are lost")
def _():
    row("severed")
    proxy = Proxy(db.port)
    slow_writes(2)
    try:
        with Caller(CALL, uri(port=proxy.port)) as caller:
            caller.send("take severed 5")
            db.sql("KILL " + until(lambda: db.sql(WRITING), "it writes"))
            assert caller.answer()["outcome"] == "UNKNOWN"
            assert stands_at("severed") == 1
            caller.send("take severed 5")
            until(lambda: db.sql(WRITING), "it writes")
            proxy.lose_answers = True
            assert caller.answer()["outcome"] == "UNKNOWN"
            proxy.lose_answers = False
    finally:
        db.sql("DROP TRIGGER leaf.slow")
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
            until(lambda: db.sql(WRITING), "it writes")
            proxy.lose_answers = True
            assert caller.answer()["outcome"] == "UNKNOWN"
            proxy.lose_answers = False
        finally:
            db.sql("DROP TRIGGER leaf.slow")
        assert caller.settle("reserve lost 77 3600000")["from"] == 1
        assert caller.ask("reserve lost 78 3600000", "OK")["from"] == 2
        proxy.lose_answers = True
        caller.ask("commit lost 77 1", "UNKNOWN", "DOWN")
        proxy.lose_answers = False
        caller.settle("commit lost 77 1")
        has(caller.ask("cancel lost 77 1", "REFUSED")["text"], "is committed and cannot be cancelled")
        assert stands_at("lost") == 3


@claim("a counter that went back reserves no number twice, and a missing table and a shared counter are reported")
def _():
    row("back", 1)
    with Caller(CALL, uri("owner:o")) as caller:
        for token in (1, 2):
            assert caller.ask("reserve back %d 3600000" % token, "OK")["from"] == token
            caller.ask("commit back %d %d" % (token, token), "OK")
        db.sql("UPDATE leaf.leaf_alloc SET max_id = 1 WHERE biz_tag = 'back'")
        has(caller.ask("reserve back 3 3600000", "REFUSED")["text"], "the counter 'back' went back: it is at 1, a number that was reserved before")
        db.sql("UPDATE leaf.leaf_alloc SET max_id = 3 WHERE biz_tag = 'back'")
        assert caller.ask("reserve back 3 3600000", "OK")["from"] == 3
        db.sql("RENAME TABLE leaf.vesta_reservation TO leaf.away")
        try:
            for order in ("reserve back 4 3600000", "commit back 3 3", "cancel back 3 3"):
                has(caller.ask(order, "REFUSED")["text"], "no table vesta_reservation", "vesta store init --segments")
        finally:
            db.sql("RENAME TABLE leaf.away TO leaf.vesta_reservation")
        db.sql("REPLACE INTO leaf.tiny_id_info (biz_type, max_id, step, delta, remainder) VALUES ('half', 0, 10, 2, 1)")
    with Caller(CALL, uri("owner:o"), STORE_TABLE="tiny_id_info") as caller:
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


@claim("a ticket server's table shows its next number, increment and offset, and nothing is taken from it")
def _():
    db.sql("CREATE TABLE leaf.Tickets64 (`id` bigint(20) unsigned NOT NULL auto_increment, `stub` char(1) NOT NULL default '',"
           "PRIMARY KEY (`id`), UNIQUE KEY `stub` (`stub`)) ENGINE=MyISAM")
    with Caller(CALL, uri("owner:o"), STORE_TABLE="Tickets64") as caller:
        def stands():
            got = caller.ask("tags", "OK")
            return got["from"], got["delta"], got["remainder"]
        has(caller.ask("tags", "REFUSED")["text"], "its highest number is unknown", "--from N")  # it may have been truncated
        db.sql("SET GLOBAL auto_increment_increment = 2, auto_increment_offset = 2")
        try:
            given = [int(db.sql("REPLACE INTO leaf.Tickets64 (stub) VALUES ('a'); SELECT LAST_INSERT_ID()")) for _ in range(3)]
            assert given == [2, 4, 6], given
            got = stands()
            assert got[0] > 6 and got[1:] == (2, 0), got
            db.sql("DELETE FROM leaf.Tickets64")
            assert stands()[0] > 6
            db.sql("INSERT INTO leaf.Tickets64 VALUES (9223372036854775806, 'b')")
            has(caller.ask("tags", "REFUSED")["text"], "is at 9223372036854775807")
        finally:
            db.sql("SET GLOBAL auto_increment_increment = 1, auto_increment_offset = 1")
        for order in ("take Tickets64 5", "untake Tickets64 1 5", "add Tickets64 1 5", "step Tickets64 5"):
            has(caller.ask(order, "REFUSED")["text"], "belongs to a ticket server", "vesta segments import")


def taken_by_us(ranges, table, tag, count, step):
    with Caller(CALL, uri(), STORE_TABLE=table) as caller:
        while count:
            got = caller.ask("take %s %d" % (tag, step), "OK", "CONFLICT", "DOWN")
            if got["outcome"] == "OK":
                ranges.append(took(got))
                count -= 1


def taken_by_leaf(ranges, tag, count):
    """Runs the statements of Leaf's IDAllocMapper, in one transaction of one session."""
    session = db.session()
    for _ in range(count):
        session.stdin.write("BEGIN; UPDATE leaf.leaf_alloc SET max_id = max_id + step WHERE biz_tag = '%s';"
                            "SELECT biz_tag, max_id, step FROM leaf.leaf_alloc WHERE biz_tag = '%s'; COMMIT;\n" % (tag, tag))
        _, max_id, step = session.stdout.readline().split()
        ranges.append((int(max_id) - int(step), int(max_id)))
    session.communicate(timeout=20)


def taken_by_tinyid(ranges, tag, count):
    """Runs the statements of tinyid's DbSegmentIdServiceImpl: read committed, and an update by version, repeated after
    a conflict."""
    session = db.session()
    session.stdin.write("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;\n")
    while count:
        session.stdin.write("BEGIN; SELECT id, max_id, step, version FROM leaf.tiny_id_info WHERE biz_type = '%s';\n" % tag)
        number, max_id, step, version = (int(cell) for cell in session.stdout.readline().split())
        session.stdin.write("UPDATE leaf.tiny_id_info SET max_id = %d, update_time = now(), version = version + 1 WHERE id = %d AND max_id = %d"
                            " AND version = %d AND biz_type = '%s'; SELECT ROW_COUNT(); COMMIT;\n" % (max_id + step, number, max_id, version, tag))
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
    db.sql("REPLACE INTO leaf.tiny_id_info (biz_type, max_id, step) VALUES ('shared', 0, 7)")
    ranges = side_by_side((taken_by_tinyid, "shared", 60), (taken_by_tinyid, "shared", 60), (taken_by_us, "tiny_id_info", "shared", 60, 3))
    assert ranges[0][0] == 1 and ranges[-1][1] == 1 + 7 * 120 + 3 * 60


main(sys.argv[4] if len(sys.argv) > 4 else "")
