"""secured.py -- the rows of TLS and of clients with names: the cost of encryption next to other encrypting servers, and
the cost of authentication next to the same server without it."""
import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import daemons
from daemons import nginx, redis, two_cores, vesta
from net import (COUNTED, HTTP_ID, RESP_ID, both_modes, busy, client, count, http_request, measured, redis_benchmark, samples_of, wrk)
from rows import Folder, Made, Missing, need

NAMED = 50
RATE = "1000000000"  # a limit that is checked but never reached
IN_TURN = Path(__file__).with_name("in_turn.lua")


# ---------------------------------------------------------------- TLS

def certificate(folder):
    """Returns (certificate, key) of ECDSA P-256 for both servers."""
    need("openssl", "openssl")
    made = folder / "tls.pem", folder / "tls.key"
    if not made[0].exists():
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=bench",
                        "-days", "2", "-out", made[0], "-keyout", made[1]], check=True, capture_output=True, timeout=60)
    return made


def secured(turns, folder, face, place):
    if not any((turns.build / "tls").glob("openssl.*")):
        raise Missing("the module of TLS is not built")
    pem, key = certificate(folder)
    return vesta(turns, folder, face, place, "tls:" + daemons.tcp(), ("--tls-certificate", pem, "--tls-key", key, "--threads", "1"))


def same_cipher(make):
    """Returns servers started by `make`, if all of them chose the same cipher."""
    def start(folder, place):
        return {name: (lambda b=begin: told(b())) for name, begin in make(folder, place).items()}

    chosen = set()

    def told(server):
        with daemons.dial(server.address) as s:
            chosen.add((s.version(), s.cipher()[0]))
        if len(chosen) > 1 or {version for version, _ in chosen} != {"TLSv1.3"}:
            server.__exit__()
            raise RuntimeError(f"ciphers differ: {chosen}")
        return server
    return start


def beside_nginx(turns):
    return same_cipher(lambda folder, place: {
        "best": lambda: secured(turns, folder, "http", place),
        "yard": lambda: nginx(folder, place, "tls:" + daemons.tcp(), certificate=certificate(folder))})


def http(turns):
    return both_modes(turns, beside_nginx(turns), lambda _, server, place: wrk(server, place, "/genid", turns.seconds / 2),
                      lambda s: count(s, http_request("/genid"), HTTP_ID, turns.few(COUNTED // 4, 1000)))


def full_handshakes(server, place):
    """Makes handshakes one after the other for a second, the minimum of s_time. wrk would resume its sessions."""
    command = client(place, "openssl", "s_time", "-new", "-connect", server.address.removeprefix("tls:"), "-time", 1)

    def load():
        begun = time.monotonic()
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        made = int(re.search(r"(\d+) connections in \d+ real", out)[1])
        return made / (time.monotonic() - begun), made
    return measured(server, load)


def handshakes(turns):
    place = two_cores()
    with Folder(turns) as folder, ExitStack() as stack:
        running = {name: stack.enter_context(begin()) for name, begin in beside_nginx(turns)(folder, place).items()}
        made = [{name: full_handshakes(server, place) for name, server in running.items()} for _ in range(turns.samples)]
    both = zip(samples_of(made, "rate", "two"), samples_of(made, "cpu", "two"))
    return Made([{**rate, **cpu} for rate, cpu in both], notes={"best.rate.two": busy(made)})


def resp(pipeline):
    def measure(turns):
        start = same_cipher(lambda folder, place: {
            "best": lambda: secured(turns, folder, "resp", place),
            "yard": lambda: redis(folder, place, "tls:" + daemons.tcp(), certificate(folder))})

        def load(name, server, place):
            command = ("INCR", "counter") if name == "yard" else ("GET", "default")
            return redis_benchmark(server, place, pipeline, turns.seconds / 2, *command)
        return both_modes(turns, start, load, lambda s: count(s, b"GET default\r\n", RESP_ID, turns.few(COUNTED // 4, 1000)))
    return measure


# ---------------------------------------------------------------- clients with names

def clients(turns, folder):
    path, secrets = folder / "clients", {}
    for i in range(NAMED):
        secrets[f"client{i}"] = subprocess.run(
            [turns.build / "vesta", "client", "add", f"client{i}", "--names", "*", "--calls", "give", "--rate", RATE, "--requests", RATE,
             "--file", path], check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    return path, secrets


class Named:
    """Servers with a clients file, and one without, each with its own generator."""

    def __init__(self, turns, face, contenders=("best",)):
        self.turns, self.face, self.contenders, self.secrets = turns, face, contenders, {}

    def start(self, folder, place):
        path, self.secrets = clients(self.turns, folder)

        def server(name):
            own, flags = folder / name, () if name == "yard" else ("--clients", path)
            own.mkdir()
            subprocess.run([self.turns.program("day_old"), own], check=True, stdout=subprocess.DEVNULL, timeout=60)
            return lambda: vesta(self.turns, own, self.face, place, flags=flags)
        return {name: server(name) for name in (*self.contenders, "yard")}

    def one(self):
        return next(iter(self.secrets.items()))


def named_http(turns):
    """All connections of a turn belong to one client, or each request to the next client, regardless of its
    connection's last one."""
    named = Named(turns, "http", ("best", "in_turn"))

    def load(name, server, place):
        if name == "in_turn":
            return wrk(server, place, "/genid", turns.seconds / 2, "-s", IN_TURN, after=named.secrets.values())
        who = ("-H", f"Authorization: Bearer {named.one()[1]}") if name == "best" else ()
        return wrk(server, place, "/genid", turns.seconds / 2, *who)

    def counted(server):
        who = b"\r\nAuthorization: Bearer %s\r\n\r\n" % named.one()[1].encode()
        return count(server, http_request("/genid").replace(b"\r\n\r\n", who), HTTP_ID, turns.few(COUNTED // 4, 1000))
    return both_modes(turns, named.start, load, counted)


def named_resp(turns):
    """All connections belong to one client, because redis-benchmark supports one name."""
    named = Named(turns, "resp")

    def load(name, server, place):
        user, secret = named.one()
        who = ("--user", user, "-a", secret) if name == "best" else ()
        return redis_benchmark(server, place, 16, turns.seconds / 2, *who, "GET", "default")

    def counted(server):
        user, secret = named.one()
        return count(server, b"AUTH %s %s\r\nGET default\r\n" % (user.encode(), secret.encode()), RESP_ID, turns.few(COUNTED // 4, 1000))
    return both_modes(turns, named.start, load, counted)
