"""Regression: idle connections of one address filled the shared pool of HTTP and the Redis protocol for five minutes,
without a line in the log."""
import re
import socket
import time

from flood import limited, ten_thousand
from serving import Configured, Server, claim, command, fails, get, main, same, SLOW, until_closed


def dial(port, address):
    return socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW, source_address=(address, 0))


def is_in(sock):
    """Returns whether the client was accepted. A rejected client gets an error and is disconnected."""
    sock.sendall(b"PING\r\n")
    said = sock.recv(100)
    assert said in (b"+PONG\r\n", b"-ERR max number of clients reached\r\n"), said
    return said == b"+PONG\r\n"


LOCKED = 'return { namespaces = { default = { worker = 1 } }, resp = { password = "secret" } }'


@claim("with 10,100 idle connections of one address, others are served on both protocols, and the log reports the "
       "address")
def _(world):
    with Configured(world, LOCKED) as server, ten_thousand(server.http, "127.0.0.2"):
        with dial(server.resp, "127.0.0.3") as client:
            client.sendall(command("AUTH", "secret"))
            same(client.recv(100), b"+OK\r\n")
        with dial(server.http, "127.0.0.3") as client:
            client.sendall(get("/genid", "Connection: close"))
            said = until_closed(client)
            assert said.startswith(b"HTTP/1.1 200 "), said
        assert " level=warn " in server.heard("HTTP clients were rejected")


@claim("with default settings, a client that does not send the password is disconnected within seconds")
def _(world):
    with Configured(world, LOCKED) as server, server.connect(server.resp) as stranger:
        same(until_closed(stranger), b"")


@claim("one address has half of a protocol's places, others have theirs, and each place becomes free again")
def _(world):
    with Server(world, "--connections", "80", "--threads", "2") as server:  # 40 per protocol, 20 per address
        first = [dial(server.resp, "127.0.0.2") for _ in range(30)]
        same(sum(is_in(sock) for sock in first), 20)
        second = [dial(server.resp, "127.0.0.3") for _ in range(19)]
        same([is_in(sock) for sock in second], [True] * 19)
        with dial(server.resp, "127.0.0.4") as third, dial(server.resp, "127.0.0.5") as late:
            same((is_in(third), is_in(late)), (True, False))
        same(server.get("/healthz").status, 200)
        told = server.get("/metrics").body
        for line in ('vesta_connections_refused_total{proto="resp",reason="address"} 10',
                     'vesta_connections_refused_total{proto="resp",reason="proto"} 1',
                     'vesta_connections_limit{proto="resp",of="address"} 20', "vesta_connections_total_limit 80"):
            assert line + "\n" in told, (line, told)
        assert re.search(r" level=warn .* turned_away=\d+ of_one_address=\d+ limit_of_one_address=20 connections=\d+ limit=40 ",
                         server.heard("clients of the Redis protocol were rejected"))
        for sock in first + second:
            sock.close()
        deadline = time.monotonic() + 20 * SLOW
        while True:
            again = [dial(server.resp, "127.0.0.2") for _ in range(20)]
            good = [is_in(sock) for sock in again]
            for sock in again:
                sock.close()
            if all(good):
                break
            assert time.monotonic() < deadline, "places did not come back"


@claim("limits come from the config or flags and are logged at the start, and one that exceeds the descriptors is "
       "reduced with a warning")
def _(world):
    config = ('return { namespaces = { default = { worker = 1 } }, connections_max = 100, address_connections_max = 7, memory_mib_max = 9, '
              'http = { connections_max = 30 }, admin = { connections_max = 3, listen = "unix:%s" } }' % world.path("a.sock"))
    with Configured(world, config) as server:
        event = server.heard("client limits")
        for part in ("connections=100", "http=30", "resp=70", "admin=3", "http_of_one_address=7", "resp_of_one_address=7", "memory_mib=9"):
            assert " %s " % part in event, (part, event)
        assert "fewer connections" not in server.said
    with Server(world, "--namespace", "other", wrap=limited(200)) as server:
        event = server.heard("client limits")
        reserved, most = (int(re.search(r" %s=(\d+)" % name, event)[1]) for name in ("reserved", "connections"))
        assert " descriptors=200 " in event and reserved + most == 200 and most >= 16, event
        event = server.heard("allows fewer connections than configured")
        assert "level=warn" in event and "LimitNOFILE=" in event and "configured=10000 connections=%d" % most in event, event
    fails(world.run("serve", "--connections", "15"), 2, "--connections", "15", "16")
    done = world.shell('ulimit -n 40; exec "$vesta" serve --worker 5 --namespace third --http unix:%s --resp off' % world.path("x.sock"))
    assert done.code == 1 and "40 file descriptors are too few" in done.err and "LimitNOFILE=" in done.err, done.err


@claim("a client without the password is disconnected after the limit, one with it may be idle, and RESET restarts "
       "the limit")
def _(world):
    config = ('return { namespaces = { default = { worker = 1 } }, resp = { password = "secret", auth_ms_max = 1000 } }')
    with Configured(world, config) as server, server.connect(server.resp) as known, server.connect(server.resp) as stranger:
        known.sendall(command("AUTH", "secret"))
        same(known.recv(100), b"+OK\r\n")
        asked = time.monotonic()
        stranger.sendall(command("PING"))
        assert stranger.recv(100).startswith(b"-NOAUTH")
        same(until_closed(stranger), b"")
        assert time.monotonic() - asked > 0.9
        known.sendall(command("PING"))
        same(known.recv(100), b"+PONG\r\n")
        known.sendall(command("RESET"))
        same(known.recv(100), b"+RESET\r\n")
        known.sendall(command("AUTH", "secret"))
        same(known.recv(100), b"+OK\r\n")
        known.sendall(command("RESET"))
        same(until_closed(known), b"+RESET\r\n")


main()
