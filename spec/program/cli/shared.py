"""shared.py -- servers and generators that lease worker ids from a shared store."""
import contextlib
import json
import os
import signal
import socket
import subprocess

import served
from harness import SLOW, VESTA, claim, environment, fails, main, same


def init(world, uri, ns, *more):
    same(world.run("store", "init", "--store", uri, "--namespace", ns, "--layout", "vesta-milli", *more).code, 0)


def workers(world, uri, ns):
    return json.loads(world.run("workers", "--store", uri, "--namespace", ns, "--json").out)["workers"]


@contextlib.contextmanager
def serving(world, *args, until="msg=ready"):
    sock = world.path("resp.sock")
    server = world.start("serve", "--http", "off", "--resp", "unix:" + sock, *args, stderr=-1, text=True)
    server.said = ""
    try:
        while until not in server.said:
            line = server.stderr.readline()
            assert line, "it ended:\n" + server.said
            server.said += line
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.said += server.stderr.read()
        server.stderr.close()
        server.wait()


def seconds_of(line):
    hours, minutes, seconds = line.split("T", 1)[1].split("Z", 1)[0].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def redis(world, *words):
    with socket.socket(socket.AF_UNIX) as to:
        to.connect(world.path("resp.sock"))
        to.sendall((" ".join(words) + "\r\nQUIT\r\n").encode())
        got = b""
        while chunk := to.recv(65536):
            got += chunk
    return got.decode()


def config(world, store, space):
    with open(world.path("vesta.lua"), "w") as file:
        file.write("return { stores = { s = { %s } }, namespaces = { orders = { layout = 'vesta-milli', store = 's', %s } } }" % (store, space))
    return world.path("vesta.lua")


def holds(folder, secret):
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path) and secret.encode() in open(path, "rb").read():
                found.append(name)
    return found


@claim("vesta serve --store with --lease and --identity leases a worker id, serves, and releases it")
def _(world):
    for kind, uri in served.stores(world).items():
        init(world, uri, "flags")
        path = world.path(kind + ".gen")
        with serving(world, "--store", uri, "--namespace", "flags", "--layout", "vesta-milli", "--path", path, "--lease", "strict", "--identity", "pod-3") as server:
            ids = [line for line in redis(world, "VESTA.NEXT", "flags", "3").splitlines() if line.isdigit()]
            same(len(set(ids)), 3)
            held = workers(world, uri, "flags")
            same([(w["state"], w["identity"], w["lease_ms"]) for w in held], [("held", "pod-3", 15000)])
        same((server.returncode, workers(world, uri, "flags")[0]["state"]), (0, "free"))


@claim("imports of one date get a worker id each, and ids of their dates, on every kind of store")
def _(world):
    for kind, uri in served.stores(world).items():
        init(world, uri, "past")
        place, ids = ("--store", uri, "--namespace", "past"), set()
        for _ in range(3):
            got = world.run("range", "lease", *place, "--from", "2019-01-01", "--until", "2020-01-01", "--times", "-",
                            stdin="2019-01-01\n" * 2000 + "2019-12-31\n")
            same((kind, got.code, got.err), (kind, 0, ""))
            ids.update(got.out.splitlines())
        same((kind, len(ids)), (kind, 6003))
        same({(w["state"], w["until_ms"]) for w in workers(world, uri, "past")}, {("free", 1577750400000)})
        lease = json.loads(world.run("range", "lease", *place, "--from", "2020-01-01", "--until", "2020-02-01", "--json").out)
        same((kind, lease["others"]), (kind, 1023))
        same(world.run("range", "release", *place, "--unused", lease["lease"]).code, 0)
        same({w["until_ms"] for w in workers(world, uri, "past")}, {1577750400000, 1577836800000})


@claim("a server whose namespace is not in the store reports that, claims nothing, and continues when the namespace "
       "is created")
def _(world):
    for uri in (served.mysql_uri(), served.zk_uri()):
        same(world.run("store", "init", "--store", uri).code, 0)
        flags = ("--store", uri, "--namespace", "late", "--layout", "vesta-milli", "--path", world.path(uri[:2] + ".gen"), "--lease", "strict")
        with serving(world, *flags, until="waiting for a worker id") as server:
            assert "create it: vesta store init" in server.said, server.said
            if uri == served.zk_uri():  # The server repeats the message at increasing intervals.
                while server.said.count("waiting for a worker id") < 2:
                    server.said += server.stderr.readline()
                first, second = (seconds_of(line) for line in server.said.splitlines() if "waiting for a worker" in line)
                assert (second - first) % 86400 >= 3.9, server.said
            init(world, uri, "late")
            while "msg=ready" not in server.said:
                server.said += server.stderr.readline()
            same(len([line for line in redis(world, "GET", "late").splitlines() if line.isdigit()]), 1)


@claim("the secrets of a config reach the store, and appear in no file or log")
def _(world):
    init(world, served.mysql_uri(), "orders")
    init(world, served.zk_uri(), "orders")
    for kind, store, secret, uri in (("mysql", "uri = '%s', password = 's3cret'" % served.mysql_uri("vesta"), "s3cret", served.mysql_uri()),
                                     ("zk", "uri = '%s', auth = 'me:se/cret'" % served.zk_uri(""), "se/cret", served.zk_uri())):
        path = config(world, store, "lease = 'strict', identity = 'pod-9', path = '%s'" % world.path(kind + ".gen"))
        with serving(world, "-c", path) as server:
            same(len([line for line in redis(world, "GET", "orders").splitlines() if line.isdigit()]), 1)
            os.remove(path)
            same(holds(world.folder, secret), [])
            same([w["identity"] for w in workers(world, uri, "orders")], ["pod-9"])
        same(server.returncode, 0)
        assert secret not in server.said


@claim("the rock leases from a shared store, and writes its secret nowhere")
def _(world):
    build, root = os.path.dirname(VESTA), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    core = os.path.join(build, "lua", "5.4", "vesta", "core.so")
    if SLOW > 1 or not os.path.exists(core):
        print("# not with sanitizers, whose runtime the interpreter does not have")
        return
    os.makedirs(world.path("c", "vesta"))
    for name, to in (("core.so", core), ("store", os.path.join(build, "store"))):
        subprocess.run(["cp", "-r", to, world.path("c", "vesta", name)], check=True)
    env = environment(world.folder, LUA_PATH="%s/lua/?.lua;%s/lua/?/init.lua;;" % (root, root), LUA_CPATH=world.path("c", "?.so"))
    init(world, served.mysql_uri(), "rock")
    init(world, served.zk_uri(), "rock")
    for kind, uri, secret, owner in (("mysql", served.mysql_uri("vesta"), "s3cret", served.mysql_uri()), ("zk", served.zk_uri(""), "me:se/cret", served.zk_uri())):
        program = """local gen = assert(require "vesta".open { path = arg[1], store = arg[2], secret = io.read "l", namespace = "rock",
                       layout = "vesta-milli", lease = "strict", identity = "pod-1", wait_ms_max = 20000 })
                     print(assert(gen:next()))"""
        with open(world.path("x.lua"), "w") as file:
            file.write(program)
        done = subprocess.run(["lua5.4", world.path("x.lua"), world.path(kind + ".gen"), uri], input=secret + "\n", text=True, capture_output=True,
                              timeout=60, env=env)
        assert done.returncode == 0 and done.stdout.strip().isdigit(), done.stderr
        held, = workers(world, owner, "rock")
        same((held["state"], held["identity"], held["lease_ms"]), ("held", "pod-1", 15000))
        same(holds(world.folder, secret), [])


@claim("a wrong secret is reported in the database's words, without the secret")
def _(world):
    init(world, served.mysql_uri(), "wrong")
    init(world, served.zk_uri(), "wrong")
    for kind, store, part in (("mysql", "uri = '%s', password = 'wr0ng'" % served.mysql_uri("vesta"), "Access denied"),
                              ("zk", "uri = '%s', auth = 'me:wr0ng'" % served.zk_uri(""), "not authorized")):
        path = config(world, store, "lease = 'strict', path = '%s'" % world.path(kind + ".gen")).replace("orders", "wrong")
        with serving(world, "-c", path, until="waiting for a worker id") as server:
            pass
        assert part in server.said and "wr0ng" not in server.said, server.said


@claim("tls = verify never falls back to plain text, and tls = off connects without TLS")
def _(world):
    init(world, served.mysql_uri(), "orders")
    store = "uri = '%s', password = 's3cret', tls = " % served.mysql_uri("vesta")
    space = "lease = 'strict', path = '%s'"
    with serving(world, "-c", config(world, store + "'verify'", space % world.path("v.gen")), until="waiting for a worker id") as server:
        assert "SSL" in server.said or "TLS" in server.said, server.said
    with serving(world, "-c", config(world, store + "'off'", space % world.path("o.gen"))) as server:
        pass
    same(server.returncode, 0)
    zk = config(world, "uri = '%s', auth = 'me:x', tls = 'verify'" % served.zk_uri(""), "worker = 1")
    fails(world.run("serve", "-c", zk), 1, "stores.s.tls is verify, but libzookeeper-mt is built without TLS")


def own(world):
    return "--http", "off", "--resp", "unix:" + world.path("own.sock")


@claim("a secret for another kind of store is noted, and one that is too long is rejected without being printed")
def _(world):
    shown = world.run("check", config(world, "uri = 'file:%s', password = 's3cret', auth = 'a:s3cret'" % world.folder, "worker = 1")).out
    assert "stores.s.auth is for zk: stores" in shown and "stores.s.password is for mysql: or postgresql: stores" in shown and "s3cret" not in shown, shown
    done = world.run("serve", *own(world), "-c", config(world, "uri = '%s', auth = 'a:%s'" % (served.zk_uri(""), "x" * 600), "worker = 1"))
    fails(done, 2, "1 to 511 bytes")
    assert "xxx" not in done.err


@claim("an autonomous lease requires history pacing, a local lease requires a store on this machine, and an unknown "
       "lease is rejected")
def _(world):
    zk = ("--store", served.zk_uri(), "--path", world.path("x.gen"))
    for command in (("serve", *own(world)), ("gen",)):
        fails(world.run(*command, *zk, "--lease", "autonomous"), 2, "history pacing")
        fails(world.run(*command, *zk, "--lease", "local"), 2, "store on this machine")
        fails(world.run(*command, *zk, "--lease", "lax"), 2, "local, strict, balanced, autonomous")
        for identity in ("a\nb", "x" * 5000):
            fails(world.run(*command, *zk, "--identity", identity), 2, "identity")
    assert not os.path.exists(world.path("x.gen"))
    path = config(world, "uri = 'file:/x'", "worker = 1")
    for flag, text in (("--lease", "strict"), ("--identity", "a")):
        fails(world.run("serve", "-c", path, flag, text), 2, "namespaces.NAME" + flag.replace("--", "."))


@claim("a generator file whose URI had another password continues with the new one, and neither is printed")
def _(world):
    at = ("--namespace", "other", "--path", world.path("p.gen"), "--wait-ms", "1")
    world.run("gen", "--store", "zk://me:s3cret@127.0.0.1:1/v", *at)
    done = world.run("gen", "--store", "zk://me:0ther@127.0.0.1:1/v", *at)
    fails(done, 1, "no lease")
    assert "s3cret" not in done.err and "0ther" not in done.err


main()
