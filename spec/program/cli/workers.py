"""workers.py -- `vesta workers` on each kind of store."""
import json
import os
import re
import signal
import time

import served
from harness import SLOW, claim, fails, main, same, shifted

LAYOUT = ("--layout", "snowflake")


def look(world, uri, ns):
    done = world.run("workers", "--store", uri, "--namespace", ns, "--json")
    same((done.code, done.err), (0, ""))
    return json.loads(done.out)


def prepare(world, uri, ns):
    same(world.run("store", "init", "--store", uri, "--namespace", ns, *LAYOUT).code, 0)


def gen(world, uri, ns, worker, *more):
    done = world.run("gen", "--store", uri, "--namespace", ns, "--worker", str(worker), "--path", world.path("%s%d.gen" % (ns, worker)),
                     *LAYOUT, *more)
    same((done.code, done.err), (0, ""))


def serve(world, uri, ns, *more):
    """Starts a server and waits for its lease. SIGTERM ends it and releases the worker id."""
    sock = world.path(ns + ".sock")
    server = world.start("serve", "--store", uri, "--namespace", ns, "--path", world.path(ns + ".gen"), "--http", "off", "--resp", "unix:" + sock,
                         *LAYOUT, *more, stderr=-1, text=True)
    line = ""
    while "msg=ready" not in line:
        assert server.poll() is None, line
        line = server.stderr.readline() or line
    return server


def end(server):
    server.send_signal(signal.SIGTERM)
    server.stderr.read()
    server.stderr.close()
    same(server.wait(), 0)


@claim("without --namespace the first namespace of a config is shown, and the others are named")
def _(world):
    with open(world.path("two.lua"), "w") as file:
        file.write('return { stores = { s = { uri = "sqlite:%s" } }, namespaces = { a = { store = "s" }, b = { store = "s" } } }' % world.path("two.db"))
    for ns in "ab":
        same(world.run("store", "init", "-c", "two.lua", "--namespace", ns).code, 0)
    done = world.run("workers", "-c", "two.lua")
    assert done.lines()[-1].startswith("a: 0 held"), done.out
    same(done.err, "vesta workers: the config also has b: add --namespace NAME\n")
    for words in (("--namespace", "b"), ("--json",)):
        same(world.run("workers", "-c", "two.lua", *words).err, "")


@claim("held, released and unused worker ids are counted, and listed with holder, identity, time left, clocks and mark")
def _(world):
    for kind, uri in served.stores(world).items():
        prepare(world, uri, "look")
        empty = look(world, uri, "look")
        same((empty["held"], empty["expired"], empty["free"], empty["never"], empty["workers"]), (0, 0, 0, 1024, []))
        gen(world, uri, "look", 900)
        server = serve(world, uri, "look", "--worker", "5")
        try:
            got = look(world, uri, "look")
            same((got["held"], got["free"] + got["expired"], got["never"]), (2, 0, 1022))
            five, late = got["workers"]
            same((five["worker"], late["worker"], five["state"]), (5, 900, "held"))
            assert 0 < five["left_ms"] <= five["lease_ms"] and abs(five["clock_ms"]) < 60000, (kind, five)
            assert five["until_ms"] > five["written_ms"] and five["fits"] is True and five["epoch"] == 1, (kind, five)
            assert five["until"].isdigit() and "pid %d" % server.pid in five["holder"] and five["identity"].endswith("look.gen"), five
            text = world.run("workers", "--store", uri, "--namespace", "look").lines()
            same(len(text), 4)
            assert re.match(r" +5  held +\d+:\d\d +[+-]\d\.\d{3} s  20\S+Z +\S+ pid %d  \S*look.gen$" % server.pid, text[1]), text
            assert text[3].startswith("look: 2 held, 0 expired, 0 free, 1,022 never used, at 20"), text
        finally:
            end(server)
        five = look(world, uri, "look")["workers"][0]
        same((five["state"], "left_ms" in five), ("free", False))
        for name in ("look.gen", "look900.gen"):
            os.remove(world.path(name))


@claim("an idle holder on SQLite or in a folder is shown as held until its window ends, although it renews a 15 s "
       "lease once a minute")
def _(world):
    for uri in ("sqlite:" + world.path("idle.db"), "file:" + world.path("idle")):
        prepare(world, uri, "idle")
        server = serve(world, uri, "idle")
        try:
            row = look(world, uri, "idle")["workers"][0]
            same((row["state"], row["lease_ms"]), ("held", 15000))
            for later_s, state in ((45, "held"), (600, "expired")):  # as if the last write were that long ago
                done = world.run("workers", "--store", uri, "--namespace", "idle", "--json", env=shifted("%+d" % later_s))
                late = json.loads(done.out)["workers"][0]
                same((late["state"], "left_ms" in late), (state, state == "held"))
                assert state == "expired" or 60000 < late["left_ms"] < 140000, late
        finally:
            end(server)
        os.remove(world.path("idle.gen"))


@claim("a killed holder's worker id expires when its lease ends")
def _(world):
    uri = served.mysql_uri()
    prepare(world, uri, "killed")
    gen(world, uri, "killed", 3, "--lease", "strict")
    same(look(world, uri, "killed")["workers"][0]["state"], "held")
    served.mariadb().sql("UPDATE vesta.vesta_lease SET written_us = written_us - 16000000 WHERE ns = 'killed'")
    got = look(world, uri, "killed")
    same((got["held"], got["expired"], got["workers"][0]["state"], "left_ms" in got["workers"][0]), (0, 1, "expired", False))


@claim("the lease is 15 s for strict, 12 minutes for balanced, and a day for autonomous")
def _(world):
    uri = served.mysql_uri()
    prepare(world, uri, "leases")
    for worker, (lease, lease_ms, more) in enumerate((("strict", 15000, ()), ("balanced", 720000, ()),
                                                      ("autonomous", 86400000, ("--pacing", "history")))):
        gen(world, uri, "leases", worker, "--lease", lease, *more)
    same([w["lease_ms"] for w in look(world, uri, "leases")["workers"]], [15000, 720000, 86400000])


@claim("--watch prints whole tables until it is interrupted, reports an unreachable store, and continues when the "
       "store is back")
def _(world):
    db, uri = served.mariadb(), served.mysql_uri()
    prepare(world, uri, "watched")
    watch = world.start("workers", "--store", uri, "--namespace", "watched", "--watch", "--json", stdout=-1, stderr=-1, text=True)
    try:
        same(json.loads(watch.stdout.readline())["held"], 0)
        db.sql("SET GLOBAL read_only = 1")
        assert "read-only" in watch.stderr.readline()
        db.sql("SET GLOBAL read_only = 0")
        gen(world, uri, "watched", 1)
        deadline = time.monotonic() + 30 * SLOW
        while json.loads(watch.stdout.readline())["held"] != 1:
            assert time.monotonic() < deadline
    finally:
        db.sql("SET GLOBAL read_only = 0")
        watch.send_signal(signal.SIGINT)
        rest = watch.communicate(timeout=30)[0]
    same(watch.returncode, 0)
    assert rest == "" or rest.endswith("}\n"), rest


@claim("--watch without a terminal prints no terminal codes")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    prepare(world, uri, "a")
    watch = world.start("workers", "--store", uri, "--namespace", "a", "--watch", stdout=-1, text=True)
    lines = [watch.stdout.readline() for _ in range(4)]
    watch.send_signal(signal.SIGTERM)
    same((watch.communicate(timeout=30) and watch.returncode, lines[0], lines[0] == lines[2]), (0, lines[0], True))
    assert all(line.isascii() and line[:-1].isprintable() for line in lines), lines


@claim("records of another layout, outside the field, or with terminal codes are shown as such")
def _(world):
    db, uri = served.mariadb(), served.mysql_uri()
    prepare(world, uri, "odd")
    gen(world, uri, "odd", 7)

    def write(worker, **changes):
        lines = db.sql("SELECT record FROM vesta.vesta_lease WHERE ns = 'odd' AND worker = 7").replace("\\n", "\n").split("\n")
        text = "".join("%s %s\n" % (line.split(" ")[0], changes.get(line.split(" ")[0], line.split(" ", 1)[1])) for line in lines if line and not line.startswith("sum "))
        total = 0xcbf29ce484222325
        for byte in text.encode():
            total = (total ^ byte) * 0x100000001b3 % 2 ** 64
        record = (text + "sum %016x\n" % total).encode().hex()
        db.sql("INSERT INTO vesta.vesta_lease SELECT 'odd', %d, ver, written_us, x'%s' FROM vesta.vesta_lease WHERE ns = 'odd' AND worker = 7"
               % (worker, record))
    write(8, fingerprint="0123456789abcdef")
    write(5000)
    write(9, holder="\x1b[2Jevil\x07", until="9007199254740992", lease_ms="9223372036854775807", written_ms="0")
    done = world.run("workers", "--store", uri, "--namespace", "odd")
    same((done.code, done.err), (0, ""))
    assert "\x1b" not in done.out and "?[2Jevil?" in done.out and "the layout's end" in done.out, done.out
    assert re.search(r"^ +8 .*\[another layout's\]$", done.out, re.M) and re.search(r"^ +5000 .*\[not a worker id of this layout\]$", done.out, re.M), done.out
    got = look(world, uri, "odd")
    same(([w["fits"] for w in got["workers"]], got["never"]), ([True, False, True, False], 1021))
    same("until_ms" in got["workers"][2], False)
    db.sql("UPDATE vesta.vesta_lease SET record = LEFT(record, 60) WHERE ns = 'odd' AND worker = 8")
    fails(world.run("workers", "--store", uri, "--namespace", "odd"), 1, "truncated")


@claim("invalid arguments and a missing namespace or store are reported")
def _(world):
    store = ("--store", "sqlite:" + world.path("v.db"))
    fails(world.run("workers"), 1, "no process has leased a worker id of namespace default", "name the store by --store")
    fails(world.run("workers", *store, "--namespace", "../x"), 2, "is not a namespace")
    fails(world.run("workers", *store, "extra"), 2, '"extra"')
    fails(world.run("workers", "--store", "ftp://h/x"), 2, "there is no store")
    fails(world.run("workers", *store), 1)
    same(world.run("store", "init", *store).code, 0)
    fails(world.run("workers", *store, "--namespace", "none"), 1, "not in the store", "vesta store init")
    fails(world.run("workers", "--store", "zk://a:b@127.0.0.1:1/v"), 1, "127.0.0.1:1")


main()
