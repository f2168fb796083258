"""Regression: `sqlite:/x/v.db?cache=shared` was silently another file than `sqlite:/x/v.db`. Two processes held one
worker id, and 259,041 of 600,000 ids were duplicates. `file://localhost/x` was the folder /localhost/x."""
import os
import re
import sqlite3

from livefiles import ids, unique
from harness import claim, main, same

WRONG = (("sqlite:%s?cache=shared", "unknown key 'cache': a sqlite: URI has no keys"), ("file:%s?y=z", "unknown key 'y': a file: URI has no keys"),
         ("file:%s#part", "write it as %23"), ("file://otherhost%s", "the host 'otherhost'"), ("file://me:s3cret@localhost%s", "has a user"),
         ("sqlite://localhost:1%s", "a host with a port"), ("file:%s%%", "two hex digits"),
         ("mysql://u@127.0.0.1:1/vesta?cache=%s", "unknown key 'cache': valid keys are tls, ca"), ("zk://127.0.0.1:1/vesta?cache=%s", "unknown key 'cache'"))


def gen(world, *args, **kw):
    return ids(world.run("gen", "-n", "100", "--layout", "snowflake", "--worker", "3", "--wait-ms", "20000", *args, **kw))


def refused(world, *args, part):
    done = world.run(*args)
    assert done.code != 0 and not done.out, (args, done.code, done.out)
    assert part in done.err and "s3cret" not in done.err, (args, done.err)


@claim("each command with a URI rejects an unsupported key with its name, and creates nothing")
def _(world):
    before = set(os.listdir(world.folder))
    for form, part in WRONG:
        uri = form % world.path("place")
        for args in (("gen", "--namespace", "a", "--path", world.path("a.gen"), "--store", uri), ("workers", "--store", uri), ("store", "init", "--store", uri),
                     ("segments", "--store", uri), ("segments", "add", "orders", "--store", uri)):
            refused(world, *args, part=part)
    same(sorted(set(os.listdir(world.folder)) - before), [])


@claim("a config rejects such a URI, whether the store is used or not")
def _(world):
    for form, part in WRONG:
        uri = form % world.path("place")
        for text in ("return { stores = { main = { uri = '%s' } }, namespaces = { a = { store = 'main' } } }" % uri,
                     "return { stores = { main = { uri = '%s' } }, namespaces = { a = { } } }" % uri,
                     "return { stores = { main = { uri = '%s' } }, segments = { { store = 'main', tags = 'orders' } } }" % uri,
                     "return { namespaces = { a = { store = '%s' } } }" % uri):
            with open(world.path("c.conf"), "w") as file:
                file.write(text)
            refused(world, "check", "-c", world.path("c.conf"), part=part)


@claim("different URIs of one place share one generator, and a name may contain '?', '#' and '%'")
def _(world):
    place = world.path("a?b#c%20d")
    coded = place.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
    more = []
    for scheme, name in (("file", "a.gen"), ("sqlite", "b.gen")):
        for uri in ("%s:%s", "%s://%s", "%s://localhost%s"):
            more += gen(world, "--namespace", scheme, "--path", world.path(name), "--store", uri % (scheme, coded + "." + scheme))
        more += gen(world, "--path", world.path(name))
        assert os.path.exists(place + "." + scheme)
    unique(more[:400])
    unique(more[400:])
    sqlite3.connect(place + ".sqlite").execute("SELECT 1 FROM vesta_lease").fetchone()


@claim("a state folder with special characters in its name is found again, also after a move")
def _(world):
    for name in ("per%20cent", "quest?ion", "ha#sh", "at@sign"):
        state, moved = world.path(name), world.path(name + ".moved?%41")
        os.mkdir(state)
        got = gen(world, env={"VESTA_STATE": state}) + gen(world, env={"VESTA_STATE": state})
        assert "default" in os.listdir(state), os.listdir(state)
        os.rename(state, moved)
        got += gen(world, env={"VESTA_STATE": moved})
        unique(got)


@claim("a generator file of an earlier version keeps its store, whose name it contains unescaped, and naming that "
       "store prints the next step")
def _(world):
    place = world.path("v.db?cache=shared")
    old, coded = "sqlite:" + place, "sqlite:" + place.replace("?", "%3F")
    got = gen(world, "--namespace", "a", "--path", world.path("a.gen"), "--store", coded)
    with open(world.path("a.gen"), "r+b") as file:
        anchor = file.read()
        kept = b"sqlite://localhost" + place.replace("?", "%3F").encode()
        assert anchor.count(kept) == 1
        file.seek(0)
        file.write(anchor.replace(kept, old.encode().ljust(len(kept), b"\0")))
    got += gen(world, "--path", world.path("a.gen"))
    refused(world, "gen", "--path", world.path("a.gen"), "--store", old, part=coded[:120])
    refused(world, "gen", "--path", world.path("a.gen"), "--store", "sqlite:" + world.path("v.db"), part="is another store")
    got += gen(world, "--path", world.path("a.gen"), "--store", coded)
    unique(got)


@claim("a socket address has no keys either")
def _(world):
    refused(world, "serve", "--http", "unix:%s?mode=600" % world.path("s"), "--resp", "unix:" + world.path("r"), part="has no keys")
    refused(world, "fill", "--redis", "unix:%s?db=1" % world.path("s"), "--list", "ids", part="")
    assert not re.search(r"mode", " ".join(os.listdir(world.folder)))


main()
