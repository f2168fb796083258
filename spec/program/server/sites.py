"""sites.py -- requests that a browser sends for pages of other sites, or to names rebound to this machine."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from serving import SLOW, Configured, Server, claim, fails, free_port, get, give_back, main, same, write

SHOP = "https://shop.example"
FOREIGN = [["Sec-Fetch-Site: cross-site"], ["Sec-Fetch-Site: same-site"], ["Origin: https://evil.example"], ["Origin: null"],
           ["Origin: http://t.evil.example"], ["Origin: http://t:81"], ["Origin: t"], ["Origin: file://"],
           ["Origin: chrome-extension://t"], ["Sec-Fetch-Site: cross-site", "Origin: http://t"],
           ["Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image", "Referer: http://t/"],
           ["Upgrade: websocket", "Connection: Upgrade", "Origin: http://evil.example", "Sec-WebSocket-Version: 13"]]
OWN = [[], ["Sec-Fetch-Site: same-origin"], ["Sec-Fetch-Site: none"], ["Origin: http://t"], ["Origin: https://T"],
       ["Sec-Fetch-Mode: cors"], ["Sec-Fetch-Site: same-origin", "Origin: https://ids.example"], ["Referer: http://evil.example/"]]
NAMES = ["t", "localhost", "LOCALHOST:8088", "127.0.0.1", "10.0.0.5:80", "[::1]", "[::1]:8088", "::1", "fe80::1", "[::ffff:127.0.0.1]:80", "vesta_upstream", "a.localhost", ""]
STRANGE = ["[::1].evil.example", "[::1].evil.example:80", "[evil.example]", "::1.evil.example", "[::1]evil", "a]", "t:80.evil.example",
           "evil.example", "evil.example:8088", "127.0.0.1.nip.io", "vesta.default.svc.cluster.local"]
GIVING = ["/genid", "/v1/ids?n=3", "/v1/blocks?n=100", "/api/snowflake/get/default"]


def named(host, path="/genid", *headers):
    return get(path, *headers).replace(b"Host: t", b"Host: " + host.encode())


def parts(raw):
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    return int(lines[0].split()[1]), {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}, body.decode()


def refused(raw, status, code, *words):
    got, headers, body = parts(raw)
    same((got, headers["content-type"], headers["x-content-type-options"]), (status, "application/problem+json", "nosniff"))
    assert not [name for name in headers if name.startswith("access-control")], headers
    problem = json.loads(body)
    same((problem["status"], problem["code"]), (status, code))
    for word in words:
        assert word in problem["detail"], problem["detail"]


def counted(server, code):
    found = re.search(r'vesta_requests_total\{proto="http",code="%s"\} (\d+)' % code, server.get("/metrics").body)
    return int(found.group(1)) if found else 0


@claim("a page of another site gets no id by any method or route, and pages of this server and curl are served")
def _(world):
    with Server(world) as server:
        asked, first = 0, server.tick()
        for headers in FOREIGN:
            for path in GIVING if headers in FOREIGN[:3] else GIVING[:1]:
                for method in "GET", "POST", "HEAD", "OPTIONS":
                    raw = server.say(server.http, get(path, *headers, method=method))
                    if method == "HEAD":
                        same(parts(raw)[0], 403)
                    else:
                        refused(raw, 403, "cross_site", "http.allow_origins", "--allow-origins")
                    asked += 1
        refused(server.say(server.http, get("/genid", "Origin: https://evil.example")), 403, "cross_site", "a web page of https://evil.example")
        same(server.tick(), first + 1)
        same(counted(server, "cross_site"), asked + 1)
        for headers in OWN:
            same(parts(server.say(server.http, get("/genid", *headers)))[0], 200)
        same(server.tick(), first + 2 + len(OWN))
        for method in "GET", "HEAD":  # A link to the index may be anywhere.
            same(parts(server.say(server.http, get("/", *FOREIGN[0], method=method)))[0], 200)
        same(parts(server.say(server.http, get("/", "Origin: null")))[0], 403)


@claim("a rejection does not affect the next request on the connection, in any order")
def _(world):
    heads = [(get("/genid", *headers), status) for headers, status in
             (([], 200), (FOREIGN[0], 403), (OWN[1], 200), (FOREIGN[2], 403), (OWN[3], 200), (["Origin: http://u"], 403))]
    heads += [(named("u"), 200), (named("u.example"), 421)]
    with Server(world) as server:
        order = [pair for one in heads for other in heads for pair in (one, one, other, other, one)]
        said = server.say(server.http, b"".join(head for head, _ in order))
        same([int(status) for status in re.findall(rb"HTTP/1.1 (\d+) ", said)], [status for _, status in order])


@claim("on a local address, a host name that any DNS may point here is rejected unless it is listed")
def _(world):
    with Server(world) as server:
        first = server.tick()
        for name in NAMES:
            same((name, parts(server.say(server.http, named(name)))[0]), (name, 200))
        same(parts(server.say(server.http, b"GET /genid HTTP/1.0\r\n\r\n"))[0], 200)
        for name in STRANGE:
            for path in *GIVING, "/", "/healthz", "/metrics":
                refused(server.say(server.http, named(name, path)), 421, "foreign_host", "'%s'" % name, "http.hosts", "localhost")
            refused(server.say(server.http, named(name, "/genid", "Sec-Fetch-Site: same-origin")), 421, "foreign_host")
        for target, host, status in (("http://t", "evil.example", 200), ("http://127.0.0.1:80", "", 200), ("http://evil.example", "t", 421),
                                     # The host in the request target counts.
                                     ("https://evil.example:80", "127.0.0.1", 421)):
            same((target, parts(server.say(server.http, named(host, target + "/genid")))[0]), (target, status))
        same(server.tick(), first + len(NAMES) + 4)
    with Server(world, "--http-hosts", "ids.example,IDS2.example") as server:
        for name in "ids.example", "IDS.EXAMPLE:8088", "ids.example.", "ids2.example", "t":
            same(parts(server.say(server.http, named(name)))[0], 200)
        for name in "ids.example.evil.example", "xids.example", "a.ids.example", "example.":
            same((name, parts(server.say(server.http, named(name)))[0]), (name, 200 if name == "example." else 421))
    with Configured(world, 'return { namespaces = { x = { worker = 1 } }, http = { hosts = "*" } }') as server:
        same(parts(server.say(server.http, named("evil.example")))[0], 200)


@claim("on public addresses any host name is accepted until names are listed, but pages of other sites are rejected")
def _(world):
    port = free_port()
    for flags, status in ((), 200), (("--http-hosts", "ids.example"), 421):
        with Server(world, "--single-host", "--open", "--http", "0.0.0.0:%d" % port, *flags) as server:
            same(parts(server.say(port, named("vesta.default.svc.cluster.local")))[0], status)
            same(parts(server.say(port, named("ids.example")))[0], 200)
            refused(server.say(port, get("/genid", "Sec-Fetch-Site: cross-site")), 403, "cross_site")
    give_back(port)


@claim("a listed origin, spelled exactly, can send requests and read replies, and its preflight is answered")
def _(world):
    with Server(world, "--allow-origins", SHOP + ",http://127.0.0.1:3000") as server:
        for path in GIVING + ["/expid?id=x", "/nowhere", "/v1/ids?n=0"]:
            plain = parts(server.say(server.http, get(path)))
            got = parts(server.say(server.http, get(path, "Origin: " + SHOP, "Sec-Fetch-Site: cross-site")))
            same((got[0], got[1]["content-type"]), (plain[0], plain[1]["content-type"]))
            same(got[1]["access-control-allow-origin"], SHOP)
            assert not [name for name in plain[1] if name.startswith("access-control")], plain
        status, headers, body = parts(server.say(server.http, get(
            "/v1/ids", "Origin: " + SHOP, "Access-Control-Request-Method: POST", "Sec-Fetch-Site: cross-site", method="OPTIONS")))
        same((status, body, headers["access-control-allow-origin"]), (200, "", SHOP))
        assert "POST" in headers["access-control-allow-methods"] and "Authorization" in headers["access-control-allow-headers"], headers
        for near in ("https://shop.example:443", "http://shop.example", "https://SHOP.example", "https://shop.example/", "https://shop.example.evil",
                     "https://xshop.example", "https://shop.exampl", "http://127.0.0.1:30001", "http://127.0.0.1", "*", "null"):
            refused(server.say(server.http, get("/genid", "Origin: " + near)), 403, "cross_site")
        # A request without Origin is not from a listed origin.
        refused(server.say(server.http, get("/genid", "Sec-Fetch-Site: cross-site")), 403, "cross_site")
    for wrong in "*", "null", "shop.example", "https://shop.example/", "https://Shop.example", "https://", "https://a/b", "https://" + "a" * 254, "":
        fails(world.run("serve", "--allow-origins", wrong), 2, "--allow-origins")
    for wrong in "a:80", "http://a.example", "*.example", "a.example.", "a b", "":
        fails(world.run("serve", "--http-hosts", wrong), 2, "--http-hosts")


@claim("a request of a listed origin that had to wait is answered with its headers")
def _(world):
    slow = "sign:1 time:53 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
    with Server(world, "--allow-origins", SHOP, "--wait-ms", "20000", layout=slow, pacing="clock") as server:
        said = server.say(server.http, 3 * get("/genid", "Origin: " + SHOP))  # Each second has one id.
        same((said.count(b"200 OK"), said.count(b"Access-Control-Allow-Origin: " + SHOP.encode())), (3, 3))


@claim("the admin's routes answer only their own page, over TCP and through a tunnel to a Unix socket")
def _(world):
    path, port = world.path("admin"), free_port()
    with Server(world, "--admin", "unix:" + path, "--allow-origins", SHOP):
        def ask(*words):
            done = subprocess.run(["curl", "-s", "-o", "-", "-w", "%{http_code}", "--unix-socket", path, *words], capture_output=True, text=True, timeout=60)
            return done.stdout[-3:], done.stdout[:-3]
        tunnel = "http://localhost:8090"
        for headers in ["Origin: " + SHOP], ["Origin: http://localhost:8091"], ["Sec-Fetch-Site: same-site"]:
            for method, route in ("POST", "/admin/drain"), ("GET", "/admin/status"), ("GET", "/admin/events"), ("GET", "/page/page.js"):
                status, body = ask("-X", method, *[word for line in headers for word in ("-H", line)], tunnel + route)
                same((status, json.loads(body)["code"]), ("403", "cross_site"))
                assert "own page" in body, body
        same(ask("http://evil.example:8090/admin/status")[0], "421")
        for headers in ["Sec-Fetch-Site: same-origin"], ["Origin: " + tunnel], ["Sec-Fetch-Site: none"]:
            same(ask(*[word for line in headers for word in ("-H", line)], tunnel + "/admin/status")[0], "200")
        same(ask("-H", "Sec-Fetch-Site: cross-site", "-H", "Accept: text/html", tunnel + "/")[0], "200")
    give_back(port)


@claim("every reply has nosniff, including errors and streams")
def _(world):
    with Server(world, "--admin", "127.0.0.1:%d" % free_port(), env={"VESTA_ADMIN_TOKEN": "x"}) as server:
        for path in GIVING + ["/", "/healthz", "/readyz", "/metrics", "/version", "/expid?id=1", "/nowhere", "/v1/ids?n=0", "/v1/ids?format=text"]:
            for method in "GET", "POST", "HEAD", "OPTIONS", "DELETE":
                said = parts(server.say(server.http, get(path, method=method)))
                same((path, method, said[1].get("x-content-type-options")), (path, method, "nosniff"))
        for broken in b"GET / HTTP/1.1\r\n\r\n", b"GET x HTTP/1.1\r\nHost: t\r\n\r\n", b"nonsense\r\n\r\n":
            same(parts(server.say(server.http, broken))[1]["x-content-type-options"], "nosniff")


@claim("metrics, readiness and version can be restricted to the admin listener, but not liveness")
def _(world):
    path = world.path("admin")
    config = "return { namespaces = { x = { worker = 1 } }, http = { state = false } }"
    for server in Server(world, "--admin", "unix:" + path, "--no-http-state"), Configured(world, config, "--admin", "unix:" + path):
        with server:
            for route in "/metrics", "/readyz", "/version":
                for method in "GET", "HEAD", "POST", "OPTIONS":
                    same((route, method, parts(server.say(server.http, get(route, method=method)))[0]), (route, method, 404))
                assert "admin listener" in server.get(route).body
                assert route not in server.get("/").body
                done = subprocess.run(["curl", "-sf", "--unix-socket", path, "http://localhost" + route], capture_output=True, timeout=60)
                assert done.returncode == 0 and done.stdout, done
            same([server.get(route).status for route in ("/healthz", "/genid", "/")], [200, 200, 200])
    for text, code in (config, True), (config.replace("false", "true"), False):
        done = world.run("check", write(world, text))
        assert ("/version cannot be requested" in done.out + done.err) == code, done.out + done.err
    fails(world.run("check", write(world, config.replace("false", "1"))), 1, "http.state")


NGINX = """worker_processes 1;
pid %(folder)s/nginx.pid;
error_log stderr warn;
events { worker_connections 64; }
http {
    access_log off;
    client_body_temp_path %(folder)s/a; proxy_temp_path %(folder)s/b; fastcgi_temp_path %(folder)s/c;
    uwsgi_temp_path %(folder)s/d; scgi_temp_path %(folder)s/e;
    upstream vesta_ids { server 127.0.0.1:%(vesta)d; }
    server {
        listen 127.0.0.1:%(port)d;
        location /plain/ { proxy_pass http://127.0.0.1:%(vesta)d/; }
        location /named/ { proxy_pass http://vesta_ids/; }
        location /passed/ { proxy_pass http://vesta_ids/; proxy_set_header Host $host; }
    }
}
"""


def until_connected(server, port):
    for _ in range(500 * SLOW):
        try:
            return server.connect(port).close()
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise AssertionError("nginx does not listen")


@claim("behind nginx, pages of the same host are served by address, by the upstream's name and by a listed name, and "
       "other pages are not")
def _(world):
    nginx, port = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"), free_port()
    with Server(world, "--http-hosts", "ids.example") as server:
        with open(world.path("nginx.conf"), "w") as file:
            file.write(NGINX % {"folder": world.folder, "vesta": server.http, "port": port})
        front = subprocess.Popen([nginx, "-p", world.folder, "-c", world.path("nginx.conf"), "-g", "daemon off;", "-e", "stderr"])
        try:
            until_connected(server, port)
            for where, name, status in (("plain", "ids.example", 200), ("named", "any.example", 200), ("passed", "ids.example", 200),
                                        ("passed", "any.example", 421)):
                def ask(*headers):
                    return parts(server.say(port, named(name, "/%s/genid" % where, "Connection: close", *headers), end=False))[0]
                own = ["Sec-Fetch-Site: same-origin", "Origin: https://" + name]  # from a page behind the same nginx
                same((where, name, ask(), ask(*own)), (where, name, status, status))
                for headers in FOREIGN[:3]:
                    same(ask(*headers), 421 if status == 421 else 403)
        finally:
            front.send_signal(signal.SIGTERM)
            front.wait(20 * SLOW)
            give_back(port)


main()
