"""network_leases.py -- leases of worker ids over the network, for programs that have their own generator."""
import json
import re
import socket
import time

from serving import SLOW, Configured, claim, command, main, same, until_closed

TWO = "sign:1 time:41 seq:21 worker:1 unit=1ms epoch=2020-01-01T00:00:00Z"


def config(world, more="", store=None, layout="snowflake"):
    return ("return { stores = { a = { uri = '%s' } }, namespaces = { default = { store = 'a', layout = '%s' } }, "
            "admin = { listen = 'unix:%s' }, leases = { 'default', 'jobs' } %s }" % (store or "file:" + world.path("store"), layout, world.path("admin.sock"), more))


def asks(server, path, method="POST", token=None):
    reply = server.get("/v1/leases" + path, method, {"Authorization": "Bearer " + token} if token else None)
    return reply.status, json.loads(reply.body)


def leased(server, query="ns=default&ttl=30", token=None):
    status, lease = asks(server, "?" + query, token=token)
    same((status, sorted(lease)), (200, ["expires_at", "expires_ms", "fence", "lease", "ns", "starts_at", "starts_ms", "ttl", "worker"]))
    return lease


def refused(server, path, method="POST", token=None):
    status, error = asks(server, path, method, token)
    return status, error["code"]


def now_ms():
    return int(time.time() * 1000)


@claim("a worker id is leased, renewed and released, and the next holder's ids begin after the last one's")
def _(world):
    with Configured(world, config(world)) as server:
        asked_ms = now_ms()
        lease = leased(server, "ns=default&ttl=20&worker=7&name=billing")
        same((lease["ns"], lease["worker"], lease["fence"], lease["ttl"]), ("default", 7, 1, 20))
        assert asked_ms <= lease["starts_ms"] <= now_ms() and lease["expires_ms"] == lease["starts_ms"] + 20000, lease
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lease["expires_at"]), lease
        same(refused(server, "?ns=default&worker=7"), (503, "lease_busy"))
        status, renewed = asks(server, "/" + lease["lease"], "PUT")
        same((status, renewed["worker"], renewed["fence"], renewed["lease"]), (200, 7, 1, lease["lease"]))
        assert renewed["expires_ms"] > lease["expires_ms"], renewed
        ended_ms = now_ms()
        same(asks(server, "/%s?ended_ms=%d" % (lease["lease"], ended_ms), "DELETE"), (200, {"status": "released"}))
        for method in "DELETE", "PUT":
            same(refused(server, "/" + lease["lease"], method), (410, "lease_lost"))
        again = leased(server, "ns=default&worker=7")
        assert again["fence"] == 2 and again["starts_ms"] > ended_ms, again
        # Without an end, the next holder's ids begin where this lease would have ended.
        short = leased(server, "ns=default&ttl=5&worker=8")
        same(asks(server, "/" + short["lease"], "DELETE")[0], 200)
        same(leased(server, "ns=default&worker=8")["starts_ms"], short["expires_ms"])
        # A name gets the worker id that it had last.
        first = leased(server, "ns=default&name=web")
        same(asks(server, "/%s?ended_ms=0" % first["lease"], "DELETE")[0], 200)
        same(leased(server, "ns=default&name=web")["worker"], first["worker"])


@claim("the Redis protocol has the same leases")
def _(world):
    with Configured(world, config(world)) as server:
        lines = server.redis("VESTA.LEASE", "default", "20", "7", "billing").split(b"\r\n")
        fields = dict(zip(lines[2::4], lines[4::4]))
        names = [line.decode() for line in lines if re.fullmatch(rb"[a-z_]+", line)]
        same(names, ["ns", "default", "worker", "lease", "fence", "ttl", "starts_at", "starts_ms", "expires_at", "expires_ms"])
        lease = next(line for line in lines if line.endswith(b".7.default")).decode()
        assert fields, lines
        same(server.redis("VESTA.LEASE", "default", "20", "7")[:9], b"-TRYAGAIN")
        assert lease.encode() in server.redis("VESTA.RENEW", lease)
        same(server.redis("VESTA.RELEASE", lease, str(now_ms())), b"+OK\r\n")
        assert server.redis("VESTA.RENEW", lease).startswith(b"-ERR the store has no such lease"), lease
        assert b".default\r\n" in server.redis("VESTA.LEASE", "default", "20", "*", "web")
        assert b".default\r\n" in server.redis("VESTA.LEASE", "default")
        assert server.say(server.resp, b"MULTI\r\nVESTA.LEASE default\r\n").endswith(b"-ERR VESTA.LEASE is not allowed in a transaction\r\n")


@claim("a lease outlives its server: a restarted server and another server of the store renew and release it")
def _(world):
    with Configured(world, config(world)) as server:
        lease, other = leased(server), leased(server)
        server.kill()
    with Configured(world, config(world)) as server, Configured(world, config(world).replace("admin.sock", "b.sock"), env={"VESTA_STATE": world.path("b")}) as second:
        same(refused(second, "?ns=default&worker=%d" % lease["worker"]), (503, "lease_busy"))
        for one in server, second, server:
            status, renewed = asks(one, "/" + lease["lease"], "PUT")
            same((status, renewed["worker"], renewed["fence"]), (200, lease["worker"], 1))
        same(asks(second, "/" + other["lease"], "DELETE")[0], 200)
        same(refused(server, "/" + other["lease"], "PUT"), (410, "lease_lost"))


@claim("the lease of a client that disappears expires, and the old lease cannot return")
def _(world):
    with Configured(world, config(world, layout=TWO)) as server:
        lease = leased(server, "ns=default&ttl=1")
        same(refused(server, "?ns=default"), (503, "lease_busy"))  # the server holds the other worker id
        until = time.monotonic() + 20 * SLOW
        while True:
            status, again = asks(server, "?ns=default&ttl=30")
            if status == 200:
                break
            assert time.monotonic() < until, again
            time.sleep(0.05)
        same((again["worker"], again["fence"]), (lease["worker"], 2))
        assert again["starts_ms"] >= lease["expires_ms"], (lease, again)
        for method in "PUT", "DELETE":
            same(refused(server, "/" + lease["lease"], method), (410, "lease_lost"))


@claim("wrong namespaces, ttls, worker ids, names and leases are rejected, and change nothing")
def _(world):
    with Configured(world, config(world)) as server:
        lease = leased(server)["lease"]
        key, worker, _ = lease.split(".")
        for query, want in (("", (400, "bad_field")), ("?ns=other", (404, "unknown_name")), ("?ns=jobs", (404, "unknown_name")),
                            ("?ns=default&ttl=0", (400, "bad_field")), ("?ns=default&ttl=x", (400, "bad_field")),
                            ("?ns=default&ttl=-1", (400, "bad_field")), ("?ns=default&ttl=361", (400, "bad_field")),
                            ("?ns=default&ttl=99999999999999999999", (400, "bad_field")), ("?ns=default&worker=1024", (400, "bad_field")),
                            ("?ns=default&worker=x", (400, "bad_field")), ("?ns=default&name=a%20b", (400, "bad_field")),
                            ("?ns=default&name=" + 65 * "a", (400, "bad_field")), ("?ns=default&x=1", (400, "bad_field"))):
            same((query, refused(server, query)), (query, want))
        for ttl in "0", "361": # the message has the limits of the store
            assert "use 1 to 360 s" in asks(server, "?ns=default&ttl=" + ttl)[1]["detail"]
        for wrong, want in (("", (404, "not_found")), ("x", (400, "bad_field")), (key, (400, "bad_field")), (key[1:] + "." + worker + ".default", (400, "bad_field")),
                            (key.upper() + "." + worker + ".default", (400, "bad_field")), (key + ".x.default", (400, "bad_field")),
                            (key + "." + worker + ".other", (404, "unknown_name")), (key + "." + worker + ".jobs", (404, "unknown_name")),
                            ("0" * 48 + "." + worker + ".default", (410, "lease_lost")), (key[:-1] + "0." + worker + ".default", (410, "lease_lost")),
                            ("0" + key[1:] if key[0] != "0" else "1" + key[1:], (400, "bad_field")),
                            (key + ".1000.default", (410, "lease_lost")), (key + ".18446744073709551615.default", (410, "lease_lost"))):
            for method in "PUT", "DELETE":
                same((wrong, method, refused(server, "/" + wrong, method)), (wrong, method, want))
        same(refused(server, "/" + lease + "?ended_ms=x", "DELETE"), (400, "bad_field"))
        same(refused(server, "/" + lease + "?ended_ms=1", "PUT"), (400, "bad_field"))
        for path, method, allow in (("/v1/leases", "GET", "POST, OPTIONS"), ("/v1/leases/" + lease, "GET", "PUT, DELETE, OPTIONS")):
            reply = server.get(path, method)
            same((reply.status, reply.headers["allow"]), (405, allow))
        for word in "VESTA.RENEW", "VESTA.RELEASE":
            assert server.redis(word, "x").startswith(b"-ERR the lease is malformed")
        same(asks(server, "/" + lease, "PUT")[0], 200)
    with Configured(world, config(world).replace(", leases = { 'default', 'jobs' }", "")) as server:
        same(refused(server, "?ns=default"), (404, "unknown_name"))  # nothing is leased by default
        same(refused(server, "/" + lease, "PUT"), (404, "unknown_name"))


@claim("only a client with the right `lease` and the name may lease, and only that client may renew or release")
def _(world):
    token = {}
    for name, calls, names in ("a", "lease", "default"), ("b", "lease,give", "*"), ("c", "give,block", "*"), ("d", "lease", "orders*"), \
            ("e", "block,lease", "default"):
        done = world.run("client", "add", name, "--names", names, "--calls", calls, "--file", world.path("clients"))
        same(done.code, 0)
        token[name] = done.out.strip()
    log = world.path("access")
    with Configured(world, config(world, ", clients = '%s'" % world.path("clients")), "--access-log", log) as server:
        lease = leased(server, "ns=default&worker=9", token["a"])["lease"]
        for name in "c", "d":
            same((name, refused(server, "?ns=default", token=token[name])), (name, (403, "not_allowed")))
            same((name, refused(server, "/" + lease, "PUT", token[name])), (name, (403, "not_allowed")))
        past = "/v1/blocks?ns=default&n=1&from=1577836800000&until=1577923200000"
        for name, status in ("c", 403), ("a", 403), ("b", 403), ("e", 200):
            same((name, server.get(past, "POST", {"Authorization": "Bearer " + token[name]}).status), (name, status))
        for method in "PUT", "DELETE":  # a stolen lease
            same(refused(server, "/" + lease, method, token["b"]), (410, "lease_lost"))
        same(server.get("/genid", headers={"Authorization": "Bearer " + token["a"]}).status, 403)
        same(asks(server, "/" + lease, "PUT", token["a"])[0], 200)
        admin = server.world.run("workers", "--store", "file:" + world.path("store"), "--json")
        assert "client a at 127.0.0.1" in admin.out and "net:a:" in admin.out, admin.out
        same(asks(server, "/" + lease, "DELETE", token["a"])[0], 200)
    assert lease.split(".")[0] not in open(log).read() + server.said  # the lease is a secret


@claim("a client with a limit holds at most that many worker ids of a namespace, from all servers and whatever it asks for")
def _(world):
    token = {}
    for name, more in ("a", ("--leases", "2")), ("b", ()):
        done = world.run("client", "add", name, "--calls", "lease", *more, "--file", world.path("clients"))
        same(done.code, 0)
        token[name] = done.out.strip()
    listed = [json.loads(line) for line in world.run("client", "list", "--json", "--file", world.path("clients")).lines()]
    same([client.get("leases") for client in listed], [2, None])
    clients = ", clients = '%s'" % world.path("clients")
    with Configured(world, config(world, clients)) as server, \
            Configured(world, config(world, clients).replace("admin.sock", "b.sock"), env={"VESTA_STATE": world.path("b")}) as second:
        first = leased(server, "ns=default&name=x", token["a"])
        short = leased(second, "ns=default&ttl=1&worker=9", token["a"])
        for query in "?ns=default", "?ns=default&worker=7", "?ns=default&name=x":
            same((query, refused(server, query, token=token["a"])), (query, (429, "lease_limit")))
            same((query, refused(second, query, token=token["a"])), (query, (429, "lease_limit")))
        reply = server.get("/v1/leases?ns=default", "POST", {"Authorization": "Bearer " + token["a"]})
        same(json.loads(reply.body)["detail"], "client 'a' holds 2 worker ids of default, and its limit is 2: release one, wait until one expires, "
             "or raise the limit (vesta client set a --leases N)")
        same(reply.headers["retry-after"], "1")
        with server.connect(server.resp) as sock:
            sock.sendall(command("AUTH", "a", token["a"]) + command("VESTA.LEASE", "default"))
            sock.shutdown(socket.SHUT_WR)
            assert b"\r\n-TRYAGAIN client 'a' holds 2 worker ids" in until_closed(sock)
        leased(server, "ns=default", token["b"])  # other clients are not limited
        same(asks(server, "/" + first["lease"], "PUT", token["a"])[0], 200)
        until = time.monotonic() + 20 * SLOW
        while asks(server, "?ns=default", token=token["a"])[0] != 200:  # until worker id 9 expires
            assert time.monotonic() < until
            time.sleep(0.05)
        # An expired lease counts again when it is renewed.
        same(refused(server, "/" + short["lease"], "PUT", token["a"]), (429, "lease_limit"))
        same(asks(server, "/" + first["lease"], "PUT", token["a"])[0], 200)
        same(refused(server, "?ns=default", token=token["a"]), (429, "lease_limit"))
        same(asks(second, "/" + first["lease"], "DELETE", token["a"])[0], 200)
        leased(second, "ns=default", token["a"])


def admin_get(world, path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(world.path("admin.sock"))
        sock.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())
        return json.loads(b"".join(iter(lambda: sock.recv(65536), b"")).partition(b"\r\n\r\n")[2])


def ids_of(block, seqs):
    """The ids of a block, as docs/blocks.md describes, with these offsets."""
    ticks = [int(block["first"]) + i for i in seqs]
    bits = block["seq_bits"]
    return [int(block["base"]) | tick >> bits << block["time_shift"] | (tick & (1 << bits) - 1) << block["seq_shift"] for tick in ticks]


@claim("a block of past dates has all their ids, over HTTP and the Redis protocol, and no two blocks have equal ids")
def _(world):
    year = "from=2019-01-01T00:00:00Z&until=2020-01-01T00:00:00Z"
    with Configured(world, config(world)) as server:
        def past(query, method="POST"):
            reply = server.get("/v1/blocks?" + query, method)
            return reply.status, json.loads(reply.body)
        status, block = past("ns=jobs&n=5&" + year)
        same((status, block["code"]), (404, "unknown_name"))
        server.get("/v1/ids?ns=default", "GET")
        status, block = past("ns=default&n=1000000&" + year)
        same((status, block["from"], block["until"], block["count"], block["others"]),
             (200, "2019-01-01T00:00:00Z", "2020-01-01T00:00:00Z", 365 * 86400000 << 12, 1022))
        ids = ids_of(block, (0, block["count"] - 1))
        parts = [json.loads(server.get("/v1/ids/%d?ns=default" % id, "GET").body) for id in ids]
        same([part["iso"] for part in parts], ["2019-01-01T00:00:00Z", "2019-12-31T23:59:59.999Z"])
        same([part["worker"] for part in parts], [block["worker"]] * 2)
        lines = [line.decode() for line in server.redis("VESTA.BLOCK", "default", "5", "1546300800000", "1577836800000").split(b"\r\n")]
        names = [line for line in lines if line in block]
        same(sorted(names), sorted(block))
        other = lines[lines.index("worker") + 1].lstrip(":")
        assert int(other) != block["worker"], (other, block)
        for query, code in (("ns=default&n=5&from=2019-01-01T00:00:00Z", "bad_field"), ("ns=default&n=0&" + year, "bad_field"),
                            ("ns=default&n=5&from=2019&until=x", "bad_field"), ("ns=none&n=5&" + year, "unknown_name"),
                            ("ns=default&n=5&from=2020-01-01T00:00:00Z&until=2019-01-01T00:00:00Z", "bad_field"),
                            ("ns=default&n=5&from=2019-01-01T00:00:00Z&until=2099-01-01T00:00:00Z", "bad_field"),
                            ("ns=default&n=9000000000000000&" + year, "bad_field")):
            status, error = past(query)
            same((query, error["code"]), (query, code))
        same(past("ns=default&n=5&" + year, "GET")[1]["code"], "bad_field")
        same(json.loads(world.run("workers", "--json", "--store", "file:" + world.path("store")).out)["free"], 2)
        same(world.run("range", "release", "--unused", "--store", "file:" + world.path("store"), block["lease"]).code, 0)
        same(past("ns=default&n=1&" + year)[1]["worker"], block["worker"])


@claim("/admin/status, /admin/workers and the metrics show leases over the network")
def _(world):
    with Configured(world, config(world)) as server:
        lease = leased(server, "ns=default&worker=9&name=billing")
        refused(server, "?ns=default&worker=9")
        asks(server, "/" + lease["lease"], "PUT")
        same(admin_get(world, "/admin/status")["leases"],
             {"namespaces": ["default", "jobs"], "leased": 1, "renewed": 1, "released": 0, "busy": 1, "limited": 0, "lost": 0, "failed": 0})
        until = time.monotonic() + 20 * SLOW
        while not (held := [row for row in admin_get(world, "/admin/workers")["workers"] if row["worker"] == "9"]):
            assert time.monotonic() < until
            time.sleep(0.05)
        same((held[0]["state"], held[0]["identity"]), ("held", "net:default:billing"))
        metrics = server.get("/metrics").body
        assert 'vesta_network_leases_total{result="leased"} 1\n' in metrics and 'vesta_network_leases_total{result="busy"} 1\n' in metrics, metrics


@claim("while a store does not reply, requests for leases fail in time and other requests are answered")
def _(world):
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        store = "mysql://u:p@127.0.0.1:%d/v" % dumb.getsockname()[1]
        served = ("return { stores = { a = { uri = '%s' } }, namespaces = { default = {}, away = { worker = 3, store = 'a' } }, "
                  "leases = { 'away' } }" % store)
        server = Configured(world, served)
        server.quiet = True
        with server, server.connect(server.resp) as sock:
            sock.sendall(command("VESTA.LEASE", "away"))
            began = time.monotonic()
            while time.monotonic() - began < 0.5:
                same(server.get("/healthz").status, 200)
                same(server.get("/genid?ns=default").status, 200)
            with sock.makefile("rb") as file:
                reply = file.readline()
            assert reply.startswith(b"-TRYAGAIN ") and time.monotonic() - began < 15 * SLOW, (reply, time.monotonic() - began)


main()
