"""prove.py -- ten minutes without a store, in real time, for the presets that promise to outlast it.   prove.py ISSUER VESTA STORE

A process under balanced has just renewed when the store goes, and is asked for nine minutes; one under autonomous for ten.
"""
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import claim, main

place = PLACES[sys.argv[3]]().begin()
BALANCED_S, AUTONOMOUS_S = 540, 600
RATE = 1000


def lasts(name, issuer, begun, gone):
    """It was refused no id, and gives some to the end."""
    now = now_ms()
    seconds, given, refused = (now - gone) / 1000, issuer.given_between(gone, now), issuer.refused_between(begun, now)
    told("%s: %d given, %d refused in %.0f s", name, given, refused, seconds)
    assert refused == 0 and given > seconds * RATE / 20 and issuer.given_between(now - 10000, now), (given, refused)


@claim("a store that is gone for ten minutes: autonomous refuses no id, balanced none for nine")
def _():
    with Schedule(place) as s:
        balanced = s.start("balanced", lease="balanced", rate=RATE)
        autonomous = s.start("autonomous", lease="autonomous", pacing="history", rate=RATE)
        begun = max(issuer.issues().ms for issuer in (balanced, autonomous))
        time.sleep(12)  # each has renewed
        place.down()
        gone = now_ms()
        time.sleep(BALANCED_S)
        lasts("balanced", balanced, begun, gone)
        time.sleep(AUTONOMOUS_S - BALANCED_S)
        lasts("autonomous", autonomous, begun, gone)
        back = now_ms()
        place.up()
        for issuer in (balanced, autonomous):
            issuer.when(lambda line: line.state == "active" and not line.text.startswith("lease"), "it is well", 60, since_ms=back)
        told("well again %.1f s after the store's return", (now_ms() - back) / 1000)


main()
