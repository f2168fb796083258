"""latency.py -- how long answers take at 10, 50 and 90 % of what both servers can serve, asked by the clock: a request that
is due is sent, and its time runs from there, whatever was answered before it.  Both get the same rate, that of the slower
one; a server's peak is that of a closed load with as many connections by the same client.

A hundredth of the requests is soon late: a program that keeps the server's processor for 6 ms decides the p99 of half a
second, whoever serves; and one that comes once a second meets the same of two servers each time, while their turns take half
a second each.  So turns are short, many, and out of step with any clock: most meet nobody, and the median is theirs.  The
client spins: without the rests between its turns the kernel would stop it now and then, as all that never sleeps at real-time
priority.
"""
import random
import time

import net
import daemons
from rows import Folder, Made

SHARES = (10, 50, 90)
CONNECTIONS = 64
TIMES = ("p50", "p99", "p999")
TURNS = 3       # of a sample, each
SHORTER = 0.8   # than a turn of a closed load
REST_S = 0.12   # at most, between two: on average enough for the kernel


def peak(turns, place, both):
    return min(net.our_client(turns, server, place, request, CONNECTIONS, seconds=turns.seconds * 2)["per_second"]
               for server, request in both)


def sample(turns, place, both, share, rate):
    """{"p50.10": (ours, the yardstick's), ...}"""
    said = []
    for server, request in both:
        time.sleep(random.uniform(0, REST_S))
        said.append(net.our_client(turns, server, place, request, CONNECTIONS, rate=rate, seconds=turns.seconds * SHORTER))
    return {f"{name}.{share}": tuple(s[f"{name}_us"] for s in said) for name in TIMES}


def beside(start, ours_request, yard_request):
    """start(turns, folder, place) gives the two servers."""
    def measure(turns):
        place, made = daemons.two_cores(), [{} for _ in range(turns.samples * turns.few(TURNS, 1))]
        with Folder(turns) as folder:
            first, second = start(turns, folder, place)
            with first() as ours, second() as yard:
                both = (ours, ours_request), (yard, yard_request)
                most = peak(turns, place, both)
                for share in SHARES:
                    for turn in made:
                        turn.update(sample(turns, place, both, share, most * share / 100))
        return Made(made, notes={f"p99.{share}": f"{most * share / 100:,.0f} requests/s" for share in SHARES})
    return measure


http = beside(lambda turns, folder, place: (lambda: daemons.vesta(turns, folder, "http", place), lambda: daemons.nginx(folder, place)),
              "/genid", "/genid")
resp = beside(lambda turns, folder, place: (lambda: daemons.vesta(turns, folder, "resp", place), lambda: daemons.redis(folder, place)),
              "GET default", "INCR counter")
