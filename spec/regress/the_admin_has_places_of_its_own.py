"""Regression: clients that had been rejected, but had not closed their connections, took the admin's places."""
import re
import socket

from flood import ten_thousand
from serving import Server, claim, get, main, same, SLOW, until_closed


@claim("with 10,100 idle connections, none of which closes when rejected, the admin is answered")
def _(world):
    path = world.path("admin.sock")
    with Server(world, "--admin", "unix:" + path) as server, ten_thousand(server.http, "127.0.0.2"):
        with socket.socket(socket.AF_UNIX) as admin:
            admin.settimeout(20 * SLOW)
            admin.connect(path)
            admin.sendall(get("/healthz", "Connection: close"))
            said = until_closed(admin)
        assert said.startswith(b"HTTP/1.1 200 "), said


@claim("clients rejected by HTTP and the Redis protocol take no place of the admin, and the two have separate places")
def _(world):
    path = world.path("admin.sock")
    with Server(world, "--connections", "40", "--address-connections", "40", "--admin", "unix:" + path) as server:
        stays = [server.connect(server.http) for _ in range(20)]
        turned = [server.connect(server.http) for _ in range(200)]  # None of them closes when rejected.
        for sock in turned:
            assert until_closed(sock).startswith(b"HTTP/1.1 503 ")
        same(server.redis("PING"), b"+PONG\r\n")  # The Redis protocol has separate places.
        admins = []
        for _ in range(64):
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(20 * SLOW)
            sock.connect(path)
            sock.sendall(get("/healthz"))
            assert sock.recv(4096).endswith(b"ok\n"), "the admin is not answered"
            admins.append(sock)
        with socket.socket(socket.AF_UNIX) as late:
            late.connect(path)
            assert until_closed(late).startswith(b"HTTP/1.1 503 "), "the admin's places have an end, too"
        admins[0].sendall(get("/metrics"))
        told = admins[0].recv(1 << 20).decode()
        for line in ('vesta_connections_refused_total{proto="http",reason="proto"} 200', 'vesta_connections{proto="http"} 20',
                     'vesta_connections_refused_total{proto="admin",reason="proto"} 1',
                     'vesta_connections_limit{proto="http",of="proto"} 20', 'vesta_connections_limit{proto="admin",of="proto"} 64'):
            assert line + "\n" in told, (line, told)
        event = server.heard("HTTP clients were rejected")
        assert " level=warn " in event and re.search(r" turned_away=\d+ of_one_address=0 .* limit=20 ", event), event
        for sock in stays + turned + admins:
            sock.close()


main()
