"""a_flood_leaves_the_store_its_descriptors.py -- a flood took every descriptor, the keeper could not open its own store,
and clients that were connected got `no lease: ... Too many open files`."""
import re
import time

from flood import limited, weather
from serving import Server, claim, main, same

LEASE_S = 5


def renewals(server):
    """By the store's answer."""
    found = re.findall(r'vesta_lease_renewals_total\{namespace="default",result="(\w+)"\} (\d+)', server.get("/metrics").body)
    return {name: int(count) for name, count in found}


@claim("the keeper renews its lease through a flood that outlasts the lease, and no client that was there is refused an id")
def _(world):
    # one loop: with two of them the flood stopped the server itself before its lease was over, see s1
    with Server(world, "--threads", "1", pacing="clock", wrap=limited(200)) as server:
        passing = weather(server, server.http, LEASE_S + 2, 400, 0)
        flood = next(passing)
        while flood.goes_on():
            time.sleep(0.1)
        clients = next(passing)
        same([client.refused for client in clients], [[]] * len(clients))
        told = renewals(server)
        assert told.pop("ok") >= 2 and set(told.values()) == {0}, told


main()
