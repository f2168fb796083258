"""many.py -- one server with many namespaces, some of them with stores that accept connections but never answer.
VESTA_MANY and VESTA_MANY_AWAY set the numbers. The costs are printed."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from harness import claim, main, same
from serving import Configured

MANY = int(os.environ.get("VESTA_MANY", "400"))
AWAY = int(os.environ.get("VESTA_MANY_AWAY", "10"))
REST_S = int(os.environ.get("VESTA_MANY_REST_S", "0"))
TOLD = 64
BATCH = 100

CONFIG = """
local namespaces = {}
for i = 1, %(present)d do
  namespaces["here" .. i] = { path = "%(folder)s/here" .. i, store = "file:%(folder)s/store" .. i %% 4 }
end
for i = 1, %(away)d do
  namespaces["gone" .. i] = { path = "%(folder)s/gone" .. i, store = "mysql://u@127.0.0.1:%(port)d/db" .. i, wait_ms_max = 0 }
end
return { namespaces = namespaces, connections_max = 100, admin = { listen = "unix:%(folder)s/admin" } }
"""


class Many(Configured):
    def __init__(self, world, folder, port, **kw):
        super().__init__(world, CONFIG % {"present": MANY - AWAY, "away": AWAY, "folder": folder, "port": port}, **kw)

    def __enter__(self):
        self.began = time.monotonic()
        self.log = open(self.world.path("log"), "w+")
        self.process = subprocess.Popen(self.args, cwd=self.world.folder, env=self.env, stderr=self.log)
        self.await_http()
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.seek(0)
        if kind:
            print(self.log.read()[-4000:])
        self.log.close()

    def unready(self):
        return int(re.search(r"\nvesta_namespaces_unready (\d+)\n", self.get("/metrics").body).group(1))

    def status(self, what):
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"\n%s:\s+(\d+)" % what, file.read()).group(1))

    def cpu_s(self):
        with open("/proc/%d/stat" % self.process.pid) as file:
            return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Deaf:
    def __enter__(self):
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.folder = tempfile.mkdtemp(prefix="vesta-many-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        return self.folder, self.sock.getsockname()[1]

    def __exit__(self, *_):
        self.sock.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def ids_of(server, names):
    return re.findall(rb"\$\d+\r\n(\d+)\r\n", server.redis("MGET", *names))


def told(name, value):
    print("# %s: %s" % (name, value))


def cost(server):
    if not REST_S:
        return
    time.sleep(REST_S)  # Every worker id is claimed, and now the server is idle.
    before = server.cpu_s()
    time.sleep(REST_S)
    told("at rest", "%.2f %% of a core" % ((server.cpu_s() - before) / REST_S * 100))
    told("memory each", "%.1f KiB, and %.1f KiB of maps" % (server.status("RssAnon") / MANY, server.status("RssShmem") / MANY))


@claim("with %d namespaces, %d of them with stores that never answer, all others issue ids, the log is short, and the "
       "end is in time"
       % (MANY, AWAY))
def _(world):
    with Deaf() as (folder, port), Many(world, folder, port) as server:
        while server.unready() > AWAY:
            assert time.monotonic() - server.began < 120, server.unready()
            time.sleep(0.05)
        told("ready", "%.2f ms each" % ((time.monotonic() - server.began) * 1000 / MANY))
        here = ["here%d" % i for i in range(1, MANY - AWAY + 1)]
        given = [one for i in range(0, len(here), BATCH) for one in ids_of(server, here[i:i + BATCH])]
        same(len(given), len(here))
        assert server.redis("GET", "gone1").startswith(b"-"), server.redis("GET", "gone1")
        assert server.redis("GET", "here1x").startswith(b"-ERR unknown name"), server.redis("GET", "here1x")

        same(server.unready(), AWAY)
        metrics = server.get("/metrics").body
        assert "\nvesta_namespaces %d\n" % MANY in metrics
        same(len(re.findall(r"\nvesta_ready\{", metrics)), TOLD)
        issued = re.findall(r'\nvesta_ids_issued_total\{namespace="([^"]*)",proto="resp"\} (\d+)', metrics)
        same((len(issued), sum(int(n) for _, n in issued)), (TOLD + 1, len(given)))
        ready = json.loads(server.get("/readyz").body)
        same(len(ready["reasons"]) + ready.get("more_namespaces", 0), AWAY)
        assert all(reason["namespace"].startswith("gone") for reason in ready["reasons"])
        top = world.run("top", "--once", "--admin", "unix:%s/admin" % folder).out
        assert "and %d more, " % (MANY - TOLD) in top and "%d of %d namespaces" % (MANY - AWAY, MANY) in top, top[-2000:]
        told("threads", server.status("Threads"))
        assert server.status("Threads") < 40 + MANY // 64 + 8 * AWAY, server.status("Threads")
        cost(server)

        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(30)
        told("ended", "after %.2f s, with %d" % (time.monotonic() - began, code))
        server.log.seek(0)
        said = server.log.read()
        assert not re.search("number of 'here", said), said[-3000:]


@claim("the server does not start with too few descriptors for its namespaces, and reports how many it needs")
def _(world):
    with Deaf() as (folder, port):
        server = Configured(world, CONFIG % {"present": 300, "away": 1, "folder": folder, "port": port})
        done = world.shell("ulimit -n 350; exec " + " ".join(server.args))
        same(done.code, 1)
        assert re.search(r"350 file descriptors are too few: \d+ are reserved for .*, 301 of them for namespaces,", done.err), done.err


if __name__ == "__main__":
    main()
