"""doctor_store.py -- `vesta doctor` on healthy stores, and on stores with one fault each."""
import json
import os
import subprocess
import urllib.error
import urllib.request

import served
from harness import VESTA, claim, environment, main, same, shifted
from ports import free_port
from servers import until

OFF = ("--http", "off", "--resp", "unix:/tmp/vesta-doctor-store-none.sock")


def examine(world, *args, code=0, **kw):
    """Returns doctor's findings about the store as (state, sentence, advice)."""
    done = world.run("doctor", "--json", *args, **kw)
    same((done.code, done.err), (code, ""))
    found = [json.loads(line) for line in done.lines()]
    for secret in ("s3cret", "wr0ng", "cret@"):
        assert secret not in done.out, done.out
    return [(one["state"], one["says"], one.get("do", "")) for one in found if one["what"] == "store"]


def flags(uri, ns="orders"):
    return (*OFF, "--store", uri, "--namespace", ns, "--layout", "snowflake")


def init(world, uri, ns="orders"):
    same(world.run("store", "init", "--store", uri, "--namespace", ns, "--layout", "snowflake").code, 0)


def has(found, state, *parts):
    assert any(one[0] == state and all(part in one[1] + " | " + one[2] for part in parts) for one in found), (state, parts, found)


@claim("a healthy store: doctor checks access, the clock, rights and worker ids")
def _(world):
    for kind, uri in served.stores(world).items():
        init(world, uri)
        found = examine(world, *flags(uri))
        same({state for state, _, _ in found}, {"ok"})
        has(found, "ok", "orders: it answers, and the namespace is there")
        has(found, "ok", "can be read and written")
        has(found, "ok", "0 of 1024 worker ids are held")
        same(any("clock is" in says for _, says, _ in found), kind in ("mysql", "postgresql", "zk"))
        same(json.loads(world.run("workers", "--store", uri, "--namespace", "orders", "--json").out)["never"], 1024)


@claim("a local store that does not exist yet is reported as to be created, and doctor does not create it")
def _(world):
    for uri in ("sqlite:" + world.path("none.db"), "file:" + world.path("none")):
        same(examine(world, *flags(uri)), [("ok", "orders: it does not exist yet and will be created", "")])
    same(os.listdir(world.folder), [])


@claim("a leases folder that disappeared after granting leases is reported as gone, not as to be created")
def _(world):
    opts = ("--store", "file:" + world.path("leases"), "--path", world.path("orders.gen"))
    same(world.run("gen", *opts, "--worker", "7").code, 0)
    os.rename(world.path("leases"), world.path("away"))
    same(examine(world, *OFF, *opts, code=1), [])
    assert "is gone: restore it" in world.run("doctor", *OFF, *opts).out


@claim("a local database that disappeared or was replaced after granting leases is a failure")
def _(world):
    path = world.path("leases.db")
    opts = (*flags("sqlite:" + path), "--path", world.path("orders.gen"))
    same(world.run("gen", *opts[len(OFF):], "--worker", "7").code, 0)
    same({state for state, _, _ in examine(world, *opts)}, {"ok"})
    os.rename(path, path + ".away")
    same(examine(world, *opts, code=1), [("fail", "orders: %s is gone, and the generator file has had leases" % path,
                                          "restore it, or if that is impossible, create it with vesta store init --again")])
    init(world, "sqlite:" + path, "another")
    has(examine(world, *opts, code=1), "fail", "the namespace is not in the store", "--again")


@claim("a namespace that is missing, or that has another layout, fails")
def _(world):
    for uri in (served.mysql_uri(), served.zk_uri()):
        same(world.run("store", "init", "--store", uri).code, 0)
        has(examine(world, *flags(uri, "missing"), code=1), "fail", "the namespace is not in the store", "vesta store init")
        init(world, uri, "other")
        has(examine(world, *OFF, "--store", uri, "--namespace", "other", "--layout", "vesta-milli", code=1), "fail", "has the layout sign:1=0", "new namespace")
        # Without --layout the layout is vesta-second.
        has(examine(world, *OFF, "--store", uri, "--namespace", "other", code=1), "fail", "has the layout sign:1=0", "new namespace")


@claim("a read-only user, a read-only server, missing tables, an unreachable server and a wrong password fail")
def _(world):
    db = served.mariadb()
    init(world, served.mysql_uri(), "rights")
    db.sql("CREATE USER looker@'127.0.0.1' IDENTIFIED BY 'l'; GRANT SELECT ON vesta.* TO looker@'127.0.0.1'; CREATE DATABASE empty")
    has(examine(world, *flags(served.mysql_uri("looker:l"), "rights"), code=1), "fail", "cannot be written to", "UPDATE command denied", "docs/stores.md")
    has(examine(world, *flags(served.mysql_uri("vesta:wr0ng"), "rights"), code=1), "fail", "Access denied")
    has(examine(world, *flags(served.mysql_uri(name="empty"), "rights"), code=1), "fail", "vesta store init")
    has(examine(world, *flags("mysql://u:s3cret@127.0.0.1:1/v"), code=1), "fail", "127.0.0.1:1", "start the store")
    has(examine(world, *flags("zk://u:s3cret@127.0.0.1:1/v"), code=1), "fail", "127.0.0.1:1", "start the store")
    db.sql("SET GLOBAL read_only = 1")
    try:
        has(examine(world, *flags(served.mysql_uri("vesta:s3cret"), "rights"), code=1), "fail", "read-only")
    finally:
        db.sql("SET GLOBAL read_only = 0")


@claim("the same faults of a PostgreSQL store, and settings of its server that lose acknowledged writes, fail")
def _(world):
    db, uri = served.postgresql(), served.postgresql_uri
    init(world, uri(), "rights")
    db.sql("CREATE ROLE looker LOGIN PASSWORD 'l'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO looker", "vesta")
    has(examine(world, *flags(uri("looker:l"), "rights"), code=1), "fail", "cannot be written to", "permission denied for table", "GRANT USAGE ON SCHEMA, and SELECT")
    has(examine(world, *flags(uri("vesta:wr0ng"), "rights"), code=1), "fail", "password authentication failed", "correct the user and the password")
    has(examine(world, *flags(uri(name="postgres"), "rights"), code=1), "fail", "its tables are missing", "vesta store init")
    has(examine(world, *flags("postgresql://u:s3cret@127.0.0.1:1/v"), code=1), "fail", "127.0.0.1:1", "start the store")
    for setting in ("fsync", "full_page_writes"):
        db.sql("ALTER SYSTEM SET %s = off" % setting)
        db.sql("SELECT pg_reload_conf()")
        until(lambda: db.sql("SHOW " + setting) == "off", "it is set")
        has(examine(world, *flags(uri(), "rights"), code=1), "fail", setting + " is off", "set %s=on" % setting)
        db.sql("ALTER SYSTEM RESET " + setting)
    db.sql("SELECT pg_reload_conf()")


@claim("doctor, the other commands, the server's log and /readyz give the same remedy for a fault")
def _(world):
    init(world, served.mysql_uri(), "remedies")
    uri, remedy = served.mysql_uri("vesta:wr0ng"), "orrect the user and the password of the store"
    has(examine(world, *flags(uri, "remedies"), code=1), "fail", "Access denied", "c" + remedy)
    for command in (("workers",), ("store", "show")):
        done = world.run(*command, "--store", uri, "--namespace", "remedies")
        assert done.code == 1 and "(using password: YES). C" + remedy in done.err, done.err
    done = world.run("segments", "--store", uri)
    assert done.code == 1 and "(using password: YES). C" + remedy in done.err, done.err
    log = world.path("log")
    port = free_port()
    with open(log, "w") as err:
        server = subprocess.Popen([VESTA, "serve", "--http", "127.0.0.1:%d" % port, "--resp", "off", "--store", uri, "--namespace", "remedies",
                                   "--layout", "snowflake", "--path", world.path("r.gen")], env=environment(world.folder), stderr=err)
    try:
        def ready():
            try:
                return urllib.request.urlopen("http://127.0.0.1:%d/readyz" % port, timeout=5).read().decode()
            except urllib.error.HTTPError as error:
                return error.read().decode()
            except OSError:
                return ""
        until(lambda: "(using password: YES). C" + remedy in ready(), ready)
        until(lambda: "(using password: YES). C" + remedy in open(log).read(), lambda: open(log).read())
    finally:
        server.terminate()
        server.wait(20)


@claim("ZooKeeper nodes that belong to another user, or that anyone can change, are reported")
def _(world):
    init(world, served.zk_uri(), "acl")
    has(examine(world, *flags(served.zk_uri("me:wr0ng@"), "acl"), code=1), "fail", "not authorized")
    open_ = served.zk_uri("", "/opened", "?acl=open")
    init(world, open_, "acl")
    has(examine(world, *flags(served.zk_uri(root="/opened"), "acl"), code=1), "fail", "anyone may write", "acl=open")
    has(examine(world, *flags(open_, "acl")), "ok", "it answers")


@claim("a clock that differs from the store's by a second or more is a warning, and a failure if leases would be "
       "rejected")
def _(world):
    uri = served.mysql_uri()
    init(world, uri, "clock")
    for by, state, code, word in (("+5", "warn", 0, "ahead of"), ("-5", "warn", 0, "behind"), ("+60", "fail", 1, "ahead of"), ("-60", "fail", 1, "behind")):
        has(examine(world, *flags(uri, "clock"), code=code, env=shifted(by)), state, "clock is", word, "correct the one")


@claim("doctor uses the secrets of a config, and examines the stores of each namespace")
def _(world):
    init(world, served.mysql_uri(), "a")
    init(world, served.zk_uri(), "b")
    text = """return { http = { listen = "off" }, resp = { listen = "unix:%s" }, stores = {
      m = { uri = "%s", password = "%s" }, z = { uri = "%s", auth = "me:se/cret" } },
      namespaces = { a = { store = "m", layout = "snowflake" }, b = { store = "z", layout = "snowflake" } } }"""
    for password, code in (("s3cret", 0), ("wr0ng", 1)):
        with open(world.path("vesta.lua"), "w") as file:
            file.write(text % (world.path("r.sock"), served.mysql_uri("vesta"), password, served.zk_uri("")))
        found = examine(world, "-c", world.path("vesta.lua"), code=code)
        has(found, "ok", "b: it answers")
        has(found, "fail" if code else "ok", "a: ", "Access denied" if code else "it answers")


@claim("an invalid URI is reported, and --store cannot be combined with -c")
def _(world):
    has(examine(world, *flags("zk://h"), code=1), "fail", "does not name a node under /")
    done = world.run("doctor", "-c", "x.lua", "--store", "file:/x")
    assert done.code == 2 and "--store" in done.err, done.err


main()
