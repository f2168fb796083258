"""dashboards_and_balancers_get_the_replies_they_expect.py -- small things that dashboards, load balancers and clients ask for: redis-cli --stat
showed -9223372036854775808B, haproxy's OPTIONS was 405, HTTP/2 ended without a word that its client could read, no reply
had a Date, errors no nosniff, CONFIG GET took one pattern, and a client with a cache of its own hung."""
import email.utils
import re
import socket
import subprocess
import time

from serving import Server, claim, command, get, main, same, until_closed


@claim("INFO has what redis-cli --stat shows, and it is so")
def _(world):
    with Server(world) as server:
        info = dict(re.findall(r"(\w+):([^\r]*)", server.redis("INFO").decode()))
        rss = int(info["used_memory"]) / 1024 / server.rss_kb()
        assert 0.5 < rss < 2, info
        same((info["arch_bits"], info["blocked_clients"], info["connected_clients"], info["maxclients"]), ("64", "0", "1", "5000"))
        same((info["process_id"], info["rejected_connections"]), (str(server.process.pid), "0"))
        done = subprocess.Popen(["redis-cli", "-p", str(server.resp), "--stat", "-i", "0.1"], stdout=subprocess.PIPE, text=True)
        lines = [done.stdout.readline() for _ in range(4)]
        done.kill()
        done.wait()
        done.stdout.close()
        assert re.match(r"0 +\d+\.\d+M +1 +0 +\d+ \(\+0\) +\d+ *$", lines[2]), lines


@claim("CLIENT INFO says where the client is, what it queued and what it holds; CONFIG GET takes several patterns")
def _(world):
    with Server(world) as server, server.connect(server.resp) as sock:
        sock.sendall(command("CLIENT", "SETNAME", "me") + command("CLIENT", "INFO"))
        time.sleep(0.1)
        port = sock.getsockname()[1]
        said = sock.recv(4096).decode()
        assert re.search(r" addr=127\.0\.0\.1:%d laddr=127\.0\.0\.1:\d+ fd=\d+ name=me age=\d idle=0 flags=N .* multi=-1 .* omem=0 tot-mem=0 " % port, said), said
        same(server.redis("CONFIG", "GET", "save", "appendonly"), b"*4\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$4\r\nsave\r\n$0\r\n\r\n")
        same(server.redis("CONFIG", "GET", "maxc*", "MAXCLIENTS", "nosuch*"), b"*2\r\n$10\r\nmaxclients\r\n$4\r\n5000\r\n")
        same(server.redis("CONFIG", "GET", "nosuch"), b"*2\r\n$6\r\nnosuch\r\n$0\r\n\r\n")
        assert server.redis("CONFIG", "GET", "*").startswith(b"*12\r\n")
        assert server.redis("CONFIG", "GET", "*?" * 31 + "x").startswith(b"*0\r\n")
        assert server.redis("CONFIG", "GET", "*?" * 32 + "x").startswith(b"-ERR a pattern has 65 bytes")
        assert server.redis("CONFIG", "SET", "save", "").startswith(b"-ERR ")


@claim("a cache in the client, which would give the same id again, is refused with a reason")
def _(world):
    with Server(world) as server:
        said = server.redis("CLIENT", "TRACKING", "ON", "NOLOOP")
        assert said.startswith(b"-ERR CLIENT TRACKING is refused: a cache in the client would give the same id again"), said
        same(server.redis("CLIENT", "TRACKING", "OFF"), b"+OK\r\n")


@claim("OPTIONS is answered with Allow, for a path and for *, and costs no id")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for path, status, allow in (("/", 200, "GET, HEAD, OPTIONS"), ("/genid", 200, "GET, HEAD, POST, OPTIONS"),
                                    ("*", 200, "GET, HEAD, POST, OPTIONS"), ("/nowhere", 404, None)):
            reply = server.get(path, method="OPTIONS")
            same((path, reply.status, reply.headers.get("allow")), (path, status, allow))
            same(reply.body if status == 200 else "", "")
        said = server.say(server.http, b"OPTIONS / HTTP/1.0\r\n\r\n")  # as haproxy asks
        assert said.startswith(b"HTTP/1.1 200 OK\r\n"), said
        same(server.tick(), before + 1)


@claim("a client that begins with HTTP/2 is told in its own frames to come with HTTP/1.1")
def _(world):
    with Server(world) as server:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for data, end in ((preface + bytes.fromhex("000000040000000000"), False), (preface, True)):
            said = server.say(server.http, data, end=end)
            assert re.fullmatch(rb"\0{3}\x04\0{7}.\x07\0{12}\rthis server speaks HTTP/1.1 and HTTP/1.0", said, re.DOTALL), said
            same(said[11], len(said) - 18)
        with server.connect(server.http) as sock:  # in pieces
            for byte in preface:
                sock.sendall(bytes([byte]))
            assert until_closed(sock).endswith(b"HTTP/1.0")
        assert 'vesta_requests_total{proto="http",code="bad_version"} 3\n' in server.get("/metrics").body


@claim("every reply has a Date, of now, and nosniff")
def _(world):
    with Server(world) as server:
        for path, method, status in (("/genid", "GET", 200), ("/v1/ids", "POST", 200), ("/nowhere", "GET", 404), ("/v1/ids?n=0", "GET", 400),
                                     ("/genid", "PUT", 405), ("/metrics", "GET", 200), ("/healthz", "HEAD", 200)):
            reply = server.get(path, method=method)
            same((path, reply.status), (path, status))
            date = email.utils.parsedate_to_datetime(reply.headers["date"])
            assert reply.headers["date"] == email.utils.format_datetime(date, usegmt=True)
            assert abs(date.timestamp() - time.time()) < 30, reply.headers
            same((path, reply.headers.get("x-content-type-options")), (path, "nosniff"))
        first = server.get("/genid").headers["date"]
        while server.get("/genid").headers["date"] == first:
            time.sleep(0.05)


main()
