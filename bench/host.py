"""host.py -- the rows about the server as a host: pipelines, connections that rest, policies that misbehave, reloads.

As in net.py every row starts its own servers; here it is also our own server beside itself, with and without what is
measured.
"""
import json
import resource
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import net

HERE = Path(__file__).resolve().parent
IDLE = 10_000
IDLE_FILES = IDLE + 1000


def pipeline_row(build, folder, gen, port, samples, seconds):
    """16 pipelined requests, ours and nginx."""
    net.need("wrk", "wrk")
    script = ("-s", str(HERE / "pipeline.lua"))
    with net.vesta(build, folder, gen, port, "http") as ours, net.nginx(folder, port + 1, net.NGINX_RETURN) as yard:
        pairs = [(net.wrk(ours, "/genid", seconds, *script), net.wrk(yard, "/genid", seconds, *script))
                 for _ in range(samples)]
        return pairs, net.count(port, net.http_request("/genid"), net.HTTP_ID)


# ---------------------------------------------------------------- memory

def resident_mib(pid):
    for text in Path(f"/proc/{pid}/status").read_text().splitlines():
        if text.startswith("VmRSS:"):
            return int(text.split()[1]) / 1024
    raise RuntimeError(f"{pid} has no resident memory")


def connect_all(port, count):
    """Connections of which each has had an id and asks for no more."""
    sockets, request = [], net.http_request("/genid")
    for _ in range(count):
        s = socket.create_connection(("127.0.0.1", port), timeout=20)
        s.sendall(request)
        if not s.recv(4096).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("a connection had no id")
        sockets.append(s)
    return sockets


def idle_row(build, folder, gen, port, samples):
    """Resident MiB of the server with 10,000 connections at rest, and with none."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < IDLE_FILES:
        raise net.Missing(f"{IDLE_FILES} open files are needed, and the limit is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE_FILES, most))
    pairs = []
    for i in range(samples):
        with net.vesta(build, folder, gen, port + i, "http", "--address-connections", str(IDLE)) as server:
            empty = resident_mib(server.process.pid)
            sockets = connect_all(port + i, IDLE - 1)
            time.sleep(0.2)
            pairs.append((resident_mib(server.process.pid), empty))
            for s in sockets:
                s.close()
    return pairs


# ---------------------------------------------------------------- policies that misbehave, and reloads

CONFIG = """return {{
  namespaces = {{
    default = {{ layout = "{layout}", worker = 1, path = "{folder}/{name}.gen", store = "file:{folder}/{name}" }},
    few = {{ layout = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z", worker = 1, wait_ms_max = 0,
             path = "{folder}/{name}.few.gen", store = "file:{folder}/{name}", policy = "{folder}/{name}.lua" }},
  }},
  http = {{ listen = "127.0.0.1:{port}" }}, resp = {{ listen = "off" }},
}}
"""
POLICY = "return {{ api = 1, on_exhausted = function(ctx) {body} end }}\n"
LAYOUT = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
SPINS = 'while ctx.ahead_ticks > 1 do end return "refuse"'  # a policy is tried with 1 before it is let in
BOTHER_HZ = 200


def hosted(build, folder, port, name, body):
    """A server of two namespaces; what is asked of `few` ends in its policy nearly always."""
    (folder / f"{name}.lua").write_text(POLICY.format(body=body))
    config = folder / f"{name}.conf.lua"
    config.write_text(CONFIG.format(layout=LAYOUT, folder=folder, name=name, port=port))
    return net.Server(port, [str(build / "vesta"), "serve", "-c", str(config)], folder / f"{name}.log",
                      {"VESTA_STATE": str(folder)})


class Bother:
    """Asks for ids of `few` all the while: its policy is called as often as the server calls it."""

    def __init__(self, port):
        self.port, self.stop = port, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as s:
            while not self.stop.wait(1 / BOTHER_HZ):
                s.sendall(net.http_request("/v1/ids?ns=few"))
                s.recv(4096)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(20)


def half_load(port, connections, seconds):
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(HERE / "half_load.lua"),
                          f"http://127.0.0.1:{port}/genid"], capture_output=True, text=True, timeout=120, check=True).stdout
    return json.loads(out.splitlines()[-1])


def spin_row(build, folder, _gen, port, samples, seconds):
    """p99.9 of /genid at half load with a policy that never ends, and with one that answers at once."""
    net.need("wrk", "wrk")
    with hosted(build, folder, port, "spins", SPINS) as ours, \
            hosted(build, folder, port + 1, "answers", 'return "refuse"') as yard:
        most = net.wrk(yard, "/genid", seconds)["per_second"]
        connections = max(8, int(most / 2 / 1000))
        pairs = []
        for _ in range(samples):
            with Bother(port):
                spun = half_load(port, connections, seconds)
            with Bother(port + 1):
                answered = half_load(port + 1, connections, seconds)
            pairs.append((spun, answered))
        return pairs, most, net.count(ours.port, net.http_request("/genid"), net.HTTP_ID)


def reload_row(build, folder, _gen, port, samples, seconds):
    """Requests that a reload refused or lost, of all; every HUP loads another policy, each third a broken one."""
    net.need("wrk", "wrk")
    runs = []
    with hosted(build, folder, port, "reloads", 'return "refuse"') as server:
        for _ in range(samples):
            with subprocess.Popen(["wrk", "-t1", "-c64", f"-d{seconds}s", "-s", str(HERE / "half_load.lua"),
                                   f"http://127.0.0.1:{port}/genid"], stdout=subprocess.PIPE, text=True) as client:
                for i in range(seconds * 10 - 5):
                    body = "this is no Lua" if i % 3 == 2 else f'local n = {i} return "refuse"'
                    (folder / "reloads.lua").write_text(POLICY.format(body=body))
                    server.process.send_signal(signal.SIGHUP)
                    time.sleep(0.1)
                runs.append(json.loads(client.communicate(timeout=60)[0].splitlines()[-1]))
    return runs
