"""outage.py VESTA [SECONDS] -- a database is unreachable for SECONDS in real time (default 1, but the claim is about ten
minutes), with two tags whose steps have settled: 500 ids a second by default, and 10,000 with a step_max of 20,000,000.

A step has settled when a range lasts for fifteen minutes.  It is reached by doubling as usual, but sooner, because the
first ranges are taken in blocks.  Requests do not wait here: if no number is there, the request fails.
"""
import signal
import time

from servers import until
from serving import Configured, claim, main, same
from taking import Connection, Refused, Takers, Tally, config, leaf_database, size, standing, told

SECONDS = size(0, 1.0)
SETTLED_S, STEP, BLOCK_S, BLOCKS, BEAT_S = 900, 1000, 6, 20, 0.1
RATES = {"orders": 500, "clicks": 10000}


class Tag:
    def __init__(self, name, server):
        self.name, self.server, self.rate, self.tally = name, server, RATES[name], Tally()

    def burn(self, connection):
        """Takes some of the available numbers as fast as possible."""
        try:
            for _ in range(BLOCKS):
                block = connection.fields("VESTA.BLOCK", self.name, BLOCK_S * self.rate)
                self.tally.add_range(int(block["first"]), block["count"], block["stride"])
        except Refused:
            pass  # its next range is being fetched

    def burn_until(self, true, what):
        connection = Connection(self.server.resp)  # a connection that is idle for ten minutes would be closed
        until(lambda: self.burn(connection) or true(), lambda: "%s: %s, but %r" % (self.name, what, standing(self.server, self.name)), 120)
        connection.close()

    def settle(self):
        self.burn_until(lambda: standing(self.server, self.name)["count"] >= SETTLED_S * self.rate, "a range lasts")

    def begin(self):
        self.begun, self.before = time.monotonic(), self.tally.given

    def taken(self):
        return self.tally.given - self.before

    def take(self, connection):
        """Takes the numbers that are due at its rate, every tenth of a second, or later if it is late."""
        due = int((time.monotonic() - self.begun) * self.rate) - self.taken()
        if due > 0:
            self.tally.add(connection.numbers(self.name, min(due, 1000)))
        if due <= 1000:
            time.sleep(BEAT_S)

    def ranges(self):
        return sum(database["ranges"] for database in standing(self.server, self.name)["databases"])

    def told(self, text):
        one = standing(self.server, self.name)
        told("%-6s %5d a second: %s; %d numbers in the range, %d in the next, step %d", self.name, self.rate, text, one["left"],
             one["next_left"], one["databases"][0]["step"])


@claim("a database is unreachable: tags whose steps have settled refuse no request, by default and with a larger step_max")
def _(world):
    db, uri = leaf_database(**{name: STEP for name in RATES})
    text = config("store = 'a', tags = 'orders'", "store = 'a', tags = 'clicks', step_max = 20000000", wait_ms_max=0, a=uri)
    with Configured(world, text) as server:
        tags = [Tag(name, server) for name in RATES]
        for tag in tags:
            tag.settle()
            tag.told("settled")
        for tag in tags:
            tag.begin()
        with Takers([(server.resp, tag.take) for tag in tags]) as takers:
            db.stop(signal.SIGKILL)
            gone = time.monotonic()
            for tag in tags:
                tag.begin()
            until(lambda: takers.look() and time.monotonic() - gone >= SECONDS and all(tag.taken() >= SECONDS * tag.rate for tag in tags),
                  lambda: "so many were taken: %r" % [tag.taken() for tag in tags], SECONDS + 120)
            for tag in tags:
                tag.told("%d ids in %.0f s without a database" % (tag.taken(), time.monotonic() - gone))
            db.start()
            for tag in tags:
                until(lambda: takers.look() and tag.taken() >= (SECONDS + min(SECONDS, 10)) * tag.rate, "both continue", 120)
        for tag in tags:
            before = tag.ranges()
            tag.burn_until(lambda: tag.ranges() > before, "it has ranges again")
            tag.told("the database is reachable again")
            told("%-6s %d numbers, %d twice", tag.name, tag.tally.given, tag.tally.twice)
        told("%d ids refused, the slowest request took %.0f ms", takers.refused(), (takers.slowest_s - BEAT_S) * 1000)
        same((takers.refusals, [tag.tally.twice for tag in tags]), ([], [0, 0]))


main()
