"""relayout.py -- a live namespace changes its layout, host by host: no duplicate, no rejected request, and only after a
proof that ids of the layouts differ.

    relayout.py VESTA STOPPER [PART]

Three servers with separate state lease from one store of each kind. They change from vesta-second to vesta-milli, which
differ in the type bit, and then to a third layout, which differs in the version bit. VESTA_RELAYOUT_S is the time under
load at each step.
"""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

STOPPER = os.path.abspath(sys.argv.pop(2))

import served  # noqa: E402
from servers import until  # noqa: E402
from serving import SLOW, VESTA, Configured, World, claim, environment, fails, get, main, same, until_closed  # noqa: E402

DRIVE = os.path.join(os.path.dirname(VESTA), "spec", "clients", "drive_c")
SECONDS = float(os.environ.get("VESTA_RELAYOUT_S", "0.1"))
SECOND, MILLI, THIRD = "vesta-second", "vesta-milli version:1=0", "vesta-milli version:1=1"
LAYOUTS = (("orders", SECOND), ("orders.2", MILLI), ("orders.3", THIRD))  # The bits from 62 on are 0, 1 and 3.


def config(world, host, layout, leased_as=None, name="orders", uri=None):
    path = world.path("host%s.lua" % host)
    leased = 'leased_as = "%s", ' % leased_as if leased_as else ""
    with open(path, "w") as file:
        file.write('return { namespaces = { ["%s"] = { layout = "%s", %sstore = "s", identity = "host%s", path = "%s" } },\n'
                   '  stores = { s = { uri = "%s" } } }\n' % (
                       name, layout, leased, host, world.path("host%s.%s.gen" % (host, "".join(filter(str.isalnum, leased_as or name)))),
                       uri or "sqlite:" + world.path("store.db")))
    return path


def store(world, *words, uri=None, name="orders"):
    return world.run("store", *words, "--store", uri or "sqlite:" + world.path("store.db"), "--namespace", name)


def relayout(world, layout, *more, uri=None, name="orders"):
    return store(world, "relayout", "--layout", layout, *more, uri=uri, name=name)


def init(world, layout=SECOND, *more, uri=None, name="orders"):
    same(store(world, "init", "--layout", layout, *more, uri=uri, name=name).code, 0)


# ---------------------------------------------------------------- three hosts and their clients

class Host(Configured):
    def __init__(self, world, number, layout, leased_as, uri, name="orders"):
        super().__init__(world, config(world, number, layout, leased_as, name, uri))
        self.quiet = True

    def gives(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            reply = self.get("/genid")
            return int(reply.body) if reply.status == 200 else None

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        said = self.process.communicate(timeout=20 * SLOW)[1]
        assert self.process.returncode == 0, said

    def kill(self):
        self.process.kill()
        self.process.communicate()


class Load:
    """Clients that ask one host after the other. A request that no host answers counts as rejected."""

    def __init__(self, world, uri, count=3):
        self.world, self.uri = world, uri
        self.hosts, self.step, self.is_over = [None] * 3, 0, False
        self.got = [[] for _ in range(count)]  # per client: (host, id) in order
        self.refused = [[0] * len(LAYOUTS) for _ in range(count)]
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]

    def ask(self, first):
        for k in range(3):
            host = self.hosts[(first + k) % 3]
            number = host.gives() if host else None
            if number is not None:
                return (first + k) % 3, number

    def run(self, i):
        turn = i
        while not self.is_over:
            got = self.ask(turn)
            turn += 1
            if got:
                self.got[i].append(got)
            else:
                self.refused[i][self.step] += 1
            time.sleep(0.002)  # Leave CPU time to the servers.

    def start(self, number):
        leased_as, layout = LAYOUTS[self.step]
        host = Host(self.world, number, layout, leased_as if self.step else None, self.uri)
        host.__enter__()
        return host

    def join(self, number, host):
        until(lambda: host.gives() is not None, "host %d gives ids" % number, 60)
        self.hosts[number] = host
        time.sleep(SECONDS)

    def move(self, number):
        old, self.hosts[number] = self.hosts[number], None
        if old:
            old.stop()
        self.join(number, self.start(number))

    def kill(self, number, step):
        """Kills a host and restarts it with its previous config."""
        old, self.hosts[number] = self.hosts[number], None
        old.kill()
        now, self.step = self.step, step
        host = self.start(number)
        self.step = now
        self.join(number, host)

    def __enter__(self):
        for number in range(3):
            self.move(number)
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join()
        for host in self.hosts:
            if host:
                host.stop()

    def rows(self):
        """Returns for each layout the number of ids, duplicates, rejected requests, ids below the previous one, and the
        smallest and largest id."""
        parts = [[number for got in self.got for _, number in got if number >> 62 == bits] for bits in (0, 1, 3)]
        same(sum(map(len, parts)), sum(map(len, self.got)))
        return [(len(ids), len(ids) - len(set(ids)), sum(refused[at] for refused in self.refused), self.backwards(at), min(ids), max(ids))
                for at, ids in enumerate(parts)]

    def backwards(self, at):
        """Returns how often a client got a lower id than before, of the same host and layout."""
        count = 0
        for got in self.got:
            for host in range(3):
                ids = [number for of, number in got if of == host and number >> 62 == (0, 1, 3)[at]]
                count += sum(b <= a for a, b in zip(ids, ids[1:]))
        return count


# ---------------------------------------------------------------- failures in between

@contextlib.contextmanager
def away(kind, world):
    if kind == "file":
        os.rename(world.path("files"), world.path("elsewhere"))
        with open(world.path("files"), "w"):  # A file prevents a host from creating the folder.
            yield
        os.remove(world.path("files"))
        os.rename(world.path("elsewhere"), world.path("files"))
    elif kind == "sqlite":
        with contextlib.closing(sqlite3.connect(world.path("v.db"), isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
            yield
            db.execute("ROLLBACK")
    else:
        server = {"mysql": served.mariadb, "postgresql": served.postgresql, "zk": served.zookeeper}[kind]()
        try:
            server.pause()
            yield
        finally:
            server.go_on()


def stopper(world, how, n, uri, name):
    """Runs `store relayout` under the stopper, which prints the system calls, or kills the command after the n-th."""
    done = subprocess.run([STOPPER, how, str(n), world.path("said"), VESTA, "store", "relayout", "--store", uri, "--namespace", name,
                           "--layout", MILLI], env=environment(world.folder), capture_output=True, text=True, timeout=120)
    same(done.returncode, 0)
    return done.stdout.splitlines()


def killed_in_the_middle(world, uri):
    """Kills the command after an eighth of its calls, then a quarter more each time until it has created the namespace.
    The number of calls differs between runs, because some of them are waits. A repeated command must not create another
    namespace."""
    init(world, uri=uri, name="rehearsal")
    calls = int(stopper(world, "count", 0, uri, "rehearsal")[-1].split()[2])
    killed, n = 0, min(calls, 1000) // 8  # On a busy machine, most of the calls are waits.
    while store(world, "show", uri=uri, name="orders.2").code != 0:
        killed += stopper(world, "kill", n, uri, "orders")[0].startswith("stopped")
        n += max(n // 4, 1)
    assert killed > 1, (killed, calls, n)
    again = relayout(world, MILLI, "--json", uri=uri)
    assert '"leased_as":"orders.2"' in again.out and '"created":false' in again.out, again.out
    fails(store(world, "show", uri=uri, name="orders.3"), 1, "orders.3")


def move_all(world, load, kind):
    killed_in_the_middle(world, load.uri)
    load.step = 1
    load.move(0)
    old, load.hosts[1] = load.hosts[1], None
    old.stop()
    with away(kind, world):
        host = load.start(1)
        until(lambda: host.get("/readyz").status == 503, "it waits for its store")
        time.sleep(SECONDS)
        same(host.gives(), None)
    load.join(1, host)
    load.kill(0, 1)
    load.kill(2, 0)
    load.move(2)
    same(relayout(world, THIRD, uri=load.uri).code, 0)
    load.step = 2
    for number in range(3):
        load.move(number)


def move_on(kind, world):
    os.mkdir(world.folder)
    uri = {"file": lambda: "file:" + world.path("files"), "sqlite": lambda: "sqlite:" + world.path("v.db"),
           "mysql": served.mysql_uri, "postgresql": served.postgresql_uri, "zk": served.zk_uri}[kind]()
    init(world, uri=uri)
    with world.ends, Load(world, uri) as load:
        move_all(world, load, kind)
    return load.rows()


@claim("on each kind of store, a live namespace changes its layout twice while parts fail, without duplicates or "
       "rejected requests")
def _(world):
    kinds = ("file", "sqlite", "mysql", "postgresql", "zk")
    with ThreadPoolExecutor(len(kinds)) as pool:
        tables = list(pool.map(lambda kind: move_on(kind, World(world.path(kind))), kinds))
    print("# store      leased as layout                        ids  twice  refused  backwards                least             greatest")
    for kind, table in zip(kinds, tables):
        for (leased_as, layout), row in zip(LAYOUTS, table):
            print("# %-10s %-9s %-24s %8d %6d %8d %10d %20d %20d" % (kind, leased_as, layout, *row))
    same([row[1:4] for table in tables for row in table], [(0, 0, 0)] * len(kinds) * len(LAYOUTS))
    for table in tables:  # in the order of the layouts, for any host
        assert all(row[5] < after[4] for row, after in zip(table, table[1:])), table


# ---------------------------------------------------------------- rejections

@claim("a generation is created only with a proof against all earlier ones, and a layout that is already used is "
       "reported as such")
def _(world):
    init(world, MILLI)
    fails(relayout(world, MILLI), 1, "nothing was done", "orders already has this layout", "or remove leased_as")
    fails(relayout(world, "snowflake"), 1, "nothing was done", "can be an id of orders,", "version:1=1")
    same(relayout(world, SECOND).code, 0)
    # A proof against the last generation alone would exist.
    fails(relayout(world, "vesta-milli"), 1, "nothing was done", "can be an id of orders,")
    same(relayout(world, THIRD).code, 0)
    fails(relayout(world, SECOND), 1, "nothing was done", "orders.2 already has this layout", 'leased_as = "orders.2"')
    fails(store(world, "show", name="orders.4"), 1)
    # A config that changes only the layout is rejected with the way to do it.
    fails(world.run("gen", "-c", config(world, 3, SECOND), "--namespace", "orders"), 1, "give this one a further layout with `vesta store relayout`")


@claim("a generation that could issue no id is rejected")
def _(world):
    init(world, THIRD)
    fails(relayout(world, "cockroachdb"), 1, "nothing was done", "can be read, not issued")
    fails(relayout(world, "sign:1=0 time:31 seq:22 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"), 1, "nothing was done", "time ended")
    fails(store(world, "show", name="orders.2"), 1)


@claim("a lost generation is not recreated with a layout that another one may have had")
def _(world):
    init(world)
    same((relayout(world, MILLI).code, relayout(world, THIRD).code), (0, 0))
    with contextlib.closing(sqlite3.connect(world.path("store.db"), isolation_level=None)) as db:
        db.execute("DELETE FROM vesta_namespace WHERE ns = 'orders.2'")
    for layout in (MILLI, THIRD):
        fails(relayout(world, layout), 1, "orders.2 is not in the store", "vesta store init --again --namespace orders.2")
    fails(world.run("gen", "-c", config(world, 1, THIRD, "orders.3"), "--namespace", "orders"), 1, "orders.2 is not in the store")
    same(store(world, "init", "--again", "--layout", MILLI, name="orders.2").code, 0)
    assert "orders.3 already exists" in relayout(world, THIRD).out


@claim("the next generation keeps those static worker ids that fit its layout")
def _(world):
    init(world, MILLI, "--static", "24-1000")
    same(relayout(world, "version:1=1 type:1=0 time:40 seq:17 machine:5 unit=1ms epoch=2020-01-01T00:00:00Z").code, 0)
    assert '"static":[24,31]' in store(world, "show", "--json", name="orders.2").out
    init(world, MILLI, "--static", "40-50", name="shop")
    same(relayout(world, "version:1=1 type:1=0 time:40 seq:17 machine:5 unit=1ms epoch=2020-01-01T00:00:00Z", name="shop").code, 0)
    assert '"static"' not in store(world, "show", "--json", name="shop.2").out
    init(world, MILLI, "--static", "40-50", name="many")
    same(relayout(world, SECOND, name="many").code, 0)
    assert '"static":[40,50]' in store(world, "show", "--json", name="many.2").out


@claim("repeated and concurrent commands create a generation once")
def _(world):
    init(world)
    first, again = relayout(world, MILLI, "--json"), relayout(world, MILLI, "--json")
    assert '"leased_as":"orders.2"' in first.out and '"created":true' in first.out, first.out
    assert '"leased_as":"orders.2"' in again.out and '"created":false' in again.out, again.out
    init(world, name="shop")
    made = {MILLI: set(), THIRD: set()}

    def ask(layout):
        done = relayout(world, layout, "--json", name="shop")
        while done.code != 0:
            assert "another host has just created shop." in done.err and "repeat the command" in done.err, done.err
            done = relayout(world, layout, "--json", name="shop")
        made[layout].add(re.search('"leased_as":"([^"]*)"', done.out)[1])
    askers = [threading.Thread(target=ask, args=(layout,)) for layout in (MILLI, THIRD)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    same(sorted(map(sorted, made.values())), [["shop.2"], ["shop.3"]])


@claim("a host that changes first gets no id before the proof exists, and hosts with the old config continue")
def _(world):
    init(world)
    gen = lambda path: world.run("gen", "-c", path, "--namespace", "orders")  # noqa: E731
    new, old = config(world, 1, MILLI, "orders.2"), config(world, 0, SECOND)
    fails(gen(new), 1, "generation 2", "vesta store relayout")
    same(gen(old).code, 0)  # The namespace is now in use.
    with Host(world, 2, MILLI, "shop.2", "sqlite:" + world.path("store.db"), name="shop") as early:
        until(lambda: "generation 2" in early.get("/readyz").body, "it says what it waits for")
        same(early.gives(), None)
        init(world, name="shop")
        same(relayout(world, MILLI, name="shop").code, 0)
        until(lambda: early.gives() is not None, "it gives ids")
    # A generation that an older version created without a proof is proved by each host itself.
    init(world, "snowflake", name="unproved")
    with contextlib.closing(sqlite3.connect(world.path("store.db"), isolation_level=None)) as db:
        db.execute("UPDATE vesta_namespace SET ns = 'orders.2' WHERE ns = 'unproved'")
    fails(gen(config(world, 1, "snowflake", "orders.2")), 1, "can be an id of orders,")
    fails(gen(config(world, 1, MILLI, "orders.2")), 1, "has the layout", "Write exactly that into the config, or")
    same(gen(old).code, 0)
    stale = int(world.run("gen", "-c", config(world, 0, SECOND, name="shop"), "--namespace", "shop").out)
    moved = int(world.run("gen", "-c", config(world, 1, MILLI, "shop.2", name="shop"), "--namespace", "shop").out)
    same((stale >> 62, moved >> 62), (0, 1))
    # `explain` with either config reads ids of both layouts.
    for path in config(world, 0, SECOND, name="shop"), config(world, 1, MILLI, "shop.2", name="shop"):
        read = world.run("explain", "-c", path, "--namespace", "shop", str(stale), str(moved), str(stale)).out
        same(re.findall(r"read as (\S+)", read)[::2], ["vesta-second"] * 2)
        same(re.findall(r"worker \d+ of (\S+?),? ", read), ["shop", "shop.2", "shop"])
    # The same layout with another constant is a different layout.
    fails(world.run("gen", "-c", config(world, 2, THIRD, "shop.2", name="shop"), "--namespace", "shop"), 1, "Write exactly that into the config")


@claim("a generator file made with the generation's own name is not a proof")
def _(world):
    by_name = ("--store", "sqlite:" + world.path("store.db"), "--namespace", "orders.2", "--layout", "snowflake", "--identity", "host0", "--path", world.path("host0.orders2.gen"))
    init(world, "snowflake", name="orders.2")
    same(world.run("gen", *by_name).code, 0)
    # as two concurrent creators may
    with contextlib.closing(sqlite3.connect(world.path("store.db"), isolation_level=None)) as db:
        db.execute("INSERT INTO vesta_namespace SELECT 'orders', " + ", ".join(row[1] for row in db.execute("PRAGMA table_info(vesta_namespace)").fetchall()[1:]) + " FROM vesta_namespace")
    fails(world.run("gen", "-c", config(world, 0, "snowflake", "orders.2"), "--namespace", "orders"), 1, "orders already has this layout")
    same(world.run("gen", *by_name).code, 0)  # The namespace in use remains.


@claim("a config with another constant than the namespace gets no id, because the proof would not cover it")
def _(world):
    init(world, MILLI)
    gen = lambda host, layout, *more: world.run("gen", "-c", config(world, host, layout, *more), "--namespace", "orders")  # noqa: E731
    same(relayout(world, THIRD).code, 0)
    # This constant is free, so a handle may set it.
    for layout, constant in ((THIRD, "version:1=1:"), ("vesta-milli", "version:1:")):
        fails(gen(1, layout), 1, "namespace orders has version:1=0, not " + constant, "write that constant into the layout")
    old, new = (int(gen(host, *config).out) for host, config in ((0, (MILLI + " method:2=1",)), (2, (THIRD, "orders.2"))))
    same((old >> 63, new >> 63), (0, 1))
    # An existing namespace stays unchanged, with a message.
    again = world.run("store", "init", "--store", "sqlite:" + world.path("store.db"), "--namespace", "orders", "--layout", THIRD)
    assert again.code == 1 and "exists with the layout version:1=0" in again.err, again.err
    fails(gen(0, THIRD), 1, "was created with layout version:1=0", "not version:1=1")


def admin_workers(world):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(world.path("admin.sock"))
        sock.sendall(get("/admin/workers?ns=orders", "Connection: close"))
        return json.loads(until_closed(sock).decode().partition("\r\n\r\n")[2])


@claim("commands with a config show the leased generation by both names")
def _(world):
    init(world)
    same(relayout(world, MILLI).code, 0)
    path = config(world, 0, MILLI, "orders.2")
    run = lambda *words: world.run(*words, "-c", path)  # noqa: E731
    number = run("gen").out.strip()
    seen = json.loads(run("workers", "--json").out)
    same((seen["namespace"], seen["public"], len(seen["workers"])), ("orders.2", "orders", 1))
    assert "\norders.2, leased for orders: " in run("workers").out
    shown = json.loads(run("store", "show", "--namespace", "orders", "--json").out)
    same((shown["namespace"], shown["public"], shown["never"]), ("orders.2", "orders", 1023))
    every = run("store", "show").out
    assert "namespace    orders\n" in every and "namespace    orders.2, leased for orders\n" in every, every
    assert "worker %d of orders.2, leased for orders, by " % seen["workers"][0]["worker"] in run("explain", number).out
    for command in (("explain", "--effective"), ("gen", "--effective"), ("workers", "--effective")):
        rows = run(*command).out
        assert re.search(r"namespace +orders +by", rows) and re.search(r"leased_as +orders\.2 +by the config", rows), rows
    # The next layout belongs to the public name.
    fails(run("store", "relayout", "--layout", "vesta-milli"), 1, "can be an id of orders.2,")
    same(json.loads(run("store", "relayout", "--layout", THIRD, "--json").out)["leased_as"], "orders.3")
    # By its own name it is shown as usual.
    same("public" in world.run("store", "show", "--store", "sqlite:" + world.path("store.db"), "--namespace", "orders.2", "--json").out, False)
    with Configured(world, path, "--admin", "unix:" + world.path("admin.sock")):
        until(lambda: admin_workers(world).get("workers"), "the store is read")
        same((admin_workers(world)["leased_as"], int(admin_workers(world)["workers"][0]["worker"])), ("orders.2", seen["workers"][0]["worker"]))


class Driven:
    """A C client in a separate process. spec/clients/README lists its commands."""

    def __init__(self, *servers):
        self.process = subprocess.Popen([DRIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        same(self.say("open name=orders size=100 wait=1500 servers=" + ",".join("127.0.0.1:%d" % s.resp for s in servers)), "ok")

    def say(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def bits(self):
        ids, _, error = self.say("next 100").partition(" error ")
        return {int(number) >> 62 for number in ids.split()[1:]}, error

    def close(self):
        self.process.stdin.close()
        same(self.process.wait(20 * SLOW), 0)
        self.process.stdout.close()


if os.path.exists(DRIVE):
    @claim("a client continues with a server of the next layout, but not with one that leases from another store")
    def _(world):
        init(world)
        same(relayout(world, MILLI).code, 0)
        other = "sqlite:" + world.path("other.db")
        init(world, "snowflake", uri=other)
        hosts = [Host(world, 0, SECOND, None, None), Host(world, 1, MILLI, "orders.2", None), Host(world, 2, "snowflake", None, other)]
        for host in hosts:
            host.__enter__()
        moves, strays = Driven(*hosts[:2]), Driven(*hosts[1:])
        until(lambda: moves.bits()[0] == {0}, "ids of the first")
        until(lambda: strays.bits()[0] == {1}, "ids of the next layout")
        hosts[0].stop()
        until(lambda: 1 in moves.bits()[0], "ids of the next layout")
        hosts[1].stop()
        until(lambda: "an id can belong to both" in strays.bits()[1], "it says why")
        same(strays.bits()[0], set())
        hosts[2].stop()
        moves.close()
        strays.close()


@claim("invalid, empty and hostile arguments are rejected")
def _(world):
    init(world)
    for leased_as in ("orders.1", "orders.02", "orders.100", "shop.2", "orders.", "x" * 65, "a\\27[2J"):
        checked = world.run("check", config(world, 0, MILLI, leased_as))
        same(checked.code, 1)
        assert "leased_as" in checked.err, checked.err
    fails(world.run("store", "relayout", "--store", "sqlite:" + world.path("store.db"), "--namespace", "orders"), 2, "--layout")
    fails(relayout(world, "x" * 100000), 2, "bad layout")
    for without in ("store", "layout"):
        path = config(world, 0, MILLI, "orders.2")
        with open(path) as file:
            text = re.sub(r' %s = "[^"]*",' % without, "", file.read())
        with open(path, "w") as file:
            file.write(text)
        fails(world.run("check", path), 1, "leased_as needs the key %s" % without)
    assert ", leased as orders.2, store s\n" in world.run("check", config(world, 0, MILLI, "orders.2")).out
    fails(relayout(world, MILLI, name="missing"), 1, "it has no layout to replace", "vesta store show")
    same(relayout(world, MILLI).code, 0)
    fails(relayout(world, THIRD, name="orders.2"), 2, "orders.2 is generation 2 of orders", "--namespace orders")
    fails(store(world, "show", name="orders.2.2"), 1)
    init(world, name="n" * 64)
    fails(relayout(world, MILLI, name="n" * 64), 2, "is too long for the suffix .2")


main()
