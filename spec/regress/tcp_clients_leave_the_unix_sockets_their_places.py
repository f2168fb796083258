"""Regression: clients on the admin's TCP port took all places of the protocol, so its Unix socket answered 503."""
import contextlib
import socket

from ports import free_port, give_back
from serving import Configured, claim, get, main, same, SLOW, until_closed


def ask(family, address):
    sock = socket.socket(family)
    sock.settimeout(20 * SLOW)
    sock.connect(address)
    sock.sendall(get("/healthz"))
    return sock, sock.recv(4096)[:12]


def fill(stack, port, count):
    answered = 0
    for i in range(count):
        sock = stack.enter_context(socket.socket())
        sock.bind(("127.0.0.%d" % (2 + i % 8), 0))
        sock.settimeout(20 * SLOW)
        sock.connect(("127.0.0.1", port))
        sock.sendall(get("/healthz"))
        answered += sock.recv(4096).startswith(b"HTTP/1.1 200 ")
    return answered


@claim("200 clients of the admin's TCP port get half of its places, and none of those of its Unix socket")
def _(world):
    path, port = world.path("admin.sock"), free_port()
    config = "return { namespaces = { default = { worker = 5 } }, admin = { token = 'a0b1c2d3e4f5a6b7c8d9e0f1', listen = { 'unix:%s', '127.0.0.1:%d' } } }"
    with Configured(world, config % (path, port)) as server, contextlib.ExitStack() as stack:
        same(fill(stack, port, 200), 32)
        for _ in range(32):
            sock, said = ask(socket.AF_UNIX, path)
            stack.enter_context(sock)
            same(said, b"HTTP/1.1 200")
        assert " limit=64 limit_over_tcp=32 " in server.heard("clients of the admin routes were rejected")
    give_back(port)


@claim("clients of HTTP over TCP leave an eighth of its places to its Unix socket, and all are for TCP if there is no "
       "Unix socket")
def _(world):
    path, port = world.path("http.sock"), free_port()
    config = "return { namespaces = { default = { worker = 5 } }, connections_max = 160, address_connections_max = 80, http = { listen = { %s } } }"
    with Configured(world, config % ("'unix:%s', '127.0.0.1:%d'" % (path, port)), "--resp", "127.0.0.1:%d" % free_port(), faces=False) as server, \
            contextlib.ExitStack() as stack:
        same(fill(stack, port, 200), 70)
        for _ in range(10):
            sock, said = ask(socket.AF_UNIX, path)
            stack.enter_context(sock)
            same(said, b"HTTP/1.1 200")
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(path)
            assert until_closed(late).startswith(b"HTTP/1.1 503 "), "80 places in all"
        assert " limit=80 limit_over_tcp=70 " in server.heard("HTTP clients were rejected")
    with Configured(world, config % ("'127.0.0.1:%d'" % port), "--resp", "127.0.0.1:%d" % free_port(), faces=False), contextlib.ExitStack() as stack:
        same(fill(stack, port, 200), 80)
    give_back(port)


main()
