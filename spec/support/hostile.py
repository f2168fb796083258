"""hostile.py -- requests that two HTTP parsers could read as different numbers of requests.  Each has a name, the status
with which the server itself rejects it, and its bytes."""
from serving import get

FORM = "Content-Type: application/x-www-form-urlencoded"
SMUGGLED = get("/genid")
MIB = 1 << 20


def post(*headers, body=b""):
    return get("/v1/ids", *headers, method="POST") + body


def ask(path, *headers, method="GET", body=b""):
    return get(path, *headers, *(["Content-Length: %d" % len(body)] if body else []), method=method) + body


def line(text, *headers):
    """A request with this request line."""
    text = text if isinstance(text, bytes) else text.encode("latin-1")
    return text + b"\r\nHost: t\r\n" + b"".join(header + b"\r\n" for header in headers) + b"\r\n"


def head(raw):
    """A request with this raw header line."""
    return b"GET /genid HTTP/1.1\r\nHost: t\r\n" + raw + b"\r\n\r\n"


LENGTHS = [  # values of Content-Length that must be rejected, not guessed
    "+3", "-3", "0x3", "3 3", "3,3", "3, 4", "3;4", "3.0", "3e0", "", " ", "three", "9" * 40, "18446744073709551616",
    "18446744073709551619", "3\x0b", "\x0c3", "3\x00", "\u00b3"]

CODINGS = [  # values of Transfer-Encoding, with a body that one parser would find and another would not
    "gzip", "identity", "chunked, identity", "chunked, gzip", "xchunked", "chunkedx", "chunked;q=1", "chunked,", "\x0bchunked",
    "chunked\x00", "\"chunked\"", "CHUNKED ,gzip", ""]

TWO_READINGS = [
    ("Content-Length and Transfer-Encoding", 400, post("Content-Length: 3", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED)),
    ("the same the other way round", 400, post("Transfer-Encoding: chunked", "Content-Length: 3", body=b"0\r\n\r\n" + SMUGGLED)),
    ("two equal lengths", 400, post("Content-Length: 3", "Content-Length: 3", body=b"n=1" + SMUGGLED)),
    ("two different lengths", 400, post("Content-Length: 3", "Content-Length: 0", body=b"n=1" + SMUGGLED)),
    *[("Content-Length: %r" % text, 400, post("Content-Length: " + text, body=b"n=1" + SMUGGLED)) for text in LENGTHS],
    *[("Transfer-Encoding: %r" % text, (400, 411), post("Transfer-Encoding: " + text, body=b"0\r\n\r\n" + SMUGGLED)) for text in CODINGS],
    ("the same coding in two lines", (400, 411), post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body=b"0\r\n\r\n" + SMUGGLED)),
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

CHUNKS = [  # all are rejected with 411: the server reads no chunks, so it cannot disagree about them
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
    ("an absolute form without a Host header", 400, b"GET http://t/genid HTTP/1.1\r\n\r\n"),
    ("an absolute form beside a malformed Host", 400, b"GET http://t/genid HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    ("an absolute form without a host", 400, get("http:///genid")),
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
