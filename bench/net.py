"""net.py -- the rows over loopback: our server, nginx and redis-server side by side, loaded in turn by the same client.

Servers are started for a row on ports of their own, in a folder of their own, and ended with it.  Processor time is the
kernel's (schedstat, nanoseconds) of the serving process, over the requests of that piece.
"""
import os
import re
import resource
import socket
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONSTANT = "2319542600899494910"
CLIENTS_HTTP, CLIENTS_RESP = 64, 50
COUNTED = 200_000
NGINX_MODULES = Path("/usr/lib/nginx/modules")

NGINX_CONF = """
{modules}
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log warn;
events {{ worker_connections 1024; }}
http {{
    access_log off; keepalive_requests 100000000; default_type text/plain;
    {http}
    server {{ listen 127.0.0.1:{port}; {locations} }}
}}
"""
NGINX_RETURN = 'location = /genid { return 200 "%s"; }' % CONSTANT
NGINX_LUA_HTTP = """
    lua_package_path "{root}/lua/?.lua;{root}/lua/?/init.lua;;";
    lua_package_cpath "{build}/lua/5.1/?.so;;";
    init_by_lua_block {{ package.loaded.ids = assert(require "vesta".open {{ path = "{gen}", wait_ms_max = 1000 }}) }}
    init_worker_by_lua_block {{ require "vesta.resty".keep(require "ids") }}
"""
NGINX_LUA_LOCATIONS = """
    location = /constant { content_by_lua_block { ngx.print("%s") } }
    location = /id { content_by_lua_block {
        local vesta = require "vesta"
        ngx.print((require "ids":next()))
    } }
""" % CONSTANT

NGINX_CLIENT_HTTP = """
    lua_package_path "{root}/lua/?.lua;;";
    init_by_lua_block {{
        package.loaded.ids = require "vesta.resty.client".new {{ servers = {{ "127.0.0.1:{port}" }}, name = "default" }}
    }}
"""
NGINX_CLIENT_LOCATIONS = """
    location = /constant { content_by_lua_block { ngx.print("%s") } }
    location = /id { content_by_lua_block { ngx.print((require "ids":next())) } }
""" % CONSTANT


class Missing(Exception):
    """A program that a row needs is not on this machine."""


def need(program, package):
    if not any(os.access(os.path.join(d, program), os.X_OK) for d in os.environ["PATH"].split(":") + ["/usr/sbin"]):
        raise Missing(f"{program} is not here (Debian: {package})")


# ---------------------------------------------------------------- servers

class Server:
    """A process that listens on a port; `with` ends it."""

    def __init__(self, port, command, log, env=None):
        self.port = port
        with open(log, "ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env={**os.environ, **(env or {})})
        self._wait(log)

    def _wait(self, log):
        for _ in range(500):
            if self.process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        self.process.kill()
        raise RuntimeError(f"{self.process.args[0]} did not start: {Path(log).read_text()[-400:]}")

    def serving_pid(self):
        """nginx serves in a child."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else pid

    def cpu_ns(self):
        total = 0
        for task in Path(f"/proc/{self.serving_pid()}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0])
        return total

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def nginx(folder, port, locations, http="", lua=False):
    need("nginx", "nginx")
    modules = ""
    if lua:
        if not (NGINX_MODULES / "ngx_http_lua_module.so").exists():
            raise Missing("nginx's Lua module is not here (Debian: libnginx-mod-http-lua)")
        modules = "".join(f"load_module {NGINX_MODULES}/{m}_module.so;\n" for m in ("ndk_http", "ngx_http_lua"))
    conf = folder / f"nginx.{port}.conf"
    conf.write_text(NGINX_CONF.format(modules=modules, dir=folder, port=port, http=http, locations=locations))
    return Server(port, ["nginx", "-e", f"{folder}/error.log", "-p", str(folder), "-c", str(conf)], folder / "nginx.log")


def vesta(build, folder, gen, port, face, *flags):
    off = {"http": "resp", "resp": "http"}[face]
    command = [str(build / "vesta"), "serve", "--path", gen, f"--{face}", f"127.0.0.1:{port}", f"--{off}", "off", *flags]
    return Server(port, command, folder / "vesta.log", {"VESTA_STATE": str(folder)})


def redis(folder, port):
    need("redis-server", "redis-server")
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir",
               str(folder)]
    return Server(port, command, folder / "redis.log")


# ---------------------------------------------------------------- clients

def measured(server, load):
    """Requests a second, server microseconds a request, and the part of a core that the client had, of one load."""
    before, client, begin = server.cpu_ns(), children_s(), time.monotonic()
    per_second, requests = load()
    return {"per_second": per_second, "cpu_us": (server.cpu_ns() - before) / 1000 / requests,
            "client": (children_s() - client) / (time.monotonic() - begin)}


def children_s():
    """Processor time of the clients that have ended; servers have not."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wrk(server, path, seconds, *options):
    def load():
        out = subprocess.run(["wrk", "-t1", f"-c{CLIENTS_HTTP}", f"-d{seconds}s", *options,
                              f"http://127.0.0.1:{server.port}{path}"], capture_output=True, text=True, timeout=60, check=True).stdout
        if "Non-2xx" in out or "Socket errors" in out:
            raise RuntimeError(f"wrk met errors: {out}")
        return float(re.search(r"Requests/sec:\s*([\d.]+)", out)[1]), int(re.search(r"(\d+) requests in", out)[1])
    return measured(server, load)


def redis_benchmark(server, pipeline, requests, *command):
    def load():
        out = subprocess.run(["redis-benchmark", "-p", str(server.port), "-c", str(CLIENTS_RESP), "-P", str(pipeline), "-n",
                              str(requests), "-q", *command], capture_output=True, text=True, timeout=120, check=True).stdout
        return float(re.findall(r"([\d.]+) requests per second", out)[-1]), requests
    return measured(server, load)


def count(port, request, pattern, n=COUNTED, burst=100):
    """Asks for n ids and says how many came twice."""
    ids, found, rest = [], re.compile(pattern), b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        while len(ids) < n:
            s.sendall(request * burst)
            want = len(ids) + burst
            while len(ids) < want:
                data = s.recv(1 << 16)
                if not data:
                    raise RuntimeError(f"the server closed the connection after {len(ids)} ids")
                rest += data
                for match in found.finditer(rest):
                    ids.append(match[1])
                    end = match.end()
                else:
                    rest = rest[end:] if found.search(rest) else rest
    return {"ids": len(ids), "duplicates": len(ids) - len(set(ids))}


HTTP_ID = rb"\r\n\r\n(\d{16,20})(?=\D|$)"
RESP_ID = rb"\$\d+\r\n(\d{16,20})\r\n"


def http_request(path):
    return b"GET %s HTTP/1.1\r\nHost: bench\r\n\r\n" % path.encode()


# ---------------------------------------------------------------- rows: pairs of (ours, yardstick)

def http_row(build, folder, gen, port, samples, seconds):
    need("wrk", "wrk")
    with vesta(build, folder, gen, port, "http") as ours, nginx(folder, port + 1, NGINX_RETURN) as yard:
        pairs = [(wrk(ours, "/genid", seconds), wrk(yard, "/genid", seconds)) for _ in range(samples)]
        return pairs, count(port, http_request("/genid"), HTTP_ID)


def nginx_row(build, folder, gen, port, samples, seconds):
    need("wrk", "wrk")
    http = NGINX_LUA_HTTP.format(root=ROOT, build=build, gen=gen)
    with nginx(folder, port, NGINX_LUA_LOCATIONS, http, lua=True) as server:
        pairs = [(wrk(server, "/id", seconds), wrk(server, "/constant", seconds)) for _ in range(samples)]
        return pairs, count(port, http_request("/id"), rb"\r\n(\d{16,20})\r\n0\r\n\r\n")


def nginx_client_row(build, folder, gen, port, samples, seconds):
    need("wrk", "wrk")
    http = NGINX_CLIENT_HTTP.format(root=ROOT, port=port + 1)
    with vesta(build, folder, gen, port + 1, "resp"), nginx(folder, port, NGINX_CLIENT_LOCATIONS, http, lua=True) as server:
        pairs = [(wrk(server, "/id", seconds), wrk(server, "/constant", seconds)) for _ in range(samples)]
        return pairs, count(port, http_request("/id"), rb"\r\n(\d{16,20})\r\n0\r\n\r\n")


def resp_row(build, folder, gen, port, samples, pipeline, requests):
    need("redis-benchmark", "redis-tools")
    with vesta(build, folder, gen, port, "resp") as ours, redis(folder, port + 1) as yard:
        pairs = [(redis_benchmark(ours, pipeline, requests, "GET", "default"),
                  redis_benchmark(yard, pipeline, requests, "INCR", "counter")) for _ in range(samples)]
        return pairs, count(port, b"GET default\r\n", RESP_ID)
