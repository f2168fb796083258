"""A generator file identifies its store by the incarnation of its namespace, not by its address. Address and secret may
change. Another store is rejected without harm to running processes. doctor reports the same as serve."""
import os
import re
import subprocess
import time

from livefiles import ids, unique
from harness import SLOW, claim, fails, main, same


def face(world):
    return "--http", "off", "--resp", "unix:" + world.path("t")


def gen(world, store, *args):
    return ids(world.run("gen", "-n", "100", "--path", world.path("a.gen"), "--store", store, "--layout", "snowflake", "--worker", "3",
                         "--wait-ms", "20000", *args))


class Serving:
    def __init__(self, world, *args):
        self.world, self.sock = world, world.path("s")
        self.process = world.start("serve", "--http", "off", "--resp", "unix:" + self.sock, *args, stderr=subprocess.DEVNULL)

    def __enter__(self):
        end = time.monotonic() + 30 * SLOW
        while not os.path.exists(self.sock):
            assert self.process.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


@claim("if the store has moved, ids continue from the exact cursor at once, also without --store")
def _(world):
    for kind, name in (("file:", "store"), ("sqlite:", "store.db")):
        world.folder, was = os.path.join(world.folder, kind.strip(":")), world.folder
        os.mkdir(world.folder)
        store = kind + world.path(name)
        first = gen(world, store)
        same(world.run("store", "init", "--store", store, "--namespace", "other").code, 0)
        os.symlink(world.folder, world.folder + ".link")  # the same store by another name
        there = kind + os.path.join(world.folder + ".link", name)
        second = gen(world, there, "--pacing", "clock")
        same(world.run("doctor", "--path", world.path("a.gen"), "--store", there, *face(world)).code, 0)
        third = ids(world.run("gen", "-n", "100", "--path", world.path("a.gen")))
        unique(first, second, third, gen(world, store))
        world.folder = was


@claim("gen, serve and doctor reject another store with advice, and running processes continue")
def _(world):
    path, store, wrong = world.path("a.gen"), "file:" + world.path("store"), "file:" + world.path("wrong")
    first = gen(world, store)
    same(world.run("gen", "--path", world.path("b.gen"), "--store", wrong, "--layout", "snowflake").code, 0)
    with Serving(world, "--path", path):
        for words in (("gen", "--path", path, "--store", wrong), ("serve", *face(world), "--path", path, "--store", wrong)):
            fails(world.run(*words), 1, "a.gen has its leases from the store", "is another store", "Moving to another store")
        found = world.run("doctor", "--path", path, "--store", wrong, *face(world))
        same(found.code, 1)
        assert "is another store" in found.out, found.out
        unique(first, gen(world, store))


@claim("each mismatch is reported with advice, and doctor reports the same")
def _(world):
    path, store = world.path("a.gen"), "file:" + world.path("store")
    gen(world, store)
    config = world.path("vesta.lua")
    for option, value in (("layout", '"vesta-milli"'), ("worker", "4"), ("pacing", '"history"'), ("identity", '"me"'),
                          ("ahead_ms_max", "5000"), ("lease", '"strict"')):
        with open(config, "w") as file:
            file.write('return { http = { listen = "off" }, resp = { listen = "unix:%s" }, namespaces = { default = { path = "%s", '
                       '%s = %s } } }' % (world.path("s"), path, option, value))
        told = world.run("serve", "-c", config)
        fails(told, 1, "a.gen was created with ", "To use both", "delete it")
        found = world.run("doctor", "-c", config)
        same(found.code, 1)
        sentence = re.search(r"a\.gen was created .* delete it", told.err)[0]
        assert sentence in found.out, (sentence, found.out)


@claim("after the state folder was moved, ids continue, because the store in it granted the leases")
def _(world):
    first = ids(world.run("gen", "-n", "100", "--worker", "3", "--layout", "snowflake"))
    os.rename(world.path("state"), world.path("moved"))
    time.sleep(5.2)  # The lease has ended, so the store is needed.
    second = ids(world.run("gen", "-n", "100", "--wait-ms", "20000", env={"VESTA_STATE": world.path("moved")}))
    assert not os.path.exists(world.path("state"))
    third = ids(world.run("gen", "-n", "100", "--wait-ms", "20000", env={"VESTA_STATE": world.path("moved")}))
    unique(first, second, third)


@claim("a store's folder that disappeared and is not next to the file is reported with advice, and not created again")
def _(world):
    store = "file:" + world.path("store")
    first = gen(world, store)
    os.rename(world.path("store"), world.path("elsewhere"))
    fails(world.run("gen", "--path", world.path("a.gen")), 1, "is gone", "restore it", "--store file:DIR")
    assert not os.path.exists(world.path("store"))
    unique(first, gen(world, "file:" + world.path("elsewhere")))


main()
