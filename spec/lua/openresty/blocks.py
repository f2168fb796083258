"""blocks.py -- helpers of client_test.py: an nginx with the cosocket client, its load, and failing servers and connections."""
import glob
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

from between import Between
from serving import Server, free_port, same

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HERE = os.path.join(REPO, "spec", "lua", "openresty")

RUN = """
        location = /run {
            client_body_buffer_size 64k;
            content_by_lua_block {
                ngx.req.read_body()
                local run = assert(loadstring(ngx.req.get_body_data()))
                local function tell(ok, ...)
                    for i = 1, select("#", ...) do ngx.say(tostring((select(i, ...)))) end
                    if not ok then ngx.status = 500 end
                end
                tell(pcall(run))
            }
        }
        location = /phases {
            set_by_lua_block $early { return (require "ids":next()) }
            content_by_lua_block { ngx.header.early = ngx.var.early; ngx.say "x" }
            header_filter_by_lua_block { ngx.header.late = require "ids":next() }
            log_by_lua_block { ngx.log(ngx.WARN, "logged ", (require "ids":next())) }
        }
        location = /cold {
            content_by_lua_block { ngx.say "x" }
            header_filter_by_lua_block {
                local id, message, code, wait_s = require "cold":next()
                ngx.header.cold = tostring(id) .. " " .. code .. " " .. wait_s
            }
        }
"""


class Nginx:
    """One nginx from the example's configuration, in a folder of its own."""

    def __init__(self, world, ports, workers=1, options="", http="", init="", said="no such words"):
        self.prefix = world.path("nginx")
        os.chmod(world.folder, 0o755)
        os.makedirs(self.prefix + "/logs")
        os.makedirs(self.prefix + "/lua/vesta/resty")
        for name in "client.lua", "access.lua":
            shutil.copy(os.path.join(REPO, "lua/vesta/resty", name), self.prefix + "/lua/vesta/resty/")
        self.port, self.may_say = free_port(), said
        servers = ", ".join('"127.0.0.1:%d"' % port for port in ports)
        conf = open(os.path.join(REPO, "examples/openresty/client.conf")).read()
        for old, new in (("8080", str(self.port)), ('"127.0.0.1:8089", "127.0.0.1:8099"', servers),
                         ("worker_processes 2", "worker_processes %d" % workers),
                         ("/usr/local/share/lua/5.1", self.prefix + "/lua"), ("        location = /genids", RUN + "        location = /genids"),
                         ("            wait = 2000, ", "            %s wait = 2000, " % options),
                         ("    access_log off;\n", "    access_log off;\n    %s\n" % http),
                         ("    }\n\n    # Fetches the first", "        %s\n    }\n\n    # Fetches the first" % init)):
            assert old in conf, old
            conf = conf.replace(old, new)
        if os.geteuid() != 0:
            conf = conf.replace("user www-data;", "")
        self.conf = os.path.join(self.prefix, "nginx.conf")
        with open(self.conf, "w") as file:
            file.write(conf)

    def __enter__(self):
        with open(self.prefix + "/said", "w") as out:
            # Freed memory is overwritten, so that a use after free is noticed.
            environment = dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin", MALLOC_PERTURB_="90")
            self.process = subprocess.Popen(["nginx", "-p", self.prefix, "-c", self.conf, "-g", "daemon off;"], stdout=out,
                                            stderr=out, env=environment)
        for _ in range(1000):
            assert self.process.poll() is None, open(self.prefix + "/said").read()
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.01)
        raise AssertionError("nginx does not listen")

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGQUIT)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            for pid in self.workers() + [self.process.pid]:
                os.kill(pid, signal.SIGKILL)
            code = self.process.wait()
        if kind is None:
            same(code, 0)
            wrong = [line for line in self.log().splitlines() if re.search(r"exited on signal|emerg|lua entry thread|\[alert\]", line)
                     and not re.search(self.may_say, line)]
            same(wrong, [])
        else:
            print(self.log()[-3000:])

    def ask(self, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST" if body else "GET", path, body=body)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def run(self, lua):
        """Runs Lua code in nginx and returns its results, or fails with its error."""
        answer = self.ask("/run", lua)
        same((answer.status, answer.text), (200, answer.text))
        return answer.text.splitlines()

    def workers(self):
        return [int(pid) for pid in open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)).read().split()]

    def log(self):
        return open(self.prefix + "/logs/error.log").read()


class Load:
    """Runs wrk in the background, which writes the replies into files."""

    def __init__(self, world, nginx, seconds, name="load"):
        self.base = world.path(name)
        self.process = subprocess.Popen(
            ["wrk", "-t2", "-c24", "-d%ds" % seconds, "-s", os.path.join(HERE, "collect.lua"),
             "http://127.0.0.1:%d/genid" % nginx.port, "--", self.base], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    def lines(self):
        self.process.wait(60)
        return [line for path in glob.glob(self.base + ".[0-9]") for line in open(path).read().split("\n") if line]


def count(lines, seen, least=500):
    """Checks that the ids in these lines were not seen before.  Returns the lines that are not ids."""
    ids = [line for line in lines if line.isdigit()]
    odd = [line for line in lines if not line.isdigit()]
    assert len(ids) >= least, "%d ids, %r" % (len(ids), odd[:3])
    assert len(set(ids)) == len(ids) and not seen & set(ids), "%d of %d came twice" % (
        len(ids) - len(set(ids) - seen), len(ids))
    seen |= set(ids)
    return odd


def second(world):
    """Makes another server of the same namespace, with its own worker id and state."""
    server = Server(world, "--path", world.path("second.gen"))
    server.args[server.args.index("--worker") + 1] = "6"
    return server


def log_with(nginx, part):
    for _ in range(1000):
        if part in nginx.log():
            return nginx.log()
        time.sleep(0.01)
    raise AssertionError("%r is not in the log" % part)


class Proxy(Between):
    """A proxy between nginx and a server.  `way` is the fault of the next `turns` replies, and later replies pass."""

    def __init__(self, target):
        self.way, self.turns, self.met_count = "pass", 0, 0
        super().__init__(target)

    def fail(self, way, turns=1):
        self.way, self.turns = way, turns

    def met(self, client, server):
        self.met_count += 1
        self.in_background(self.requests, client, server)
        self.in_background(self.replies, client, server)

    def requests(self, client, server):
        pass_on(client, server)
        server.close()

    def replies(self, client, server):
        try:
            while data := server.recv(65536):
                if self.turns > 0:
                    self.turns -= 1
                    if not self.spoil(client, data):
                        break
                else:
                    client.sendall(data)
        except OSError:
            pass
        client.close()

    def spoil(self, client, data):
        """Returns whether the connection stays open."""
        if self.way in ("half", "half and nothing more"):
            client.sendall(data[:len(data) // 2])
            if self.way == "half":
                return False
            time.sleep(2)
        elif self.way == "late":
            time.sleep(0.8)
            client.sendall(data)
        elif self.way == "a byte at a time":
            for i in range(len(data)):
                client.sendall(data[i:i + 1])
                time.sleep(0.05)
        else:
            client.sendall({"nothing": b"", "twice": data + data, "another": data.replace(b"default", b"defaulu"),
                            "numberless": data.replace(b"count", b"COUNT"), "noise": bytes(range(256)) * 64,
                            "endless": b"+" + b"x" * 100000, "no kind": data.replace(b"ticks", b"tacks"),
                            "deep": b"*1\r\n" * 3000, "huge": b"*999999999\r\n", "negative": b"$-5\r\n",
                            "integer": b":5\r\n"}[self.way])
            return self.way != "nothing"
        return True


WAYS = ["half", "half and nothing more", "late", "a byte at a time", "nothing", "twice", "another", "numberless", "noise",
        "endless", "no kind", "deep", "huge", "negative", "integer"]


def pass_on(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass


class Fake:
    """A server with the same reply to every request."""

    def __init__(self, reply=b""):
        self.reply = reply
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, client):
        while client.recv(65536):
            client.sendall(self.reply)


def block(kind, shifts, base, first, size, stride):
    words = ["ns", "default", "kind", kind, "first", str(first), "count", int(size)]
    if kind == "numbers":
        words += ["stride", int(stride)]
    else:
        words += ["base", base]
        for name, value in zip(("seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift"), shifts):
            words += [name, int(value)]
    return b"*%d\r\n" % len(words) + b"".join(b":%d\r\n" % w if isinstance(w, int) else b"$%d\r\n%s\r\n" % (len(w), w.encode())
                                             for w in words)


class BlackHole:
    """An address with a full queue, where connections are neither accepted nor rejected."""

    def __init__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.queue = []
        for _ in range(4):
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", self.port))
            self.queue.append(waiting)
