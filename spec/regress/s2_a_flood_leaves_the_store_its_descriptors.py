"""s2_a_flood_leaves_the_store_its_descriptors.py -- a flood took every descriptor, the keeper could not open its own store,
and clients that were connected got `no lease: ... Too many open files`."""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from flood import limited, weather  # noqa: E402
from serving import Server, claim, get, main, same, until_closed  # noqa: E402


def renewals(sock):
    """By the store's answer, told over a connection that was there before."""
    sock.sendall(get("/metrics"))
    told = b""
    while not re.search(rb"vesta_reserved_fds \d+\n\Z", told):
        part = sock.recv(65536)
        assert part, told
        told += part
    return {name: int(n) for name, n in re.findall(rb'vesta_lease_renewals_total\{namespace="default",result="(\w+)"\} (\d+)', told)}


@claim("the keeper renews its lease through a flood, and no client that was there is refused an id")
def _(world):
    with Server(world, "--threads", "2", wrap=limited(200)) as server, server.connect(server.http) as sock:
        passing = weather(server, server.http, 4, 400, 200)
        flood = next(passing)
        before = renewals(sock)
        while flood.goes_on():
            time.sleep(0.1)
        while renewals(sock)[b"ok"] < before[b"ok"] + 2:  # one each 1.5 s
            time.sleep(0.1)
        clients = next(passing)
        same([client.refused for client in clients], [[]] * len(clients))
        same(renewals(sock)[b"down"], 0)
        sock.sendall(get("/healthz", "Connection: close"))
        assert until_closed(sock).endswith(b"ok\n")


main()
