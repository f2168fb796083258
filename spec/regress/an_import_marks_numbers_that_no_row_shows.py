"""Regression: operators delete rows of UidGenerator's WORKER_NODE, nodes of Leaf, and addresses in the table of Vesta
(Java). The import marked only the remaining rows, so a namespace with a later epoch leased a worker id of old ids, and
issued the published UidGenerator id 180363646902239241 again."""
import json
import subprocess

import served
from harness import claim, fails, main, same

NS = ("--namespace", "orders")
PUBLISHED = "180363646902239241"  # an id of worker 4, in the layout of UidGenerator's README
README = "uid time:29 worker:21 epoch=2016-09-20T00:00:00+08:00"
LATER = "uid time:29 worker:21 epoch=2026-01-01T00:00:00Z"


def database(name, *statements):
    db = served.mariadb()
    db.sql("CREATE OR REPLACE DATABASE %s; USE %s; %s" % (name, name, ";".join(statements)))
    db.sql("CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 'r'; GRANT SELECT ON %s.* TO reader@'127.0.0.1'" % name)
    return served.mysql_uri("reader:r", name)


def target(world, layout, name="t", more=()):
    uri = "sqlite:" + world.path(name + ".db")
    same(world.run("store", "init", "--store", uri, *NS, "--layout", layout, *more).code, 0)
    return uri


def call(world, uri, *args):
    return world.run("workers", "import", "--store", uri, *NS, "--json", *args)


def numbers(done):
    same((done.code, done.err), (0, ""))
    got = json.loads(done.out)
    return [n["worker"] for n in got["numbers"] if n["held"]], got.get("issued_to")


UID_TABLE = "CREATE TABLE WORKER_NODE (ID BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL)"
DUMP = "INSERT INTO WORKER_NODE VALUES (42, '10.0.0.1', '1600000000000-17')"


@claim("for a dump with row 42 and AUTO_INCREMENT=43, the worker ids 1 to 42 are marked, and the published id's "
       "worker id is not leased")
def published(world):
    same(json.loads(world.run("explain", "--json", "--layout", README, PUBLISHED).out)["worker"], 4)
    for name, rows in (("uid1", [DUMP]), ("uid2", [DUMP, "DELETE FROM WORKER_NODE"])):
        source, uri = database(name, UID_TABLE, *rows), target(world, LATER, name)
        same(numbers(call(world, uri, "--from", "uid", "--source", source, "--yes")), (list(range(1, 43)), 42))
        fails(world.run("gen", "--worker", "4", "--store", uri, *NS, "--layout", LATER, "--path", world.path(name + ".gen"), timeout=90), 1, "every tick of worker id 4 was granted")


@claim("a table that does not show what was issued is rejected until --issued states it")
def unknown(world):
    uri = target(world, LATER)
    for i, (rows, why) in enumerate(((["TRUNCATE TABLE WORKER_NODE"], "truncated"),
                                     (["ALTER TABLE WORKER_NODE MODIFY ID BIGINT NOT NULL"], "the table has no AUTO_INCREMENT"))):
        source = database("no%d" % i, UID_TABLE, DUMP, *rows)
        fails(call(world, uri, "--from", "uid", "--source", source, "--yes"), 1, why, "--issued N", "Nothing was written")
        same(numbers(call(world, uri, "--from", "uid", "--source", source, "--issued", "50")), (list(range(1, 51)), 50))


@claim("too many worker ids are rejected unless the namespace excludes them, and so are those outside the field")
def many(world):
    source = database("many", UID_TABLE, DUMP, "ALTER TABLE WORKER_NODE AUTO_INCREMENT = 200001")
    fails(call(world, target(world, LATER), "--from", "uid", "--source", source, "--yes"), 1, "1 to 200000", "--static 1-200000", "Nothing was written")
    uri = target(world, LATER, "static", ("--static", "1-200000"))
    same(numbers(call(world, uri, "--from", "uid", "--source", source, "--yes")), ([42], 200000))
    served.mariadb().sql("ALTER TABLE many.WORKER_NODE AUTO_INCREMENT = 3000000")
    fails(call(world, uri, "--from", "uid", "--source", source), 1, "2999999", "ends at 2097151", "Nothing was written")


@claim("for Leaf, all worker ids that its node ever issued are marked, even after nodes were deleted")
def leaf(world):
    lines = ["create /snowflake", "create /snowflake/app", "create /snowflake/app/forever"]
    lines += ["create -s /snowflake/app/forever/10.0.0.%d:8080- x" % i for i in range(5)]
    source, args = served.zk_uri("", "/snowflake"), ("--from", "leaf", "--name", "app")
    for i, more in enumerate((["delete /snowflake/app/forever/10.0.0.%d:8080-%010d" % (n, n) for n in (0, 2, 4)],
                              ["delete /snowflake/app/forever/10.0.0.%d:8080-%010d" % (n, n) for n in (1, 3)])):
        subprocess.run(["java", "-Xmx128m", "-cp", served.zookeeper().JARS + ":/usr/share/java/*", "org.apache.zookeeper.ZooKeeperMain", "-server",
                        "127.0.0.1:%d" % served.zookeeper().port], input="\n".join((lines if i == 0 else []) + more) + "\nquit\n", text=True,
                       capture_output=True, timeout=120, check=False)
        same(numbers(call(world, target(world, "leaf epoch=2026-01-01T00:00:00Z", "l%d" % i), *args, "--source", source)), ([0, 1, 2, 3, 4], 4))


@claim("an import that is safe only under the original's epoch rejects a later one, and other fields")
def epochs(world):
    table = "CREATE TABLE DB_MACHINE_ID_PROVIDER (ID bigint NOT NULL PRIMARY KEY, IP varchar(64) DEFAULT NULL, UNIQUE KEY UK_IP (IP))"
    vesta = ("--from", "vesta", "--source", database("nulls", table, "INSERT INTO DB_MACHINE_ID_PROVIDER VALUES (0, NULL), (1, '10.0.0.1')"))
    uid = ("--from", "uid", "--source", database("uid3", UID_TABLE, DUMP))
    for i, (args, layout, fits) in enumerate(((vesta, "vesta-second", True), (vesta, "vesta-milli", True), (vesta, "snowflake", False),
                                              (vesta, "vesta-second epoch=2026-01-01T00:00:00Z", False),
                                              ((*uid, "--days", "30"), LATER, False), (uid, "uid time:30 worker:20", False),
                                              ((*uid, "--original", "uid time:30 worker:20"), "uid time:30 worker:20 epoch=2026-01-01T00:00:00Z", True))):
        done = call(world, target(world, layout, "e%d" % i), *args)
        if fits:
            same((layout, done.code, done.err), (layout, 0, ""))
        else:
            fails(done, 1, "ids could collide", "Nothing was written", "--original LAYOUT")


@claim("a ticket server's table that does not show its issued numbers is rejected: without a row, counting from 1, or "
       "beyond 2^63")
def tickets(world):
    table = "CREATE TABLE Tickets64 (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, stub CHAR(1) NOT NULL UNIQUE)"
    used = "REPLACE INTO Tickets64 (stub) VALUES ('a')"
    for i, (rows, why) in enumerate((((), "its highest number is unknown"), ((used, used, "TRUNCATE TABLE Tickets64"), "--from N"),
                                     (("INSERT INTO Tickets64 VALUES (9223372036854775807, 'a')",), "is at 9223372036854775808"),
                                     (("INSERT INTO Tickets64 VALUES (18446744073709551615, 'a')",), "is at 18446744073709551615"))):
        source = database("tickets%d" % i, table, *rows)
        fails(world.run("segments", "import", "Tickets64", source, "--store", "sqlite:" + world.path("c%d.db" % i), "--yes"), 1, why)
    source = database("ticketsd", table, used, used, "DELETE FROM Tickets64")
    assert "begins with 3," in world.run("segments", "import", "Tickets64", source, "--store", "sqlite:" + world.path("c.db")).out


main()
