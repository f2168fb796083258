"""databases.py VESTA [SECONDS] -- a tag of a MariaDB and a server of the kind $VESTA_SPEC_STORE.  The latter is killed
with -9 and started again under load.

A phase lasts for at least SECONDS (0.3), and until its result is visible: numbers of both, the lost one reported, and
numbers of the restarted one.
"""
import signal
import time

from servers import until
from serving import Configured, claim, main, same
from taking import Takers, Tally, config, leaf_database, size, told

SECONDS = size(0, 0.3)
STEP, BATCH, CLIENTS = 2000, 50, 4


class Count(Tally):
    """Returns which database granted a number: its remainder modulo two."""

    def __init__(self):
        super().__init__()
        self.by, self.highest = [0, 0], [0, 0]

    def take(self, connection):
        numbers = connection.numbers("orders", BATCH)
        self.add(numbers)
        with self.lock:
            for which in 0, 1:
                mine = [number for number in numbers if number % 2 == which]
                self.by[which] += len(mine)
                self.highest[which] = max([self.highest[which], *mine])
        time.sleep(0.0005)


class Show:
    def __init__(self, takers, tally):
        self.takers, self.tally, self.begun, self.before = takers, tally, time.monotonic(), [0, 0]

    def since(self, which):
        return self.tally.by[which] - self.before[which]

    def phase(self, text, is_shown):
        begun, self.before = time.monotonic(), list(self.tally.by)
        until(lambda: self.takers.look() and time.monotonic() - begun >= SECONDS and is_shown(), text, SECONDS + 60)
        told("%6.1f s  %-34s from a %8d, from b %8d, refused %d", time.monotonic() - self.begun, text, self.since(0), self.since(1),
             self.takers.refused())


@claim("one of two databases is killed with -9 and started again under load: no request fails, no number repeats, and it grants numbers again")
def _(world):
    (_, a_uri), (b, b_uri) = leaf_database("mysql", orders=STEP), leaf_database(orders=STEP)
    tally = Count()
    with Configured(world, config("stores = { 'a', 'b' }, tags = 'orders', step_max = %d" % STEP, a=a_uri, b=b_uri)) as server:
        with Takers([(server.resp, tally.take)] * CLIENTS) as takers:
            show = Show(takers, tally)
            show.phase("both give", lambda: show.since(0) > STEP and show.since(1) > STEP)
            b.stop(signal.SIGKILL)
            show.phase("b is killed -9", lambda: show.since(0) > 10 * STEP)
            assert " store=b" in server.listen("a database of tags is unreachable"), server.said
            b.start()
            stood = int(b.sql("SELECT max_id FROM leaf.leaf_alloc"))
            show.phase("b is back", lambda: tally.highest[1] >= stood + STEP)
        told("%d numbers, %d twice, %d requests refused, the slowest %.0f ms", tally.given, tally.twice, takers.refused(), takers.slowest_s * 1000)
        same((tally.twice, takers.refusals), (0, []))


main()
