"""import.py -- `vesta workers import` from tables and nodes of Butterfly, Leaf, UidGenerator and Vesta (Java)."""
import json
import subprocess
import time

import served
from harness import claim, fails, main, same

DAY_MS = 86400000
NS = ("--namespace", "orders")
SINCE, UTC = ("--butterfly", "1.0.2"), ("--butterfly", "1.0.2", "--zone", "Z")  # MariaDB uses UTC here.
# Layouts with small worker fields, so that a process that claims a worker id meets the marks.
LAYOUTS = {"butterfly": "sign:1=0 time:41 seq:18 worker:4 unit=1ms epoch=2020-02-21T16:00:00Z", "uid": "uid epoch=2026-01-01T00:00:00Z"}
SMALL = ("--original", LAYOUTS["butterfly"])


def database(name, *statements):
    """Creates an original generator's database with these rows, and returns its URI."""
    db = served.mariadb()
    db.sql("CREATE DATABASE %s; USE %s; %s" % (name, name, ";".join(statements)))
    db.sql("CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 'r'; GRANT SELECT ON %s.* TO reader@'127.0.0.1'" % name)
    return served.mysql_uri("reader:r", name)


BUTTERFLY_TABLE = """CREATE TABLE `butterfly_uuid_generator` (`id` int(11) NOT NULL AUTO_INCREMENT, `namespace` varchar(128) DEFAULT '',
 `work_id` int(16) NOT NULL DEFAULT '0', `last_expire_time` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, `uid` varchar(128) DEFAULT '0',
 `ip` varchar(20) NOT NULL DEFAULT '0', `process_id` varchar(128) NOT NULL DEFAULT '0', PRIMARY KEY (`id`),
 UNIQUE KEY `idx_name_work` (`namespace`,`work_id`)) ENGINE=InnoDB DEFAULT CHARSET=utf8"""
UID_TABLE = """CREATE TABLE WORKER_NODE (ID BIGINT NOT NULL AUTO_INCREMENT, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL,
 TYPE INT NOT NULL, LAUNCH_DATE DATE NOT NULL, MODIFIED TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
 CREATED TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, PRIMARY KEY(ID)) ENGINE=InnoDB"""
VESTA_TABLE = """CREATE TABLE DB_MACHINE_ID_PROVIDER (ID bigint NOT NULL, IP varchar(64) DEFAULT NULL, PRIMARY KEY (ID), UNIQUE KEY UK_IP (IP))
 ENGINE=InnoDB"""


def nodes(*pairs):
    """Creates nodes like the Java clients: open to all, with their text, and with parents."""
    jars = served.zookeeper().JARS
    texts = dict(pairs)
    parents = ["/".join(path.split("/")[:i]) for path in texts for i in range(2, len(path.split("/")))]
    lines = ["create " + path for path in parents if path not in texts]
    lines += [("create %s %s" % (path, text)).rstrip() for path, text in pairs]
    subprocess.run(["java", "-Xmx128m", "-cp", jars + ":/usr/share/java/*", "org.apache.zookeeper.ZooKeeperMain", "-server",
                    "127.0.0.1:%d" % served.zookeeper().port], input="\n".join(dict.fromkeys(lines)) + "\nquit\n", text=True,
                   capture_output=True, timeout=120, check=False)


def target(world, layout="snowflake", name="t"):
    uri = "sqlite:" + world.path(name + ".db")
    same(world.run("store", "init", "--store", uri, *NS, "--layout", layout).code, 0)
    return uri


def imported(world, uri, *args, code=0):
    done = world.run("workers", "import", "--store", uri, *NS, "--json", *args)
    same((done.code, code == 0 and done.err or ""), (code, ""))
    got = json.loads(done.out)
    same(got["found"], len(got["numbers"]))
    return got


def look(world, uri):
    return {w["worker"]: w for w in json.loads(world.run("workers", "--store", uri, *NS, "--json").out)["workers"]}


def counts(got):
    return got["mark"], got["raise"], got["same"], got["clash"]


def marks(world, uri, args, held, free=()):
    """Asserts that a dry run writes nothing, that --yes writes the marks, and that a second run adds none."""
    got = imported(world, uri, *args)
    same((counts(got), got["written"], look(world, uri)), ((len(held) + len(free), 0, 0, 0), False, {}))
    same(imported(world, uri, "--dry-run", *args)["written"], False)
    now_ms = time.time() * 1000
    got = imported(world, uri, "--yes", *args)
    same((counts(got), got["written"]), ((len(held) + len(free), 0, 0, 0), True))
    found = look(world, uri)
    same({n: w["state"] for n, w in found.items()}, {**{n: "held" for n in held}, **{n: "free" for n in free}})
    for n, w in found.items():
        assert w["identity"].startswith("import:") and w.get("until_ms", now_ms + 60000) >= now_ms + 59000, w
    again = imported(world, uri, "--yes", *args)
    same((again["mark"], again["clash"], again["same"] + again["raise"], again["raise"] <= len(free) or "--days" in args), (0, 0, len(held) + len(free), True))
    after = look(world, uri)
    for n in found:
        assert int(after[n]["until"]) >= int(found[n]["until"]), (found[n], after[n])
    return found


def drawn(world, uri, count, layout):
    for i in range(count):
        same(world.run("gen", "--store", uri, *NS, "--layout", layout, "--path", world.path("g%d.gen" % i)).code, 0)
    return {n for n, w in look(world, uri).items() if not w["identity"].startswith("import:")}


@claim("Butterfly's table: rows of the namespace are held until a minute after they expire, or used and free, and "
       "other namespaces' rows are ignored")
def _(world):
    source = database("bf", BUTTERFLY_TABLE, "INSERT INTO butterfly_uuid_generator (namespace, work_id, last_expire_time, uid, ip, process_id) VALUES"
                      " ('biz', 0, NOW() + INTERVAL 24 HOUR, UUID(), '10.0.0.1', '71'), ('biz', 1, NOW() + INTERVAL 1 HOUR, UUID(), '10.0.0.2', '5'),"
                      " ('biz', 3, NOW() - INTERVAL 3 DAY, UUID(), '10.0.0.3', '6'), ('other', 2, NOW() + INTERVAL 24 HOUR, UUID(), '10.0.0.4', '7'),"
                      " ('it''s', 9, NOW() + INTERVAL 24 HOUR, UUID(), '10.0.0.5', '8')")
    uri = target(world, LAYOUTS["butterfly"])
    found = marks(world, uri, ("--from", "butterfly-db", *UTC, *SMALL, "--source", source, "--name", "biz"), held=[0, 1], free=[3])
    now_ms = time.time() * 1000
    assert abs(found[0]["left_ms"] - DAY_MS - 60000) < 60000 and found[0]["until_ms"] >= now_ms + DAY_MS, found[0]
    assert abs(found[1]["left_ms"] - 3600000 - 60000) < 60000 and "10.0.0.2 5" in found[1]["holder"], found[1]
    same(drawn(world, uri, 13, LAYOUTS["butterfly"]), {2, *range(4, 16)})
    quoted = imported(world, target(world, LAYOUTS["butterfly"], "q"), "--from", "butterfly-db", *UTC, *SMALL, "--source", source, "--name", "it's")
    same([n["worker"] for n in quoted["numbers"]], [9])
    same(imported(world, target(world, LAYOUTS["butterfly"], "n"), "--from", "butterfly-db", *UTC, *SMALL, "--source", source, "--name", "' OR '1'='1")["found"], 0)


@claim("if Butterfly continues to use a worker id, the next import extends its mark")
def _(world):
    source = database("bf2", BUTTERFLY_TABLE, "INSERT INTO butterfly_uuid_generator (namespace, work_id, last_expire_time) VALUES ('biz', 5, NOW() + INTERVAL 1 HOUR)")
    args = ("--from", "butterfly-db", "--butterfly", "1.0.2", "--zone", "database", "--source", source, "--name", "biz", "--yes")
    uri = target(world, "butterfly")
    same(counts(imported(world, uri, *args)), (1, 0, 0, 0))
    before = look(world, uri)[5]
    served.mariadb().sql("UPDATE bf2.butterfly_uuid_generator SET last_expire_time = NOW() + INTERVAL 24 HOUR")
    same(counts(imported(world, uri, *args)), (0, 1, 0, 0))
    after = look(world, uri)[5]
    assert after["until_ms"] - before["until_ms"] > 22 * 3600000 and after["left_ms"] > 23 * 3600000, (before, after)
    served.mariadb().sql("UPDATE bf2.butterfly_uuid_generator SET last_expire_time = NOW() - INTERVAL 1 HOUR")
    imported(world, uri, *args)
    last = look(world, uri)[5]
    same((last["state"], last["until"]), ("free", after["until"]))  # The lease was released, and the mark remains.


@claim("Butterfly's nodes: worker ids are held until lastExpireTime or free, and nodes of config and locks are ignored")
def _(world):
    now_ms = int(time.time() * 1000)
    worker = '{"ip":"10.0.0.%d","lastExpireTime":%d,"processId":"%d","uidKey":"8a6e0804-2bd0-4672-b79d-d97027f9071a"}'
    root = "/butterfly/sequence/biz"
    nodes((root + "/config", '{"currentMaxMachine":16,"sequenceBits":9,"timestampBits":41,"workerBits":13}'),
          (root + "/worker_0", worker % (1, now_ms + DAY_MS, 11)), (root + "/worker_7", worker % (2, now_ms + 3600000, 12)),
          (root + "/worker_3", worker % (3, now_ms - DAY_MS, 13)), (root + "/worker_9", ""), (root + "/worker_0/session", "{}"),
          (root + "/expand_lock", "x"))
    source = served.zk_uri("", "/butterfly")
    found = marks(world, target(world, "butterfly"), ("--from", "butterfly-zk", *SINCE, "--source", source, "--name", "biz"), held=[0, 7], free=[3, 9])
    assert "10.0.0.2 12" in found[7]["holder"] and abs(found[7]["left_ms"] - 3600000 - 60000) < 60000, found[7]
    root = "/butterfly/sequence/bad"
    for i, text in enumerate(("gibberish", '{"lastExpireTime":"soon"}', '{"lastExpireTime":-5}', '{"lastExpireTime":99999999999999999999}',
                              '{"ip":"\\"lastExpireTime\\":7"}', '{"lastExpireTime":7x}')):
        nodes((root + "%d/worker_1" % i, text))
        fails(world.run("workers", "import", "--from", "butterfly-zk", *SINCE, "--source", source, "--name", "bad%d" % i, "--store", target(world, "butterfly", "b"), *NS, "--yes"),
              1, "worker_1 does not have Butterfly's format")
    same(look(world, "sqlite:" + world.path("b.db")), {})


def sequential(parent, names, deleted=()):
    """Creates sequential nodes as Leaf does, then deletes some."""
    lines = ["create " + "/".join(parent.split("/")[:i]) for i in range(2, len(parent.split("/")) + 1)]
    lines += ["create -s %s/%s- x" % (parent, name) for name in names] + ["delete %s/%s-%010d" % (parent, names[n], n) for n in deleted]
    subprocess.run(["java", "-Xmx128m", "-cp", served.zookeeper().JARS + ":/usr/share/java/*", "org.apache.zookeeper.ZooKeeperMain", "-server",
                    "127.0.0.1:%d" % served.zookeeper().port], input="\n".join(lines) + "\nquit\n", text=True, capture_output=True, timeout=120, check=False)


@claim("Leaf's nodes: each worker id that was ever issued is held forever, or for the time of --days")
def _(world):
    name = "com.sankuai.leaf.opensource.test"
    sequential("/snowflake/%s/forever" % name, ["10.0.0.1:8080", "10.0.0.2:8080", "my-host:80"])
    args = ("--from", "leaf", "--source", served.zk_uri("", "/snowflake"), "--name", name)
    uri = target(world, "leaf")
    found = marks(world, uri, args, held=[0, 1, 2])
    for w in found.values():
        assert "until_ms" not in w and w["left_ms"] > 50 * 365 * DAY_MS, w
    assert "my-host:80-0000000002" in found[2]["holder"], found
    text = world.run("workers", "import", *args, "--store", uri, *NS).out
    assert text.endswith("leaf has issued worker ids up to 2\n3 worker ids found: 0 to mark, 0 to raise, 3 already marked, 0 in conflict. Nothing was written: add --yes to write\n"), text
    for_days = marks(world, target(world, "leaf", "days"), (*args, "--days", "30"), held=[0, 1, 2])
    for w in for_days.values():
        assert abs(w["left_ms"] - 30 * DAY_MS) < 60000 and w["until_ms"] >= w["written_ms"] + 30 * DAY_MS, w
    fails(world.run("gen", "--worker", "1", "--store", uri, *NS, "--layout", "leaf", "--path", world.path("one.gen"), timeout=90), 1, "every tick of worker id 1 was granted")
    nodes(("/snowflake/odd/forever/10.0.0.1:8080-12", ""), ("/snowflake/odd2/forever/none", ""), ("/snowflake/wide/forever/a:1-0000001024", ""),
          ("/snowflake/wide/forever/b:1-0000000005", ""), ("/snowflake/wide/forever/b:1-0000000000", ""))
    fails(world.run("workers", "import", *args[:-1], "odd", "--store", uri, *NS), 1, "not Leaf's", "8080-12")
    fails(world.run("workers", "import", *args[:-1], "odd2", "--store", uri, *NS), 1, "not Leaf's")
    wide = world.run("workers", "import", *args[:-1], "wide", "--store", target(world, "leaf", "wide"), *NS, "--yes", "--json")
    # Leaf's sequence has passed all of them.
    same((wide.code, [n["worker"] for n in json.loads(wide.out)["numbers"]], json.loads(wide.out)["beyond"]), (0, [*range(1024)], 1))
    same(wide.err, "vesta workers import: 1024 (a:1-0000001024): above the highest worker id of the namespace's layout, 1023: not imported, because leaf does"
                   " not start with such a worker id\n")
    fails(world.run("workers", "import", *args[:-1], "nobody", "--store", uri, *NS), 1, "no node /nobody/forever", "check --name", ", --name could be ",
          name)
    fails(world.run("workers", "import", "--from", "leaf", "--source", served.zk_uri("", ""), "--name", name, "--store", uri, *NS), 2,
          "--source is", "names no node", "zk://HOSTS/snowflake")
    reserved = world.run("workers", "import", *args, "--issued", "5", "--yes", "--store", uri, *NS).out
    assert "   3-5  mark   held until the layout's end          reserved by --issued\n" in reserved, reserved
    assert "leaf has issued worker ids up to 2 by its records, and --issued reserves 3 more\n" in reserved, reserved


@claim("nodes at the longest paths that a URI and a name allow are read")
def _(world):
    source, tree = served.zk_uri("", "/" + "r" * 254), "/" + "r" * 254
    held = '{"ip":"10.0.0.1","lastExpireTime":%d,"processId":"1"}' % (int(time.time() * 1000) + DAY_MS)
    # If paths were cut at 512 bytes, the first name's nodes and the second name's parent would be missing.
    fits, longest = "b" * 240, "b" * 250
    nodes(*(("%s/sequence/%s/worker_%d" % (tree, name, n), held) for name in (fits, longest) for n in (3, 10)),
          ("%s/%s/forever/10.0.0.1:8080-0000000000" % (tree, longest), ""))
    for name in (fits, longest):
        args = ("--from", "butterfly-zk", *SINCE, "--source", source, "--name", name)
        found = marks(world, target(world, "butterfly", name[:len(name) - 230]), args, held=[3, 10])
        assert "10.0.0.1 1" in found[10]["holder"], found
    marks(world, target(world, "leaf", "l"), ("--from", "leaf", "--source", source, "--name", longest), held=[0])


@claim("UidGenerator's table: every worker id was used by one start and is never used again")
def _(world):
    source = database("uid", UID_TABLE, "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES ('10.0.0.1', '1600000000000-17', 2, '2026-01-02'),"
                      " ('10.0.0.1', '1600000000001-18', 2, '2026-01-03'), ('pod-a', '8080', 1, '2026-01-03')")
    found = marks(world, target(world, LAYOUTS["uid"]), ("--from", "uid", "--source", source), held=[1, 2, 3])
    assert "pod-a:8080" in found[3]["holder"], found
    served.mariadb().sql("INSERT INTO uid.WORKER_NODE (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (-4, 'x', '1', 2, '2026-01-02')")
    fails(world.run("workers", "import", "--from", "uid", "--source", source, "--store", "sqlite:" + world.path("t.db"), *NS), 1, "WORKER_NODE", "'-4'")


@claim("for more than 100,000 rows, the import names the static range that excludes them and needs no rows, and "
       "--table names the table")
def _(world):
    source = database("many", UID_TABLE.replace("WORKER_NODE", "nodes"), "INSERT INTO nodes (HOST_NAME, PORT, TYPE, LAUNCH_DATE) SELECT 'h', '1', 2, NOW() FROM"
                      " seq_1_to_100003", "INSERT INTO nodes VALUES (4194310, 'late', '1', 2, NOW(), NOW(), NOW())", "ALTER TABLE nodes AUTO_INCREMENT = 4194311")
    args = ("--from", "uid", "--source", source, "--yes")
    layout = LAYOUTS["uid"]
    fails(world.run("workers", "import", *args, "--store", target(world, layout), *NS), 1, "WORKER_NODE' doesn't exist", "--table")
    fails(world.run("workers", "import", *args, "--table", "no`des", "--store", target(world, layout), *NS), 2, "the name of a table")
    fails(world.run("workers", "import", *args, "--table", "nodes", "--store", target(world, layout), *NS), 1, "vesta store init --static 1-4194303")
    served.mariadb().sql("DELETE FROM many.nodes WHERE ID > 200000; ALTER TABLE many.nodes AUTO_INCREMENT = 100006")
    fails(world.run("workers", "import", *args, "--table", "nodes", "--store", target(world, layout), *NS), 1, "vesta store init --static 1-100005")
    late = database("late", UID_TABLE, "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 4194311")
    fails(world.run("workers", "import", "--from", "uid", "--source", late, "--store", target(world, layout, "l"), *NS), 1,
          "vesta store init --static 1-4194303", "leaves only 1: docs/migrate/uidgenerator.md")
    uri = "sqlite:" + world.path("static.db")
    same(world.run("store", "init", "--store", uri, *NS, "--layout", layout, "--static", "1-100002").code, 0)
    done = world.run("workers", "import", *args, "--table", "nodes", "--store", uri, *NS, "--json")
    got = json.loads(done.out)
    same((done.code, done.err, [n["worker"] for n in got["numbers"]], got["issued_to"]), (0, "", [100003, 100004, 100005], 100005))


@claim("the table of Vesta (Java): rows with an address are held forever, and rows without one count as used until now")
def _(world):
    source = database("vs", VESTA_TABLE, "INSERT INTO DB_MACHINE_ID_PROVIDER (ID, IP) SELECT seq, NULL FROM seq_0_to_6",
                      "INSERT INTO DB_MACHINE_ID_PROVIDER VALUES (1023, NULL)",
                      "UPDATE DB_MACHINE_ID_PROVIDER SET IP = CONCAT('10.0.0.', ID) WHERE ID IN (0, 4, 1023)")
    for where in (target(world, "vesta-second"), served.mysql_uri(), served.zk_uri()):
        same(world.run("store", "init", "--store", where, *NS, "--layout", "vesta-second").code, 0)
        found = marks(world, where, ("--from", "vesta", "--source", source), held=[0, 4, 1023], free=[1, 2, 3, 5, 6])
        assert "10.0.0.4" in found[4]["holder"], found


@claim("a worker id that a process holds here is reported as a conflict and not changed, and the exit code is 1")
def _(world):
    source = database("clash", VESTA_TABLE, "INSERT INTO DB_MACHINE_ID_PROVIDER VALUES (5, '10.0.0.5'), (6, '10.0.0.6')")
    uri = target(world, "vesta-second")
    same(world.run("gen", "--store", uri, *NS, "--layout", "vesta-second", "--worker", "5", "--path", world.path("five.gen")).code, 0)
    before = look(world, uri)[5]
    got = imported(world, uri, "--from", "vesta", "--source", source, "--yes", code=1)
    same(counts(got), (1, 0, 0, 1))
    after = look(world, uri)
    same((after[5], after[6]["state"]), ({**before, "left_ms": after[5]["left_ms"]}, "held"))
    done = world.run("workers", "import", "--from", "vesta", "--source", source, "--store", uri, *NS)
    assert done.code == 1 and "worker id 5 is used by the original" in done.err and "stop one of them" in done.err, done.err


@claim("a worker id that was released here keeps the later of the two marks")
def _(world):
    source = database("back", BUTTERFLY_TABLE, "INSERT INTO butterfly_uuid_generator (namespace, work_id, last_expire_time) VALUES ('biz', 5, NOW() - INTERVAL 1 DAY)")
    served.mariadb()
    uri = served.mysql_uri()
    same(world.run("store", "init", "--store", uri, "--namespace", "back", "--layout", "butterfly").code, 0)
    run = ("workers", "import", "--from", "butterfly-db", *UTC, "--source", source, "--name", "biz", "--store", uri, "--namespace", "back", "--yes", "--json")
    same(world.run("gen", "--store", uri, "--namespace", "back", "--layout", "butterfly", "--worker", "5", "--path", world.path("b.gen"), "--lease", "balanced").code, 0)
    served.mariadb().sql("UPDATE vesta.vesta_lease SET written_us = written_us - 800000000 WHERE ns = 'back'")
    before = json.loads(world.run("workers", "--store", uri, "--namespace", "back", "--json").out)["workers"][0]
    same((before["state"], counts(json.loads(world.run(*run).out))), ("expired", (0, 1, 0, 0)))
    after = json.loads(world.run("workers", "--store", uri, "--namespace", "back", "--json").out)["workers"][0]
    assert int(after["until"]) >= int(before["until"]) and after["epoch"] == before["epoch"] + 1, (before, after)


@claim("an error from the source's database or server is reported in that server's words")
def _(world):
    uri = target(world, "uid epoch=2026-01-01T00:00:00Z")
    empty = database("none", "CREATE TABLE WORKER_NODE (A INT)")
    fails(world.run("workers", "import", "--from", "vesta", "--source", empty, "--store", target(world, "vesta-second", "v"), *NS), 1, "DB_MACHINE_ID_PROVIDER", "doesn't exist")
    fails(world.run("workers", "import", "--from", "uid", "--source", empty, "--store", uri, *NS), 1, "Unknown column")
    fails(world.run("workers", "import", "--from", "uid", "--source", served.mysql_uri("reader:wr0ng", "none"), "--store", uri, *NS), 1, "Access denied")
    fails(world.run("workers", "import", "--from", "leaf", "--source", "zk://127.0.0.1:1/snowflake", "--name", "a", "--store", target(world, "leaf", "l"), *NS), 1, "127.0.0.1:1")
    fails(world.run("workers", "import", "--from", "uid", "--source", empty, "--store", uri, "--namespace", "none"), 1, "not in the store")


@claim("invalid arguments are rejected, and the message names them")
def _(world):
    store = ("--store", "sqlite:" + world.path("v.db"), *NS)
    zk, db = ("--source", "zk://h/butterfly"), ("--source", "mysql://u@h/d")
    for args, part in (((), "--from is missing"), (("--from", "x"), "butterfly-db|butterfly-zk|leaf|uid|vesta"), (("--from", "leaf"), "--source is missing"),
                       (("--from", "leaf", *db), "needs a zk: URI"), (("--from", "uid", *zk), "needs a mysql: or postgresql: URI"),
                       (("--from", "uid", *db, "--name", "a"), "does not apply to uid"), (("--from", "leaf", *zk), "leaf.name"),
                       (("--from", "butterfly-zk", *zk), "Butterfly's namespace"), (("--from", "leaf", *zk, "--name", "a/../b"), "no '/'"),
                       (("--from", "leaf", *zk, "--name", ".."), "no '/'"), (("--from", "leaf", *zk, "--name", "x" * 251), "250 bytes"),
                       (("--from", "butterfly-zk", *zk, "--name", "a"), "--butterfly is missing: 1.0.1"), (("--from", "leaf", *zk, "--name", "a", *SINCE), "does not apply to leaf"),
                       (("--from", "butterfly-db", *db, "--name", "a", *SINCE), "--zone is missing: the time zone of Butterfly's JVMs"),
                       (("--from", "butterfly-db", *db, "--name", "a", *SINCE, "--zone", "Asia/Shanghai"), "an offset such as +08:00 or Z, or database"),
                       (("--from", "butterfly-db", *db, "--name", "a", *SINCE, "--zone", "+8"), "an offset such as"),
                       (("--from", "butterfly-zk", *zk, "--name", "a", *UTC), "--zone does not apply to butterfly-zk"),
                       (("--from", "uid", *db, "--zone", "Z"), "does not apply to uid"), (("--from", "uid", *db, "--original", "no-such"), "no-such"),
                       (("--from", "vesta", *db, "--issued", "3"), "--issued does not apply to vesta"),
                       (("--from", "leaf", *zk, "--name", "a", "--table", "t"), "--table does not apply to leaf"),
                       (("--from", "uid", *db, "--days", "0"), "from 1 to 36500"), (("--from", "uid", *db, "extra"), '"extra"'),
                       (("--from", "uid", "--source", "mysql://u@h"), "has no database name"), (("--frm", "uid"), "did you mean --from?")):
        fails(world.run("workers", "import", *store, *args), 2, part)
    fails(world.run("workers", "import", "--from", "uid", *db), 2, "--store is missing")
    same(world.run("workers", "import", "--help").code, 0)


main()
