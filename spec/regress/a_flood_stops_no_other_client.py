"""Regression: with more connections than descriptors, a server looped forever in libuv's accept, used the descriptors
of its own store, and could be ended only by kill -9."""
import re
import socket
import time

from flood import limited, weather
from serving import Server, claim, get, main, same, SLOW, until_closed

PATIENCE_S = 20 * SLOW


def admin(path, route):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(PATIENCE_S)
        sock.connect(path)
        sock.sendall(get(route, "Connection: close"))
        return until_closed(sock).decode()


@claim("during a flood clients get ids and the admin is answered, afterwards new clients are served, and SIGTERM ends "
       "the server")
def _(world):
    path = world.path("admin.sock")
    with Server(world, "--threads", "2", "--admin", "unix:" + path, wrap=limited(256)) as server:
        passing = weather(server, server.http, 4, 400, 1000)
        flood, seen = next(passing), 0
        while flood.goes_on():
            told = admin(path, "/metrics")
            assert told.startswith("HTTP/1.1 200 "), told[:200]
            seen = max(seen, int(re.search(r'vesta_connections\{proto="http"\} (\d+)', told)[1]))
            time.sleep(0.05)
        clients = next(passing)
        ended = time.monotonic()
        same([client.refused for client in clients], [[]] * len(clients))
        while True:
            try:
                same(server.get("/healthz").body, "ok\n")
                break
            except OSError:
                assert time.monotonic() < ended + PATIENCE_S, "no new client is served"
        print("# at most %d of the flood's connections; slowest answer to a client that was there: %.3f s; served anew after %.3f s"
              % (seen, max(client.slowest_s for client in clients), time.monotonic() - ended))
        assert min(client.ids for client in clients) > 10


main()
