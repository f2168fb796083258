"""latency.py -- how long answers take at 10, 50 and 90 % of what both servers can serve, asked by the clock: a request that
is due is sent, and its time runs from there, whatever was answered before it.  Both get the same rate, that of the slower
one; a server's peak is that of a closed load with as many connections by the same client.
"""
import net
import daemons
from rows import Folder, Made

SHARES = (10, 50, 90)
CONNECTIONS = 64
TIMES = ("p50", "p99", "p999")


def peak(turns, place, both):
    return min(net.our_client(turns, server, place, request, CONNECTIONS, seconds=turns.seconds * 2)["per_second"]
               for server, request in both)


def sample(turns, place, both, share, rate):
    """{"p50.10": (ours, the yardstick's), ...}"""
    said = [net.our_client(turns, server, place, request, CONNECTIONS, rate=rate, seconds=turns.seconds * 2)
            for server, request in both]
    return {f"{time}.{share}": tuple(s[f"{time}_us"] for s in said) for time in TIMES}


def beside(start, ours_request, yard_request):
    """start(turns, folder, place) gives the two servers."""
    def measure(turns):
        place, made = daemons.two_cores(user=True), [{} for _ in range(turns.samples)]
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
