"""proxies.py -- balancers that send a PROXY header."""
import re
import socket
import struct
import time

from proxied import BALANCER, SIGNATURE, call, header, say
from serving import SLOW, Configured, Server, claim, command, fails, free_port, get, give_back, main, same, until_closed, write
from servers import until

NOAUTH = b"-NOAUTH Authentication required.\r\n"
INFO = command("CLIENT", "INFO")
CLOSING = get("/genid", "Connection: close")
UNIX = struct.pack("108s108s", b"/run/a", b"/run/b")
SOURCES = {"203.0.113.7": "203.0.113.7", "2001:db8::7": "[2001:db8::7]", "::ffff:203.0.113.7": "203.0.113.7", "127.0.0.1": "127.0.0.1"}
OWN = {"LOCAL": header(command=0x20), "LOCAL with addresses": header("203.0.113.7", command=0x20), "UNSPEC": header(),
       "UNSPEC with bytes": header(behind=b"x" * 40), "UNIX": header(family=0x31, behind=UNIX), "UDP": header("203.0.113.7", family=0x12)}
BROKEN = {"a version 1 in version 2's form": header("203.0.113.7", command=0x11), "version 3": header("203.0.113.7", command=0x31),
          "a command that is none": header("203.0.113.7", command=0x22), "a family that is none": header("203.0.113.7", family=0x41),
          "a transport that is none": header("203.0.113.7", family=0x13), "no room for IPv4": header(family=0x11, behind=b"x" * 11),
          "no room for IPv6": header(family=0x21, behind=b"x" * 35), "no length": header(family=0x11)}


def counted(server, proto, result):
    return int(re.search(r'vesta_proxy_headers_total\{proto="%s",result="%s"\} (\d+)' % (proto, result), server.get("/metrics").body).group(1))


def with_clients(world):
    return world.run("client", "add", "orders", "--calls", "give", "--file", world.path("clients")).out.strip()


@claim("the client's address is taken from the header, over IPv4 and IPv6, with any extensions, however the bytes "
       "arrive")
def _(world):
    with Server(world, "--proxies", BALANCER) as server:
        for source, shown in SOURCES.items():
            for tlvs in (b"", b"\x03\0\4abcd", b"x" * 70, b"\0" * (65535 - 36)):
                said = say(server.resp, header(source, behind=tlvs) + INFO)
                assert b" addr=%s:4711 " % shown.encode() in said, (source, len(tlvs), said)
        whole = header("203.0.113.7", behind=b"x" * 30) + CLOSING
        for cut in range(len(whole)):
            assert say(server.http, whole[:cut], whole[cut:]).startswith(b"HTTP/1.1 200 "), cut
        same(say(server.http, *(bytes([byte]) for byte in whole))[:13], b"HTTP/1.1 200 ")
        # A header for the balancer's own connection, or without an address: the balancer is the client.
        for name, own in OWN.items():
            assert b" addr=127.0.0.2:" in say(server.resp, own + INFO), name
        same((counted(server, "resp", "taken"), counted(server, "resp", "own")), (16, len(OWN)))
        assert b" addr=127.0.0.1:" in server.say(server.resp, INFO)


@claim("a client behind a balancer is never treated as local, whatever address the header names, and has only a "
       "stranger's rights")
def _(world):
    secret = with_clients(world)
    port, sock = free_port(), world.path("a.sock")
    flags = ["--clients", world.path("clients"), "--admin", "unix:" + sock, "--resp", "127.0.0.1:%d" % port]
    for proxies, source in (("127.0.0.1,unix", "127.0.0.1"), (BALANCER + ",unix", BALANCER), ("127.0.0.0/8,unix", BALANCER)):
        with Server(world, "--proxies", proxies, *flags) as server:
            for named in [*map(header, [*SOURCES, "::1", "127.0.0.2"]), *OWN.values()]:
                same(say(port, named, command("GET", "default"), source=source), NOAUTH)
                assert say(server.http, named, CLOSING, source=source).startswith(b"HTTP/1.1 401 "), (proxies, named)
                assert say(port, named, command("AUTH", "orders", secret) + command("GET", "default"), source=source).startswith(b"+OK\r\n$")
                with socket.socket(socket.AF_UNIX) as admin:  # whose socket otherwise opens the admin's routes
                    admin.connect(sock)
                    admin.sendall(named + get("/admin/status", "Connection: close"))
                    assert until_closed(admin).startswith(b"HTTP/1.1 401 "), (proxies, named)
    # A client that connects directly keeps its own address.
    with Server(world, "--proxies", BALANCER, *flags) as server:
        assert say(port, command("GET", "default"), source="127.0.0.1").startswith(b"$")
    give_back(port)


def refused(server, port, said, result, part, source=BALANCER, proto="http"):
    before = counted(server, proto, result)
    answer = say(port, said, source=source)
    expected = b"-ERR " if proto == "resp" else b"HTTP/1.1 400 Bad Request\r\n"
    assert answer.startswith(expected) and part in answer and answer.count(b"HTTP/1.1 ") == (proto != "resp"), (said, answer)
    same(counted(server, proto, result), before + 1)


@claim("data that is not a version 2 header is rejected once with advice, and nothing after it is answered")
def _(world):
    port = free_port()
    with Server(world, "--proxies", BALANCER, "--admin", "127.0.0.1:%d" % port, env={"VESTA_ADMIN_TOKEN": "t"}) as server, \
            call(server.http) as late, call(server.http) as slow:
        first, began = server.tick(), time.monotonic()
        slow.sendall(header("203.0.113.7")[:-1])
        for proto, at in (("http", server.http), ("resp", server.resp)):
            smuggled = CLOSING if proto == "http" else command("GET", "default")
            for said in (smuggled, b"P", b"PING\r\n", b"\n", SIGNATURE[:-1] + b"x"):
                if said != b"P":  # A prefix that could still become a header.
                    refused(server, at, said, "missing", b"the connection must begin with a PROXY header", proto=proto)
            refused(server, at, b"PROXY TCP4 203.0.113.7 203.0.113.1 1 2\r\n" + smuggled, "v1", b"version 2: use send-proxy-v2", proto=proto)
            for name, broken in BROKEN.items():
                refused(server, at, broken + smuggled, "broken", b"malformed", proto=proto)
        server.listen("a connection from a listed balancer does not begin with a PROXY header")
        assert "do=\"use send-proxy-v2 instead of send-proxy\"" in server.listen("a PROXY header of version 1"), server.said
        for cut in range(len(header("203.0.113.7"))):
            same(say(server.http, header("203.0.113.7")[:cut]), b"")
        assert say(port, header("203.0.113.7"), get("/healthz", "Connection: close")).startswith(b"HTTP/1.1 200 "), "the admin's"
        assert until_closed(slow).startswith(b"HTTP/1.1 400 "), "one that stays incomplete"
        assert until_closed(late).startswith(b"HTTP/1.1 400 "), "one that never comes"
        assert 2.5 < time.monotonic() - began < 20 * SLOW
        same((server.tick(), counted(server, "http", "late")), (first + 1, 2))
    give_back(port)


@claim("a header from an unlisted address, or a second header, is rejected, logged and counted")
def _(world):
    with Server(world, "--proxies", BALANCER) as server:
        first = server.tick()
        for said in (header("203.0.113.7"), header(), b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\n"):
            for proto, at, smuggled in (("http", server.http, CLOSING), ("resp", server.resp, command("GET", "default"))):
                refused(server, at, said + smuggled, "unlisted", b"only accepted from addresses listed in proxies", "127.0.0.1", proto)
                refused(server, at, header("203.0.113.9") + said + smuggled, "unlisted", b"only accepted from addresses listed in proxies", proto=proto)
        assert "address=127.0.0.1:" in server.listen("a PROXY header came from an address that is not listed in proxies")
        same(server.tick(), first + 1)
    with Server(world) as server:
        refused(server, server.http, header("203.0.113.7") + CLOSING, "unlisted", b"listed in proxies", "127.0.0.1")


@claim("limits apply to the clients behind a balancer, not to the balancer's address")
def _(world):
    with Server(world, "--proxies", BALANCER, "--address-connections", "2", "--connections", "60") as server:
        held = [call(server.http) for _ in range(8)]  # not assigned to a client yet
        for number, sock in enumerate(held):
            sock.sendall(header("203.0.113.%d" % (number // 2)) + get("/genid"))
            assert sock.recv(4096).startswith(b"HTTP/1.1 200 ")
        for _ in range(3):
            assert say(server.http, header("203.0.113.0") + CLOSING).startswith(b"HTTP/1.1 503 ")
        assert say(server.http, header("203.0.113.9") + CLOSING).startswith(b"HTTP/1.1 200 ")
        assert 'vesta_connections_refused_total{proto="http",reason="address"} 3' in server.get("/metrics").body
        held.pop().close()
        until(lambda: say(server.http, header("203.0.113.3") + CLOSING).startswith(b"HTTP/1.1 200 "), "the place that was left")
        held += [call(server.http) for _ in range(40)]  # HTTP has 30 places in all.
        until(lambda: server.say(server.http, CLOSING).startswith(b"HTTP/1.1 503 "), "no place is left")
        for sock in held:
            sock.close()
        until(lambda: server.say(server.http, CLOSING).startswith(b"HTTP/1.1 200 "), "all places are free again")


@claim("a client that guesses secrets behind a balancer is limited by its own address, and others behind it are not")
def _(world):
    with open(world.path("password"), "w") as file:
        file.write("sesame\n")
    with Server(world, "--proxies", BALANCER, "--resp-password-file", world.path("password")) as server:
        guess = header("203.0.113.66") + command("AUTH", "x")
        assert say(server.resp, guess).startswith(b"-WRONGPASS")
        assert "address=203.0.113.66 " in server.listen("a wrong secret"), server.said
        until(lambda: b"-TRYAGAIN" in say(server.resp, guess), "the address is put off")
        same(say(server.resp, header("203.0.113.7") + command("AUTH", "sesame")), b"+OK\r\n")


@claim("invalid networks are rejected by flag and by config, with the expected form")
def _(world):
    for wrong in ("10.0.0.0/33", "10.0.0.1/8", "10.0.0", "ten", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08x", "2001:db8::/129",
                  "::ffff:10.0.0.0/104", "[::1]", "10.0.0.1:80", "unix:/a", "1" * 60):
        fails(world.run("serve", "--proxies", wrong), 2, "--proxies", "has '%s" % wrong[:20])
    text = 'return { namespaces = { default = { worker = 1 } }, proxies = { "10.0.0.0/8", "192.0.2.7", "2001:db8::/32", "0.0.0.0/0", "unix"%s } }'
    same(world.run("check", write(world, text % "")).code, 0)
    fails(world.run("check", write(world, text % ', "10.0.0.1/8"')), 1, "proxies has '10.0.0.1/8', an address with bits set after the first 8")
    with Configured(world, 'return { namespaces = { x = { worker = 1 } }, proxies = "127.0.0.2/31" }') as server:
        assert b" addr=[2001:db8::7]:4711 " in say(server.resp, header("2001:db8::7") + INFO, source="127.0.0.3")
        assert b" addr=127.0.0.4:" in say(server.resp, INFO, source="127.0.0.4")


main()
