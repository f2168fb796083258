"""Regression: a flood of connections used every descriptor, the keeper could not open its own store, and connected
clients got `no lease: ... Too many open files`."""
import re
import time

from flood import limited, weather
from serving import Server, claim, main, same

LEASE_S = 5


def renewals(server):
    found = re.findall(r'vesta_lease_renewals_total\{namespace="default",result="(\w+)"\} (\d+)', server.get("/metrics").body)
    return {name: int(count) for name, count in found}


@claim("the keeper renews its lease during a flood that outlasts the lease, and no connected client is rejected")
def _(world):
    # One thread, because a flood used to stop a server with two threads before its lease ended.
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
