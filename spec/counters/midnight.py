"""midnight.py VESTA [SECONDS] -- business numbers across the midnight of a MariaDB, from three servers with clocks 2 s
apart, in strict order: SECONDS (30) before midnight and as long after it.  spec/program/server/forms.py is the
short test.
"""
import contextlib
import time

from servers import MariaDB, until
from harness import set_clock, shifted
from serving import Configured, claim, main, same
from taking import Takers, config, size, told

SECONDS, CLIENTS, OFF_S = size(0, 30.0), 6, (-2, 0, 2)
FORM, ZONE = "INV-{day:%Y%m%d}-{number:8}", "Europe/Berlin"
MIDNIGHT = 1795388400  # the midnight after 2026-11-22 in that zone
DAYS = ["20261122", "20261123"]


class Days:
    """Keeps each number with the times of its request and reply."""

    def __init__(self):
        self.seen = []

    def take(self, connection):
        began = time.monotonic()
        texts = [connection.ask("GET", "invoices"), *connection.ask("VESTA.NEXT", "invoices", 3)]
        ended = time.monotonic()
        self.seen += [(began, ended, text[4:12], int(text[13:])) for text in texts]

    def of(self, day):
        return [number for _, _, at, number in self.seen if at == day]

    def late(self):
        """Returns yesterday's numbers that were requested after a number of today was issued."""
        first = min(ended for _, ended, day, _ in self.seen if day == DAYS[1])
        return [number for began, _, day, number in self.seen if day == DAYS[0] and began > first]


@claim("across midnight on three hosts, no number repeats and no number of yesterday follows today's first")
def _(world):
    def start_clock(name, at):
        set_clock(world.path(name), "%+d" % (at - time.time()))
        return shifted(world.path(name))

    begin, days, db = MIDNIGHT - SECONDS, Days(), MariaDB()
    try:
        db.start(wrapper=["env", *("%s=%s" % pair for pair in start_clock("db", begin).items())])
        db.sql("CREATE DATABASE vesta")
        uri = "mysql://root@127.0.0.1:%d/vesta" % db.port
        for words in (("store", "init", "--segments"), ("segments", "add", "invoices")):
            done = world.run(*words, "--store", uri)
            same((done.code, done.err), (0, ""))
        text = config("store = 'a', tags = 'invoices', order = 'strict', form = '%s', zone = '%s'" % (FORM, ZONE), a=uri)
        with contextlib.ExitStack() as stack:
            servers = [stack.enter_context(Configured(world, text, env={"VESTA_STATE": world.path("state%d" % n),
                                                                        **start_clock("host%d" % n, begin + off)}))
                       for n, off in enumerate(OFF_S)]
            with Takers([(server.resp, days.take) for server in servers] * (CLIENTS // len(servers))) as takers:
                until(lambda: takers.look() and len(days.of(DAYS[1])) > len(days.of(DAYS[0])) / 2, "the next day starts", 2 * SECONDS + 120)
                time.sleep(SECONDS / 2)
    finally:
        db.end()
    yesterday, today = map(days.of, DAYS)
    told("%d numbers of yesterday, %d of today; today's are %d to %d", len(yesterday), len(today), min(today), max(today))
    twice = len(yesterday) - len(set(yesterday)) + len(today) - len(set(today))
    told("%d twice, %d of yesterday's after today's first, %d requests refused", twice, len(days.late()), takers.refused())
    same((len(days.seen), twice, days.late(), takers.refusals, min(today)), (len(yesterday) + len(today), 0, [], [], 1))


main()
