"""daemons.py -- starts vesta's servers and the yardsticks on free addresses, and ends them with the row.

CPU time is that of the serving process, by its CPU clock.
"""
import ctypes
import os
import socket
import ssl
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rows import Missing, need

CONSTANT = "2319542600899494910"
NGINX_MODULES = Path("/usr/lib/nginx/modules")
START_S = 20

NGINX_CONF = """
{modules}
daemon off; worker_processes 1; worker_rlimit_nofile 20000; pid {dir}/nginx.pid; error_log {dir}/error.log warn;
events {{ worker_connections 10000; }}
http {{
    access_log off; keepalive_requests 100000000; default_type text/plain;
    {http}
    server {{ listen {address}; {locations} }}
}}
"""
NGINX_RETURN = 'location = /genid { return 200 "%s"; }' % CONSTANT


# ---------------------------------------------------------------- processors

@dataclass(frozen=True)
class Place:
    """Commands that pin the server and its client to processors."""
    name: str
    server: tuple = ()
    client: tuple = ()


def cpus():
    return [str(cpu) for cpu in sorted(os.sched_getaffinity(0))]


def below():
    """Returns a prefix that runs a command with a lower real-time priority than this process, which has to end it, and
    in round-robin order. Otherwise two busy commands would occupy both processors, and a thread of wrk one of them."""
    return ("chrt", "--rr", "1") if os.sched_getscheduler(0) == os.SCHED_FIFO else ()


def two_cores():
    need("taskset", "util-linux")
    if len(cpus()) < 2:
        raise Missing("this machine has one processor")
    client, server = cpus()[:2]
    return Place("two cores", ("taskset", "-c", server), ("taskset", "-c", client))


def one_core():
    """Runs at a user's priority, because there the kernel's scheduler lets client and server alternate."""
    need("taskset", "util-linux")
    words = ("chrt", "--other", "0", "taskset", "-c", cpus()[-1])
    return Place("one core", words, words)


ANYWHERE = Place("not pinned")


# ---------------------------------------------------------------- servers

def tcp():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{s.getsockname()[1]}"


def dial(address):
    kind, _, rest = address.partition(":")
    if kind == "tls":
        return unverified().wrap_socket(dial(rest))
    s = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
    s.settimeout(20)
    s.connect(rest if kind == "unix" else (kind, int(rest)))
    return s


def unverified():
    """Accepts any certificate, because each row makes its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Server:
    def __init__(self, address, command, log, env=None):
        self.address, self.log = address, log
        with open(log, "ab") as out:
            self.process = subprocess.Popen([str(word) for word in (*below(), *command)], stdout=out, stderr=out,
                                            env={**os.environ, **(env or {})})
        self._wait()

    def _wait(self):
        for _ in range(START_S * 50):
            try:
                dial(self.address).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        self.process.kill()
        self.process.wait()
        raise RuntimeError(f"{self.process.args} did not start: {Path(self.log).read_text()[-400:]}")

    def serving_pid(self):
        """nginx serves in a child process."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else pid

    def cpu_ns(self):
        """Returns the CPU time, including that of ended threads."""
        clock = ctypes.c_int()
        error = ctypes.CDLL(None).clock_getcpuclockid(self.serving_pid(), ctypes.byref(clock))
        if error:
            raise OSError(error, os.strerror(error))
        return time.clock_gettime_ns(clock.value)

    def resident_kib(self):
        for line in Path(f"/proc/{self.serving_pid()}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise RuntimeError("no resident memory")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def nginx(folder, place=ANYWHERE, address=None, locations=NGINX_RETURN, http="", lua=False, certificate=None):
    need("nginx", "nginx")
    modules, address = "", address or tcp()
    if lua:
        if not (NGINX_MODULES / "ngx_http_lua_module.so").exists():
            raise Missing("nginx's Lua module is not here (Debian: libnginx-mod-http-lua)")
        modules = "".join(f"load_module {NGINX_MODULES}/{m}_module.so;\n" for m in ("ndk_http", "ngx_http_lua"))
    listen = address
    if certificate:
        listen = address.removeprefix("tls:") + " ssl"
        http += "ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.3;".format(*certificate)
    conf = folder / "nginx.conf"
    conf.write_text(NGINX_CONF.format(modules=modules, dir=folder, address=listen, http=http, locations=locations))
    return Server(address, [*place.server, "nginx", "-e", f"{folder}/error.log", "-p", folder, "-c", conf], folder / "nginx.log")


def vesta(turns, folder, face, place=ANYWHERE, address=None, flags=()):
    """The fastest configuration: the generator file of the folder, layout W, history pacing, with a day of spare ids.
    """
    return defaults(turns, folder, face, place, address, ("--path", folder / "w.gen", *flags))


def defaults(turns, folder, face, place=ANYWHERE, address=None, flags=()):
    """`vesta serve` with default settings, except that its address is free: 8088 and 8089 may be in use."""
    address, off = address or tcp(), {"http": "resp", "resp": "http"}[face]
    command = [*place.server, turns.build / "vesta", "serve", f"--{face}", address, f"--{off}", "off", *flags]
    state = folder / ("state" if flags else "defaults")
    return Server(address, command, folder / "vesta.log", {"VESTA_STATE": str(state)})


def redis(folder, place=ANYWHERE, address=None, certificate=None):
    need("redis-server", "redis-server")
    address = address or tcp()
    kind, _, rest = address.partition(":")
    listen = ["--port", "0", "--unixsocket", rest] if kind == "unix" else ["--port", rest, "--bind", kind]
    if certificate:
        host, _, port = rest.rpartition(":")
        listen = ["--port", "0", "--tls-port", port, "--bind", host, "--tls-auth-clients", "no", "--tls-cert-file", certificate[0],
                  "--tls-key-file", certificate[1], "--tls-ca-cert-file", certificate[0]]
    return Server(address, [*place.server, "redis-server", *listen, "--save", "", "--appendonly", "no", "--dir", folder],
                  folder / "redis.log")


def constant(turns, folder, place=ANYWHERE, address=None):
    address = address or tcp()
    return Server(address, [*place.server, turns.program("constant"), address], folder / "constant.log")
