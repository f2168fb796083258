"""latency.py -- reply times at 10, 50 and 90 % of the rate that both servers can sustain, under an open load: a request
is sent when it is due, even if earlier replies are missing, and its time counts from then. Both servers get the same
rate, that of the slower one. A server's peak is the rate of a closed load with as many connections from the same
client.

Delays of one in a hundred requests decide the p99. Another program that occupies the server's processor for 6 ms
determines the p99 of half a second, for any server, and if it does so once a second it may always hit the same server.
Therefore turns are short, many, and out of step with any clock. Most turns are undisturbed, and the median is taken.
The client busy-waits, and the pauses between its turns keep the kernel from throttling it as a real-time process that
never sleeps.
"""
import random
import time

import net
import daemons
from rows import Folder, Made

SHARES = (10, 50, 90)
CONNECTIONS = 64
TIMES = ("p50", "p99", "p999")
TURNS = 3       # per sample, for each server
SHORTER = 0.8   # relative to a turn of a closed load
REST_S = 0.12   # the longest pause between two turns, which on average is enough for the kernel


def peak(turns, place, both):
    return min(net.our_client(turns, server, place, request, CONNECTIONS, seconds=turns.seconds * 2)["per_second"]
               for server, request in both)


def sample(turns, place, both, share, rate):
    """Returns {"p50.10": (vesta's, the yardstick's), ...}"""
    said = []
    for server, request in both:
        time.sleep(random.uniform(0, REST_S))
        said.append(net.our_client(turns, server, place, request, CONNECTIONS, rate=rate, seconds=turns.seconds * SHORTER))
    return {f"{name}.{share}": tuple(s[f"{name}_us"] for s in said) for name in TIMES}


def beside(start, ours_request, yard_request):
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
