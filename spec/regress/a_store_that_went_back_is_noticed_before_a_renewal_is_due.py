"""Under `balanced` a store that was restored, or failed over to a copy that was behind, was noticed by the next renewal only:
up to five seconds of ids, while a newcomer might repeat them.  A connection that breaks, and a file that is another or older,
tell it sooner."""
import os
import sys
import time

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
sys.argv = [sys.argv[0], os.path.join(BUILD, "spec", "leases", "lease_issuer"), sys.argv[1], *sys.argv[2:]]
from servers import SLOW, claim, main, until
from world import PLACES, Schedule, now_ms, told, version

RENEWAL_S = 5  # of balanced, while ids are given


def noticed_after(kind, lease, break_it):
    """Seconds from the restore, right behind a renewal, until ids end."""
    place = PLACES[kind]().begin()
    with Schedule(place, lease=lease) as s:
        issuer = s.start("ada", identity="ada", rate=100)
        issuer.issues()

        def stands():
            return version(place.get(s.ns, issuer.last().worker))
        place.save()
        was = stands()
        until(lambda: stands() > was + 1, "it is renewed twice")
        was = stands()
        until(lambda: stands() > was, "it is renewed just now")
        place.restore()
        begun = now_ms()
        break_it(place)
        found = issuer.when(lambda line: line.state == "failstop", "it is noticed", since_ms=begun)
        took = (found.ms - begun) / 1000
        told("%s, %s: noticed after %.1f s: %s", kind, lease, took, found.text)
        issuer.kill()
        return took


@claim("MariaDB, balanced, failed over to a copy that was behind: its connections break, and that tells it")
def _():
    assert noticed_after("mysql", "balanced", lambda place: place.proxy.cut()) < (RENEWAL_S - 1.5) * SLOW


@claim("SQLite, its file put back: the file has seen fewer transactions")
def _():
    # a renewal is due every 1.5 s there, so what tells is that it comes at all; see the figure
    assert noticed_after("sqlite", "local", lambda place: time.sleep(0)) < RENEWAL_S * SLOW


main()
