"""refused.py -- what a holder may not do, and what it meets on a machine that is set wrong: no id, a sentence, and on by
itself when it is put right.   refused.py ISSUER VESTA sqlite|mysql|zk [PART]
"""
import os
import shutil
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import claim, main, until

place = PLACES[sys.argv[3]]().begin()
FIXED = "version:1=0 kind:1 time:41 worker:8 seq:13 unit=1ms epoch=2020-01-01T00:00:00Z"
OTHER = "sign:1=0 time:41 worker:9 seq:13 unit=1ms epoch=2020-01-01T00:00:00Z"  # a layout


def says(issuer, *parts, since_ms=0):
    """Its sentence has every part."""
    line = issuer.when(lambda line: all(part in line.text for part in parts), "it says " + " ".join(parts),
                       since_ms=since_ms)
    told("%s", line.text)
    return line


def gives_nothing(issuer):
    assert issuer.last().given == 0, vars(issuer.last())


@claim("a namespace that nobody made gets no lease, and none is made by asking")
def _():
    with Schedule(place) as s:
        s.start("ada").issues()
        stranger = s.start("bob", ns="other")
        says(stranger, "vesta store init")
        gives_nothing(stranger)


def is_refused(s, other, at_once, later):
    """One's own machine is asked when the file is opened, a shared store by the keeper."""
    if place.kind == "sqlite":
        assert other.process.wait(20) == 1
        with open(other.out + ".err") as err:
            assert at_once in err.read()
        s.issuers.remove(other)
    else:
        says(other, later)
        gives_nothing(other)


@claim("a namespace of another layout gives no number: its ticks mean something else")
def _():
    with Schedule(place) as s:
        s.start("ada").issues()
        other = s.start("bob", layout=OTHER)
        is_refused(s, other, "was created with layout", "another layout")


@claim("a namespace with another constant gives no number: what proves that ids of two layouts differ believes it")
def _():
    with Schedule(place, layout=FIXED) as s:
        s.start("ada").issues()
        s.start("eve", layout=FIXED.replace("kind:1", "kind:1=1")).issues()  # what it leaves free may be fixed
        other = s.start("bob", layout=FIXED.replace("=0", "=1", 1))
        is_refused(s, other, "has version:1=0, not version:1=1",
                   "the namespace has version:1=0, not version:1=1: open a new generator file")


@claim("a folder of state that was copied to another root, and used beside the first: one generator, no id twice")
def _():
    with Schedule(place) as s:
        for home, more in (("bound", {"worker": 3}), ("drawn", {}), ("named", {"identity": "named"})):
            first = s.start(home, **more)
            number = first.issues().worker
            shutil.copytree(s.path(home), s.path("root", home))
            copy = s.start(os.path.join("root", home), **more)
            assert copy.issues().worker == number
            first.issues()


def spoil(s, issuer, number, change):
    """Somebody's hand in the record of a number, while its holder stands still; the record as it was."""
    issuer.pause()
    time.sleep(0.3)  # what it had asked for is done
    good = place.get(s.ns, number)
    place.put(s.ns, number, change(good))
    issuer.go_on()
    return good


@claim("a record that is truncated, foreign or newer under its holder: said, nothing past the window, and on when it is mended")
def _():
    with Schedule(place) as s:
        ada = s.start("ada", worker=9)
        for change, said in ((lambda text: b"hello", "not a vesta record"), (lambda text: b"vesta lease 2\nmore\n", "newer vesta"),
                             (lambda text: text[:-30], "truncated")):
            ada.issues()
            begun = now_ms()
            good = spoil(s, ada, 9, change)
            says(ada, said, since_ms=begun)
            spoilt = place.get(s.ns, 9)
            if said == "truncated":
                drawn = s.start("bob")
                says(drawn, said)
                ada.when(lambda line: line.refused and line.state == "drained", "its window is over", since_ms=begun)
                gives_nothing(drawn)
            assert place.get(s.ns, 9) == spoilt, "a record that cannot be read was written over"
            place.put(s.ns, 9, good)
            ada.issues(since_ms=now_ms())
        drawn.issues()


@claim("a record that somebody puts back as it was earlier: its holder stops until an operator has repaired the store")
def _():
    with Schedule(place) as s:
        ada = s.start("ada", worker=9)
        ada.issues()
        early = place.get(s.ns, 9)
        until(lambda: place.get(s.ns, 9) != early, "it is renewed")
        begun = now_ms()
        spoil(s, ada, 9, lambda text: early)
        stopped = ada.when(lambda line: line.state == "failstop" and line.refused, "it stops", since_ms=begun)
        told("%s", stopped.text)
        rival = s.start("bob", worker=9)
        s.advance()
        until(lambda: any(i.last() and i.last().ms > stopped.ms and i.last().state == "active" for i in (ada, rival)), "ids again", 60)


@claim("a number whose record is of another layout is nobody's: its ticks mean something else")
def _():
    with Schedule(place, layout=OTHER) as other, Schedule(place) as s:
        for schedule in (other, s):
            schedule.start("ada", worker=9).issues()
        s.issuers[0].stop()
        place.put(s.ns, 9, place.get(other.ns, 9))
        bob = s.start("bob", worker=9)
        says(bob, "worker id 9 is of another layout")
        gives_nothing(bob)


if place.kind in ("mysql", "zk"):
    @claim("a store that is an hour behind: no claim until it is right again; an hour ahead: ids by one's own clock")
    def _():
        uri = place.turned_uri()
        with Schedule(place) as s:
            for hours in (-1, 1):
                place.turn(hours)
                fresh = s.start("fresh%d" % hours, store=uri)
                if hours < 0:
                    says(fresh, "ahead of the store's")
                    gives_nothing(fresh)
                    place.turn(0)
                fresh.issues()
            place.turn(0)

    @claim("holders whose store turns an hour forth, right, back and right: nothing twice, nor by whoever claims then, and on")
    def _():
        uri = place.turned_uri()
        with Schedule(place) as s:
            holders = [s.start(home, worker=i, store=uri) for i, home in enumerate(("ada", "bob"))]
            for holder in holders:
                holder.issues()
            for hours in (1, 0, -1, 0):
                place.turn(hours)
                s.start("rival%d" % len(s.issuers), worker=len(s.issuers) % 2, store=uri)
                time.sleep(3)
            right = now_ms()
            for number in (0, 1):
                until(lambda: any(i.last().worker == number and i.last().given and i.last().ms > right for i in s.issuers),
                      "number %d gives ids" % number)

if place.kind == "mysql":
    @claim("a row that somebody keeps locked: ids to the window's end, and on when it is let go")
    def _():
        with Schedule(place) as s:
            ada = s.start("ada", worker=9)
            ada.issues()
            session, begun = place.session(), now_ms()
            try:
                session.stdin.write("BEGIN; SELECT worker FROM vesta.vesta_lease WHERE ns = '%s' AND worker = 9 FOR UPDATE;\n" % s.ns)
                assert session.stdout.readline() == "9\n"
                ada.when(lambda line: line.state == "drained", "its window is over", since_ms=begun)
            finally:
                session.communicate("ROLLBACK;\n", timeout=20)
            ada.issues(since_ms=now_ms())

    @claim("a database that turns read-only: said, ids to the window's end, and on when it can be written again")
    def _():
        with Schedule(place) as s:
            ada = s.start("ada", store=place.uri("writer"))
            place.sql("CREATE USER writer@'127.0.0.1'; GRANT SELECT, INSERT, UPDATE ON vesta.* TO writer@'127.0.0.1'")
            ada.issues()
            begun = now_ms()
            place.sql("SET GLOBAL read_only = 1")
            try:
                says(ada, "read-only", since_ms=begun)
                over = ada.when(lambda line: line.state == "drained", "its window is over", since_ms=begun)
                told("ids for %.1f s more", (over.ms - begun) / 1000)
            finally:
                place.sql("SET GLOBAL read_only = 0")
                back = now_ms()
            ada.issues(since_ms=back)

if place.kind == "zk":
    @claim("who is not authorized gets no lease, and breaks nobody else's")
    def _():
        with Schedule(place) as s:
            ada = s.start("ada")
            ada.issues()
            thief = s.start("bob", store=place.uri("me:wrong"))
            says(thief, "not authorized")
            gives_nothing(thief)
            assert ada.refused_between(ada.issues().ms, now_ms()) == 0


main(sys.argv[4] if len(sys.argv) > 4 else "")
