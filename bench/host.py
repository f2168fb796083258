"""host.py -- the rows about the server as a host: pipelines, idle connections and their distribution, policies that
misbehave, reloads.

As in net.py every row starts its own servers. Here the yardstick is often our own server without the measured load.
"""
import json
import re
import resource
import signal
import statistics
import subprocess
import threading
import time
from pathlib import Path

import net
import daemons
from rows import Folder, Made, Missing, need, pairs

HERE = Path(__file__).resolve().parent
IDLE = 10_000
IDLE_FILES = IDLE + 1000
LOOPS, SHARED = 4, 64


def pipeline(turns):
    place, script = daemons.two_cores(), ("-s", HERE / "pipeline.lua")
    with Folder(turns) as folder, daemons.vesta(turns, folder, "http", place) as ours, daemons.nginx(folder, place) as yard:
        made = net.turns_of({name: (lambda s=server: net.wrk(s, place, "/genid", turns.seconds, *script))
                             for name, server in (("best", ours), ("yard", yard))}, turns.samples)
        return Made(net.samples_of(made, "rate", "two"),
                    net.count(ours, net.http_request("/genid"), net.HTTP_ID, turns.few(net.COUNTED, 1000)), {"": net.busy(made)})


# ---------------------------------------------------------------- connections

def connect_all(server, count):
    """Returns connections that have each received an id and send nothing more."""
    sockets, request = [], net.http_request("/genid")
    for _ in range(count):
        s = daemons.dial(server.address)
        s.sendall(request)
        if not s.recv(4096).startswith(b"HTTP/1.1 200"):
            raise RuntimeError("a connection had no id")
        sockets.append(s)
    return sockets


def idle(turns):
    """Measures resident MiB of the server with 10,000 idle connections, and with none."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < IDLE_FILES:
        raise Missing(f"{IDLE_FILES} open files are needed, and the limit is {most}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE_FILES, most))
    made, connections = [], turns.few(IDLE, 100)
    for _ in range(turns.samples):
        with Folder(turns) as folder, daemons.vesta(turns, folder, "http", flags=("--address-connections", str(IDLE))) as server:
            empty = server.resident_kib() / 1024
            sockets = connect_all(server, connections - 1)
            time.sleep(0.2)
            made.append((server.resident_kib() / 1024, empty))
            for s in sockets:
                s.close()
    return Made(pairs("memory", made))


def body(server, path):
    with daemons.dial(server.address) as s:
        s.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        with s.makefile("rb") as file:
            return file.read().partition(b"\r\n\r\n")[2].decode()


def balance(turns):
    """Measures the connections of the busiest thread, and the mean, when all connect at once."""
    made, loads = [], []
    for _ in range(turns.samples):
        with Folder(turns) as folder, daemons.vesta(turns, folder, "http", flags=("--threads", str(LOOPS))) as server:
            sockets = connect_all(server, SHARED - 1)  # The last connection is for requests.
            loads = [int(n) for n in re.findall(r"^vesta_loop_connections\{.*\} (\d+)$", body(server, "/metrics"), re.M)]
            if len(loads) != LOOPS:
                raise RuntimeError(f"{len(loads)} loops are told of, not {LOOPS}")
            made.append((max(loads), statistics.mean(loads)))
            for s in sockets:
                s.close()
    return Made(pairs("load", made), notes={"": f"last sample: {loads}"})


# ---------------------------------------------------------------- policies that misbehave, and reloads

CONFIG = """return {{
  namespaces = {{
    default = {{ layout = "{layout}", worker = 1, path = "{folder}/{name}.gen", store = "file:{folder}/{name}" }},
    few = {{ layout = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z", worker = 1, wait_ms_max = 0,
             path = "{folder}/{name}.few.gen", store = "file:{folder}/{name}", policy = "{folder}/{name}.lua" }},
  }},
  http = {{ listen = "{address}" }}, resp = {{ listen = "off" }},
}}
"""
POLICY = "return {{ api = 1, on_exhausted = function(ctx) {body} end }}\n"
LAYOUT = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
SPINS = 'while ctx.ahead_ticks > 1 do end return "refuse"'  # The trial call of a policy passes 1.
BOTHER_HZ = 200


def hosted(turns, folder, name, body):
    """A server of two namespaces. Almost every request for `few` calls its policy."""
    (folder / f"{name}.lua").write_text(POLICY.format(body=body))
    config, address = folder / f"{name}.conf.lua", daemons.tcp()
    config.write_text(CONFIG.format(layout=LAYOUT, folder=folder, name=name, address=address))
    return daemons.Server(address, [turns.build / "vesta", "serve", "-c", config], folder / f"{name}.log", {"VESTA_STATE": str(folder)})


class Bother:
    """Requests ids of `few` continuously, so that the server calls its policy as often as it can."""

    def __init__(self, server):
        self.server, self.stop = server, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        with daemons.dial(self.server.address) as s:
            while not self.stop.wait(1 / BOTHER_HZ):
                s.sendall(net.http_request("/v1/ids?ns=few"))
                s.recv(4096)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(20)


def half_load_command(server, connections, seconds):
    return [*daemons.below(), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(HERE / "half_load.lua"), f"http://{server.address}/genid"]


def half_load(server, connections, seconds):
    with Bother(server):
        out = subprocess.run(half_load_command(server, connections, seconds), capture_output=True, text=True, timeout=120,
                             check=True).stdout
    return json.loads(out.splitlines()[-1])


def spin(turns):
    """Measures p99.9 of /genid at half load with a policy that never returns, and with one that returns at once."""
    need("wrk", "wrk")
    with Folder() as folder, hosted(turns, folder, "spins", SPINS) as ours, hosted(turns, folder, "answers", 'return "refuse"') as yard:
        most = net.wrk(yard, daemons.ANYWHERE, "/genid", turns.seconds)["rate"]
        connections = max(8, int(most / 2 / 1000))
        made = [tuple(half_load(server, connections, turns.few(2, 1)) for server in (ours, yard)) for _ in range(turns.samples)]
        rate = statistics.median(said["requests"] / said["duration_us"] * 1e6 for pair in made for said in pair)
        return Made(pairs("p999", [tuple(said["p999_us"] for said in pair) for pair in made]),
                    net.count(ours, net.http_request("/genid"), net.HTTP_ID, turns.few(net.COUNTED, 1000)),
                    {"": f"{rate:,.0f} requests/s of {most:,.0f} at most"})


def reload(turns):
    """Counts requests that were rejected or lost during reloads. Each SIGHUP loads another policy, and each third one
    is broken."""
    need("wrk", "wrk")
    made, seconds = [], turns.few(2, 1)
    with Folder() as folder, hosted(turns, folder, "reloads", 'return "refuse"') as server:
        for _ in range(turns.samples):
            with subprocess.Popen(half_load_command(server, 64, seconds), stdout=subprocess.PIPE, text=True) as client:
                for i in range(seconds * 10 - 5):
                    body = "this is no Lua" if i % 3 == 2 else f'local n = {i} return "refuse"'
                    (folder / "reloads.lua").write_text(POLICY.format(body=body))
                    server.process.send_signal(signal.SIGHUP)
                    time.sleep(0.1)
                said = json.loads(client.communicate(timeout=60)[0].splitlines()[-1])
                made.append((said["refused"] + said["lost"], said["requests"]))
    return Made(pairs("lost", made))
