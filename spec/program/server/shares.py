#!/usr/bin/env python3
"""shares.py -- rate limits and fair shares of a running server."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from greedy import Client, apart, run  # noqa: E402
from serving import SLOW, Configured, Server, claim, fails, get, main, same  # noqa: E402

NARROW = "time:37 seq:16 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
BLOCK = get("/v1/blocks?n=100000")
MANY = get("/v1/ids?n=10000&format=text")


def client(world, *words):
    result = world.run("client", *words, "--file", "clients")
    assert result.code == 0, result.err
    return result.out.strip()


def by_name(name, secret, path):
    return get(path, "Authorization: Bearer " + secret)


def counted(server, name):
    return sum(float(n) for n in re.findall(r"(?m)^%s\{.*\} (\d+)$" % name, server.get("/metrics").body))


# ------------------------------------------------------------------ fair shares

def in_a_round(look):
    """Repeats until all conditions hold in one round. In some rounds a busy machine keeps clients from sending, but
    without fair shares the conditions hold in none."""
    end = time.monotonic() + 60 * SLOW
    while True:
        try:
            return look()
        except AssertionError:
            if time.monotonic() > end:
                raise


def beside_nineteen(world, layout, ask, ids, threads):
    """Without fair shares, the others get an id or two per second. How much of their demand a busy machine serves is
    measured by prove_shares."""
    with Server(world, "--threads", str(threads), layout=layout, pacing="clock") as server:
        others = [Client("other", server.resp, b"GET default\r\n", every_s=0.01) for _ in range(19)]
        run(others, 0.3)
        told = apart(lambda: [Client("greedy", server.http, ask, connections=24, ids=ids)], 1.6)
        run(others, 0.6)  # The first time unit may be used up when it starts.
        run(others, 0.7)
        want = 0.7 / 0.01
        greedy = told()[0]
        least, refused = min(one.got for one in others), sum(one.refused for one in others)
        for one in others:
            one.close()
        assert least >= 0.25 * want, (least, want)
        same(refused, 0)
        assert greedy["got"] > 100000 and greedy["refused"] == 0, greedy
        assert counted(server, "vesta_share_waits_total") > 0


@claim("a client that takes all blocks of seconds leaves nineteen others their share, on four threads")
def _(world):
    in_a_round(lambda: beside_nineteen(world, "vesta-second", BLOCK, 0, 4))


@claim("a client that takes all ids of milliseconds leaves nineteen others their share")
def _(world):
    in_a_round(lambda: beside_nineteen(world, "vesta-milli", MANY, 10000, 1))


@claim("a client with eight connections on four threads gets the same as one with a single connection, and a weight "
       "of three gets three times as much")
def _(world):
    secret = {name: client(world, "add", name, "--names", "*", "--calls", "give,block", "--weight", weight)
              for name, weight in (("many", "1"), ("one", "1"), ("heavy", "3"))}
    with Server(world, "--clients", "clients", "--threads", "4", layout=NARROW,
                pacing="clock") as server:
        clients = [Client(name, server.http, by_name(name, secret[name], "/v1/blocks?n=1000"), connections=count)
                   for name, count in (("many", 8), ("one", 1), ("heavy", 1))]
        run(clients, 1.5)

        def look():
            run(clients, 1.5)
            many, one, heavy = (each.got for each in clients)
            assert 0.7 * one < many < 1.4 * one, (many, one)
            assert 2.1 * one < heavy < 4.2 * one, (heavy, one)
        in_a_round(look)


# ------------------------------------------------------------------ rate limits

@claim("a rate limit holds over connections, transactions and pipelines, and a rejection names the client and the "
       "time to retry")
def _(world):
    secret = client(world, "add", "batch", "--names", "*", "--calls", "give,block", "--rate", "200")
    with Server(world, "--clients", "clients") as server:
        below = Client("batch", server.resp, b"GET default\r\n", connections=4, every_s=1 / 40, auth=("batch", secret))
        run([below], 1.0)
        same(below.refused, 0)
        assert below.got >= 100, below.got
        below.close()
        time.sleep(1.1)  # the tokens of one second
        hostile = [Client("batch", server.resp, b"GET default\r\n", connections=20, pipeline=64, auth=("batch", secret)),
                   Client("batch", server.resp, b"MULTI\r\nGET default\r\nGET default\r\nEXEC\r\n", connections=4,
                          auth=("batch", secret))]
        begun = time.monotonic()
        asked = [one for each in hostile for one in each.connections]
        for one in asked:
            one.socket.sendall(one.client.ask * (1 if one.client.pipeline > 1 else 10))
        got, until = [0] * len(asked), begun + 1.0
        texts = b""
        for i, one in enumerate(asked):
            one.socket.settimeout(max(0.01, until - time.monotonic()))
            data = b""
            try:
                while time.monotonic() < until:
                    data += one.socket.recv(65536)
            except TimeoutError:
                pass
            got[i] = len(re.findall(rb"\r?\n?\$\d+\r\n\d+\r\n", data))
            texts += data
        took = time.monotonic() - begun
        assert sum(got) <= 200 + 200 * took + 1 + 24, (sum(got), took)
        for each in hostile:
            each.close()


@claim("a request larger than the saved tokens is paid afterwards, 429 and TRYAGAIN state the client, rate and time, "
       "and SIGHUP lifts the limit")
def _(world):
    secret = client(world, "add", "batch", "--names", "*", "--calls", "give,block", "--rate", "100")
    with Server(world, "--clients", "clients") as server:
        auth = {"Authorization": "Bearer " + secret}
        same(server.get("/v1/ids?n=2000", headers=auth).status, 200)
        over = server.get("/v1/ids?n=1", headers=auth)
        same(over.status, 429)
        assert 17 <= int(over.headers["retry-after"]) <= 20, over.headers
        same(over.headers["content-type"], "application/problem+json")
        assert re.search(r"client 'batch' has reached its rate limit, 100 ids a second: try again in 1\d\.\d{3} s", over.body), over.body
        said = server.say(server.resp, b"AUTH batch %s\r\nGET default\r\n" % secret.encode())
        assert said.startswith(b"+OK\r\n-TRYAGAIN client 'batch' has reached its rate limit"), said
        server.listen("a client exceeds its share")
        same(counted(server, "vesta_share_refusals_total"), 2)
        client(world, "set", "batch", "--rate", "100000")
        server.process.send_signal(signal.SIGHUP)
        server.listen("the file of clients was reloaded")
        same(server.get("/v1/ids?n=1", headers=auth).status, 200)  # The debt is now paid at the new rate.
        client(world, "set", "batch", "--rate", "off", "--requests", "1")
        server.process.send_signal(signal.SIGHUP)
        server.listen("the file of clients was reloaded")
        began = time.monotonic()
        for _ in range(3):
            same(server.get("/genid", headers=auth).status, 200)
        assert time.monotonic() - began > 1.5


@claim("rates of addresses and namespaces limit clients without credentials, blocks can be limited or disabled, and n "
       "is limited per protocol")
def _(world):
    config = """return { single_host = true, shares = { address_rate = 500, address_requests = 1000 },
        http = { blocks_max = 0, n_max = 20 }, resp = { blocks_max = 300 },
        namespaces = { default = { worker = 5 }, slow = { worker = 5, rate = 10, wait_ms_max = 0 } } }"""
    with Configured(world, config) as server:
        same(server.get("/v1/blocks?n=1").status, 403)
        same(server.get("/v1/ids?n=21").status, 400)
        same(server.get("/v1/ids?n=20").status, 200)
        assert "n '301' must be a number from 1 to 300" in server.redis("VESTA.BLOCK", "default", "301").decode()
        same(server.redis("VESTA.NEXT", "slow", "20")[:5], b"*20\r\n")
        said = server.redis("GET", "slow")
        assert said.startswith(b"-TRYAGAIN 'slow' has reached its rate limit, 10 ids a second"), said
        same(server.redis("VESTA.NEXT", "default", "1000")[:7], b"*1000\r\n")
        began = time.monotonic()
        server.redis("GET", "default")
        assert time.monotonic() - began > 0.2  # The address is over its rate, so the request waits.


@claim("an invalid rate, weight or limit is rejected with its key")
def _(world):
    for key, value in (("shares = { address_rate = 0 }", "shares.address_rate is 0"), ("shares = { address_rate = 1.5 }", "shares.address_rate"),
                       ("shares = { address_requests = 1e10 }", "shares.address_requests"), ("shares = { rate = 1 }", "shares.rate is not a key"),
                       ("namespaces = { default = { rate = 0 } }", "namespaces.default.rate is 0"),
                       ("namespaces = { default = { requests = 'x' } }", "namespaces.default.requests"),
                       ("http = { n_max = 0 }", "http.n_max is 0"), ("resp = { n_max = 10001 }", "resp.n_max is 10001"),
                       ("http = { blocks_max = -1 }", "http.blocks_max is -1"), ("resp = { blocks_max = 100001 }", "resp.blocks_max is 100001")):
        with open(world.path("c.lua"), "w") as file:
            file.write("return { %s }" % key)
        fails(world.run("check", "c.lua"), 1, value)
    for words in (("--rate", "0"), ("--rate", "-1"), ("--requests", "1e3"), ("--weight", "1001"), ("--weight", "x"), ("--leases", "0"), ("--leases", "-1")):
        fails(world.run("client", "add", "a", *words, "--file", "clients"), 2, words[0][2:] + " is '" + words[1] + "'")


main()
