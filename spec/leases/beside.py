"""beside.py -- nginx workers use a shared file, and `vesta serve --path` keeps its lease in ZooKeeper.  The test
restarts the server, then kills it, and checks how long ids continue and what the workers report.  The rock has its
ZooKeeper module, but no worker uses it.  beside.py ISSUER VESTA zk
"""
import glob
import http.client
import os
import signal
import subprocess
import threading
import time

from world import VESTA, Schedule, Zoo, now_ms, told
from servers import claim, free_port, has, main, until

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.dirname(VESTA)
WINDOW_S = 5  # preset strict
place = Zoo().begin()

CONF = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; worker_processes 2; error_log logs/error.log warn; pid logs/nginx.pid; %(user)s
events { worker_connections 256; }
http {
    access_log off; client_body_temp_path logs/a; proxy_temp_path logs/b; fastcgi_temp_path logs/c; uwsgi_temp_path logs/d;
    scgi_temp_path logs/e;
    lua_package_path "%(repo)s/lua/?.lua;%(repo)s/lua/?/init.lua;;";
    lua_package_cpath "%(build)s/lua/5.1/?.so;;";
    init_by_lua_block { package.loaded.ids = assert(require "vesta".open { path = "%(path)s" }) }
    init_worker_by_lua_block { assert(require "vesta.resty".keep(require "ids")) }
    server {
        listen 127.0.0.1:%(port)d;
        location = /id {
            content_by_lua_block {
                local id, message, code = require "ids":next()
                if not id then ngx.status = 503 end
                ngx.print(id or code .. ": " .. message)
            }
        }
        location = /release {
            content_by_lua_block {
                local done, message, code = require "ids":release()
                ngx.print(done and "released" or code .. ": " .. message)
            }
        }
    }
}
"""


class Nginx:
    def __init__(self, s):
        self.port = free_port()
        prefix = s.path("nginx")
        os.makedirs(os.path.join(prefix, "logs"))
        with open(os.path.join(prefix, "nginx.conf"), "w") as file:
            file.write(CONF % {"repo": REPO, "build": BUILD, "path": s.path("w.gen"), "port": self.port,
                               "user": "user root;" if os.geteuid() == 0 else ""})
        nginx = (glob.glob("/usr/sbin/nginx") + ["nginx"])[0]
        self.process = subprocess.Popen([nginx, "-p", prefix, "-c", os.path.join(prefix, "nginx.conf")],
                                        stdin=subprocess.DEVNULL, stderr=open(os.path.join(prefix, "said"), "w"))

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def pids(self):
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as children:
            workers = [int(pid) for pid in children.read().split()]
        assert len(workers) == 2, workers
        return [self.process.pid, *workers]

    def stop(self):
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(20)


def links_to(pid, ports):
    """Counts the connections of a process to one of these ports, in any state."""
    sockets = set()
    for fd in glob.glob("/proc/%d/fd/*" % pid):
        try:
            sockets.add(os.readlink(fd))
        except FileNotFoundError:
            pass  # closed since
    with open("/proc/%d/net/tcp" % pid) as table:
        rows = [line.split() for line in table][1:]
    return sum(1 for row in rows if int(row[2].split(":")[1], 16) in ports and "socket:[%s]" % row[9] in sockets)


def keeps_nothing(nginx, s):
    """Checks that no nginx process has a vesta thread, ZooKeeper's client library, or a connection to ZooKeeper."""
    for pid in nginx.pids():
        with open("/proc/%d/maps" % pid) as file:
            maps = file.read()
        found = (links_to(pid, (s.place.port, s.place.proxy.port)), len(os.listdir("/proc/%d/task" % pid)),
                 "/vesta/core.so" in maps, "/zk.so" in maps)
        assert found == (0, 1, True, False), "connections, threads, vesta, its ZooKeeper: %r" % (found,)


class Asker:
    """A client that requests ids continuously.  It keeps its responses and their times."""

    def __init__(self, port, out):
        self.port, self.out, self.stop, self.answers = port, out, False, []
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def ask(self):
        with open(self.out, "w") as file:
            while not self.stop:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
                try:
                    connection.request("GET", "/id")
                    answer = connection.getresponse()
                    text = answer.read().decode()
                    self.answers.append((now_ms(), answer.status, text))
                    if answer.status == 200:
                        file.write(text + "\n")
                except OSError:
                    pass
                finally:
                    connection.close()
                time.sleep(0.002)

    def first(self, status, since_ms):
        return until(lambda: next((a for a in list(self.answers) if a[0] >= since_ms and a[1] == status), None),
                     "an answer %d; last %r" % (status, self.answers[-1:]))

    def refused_between(self, from_ms, to_ms):
        return sum(1 for at, status, _ in list(self.answers) if from_ms <= at <= to_ms and status != 200)


class Host:
    def __init__(self, s):
        self.port = free_port()
        self.process = subprocess.Popen(
            [VESTA, "serve", "--http", "127.0.0.1:%d" % self.port, "--resp", "off", "--path", s.path("w.gen"), "--store", s.place.uri(),
             "--namespace", s.ns, "--lease", s.lease, "--layout", s.layout, "--log-file", s.path("host.log")], stdin=subprocess.DEVNULL)

    def get(self, path="/genid"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, ""
        finally:
            connection.close()

    def ready(self):
        until(lambda: self.get()[0] == 200, "the server issues ids")
        return self

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
            self.process.wait(30)


@claim("workers issue ids while the server keeps their lease: its restart goes unnoticed, and its death ends ids after the window")
def _():
    assert os.access(os.path.join(BUILD, "lua", "5.1", "vesta", "store", "zk.so"), os.R_OK)
    with Schedule(place) as s:
        host = Host(s).ready()
        assert links_to(host.process.pid, (s.place.proxy.port,)) == 1  # this check would also detect a connection of nginx
        nginx = Nginx(s)
        asker = Asker(nginx.port, s.path("asked"))
        s.out_files.append(asker.out)
        try:
            begun = asker.first(200, 0)[0]
            for _ in range(3):
                host.stop()
                host = Host(s).ready()
                time.sleep(2)
            told("three restarts of the host: %d of %d requests refused", asker.refused_between(begun, now_ms()), len(asker.answers))
            restarts = asker.refused_between(begun, now_ms())
            keeps_nothing(nginx, s)
            killed = now_ms()
            host.stop(signal.SIGKILL)
            over = asker.first(503, killed)
            told("host killed: ids for %.1f s, then 503: %s", (over[0] - killed) / 1000, over[2])
            time.sleep(3)
            last = asker.answers[-1]
            assert last[1] == 503, last
            has(last[2], "lease: no lease", "A server must keep this file: vesta serve --path " + s.path("w.gen"))
            has(nginx.get("/release"), "bad_option: another process keeps this file's lease")
            keeps_nothing(nginx, s)
            back = now_ms()
            host = Host(s)
            again = asker.first(200, back)
            told("host started again: ids after %.1f s", (again[0] - back) / 1000)
            time.sleep(1)
            keeps_nothing(nginx, s)
            assert restarts == 0, restarts
        finally:
            asker.stop = True
            asker.thread.join()
            nginx.stop()
            host.stop()


main()
