"""relayout.py -- a live namespace moves to another layout, host by host: no id twice, no request without an id, and never
without a proof that the ids of the layouts differ.

Three servers with state of their own lease from one store: from vesta-second to vesta-milli, told apart by the type bit,
and on to a third layout by the version bit.  VESTA_RELAYOUT_S is how long each step is under load.
"""
import http.client
import os
import threading
import time

from serving import Configured, claim, fails, main, same

SECONDS = float(os.environ.get("VESTA_RELAYOUT_S", "0.3"))
SECOND, MILLI, THIRD = "vesta-second", "vesta-milli version:1=0", "vesta-milli version:1=1"


def config(world, host, layout, leased_as=None, name="orders"):
    path = world.path("host%s.lua" % host)
    leased = 'leased_as = "%s", ' % leased_as if leased_as else ""
    with open(path, "w") as file:
        file.write('return { namespaces = { ["%s"] = { layout = "%s", %sstore = "s", identity = "host%s", path = "%s" } },\n'
                   '  stores = { s = { uri = "sqlite:%s" } } }\n' % (
                       name, layout, leased, host, world.path("host%s.%s.gen" % (host, "".join(filter(str.isalnum, leased_as or name)))), world.path("store.db")))
    return path


def relayout(world, layout, *more, name="orders"):
    return world.run("store", "relayout", "--store", "sqlite:" + world.path("store.db"), "--namespace", name, "--layout", layout, *more)


def init(world, layout=SECOND, name="orders"):
    same(world.run("store", "init", "--store", "sqlite:" + world.path("store.db"), "--namespace", name, "--layout", layout).code, 0)


class Load:
    """Clients that ask one host after the other; a request that no host answers is a refusal."""

    def __init__(self, count=3):
        self.hosts, self.ids, self.refused, self.is_over = [None] * 3, [[] for _ in range(count)], [0] * count, False
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]

    def ask(self, first):
        for k in range(3):
            host = self.hosts[(first + k) % 3]
            try:
                reply = host.get("/genid") if host else None
            except (OSError, http.client.HTTPException, AttributeError):  # its server ended: the next one's turn
                continue
            if reply and reply.status == 200:
                return int(reply.body)
        return None

    def run(self, i):
        n = i
        while not self.is_over:
            got = self.ask(n)
            n += 1
            if got is None:
                self.refused[i] += 1
            else:
                self.ids[i].append(got)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def switch(world, load, host, layout, leased_as=None):
    """A host's restart with another config, as a rolling update does it."""
    old, load.hosts[host] = load.hosts[host], None
    if old:
        old.__exit__(None, None, None)
    new = Configured(world, config(world, host, layout, leased_as))
    new.__enter__()
    load.hosts[host] = new


@claim("a live namespace moves to another layout and to a third, host by host: no id twice, no request refused")
def _(world):
    init(world)
    with Load() as load:
        for host in range(3):
            switch(world, load, host, SECOND)
        load.refused = [0] * len(load.refused)
        for layout, leased_as in ((MILLI, "orders.2"), (THIRD, "orders.3")):
            time.sleep(SECONDS)
            same(relayout(world, layout).code, 0)
            for host in range(3):
                switch(world, load, host, layout, leased_as)
                time.sleep(SECONDS)
    for host in load.hosts:
        host.__exit__(None, None, None)
    ids = [number for part in load.ids for number in part]
    kinds = [sum(1 for number in ids if number >> 62 == bits) for bits in (0, 1, 3)]
    print("# %d ids (%d of each layout: %s), %d duplicates, %d refusals" % (
        len(ids), len(kinds), kinds, len(ids) - len(set(ids)), sum(load.refused)))
    same((len(ids) - len(set(ids)), sum(load.refused)), (0, 0))
    assert min(kinds) > 0 and sum(kinds) == len(ids), kinds


@claim("no generation is made without a proof against all before it")
def _(world):
    init(world, MILLI)
    fails(relayout(world, MILLI), 1, "nothing was done", "can be an id of orders", "version:1=1")
    fails(relayout(world, "snowflake"), 1, "nothing was done")
    same(relayout(world, SECOND).code, 0)
    # against the last one alone it would be proved
    fails(relayout(world, "vesta-milli"), 1, "nothing was done", "can be an id of orders,")
    same("orders.3" in world.run("store", "show", "--store", "sqlite:" + world.path("store.db")).out, False)


@claim("cut short and asked again, it makes nothing twice")
def _(world):
    init(world)
    first, again = relayout(world, MILLI, "--json"), relayout(world, MILLI, "--json")
    assert '"leased_as":"orders.2"' in first.out and '"created":true' in first.out, first.out
    assert '"leased_as":"orders.2"' in again.out and '"created":false' in again.out, again.out


@claim("a host that goes first gets no id, until what it goes to was proved; a stale host goes on")
def _(world):
    init(world)
    gen = lambda path: world.run("gen", "-c", path, "--namespace", "orders")  # noqa: E731
    new, old = config(world, 1, MILLI, "orders.2"), config(world, 0, SECOND)
    fails(gen(new), 1, "generation 2", "vesta store relayout")
    # what somebody made by hand is proved by each host for itself
    init(world, "snowflake", name="orders.2")
    fails(gen(config(world, 1, "snowflake", "orders.2")), 1, "can be an id of orders,")
    fails(gen(config(world, 1, MILLI, "orders.2")), 1, "has the layout")
    same(gen(old).code, 0)
    init(world, name="shop")
    same(relayout(world, MILLI, name="shop").code, 0)
    stale = int(world.run("gen", "-c", config(world, 0, SECOND, name="shop"), "--namespace", "shop").out)
    moved = int(world.run("gen", "-c", config(world, 1, MILLI, "shop.2", name="shop"), "--namespace", "shop").out)
    same((stale >> 62, moved >> 62), (0, 1))
    # the same layout with another constant is another one
    fails(world.run("gen", "-c", config(world, 2, THIRD, "shop.2", name="shop"), "--namespace", "shop"), 1, "to the last constant")


@claim("who has another constant than the namespace gets no id of it, or the proof against it would be none")
def _(world):
    init(world, MILLI)
    gen = lambda host, layout, *more: world.run("gen", "-c", config(world, host, layout, *more), "--namespace", "orders")  # noqa: E731
    same(relayout(world, THIRD).code, 0)
    for layout, constant in ((THIRD, "version:1=1:"), ("vesta-milli", "version:1:")):  # free, a handle may set it
        fails(gen(1, layout), 1, "namespace orders has version:1=0, not " + constant, "write that constant into the layout")
    old, new = (int(gen(host, *config).out) for host, config in ((0, (MILLI + " method:2=1",)), (2, (THIRD, "orders.2"))))
    same((old >> 63, new >> 63), (0, 1))
    # what exists already stays as it is, and says so
    again = world.run("store", "init", "--store", "sqlite:" + world.path("store.db"), "--namespace", "orders", "--layout", THIRD)
    assert again.code == 1 and "exists with the layout version:1=0" in again.err, again.err
    fails(gen(0, THIRD), 1, "has the layout version:1=0", "not version:1=1")


@claim("wrong, empty and hostile words are refused")
def _(world):
    init(world)
    for leased_as in ("orders.1", "orders.02", "orders.100", "shop.2", "orders.", "x" * 65, "a\\27[2J"):
        checked = world.run("check", config(world, 0, MILLI, leased_as))
        same(checked.code, 1)
        assert "leased_as" in checked.err, checked.err
    fails(world.run("store", "relayout", "--store", "sqlite:" + world.path("store.db"), "--namespace", "orders"), 2, "--layout")
    fails(relayout(world, "x" * 100000), 2, "bad layout")
    fails(relayout(world, MILLI, name="missing"), 1, "nothing to move")
    init(world, name="n" * 64)
    fails(relayout(world, MILLI, name="n" * 64), 2, "no room")


main()
