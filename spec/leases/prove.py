"""prove.py -- ten minutes without a store, in real time, for the presets that promise to outlast it.  prove.py ISSUER
VESTA STORE

A balanced process has just renewed when the store is stopped, and must issue ids for nine minutes.  An autonomous one
must issue them for ten.
"""
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import claim, main

place = PLACES[sys.argv[3]]().begin()
BALANCED_S, AUTONOMOUS_S = 540, 600
RATE = 1000


def lasts(name, issuer, begun, gone):
    """Checks that no request failed, and that ids were issued until the end."""
    now = now_ms()
    seconds, given, refused = (now - gone) / 1000, issuer.given_between(gone, now), issuer.refused_between(begun, now)
    told("%s: %d given, %d refused in %.0f s", name, given, refused, seconds)
    assert refused == 0 and given > seconds * RATE / 20 and issuer.given_between(now - 10000, now), (given, refused)


@claim("a store is unreachable for ten minutes: no request fails under autonomous, and none for nine minutes under balanced")
def _():
    with Schedule(place) as s:
        balanced = s.start("balanced", lease="balanced", rate=RATE)
        autonomous = s.start("autonomous", lease="autonomous", pacing="history", rate=RATE)
        begun = max(issuer.issues().ms for issuer in (balanced, autonomous))
        time.sleep(12)  # time for a renewal of each
        place.down()
        gone = now_ms()
        time.sleep(BALANCED_S)
        lasts("balanced", balanced, begun, gone)
        time.sleep(AUTONOMOUS_S - BALANCED_S)
        lasts("autonomous", autonomous, begun, gone)
        back = now_ms()
        place.up()
        for issuer in (balanced, autonomous):
            issuer.when(lambda line: line.state == "active" and not line.text.startswith("lease"), "it has renewed", 60, since_ms=back)
        told("well again %.1f s after the store's return", (now_ms() - back) / 1000)


main()
