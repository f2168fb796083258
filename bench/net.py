"""net.py -- the rows over loopback and Unix sockets: one client loads several servers in turn.

In two-core mode client and server have a processor each, and requests per second are compared. In one-core mode they
share a processor, and the server's CPU time per request is compared.
"""
import json
import re
import resource
import signal
import subprocess
import time
from contextlib import ExitStack

import daemons
from rows import ROOT, Folder, Made, Missing, need
from daemons import CONSTANT, NGINX_RETURN, dial, nginx, one_core, redis, two_cores, vesta

CLIENTS_HTTP, CLIENTS_RESP = 64, 50
COUNTED = 200_000
DEFAULTS_REQUESTS = 8_000_000
DEFAULTS_PER_SECOND = 1 << 20  # the limit of vesta-second
BENCHMARK_REQUESTS = {1: 120_000, 16: 1_500_000, 64: 4_000_000}  # about a second's worth


# ---------------------------------------------------------------- clients

def measured(server, load):
    """Returns requests per second, server microseconds per request, and the client's share of a core, for one load."""
    before, client, begin = server.cpu_ns(), children_s(), time.monotonic()
    per_second, requests = load()
    return {"rate": per_second, "cpu": (server.cpu_ns() - before) / 1000 / requests,
            "client": (children_s() - client) / (time.monotonic() - begin)}


def children_s():
    """Returns the CPU time of ended clients. The servers are still running."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def client(place, *command):
    return [str(word) for word in (*daemons.below(), *place.client, *command)]


def url(server, path):
    kind, _, rest = server.address.partition(":")
    return f"https://{rest}{path}" if kind == "tls" else f"http://{server.address}{path}"


def wrk(server, place, path, seconds, *options, connections=CLIENTS_HTTP, after=()):
    """Runs wrk, which counts whole seconds, but prints its counts when interrupted. `after` are arguments of its
    script."""
    need("wrk", "wrk")

    def load():
        command = client(place, "wrk", "-t1", f"-c{connections}", "-d60s", *options, url(server, path), *(("--", *after) if after else ()))
        wait_s = seconds + 0.05 + connections / 20_000
        while wait_s < 60:
            out = interrupted(command, wait_s)
            if "Non-2xx" in out or "Socket errors" in out:
                raise RuntimeError(f"wrk met errors: {out}")
            requests = re.search(r"([1-9]\d*) requests in", out)
            if requests:
                return float(re.search(r"Requests/sec:\s*([\d.]+)", out)[1]), int(requests[1])
            wait_s *= 2  # The machine is very busy, and wrk had not begun.
        raise RuntimeError(f"wrk had no answer: {out}")
    return measured(server, load)


def interrupted(command, seconds):
    """Returns the output of a program that is interrupted after so many seconds. wrk can miss a signal that arrives just
    before it sleeps, so the signal is repeated."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for wait_s in (seconds, *[1] * 60):
                try:
                    return process.communicate(timeout=wait_s)[0]
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
            raise RuntimeError(f"{command[0]} does not end")
        finally:
            process.kill()


def redis_benchmark(server, place, pipeline, seconds, *command, per_second_max=0):
    """`per_second_max` is the limit of the layout, to keep the load short."""
    need("redis-benchmark", "redis-tools")
    kind, _, rest = server.address.partition(":")
    at = {"unix": ("-s", rest), "tls": ("--tls", "--insecure", "-p", rest.rpartition(":")[2])}.get(kind, ("-p", rest))
    per_second = BENCHMARK_REQUESTS[pipeline]
    requests = max(1000, int(min(per_second, per_second_max or per_second) * seconds))

    def load():
        out = subprocess.run(client(place, "redis-benchmark", *at, "-c", CLIENTS_RESP, "-P", pipeline, "-n", requests, "-q", *command),
                             capture_output=True, text=True, timeout=120, check=True).stdout
        return float(re.findall(r"([\d.]+) requests per second", out)[-1]), requests
    return measured(server, load)


def our_client(turns, server, place, request, connections, pipeline=1, rate=0, seconds=1.0, requests=0):
    command = client(place, turns.program("load"), server.address, request, connections, pipeline, rate, int(seconds * 1000), requests)
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)


def local(turns, server, place, request, seconds):
    """A closed load from our own client, because wrk does not support Unix sockets."""
    def load():
        said = our_client(turns, server, place, request, CLIENTS_HTTP, seconds=seconds)
        return said["per_second"], said["requests"]
    return measured(server, load)


def count(server, request, pattern, n=COUNTED, burst=100):
    ids, found, rest = [], re.compile(pattern), b""
    with dial(server.address) as s:
        while len(ids) < n:
            s.sendall(request * burst)
            want = len(ids) + burst
            while len(ids) < want:
                data = s.recv(1 << 16)
                if not data:
                    raise RuntimeError(f"the server closed the connection after {len(ids)} ids")
                rest, end = rest + data, 0
                for match in found.finditer(rest):
                    ids.append(match[1])
                    end = match.end()
                rest = rest[end:]
    return {"ids": len(ids), "duplicates": len(ids) - len(set(ids))}


HTTP_ID = rb"\r\n\r\n(\d{16,20})(?=\D|$)"
RESP_ID = rb"\$\d+\r\n(\d{16,20})\r\n"


def http_request(path):
    return b"GET %s HTTP/1.1\r\nHost: bench\r\n\r\n" % path.encode()


# ---------------------------------------------------------------- turns

def turns_of(loads, samples):
    """Loads the servers in turn. Returns a list of {server: measurement}. With several samples, a first turn is not
    counted."""
    for load in loads.values() if samples > 1 else ():
        load()
    return [{name: load() for name, load in loads.items()} for _ in range(samples)]


def samples_of(made, what, mode):
    """Returns {"best.rate.two": (vesta's, the yardstick's)} for each turn."""
    return [{f"{name}.{what}.{mode}": (turn[name][what], turn["yard"][what]) for name in turn if name != "yard"} for turn in made]


def busy(made):
    def of(name):
        turn = made[len(made) // 2][name]
        return f"client {turn['client']:.2f}, server {turn['cpu'] * turn['rate'] / 1e6:.2f}"
    return f"cores busy, ours: {of('best')}; yardstick: {of('yard')}"


def both_modes(turns, start, load, counted):
    """start(place) returns {"best": server, "yard": server, ...}, and load(name, server, place) measures one turn."""
    merged, ids, notes = [{} for _ in range(turns.samples)], {}, {}
    for mode, place_of, whats in (("two", two_cores, ("rate", "cpu")), ("one", one_core, ("cpu",))):
        try:
            place = place_of()
        except Missing:
            continue
        with Folder(turns) as folder, ExitStack() as stack:
            running = {name: stack.enter_context(begin()) for name, begin in start(folder, place).items()}
            made = turns_of({name: (lambda n=name, s=server: load(n, s, place)) for name, server in running.items()}, turns.samples)
            for what in whats:
                for sample, more in zip(merged, samples_of(made, what, mode)):
                    sample.update(more)
            if mode == "two":
                notes["best.rate.two"] = busy(made)
            ids = counted(running["best"])
    return Made(merged, ids, notes)


# ---------------------------------------------------------------- rows

def http(connections, contenders=("best",)):
    def measure(turns):
        def start(folder, place):
            ours = {"best": lambda: vesta(turns, folder, "http", place), "default": lambda: daemons.defaults(turns, folder, "http", place)}
            return {**{name: ours[name] for name in contenders}, "yard": lambda: nginx(folder, place)}

        def load(name, server, place):
            return wrk(server, place, "/genid", turns.lasting if name == "default" else turns.seconds, connections=connections)
        return both_modes(turns, start, load, lambda s: count(s, http_request("/genid"), HTTP_ID, turns.few(COUNTED, 1000)))
    return measure


def http_unix(turns):
    def start(folder, place):
        return {"best": lambda: vesta(turns, folder, "http", place, f"unix:{folder}/vesta.sock"),
                "yard": lambda: nginx(folder, place, f"unix:{folder}/nginx.sock")}
    return both_modes(turns, start, lambda _, server, place: local(turns, server, place, "/genid", turns.seconds),
                      lambda s: count(s, http_request("/genid"), HTTP_ID, turns.few(COUNTED, 1000)))


def resp(pipeline, unix=False, contenders=("best",)):
    """A contender may be `constant`, which answers without parsing, so that mainly the kernel's cost is left."""
    def measure(turns):
        def start(folder, place):
            at = [f"unix:{folder}/{name}.sock" if unix else None for name in ("vesta", "defaults", "constant", "redis")]
            ours = {"best": lambda: vesta(turns, folder, "resp", place, at[0]),
                    "default": lambda: daemons.defaults(turns, folder, "resp", place, at[1]),
                    "constant": lambda: daemons.constant(turns, folder, place, at[2])}
            return {**{name: ours[name] for name in contenders}, "yard": lambda: redis(folder, place, at[3])}

        def load(name, server, place):
            command = ("INCR", "counter") if name == "yard" else ("GET", "default")
            if name == "default":
                return redis_benchmark(server, place, pipeline, turns.lasting, *command, per_second_max=DEFAULTS_PER_SECOND)
            return redis_benchmark(server, place, pipeline, turns.seconds, *command)
        return both_modes(turns, start, load, lambda s: count(s, b"GET default\r\n", RESP_ID, turns.few(COUNTED, 1000)))
    return measure


def resp_lean(unix):
    """With our own client, which sends everything at once, so that redis-benchmark's timing has no influence."""
    requests = {"best": "GET default", "yard": "INCR counter"}

    def measure(turns):
        def start(folder, place):
            at = [f"unix:{folder}/{name}.sock" if unix else None for name in requests]
            return {"best": lambda: vesta(turns, folder, "resp", place, at[0]), "yard": lambda: redis(folder, place, at[1])}
        return both_modes(turns, start, lambda name, server, place: local(turns, server, place, requests[name], turns.seconds),
                          lambda s: count(s, b"GET default\r\n", RESP_ID, turns.few(COUNTED, 1000)))
    return measure


RATES_SECONDS = 3.0  # Long enough to reach the layout's limit, because a unit's spare ids last for one second.


def rates(turns):
    """The picture of the README: `vesta serve` without options next to nginx and redis-server, with 64 connections and
    a core each."""
    place, seconds = two_cores(), turns.few(RATES_SECONDS, turns.seconds)
    merged, ids = [{} for _ in range(turns.samples)], {}
    with Folder() as folder:
        at = f"unix:{folder}/vesta.sock", f"unix:{folder}/redis.sock"
        for key, ours, yard, asks, yard_asks in (
                ("http", daemons.defaults(turns, folder, "http", place), nginx(folder, place), "/genid", "/genid"),
                ("resp", daemons.defaults(turns, folder, "resp", place), redis(folder, place), "GET default", "INCR counter"),
                ("unix", daemons.defaults(turns, folder, "resp", place, at[0]), redis(folder, place, at[1]), "GET default", "INCR counter")):
            with ours as server, yard as other:
                made = turns_of({"ours": lambda: local(turns, server, place, asks, seconds),
                                 "yard": lambda: local(turns, other, place, yard_asks, seconds)}, turns.samples)
                if key == "resp":
                    ids = count(server, b"GET default\r\n", RESP_ID, turns.few(COUNTED, 1000))
            for sample, turn in zip(merged, made):
                sample[f"{key}.rate"] = turn["ours"]["rate"], turn["yard"]["rate"]
    return Made(merged, ids)


def refused(turns):
    """Counts rejections by `vesta serve` of eight million GET, 64 at a time on 50 connections."""
    requests = turns.few(DEFAULTS_REQUESTS, 20_000)
    with Folder() as folder, daemons.defaults(turns, folder, "resp") as server:
        said = our_client(turns, server, daemons.ANYWHERE, "GET default", CLIENTS_RESP, 64, seconds=120, requests=requests)
    return Made([{"refused": (said["refused"], said["requests"])}],
                notes={"": f"{said['per_second']:,.0f} /s, p99 {said['p99_us'] / 1000:,.1f} ms"})


# ---------------------------------------------------------------- ids inside nginx

NGINX_LUA_HTTP = """
    lua_package_path "{root}/lua/?.lua;{root}/lua/?/init.lua;;";
    lua_package_cpath "{build}/lua/5.1/?.so;;";
    init_by_lua_block {{
        package.loaded.ids = assert(require "vesta".open {{ path = "{gen}", wait_ms_max = 1000 }})
        package.loaded.count = {{ 100000000 }}
    }}
    init_worker_by_lua_block {{ require "vesta.resty".keep(require "ids") }}
"""
NGINX_LUA_LOCATIONS = """
    location = /constant { content_by_lua_block { ngx.print("%s") } }
    location = /fresh { content_by_lua_block {
        local count = require "count"
        count[1] = count[1] + 1
        ngx.print("2319542600" .. count[1])
    } }
    location = /id { content_by_lua_block {
        local vesta = require "vesta"
        ngx.print((require "ids":next()))
    } }
""" % CONSTANT

NGINX_CLIENT_HTTP = """
    lua_package_path "{root}/lua/?.lua;;";
    init_by_lua_block {{
        package.loaded.ids = require "vesta.resty.client".new {{ servers = {{ "{address}" }}, name = "default" }}
    }}
"""
NGINX_CLIENT_LOCATIONS = """
    location = /constant { content_by_lua_block { ngx.print("%s") } }
    location = /id { content_by_lua_block { ngx.print((require "ids":next())) } }
""" % CONSTANT
CHUNKED_ID = rb"\r\n(\d{16,20})\r\n0\r\n\r\n"


def lua_turns(turns, server, place, paths):
    loads = {name: (lambda p=path: wrk(server, place, p, turns.seconds)) for name, path in paths.items()}
    return turns_of(loads, turns.samples)


def nginx_lua(turns):
    made, ids = {}, {}
    paths = {"best": "/id", "yard": "/constant"}
    for mode, place in (("two", two_cores), ("one", one_core)):
        with Folder(turns) as folder:
            http_block = NGINX_LUA_HTTP.format(root=ROOT, build=turns.build, gen=folder / "w.gen")
            with nginx(folder, place(), None, NGINX_LUA_LOCATIONS, http_block, lua=True) as server:
                made[mode] = lua_turns(turns, server, place(), paths if mode == "two" else {"best": "/id", "yard": "/fresh"})
                ids = count(server, http_request("/id"), CHUNKED_ID, turns.few(COUNTED, 1000))
    return Made([{**a, **b} for a, b in zip(samples_of(made["two"], "rate", "two"), samples_of(made["one"], "cpu", "one"))], ids,
                {"best.rate.two": busy(made["two"])})


def nginx_client(turns):
    place = two_cores()
    with Folder(turns) as folder, vesta(turns, folder, "resp", place) as ids:
        http_block = NGINX_CLIENT_HTTP.format(root=ROOT, address=ids.address)
        with nginx(folder, place, None, NGINX_CLIENT_LOCATIONS, http_block, lua=True) as server:
            made = lua_turns(turns, server, place, {"best": "/id", "yard": "/constant"})
            return Made(samples_of(made, "rate", "two"), count(server, http_request("/id"), CHUNKED_ID, turns.few(COUNTED, 1000)),
                        {"": busy(made)})
