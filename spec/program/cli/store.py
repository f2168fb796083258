"""store.py -- `vesta store init|show|advance` on each kind of store."""
import json
import os
import pty
import re
import sqlite3
import subprocess

import served
from harness import VESTA, claim, environment, fails, main, same

SNOWFLAKE = "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2010-11-04T01:42:54.657Z"


def show(world, uri, ns):
    done = world.run("store", "show", "--store", uri, "--namespace", ns, "--json")
    same((done.code, done.err), (0, ""))
    return json.loads(done.out)


def gen(world, uri, ns, name="x", *more):
    return world.run("gen", "--store", uri, "--namespace", ns, "--layout", "snowflake", "--path", world.path(name + ".gen"), *more)


@claim("init creates the store and the namespace, prints the required rights, and changes nothing the second time")
def _(world):
    for kind, uri in served.stores(world).items():
        first = world.run("store", "init", "--store", uri)
        same((first.code, first.err), (0, ""))
        assert first.out.startswith("store is ready: ") and "a process that leases " in first.out, first.out
        made = world.run("store", "init", "--store", uri, "--namespace", "init", "--layout", "snowflake")
        same((made.code, made.lines()[1]), (0, "namespace init was created: " + SNOWFLAKE))
        assert "run `vesta store advance` before you start any process" in made.lines()[2], made.out
        before = show(world, uri, "init")
        for more in ((), ("--layout", "snowflake")):
            again = world.run("store", "init", "--store", uri, "--namespace", "init", *more)
            same((again.code, again.lines()[1]), (0, "namespace init already exists and stays as it is"))
        after = show(world, uri, "init")
        same((after["incarnation"], after["layout"]), (before["incarnation"], SNOWFLAKE))
        same((after["held"], after["expired"], after["free"], after["never"]), (0, 0, 0, 1024))
        assert "floor_ms" not in after and abs(after["ahead_ms"]) < 60000, (kind, after)


@claim("init --json prints the same as show")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    done = world.run("store", "init", "--store", uri, "--namespace", "a", "--json")
    same(done.code, 0)
    same(json.loads(done.out)["incarnation"], show(world, uri, "a")["incarnation"])


@claim("init --segments also creates the table of counters, unless the first tag creates it, and changes nothing the "
       "second time")
def _(world):
    for uri in served.stores(world).values():
        for _ in range(2):
            done = world.run("store", "init", "--store", uri, "--segments")
            same((done.code, done.err), (0, ""))
            assert "`vesta segments add TAG`" in done.lines()[1], done.out
    fails(world.run("store", "show", "--store", uri, "--segments"), 2, "--segments is for init")


@claim("init --again recreates a lost namespace with a floor above everything granted, and changes nothing the second "
       "time")
def _(world):
    for kind, uri in served.stores(world).items():
        for lease, margin_ms in (("strict", 20000), (None, 1210000)):
            ns = "lost-" + (lease or "balanced")
            words = ("store", "init", "--store", uri, "--namespace", ns, "--layout", "snowflake", "--again", *(("--lease", lease) if lease else ()))
            made = world.run(*words)
            same((made.code, made.lines()[1]), (0, "namespace %s was created: %s" % (ns, SNOWFLAKE)))
            assert re.fullmatch(r"no lease starts before 20\S+Z: until then no process can issue ids", made.lines()[2]), made.out
            got = show(world, uri, ns)
            assert 0 <= got["store_ms"] + margin_ms - got["floor_ms"] < 60000, (kind, got)
            again = world.run(*words)
            same((again.code, again.lines()[1:]), (0, ["namespace %s already exists and stays as it is" % ns]))
            same(show(world, uri, ns)["floor_ms"], got["floor_ms"])
        early = gen(world, uri, "lost-strict", kind, "--wait-ms", "100")
        same((early.code, early.out), (1, ""))


@claim("init --again leaves a namespace that was created as new unchanged, and reports that")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    words = ("store", "init", "--store", uri, "--namespace", "new", "--layout", "snowflake")
    same(world.run(*words).code, 0)
    before = show(world, uri, "new")
    done = world.run(*words, "--again")
    same((done.code, done.lines()[1]), (0, "namespace new already exists and stays as it is"))
    assert done.lines()[2].startswith("it was created as a new namespace: ") and "vesta store advance" in done.lines()[2], done.out
    same(show(world, uri, "new")["incarnation"], before["incarnation"])


@claim("show without --namespace shows all namespaces in order, even if one of them cannot be read")
def _(world):
    for kind, uri in served.stores(world).items():
        if kind in ("file", "sqlite"):
            fails(world.run("store", "show", "--store", uri + "-empty"), 1, " has no namespace: create one with", "vesta store init")
        for ns, layout in (("all-b", "snowflake"), ("all-a", "vesta-milli")):
            same(world.run("store", "init", "--store", uri, "--namespace", ns, "--layout", layout).code, 0)
        done = world.run("store", "show", "--store", uri, "--json")
        same((done.code, done.err), (0, ""))
        got = [json.loads(line) for line in done.lines()]
        names = [one["namespace"] for one in got]
        assert names == sorted(names) and {"all-a", "all-b"} <= set(names), (kind, names)
        same(got[names.index("all-b")]["layout"], SNOWFLAKE)
        text = world.run("store", "show", "--store", uri).out
        same([re.match(r"namespace    (\S+)\n", block)[1] for block in text.split("\n\n")], names)
    path = world.path("spoilt.db")
    for ns in ("a", "b", "c"):
        same(world.run("store", "init", "--store", "sqlite:" + path, "--namespace", ns).code, 0)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE vesta_namespace SET record = 'hello' WHERE ns = 'b'")
        db.execute("INSERT INTO vesta_namespace (ns, ver, record) VALUES ('no name', 1, 'hello')")
    done = world.run("store", "show", "--store", "sqlite:" + path, "--json")
    same((done.code, [json.loads(line)["namespace"] for line in done.lines()]), (1, ["a", "c"]))
    assert "not a vesta record" in done.err and "namespace b is not shown" in done.err, done.err


@claim("a namespace keeps its layout")
def _(world):
    for uri in served.stores(world).values():
        same(world.run("store", "init", "--store", uri, "--namespace", "kept", "--layout", "snowflake").code, 0)
        done = world.run("store", "init", "--store", uri, "--namespace", "kept", "--layout", "vesta-milli")
        same(done.code, 1)
        assert "and keeps it" in done.err and SNOWFLAKE in done.err, done.err
        same(show(world, uri, "kept")["layout"], SNOWFLAKE)


@claim("processes can lease from a namespace of a shared store only after init, and show counts the holders")
def _(world):
    for uri in (served.mysql_uri(), served.zk_uri()):
        same(world.run("store", "init", "--store", uri).code, 0)
        fails(world.run("store", "show", "--store", uri, "--namespace", "later"), 1, "not in the store", "vesta store init")
        same(world.run("store", "init", "--store", uri, "--namespace", "later", "--layout", "snowflake").code, 0)
        same(gen(world, uri, "later", uri[:2]).code, 0)
        got = show(world, uri, "later")
        same((got["held"], got["expired"], got["free"], got["never"]), (1, 0, 0, 1023))
        text = world.run("store", "show", "--store", uri, "--namespace", "later").out
        assert re.search(r"^worker ids   1 held, 0 expired, 0 free, 1,023 never used$", text, re.M), text
        assert re.search(r"^floor        none$", text, re.M) and re.search(r"^clock        20\S+Z, and this machine's clock is ", text, re.M), text


SMALL = "sign:1=0 time:41 seq:18 worker:4 unit=1ms epoch=2020-02-21T16:00:00Z"


@claim("static worker ids are never drawn, can be assigned by hand, and their range cannot be changed")
def _(world):
    for kind, uri in served.stores(world).items():
        same(world.run("store", "init", "--store", uri, "--namespace", "static", "--layout", SMALL, "--static", "2-14").code, 0)
        got = show(world, uri, "static")
        same((got["static"], got["never"]), ([2, 14], 3))
        drawn = set()
        for i in range(3):
            same(world.run("gen", "--store", uri, "--namespace", "static", "--layout", SMALL, "--path", world.path("%s%d.gen" % (kind, i))).code, 0)
        by_hand = ("--store", uri, "--namespace", "static", "--layout", SMALL, "--path", world.path(kind + "h.gen"), "--worker", "7")
        same(world.run("gen", *by_hand).code, 0)
        drawn = [w["worker"] for w in json.loads(world.run("workers", "--store", uri, "--namespace", "static", "--json").out)["workers"]]
        same(sorted(drawn), [0, 1, 7, 15])
        same(show(world, uri, "static")["never"], 0)
        for static, code in (("2-14", 0), ("2-13", 1), ("0-15", 1)):
            done = world.run("store", "init", "--store", uri, "--namespace", "static", "--layout", SMALL, "--static", static)
            same((done.code, "and keeps them" in done.err), (code, code == 1))
        same(json.loads(world.run("store", "advance", "--store", uri, "--namespace", "static", "--yes", "--json").out)["static"], [2, 14])


@claim("advance without a terminal requires --yes, and prints what it would do")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    same(world.run("store", "init", "--store", uri, "--namespace", "orders").code, 0)
    before = show(world, uri, "orders")
    done = world.run("store", "advance", "--store", uri, "--namespace", "orders")
    fails(done, 2, "new incarnation", "No lease starts before 20", "1210 s", "'balanced'", "add --yes")
    same(show(world, uri, "orders")["incarnation"], before["incarnation"])


@claim("advance on a terminal asks for the namespace's name, and does nothing after another answer")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    same(world.run("store", "init", "--store", uri, "--namespace", "orders").code, 0)
    before = show(world, uri, "orders")["incarnation"]
    for word, code in ((b"yes\n", 1), (b"\x04", 1), (b"orders\n", 0)):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([VESTA, "store", "advance", "--store", uri, "--namespace", "orders", "--lease", "local"],
                                   stdin=theirs, stdout=-1, stderr=-1, env=environment(world.folder))
        os.write(ours, word)
        out, err = process.communicate(timeout=60)
        os.close(theirs)
        os.close(ours)
        same(process.returncode, code)
        assert b"Type the namespace's name" in err, err
        same(show(world, uri, "orders")["incarnation"] == before, code == 1)


@claim("advance sets a new incarnation and a floor from the lease's margins, never lowers the floor, and holders then "
       "claim above it")
def _(world):
    for kind, uri in served.stores(world).items():
        same(world.run("store", "init", "--store", uri, "--namespace", "adv", "--layout", "snowflake").code, 0)
        before = show(world, uri, "adv")
        floors = []
        for lease, margin_ms in (("strict", 20000), ("local", 370000), ("autonomous", 1210000), (None, 1210000), ("strict", None)):
            more = ("--lease", lease) if lease else ()
            done = world.run("store", "advance", "--store", uri, "--namespace", "adv", "--yes", "--json", *more)
            same(done.code, 0)
            got = json.loads(done.out)
            assert got["incarnation"] != before["incarnation"], (kind, got)
            if margin_ms:
                assert before["store_ms"] + margin_ms <= got["floor_ms"] <= got["store_ms"] + margin_ms, (kind, got, before)
            floors.append(got["floor_ms"])
            before = got
        same(floors, sorted(floors))
        same(floors[-1], floors[-2])
        done = gen(world, uri, "adv", kind, "--wait-ms", "100") if kind == "file" else None
        assert done is None or done.code == 1, done.out


@claim("advance rejects a lease whose margin is below the times granted in the store, and changes nothing")
def _(world):
    uri, place = served.mysql_uri(), ("--namespace", "narrow")
    same(world.run("store", "init", "--store", uri, *place, "--layout", "snowflake").code, 0)
    same(gen(world, uri, "narrow", "narrow").code, 0)
    before = show(world, uri, "narrow")
    # A killed holder: its granted times are above the floor of strict.
    holder = world.start("serve", "--store", uri, *place, "--layout", "snowflake", "--path", world.path("holder.gen"), "--http", "off",
                         "--resp", "unix:" + world.path("narrow.s"), stderr=subprocess.PIPE, text=True)
    while "msg=ready" not in holder.stderr.readline():
        assert holder.poll() is None
    holder.kill()
    holder.wait()
    holder.stderr.close()
    fails(world.run("store", "advance", "--store", uri, *place, "--lease", "strict", "--yes"), 1, "nothing was done: worker id",
          "--lease strict lets leases start at", "Use --lease balanced")
    same(show(world, uri, "narrow")["incarnation"], before["incarnation"])
    same(world.run("store", "advance", "--store", uri, *place, "--yes").code, 0)


@claim("if the tables exist, adding a namespace needs only the rights for leasing")
def _(world):
    db = served.mariadb()
    db.sql("CREATE DATABASE added; GRANT SELECT, INSERT, UPDATE ON added.* TO vesta@'127.0.0.1'")
    owner, poor = served.mysql_uri(name="added"), served.mysql_uri("vesta:s3cret", "added")
    fails(world.run("store", "init", "--store", poor, "--namespace", "a"), 1, "CREATE command denied")
    same(world.run("store", "init", "--store", owner).code, 0)
    same(world.run("store", "init", "--store", poor, "--namespace", "a").code, 0)


@claim("advance recreates a lost namespace with its previous layout and a floor")
def _(world):
    for uri in (served.mysql_uri(), "sqlite:" + world.path("v.db")):
        same(world.run("store", "init", "--store", uri).code, 0)
        fails(world.run("store", "advance", "--store", uri, "--namespace", "gone", "--yes"), 2, "--layout that it had")
        done = world.run("store", "advance", "--store", uri, "--namespace", "gone", "--yes", "--json", "--layout", "snowflake")
        same(done.code, 0)
        got = json.loads(done.out)
        same(got["layout"], SNOWFLAKE)
        assert got["floor_ms"] > got["store_ms"], got
        fails(world.run("store", "advance", "--store", uri, "--namespace", "gone", "--yes", "--layout", "vesta-milli"), 2, "has the layout", "cannot change")


@claim("a missing right is reported in the database's words, without a password, and nothing is partly created")
def _(world):
    db = served.mariadb()
    db.sql("CREATE DATABASE bare; GRANT SELECT, INSERT, UPDATE ON bare.* TO vesta@'127.0.0.1'")
    poor = served.mysql_uri("vesta:s3cret", "bare")
    fails(world.run("store", "init", "--store", poor, "--namespace", "a"), 1, "CREATE command denied")
    fails(world.run("store", "show", "--store", poor, "--namespace", "a"), 1, "tables are missing", "vesta store init")
    same(db.sql("SHOW TABLES IN bare"), "")
    wrong = world.run("store", "show", "--store", served.mysql_uri("vesta:wr0ng"))
    fails(wrong, 1, "Access denied")
    assert "wr0ng" not in wrong.err
    db.sql("SET GLOBAL read_only = 1")
    try:
        fails(world.run("store", "show", "--store", served.mysql_uri("vesta:s3cret")), 1, "read-only")
    finally:
        db.sql("SET GLOBAL read_only = 0")
    fails(world.run("store", "init", "--store", served.zk_uri("", "/anyone")), 1, "zk://USER:PASSWORD@", "?acl=open")
    fails(world.run("store", "init", "--store", "jdbc:mysql://db/ids"), 2, "there is no store 'jdbc'", "write mysql://USER@HOST/DB")
    same(world.run("store", "init", "--store", served.zk_uri(root="/mine")).code, 0)
    other = world.run("store", "show", "--store", served.zk_uri("me:wr0ng@", "/mine"))
    fails(other, 1, "not authorized")
    assert "wr0ng" not in other.err


@claim("the URI can name a file with the password")
def _(world):
    with open(world.path("secret"), "w") as file:
        file.write("own/er\n")
    same(world.run("store", "init", "--store", served.mysql_uri("owner", more="?secret_file=" + world.path("secret"))).code, 0)


@claim("an unreachable store ends the command within seconds, with a message")
def _(world):
    for uri in ("mysql://a:b@127.0.0.1:1/v", "zk://a:b@127.0.0.1:1/v"):
        for word in ("show", "init"):
            fails(world.run("store", word, "--store", uri, timeout=30), 1, "127.0.0.1:1")


@claim("invalid arguments are rejected, and the message names them")
def _(world):
    store = ("--store", "sqlite:" + world.path("v.db"))
    fails(world.run("store"), 2, "init, show, advance, lower or relayout")
    fails(world.run("store", "shwo", *store), 2, "did you mean show?")
    fails(world.run("store", "zzzzzzz", *store), 2, "use one of init, show, advance, lower, relayout")
    fails(world.run("store", "show\x1b[2J\n", *store), 2, "\\x1b")
    fails(world.run("store", "show", "init", *store), 2, '"init"')
    fails(world.run("store", "advance"), 2, "--store is missing")
    fails(world.run("store", "init", "--layout", "leaf", *store), 2, "name it with --namespace")
    fails(world.run("store", "init", "--yes", *store), 2, "for advance")
    fails(world.run("store", "show", "--lease", "strict", *store), 2, "for advance")
    fails(world.run("store", "init", "--lease", "strict", *store), 2, "init --again")
    fails(world.run("store", "show", "--again", *store), 2, "for init")
    for words in ((), ("--namespace", "a"), ("--layout", "leaf")):
        fails(world.run("store", "init", "--again", *words, *store), 2, "--namespace")
    fails(world.run("store", "advance", "--lease", "lax", *store), 2, "local|strict|balanced|autonomous")
    for uri in ("sqlite:", "sqlite:v.db", "redis://h/0", "mysql://", "mysql://u@h", "zk://h", "zk://h:99999/v", "\x1b[2J", "file:", "x" * 5000):
        done = world.run("store", "show", "--store", uri)
        fails(done, 2)
    for name in ("../x", "a b", "x" * 80, "ä", "a/b", "\n"):
        fails(world.run("store", "init", "--namespace", name, *store), 2, "is not a namespace")
    for static in ("5", "5-", "-5", "a-b", "5-4", "0-1024", "5-99999999999999999999", "1-2-3", "0x1-2", " 1-2", "1" * 5000 + "-2", ""):
        fails(world.run("store", "init", "--namespace", "a", "--layout", "snowflake", "--static=" + static, "--store", "file:" + world.path("f")), 2, "--static")
    fails(world.run("store", "init", "--static", "1-2", *store), 2, "needs --layout")
    fails(world.run("store", "init", "--static", "1-2", "--layout", "leaf", *store), 2, "name it with --namespace")
    fails(world.run("store", "init", "--namespace", "a", "--layout", "time:0", *store), 2, "time")
    same(os.listdir(world.folder), ["v.db"] if os.path.exists(world.path("v.db")) else [])


@claim("a name such as orders.2, for the next layout of orders, is created only if the ids of both layouts differ")
def _(world):
    for kind, uri in served.stores(world).items():
        init = lambda name, layout: world.run("store", "init", "--store", uri, "--namespace", name, "--layout", layout)  # noqa: E731, B023
        same(init("orders", "vesta-second").code, 0)
        for name, layout, why in (("orders.2", "snowflake", "can be an id of orders,"), ("orders.3", "vesta-milli", "orders.2 is not in the store")):
            refused = init(name, layout)
            same(refused.code, 1)
            for part in ("nothing was done", "by its name, %s would be layout %s of orders: choose another name" % (name, name[-1]), why):
                assert part in refused.err, (kind, refused.err)
        if kind in ("file", "sqlite"):
            library = lambda layout: world.run("gen", "--store", uri, "--namespace", "orders.2", "--layout", layout, "--path", world.path(kind + ".gen"))  # noqa: E731, B023
            fails(library("snowflake"), 1, "by its name, orders.2 would be layout 2 of orders", "can be an id of orders,")
            same(os.path.exists(world.path(kind + ".gen")), False)
            same(library("vesta-milli").code, 0)
        else:
            same(init("orders.2", "vesta-milli").code, 0)
        again = world.run("store", "relayout", "--store", uri, "--namespace", "orders", "--layout", "vesta-milli", "--json")
        same(json.loads(again.out)["created"], False)
        same(init("shop.2", "vesta-second").code, 0)  # Without a predecessor, the name is an ordinary one.
        assert "shop.2 already has this layout" in init("shop", "vesta-second").err
        same(init("shop", "vesta-milli").code, 0)


@claim("without --store, the message names the store of this machine's own leases")
def _(world):
    same(world.run("gen").code, 0)
    fails(world.run("store", "advance"), 2, "Processes without --store keep their leases in --store file:" + world.path("state"))
    same(world.run("store", "show", "--json").out[:40], world.run("store", "show", "--json", "--store", "file:" + world.path("state")).out[:40])


@claim("init with a config creates the tables of counters with --segments, and prints that they are missing without it")
def _(world):
    served.mariadb().sql("CREATE DATABASE ofconfig; GRANT ALL ON ofconfig.* TO vesta@'127.0.0.1'")
    uri = served.mysql_uri("vesta:s3cret", "ofconfig")
    with open(world.path("c.lua"), "w") as file:
        file.write("return { stores = { s = { uri = '%s' } }, segments = { { store = 's', tags = 't' }, { store = 's', table = 'other', tags = 'o' } } }" % uri)
    done = world.run("store", "init", "-c", "c.lua")
    assert done.code == 0 and done.out.endswith("\n  add --segments to create the tables of counters\n"), done
    assert world.run("store", "init", "-c", "c.lua", "--segments").out.count("\n") == 1
    same(world.run("segments", "-c", "c.lua").code, 0)


@claim("init and show with a config process all its stores, and report those that fail")
def _(world):
    with open(world.path("c.lua"), "w") as file:
        file.write("return { stores = { a = { uri = 'sqlite:/proc/none/a.db' }, b = { uri = 'sqlite:%s' }, s = { uri = 'sqlite:%s' } }, namespaces = {"
                   " a = { store = 'a' }, b = { store = 'b', layout = 'snowflake' }, c = { store = 'b' } }, segments = { { store = 's', tags = 't' } } }"
                   % (world.path("b.db"), world.path("s.db")))
    done = world.run("store", "init", "-c", "c.lua")
    same((done.code, done.err), (1, "vesta store: sqlite:/proc/none/a.db: cannot create /proc/none: No such file or directory\n"))
    assert "store is ready: sqlite:%s\n  the namespace b is not in it: vesta store init -c c.lua --namespace b\n" % world.path("b.db") in done.out, done.out
    same(world.run("store", "init", "-c", "c.lua", "--namespace", "b").code, 0)
    rows = [json.loads(line) for line in world.run("store", "init", "-c", "c.lua", "--json").lines()]
    same([(row["ok"], row.get("missing")) for row in rows], [(False, None), (True, ["c"]), (True, [])])
    done = world.run("store", "show", "-c", "c.lua", "--json")
    same((done.code, [json.loads(line)["namespace"] for line in done.lines()]), (1, ["b"]))
    fails(world.run("store", "advance", "-c", "c.lua", "--yes"), 2, "advance changes one namespace", "has a, b, c: add --namespace NAME")


@claim("init of an existing namespace prints its settings and the requested ones")
def _(world):
    words = ("store", "init", "--store", "sqlite:" + world.path("v.db"), "--namespace", "there", "--layout")
    same(world.run(*words, "snowflake").code, 0)
    for more, text in ((["vesta-milli"], "layout %s, not vesta-milli, and keeps it" % SNOWFLAKE),
                       (["snowflake", "--static", "0-9"], "static worker ids none, not 0-9, and keeps them")):
        done = world.run(*words, *more)
        assert done.code == 1 and "exists with the " + text in done.err, done


main()
