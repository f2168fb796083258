"""Signals, health, the admin's routes and all ready namespaces are served from the start. A namespace with an
unreachable store harms no other, is reported, and is served when its store is back."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

from serving import Configured, VESTA, claim, command, environment, fails, main, same, until_closed, write

CONFIG = """return {
  stores = { away = { uri = "%s" } },
  namespaces = {
    default = { worker = 5 },
    orders = { %s },
  },
  admin = { listen = "unix:%s" },
  %s
}"""


class Half(Configured):
    """A server whose second namespace has an unreachable store. It is started when it listens."""

    def __init__(self, world, uri, more="", orders='store = "away", layout = "vesta-milli"', **kw):
        super().__init__(world, CONFIG % (uri, orders, world.path("admin.sock"), more), **kw)

    def __enter__(self):
        self.process = subprocess.Popen(self.args, cwd=self.world.folder, env=self.env, stderr=subprocess.PIPE, text=True)
        self.said = ""
        self.await_http()
        return self

    def admin(self, line):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(10)
            sock.connect(self.world.path("admin.sock"))
            sock.sendall(b"%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % line)
            return until_closed(sock)


def locked(world):
    """Locks a new database. Returns its URI and the process that holds the lock."""
    path = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + path, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    holder = subprocess.Popen([sys.executable, "-c", "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                               "c.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\nsys.stdin.read()\n", path],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    same(holder.stdout.readline(), "held\n")
    return "sqlite:" + path, holder


def soon(what, seconds=30):
    until = time.monotonic() + seconds * 3
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("not so after %d s" % (seconds * 3))


def nowhere():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return "zk://127.0.0.1:%d/vesta" % sock.getsockname()[1]


@claim("while one store is unreachable, others are served, health and admin answer, errors have the reason, and "
       "SIGTERM ends with 0")
def _(world):
    with Half(world, nowhere()) as server:
        soon(lambda: server.get("/genid").status == 200)
        same(server.get("/healthz").status, 200)
        reply = server.get("/readyz")
        same((reply.status, [reason["namespace"] for reason in json.loads(reply.body)["reasons"]]), (503, ["orders"]))
        asked = server.get("/api/snowflake/get/orders")
        same(asked.status, 503)
        assert server.redis("GET", "orders").startswith(b"-LOADING "), server.redis("GET", "orders")
        assert server.redis("GET", "default").startswith(b"$"), "the healthy one"
        status = server.admin(b"GET /admin/status")
        spaces = {space["name"]: space for space in json.loads(status.partition(b"\r\n\r\n")[2])["namespaces"]}
        same((spaces["default"]["ready"], spaces["orders"]["ready"]), (True, False))
        from_s = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(15)
        assert time.monotonic() - from_s < 8, "TERM is to end it"


@claim("a namespace is served without a restart when its store is back, and the server never gives up by itself")
def _(world):
    uri, holder = locked(world)
    with Half(world, uri) as server:
        soon(lambda: server.get("/genid").status == 200)
        same(server.get("/readyz").status, 503)
        holder.communicate()
        soon(lambda: server.redis("GET", "orders").startswith(b"$"))
        same(server.get("/readyz").status, 200)
        server.heard("ready")


@claim("--start-wait-ms, and start_wait_ms_max in a config, end a longer start, with the reason")
def _(world):
    flags = ("serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--store", nowhere(), "--start-wait-ms", "1500")
    fails(world.run(*flags), 1, "default: no worker id within 1500 ms (--start-wait-ms)", "127.0.0.1")
    os.rename(world.path("state"), world.path("unused"))  # The server with flags drew a worker id for its file.
    config = write(world, CONFIG % (nowhere(), 'store = "away"', world.path("admin.sock"), "start_wait_ms_max = 1500, http = { listen = 'off' }, resp = { listen = 'unix:%s' }" % world.path("r")))
    fails(world.run("serve", "-c", config), 1, "orders: no worker id within 1500 ms")


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        found = file.read().split()
    return int(found[0]) if found else None


@claim("as process 1 of a container, which has no default signal actions, the server ends on SIGTERM and SIGINT while "
       "it waits for a store")
def _(world):
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode != 0:
        print("# not where namespaces of processes cannot be made")
        return
    for number in signal.SIGTERM, signal.SIGINT:
        args = ["unshare", "-pf", "--mount-proc", VESTA, "serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--store", nowhere()]
        process = subprocess.Popen(args, cwd=world.folder, env=environment(world.folder), stderr=subprocess.PIPE, text=True)
        while "serving the Redis protocol" not in process.stderr.readline():
            pass
        os.kill(child_of(process.pid), number)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.kill(child_of(process.pid), signal.SIGKILL)
            process.wait()
            raise
        finally:
            process.stderr.close()


@claim("READY is sent after 10 s even if a namespace still waits, and a permanent failure affects only that namespace")
def _(world):
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(world.path("notify"))
    notify.settimeout(60)
    same(world.run("gen", "--namespace", "orders", "--layout", "snowflake", "--worker", "7", "--path", world.path("other.gen"),
                   "--store", "file:" + world.path("other")).code, 0)
    with open(world.path("wall"), "w"):
        pass  # The store expects a folder here.
    orders = "path = '%s', layout = 'vesta-milli'" % world.path("wall", "orders.gen")
    with Half(world, nowhere(), env={"NOTIFY_SOCKET": world.path("notify")}, orders=orders) as server:
        notice = notify.recv(4096).decode()
        while "READY=1" not in notice:
            notice = notify.recv(4096).decode()
        assert "1 of 2 namespaces wait" in notice, notice
        assert server.redis("GET", "orders").startswith(b"-LOADING 'orders' is not open yet: "), server.redis("GET", "orders")
        os.mkdir(world.path("folder"))
        os.rename(world.path("other.gen"), world.path("folder", "orders.gen"))
        os.remove(world.path("wall"))
        os.rename(world.path("folder"), world.path("wall"))
        reply = soon(lambda: [r for r in [server.get("/api/snowflake/get/orders")] if "is not served" in r.body])[0]
        same(reply.status, 503)
        assert "was created with layout" in reply.body, reply.body
        assert server.redis("GET", "orders").startswith(b"-ERR 'orders' is not served: "), server.redis("GET", "orders")
        assert "not_open" in server.get("/readyz").body
        same(server.get("/genid").status, 200)
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(15), 0)
        server.process.stderr.read()


main()
