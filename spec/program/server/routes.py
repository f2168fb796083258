"""routes.py -- HTTP of `vesta serve`."""
import http.client
import json
import re

from serving import Server, claim, get, main, same, SLOW, until_closed

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@claim("the four routes of Vesta (Java) issue, explain, date and build ids")
def _(world):
    with Server(world, layout="vesta-second", pacing="clock") as server:
        reply = server.get("/genid")
        same((reply.status, reply.headers["content-type"], reply.headers["cache-control"]), (200, "text/plain", "no-store"))
        assert re.fullmatch(r"[1-9][0-9]{17,18}", reply.body), reply.body
        said = server.get("/expid?id=" + reply.body).body
        fields = json.loads(said)
        same(list(fields), ["genMethod", "machine", "seq", "time", "type", "version"])
        same((fields["genMethod"], fields["machine"], fields["type"], fields["version"]), (2, 5, 0, 0))
        same(said, json.dumps(fields, separators=(",", ":")))
        query = "&".join("%s=%d" % item for item in fields.items())
        same(server.get("/makeid?" + query).body, reply.body)
        same(server.get("/makeid?time=%d&seq=%d" % (fields["time"], fields["seq"])).body, reply.body)
        same(server.get("/makeid?version=0&type=0&genMethod=2&machine=1022&time=12758739&seq=0").body, "2319542600899494910")
        same(server.get("/expid?id=2319542600899494910").body,
             '{"genMethod":2,"machine":1022,"seq":0,"time":12758739,"type":0,"version":0}')


@claim("transtime prints Java's Date in the server's time zone")
def _(world):
    with Server(world, layout="vesta-second", pacing="clock", env={"TZ": "CST-8"}) as server:
        same(server.get("/transtime?time=12235264").body, "Fri May 22 14:41:04 CST 2015")
        same(server.get("/transtime?time=0").body, "Thu Jan 01 00:00:00 CST 2015")
        for query in ("", "?time=", "?time=-1", "?time=x", "?time=1073741824", "?time=18446744073709551616"):
            same(server.get("/transtime" + query).status, 400)
    with Server(world, "--namespace", "milli", layout="vesta-milli", pacing="clock", env={"TZ": "CST-8"}) as server:
        same(server.get("/transtime?time=12235264000").body, "Fri May 22 14:41:04 CST 2015")


@claim("TZ is read as in Java, and a TZ that is not a zone is rejected with its value")
def _(world):
    for zone, want in (("GMT+8", "Fri May 22 14:41:04 GMT+08:00 2015"), ("UTC-03:30", "Fri May 22 03:11:04 GMT-03:30 2015"),
                       ("Asia/Shanghai", "Fri May 22 14:41:04 CST 2015"), (":Etc/GMT+8", "Thu May 21 22:41:04 GMT-08:00 2015"),
                       ("", "Fri May 22 06:41:04 UTC 2015"), ("GMT", "Fri May 22 06:41:04 GMT 2015")):
        with Server(world, layout="vesta-second", pacing="clock", env={"TZ": zone}) as server:
            same((zone, server.get("/transtime?time=12235264").body), (zone, want))
    for zone, advice in (("Asia/Beijing", "write Asia/Shanghai"), ("CST", "write Asia/Shanghai or America/Chicago"), ("Mars/Phobos", "such as Asia/Shanghai")):
        failed = world.run("serve", "--http", "unix:" + world.path("zone.sock"), env={"TZ": zone})
        same(failed.code, 2)
        assert "TZ is %s: there is no time zone %s: " % (zone, zone) in failed.err and advice in failed.err, failed.err


@claim("a layout with other fields shows them by their names")
def _(world):
    with Server(world) as server:
        fields = json.loads(server.get("/expid?id=" + server.get("/genid").body).body)
        same(sorted(fields), ["seq", "sign", "time", "worker"])
        query = "&".join("%s=%d" % item for item in fields.items())
        assert int(server.get("/makeid?" + query).body) > 0
        same(server.get("/makeid?time=5&seq=6&machine=7").body, str(5 << 32 | 6 << 10 | 7))


@claim("makeid rejects unknown fields, values that are too large, and a missing time or seq")
def _(world):
    with Server(world, layout="vesta-second", pacing="clock") as server:
        for query, word in (("time=1", "Both time and seq"), ("seq=1", "Both time and seq"), ("", "Both time and seq"),
                            ("time=1&seq=1&colour=3", "colour"), ("time=1&seq=1&machine=1024", "machine"),
                            ("time=1&seq=1048576", "1048576"), ("time=1073741824&seq=1", "1073741824"),
                            ("time=1&seq=1&time=2", "time"), ("time=1&seq=1&type=1", "type"), ("time=1&seq=-1", "-1"),
                            ("time=1&seq=1&genMethod=4", "4"), ("time=1&seq=", "seq"), ("time=1&seq=1&%00=1", "x00"),
                            ("time=1&seq=%", "%"), ("time=1&seq=%zz", "%"), ("time=1&seq=1&" + "a" * 40 + "=1", "aaaa")):
            reply = server.get("/makeid?" + query)
            same((query, reply.status, reply.headers["content-type"]), (query, 400, "text/plain"))
            assert word in reply.body, (query, reply.body)
        same(server.get("/makeid?time=%31&seq=%32").body, server.get("/makeid?time=1&seq=2").body)


@claim("/v1/ids returns the requested number of ids, as JSON strings or as lines")
def _(world):
    with Server(world) as server:
        for n in (1, 2, 1000, 10000):
            reply = server.get("/v1/ids?n=%d" % n)
            ids = json.loads(reply.body)["ids"]
            same((reply.status, reply.headers["content-type"], len(set(ids))), (200, "application/json", n))
            assert all(isinstance(id, str) for id in ids)
        same(len(json.loads(server.get("/v1/ids", method="POST").body)["ids"]), 1)
        same(len(json.loads(server.get("/v1/ids?n=3", method="POST", headers=FORM, body=b"ns=default" + b"&" * 65526).body)["ids"]), 3)
        for reply in (server.get("/v1/ids?n=3&format=text"), server.get("/v1/ids?n=3", headers={"Accept": "text/plain"})):
            same(reply.headers["content-type"], "text/plain")
            assert re.fullmatch(r"(\d+\n){3}", reply.body), reply.body
        same(server.get("/v1/ids?format=json", headers={"Accept": "text/plain"}).headers["content-type"], "application/json")


def problem(reply, status, code):
    same((reply.status, reply.headers["content-type"]), (status, "application/problem+json"))
    said = json.loads(reply.body)
    same(list(said), ["type", "title", "status", "code", "detail"])  # RFC 9457
    same((said["type"], said["title"], said["status"], said["code"]),
         ("about:blank", http.client.responses[status], status, code))
    return said["detail"]


@claim("invalid counts and names return problem documents, and cost no id")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for n in ("0", "-1", "10001", "2147483648", "4294967296", "9223372036854775808", "18446744073709551616", "1;2",
                  "1.5", "1e3", "", "%31%30%30%30%31", "+1", "0x10", "1%002", "9" * 400):
            message = problem(server.get("/v1/ids?n=" + n), 400, "bad_count")
            assert "10000" in message, message
        problem(server.get("/v1/ids?n=1&n=2"), 400, "bad_field")
        problem(server.get("/v1/ids?x=1"), 400, "bad_field")
        problem(server.get("/v1/ids?format=xml"), 400, "bad_field")
        for name in ("orders", "Default", "default%20", "' OR 1=1 --".replace(" ", "%20"), "a`b", "..%2Fx", "x" * 65,
                     "%0d%0aSET%20x", "%00", "%f0%9f%98%80", "%ff"):
            message = problem(server.get("/v1/ids?ns=" + name), 404, "unknown_name")
            assert "'default'" in message, message
        same(server.tick(), before + 1)


@claim("/v1/ids/{id} explains an id, and an invalid one returns a problem document")
def _(world):
    with Server(world, layout="vesta-milli", pacing="clock") as server:
        id = server.get("/genid").body
        reply = server.get("/v1/ids/" + id)
        fields = json.loads(reply.body)
        same((reply.status, fields["id"], fields["worker"], fields["machine"], fields["method"]), (200, id, 5, 5, 2))
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z", fields["iso"]), fields["iso"]
        assert fields["unix_ms"] > 1700000000000
        for text in ("-1", "+1", "0x10", "1e3", "18446744073709551616", "9" * 400, "%D9%A1%D9%A2", "12%2034", "1%00", "abc",
                     "0"):  # 0 has another type than this layout.
            problem(server.get("/v1/ids/" + text), 400, "bad_id")
            same(server.get("/expid?id=" + text).status, 400)
        same(server.get("/expid").status, 400)
        same(server.get("/expid?id=").status, 400)
        problem(server.get("/v1/ids/"), 404, "not_found")
        problem(server.get("/v1/ids/1/2"), 404, "not_found")


@claim("unknown paths return 404, other methods 405 with Allow, and HEAD has no body")
def _(world):
    with Server(world) as server:
        for path in ("/genid/", "/genidx", "/GENID", "/../genid", "/%67enid", "/v1", "/..%2f..%2fetc/passwd", "//genid"):
            same((path, server.get(path).status), (path, 404))
        for path, allowed in (("/genid", "GET, HEAD, POST, OPTIONS"), ("/healthz", "GET, HEAD, OPTIONS"),
                              ("/v1/ids/1", "GET, HEAD, OPTIONS")):
            for method in ("PUT", "DELETE", "PATCH", "TRACE"):
                reply = server.get(path, method=method)
                same((reply.status, reply.headers["allow"], reply.headers["cache-control"]), (405, allowed, "no-store"))
        same(server.get("/v1/ids/1", method="POST").status, 405)
        reply = server.say(server.http, get("/genid", method="HEAD") + get("/healthz", "Connection: close"))
        head, _, rest = reply.partition(b"\r\n\r\n")
        assert re.search(rb"Content-Length: 1\d\Z", head) and rest.startswith(b"HTTP/1.1 200 OK\r\n"), reply
        assert reply.endswith(b"\r\n\r\nok\n"), reply


@claim("GET / lists each route with its description, and an error about a parameter quotes that line")
def _(world):
    with Server(world) as server:
        lines = server.get("/").body.splitlines()[2:]
        same([line for line in lines if not re.fullmatch(r"(POST |PUT\|DELETE )?/\S* -- \S.*", line)], [])
        same(len(lines), len({line.removeprefix("POST ").removeprefix("PUT|DELETE ").split("?")[0].split(" ")[0] for line in lines}))
        for path in ("/genid", "/v1/ids", "/expid", "/v1/blocks"):
            (line,) = [line for line in lines if re.match(re.escape(path) + r"[? ]", line)]
            assert "unknown parameter 'nosuch': " + line in server.get(path + "?nosuch=1").body, line


@claim("a probe over HTTP/1.0 without a Host header is answered")
def _(world):
    with Server(world) as server:
        for path in ("/healthz", "/readyz"):
            assert server.say(server.http, b"GET %s HTTP/1.0\r\n\r\n" % path.encode()).startswith(b"HTTP/1.1 200 OK\r\n"), path


@claim("a path that resembles a route is 404, and the error names the route")
def _(world):
    with Server(world) as server:
        for path, meant in (("/genid/", "/genid"), ("//genid", "/genid"), ("/healthz/", "/healthz"), ("/health", "/healthz"), ("/v1/id", "/v1/ids"),
                            ("/metric", "/metrics"), ("/ready", "/readyz")):
            reply = server.get(path)
            same((path, reply.status, "no such path: %s.  Did you mean %s?  GET / lists the routes" % (path, meant) in reply.body), (path, 404, True))
        for path in ("/nowhere", "/admin/status", "/" + "x" * 100, "/v1/ids/"):
            reply = server.get(path)
            same((reply.status, "Did you mean" in reply.body, "GET / lists the routes" in reply.body), (404, False, True))


@claim("connections stay open according to version and header, and pipelined requests are answered in order")
def _(world):
    with Server(world) as server:
        with server.connect(server.http) as sock:
            for _ in range(3):
                sock.sendall(get("/healthz"))
                data = sock.recv(4096)
                assert data.endswith(b"ok\n") and b"Connection" not in data, data
            sock.sendall(get("/healthz", "Connection: close"))
            assert b"Connection: close\r\n" in until_closed(sock)
        data = server.say(server.http, b"GET /healthz HTTP/1.0\r\n\r\n", end=False)
        assert b"Connection: close\r\n" in data, data
        with server.connect(server.http) as sock:
            for _ in range(2):
                sock.sendall(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                assert b"Connection: keep-alive\r\n" in sock.recv(4096)
        data = server.say(server.http, get("/genid") * 5000)
        ids = [int(id) for id in re.findall(rb"\r\n\r\n(\d+)", data)]
        same(len(ids), 5000)
        assert all(b - a == 1024 for a, b in zip(ids, ids[1:])), "out of order"
        pieces = get("/healthz") + get("/v1/ids", "Content-Length: 3", "Content-Type: application/x-www-form-urlencoded", method="POST") + b"n=2" + get("/genid")
        with server.connect(server.http) as sock:  # for every split of the stream
            for byte in pieces:
                sock.sendall(bytes([byte]))
            data = b""
            while not re.search(rb"\r\n\r\n\d{15,19}\Z", data):
                data += sock.recv(4096)
            same(data.count(b"HTTP/1.1 200 OK\r\n"), 3)


@claim("Expect: 100-continue is answered before the body")
def _(world):
    with Server(world) as server:
        with server.connect(server.http) as sock:
            sock.sendall(get("/v1/ids", "Content-Length: 3", "Expect: 100-continue",
                             "Content-Type: application/x-www-form-urlencoded", method="POST"))
            same(sock.recv(4096), b"HTTP/1.1 100 Continue\r\n\r\n")
            sock.sendall(b"n=2")
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


@claim("a client that sends a request too slowly gets 408 and is disconnected")
def _(world):
    with Server(world) as server:
        with server.connect(server.http) as sock, server.connect(server.resp) as redis:
            sock.sendall(b"GET /genid HTTP/1.1\r\n")
            redis.sendall(b"*2\r\n$3\r\nGET\r\n")
            assert until_closed(sock).startswith(b"HTTP/1.1 408 ")
            same(until_closed(redis), b"")


@claim("for a client that never reads, the server buffers a bounded reply")
def _(world):
    with Server(world) as server:
        before = server.rss_kb()
        socks = [server.connect(server.http) for _ in range(8)]
        for sock in socks:
            sock.settimeout(0.5)
            try:
                for _ in range(200):
                    sock.sendall(get("/v1/ids?n=10000") * 50)
            except OSError:
                pass
        same(server.get("/healthz").status, 200)
        grown = server.rss_kb() - before
        assert grown < 8 * 2048 * SLOW, "%d KiB for 8 connections" % grown
        for sock in socks:
            sock.close()


main()
