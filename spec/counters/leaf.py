"""leaf.py VESTA [NUMBERS] -- a leaf_alloc table with Leaf's columns in the store $VESTA_SPEC_STORE, three servers on separate hosts, and another
writer with Leaf's UPDATE and SELECT on the same row, until NUMBERS (20,000) were issued.  No number repeats, and every
gap is explained.

A granted number was issued or is in one of a server's two ranges.  After the servers have ended, the missing numbers
are the rests of their ranges, without the rests that they put back.
"""
import contextlib
import os
import time

from servers import until
from serving import Configured, claim, main, same
from taking import Takers, Tally, config, leaf_database, size, standing, told

NUMBERS = size(0, 20000)
SERVERS, STEP, BATCH = 3, 2000 if NUMBERS > 1000000 else 100, 500 if NUMBERS > 1000000 else 20
LEAFS = ("BEGIN; UPDATE leaf.leaf_alloc SET max_id = max_id + step WHERE biz_tag = 'orders'; "
         "SELECT biz_tag, max_id, step FROM leaf.leaf_alloc WHERE biz_tag = 'orders'; COMMIT;\n")


class Writer:
    """Takes a range as Leaf does: update and select in one transaction.  The range is the step below max_id."""

    def __init__(self, db, tally):
        self.session, self.tally, self.given = db.session(), tally, 0

    def take(self, _):
        self.session.stdin.write(LEAFS)
        _, max_id, step = self.session.stdout.readline().replace("|", " ").split()
        self.tally.add_range(int(max_id) - int(step), int(step))
        self.given += int(step)
        time.sleep(0.005)  # so that the three servers take more ranges than this writer

    def end(self):
        self.session.stdin.close()
        same(self.session.wait(60), 0)
        self.session.stdout.close()


def host(world, name, uri):
    """A server with its own state and maps, as on another machine."""
    places = {"VESTA_STATE": world.path(name), "VESTA_MAPS": world.path(name + ".maps")}
    os.mkdir(places["VESTA_MAPS"], 0o700)
    return Configured(world, config("store = 'a', tags = '*'", a=uri), env=places)


def held(server):
    """Returns how many numbers are in its ranges."""
    one = standing(server, "orders")
    return one["left"] + one["next_left"]


@claim("three servers and Leaf's own writer on one row of Leaf's table: no number repeats, and every gap is explained")
def _(world):
    db, uri = leaf_database(orders=STEP)
    tally, begun = Tally(), time.monotonic()
    max_id = lambda: int(db.sql("SELECT max_id FROM leaf.leaf_alloc WHERE biz_tag = 'orders'"))  # noqa: E731
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(host(world, "host%d" % n, uri)) for n in range(SERVERS)]
        given, writer = [0] * SERVERS, Writer(db, tally)

        def taken_from(n):
            def take(connection):
                numbers = connection.numbers("orders", BATCH)
                tally.add(numbers)
                given[n] += len(numbers)
            return take

        with Takers([(server.resp, taken_from(n)) for n, server in enumerate(servers)] + [(servers[0].resp, writer.take)]) as takers:
            until(lambda: takers.look() and tally.given >= NUMBERS and min(*given, writer.given) >= NUMBERS / 20,
                  lambda: "%r and %d by the writer, of %d" % (given, writer.given, NUMBERS), 60 + NUMBERS / 20000)
        writer.end()
        told("%d numbers in %.1f s: %s by the servers, %d by Leaf's writer", tally.given, time.monotonic() - begun, given, writer.given)
        until(lambda: max_id() - 1 == tally.given + sum(map(held, servers)),  # a range may be in transit
              lambda: "granted %d, given %d, in ranges %r" % (max_id() - 1, tally.given, [held(server) for server in servers]))
        left, granted = sum(map(held, servers)), max_id()
    end = max_id()
    missing = tally.missing(1, end)
    told("%d twice; max_id %d, missing %d: the servers had %d left when they ended, and gave %d back", tally.twice, end, missing, left,
         granted - end)
    same((tally.twice, takers.refusals, missing), (0, [], left - (granted - end)))


main()
