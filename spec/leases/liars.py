"""liars.py -- processes issue ids while the store's replies are falsified again and again.  liars.py ISSUER VESTA
mysql|postgresql|zk

There are no duplicates, and no id is outside of the range that the store shows as granted to its worker id."""
import random
import sys
import time

from world import LINE, PLACES, Schedule, told, version
from servers import claim, main
from liar import LIES, MysqlLiar, PgLiar, ZkLiar

SECONDS = 40
SEED = 8
place = PLACES[sys.argv[3]]().begin()
liar = {"mysql": MysqlLiar, "postgresql": PgLiar, "zk": ZkLiar}[place.kind](place.port, 3.5)


def until_of(record):
    return int(next(line for line in record.split(b"\n") if line.startswith(b"until ")).split()[1])


@claim("a store falsifies a reply twice a second: no duplicates, and no id outside of the granted ranges")
def _():
    dice = random.Random(SEED)
    lies = 0
    with Schedule(place, lease="strict") as s:
        issuers = [s.start("h%d" % i, identity="h%d" % i, rate=500, store=place.uri(port=liar.port)) for i in range(4)]
        for issuer in issuers:
            issuer.issues(60)
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            what = dice.choice(LIES)
            liar.lie(what, dice.randint(1, 6), only=lambda kind, what=what: not liar.is_fatal(what, kind))
            time.sleep(0.5)
            lies += liar.lied
        liar.tell_truth()
        told("%d lies told", lies)
        assert lies > SECONDS / 2
        for issuer in issuers:
            issuer.kill()
        highest = {}
        for issuer in issuers:
            with open(issuer.out, "rb") as file:
                for line in iter(lambda: file.read(LINE), b""):
                    if len(line) == LINE:
                        number, tick = int(line) >> 12 & 1023, (int(line) >> 22 << 12) | int(line) & 4095
                        highest[number] = max(tick, highest.get(number, 0))
        for number, tick in highest.items():
            record = place.get(s.ns, number)
            assert version(record) and tick < until_of(record), "number %d gave %d, and the store shows %r" % (number, tick, record)
        told("%d numbers gave ids, none past what the store shows", len(highest))


main()
