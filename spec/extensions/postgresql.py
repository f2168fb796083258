"""postgresql.py BUILD -- the functions of the extension for PostgreSQL, as users of SQL call them."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from extended import Extended
from servers import claim, main

BUILD = sys.argv[1]
db = Extended(BUILD)
SNOWFLAKE = "--layout", "snowflake"


def fails(text, state, *words):
    """The statement fails with this SQLSTATE and these words in its message."""
    said = db.tool_fails("psql", "-X", "-v", "VERBOSITY=verbose", "-v", "ON_ERROR_STOP=1", "-c", text)
    for word in ("ERROR:  %s: " % state, *words):
        assert word in said, said
    return said


def quote(text):
    return "'%s'" % text.replace("'", "''")


def column(text):
    return db.sql(text).splitlines()


def page_text():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/database-functions.md")) as file:
        return file.read()


@claim("the command in docs/database-functions.md sets the directory of a server that has never loaded the library")
def chosen():
    path = db.path("data/postgresql.conf")
    with open(path) as file:
        conf = file.read()
    with open(path, "w") as file:
        file.write(re.sub(r"(?m)^vesta\.directory.*\n", "", conf))
    db.start(max_prepared_transactions=1)
    command = re.search(r"(?s)-- psql (-c .*?)\n```", page_text())[1].replace("\\\n", " ")
    db.tool("psql", "-X", "-v", "ON_ERROR_STOP=1", *shlex.split(command.replace("/var/lib/postgresql/ids", db.generators)))
    assert db.generators in db.client("LOAD 'vesta'; SHOW vesta.directory").stdout
    with open(path, "w") as file:
        file.write(conf)
    db.sql("ALTER SYSTEM RESET vesta.directory")
    db.sql("SELECT pg_reload_conf()")


@claim("the extension is created, and the first id is issued without another command")
def first():
    db.generator("orders", *SNOWFLAKE)
    db.generator("default")
    db.sql("CREATE EXTENSION vesta")
    assert int(db.sql("SELECT vesta_next()")) > 0
    assert int(db.sql("SELECT vesta_next('orders')")) > 0


@claim("the session in docs/database-functions.md runs as printed there")
def page():
    text = "".join(re.findall(r"(?ms)^```psql\n(.*?)^```", page_text()))
    commands = re.findall(r"(?ms)^shop=# (.*?;)\n(.*?)(?=^shop=# |\Z)", text)
    assert len(commands) > 5
    db.sql("CREATE DATABASE shop")
    for command, want in commands:
        got = db.tool("psql", "-X", "-d", "shop", "-c", command)
        assert plain(got) == plain(want), "%s\n%s" % (command, got)
    db.sql("DROP DATABASE shop")


def plain(output):
    """Without ids, times, the worker id and the widths of columns."""
    output = re.sub(r"\d{4}-\d\d-\d\d[ T][\d:.]+", "TIME", re.sub(r"\b\d{19}\b", "ID", output))
    output = re.sub(r"TIME\+00 +\| +\d+", "TIME | WORKER", output)
    return [re.sub(r"-+", "-", " ".join(line.split())) for line in output.splitlines() if line.strip()]


@claim("the ids of a statement ascend and differ, one by one and as a set")
def ascend():
    for query in ("SELECT vesta_next('orders') FROM generate_series(1, 20000)", "SELECT vesta_next('orders', 20000)",
                  "SELECT * FROM vesta_next('orders', 20000)"):
        ids = [int(line) for line in column(query)]
        assert len(ids) == 20000 and ids == sorted(set(ids)), query
    assert db.sql("SELECT vesta_next('orders', 0)") == ""
    fails("SELECT vesta_next('orders', -1)", "22023", "must be 0 or more")


@claim("the time, the worker id and the fields of an id are those of the program")
def fields():
    id = db.sql("SELECT vesta_next('orders')")
    told = db.vesta("explain", "--json", "--path", os.path.join(db.generators, "orders.gen"), id)
    explained = db.sql("SELECT vesta_explain(%s, 'orders')" % id)
    told, explained = json.loads(told), json.loads(explained)
    assert explained and all(told[key] == value for key, value in explained.items()), (told, explained)
    assert db.sql("SELECT vesta_worker(%s, 'orders')" % id) == str(told["worker"])
    assert db.sql("SELECT extract(epoch FROM vesta_time(%s, 'orders')) * 1000" % id).split(".")[0] == str(told["unix_ms"])
    assert db.sql("SELECT vesta_time(vesta_next()) BETWEEN now() - interval '2 s' AND now() + interval '2 s'") == "t"
    fails("SELECT vesta_time(-1, 'orders')", "22023", "sign")


@claim("UUIDs of each shape ascend and differ, vesta explain reads them, and an index on their time is used")
def uuids():
    path = os.path.join(db.generators, "orders.gen")
    for shape, version in ("uuid7", 7), ("uuid8", 8), ("ulid", None), ("hex32", None):
        got = column("SELECT vesta_next_uuid('orders', '%s') FROM generate_series(1, 3000)" % shape)
        assert len(got) == 3000 and got == sorted(set(got)), shape
        assert version is None or all(text[14] == str(version) for text in got), got[0]
    got = db.sql("SELECT vesta_next_uuid('orders', 'uuid8')")
    told = json.loads(db.vesta("explain", "--json", "--path", path, got))
    assert told["kind"] == "uuid8" and told["worker"] == json.loads(db.vesta("explain", "--json", "--path", path, told["from"]))["worker"]
    assert len(set(column("SELECT vesta_next_uuid('orders') UNION ALL SELECT vesta_next_uuid()"))) == 2
    assert db.sql("SELECT vesta_uuid_time(vesta_next_uuid('orders')) BETWEEN now() - interval '2 s' AND now() + interval '2 s'") == "t"
    db.sql("CREATE TABLE events (id uuid PRIMARY KEY DEFAULT vesta_next_uuid('orders'), n int); INSERT INTO events (n) SELECT generate_series(1, 5000)")
    db.sql("CREATE INDEX ON events (vesta_uuid_time(id)); ANALYZE events")
    assert "Index Scan" in db.sql("EXPLAIN SELECT * FROM events WHERE vesta_uuid_time(id) > now() + interval '1 h'")
    db.sql("DROP TABLE events")


@claim("the texts of UUIDs are those of the specifications, and a wrong one is an error with its value")
def texts():
    v7 = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert db.sql("SELECT vesta_typeid('prefix', '%s'), vesta_ulid('%s')" % (v7, v7)) == "prefix_01h455vb4pex5vsknk084sn02q|01H455VB4PEX5VSKNK084SN02Q"
    for text in "prefix_01h455vb4pex5vsknk084sn02q", "01H455VB4PEX5VSKNK084SN02Q", v7.upper(), "urn:uuid:" + v7, "{%s}" % v7, v7.replace("-", ""):
        assert db.sql("SELECT vesta_uuid('%s')" % text) == v7, text
    assert db.sql("SELECT vesta_uuid_time('%s') = '2023-06-30T03:34:18.518Z'" % v7) == "t"
    fails("SELECT vesta_uuid_time('919108f7-52d1-4320-9bac-f847db4148a8')", "22023", "919108f7-52d1-4320-9bac-f847db4148a8", "version is 4")
    fails("SELECT vesta_uuid('order1_01h455vb4pex5vsknk084sn02q')", "22023", "order1", "a to z")
    fails("SELECT vesta_typeid('Order', '%s')" % v7, "22023", "'Order'", "such as order")
    fails("SELECT vesta_next_uuid('orders', 'uuid4')", "22023", "'uuid4'", "uuid7, uuid8, ulid or hex32")
    fails("SELECT vesta_next_uuid('orders', NULL)", "22004", "shape")
    fails("SELECT vesta_next_uuid(NULL)", "22004", "name of a generator")
    fails("SELECT vesta_next_uuid('nope')", "58P01", "nope.gen")
    assert db.sql("SELECT vesta_uuid_time(NULL) IS NULL, vesta_uuid(NULL) IS NULL") == "t|t"


@claim("a range contains exactly the ids of an interval, and a query by it uses the primary key")
def ranges():
    db.sql("CREATE TABLE spans (id bigint PRIMARY KEY DEFAULT vesta_next('orders'), n int)")
    for n in range(3):
        db.sql("INSERT INTO spans (n) SELECT %d FROM generate_series(1, 5000)" % n)
    db.sql("ANALYZE spans")
    inside = column("SELECT n, count(*) FROM spans WHERE vesta_between(id, (SELECT min(vesta_time(id, 'orders')) FROM spans WHERE n = 1), "
                    "(SELECT max(vesta_time(id, 'orders')) + interval '1 ms' FROM spans WHERE n = 1), 'orders') GROUP BY n")
    assert inside == ["1|5000"], inside
    for condition in ("vesta_between(id, '2026-01-01', now(), 'orders')",
                      "id >= lower(vesta_range('2026-01-01', '2026-01-02', 'orders')) AND id < upper(vesta_range('2026-01-01', '2026-01-02', 'orders'))",
                      "vesta_between(id, now() - interval '1 ms', 'infinity', 'orders')"):
        plan = db.sql("SET enable_seqscan = off; EXPLAIN SELECT * FROM spans WHERE " + condition)
        assert "Index Scan using spans_pkey" in plan and re.search(r"Index Cond: \(\(id >= .*\) AND \(id < ", plan), plan
    told = db.vesta("range", "--layout", "snowflake", "2026-01-01", "2026-01-02").split()
    assert db.sql("SELECT vesta_range('2026-01-01Z', '2026-01-02Z', 'orders')") == "[%s,%d)" % (told[0], int(told[1]) + 1)
    assert db.sql("SELECT count(*) FROM spans WHERE vesta_between(id, '-infinity', 'infinity', 'orders')") == "15000"
    assert db.sql("SELECT vesta_range('2026-01-01', '2026-01-01', 'orders')") == "empty"
    assert db.sql("SELECT vesta_range('-infinity', 'infinity')") != ""
    fails("SELECT vesta_range('2026-01-02Z', '2026-01-01Z', 'orders')", "22023", "ends at 2026-01-01T00:00:00Z, before it starts at 2026-01-02T00:00:00Z")
    fails("SELECT vesta_range('infinity', '2026-01-01Z', 'orders')", "22023", "ends at 2026-01-01T00:00:00Z, before it starts at infinity")
    assert db.sql("SELECT vesta_range('2026-01-01', '294276-12-31', 'orders') = vesta_range('2026-01-01', 'infinity', 'orders')") == "t"


@claim("a name cannot leave the directory, and a wrong one is rejected with its value")
def names():
    os.symlink("orders.gen", os.path.join(db.generators, "link.gen"))
    for name in ("../orders", "a/b", "/etc/passwd", "..", "x" * 65, "a b", "b\n"):
        fails("SELECT vesta_next(%s)" % quote(name), "58P01" if name == ".." else "22023", name[:20].replace("\n", r"\x0a"))
    fails("SET client_encoding = LATIN1; SELECT vesta_next('a' || repeat(chr(233), 60))", "22023", r"\xc3' is not the name of a generator")
    fails("SELECT vesta_next('')", "22023", "must not be empty")
    fails("SELECT vesta_next(NULL)", "22004", "must not be null")
    fails("SELECT vesta_next('link')", "58030", "symbolic link")
    assert db.sql("SET vesta.name = 'orders'; SELECT vesta_worker(vesta_next(), 'orders') IS NOT NULL") == "t"


@claim("a missing file is named with the command that creates it")
def missing():
    fails("SELECT vesta_next('users')", "58P01", os.path.join(db.generators, "users.gen"), "HINT:  Correct the name or vesta.directory, or create the file as user ")
    assert not os.path.exists(os.path.join(db.generators, "users.gen"))


@claim("a file that the server's user cannot read is named with its owner and the next step")
def rights():
    db.generator("closed")
    path = os.path.join(db.generators, "closed.gen")
    os.chmod(path, 0)
    fails("SELECT vesta_next('closed')", "42501", path, "belongs to user", "--group")
    os.chmod(path, 0o600)
    assert int(db.sql("SELECT vesta_next('closed')")) > 0


@claim("an id that is no positive bigint is rejected by its number")
def too_large():
    db.generator("large", "--layout", "top:1=1 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z")
    fails("SELECT vesta_next('large')", "22003", "exceeds the largest bigint", "sign:1=0")


@claim("only the superuser can choose the directory, and never one in the data directory")
def directory():
    db.sql("CREATE ROLE clerk LOGIN")
    for command in ("SET vesta.directory = '/tmp'", "ALTER ROLE clerk SET vesta.directory = '/tmp'"):
        assert "cannot be changed now" in db.client("LOAD 'vesta'; " + command).stderr
    done = db.tool_fails("psql", "-X", "-U", "clerk", "-d", "postgres", "-c", "SELECT vesta_next('orders') > 0", "-c", "ALTER SYSTEM SET vesta.directory = '/tmp'")
    assert "permission denied" in done, done
    inside = db.path("data", "ids")
    for wrong, why in ((inside, "is in the data directory"), ("ids", "is not an absolute path"), ("/" + "x" * 200, "longer than")):
        done = db.tool_fails("psql", "-X", "-c", "LOAD 'vesta'", "-c", "ALTER SYSTEM SET vesta.directory = '%s'" % wrong)
        assert why in done, done


@claim("a session that runs follows a reload of the directory")
def reloaded():
    other = db.folder_of_user("other")
    db.vesta("gen", "--path", os.path.join(other, "orders.gen"), "--store", "file:" + other, "--namespace", "orders", "--layout", "js53")
    session = db.session()
    session.stdin.write("PREPARE next AS SELECT vesta_next('orders') < 9007199254740991; EXECUTE next;\n")
    session.stdin.flush()
    assert session.stdout.readline() == "f\n"
    db.sql("ALTER SYSTEM SET vesta.directory = '%s'" % other)
    db.sql("SELECT pg_reload_conf()")
    session.stdin.write("SELECT pg_sleep(0.2);EXECUTE next;\n" * 2)
    out, _ = session.communicate(timeout=30)
    assert out.split() == ["t", "t"], out
    db.sql("ALTER SYSTEM RESET vesta.directory")
    db.sql("SELECT pg_reload_conf()")


@claim("a reader that waits as docs/watermark.md says misses no row of a transaction that already had its id")
def waited():
    def is_over():
        return db.sql("SELECT pg_snapshot_xmin(pg_current_snapshot()) >= '%s'::xid8" % number) == "t"
    db.sql("CREATE TABLE event (id bigint)")
    session = db.session()
    session.stdin.write("BEGIN;\nSELECT pg_current_xact_id() IS NOT NULL;\nSELECT vesta_next('orders') > 0;\n")
    session.stdin.flush()
    assert [session.stdout.readline() for _ in range(2)] == ["t\n", "t\n"]
    number = db.sql("SELECT pg_current_xact_id()")
    assert not is_over()
    session.stdin.write("INSERT INTO event VALUES (1);\nSELECT 2;\n")
    session.stdin.flush()
    assert session.stdout.readline() == "2\n"
    assert not is_over() and db.sql("SELECT count(*) FROM event") == "0"
    session.communicate("COMMIT;\n", timeout=30)
    assert is_over() and db.sql("SELECT count(*) FROM event") == "1"


@claim("vesta_next is volatile and runs in the leader of a parallel query, so its ids ascend with the rows")
def parallel():
    labels = column("SELECT DISTINCT format('%s %s %s', proname, provolatile, proparallel) FROM pg_proc WHERE proname LIKE 'vesta%' ORDER BY 1")
    assert labels == ["vesta_between s s", "vesta_explain s s", "vesta_next v r", "vesta_next_uuid v r", "vesta_range s s", "vesta_time s s",
                      "vesta_time_of i s", "vesta_typeid i s", "vesta_ulid i s", "vesta_uuid i s", "vesta_uuid_time i s", "vesta_worker s s"], labels
    db.sql("CREATE TABLE parts AS SELECT g AS n FROM generate_series(1, 200000) g; ANALYZE parts")
    force = ("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; "
             "SET max_parallel_workers_per_gather = 2; ")
    query = "SELECT vesta_next('orders') AS id, n FROM parts WHERE n % 2 = 0 ORDER BY n"
    plan = db.sql(force + "EXPLAIN VERBOSE " + query)
    assert "Workers Planned: 2" in plan and plan.count("vesta_next") == 1 and plan.index("vesta_next") < plan.index("->"), plan
    db.sql(force + "CREATE TABLE numbered AS " + query)
    assert db.sql("SELECT count(*), count(DISTINCT id), bool_and(ok) FROM (SELECT id, id > coalesce(lag(id) OVER (ORDER BY n), 0) AS ok FROM numbered) x") \
        == "100000|100000|t"
    scan = "SELECT count(*) FROM numbered WHERE vesta_time(id, 'orders') > '2020-01-01' AND vesta_worker(id, 'orders') >= 0"
    assert re.search(r"(?s)Gather.*Parallel Seq Scan.*vesta_time", db.sql(force + "EXPLAIN " + scan))
    assert db.sql(force + scan) == "100000"


@claim("an index, a generated column and a partition reject functions that depend on a file, and accept vesta_time_of")
def immutable():
    db.sql("CREATE TABLE plain (id bigint DEFAULT vesta_next('orders'))")
    for call in ("vesta_next('orders')", "vesta_time(id, 'orders')", "vesta_worker(id, 'orders')"):
        fails("CREATE INDEX ON plain ((%s))" % call, "42P17", "must be marked IMMUTABLE")
        fails("ALTER TABLE plain ADD made text GENERATED ALWAYS AS ((%s)::text) STORED" % call, "42P17", "not immutable")
    db.sql("CREATE TABLE days (id bigint DEFAULT vesta_next('orders'), made timestamptz GENERATED ALWAYS AS (vesta_time_of(id, 'snowflake')) STORED) PARTITION BY RANGE (id); "
           "CREATE TABLE today PARTITION OF days FOR VALUES FROM (lower(vesta_range('today', 'tomorrow', 'orders'))) TO (upper(vesta_range('today', 'tomorrow', 'orders'))); "
           "CREATE TABLE other PARTITION OF days DEFAULT; CREATE INDEX ON days (vesta_time_of(id, 'snowflake')); INSERT INTO days SELECT FROM generate_series(1, 1000)")
    assert db.sql("SELECT count(*), count(DISTINCT id), bool_and(made = vesta_time(id, 'orders')) FROM days") == "1000|1000|t"
    fails("SELECT vesta_time_of(1, 'snoflake')", "22023", "did you mean snowflake")


@claim("prepared statements, triggers, cursors, JIT, two-phase commit and aborted subtransactions repeat no id")
def statements():
    db.sql("CREATE TABLE many (id bigint PRIMARY KEY DEFAULT vesta_next('orders'), way text); CREATE TABLE log (id bigint PRIMARY KEY)")
    db.sql("CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES (vesta_next('orders')); RETURN NEW; END $$; "
           "CREATE TRIGGER note BEFORE INSERT ON many FOR EACH ROW EXECUTE FUNCTION note()")
    db.sql("PREPARE p AS INSERT INTO many (way) SELECT 'prepared' FROM generate_series(1, $1); SET plan_cache_mode = force_generic_plan; "
           + "EXECUTE p(10); " * 10)
    db.sql("DO $$ BEGIN FOR i IN 1..100 LOOP BEGIN INSERT INTO many (way) VALUES ('kept'); IF i % 2 = 0 THEN RAISE 'undo'; END IF; "
           "EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END $$")
    db.sql("BEGIN; INSERT INTO many (way) VALUES ('two-phase'); PREPARE TRANSACTION 'one'")
    db.sql("INSERT INTO many (way) SELECT 'between' FROM generate_series(1, 100)")
    db.sql("COMMIT PREPARED 'one'")
    db.sql("SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0; "
           "INSERT INTO many (way) SELECT 'jit' FROM generate_series(1, 100)")
    db.sql("BEGIN; DECLARE c CURSOR FOR SELECT vesta_next('orders') FROM generate_series(1, 100); FETCH 10 FROM c; FETCH 10 FROM c; COMMIT")
    assert column("SELECT way, count(*) FROM many GROUP BY way ORDER BY way") == ["between|100", "jit|100", "kept|50", "prepared|100", "two-phase|1"]
    assert db.sql("SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM many UNION ALL SELECT id FROM log) x") == "702|702"


@claim("COPY of 10^6 rows and 16 connections at once give every row an id of its own")
def many_rows():
    rows = int(os.environ.get("VESTA_ROWS", 1000000))
    db.sql("CREATE UNLOGGED TABLE copied (id bigint DEFAULT vesta_next('orders'), n int)")
    with tempfile.TemporaryFile("w+") as file:
        file.write("".join("%d\n" % n for n in range(rows)))
        file.seek(0)
        subprocess.run([db.programs + "psql", "-X", "-q", "-h", db.folder, "-p", str(db.port), "-U", "postgres", "-c", "COPY copied (n) FROM STDIN"],
                       stdin=file, check=True, timeout=120)
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write("INSERT INTO copied (n) SELECT 0 FROM generate_series(1, 20);\n")
        script.flush()
        db.tool("pgbench", "-n", "-c", "16", "-j", "2", "-t", "50", "-M", "prepared", "-f", script.name, "postgres")
    assert db.sql("SELECT count(*), count(DISTINCT id) FROM copied") == "%d|%d" % (rows + 16000, rows + 16000)


@claim("the extension can be loaded twice, but is created once")
def twice():
    assert "already exists" in db.client("CREATE EXTENSION vesta").stderr
    assert int(db.sql("LOAD 'vesta'; LOAD 'vesta'; CREATE EXTENSION IF NOT EXISTS vesta; SELECT vesta_next('orders')")) > 0
    db.stop()
    db.start(shared_preload_libraries="vesta", session_preload_libraries="vesta")
    assert int(db.sql("SELECT vesta_next('orders')")) > 0


@claim("make in extensions/postgresql builds the extension without CMake")
def by_hand():
    prefix, sources = db.path("prefix"), db.path("extensions")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL, timeout=120)
    found = subprocess.run(["find", prefix, "-name", "vesta.pc"], check=True, capture_output=True, text=True).stdout.strip()
    for name in "common", "postgresql":
        shutil.copytree(os.path.join(db.sources, "..", name), os.path.join(sources, name))
    done = subprocess.run(["make", "-C", os.path.join(sources, "postgresql"), "COPT=-Werror"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
                          env=dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(found)))
    assert done.returncode == 0, done.stdout[-2000:]
    db.put(os.path.join(sources, "postgresql", "vesta.so"), db.module())
    assert int(db.sql("SELECT vesta_next('orders')")) > 0


@claim("sessions that run continue during ALTER EXTENSION UPDATE and after the library was replaced")
def upgraded():
    db.put(db.extension("vesta--0.2.sql"), db.extension("vesta--0.1.sql"))
    with open(db.extension("vesta--0.1.sql"), "r+") as file:  # an earlier version has fewer functions
        text = file.read()
        at = text.index("CREATE FUNCTION vesta_time_of")
        file.truncate(at)
    with open(db.extension("vesta--0.1--0.2.sql"), "w") as file:
        file.write(text[at:])
    db.sql("CREATE DATABASE upgraded")
    db.sql("CREATE EXTENSION vesta VERSION '0.1'; CREATE TABLE sold (id bigint PRIMARY KEY DEFAULT vesta_next('orders'))", "upgraded")
    session = db.session("upgraded")
    session.stdin.write("INSERT INTO sold SELECT FROM generate_series(1, 1000);\\echo ready\n")
    session.stdin.flush()
    assert session.stdout.readline() == "ready\n"
    db.put(os.path.join(BUILD, "postgresql/vesta.so"), db.module())
    db.put(os.path.join(BUILD, "csrc/libvesta.so.0"), db.path("tree/libvesta.so.0"))
    db.sql("ALTER EXTENSION vesta UPDATE; INSERT INTO sold SELECT FROM generate_series(1, 1000); SELECT vesta_time_of(1, 'snowflake')", "upgraded")
    out, _ = session.communicate("INSERT INTO sold SELECT FROM generate_series(1, 1000); SELECT vesta_time_of(1, 'snowflake') < now();\n", timeout=30)
    assert out == "t\n", out
    assert db.sql("SELECT count(*) FROM sold", "upgraded") == "3000"


main()
