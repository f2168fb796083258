"""host.py -- the rows about the server as a host: pipelines, connections that rest, policies that misbehave, reloads.

As in net.py every row starts its own servers; here it is also our own server beside itself, with and without what is
measured.
"""
import resource
import socket
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
        with net.vesta(build, folder, gen, port + i, "http") as server:
            empty = resident_mib(server.process.pid)
            sockets = connect_all(port + i, IDLE - 1)
            time.sleep(0.2)
            pairs.append((resident_mib(server.process.pid), empty))
            for s in sockets:
                s.close()
    return pairs
