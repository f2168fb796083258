"""Regression: if the JVM of a Butterfly had another time zone than its database, its worker id was imported as held for
19 hours instead of 24, or as expired. Also, worker ids of one Butterfly layout were imported into a namespace of the
other.

The rows are what Connector/J sends: a date in the JVM's zone, without a zone.
"""
import json
import time

import served
from harness import claim, fails, main, same

DAY_MS = 86400000
NS = ("--namespace", "orders")


def source(name, offset_h, hours=24):
    """Creates Butterfly's table in a database in UTC, with one row renewed by a JVM that is `offset_h` ahead of UTC."""
    db = served.mariadb()
    db.sql("CREATE DATABASE IF NOT EXISTS %s; USE %s; DROP TABLE IF EXISTS butterfly_uuid_generator;"
           "CREATE TABLE butterfly_uuid_generator (id int AUTO_INCREMENT PRIMARY KEY, namespace varchar(128), work_id int, uid varchar(128),"
           " last_expire_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, ip varchar(20), process_id varchar(128));"
           "INSERT INTO butterfly_uuid_generator (namespace, work_id, last_expire_time) VALUES ('biz', 5, '%s')"
           % (name, name, time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + (hours + offset_h) * 3600))))
    db.sql("CREATE USER IF NOT EXISTS reader@'127.0.0.1' IDENTIFIED BY 'r'; GRANT SELECT ON %s.* TO reader@'127.0.0.1'" % name)
    return served.mysql_uri("reader:r", name)


def target(world, layout, name="t"):
    uri = "sqlite:" + world.path(name + ".db")
    same(world.run("store", "init", "--store", uri, *NS, "--layout", layout).code, 0)
    return uri


def call(world, uri, *args):
    return world.run("workers", "import", "--from", "butterfly-db", "--name", "biz", "--store", uri, *NS, "--json", *args)


def held_h(world, uri, *args):
    """Returns the hours for which worker id 5 would be held, without the margin of a minute, or None if it is free."""
    done = call(world, uri, *args)
    same((done.code, done.err), (0, ""))
    number = json.loads(done.out)["numbers"][0]
    return round((number["held_until_ms"] - 60000 - time.time() * 1000) / 3600000, 1) if number["held"] else None


@claim("a Butterfly's worker id is held for the 24 hours that it wrote, in any time zone of its JVM")
def zones(world):
    uri = target(world, "butterfly")
    for offset in (-11, -5, 0, 8):
        zone = "%+03d:00" % offset
        same((zone, held_h(world, uri, "--source", source("o6", offset), "--butterfly", "1.0.2", "--zone", zone)), (zone, 24.0))
    same(held_h(world, uri, "--source", source("o6", 0), "--butterfly", "1.0.2", "--zone", "Z"), 24.0)
    same(held_h(world, uri, "--source", source("o6", 0), "--butterfly", "1.0.2", "--zone", "database"), 24.0)
    same(held_h(world, uri, "--source", source("o6", 5.5, 20), "--butterfly", "1.0.2", "--zone", "+05:30"), 20.0)


@claim("--zone is required, and an impossible zone is rejected")
def asked_for(world):
    uri = target(world, "butterfly")
    fails(call(world, uri, "--source", source("o6", -5), "--butterfly", "1.0.2"), 2, "--zone is missing", "+08:00", "database")
    fails(call(world, uri, "--source", source("o6", 8), "--butterfly", "1.0.2", "--zone", "Z"), 1, "worker id 5", "24 hours", "a time zone other than --zone Z")
    fails(call(world, uri, "--source", source("o6", 8), "--butterfly", "1.0.2", "--zone", "database", "--yes"), 1, "Nothing was written")


@claim("the database's own zone does not matter if the JVM's is given")
def another_database(world):
    db = served.mariadb()
    uri = target(world, "butterfly")
    where = source("o6", 8)  # written while the database was in UTC
    try:
        db.sql("SET GLOBAL time_zone = '-03:00'")
        db.sql("UPDATE o6.butterfly_uuid_generator SET last_expire_time = '%s'" % time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 32 * 3600)))
        same(held_h(world, uri, "--source", where, "--butterfly", "1.0.2", "--zone", "+08:00"), 24.0)
    finally:
        db.sql("SET GLOBAL time_zone = 'SYSTEM'")


@claim("the import requires Butterfly's version, and rejects a namespace with the layout of another version")
def which(world):
    where = source("o6", 0)
    new, old = target(world, "butterfly epoch=2022-01-01T00:00:00+08:00", "new"), target(world, "butterfly-v1.0.1", "old")
    started = ("--original", "butterfly epoch=2022-01-01T00:00:00+08:00")
    fails(call(world, new, "--source", where, "--zone", "Z"), 2, "--butterfly is missing", "1.0.1", "1.0.2", "Three consecutive ids")
    fails(call(world, new, "--source", where, "--butterfly", "1.0.2", "--zone", "Z"), 1, "no later epoch", "--original")
    same(held_h(world, new, "--source", where, "--butterfly", "1.0.2", "--zone", "Z", *started), 24.0)
    same(held_h(world, old, "--source", where, "--butterfly", "1.0.1", "--zone", "Z"), 24.0)
    fails(call(world, new, "--source", where, "--butterfly", "1.0.1", "--zone", "Z", "--yes"), 1, "butterfly-v1.0.1", "Nothing was written")
    fails(call(world, old, "--source", where, "--butterfly", "1.0.2", "--zone", "Z", "--yes"), 1, "the original's ids have the layout butterfly,", "Nothing was written")
    same(json.loads(world.run("workers", "--store", new, *NS, "--json").out)["workers"], [])


@claim("UidGenerator's worker ids become free after N days only under its own or an earlier epoch")
def uid(world):
    db = served.mariadb()
    db.sql("CREATE DATABASE IF NOT EXISTS o6u; USE o6u; CREATE OR REPLACE TABLE WORKER_NODE (ID BIGINT AUTO_INCREMENT PRIMARY KEY, HOST_NAME VARCHAR(64),"
           " PORT VARCHAR(64)); INSERT INTO WORKER_NODE VALUES (7, 'h', '1'); GRANT SELECT ON o6u.* TO reader@'127.0.0.1'")
    args = ("workers", "import", "--from", "uid", "--source", served.mysql_uri("reader:r", "o6u"), *NS, "--json")
    readme = "uid time:29 worker:21 epoch=2016-09-20T00:00:00+08:00"
    for i, (layout, original, fits) in enumerate(((readme, readme, True), (readme, "uid time:29 worker:21 epoch=2016-09-20T00:00:00Z", True),
                                                  ("uid time:29 worker:21 epoch=2016-09-20T00:00:00Z", readme, False),
                                                  ("uid time:29 worker:21 epoch=2026-01-01T00:00:00Z", readme, False),
                                                  (readme, "uid", False), ("uid time:29 worker:21", None, True))):
        uri = target(world, layout, "u%d" % i)
        given = ("--original", original) if original else ()
        done = world.run(*args, "--store", uri, "--days", "30", *given)
        if fits:
            same((done.code, json.loads(done.out)["found"]), (0, 7))
        else:
            fails(done, 1, "no later epoch", "Nothing was written")
            same(world.run(*args, "--store", uri).code, 0)  # They are held forever, so no time is compared.


main()
