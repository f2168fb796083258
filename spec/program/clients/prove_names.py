"""prove_names.py VESTA FOLDER -- a demonstration: the rights of three clients in two namespaces by three programs,
rotation of a secret under load, and the cost of guesses for others. It takes some seconds and prints what it observed.
"""
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time

import node_modules
from proxied import call
from serving import SLOW, Configured, claim, command, main, same

HERE, FOLDER = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[2])
NAMESPACES = "orders", "invoices"
CLIENTS = {"shop": ("orders", "give,block"), "web": ("*", "give"), "audit": ("invoices", "read")}
CALLS = {"give": ("GET %s", "/genid?ns=%s"), "block": ("VESTA.BLOCK %s 5", "/v1/blocks?n=5&ns=%s"), "read": ("VESTA.EXPLAIN %s 77", "/v1/ids/77?ns=%s")}
LOADERS, LOAD_S = 4, 3
# The layout has room for every id of the load, so that requests wait only for secrets.
CONFIG = """local layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
return { clients = "clients", namespaces = { orders = { worker = 1, layout = layout, pacing = "history" },
                                             invoices = { worker = 2, layout = layout, pacing = "history" } } }"""


def client(world, *words):
    done = world.run("client", *words, "--file", world.path("clients"))
    same((words, done.code), (words, 0))
    return done.out.strip()


def three(world):
    """Adds the three clients and returns their tokens. A client without credentials may not request anything here."""
    with open(world.path("clients"), "w") as file:
        file.write("default names=nothing calls=make\n")
    return {name: client(world, "add", name, "--names", names, "--calls", calls) for name, (names, calls) in CLIENTS.items()}


def reloaded(server):
    server.process.send_signal(signal.SIGHUP)
    server.listen("was reloaded")


# ------------------------------------------------------------------ rights

def ran(*args):
    return subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW, cwd=FOLDER).stdout.strip()


def redis_cli(server, name, secret, words):
    said = ran("redis-cli", "-p", str(server.resp), "--no-auth-warning", "--user", name, "--pass", secret, *words)
    return "NOPERM" if said.startswith("NOPERM") else "ok" if said and "ERR" not in said else said


def curl(server, name, secret, path):
    status = ran("curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-u", "%s:%s" % (name, secret), "http://127.0.0.1:%d%s" % (server.http, path))
    return {"200": "ok", "403": "NOPERM"}.get(status, status)


IOREDIS = """const { Redis } = require("ioredis"), [port, username, password, ...words] = process.argv.slice(1);
const client = new Redis({ port: Number(port), username, password, retryStrategy: null });
client.on("error", () => {});
client.call(...words).then(() => "ok", (error) => error.message.split(" ")[0]).then((said) => { console.log(said); client.disconnect(); });"""


def ioredis(server, name, secret, words):
    return ran("node", "-e", IOREDIS, "--", str(server.resp), name, secret, *words)


@claim("redis-cli, curl and ioredis get exactly the rights of the clients file, for three clients and two namespaces")
def _(world):
    why = node_modules.install(HERE, FOLDER)
    secrets = three(world)
    print("    %-8s %-10s %-7s redis-cli  curl    ioredis%s" % ("client", "namespace", "call", " (%s)" % why if why else ""))
    with Configured(world, CONFIG) as server:
        for name, (names, calls) in CLIENTS.items():
            for ns in NAMESPACES:
                for kind, (words, path) in CALLS.items():
                    words, secret = (words % ns).split(), secrets[name]
                    got = [redis_cli(server, name, secret, words), curl(server, name, secret, path % ns)]
                    got += [] if why else [ioredis(server, name, secret, words)]
                    print("    %-8s %-10s %-7s %-10s %-7s %s" % (name, ns, kind, *got, *(["-"] if why else [])))
                    may = "ok" if names in ("*", ns) and kind in calls.split(",") else "NOPERM"
                    same((name, ns, kind, got), (name, ns, kind, [may] * len(got)))


# ------------------------------------------------------------------ rotation of a secret

def asks_redis(server, secret):
    return server.say(server.resp, command("AUTH", "shop", secret) + command("GET", "orders"))


class Load:
    """Requests ids continuously, over HTTP on persistent connections and over the Redis protocol on new ones."""

    def __init__(self, server, secret):
        self.server, self.secret, self.served, self.refused, self.going = server, secret, [0] * (2 * LOADERS), [], True
        self.threads = [threading.Thread(target=ask, args=(i,)) for i in range(2 * LOADERS) for ask in ([self.http, self.resp][i % 2],)]
        for thread in self.threads:
            thread.start()

    def http(self, i):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http, timeout=20 * SLOW)
        while self.going:
            connection.request("GET", "/genid?ns=orders", headers={"Authorization": "Bearer " + self.secret})
            reply = connection.getresponse()
            self.note(i, reply.read().isdigit(), reply.status)
        connection.close()

    def resp(self, i):
        while self.going:
            said = asks_redis(self.server, self.secret)
            self.note(i, said.startswith(b"+OK\r\n$"), said)

    def note(self, i, is_good, said):
        self.served[i] += is_good
        if not is_good:
            self.refused.append(said)

    def end(self):
        self.going = False
        for thread in self.threads:
            thread.join()
        return sum(self.served), self.refused


@claim("rotating a secret under load (rotate, SIGHUP, rotate --drop-old, SIGHUP) rejects no request, and the old "
       "secret ends")
def _(world):
    old = three(world)["shop"]
    with Configured(world, CONFIG) as server:
        load, began = Load(server, old), time.monotonic()
        try:
            time.sleep(LOAD_S / 3)
            new = client(world, "rotate", "shop")
            reloaded(server)
            load.secret = new
            time.sleep(LOAD_S / 3)
            client(world, "rotate", "shop", "--drop-old")
            reloaded(server)
            time.sleep(LOAD_S / 3)
        finally:
            served, refused = load.end()
        print("    %d requests in %.1f s over HTTP and the Redis protocol, %d refused" % (served, time.monotonic() - began, len(refused)))
        same(refused[:3], [])
        assert served > 100
        assert asks_redis(server, old).startswith(b"-WRONGPASS"), "the old one"


# ------------------------------------------------------------------ the cost of guesses

@claim("guesses from one address are logged once and counted, and do not delay a valid token")
def _(world):
    secrets = three(world)
    operator = client(world, "add", "ops", "--calls", "read")
    with Configured(world, CONFIG) as server:
        right = command("AUTH", "web", secrets["web"])
        print("    guess     waited ms   a right one beside it, ms")
        waited = []
        for guess in range(12):
            began = time.monotonic()
            with call(server.resp, "127.0.0.1") as sock:
                sock.sendall(command("AUTH", "shop", "guess%d" % guess))
                assert sock.recv(100).startswith(b"-WRONGPASS")
            wrong = time.monotonic() - began
            began = time.monotonic()
            same(server.say(server.resp, right), b"+OK\r\n")
            waited.append(time.monotonic() - began)
            print("    %5d  %12.1f  %12.1f" % (guess + 1, 1000 * wrong, 1000 * waited[-1]))
        assert max(waited) < 1, waited
        event = server.heard("a wrong secret")
        assert "address=127.0.0.1" in event and "client=shop" in event and "guess" not in event, event
        counted = re.search(r'vesta_secrets_total\{result="wrong"\} \d+', server.get("/metrics", headers={"Authorization": "Bearer " + operator}).body)
        same(counted[0], 'vesta_secrets_total{result="wrong"} 12')
        print("    %s    %s" % (event.strip(), counted[0]))


sys.argv = sys.argv[:2]
main()
