"""away.py -- tests faults of the store: disconnected, slow, stopped, emptied, restored from a backup.

    away.py ISSUER VESTA sqlite|mysql|postgresql|zk [PART]
"""
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import SLOW, claim, main

place = PLACES[sys.argv[3]]().begin()
GONE_S = 30


def steady(s, *homes, **more):
    """Returns issuers that issue ids already."""
    issuers = [s.start(home, identity=home, **more) for home in homes]
    for issuer in issuers:
        issuer.issues()
    return issuers


if place.proxy:
    @claim("connections are cut again and again: leases last in the meantime, and no request for an id fails")
    def _():
        with Schedule(place) as s:
            issuers = steady(s, "ada", "bob")
            begun = now_ms()
            for _ in range(12):
                place.proxy.cut()
                time.sleep(0.5)
            refused = sum(issuer.refused_between(begun, now_ms()) for issuer in issuers)
            told("12 cuts in 6 s: %d ids refused", refused)
            assert refused == 0 or SLOW > 1

    @claim("requests that arrive long after their deadlines cause no duplicate")
    def _():
        with Schedule(place) as s:
            issuers = steady(s, "cyd", worker=9) + steady(s, "ada", "bob")
            other = s.start("dan", identity="dan", worker=9)  # claims it in the first gap
            for _ in range(6):
                place.proxy.hold_requests = True
                time.sleep(1.7)
                place.proxy.heal()
                time.sleep(0.4)
            healed = now_ms()
            for issuer in issuers[1:]:
                issuer.issues(since_ms=healed)
            told("number 9: %d ids of its holder, %d of a rival", issuers[0].last().given, other.last().given)

    @claim("no reply for seven seconds, longer than a session: requests fail after the window, and the holder recovers without a restart")
    def _():
        with Schedule(place) as s:
            ada, = steady(s, "ada")
            begun = now_ms()
            place.proxy.hold_requests = place.proxy.lose_answers = True
            first = ada.when(lambda line: line.refused and line.state == "drained", "its window is over", since_ms=begun)
            told("cut off: ids for %.1f s, then: %s", (first.ms - begun) / 1000, first.text)
            time.sleep(max(0, 7 - (now_ms() - begun) / 1000))
            healed = now_ms()
            place.proxy.heal()
            place.proxy.cut()
            told("healed: ids again after %.1f s", (ada.issues(since_ms=healed).ms - healed) / 1000)


@claim("a store is unreachable for 30 seconds: a strict holder stops and recovers by itself, balanced and autonomous ones issue all the time")
def _():
    with Schedule(place) as s:
        strict, = steady(s, "strict")
        patient = steady(s, "balanced", lease="balanced") + steady(s, "autonomous", lease="autonomous", pacing="history")
        begun = now_ms()
        place.down()
        try:
            over = strict.when(lambda line: line.refused and line.state == "drained", "its window is over", since_ms=begun)
            told("strict: ids for %.1f s, then: %s", (over.ms - begun) / 1000, over.text)
            time.sleep(max(0, GONE_S - (now_ms() - begun) / 1000))
        finally:
            back = now_ms()
            place.up()
        told("strict: ids again %.1f s after the store's return", (strict.issues(since_ms=back).ms - back) / 1000)
        refused = [issuer.refused_between(begun, now_ms()) for issuer in patient]
        assert refused == [0, 0], refused
        patient[0].when(lambda line: line.state == "active", "the balanced holder has renewed", 60, since_ms=back)


def stops(issuers, since_ms, *words):
    """Checks that all issuers stop with a message and issue nothing more."""
    for issuer in issuers:
        stopped = issuer.when(lambda line: line.state == "failstop" and line.refused, "it stops", 60, since_ms)
        assert any(word in stopped.text for word in words), stopped.text
    told("stopped after %.1f s: %s", (stopped.ms - since_ms) / 1000, stopped.text)
    time.sleep(2)
    given = [issuer.last().given for issuer in issuers]
    time.sleep(1)
    assert given == [issuer.last().given for issuer in issuers], "ids from a store that went back"


def goes_on(s, issuers):
    advanced = now_ms()
    s.advance()
    for issuer in issuers:
        again = issuer.issues(90, since_ms=advanced)
    told("vesta store advance: ids again after %.1f s", (again.ms - advanced) / 1000)


@claim("after the store was restored from a backup, all issuers stop until an administrator repairs it")
def _():
    with Schedule(place) as s:
        place.save()
        issuers, begun = steady(s, "ada", "bob"), now_ms()
        place.restore()
        stops(issuers, begun, "went back", "replaced")
        goes_on(s, issuers)


@claim("after the store was lost and created again, no issuer continues with it until an administrator repairs it")
def _():
    with Schedule(place) as s:
        issuers, begun = steady(s, "ada", "bob"), now_ms()
        place.wipe()
        for issuer in issuers:
            lost = issuer.when(lambda line: line.refused and line.state == "drained", "its window is over", since_ms=begun)
        told("lost: ids for %.1f s, then: %s", (lost.ms - begun) / 1000, lost.text)
        made = now_ms()
        s.make()
        stops(issuers, made, "replaced")
        goes_on(s, issuers)


if place.proxy:
    @claim("a store is lost and created again while a holder is disconnected: a new process starts above all ids of the holder")
    def _():
        with Schedule(place) as s:
            ada, = steady(s, "ada")
            place.proxy.hold_requests = True  # only ada reaches the store through the proxy
            place.wipe()
            made = now_ms()
            s.make_again()
            bob = s.start("bob", worker=ada.worker(), store=place.uri(port=place.port))
            over = ada.when(lambda line: line.refused and line.state == "drained", "its window is over", since_ms=made)
            began = bob.issues(60)
            told("the holder gave ids for %.1f s, the newcomer from %.1f s on", (over.ms - made) / 1000, (began.ms - made) / 1000)
            healed = now_ms()
            place.proxy.heal()
            assert ada.issues(60, since_ms=healed).worker != began.worker


main(sys.argv[4] if len(sys.argv) > 4 else "")
