"""TERM ends a server within 5 s whatever its store does, and the last words are true: numbers that could not be given
back are named, and "all worker numbers are given back" is said only where they are."""
import os
import signal
import socket
import subprocess
import sys
import time

from serving import SLOW, Server, VESTA, claim, environment, main, same

HANGS_MS = 60000
PRELOADED = dict(ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
END_S = 5 + 3 * SLOW  # the promise, and what a busy machine takes to notice


def ended(process):
    """The exit code and the log, and that it took no longer than it may."""
    from_s = time.monotonic()
    process.send_signal(signal.SIGTERM)
    rest = process.stderr.read()
    code = process.wait(60)
    process.stderr.close()
    assert time.monotonic() - from_s < END_S, (time.monotonic() - from_s, rest)
    return code, rest


@claim("a database that another process holds locked: it ends, names the number that was not given back, and ends with 1")
def _(world):
    path = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + path, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    server = Server(world, "--store", "sqlite:" + path, "--namespace", "orders", "--layout", "vesta-milli")
    server.__enter__()
    holder = subprocess.Popen([sys.executable, "-c", "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)\n"
                               "c.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()\n", path],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        same(holder.stdout.readline(), "held\n")
        code, rest = ended(server.process)
    finally:
        holder.communicate()
    if "all worker numbers are given back" in rest:  # then it is true
        shown = world.run("workers", "--store", "sqlite:" + path, "--namespace", "orders", "--json").out
        assert '"state":"held"' not in shown, shown
    else:
        same(code, 1)
        assert "the worker number of 'orders' was not given back: " in rest, rest


@claim("a store that accepts and never answers, while the start waits for it: nothing is held, and it ends with 0 or says what hangs")
def _(world):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = "zk://127.0.0.1:%d/vesta" % silent.getsockname()[1]
        for store in uri, uri.replace("zk://", "mysql://u:p@").replace("/vesta", "/vesta?tls=off"):
            process = subprocess.Popen([VESTA, "serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--store", store, "--path", world.path(store[:2] + ".gen")],
                                       cwd=world.folder, env=environment(world.folder), stderr=subprocess.PIPE, text=True)
            while "serving the Redis protocol" not in process.stderr.readline():
                assert process.poll() is None
            time.sleep(1)  # it is inside a call by then, or will be
            code, rest = ended(process)
            assert code == 0 and "given back" in rest or code == 1 and "still hangs" in rest, (code, rest)


def hang(world, ms):
    """Each sync of the disk takes so long, from now on."""
    path = world.path("slow")
    with open(path + ".new", "w") as file:
        file.write(str(ms))
    os.rename(path + ".new", path)


@claim("a disk whose sync hangs, before the first lease or under a held one: a server ends and names what it could not give back, gen ends")
def _(world):
    shim = os.path.join(os.path.dirname(os.path.abspath(VESTA)), "slow_disk.so")
    for kind, is_held in (("file", False), ("file", True), ("sqlite", True)):
        hang(world, 0 if is_held else HANGS_MS)
        name = "%s%d" % (kind, is_held)
        os.mkdir(world.path(name))
        env = environment(world.path(name), LD_PRELOAD=shim, SLOW_DISK=world.path("slow"), **PRELOADED)
        words = ["--store", "%s:%s" % (kind, world.path(name + "/store")), "--worker", "5", "--layout", "vesta-milli"]
        server = subprocess.Popen([VESTA, "serve", "--http", "off", "--resp", "unix:" + world.path(name + ".sock"), *words],
                                  cwd=world.path(name), env=env, stderr=subprocess.PIPE, text=True)
        while ("msg=ready" if is_held else "serving the Redis protocol") not in server.stderr.readline():
            assert server.poll() is None
        hang(world, HANGS_MS)
        time.sleep(1 if is_held else 2)
        code, rest = ended(server)
        assert code == 1 and "still hangs" in rest, (code, rest)
        same("the worker number of 'default' was not given back: " in rest, is_held)
        gen = subprocess.Popen([VESTA, "gen", "-n", "5", *words, "--path", world.path(name + "gen.gen"), "--wait-ms", "60000"],
                               cwd=world.folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(1)
        assert gen.poll() is None
        same(ended(gen)[0], -signal.SIGTERM)


TWO = """return { namespaces = { default = { worker = 5, store = "file:%s", path = "%s" }, orders = { worker = 6, store = "file:%s", path = "%s" } },
  http = { listen = "off" }, resp = { listen = "unix:%s" } }"""


@claim("a disk that hangs under one namespace, as it is opened or as it is served: the number of the other one is given back")
def _(world):
    shim = os.path.join(os.path.dirname(os.path.abspath(VESTA)), "slow_disk.so")
    for is_held in False, True:
        folder = world.path("held%d" % is_held)
        well, sick = os.path.join(folder, "well"), os.path.join(folder, "sick")
        for name in folder, well, sick:
            os.mkdir(name)
        with open(os.path.join(folder, "vesta.lua"), "w") as file:
            file.write(TWO % (well + "/store", well + "/a.gen", sick + "/store", sick + "/b.gen", folder + "/s"))
        hang(world, 0 if is_held else HANGS_MS)
        env = environment(folder, LD_PRELOAD=shim, SLOW_DISK=world.path("slow"), SLOW_DISK_BELOW=sick, **PRELOADED)
        server = subprocess.Popen([VESTA, "serve", "-c", "vesta.lua"], cwd=folder, env=env, stderr=subprocess.PIPE, text=True)
        while ("msg=ready" if is_held else 'msg="serving ids" namespace=default') not in server.stderr.readline():
            assert server.poll() is None
        hang(world, HANGS_MS)
        time.sleep(1)
        code, rest = ended(server)
        assert code == 1 and "still hangs" in rest and "of 'default' was not given back" not in rest, (code, rest)
        same("the worker number of 'orders' was not given back: " in rest, is_held)
        shown = world.run("workers", "--store", "file:%s/store" % well, "--namespace", "default", "--json").out
        assert '"worker":5,"state":"free"' in shown, shown


main()
