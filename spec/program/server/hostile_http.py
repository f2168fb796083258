"""hostile_http.py -- what HTTP clients send that nobody should answer with an id: one line a refusal.

Each is refused with its status and the end of the connection, once, however many requests its bytes may look like; it
costs no id, and the next request is served.
"""
import re
import threading

from serving import Server, claim, get, main, same, until_closed

FORM = "Content-Type: application/x-www-form-urlencoded"
SMUGGLED = get("/genid")
MIB = 1 << 20


def post(*headers, body=b""):
    return get("/v1/ids", *headers, method="POST") + body


def line(text, *headers):
    """A request with this request line."""
    text = text if isinstance(text, bytes) else text.encode("latin-1")
    return text + b"\r\nHost: t\r\n" + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


def head(raw):
    """A request with this raw line among its headers."""
    return b"GET /genid HTTP/1.1\r\nHost: t\r\n" + raw + b"\r\n\r\n"


LENGTHS = [  # what is written behind Content-Length, and must not be guessed at
    "+3", "-3", "0x3", "3 3", "3,3", "3, 4", "3;4", "3.0", "3e0", "", " ", "three", "9" * 40, "18446744073709551616",
    "18446744073709551619", "3\x0b", "\x0c3", "3\x00", "\u00b3"]

CODINGS = [  # behind Transfer-Encoding, beside a body that one reader would find and another would not
    "gzip", "identity", "chunked, identity", "chunked, gzip", "xchunked", "chunkedx", "chunked;q=1", "chunked,", "\x0bchunked",
    "chunked\x00", "\"chunked\"", "CHUNKED ,gzip", ""]

TWO_READINGS = [
    ("Content-Length and Transfer-Encoding", 400, post("Content-Length: 3", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED)),
    ("the same the other way round", 400, post("Transfer-Encoding: chunked", "Content-Length: 3", body=b"0\r\n\r\n" + SMUGGLED)),
    ("two equal lengths", 400, post("Content-Length: 3", "Content-Length: 3", body=b"n=1" + SMUGGLED)),
    ("two different lengths", 400, post("Content-Length: 3", "Content-Length: 0", body=b"n=1" + SMUGGLED)),
    *[("Content-Length: %r" % text, 400, post("Content-Length: " + text, body=b"n=1" + SMUGGLED)) for text in LENGTHS],
    *[("Transfer-Encoding: %r" % text, (400, 411), post("Transfer-Encoding: " + text, body=b"0\r\n\r\n" + SMUGGLED)) for text in CODINGS],
    ("two codings in two lines", (400, 411), post("Transfer-Encoding: chunked", "Transfer-Encoding: identity", body=b"0\r\n\r\n" + SMUGGLED)),
    ("a coding with HTTP/1.0", (400, 411), b"POST /genid HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED),
    ("a blank before the colon", 400, post("Transfer-Encoding : chunked", body=b"0\r\n\r\n" + SMUGGLED)),
    ("a tab before the colon", 400, post("Content-Length\t: 3", body=b"n=1" + SMUGGLED)),
    ("a NUL in a name", 400, post("Content-Length\x00: 3", body=b"n=1" + SMUGGLED)),
    ("a folded coding", 400, post("Transfer-Encoding:", " chunked", body=b"0\r\n\r\n" + SMUGGLED)),
    ("a folded header", 400, get("/genid", "X: 1", " 2")),
    ("a header folded by a tab", 400, get("/genid", "X: 1", "\t2")),
    ("a first header that is folded", 400, b"GET /genid HTTP/1.1\r\n Host: t\r\n\r\n"),
    ("a Content-Type twice", 400, post("Content-Length: 3", FORM, "Content-Type: text/plain", body=b"n=1")),
]

CHUNKS = [  # all of them are 411: nobody reads chunks here, so nobody can disagree about them
    ("chunks", b"3\r\nn=1\r\n0\r\n\r\n"),
    ("a chunk's size that overflows", b"10000000000000003\r\nn=1\r\n0\r\n\r\n"),
    ("a signed chunk's size", b"+3\r\nn=1\r\n0\r\n\r\n"),
    ("a chunk's extension of 1 MiB", b"3;" + b"x" * MIB + b"\r\nn=1\r\n0\r\n\r\n"),
    ("trailers", b"3\r\nn=1\r\n0\r\nHost: u\r\nContent-Length: 3\r\n\r\n"),
    ("a chunk that ends in a bare line feed", b"3\nn=1\n0\n\n"),
    ("a chunk longer than it says", b"3\r\nn=1n=1\r\n0\r\n\r\n"),
]

FORMS = [
    ("a bare line feed everywhere", 400, get("/genid").replace(b"\r\n", b"\n")),
    ("a bare line feed at the end", 400, b"GET /genid HTTP/1.1\r\nHost: t\r\n\n"),
    ("a bare line feed in a value", 400, head(b"X: 1\nY: 2")),
    ("a bare carriage return in a value", 400, head(b"X: 1\rY: 2")),
    ("a bare carriage return at a line's end", 400, head(b"X: 1\r")),
    ("a bare carriage return in the target", 400, line("GET /gen\rid HTTP/1.1")),
    ("a NUL in a value", 400, head(b"X: \x00")),
    ("a control character in a value", 400, head(b"X: a\x01b")),
    ("a DEL in a value", 400, head(b"X: a\x7fb")),
    ("a blank in a header's name", 400, head(b"X Y: 1")),
    ("a header without a colon", 400, head(b"XY")),
    ("a header without a name", 400, head(b": 1")),
    ("a header's name that is no ASCII", 400, head(b"X\xc3\xa4: 1")),
    ("no Host", 400, b"GET /genid HTTP/1.1\r\n\r\n"),
    ("two Hosts", 400, get("/genid", "Host: u")),
    ("two equal Hosts", 400, get("/genid", "Host: t")),
    ("two Hosts with HTTP/1.0", 400, b"GET /genid HTTP/1.0\r\nHost: t\r\nHost: u\r\n\r\n"),
    *[("the Host %r" % host, 400, b"GET /genid HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
      for host in (b"t, u", b"t u", b"t\tu", b"user@t", b"t/genid", b"http://t", b"t?x", b"t#x", b"t\\u", b"\xff", b"t%00", b"<t>")],
    ("an Authorization twice", 400, get("/genid", "Authorization: a", "Authorization: b")),
    ("an expectation that nobody knows", 417, post("Expect: 200-ok", "Content-Length: 3", FORM, body=b"n=1")),
    ("two expectations, one unknown", 417, get("/genid", "Expect: 100-continue", "Expect: x")),
]

TARGETS = [
    ("an absolute form", 400, get("http://t/genid")),
    ("one with a user", 400, get("http://user:pass@t/genid")),
    ("half of one", 400, get("http://")),
    ("one of another scheme", 400, get("javascript:alert(1)")),
    ("an authority", 400, get("t:80", method="CONNECT")),
    ("an asterisk", 400, get("*")),
    ("no slash", 400, get("genid")),
    ("no target", (400, 505), b"GET  HTTP/1.1\r\nHost: t\r\n\r\n"),
    ("a backslash", 400, get("\\genid")),
    *[("the byte %d in the target" % byte, 400, line(b"GET /genid?ns=a" + bytes([byte]) + b" HTTP/1.1"))
      for byte in (0, 1, 8, 9, 11, 12, 13, 27, 31, 32, 127, 128, 0xc3, 255)],
]

LINES = [
    ("HTTP/0.9", 505, b"GET /genid\r\n"),
    ("HTTP/0.9 by name", 505, line("GET /genid HTTP/0.9")),
    ("HTTP/2.0", 505, line("GET /genid HTTP/2.0")),
    ("half the preface of HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSN"),
    ("HTTP/1.2", 505, line("GET /genid HTTP/1.2")),
    ("HTTP/1.10", 505, line("GET /genid HTTP/1.10")),
    ("HTTP/01.1", 505, line("GET /genid HTTP/01.1")),
    ("http/1.1", 505, line("GET /genid http/1.1")),
    ("ICE/1.1", 505, line("SOURCE /genid ICE/1.1")),
    ("RTSP/1.0", 505, line("DESCRIBE /genid RTSP/1.0")),
    ("a blank behind the version", 505, line("GET /genid HTTP/1.1 ")),
    ("exactly two spaces", 400, line("GET  /genid HTTP/1.1")),
    ("exactly two spaces before the version", 400, line("GET /genid  HTTP/1.1")),
    ("a tab", (400, 505), line("GET\t/genid\tHTTP/1.1")),
    ("a blank in front", 400, line(" GET /genid HTTP/1.1")),
    ("a method in lower case", 400, line("get /genid HTTP/1.1")),
    ("a method that nobody knows", 400, line("GRAB /genid HTTP/1.1")),
    ("a method with a colon", 400, line("GET: /genid HTTP/1.1")),
    ("a command of Redis", 400, b"*1\r\n$4\r\nPING\r\n"),
    ("a TLS hello", 400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200),
]

LARGE = [
    ("a request line of 4097 bytes", 414, get("/" + "x" * (4097 - len("GET / HTTP/1.1")))),
    ("a target of 1 MiB", 414, get("/" + "x" * MIB)),
    ("a method of 1 MiB", 414, b"M" * MIB),
    ("10^5 headers", 431, get("/genid", *["X: 1"] * 100000)),
    ("65 headers", 431, get("/genid", *["X: 1"] * 64)),
    ("a header of 1 MiB", 431, get("/genid", "X: " + "x" * MIB)),
    ("a header's name of 1 MiB", 431, get("/genid", "x" * MIB + ": 1")),
    ("a head of 16 KiB and a byte", 431, get("/genid", "X: " + "x" * (16385 - len(get("/genid", "X: "))))),
    ("a body of 64 KiB and a byte", 413, post("Content-Length: 65537", FORM, body=b"x" * 65537)),
    ("a body of 2^63 bytes", 413, post("Content-Length: 9223372036854775807", FORM, body=b"n=1")),
]


def ask(path, *headers, method="GET", body=b""):
    return get(path, *headers, *(["Content-Length: %d" % len(body)] if body else []), method=method) + body


COUNTS = ["0", "-1", "+1", "2147483648", "4294967296", "9223372036854775808", "18446744073709551616", "1;2", "1.5", "1e3", "",
          "0x10", "1%002", "%D9%A1", "1%0a", "%201", "10001", "9" * 400]
TAGS = ["'%20OR%201=1%20--", "a`b", "../x", "Default", "default%20", "%20default", "x" * 65, "%ff%fe", "%c3%28", "%f0%9f%98%80",
        "%0d%0aSET%20x", "%00", "default%00", "", "%2e%2e%2f", "%2525", "default,default", "${jndi:x}", "<script>"]
IDS = ["", "-1", "+1", "0x10", "1e3", "18446744073709551616", "9" * 400, "%D9%A1%D9%A2", "12%2034", "1%00", "abc"]

SERVED = [  # refused with a word, on a connection that goes on
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
    ("a body with DELETE", 405, ask("/genid", FORM, method="DELETE", body=SMUGGLED)),
]

ANSWERED = [  # odd, and good
    ("a request as the body of a GET", ask("/healthz", method="GET", body=SMUGGLED)),
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
    """So many replies; their statuses."""
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
    """On one connection, each followed by a good request in the same write."""
    with server.connect(server.http) as sock:
        for what, status, data in rows:
            sock.sendall(data + ask("/healthz"))
            same((what, replies_of(sock, 2)), (what, [status, 200]))


@claim("refused with a word, the connection goes on: counts, names, ids, paths, parameters, types, methods")
def _(world):
    with Server(world) as server:
        before = server.tick()
        each_answered(server, SERVED)
        same(server.tick(), before + 1)


@claim("odd and good: answered once each")
def _(world):
    with Server(world) as server:
        each_answered(server, [(what, 200, data) for what, data in ANSWERED])


@claim("a request that comes byte by byte, one every second, is ended ten seconds after its first; others are served meanwhile")
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
    claim("refused, each once, with its status: %s" % name)(lambda world, table=table: each_refused(world, table))

@claim("half a request and then nobody costs nothing and is answered by nothing")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for data in (b"", b"G", b"GET", get("/genid")[:-1], get("/genid", "Content-Length: 10", FORM, method="POST") + b"123"):
            same(server.say(server.http, data), b"")
        same(server.tick(), before + 1)


main()
