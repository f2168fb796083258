"""hostile_http.py -- HTTP requests that must not get an id, one row per rejection.

Each is rejected once with its status and the end of the connection, even if its bytes look like several requests. It
costs no id, and the next request is served.
"""
import re
import threading

from hostile import CHUNKS, FORM, FORMS, LARGE, LINES, SMUGGLED, TARGETS, TWO_READINGS, ask, post
from serving import Server, claim, get, main, same, until_closed

COUNTS = ["0", "-1", "+1", "2147483648", "4294967296", "9223372036854775808", "18446744073709551616", "1;2", "1.5", "1e3", "",
          "0x10", "1%002", "%D9%A1", "1%0a", "%201", "10001", "9" * 400]
TAGS = ["'%20OR%201=1%20--", "a`b", "../x", "Default", "default%20", "%20default", "x" * 65, "%ff%fe", "%c3%28", "%f0%9f%98%80",
        "%0d%0aSET%20x", "%00", "default%00", "", "%2e%2e%2f", "%2525", "default,default", "${jndi:x}", "<script>"]
IDS = ["", "-1", "+1", "0x10", "1e3", "18446744073709551616", "9" * 400, "%D9%A1%D9%A2", "12%2034", "1%00", "abc"]

SERVED = [  # rejected with an error body, on a connection that stays open
    *[("n=" + n, 400, ask("/v1/ids?n=" + n)) for n in COUNTS],
    *[("n=%s in a form" % n, 400, ask("/v1/ids", FORM, method="POST", body=b"n=" + n.encode())) for n in COUNTS],
    *[("a block of " + n, 400, ask("/v1/blocks?n=" + n)) for n in COUNTS if n != "10001"],
    *[("ns=" + tag, 404, ask(path + "ns=" + tag)) for tag in TAGS
      for path in ("/genid?", "/v1/ids?", "/v1/blocks?n=1&", "/expid?id=1&", "/makeid?time=1&seq=1&", "/v1/ids/1?")],
    ("ns of 64 KiB in a form", 404, ask("/v1/ids", FORM, method="POST", body=b"ns=" + b"x" * 65533)),
    *[("id " + text, 400, ask("/expid?id=" + text)) for text in IDS],
    *[("id %s in the path" % text, 400, ask("/v1/ids/" + text)) for text in IDS if text],
    *[(path, 404, ask(path)) for path in (
        "/..", "/../etc/passwd", "/%2e%2e/etc/passwd", "/..%2fetc%2fpasswd", "/%252e%252e", "//genid", "/genid/", "/genid%00",
        "/genid%2f", "/./genid", "/v1/../genid", "/v1/ids/1/2", "/v1/ids/", "/GENID", "/genid;x=1", "/%67enid", "/~root")],
    *[("a parameter " + text, 400, ask("/v1/ids?" + text)) for text in (
        "x=1", "n=1&n=1", "n=1&N=1", "=1", "%=1", "n=%4", "n=%zz", "n[]=1", "format=xml", "n=1&&x", "a" * 3000)],
    ("a count twice, in query and form", 400, ask("/v1/ids?n=1", FORM, method="POST", body=b"n=1")),
    ("a body of JSON", 415, ask("/v1/ids", "Content-Type: application/json", method="POST", body=b'{"n":1}')),
    ("a body without a type", 415, ask("/v1/ids", method="POST", body=b"n=1")),
    ("a body of another type that begins as a form's", 415, ask("/v1/ids", FORM + "x", method="POST", body=b"n=1")),
    ("a type that is not to be had", 406, ask("/v1/ids", "Accept: text/html")),
    ("one that is not wanted", 406, ask("/v1/ids", "Accept: application/json;q=0, text/plain;q=0")),
    ("text of an id", 406, ask("/v1/ids/1", "Accept: text/plain")),
    *[("the method " + method, 405, ask("/genid", method=method)) for method in ("PUT", "DELETE", "TRACE", "PROPFIND", "M-SEARCH")],
    ("CONNECT to a path", 405, ask("/genid", method="CONNECT")),
    ("a request as the body of a GET", 415, ask("/healthz", method="GET", body=SMUGGLED)),
    ("a body with DELETE", 405, ask("/genid", FORM, method="DELETE", body=SMUGGLED)),
]

ANSWERED = [  # unusual but valid
    ("a wish to change the protocol", ask("/healthz", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: x")),
    ("a wish for trailers", ask("/healthz", "TE: trailers", "Trailer: X")),
    ("64 headers with Host", ask("/healthz", *["X: 1"] * 62)),
    ("an empty Host", b"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n"),
    ("a Host with address and port", b"GET /healthz HTTP/1.1\r\nhOST:\t[::1]:8088 \r\n\r\n"),
    ("empty lines in front", b"\r\n\r\n" + ask("/healthz")),
    ("a length with zeros in front", get("/v1/ids", "Content-Length: 0003", FORM, method="POST") + b"n=1"),
    ("a form with a charset", ask("/v1/ids", FORM + " ; charset=utf-8", method="POST", body=b"n=%32")),
    ("a form that is empty between", ask("/v1/ids", FORM, method="POST", body=b"&&n=1&")),
    ("a fragment", ask("/healthz#x?y")),
]


def replies_of(sock, count):
    data, statuses = b"", []
    while len(statuses) < count:
        head = re.match(rb"HTTP/1\.1 (\d+) [^\r]*\r\n(?:[^\r]+\r\n)*?Content-Length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n", data)
        if head and len(data) >= head.end() + int(head.group(2)):
            statuses.append(int(head.group(1)))
            data = data[head.end() + int(head.group(2)):]
            continue
        part = sock.recv(65536)
        assert part, data
        data += part
    same(data, b"")
    return statuses


def each_answered(server, rows):
    with server.connect(server.http) as sock:
        for what, status, data in rows:
            sock.sendall(data + ask("/healthz"))
            same((what, replies_of(sock, 2)), (what, [status, 200]))


@claim("invalid counts, names, ids, paths, parameters, types and methods are rejected, and the connection stays open")
def _(world):
    with Server(world) as server:
        before = server.tick()
        each_answered(server, SERVED)
        same(server.tick(), before + 1)


@claim("unusual but valid requests are answered once each")
def _(world):
    with Server(world) as server:
        each_answered(server, [(what, 200, data) for what, data in ANSWERED])


@claim("a request sent byte by byte, one per second, is ended ten seconds after its first byte, while others are "
       "served")
def _(world):
    with Server(world) as server:
        ended = threading.Event()

        def trickle(sock):
            for byte in get("/genid", "X: " + "x" * 1000):
                if ended.wait(1):
                    return
                try:
                    sock.sendall(bytes([byte]))
                except OSError:
                    return
        with server.connect(server.http) as sock:
            thread = threading.Thread(target=trickle, args=(sock,))
            thread.start()
            try:
                same(server.get("/healthz").status, 200)
                assert until_closed(sock).startswith(b"HTTP/1.1 408 ")
                assert 'vesta_requests_total{proto="http",code="too_slow"} 1\n' in server.get("/metrics").body
            finally:
                ended.set()
                thread.join()
        same(server.get("/healthz").status, 200)


def each_refused(world, table):
    with Server(world) as server:
        before = server.tick()
        for what, status, data in table:
            reply = server.say(server.http, data, end=False)
            first = re.match(rb"HTTP/1\.1 (\d+) ", reply)
            wanted = status if isinstance(status, tuple) else (status,)
            assert first and int(first.group(1)) in wanted, (what, status, reply[:300])
            assert b"Connection: close\r\n" in reply and b"Cache-Control: no-store\r\n" in reply, (what, reply[:300])
            same((what, len(re.findall(rb"HTTP/1\.1 \d", reply))), (what, 1))
            same((what, server.get("/healthz").status), (what, 200))
        same(server.tick(), before + 1)


for name, table in (("what two readers could take for two requests", TWO_READINGS),
                    ("bodies in chunks", [(what, 411, post("Transfer-Encoding: chunked", FORM, body=data)) for what, data in CHUNKS]),
                    ("heads that no HTTP client writes", FORMS), ("targets that are no path", TARGETS),
                    ("request lines of other protocols and other times", LINES), ("what is too large", LARGE)):
    claim("rejected once, with its status: %s" % name)(lambda world, table=table: each_refused(world, table))

@claim("an incomplete request costs no id and gets no reply")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for data in (b"", b"G", b"GET", get("/genid")[:-1], get("/genid", "Content-Length: 10", FORM, method="POST") + b"123"):
            same(server.say(server.http, data), b"")
        same(server.tick(), before + 1)


main()
