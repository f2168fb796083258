"""floods.py -- all floods: 10,000 idle connections and 4,000 new ones per second for a minute, with 1, 2 and 4 threads
and three limits of descriptors. regress/a_flood_stops_no_other_client.py is a sample that takes seconds.

VESTA_FLOOD_SECONDS sets another length.
"""
import os
import socket
import time

from flood import limited, weather
from serving import Server, claim, get, main, same, SLOW, until_closed

SECONDS = float(os.environ.get("VESTA_FLOOD_SECONDS", "60"))
IDLE, RATE, SOURCES = 10000, 4000, 8


def served(server):
    from_s = time.monotonic()
    while True:
        try:
            if server.say(server.http, get("/genid", "Connection: close")).startswith(b"HTTP/1.1 200 "):
                return time.monotonic() - from_s
        except OSError:
            pass
        assert time.monotonic() < from_s + 60 * SLOW, "no new client is served"
        time.sleep(0.01)


def one(world, threads, files):
    path = world.path("admin.sock")
    with Server(world, "--threads", str(threads), "--admin", "unix:" + path, wrap=limited(files)) as server:
        passing = weather(server, server.http, SECONDS, IDLE, RATE, SOURCES)
        flood, asked = next(passing), 0
        while flood.goes_on():
            with socket.socket(socket.AF_UNIX) as admin:
                admin.settimeout(20 * SLOW)
                admin.connect(path)
                admin.sendall(get("/readyz", "Connection: close"))
                assert until_closed(admin).startswith(b"HTTP/1.1 200 "), "the admin is not answered, or ids are not ready"
            asked += 1
            time.sleep(0.1)
        clients = next(passing)
        recovery_s = served(server)
        same([client.refused for client in clients], [[]] * len(clients))
        print("# threads %d, limit %5d: %d of the flood's connections, %d ids by clients that were there, 0 refused, slowest "
              "%.3f s; the admin asked %d times; recovery %.3f s" % (threads, files, int(flood.made.split()[1]),
              sum(client.ids for client in clients), max(client.slowest_s for client in clients), asked, recovery_s), flush=True)
        assert recovery_s < 1 * SLOW, recovery_s


for threads in (1, 2, 4):
    for files in (1024, 10320, 16384):
        claim("in a flood of a minute, %d threads with %d descriptors reject no client, and a new client is served "
              "within a second afterwards"
              % (threads, files))(lambda world, threads=threads, files=files: one(world, threads, files))

main()
