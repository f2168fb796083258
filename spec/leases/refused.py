"""refused.py -- tests cases in which a holder must issue no ids, for example on a machine with a wrong clock.  It must
report the reason, and recover by itself when the cause is corrected.  refused.py ISSUER VESTA sqlite|mysql|postgresql|zk [PART]
"""
import os
import shutil
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import claim, main, until

place = PLACES[sys.argv[3]]().begin()
FIXED = "version:1=0 kind:1 time:41 worker:8 seq:13 unit=1ms epoch=2020-01-01T00:00:00Z"
OTHER = "sign:1=0 time:41 worker:9 seq:13 unit=1ms epoch=2020-01-01T00:00:00Z"  # another layout


def says(issuer, *parts, since_ms=0):
    """Checks that its message has every part."""
    line = issuer.when(lambda line: all(part in line.text for part in parts), "it says " + " ".join(parts),
                       since_ms=since_ms)
    told("%s", line.text)
    return line


def gives_nothing(issuer):
    assert issuer.last().given == 0, vars(issuer.last())


@claim("a namespace that does not exist gets no lease, and is not created by a request")
def _():
    with Schedule(place) as s:
        s.start("ada").issues()
        stranger = s.start("bob", ns="other")
        says(stranger, "vesta store init")
        gives_nothing(stranger)


def is_refused(s, other, at_once, later):
    """A local namespace is checked when the file is opened, a shared one by the keeper."""
    if place.kind == "sqlite":
        assert other.process.wait(20) == 1
        with open(other.out + ".err") as err:
            assert at_once in err.read()
        s.issuers.remove(other)
    else:
        says(other, later)
        gives_nothing(other)


@claim("a namespace with another layout assigns no worker id, because its ticks mean something else")
def _():
    with Schedule(place) as s:
        s.start("ada").issues()
        other = s.start("bob", layout=OTHER)
        is_refused(s, other, "was created with layout", "another layout")


@claim("a namespace with another constant assigns no worker id, because proofs of disjoint layouts rely on the constant")
def _():
    with Schedule(place, layout=FIXED) as s:
        s.start("ada").issues()
        s.start("eve", layout=FIXED.replace("kind:1", "kind:1=1")).issues()  # a constant may be added to a free field
        other = s.start("bob", layout=FIXED.replace("=0", "=1", 1))
        is_refused(s, other, "has version:1=0, not version:1=1",
                   "the namespace has version:1=0, not version:1=1: open a new generator file")


@claim("a state folder that is copied to another path and used next to the original is one generator, without duplicates")
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
    """Changes the record of a worker id by hand while its holder is stopped.  Returns the earlier record."""
    issuer.pause()
    time.sleep(0.3)  # its last request is done
    good = place.get(s.ns, number)
    place.put(s.ns, number, change(good))
    issuer.go_on()
    return good


@claim("a truncated, foreign or newer record under its holder is reported, no ids are issued after the window, and they resume after the repair")
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


@claim("after a record is replaced by an earlier version, its holder stops until an operator repairs the store")
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


@claim("a worker id whose record has another layout is not claimed, because its ticks mean something else")
def _():
    with Schedule(place, layout=OTHER) as other, Schedule(place) as s:
        for schedule in (other, s):
            schedule.start("ada", worker=9).issues()
        s.issuers[0].stop()
        place.put(s.ns, 9, place.get(other.ns, 9))
        bob = s.start("bob", worker=9)
        says(bob, "worker id 9 is of another layout")
        gives_nothing(bob)


if place.kind in ("mysql", "postgresql", "zk"):
    @claim("with a store clock an hour behind, no claim succeeds until it is corrected; with one an hour ahead, ids follow the local clock")
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

    @claim("the store's clock jumps an hour forward and back twice: there are no duplicates, also with new claims, and ids continue")
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

if place.kind in ("mysql", "postgresql"):
    @claim("a locked row: ids continue until the window ends, and resume after the lock is released")
    def _():
        with Schedule(place) as s:
            ada = s.start("ada", worker=9)
            ada.issues()
            session, begun = place.session("vesta"), now_ms()
            try:
                session.stdin.write("BEGIN; SELECT worker FROM vesta_lease WHERE ns = '%s' AND worker = 9 FOR UPDATE;\n" % s.ns)
                assert session.stdout.readline() == "9\n"
                ada.when(lambda line: line.state == "drained", "its window is over", since_ms=begun)
            finally:
                session.communicate("ROLLBACK;\n", timeout=20)
            ada.issues(since_ms=now_ms())

if place.kind == "mysql":
    @claim("a database that becomes read-only is reported, ids continue until the window ends, and resume when it is writable")
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
    @claim("an unauthorized user gets no lease, and cannot break another lease")
    def _():
        with Schedule(place) as s:
            ada = s.start("ada")
            ada.issues()
            thief = s.start("bob", store=place.uri("me:wrong"))
            says(thief, "not authorized")
            gives_nothing(thief)
            assert ada.refused_between(ada.issues().ms, now_ms()) == 0


main(sys.argv[4] if len(sys.argv) > 4 else "")
