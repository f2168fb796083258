"""Regression: a tag was dropped if its row became a text, NULL, a number beyond 2^63, or a damaged record. Requests got
404 `unknown name`, and the server was ready without a warning. An import skipped the row and ended with 0, and adding
the tag again started at 1."""
import json
import os
import signal
import sqlite3
import subprocess
import time

import served
from harness import VESTA, claim, fails, main, same
from serving import Configured

RAW = os.path.join(os.path.dirname(os.path.abspath(VESTA)), "spec", "stores", "zk_raw")


def until(what, seconds=30):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.05)


def is_refused(answer):
    """Returns true for an error other than a slow store. At first the store may be slow, and numbers from an earlier
    server may remain."""
    return answer.status != 200 and "does not answer" not in answer.body


def file_record(uri, tag):
    return os.path.join(uri[len("file:"):], "~counters", "tag-" + tag)


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def read(path):
    with open(path) as file:
        return file.read()


def in_sqlite(uri, value, tag="orders"):
    db = sqlite3.connect(uri[len("sqlite:"):], timeout=10)
    with db:
        db.execute("UPDATE leaf_alloc SET max_id = %s WHERE biz_tag = ?" % value, (tag,))
    db.close()


def in_zk(what, text=""):
    done = subprocess.run([RAW, "127.0.0.1:%d" % served.zookeeper().port, "me:se/cret", what, "/vesta/~counters/orders"], input=text,
                          capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def damages(kind, uri):
    """Returns ways to damage the row of `orders`, each with a part of the reason, and a function that repairs it."""
    if kind == "file":
        text = read(file_record(uri, "orders"))
        return [(lambda bad=bad: write(file_record(uri, "orders"), bad), part) for bad, part in ((text[:40], "truncated"), ("hello\n", "not a vesta record"))], \
            lambda: write(file_record(uri, "orders"), text)
    if kind == "zk":
        text = in_zk("get")
        return [(lambda bad=bad: in_zk("put", bad), part) for bad, part in ((text[:40], "truncated"), ("", "empty"))], lambda: in_zk("put", text)
    if kind == "sqlite":
        return [(lambda value=value: in_sqlite(uri, value), part) for value, part in (("'abc'", "max_id is 'abc'"), ("9223372036854775808", "max_id is '9.2"))], \
            lambda: in_sqlite(uri, "70000")
    sql = served.mariadb().sql
    sql("ALTER TABLE vesta.leaf_alloc MODIFY max_id VARCHAR(40)")
    return [(lambda value=value: sql("UPDATE vesta.leaf_alloc SET max_id = %s WHERE biz_tag = 'orders'" % value), part)
            for value, part in (("'abc'", "max_id is 'abc'"), ("NULL", "max_id is NULL"), ("'9223372036854775808'", "max_id is 9223372036854775808, beyond"))], \
        lambda: sql("UPDATE vesta.leaf_alloc SET max_id = '70000' WHERE biz_tag = 'orders'")


@claim("in each store, the damaged tag, /readyz and the log show the reason, the tag cannot be added again, and works "
       "after a repair")
def _(world):
    for kind, uri in served.stores(world).items():
        if kind == "postgresql":
            continue  # its columns have types, and spec/stores/postgresql_counters.py tests the other values
        same(world.run("store", "init", "--segments", "--store", uri).code, 0)
        for tag in ("orders", "users"):
            same(world.run("segments", "add", tag, "--from", "500", "--step", "10", "--store", uri).code, 0)
        hurt, heal = damages(kind, uri)
        heal()
        config = "return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*' } } }" % uri
        for damage, part in hurt:
            damage()
            with Configured(world, config) as server:
                until(lambda: json.loads(server.get("/v1/segments").body)["unread"] == 0)
                event = server.heard("a tag has no numbers, because its row cannot be used")
                assert "level=warn" in event and "tag=orders" in event and part in event, (kind, event)
                ready = server.get("/readyz")
                (warning,) = [w for w in json.loads(ready.body)["warnings"] if w.get("code") == "row_unusable"]
                assert ready.status == 200 and warning["tag"] == "orders" and part in warning["detail"], (kind, ready.body)
                until(lambda: is_refused(server.get("/api/segment/get/orders")))
                answer = server.get("/api/segment/get/orders")
                assert answer.status >= 500 and part in answer.body and "unknown" not in answer.body, (kind, answer.status, answer.body)
                said = server.redis("INCR", "orders")
                assert said.startswith(b"-") and part.encode() in said and b"unknown name" not in said, (kind, said)
                assert int(server.get("/api/segment/get/users").body) >= 500
                one = json.loads(server.get("/v1/segments").body)
                assert one["unusable"] == 1 and part in one["unusable_why"], one
                done = world.run("segments", "add", "orders", "--store", uri)
                assert done.code == 1 and "the row of tag 'orders' cannot be used" in done.err and part in done.err, (kind, done)
                shown = json.loads(world.run("segments", "--store", uri, "--json").out)
                assert [one["tag"] for one in shown["unusable"]] == ["orders"] and part in shown["unusable"][0]["why"], shown
                assert "unusable: " in world.run("segments", "--store", uri).out
                heal()
                server.process.send_signal(signal.SIGHUP)
                server.heard("the rows of a table can be used again")
                same(world.run("segments", "take", "orders", "--store", uri).code, 0)
                assert all(w.get("code") != "row_unusable" for w in json.loads(server.get("/readyz").body)["warnings"])


@claim("a server whose tags all have unusable rows is not ready")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    same(world.run("segments", "add", "orders", "--store", uri).code, 0)
    in_sqlite(uri, "'abc'")
    with Configured(world, "return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*' } } }" % uri) as server:
        server.heard("its row cannot be used")
        ready = server.get("/readyz")
        assert ready.status == 503 and "row_unusable" in ready.body and "max_id is 'abc'" in ready.body, ready.body


@claim("an import skips unusable rows in the source and in the store, prints the reason, and ends with 1")
def _(world):
    db = served.mariadb()
    db.sql("CREATE DATABASE IF NOT EXISTS bad; CREATE OR REPLACE TABLE bad.leaf_alloc (biz_tag VARCHAR(128) PRIMARY KEY, max_id VARCHAR(40), step INT, update_time TIMESTAMP)")
    for value, part in (("'abc'", "max_id is 'abc'"), ("NULL", "max_id is NULL"), ("'9223372036854775808'", "beyond 2^63 - 1")):
        db.sql("REPLACE INTO bad.leaf_alloc VALUES ('orders', %s, 10, NOW()), ('users', '700', 10, NOW())" % value)
        source, uri = served.mysql_uri(name="bad"), "sqlite:" + world.path("%d.db" % len(value))
        for more in ((), ("--yes",), ("--tag", "orders", "--yes")):
            done = world.run("segments", "import", "leaf_alloc", source, "--store", uri, *more)
            assert done.code == 1 and "the row of tag 'orders' cannot be used" in done.err and part in done.err and "--tag orders" in done.err, done.err
        same([one["tag"] for one in json.loads(world.run("segments", "--store", uri, "--json").out)["tags"]], ["users"])
        same(world.run("segments", "import", "leaf_alloc", source, "--store", uri, "--tag", "users", "--yes").code, 0)
        db.sql("UPDATE bad.leaf_alloc SET max_id = '800'")
        in_sqlite(uri, "'abc'", "users")
        for more in ((), ("--yes",)):
            fails(world.run("segments", "import", "leaf_alloc", source, "--store", uri, "--tag", "users", *more), 1, "the row of tag 'users' cannot be used", "max_id is 'abc'")


main()
