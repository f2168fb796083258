"""mysql.py -- tests the mysql: store on a real MariaDB: the contract, and faults.  mysql.py STORE_CONTRACT STORE_CALL
"""
import signal
import subprocess
import sys
import time

from servers import Caller, MariaDB, Proxy, claim, contract, has, main, until

CONTRACT, CALL = sys.argv[1:3]
db = MariaDB().start()
db.sql("CREATE DATABASE vesta; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'own/er'; GRANT ALL ON vesta.* TO owner@'127.0.0.1';"
       "CREATE USER vesta@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE ON vesta.* TO vesta@'127.0.0.1'")


def uri(user="vesta:s3cret", port=None, name="vesta", more=""):
    return "mysql://%s@127.0.0.1:%d/%s%s" % (user, port or db.port, name, more)


OWNER = uri("owner:own%2Fer")


HASTY_MS = 800  # short, because these cases wait for the deadline


def fresh(ns, **kw):
    """Creates a namespace with worker id 7 at version 1.  Returns the caller that made it."""
    caller = Caller(CALL, uri(), ns, **kw)
    caller.ask("make 5 77", "OK")
    caller.ask("swap 7 0 10", "OK")
    return caller


@claim("without tables, the store is refused with the command that creates them, and creates none")
def _():
    with Caller(CALL, OWNER) as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10"):
            has(caller.ask(order, "REFUSED")["text"], "vesta store init")
    assert db.sql("SHOW TABLES IN vesta") == ""


@claim("init needs the right to create tables, and work needs SELECT, INSERT and UPDATE")
def _():
    with Caller(CALL, uri()) as caller:
        has(caller.ask("init", "REFUSED")["text"], "CREATE command denied")
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


@claim("an error about missing rights does not show the password")
def _():
    db.sql("CREATE USER looker@'127.0.0.1' IDENTIFIED BY 'l'; GRANT SELECT ON vesta.* TO looker@'127.0.0.1'")
    for where, part in ((uri("vesta:wr0ng"), "Access denied"), (uri("nobody:wr0ng"), "Access denied"),
                        (uri(name="mysql"), "Access denied")):
        with Caller(CALL, where) as caller:
            text = caller.ask("ns", "REFUSED")["text"]
            has(text, part)
            assert "wr0ng" not in text and "s3cret" not in text
    with Caller(CALL, uri("looker:l"), "looker") as caller:
        caller.ask("ns", "OK")
        has(caller.ask("make 5 77", "REFUSED")["text"], "INSERT command denied")


@claim("a read-only server is refused for reads and writes until it is writable again")
def _():
    with fresh("readonly") as caller:
        db.sql("SET GLOBAL read_only = 1")
        try:
            has(caller.ask("read 7", "REFUSED")["text"], "read-only")
            has(caller.ask("ns", "REFUSED")["text"], "read-only")
            has(caller.ask("swap 7 1 20", "REFUSED")["text"], "read-only")
            with Caller(CALL, uri(), "readonly") as other:
                has(other.ask("swap 7 1 20", "REFUSED")["text"], "read-only")
        finally:
            db.sql("SET GLOBAL read_only = 0")
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


@claim("while a namespace is being repaired, no earlier write succeeds, and no first one, at any isolation level")
def _():
    for level in ("READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ"):
        db.sql("SET GLOBAL tx_isolation = '%s'" % level)
        try:
            with fresh("mending" + level) as caller:
                session = db.session()
                try:
                    session.stdin.write("BEGIN; UPDATE vesta.vesta_namespace SET ver = ver WHERE ns = 'mending%s'; SELECT 1;\n" % level)
                    assert session.stdout.readline() == "1\n"
                    has(caller.ask("swap 7 1 20", "DOWN")["text"], "locked")
                    has(caller.ask("swap 8 0 20", "DOWN")["text"], "locked")
                finally:
                    session.communicate("ROLLBACK;\n", timeout=20)
                caller.ask("swap 8 0 20", "OK")
        finally:
            db.sql("SET GLOBAL tx_isolation = 'REPEATABLE-READ'")


@claim("a locked row: the write is not done before the deadline, and succeeds later")
def _():
    with fresh("locked") as caller:
        session = db.session()
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta.vesta_lease WHERE ns = 'locked' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            for _ in range(3):
                has(caller.ask("swap 7 1 20", "DOWN")["text"], "locked")
                caller.ask("read 7", "DOWN")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


# both the server and the client give up after about a second, in any order
@claim("with the shortest deadline, the outcome may also be unknown")
def _():
    with fresh("locked2", call_ms=HASTY_MS) as caller:
        session = db.session()
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta.vesta_lease WHERE ns = 'locked2' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            for _ in range(3):
                caller.ask("swap 7 1 20", "DOWN", "UNKNOWN")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        got = caller.settle("read 7")
        caller.ask("swap 7 %d 30" % got["ver"], "OK", "CONFLICT")  # the abandoned write may come first


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
        has(caller.ask("list", "DOWN")["text"], "the list did not end before the deadline")
        proxy.trickle = False
        assert caller.ask("list", "OK")["count"] == 401


@claim("a connection that was killed while idle is opened again, and no outcome is unknown")
def _():
    with fresh("killed") as caller:
        for ver in range(1, 4):
            for thread in db.sql("SELECT id FROM information_schema.processlist WHERE user = 'vesta'").split():
                db.sql("KILL " + thread)
            until(lambda: not db.sql("SELECT id FROM information_schema.processlist WHERE user = 'vesta'"), "they are gone")
            caller.ask("swap 7 %d 20" % ver, "OK")


@claim("a server that stops: a call ends at its deadline, and requests that it received may be done later")
def _():
    with fresh("stopped", call_ms=HASTY_MS) as caller:
        caller.ask("swap 7 1 15", "OK")
        db.pause()
        try:
            caller.ask("swap 7 2 20", "UNKNOWN")
            for order in ("read 7", "swap 7 1 21", "ns", "list"):
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
        got = caller.ask("read 7", "OK")
        assert got["until"] == 10
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")


@claim("time zones do not affect the store's clock")
def _():
    db.sql("SET GLOBAL time_zone = '+05:30'")
    try:
        with fresh("zone") as caller:
            got = caller.ask("read 7", "OK")
            assert abs(got["store_ms"] - time.time() * 1000) < 5000, got
            assert abs(got["written_ms"] - time.time() * 1000) < 5000, got
    finally:
        db.sql("SET GLOBAL time_zone = 'SYSTEM'")


@claim("a server whose clock is an hour off: the store returns that clock")
def _():
    db.sql("SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 3600'")
    try:
        with fresh("hour") as caller:
            got = caller.ask("read 7", "OK")
            assert 3590e3 < got["store_ms"] - time.time() * 1000 < 3610e3, got
            assert 3590e3 < got["written_ms"] - time.time() * 1000 < 3610e3, got
    finally:
        db.sql("SET GLOBAL init_connect = ''")


HOSTILE = [
    ("record = LEFT(record, 100)", "truncated"),
    ("record = ''", "empty"),
    ("record = CONCAT(record, 'x')", "truncated"),
    ("record = REPLACE(record, 'until 10', 'until 11')", "checksum"),
    ("record = 'vesta lease 2\\nmore\\n'", "newer vesta"),
    ("record = 'hello'", "not a vesta record"),
    ("record = REPEAT('x', 2048)", "not a vesta record"),
    ("ver = 9", "by hand"),
    ("ver = 0", "by hand"),
]


@claim("a damaged, foreign or newer row is refused and never overwritten")
def _():
    for at, (change, part) in enumerate(HOSTILE):
        ns = "hostile%d" % at
        with fresh(ns) as caller:
            db.sql("UPDATE vesta.vesta_lease SET %s WHERE ns = '%s'" % (change, ns))
            before = db.sql("SELECT HEX(record), ver, written_us FROM vesta.vesta_lease WHERE ns = '%s'" % ns)
            has(caller.ask("read 7", "REFUSED")["text"], part)
            caller.ask("list", "REFUSED")
            caller.ask("swap 7 0 20", "REFUSED")
            if "until 11" not in change:  # a reader of this version read it before the change, which only the checksum reveals
                caller.ask("swap 7 1 20", "REFUSED")
                assert db.sql("SELECT HEX(record), ver, written_us FROM vesta.vesta_lease WHERE ns = '%s'" % ns) == before


@claim("impossible times in a row do no harm")
def _():
    for written in ("-9223372036854775808", "-1", "9223372036854775807"):
        with fresh("times%s" % written) as caller:
            db.sql("UPDATE vesta.vesta_lease SET written_us = %s WHERE ns = 'times%s'" % (written, written))
            assert caller.ask("read 7", "OK")["written_ms"] >= 0
            caller.ask("list", "OK")


@claim("a namespace's row that is damaged, or whose incarnation was changed by hand, is refused")
def _():
    for at, change in enumerate(("record = LEFT(record, 50)", "record = ''", "incarnation = 78", "ver = 4")):
        ns = "nsrow%d" % at
        with fresh(ns) as caller:
            db.sql("UPDATE vesta.vesta_namespace SET %s WHERE ns = '%s'" % (change, ns))
            caller.ask("ns", "REFUSED")
            caller.ask("make 5 77", "REFUSED")


@claim("tables of another shape are refused: another engine, missing columns, NULL columns")
def _():
    with fresh("shape") as caller:
        db.sql("ALTER TABLE vesta.vesta_lease MODIFY record LONGBLOB NULL; UPDATE vesta.vesta_lease SET record = NULL WHERE ns = 'shape'")
        has(caller.ask("read 7", "REFUSED", "DOWN")["text"], "vesta")
        has(caller.ask("read 7", "REFUSED")["text"], "empty")
        db.sql("SET GLOBAL max_allowed_packet = 16777216")
        db.sql("UPDATE vesta.vesta_lease SET record = REPEAT('x', 1048576) WHERE ns = 'shape'")
        has(caller.ask("read 7", "REFUSED")["text"], "not a vesta record")
        db.sql("DELETE FROM vesta.vesta_lease WHERE ns = 'shape'; ALTER TABLE vesta.vesta_lease MODIFY record VARBINARY(2048) NOT NULL")
        db.sql("ALTER TABLE vesta.vesta_lease RENAME COLUMN written_us TO w")
        caller.settle("swap 7 0 10", "REFUSED")
        db.sql("ALTER TABLE vesta.vesta_lease RENAME COLUMN w TO written_us; ALTER TABLE vesta.vesta_lease ENGINE = MyISAM")
        with Caller(CALL, uri(), "shape") as other:
            has(other.ask("ns", "REFUSED")["text"], "InnoDB")
        db.sql("ALTER TABLE vesta.vesta_lease ENGINE = InnoDB")
        caller.settle("swap 7 0 10")


@claim("tables without primary keys, as a copy by SELECT has, are refused: both of two first claims would be done")
def _():
    caller = fresh("keys")
    for table, key, other in (("vesta_lease", "ns, worker", "worker, ns"), ("vesta_namespace", "ns", "ns, ver")):
        for change in ("DROP PRIMARY KEY", "ADD PRIMARY KEY (%s)" % other):
            db.sql("ALTER TABLE vesta.%s %s" % (table, change))
            with Caller(CALL, uri(), "keys") as other_one:
                for order in ("ns", "read 7", "swap 8 0 10"):
                    has(other_one.ask(order, "REFUSED")["text"], "primary keys")
        db.sql("ALTER TABLE vesta.%s DROP PRIMARY KEY, ADD PRIMARY KEY (%s)" % (table, key))
        with Caller(CALL, uri(), "keys") as other_one:
            other_one.ask("ns", "OK")
    caller.settle("swap 7 1 20")
    with caller:
        pass


@claim("a deadlock that the server resolves: the write is not done, and succeeds later")
def _():
    with fresh("dead") as caller:
        session = db.session()
        try:
            db.sql("CREATE TABLE vesta.heavy (n INT)")  # the server aborts the transaction with fewer changes
            session.stdin.write("BEGIN; INSERT INTO vesta.heavy SELECT seq FROM vesta.seq_1_to_10000;"
                                "SELECT ver FROM vesta.vesta_lease WHERE ns = 'dead' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            caller.send("swap 7 1 20")
            waiting = "SELECT COUNT(*) FROM information_schema.innodb_lock_waits"
            until(lambda: db.sql(waiting) == "1", "the write waits for the row")
            session.stdin.write("UPDATE vesta.vesta_namespace SET ver = ver WHERE ns = 'dead';"
                                "SELECT ver FROM vesta.vesta_namespace WHERE ns = 'dead' FOR UPDATE; SELECT 'on';\n")
            got = caller.answer()
            assert got["outcome"] == "DOWN", got
            has(got["text"], "Deadlock")
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


@claim("a connection that is killed while its write waits: the outcome is unknown, and the write was not done")
def _():
    with fresh("severed") as caller:
        session = db.session()
        try:
            session.stdin.write("BEGIN; SELECT ver FROM vesta.vesta_lease WHERE ns = 'severed' FOR UPDATE;\n")
            assert session.stdout.readline() == "1\n"
            caller.send("swap 7 1 20")
            waits = "SELECT id FROM information_schema.processlist WHERE command = 'Query' AND info LIKE 'UPDATE vesta_lease%'"
            db.sql("KILL " + until(lambda: db.sql(waits), "the write waits for the row"))
            got = caller.answer()
            assert got["outcome"] == "UNKNOWN", got
        finally:
            session.communicate("ROLLBACK;\n", timeout=20)
        assert caller.ask("read 7", "OK")["until"] == 10
        caller.ask("swap 7 1 20", "OK")


@claim("a store that was emptied and created again is detected as another one")
def _():
    with fresh("wiped") as caller:
        db.sql("DELETE FROM vesta.vesta_lease WHERE ns = 'wiped'; DELETE FROM vesta.vesta_namespace WHERE ns = 'wiped'")
        caller.ask("swap 7 1 20", "MOVED")
        caller.ask("swap 8 0 20", "MOVED")
        with Caller(CALL, uri(), "wiped") as other:
            other.ask("make 5 78", "OK")
            other.ask("swap 7 0 5", "OK")
        caller.ask("swap 7 1 20", "MOVED")
        assert caller.ask("ns", "OK")["incarnation"] == 78


@claim("TLS is verified: the right CA is accepted, another or a missing one is refused, and no connection falls back to plain text")
def _():
    with Caller(CALL, uri(more="?tls=verify"), "tls") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "SSL")  # the server has no certificate
    folder = db.start_with_tls()
    db.sql("ALTER USER vesta@'127.0.0.1' REQUIRE SSL")
    try:
        with Caller(CALL, uri(more="?tls=off"), "tls") as caller:
            has(caller.ask("ns", "REFUSED")["text"], "Access denied")
        for more in ("?tls=verify", "?tls=verify&ca=%s/other.pem" % folder):
            with Caller(CALL, uri(more=more), "tls") as caller:
                has(caller.ask("ns", "REFUSED")["text"], "certificate")
        with Caller(CALL, uri(more="?tls=verify&ca=%s/ca.pem" % folder), "tls") as caller:
            caller.ask("make 5 77", "OK")
            caller.ask("swap 7 0 10", "OK")
        with Caller(CALL, uri(more="?ca=%s/ca.pem" % folder), "tls") as caller:
            caller.ask("ns", "OK")
        other_name = uri(more="?ca=%s/ca.pem" % folder).replace("127.0.0.1", "localhost")  # the certificate is for the address
        with Caller(CALL, other_name, "tls") as caller:
            has(caller.ask("ns", "REFUSED")["text"], "ertificate")
    finally:
        db.sql("ALTER USER vesta@'127.0.0.1' REQUIRE NONE")


@claim("each server error is reported in the server's words, with its remedy")
def _():
    db.sql("CREATE USER locked@'127.0.0.1' IDENTIFIED BY 'l' ACCOUNT LOCK; CREATE USER expired@'127.0.0.1' IDENTIFIED BY 'e' PASSWORD EXPIRE;"
           "CREATE USER socketed@'127.0.0.1' IDENTIFIED VIA unix_socket;"
           "CREATE USER single@'127.0.0.1' IDENTIFIED BY 's' WITH MAX_USER_CONNECTIONS 1;"
           "GRANT ALL ON vesta.* TO locked@'127.0.0.1'; GRANT ALL ON vesta.* TO expired@'127.0.0.1'; GRANT ALL ON vesta.* TO single@'127.0.0.1'")
    names = "mysql://vesta:s3cret@nobody-has-this-name.invalid/vesta?tls=off"
    for where, outcome, words, remedy in (
            (uri("locked:l"), "REFUSED", "this account is locked", "ALTER USER ... ACCOUNT UNLOCK"),
            (uri("expired:e"), "REFUSED", "You must SET PASSWORD", "Set a new password"),
            (uri("vesta:wr0ng"), "REFUSED", "Access denied for user 'vesta'@'127.0.0.1' (using password: YES)", "Correct the user and the password"),
            (uri("socketed:"), "REFUSED", "Access denied for user 'socketed'", "socket=/run/mysqld/mysqld.sock"),
            (uri(name="mysql"), "REFUSED", "to database 'mysql'", "Grant the user the rights"),
            (uri(more="?tls=verify"), "REFUSED", "TLS/SSL error", "ca=FILE"),
            (uri(port=1), "DOWN", "Can't connect to server on '127.0.0.1'", "Start the store"),
            (names, "DOWN", "Unknown server host", "Correct the host name")):
        with Caller(CALL, where) as caller:
            has(caller.ask("ns", outcome)["text"], words, remedy)
    with Caller(CALL, uri("single:s")) as first, Caller(CALL, uri("single:s")) as second:
        first.ask("ns", "OK")
        has(second.ask("ns", "DOWN")["text"], "max_user_connections", "Raise the server's limit of connections")
    for option, words, remedy in (("max_session_mem_used=8192", "--max-session-mem-used=8192 option", "Change that option"),
                                  ("read_only=1", "the server is read-only", "Name the primary")):
        db.sql("SET GLOBAL " + option)
        try:
            with Caller(CALL, uri(), "options") as caller:
                text = caller.ask("make 5 77", "REFUSED")["text"]
                has(text, words, remedy)
                assert option == "read_only=1" or "read-only" not in text
        finally:
            db.sql("SET GLOBAL max_session_mem_used=DEFAULT; SET GLOBAL read_only=0")
    db.sql("CREATE DATABASE enforced; GRANT ALL ON enforced.* TO owner@'127.0.0.1'; SET GLOBAL enforce_storage_engine=MyISAM")
    try:
        with Caller(CALL, uri("owner:own%2Fer", name="enforced")) as caller:
            has(caller.ask("init", "REFUSED")["text"], "NO_ENGINE_SUBSTITUTION option", "Unset enforce_storage_engine")
    finally:
        db.sql("SET GLOBAL enforce_storage_engine=NULL; DROP DATABASE enforced")


@claim("tables of leases with another engine are refused with their name and engine")
def _():
    db.sql("ALTER TABLE vesta.vesta_lease ENGINE=MyISAM")
    try:
        with Caller(CALL, uri(), "engines") as caller:
            has(caller.ask("ns", "REFUSED")["text"], "vesta_lease has the engine MyISAM. ", "ENGINE=InnoDB")
    finally:
        db.sql("ALTER TABLE vesta.vesta_lease ENGINE=InnoDB")


@claim("with a statement-based binary log and READ COMMITTED, tables, leases and records are written")
def _():
    binlog = MariaDB().start("--log-bin", "--server-id=1", "--binlog-format=STATEMENT", "--transaction-isolation=READ-COMMITTED")
    try:
        binlog.sql("CREATE DATABASE vesta; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'o'; GRANT ALL ON vesta.* TO owner@'127.0.0.1'")
        with Caller(CALL, uri("owner:o", binlog.port)) as caller:
            for order in ("init", "make 5 77", "swap 7 0 10", "swap 7 1 20", "segments", "add orders 1 10", "take orders 0"):
                caller.ask(order, "OK")
    finally:
        binlog.end()


@claim("a missing database is reported as missing, and our sentences are not cut")
def _():
    db.sql("GRANT ALL ON nowhere.* TO owner@'127.0.0.1'")
    where = uri("owner:own%2Fer", name="nowhere")
    with Caller(CALL, where, "a") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "Unknown database", "CREATE DATABASE, then run `vesta store init`")
    db.sql("CREATE DATABASE nowhere")
    with Caller(CALL, where, "a") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "its tables are missing. ", "(--again if the tables existed before)")
    db.sql("DROP DATABASE nowhere")


@claim("invalid URIs are refused at open")
def _():
    for bad, part in (("mysql:/x", "no '//'"), ("mysql://h/db", "no user"), ("mysql://u@h", "no database"), ("mysql://u@h/", "no database"),
                      ("mysql://u@h/a/b", "no database"), ("mysql://u@h/" + "d" * 65, "no database"), ("mysql://u@h1,h2/db", "'h1,h2'"),
                      ("mysql://u@h:0/db", "not a HOST:PORT"), ("mysql://u@h/db?tls=perhaps", "verify or off"),
                      ("mysql://u@h/db?galera=yes", "single-writer"), ("mysql://u@h/db?acl=open", "unknown key"),
                      ("mysql://u@h/db?secret_file=/no/such", "No such file")):
        done = subprocess.run([CALL, bad, "orders"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and part in done.stderr, (bad, part, done.stderr)


@claim("the secret can be in a file, and the connection can use a socket")
def _():
    path = db.path("secret")
    with open(path, "w") as file:
        file.write("s3cret\nsecond line\n")
    with Caller(CALL, uri("vesta", more="?secret_file=" + path), "secret") as caller:
        caller.ask("ns", "OK")
    db.sql("CREATE USER here@localhost IDENTIFIED BY 'h'; GRANT SELECT, INSERT, UPDATE ON vesta.* TO here@localhost")
    with Caller(CALL, uri("here:h", more="?socket=" + db.path("sock")), "secret") as caller:
        caller.ask("ns", "OK")


part = sys.argv[3] if len(sys.argv) > 3 else ""
if part:  # the state that the first claims leave
    with Caller(CALL, OWNER) as first:
        first.ask("init", "OK")
main(part)
