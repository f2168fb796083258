"""admin.py -- the admin's routes."""
import json
import os
import re
import signal
import socket
import time

from serving import SLOW, Server, claim, fails, free_port, get, main, refuses_soon, same, until_closed

TOKEN = "correct horse battery staple"
KNOWN = "Authorization: Bearer " + TOKEN
ROUTES = [("GET", "/admin/status"), ("POST", "/admin/reload"), ("POST", "/admin/drain"), ("POST", "/admin/log?level=info")]


class Administered(Server):
    """A server with an admin listener, on a Unix socket, or on a port with a token."""

    def __init__(self, world, *flags, port=None, token=None, **more):
        self.path = world.path("admin.sock")
        self.admin = port
        address = "127.0.0.1:%d" % port if port else "unix:" + self.path
        super().__init__(world, "--admin", address, *flags, env={"VESTA_ADMIN_TOKEN": token} if token else None, **more)

    def ask(self, method, path, *headers, body=b""):
        """Sends one request and returns its status, its head as text, and its body, parsed if it is JSON."""
        data = get(path, "Connection: close", *headers, *(["Content-Length: %d" % len(body)] if body else []), method=method) + body
        if self.admin:
            reply = self.say(self.admin, data)
        else:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(self.path)
                sock.sendall(data)
                reply = until_closed(sock)
        head, _, body = reply.decode().partition("\r\n\r\n")
        return int(head.split()[1]), head, json.loads(body) if body and "json\r\n" in head else body


def refused(reply, status, code):
    same((reply[0], reply[2]["status"], reply[2]["code"]), (status, status, code))
    assert "Content-Type: application/problem+json\r\n" in reply[1], reply[1]


@claim("the status shows the server, its namespaces and its policies")
def _(world):
    policy = world.path("p.lua")
    with open(policy, "w") as file:
        file.write("return { api = 1, name = 'p', on_exhausted = function() return 'wait' end }")
    with Administered(world, "--policy", policy, layout="vesta-milli", pacing="clock") as server:
        server.get("/v1/ids?n=20")
        server.redis("MGET", "default", "default")
        status, head, said = server.ask("GET", "/admin/status")
        assert status == 200 and "Content-Type: application/json\r\n" in head and "no-store" in head, head
        same((said["pid"], said["draining"], said["waiting"], said["policies"]["generation"], said["policies"]["stuck"],
              said["policies"]["reload_ok"]), (server.process.pid, False, 0, 1, False, True))
        (space,) = said["namespaces"]
        same((space["name"], space["ready"], space["holds_lease"], space["worker"], space["pacing"], space["ids"]),
             ("default", True, True, "5", "clock", {"resp": 2, "http": 20}))
        assert 0 < int(space["tick"]) < int(space["limit"]) and space["lease_end_ms"] > 1700000000000, space
        assert space["layout"].startswith("version:1 ") and space["pauses"]["full"] == 0


@claim("the status has the host, capacity and durations of requests, and recent events: leases, reloads, limits, connections refused")
def _(world):
    policy, clients = world.path("p.lua"), world.path("clients")
    with open(policy, "w") as file:
        file.write("return { api = 1, name = 'p', on_exhausted = function() return 'wait' end }")
    secret = world.run("client", "add", "shop", "--names", "*", "--calls", "give", "--rate", "1", "--file", clients).out.strip()
    with Administered(world, "--policy", policy, "--clients", clients, "--address-connections", "2", layout="vesta-milli") as server:
        for _ in range(3):
            same(server.get("/v1/ids?n=1", headers={"Authorization": "Bearer " + secret}).status in (200, 429), True)
        before = server.ask("GET", "/admin/status")[2]
        with open(policy, "w") as file:
            file.write("return {")
        server.ask("POST", "/admin/reload")
        server.listen("reload failed")
        open_ones = [server.connect(server.http) for _ in range(3)]
        wanted = {"lease_claimed", "reload_failed", "client_limited", "connections_refused"}
        end = time.monotonic() + 60 * SLOW
        while not wanted <= {event["kind"] for event in server.ask("GET", "/admin/status")[2]["recent"]}:
            assert time.monotonic() < end, server.ask("GET", "/admin/status")[2]["recent"]
            time.sleep(0.1)
        said = server.ask("GET", "/admin/status")[2]
        for sock in open_ones:
            sock.close()
    same((said["host"], "name" in said), (socket.gethostname(), False))
    same((said["namespaces"][0]["capacity_s"], said["namespaces"][0]["worker_assigned"]), (1024000, True))
    same((len(said["durations"]["http"]), sum(before["durations"]["http"]), sum(before["durations"]["resp"])), (len(said["durations"]["le_us"]) + 1, 3, 0))
    events = {event["kind"]: event for event in said["recent"]}
    numbers = [event["number"] for event in said["recent"]]
    same((numbers, events["lease_claimed"]["namespace"], events["lease_claimed"]["text"]), (list(range(len(numbers), 0, -1)), "default", "worker id 5 is leased"))
    assert events["client_limited"]["text"].startswith("client shop reached its limit (requests: "), events
    assert "1 connection was refused" in events["connections_refused"]["text"] and events["reload_failed"]["level"] == "error", events
    assert events["reload_failed"]["text"].startswith("the reload failed, and the old policies stay in use: --policy"), events
    assert all(abs(event["unix_ms"] / 1000 - time.time()) < 600 for event in said["recent"]), events


@claim("POST reload works like SIGHUP: a valid policy is used and counted, and an invalid one is rejected and reported")
def _(world):
    policy = world.path("p.lua")

    def write(text):
        with open(policy, "w") as file:
            file.write(text)
    write("return { api = 1, name = 'p', on_exhausted = function() return 'wait' end }")
    with Administered(world, "--policy", policy) as server:
        for text, generation, good in (("return { api = 1, name = 'p', on_exhausted = function() return 'refuse' end }", 2, True),
                                       ("return {", 2, False)):
            write(text)
            status, _, said = server.ask("POST", "/admin/reload")
            same((status, said), (202, {"status": "reloading"}))
            server.listen("reloaded: the new policies" if good else "reload failed")
            while True:
                policies = server.ask("GET", "/admin/status")[2]["policies"]
                if (policies["generation"], policies["reload_ok"]) == (generation, good):
                    break
            same("last_error" in policies, not good)
        assert "admin: reload requested" in server.said, server.said
    with Administered(world, "--namespace", "plain") as server:
        refused(server.ask("POST", "/admin/reload"), 409, "no_policies")


@claim("POST drain works like SIGTERM, and a second POST is not a second SIGTERM")
def _(world):
    slow = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"  # 2 ids per second
    with Administered(world, "--wait-ms", "4000", layout=slow, pacing="clock") as server:
        with server.connect(server.http) as busy, socket.socket(socket.AF_UNIX) as again:
            busy.sendall(get("/v1/ids?n=6"))
            again.connect(server.path)
            again.sendall(b"POST /admin/drain HTTP/1.1\r\n")  # An incomplete request keeps its connection open.
            while server.ask("GET", "/admin/status")[2]["waiting"] != 1:
                pass
            same(server.ask("POST", "/admin/drain")[0], 202)
            again.sendall(b"Host: t\r\n\r\n")
            assert until_closed(again).startswith(b"HTTP/1.1 202 ")
            refuses_soon(server)
            assert until_closed(busy).startswith(b"HTTP/1.1 200 ")
        same(server.process.wait(10 * SLOW), 0)
        server.listen("admin: drain requested")


@claim("the log level can be changed at run time")
def _(world):
    with Administered(world) as server:
        same(server.ask("POST", "/admin/log?level=error")[2], {"status": "error"})
        server.process.send_signal(signal.SIGUSR2)  # SIGUSR2 logs the state of each namespace at level info.
        same(server.ask("POST", "/admin/log", "Content-Type: application/x-www-form-urlencoded", body=b"level=info")[0], 202)
        server.process.send_signal(signal.SIGUSR2)
        said = server.listen("namespace=default")
        assert "level=info" in said, said
        for query in ("", "?level=", "?level=loud", "?level=INFO", "?level=info%00", "?level=" + "x" * 4000, "?x=1",
                      "?level=info&level=info"):
            refused(server.ask("POST", "/admin/log" + query), 400, "bad_field")


@claim("with a token, every request without it is rejected and logged")
def _(world):
    with Administered(world, token=TOKEN) as server:
        wrong = [(), ("Authorization: " + TOKEN,), ("Authorization: Bearer",), ("Authorization: Bearer ",),
                 ("Authorization: Basic " + TOKEN,), (KNOWN[:-1],), (KNOWN + "x",), ("Authorization: Bearer " + TOKEN.upper(),),
                 ("Authorization: Bearer " + "x" * 8000,), ("Authorization: Bearer \xff\xfe",)]
        for method, path in ROUTES:
            for headers in wrong:
                reply = server.ask(method, path, *headers)
                refused(reply, 401, "no_token")
                assert 'WWW-Authenticate: Bearer realm="vesta"\r\n' in reply[1], reply[1]
        refused(server.ask("GET", "/admin/status", KNOWN, KNOWN), 400, "bad_request")
        server.listen("admin: request rejected, because the token is missing or wrong")
        same(server.ask("GET", "/admin/status", KNOWN)[0], 200)
        same(server.ask("GET", "/admin/status", KNOWN.replace("Bearer", "bearer"))[0], 200)
        assert TOKEN not in server.said


@claim("over TCP these routes require a token, and a server without a token does not start")
def _(world):
    port = free_port()
    with Administered(world, port=port, token=TOKEN) as server:
        same(server.ask("GET", "/admin/status", KNOWN)[0], 200)
        refused(server.ask("GET", "/admin/status"), 401, "no_token")
        same(server.ask("GET", "/healthz")[2], "ok\n")  # These replies contain no internals, so they need no token.
        same(server.ask("GET", "/readyz")[0], 200)
        assert "vesta_ids_issued_total" in server.ask("GET", "/metrics")[2]
        assert "/admin/drain" in server.ask("GET", "/")[2]
    fails(world.run("serve", "--admin", "127.0.0.1:%d" % port, "--worker", "1"), 2, "VESTA_ADMIN_TOKEN")


@claim("actions require POST, the admin listener issues no ids, and no public listener has these routes")
def _(world):
    with Administered(world) as server:
        before = server.tick()
        for method, path in ROUTES[1:]:
            for other in ("GET", "HEAD", "PUT", "DELETE"):
                reply = server.ask(other, path)
                same(reply[0], 405)
                assert re.search(r"(?m)^Allow: POST, OPTIONS\r?$", reply[1]), reply[1]
        for path in ("/genid", "/v1/ids", "/v1/blocks?n=1", "/api/snowflake/get/default", "/makeid?time=1&seq=1", "/admin", "/admin/",
                     "/admin/status/", "/admin//status", "/Admin/status", "/admin/%73tatus", "/admin/..%2fgenid"):
            refused(server.ask("GET", path), 404, "not_found")
        for method, path in ROUTES:
            for spelt in (path, path.replace("/admin", "//admin"), path.replace("/admin", "/%61dmin"), path.replace("/admin", "/x/../admin")):
                same((spelt, server.get(spelt, method=method, headers={"Authorization": "Bearer x"}).status), (spelt, 404))
        assert "admin" not in server.get("/").body
        same(server.tick(), before + 1)


@claim("docs/http.md lists every route that GET / lists, with its method")
def _(world):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "http.md")) as page:
        listed = set(re.findall(r"(?m)^\| `((?:POST )?/[^`?]*)", page.read()))
    with Administered(world) as server:
        lists = server.get("/").body + server.ask("GET", "/")[2]
        same(set(re.findall(r"(?m)^((?:POST )?/[^\s?]*)", lists)), listed)


main()
