"""dense.py VESTA [RESERVATIONS] -- numbers without gaps on MariaDB.  Eight processes reserve and commit or cancel
numbers, and a third of the reservations end with kill -9 of their process.  Committed numbers have no gap and no
duplicate.

Numbers of killed processes are reserved again after they expire.  At the end all free numbers are reserved and
committed, until the next number is a new one.
"""
import multiprocessing
import os
import random
import signal

from servers import until
from served import mariadb, mysql_uri
from serving import Configured, claim, main, same
from taking import Connection, Refused, config, size, told

RESERVATIONS = size(0, 150)
PROCESSES, HOLD_MS = 8, 1000
TAG = "invoices"


class Crowd:
    def __init__(self, world, port):
        self.world, self.port, self.begun, self.live, self.killed = world, port, 0, [], 0
        self.made = multiprocessing.Value("L", 0)

    def client(self, seed):
        """A process: reserves until all processes together have made the wanted number of reservations, or until it is
        killed with a reservation."""
        dice, connection = random.Random(seed), Connection(self.port)
        with open(self.world.path("committed.%d" % seed), "a") as committed:
            while self.made.value < RESERVATIONS:
                had = connection.fields("VESTA.RESERVE", TAG, HOLD_MS)
                with self.made.get_lock():
                    self.made.value += 1
                if dice.random() < 1 / 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                try:
                    if dice.random() < 0.1:
                        connection.ask("VESTA.CANCEL", TAG, had["number"], had["token"])
                    else:
                        connection.ask("VESTA.COMMIT", TAG, had["number"], had["token"])
                        committed.write(had["number"] + "\n")
                        committed.flush()
                except Refused as refusal:  # the reservation expired, and the number was reserved again
                    assert "reserved again" in str(refusal), refusal

    def reap(self):
        for process in [one for one in self.live if not one.is_alive()]:
            process.join()
            assert process.exitcode in (0, -signal.SIGKILL), "a client ended with %d" % process.exitcode
            self.killed += process.exitcode != 0
            self.live.remove(process)

    def run(self):
        """Keeps eight processes running."""
        while self.live or self.made.value < RESERVATIONS:
            self.reap()
            while len(self.live) < PROCESSES and self.made.value < RESERVATIONS:
                self.begun += 1
                self.live.append(multiprocessing.get_context("fork").Process(target=self.client, args=(self.begun,)))
                self.live[-1].start()
            if self.live:
                self.live[0].join(0.05)

    def committed(self):
        """The numbers as the clients know them."""
        numbers = []
        for name in os.listdir(self.world.folder):
            if name.startswith("committed."):
                with open(self.world.path(name)) as file:
                    numbers += map(int, file)
        return numbers


def settle_rest(connection, highest):
    """Commits the free numbers below the highest one.  Returns how many there were."""
    rest = []
    while not rest or rest[-1] <= highest:
        had = connection.fields("VESTA.RESERVE", TAG, HOLD_MS * 60)
        rest.append(int(had["number"]))
        connection.ask("VESTA.COMMIT" if rest[-1] <= highest else "VESTA.CANCEL", TAG, had["number"], had["token"])
    return rest[:-1]


@claim("eight processes reserve numbers and a third are killed: the committed numbers have no gap and no duplicate")
def _(world):
    uri = mysql_uri()
    for words in (("store", "init", "--segments", "--namespace", "any", "--layout", "snowflake"), ("segments", "add", TAG)):
        done = world.run(*words, "--store", uri)
        same((done.code, done.err), (0, ""))
    with Configured(world, config("store = 'a', tags = '*', order = 'dense'", a=uri)) as server:
        crowd = Crowd(world, server.resp)
        crowd.run()
        numbers = crowd.committed()
        told("%d reservations by %d processes, %d killed with one in hand; %d committed", crowd.made.value, crowd.begun, crowd.killed,
             len(numbers))
        assert crowd.killed > RESERVATIONS / 6 and len(numbers) > RESERVATIONS / 3, "that is no third"
        connection, highest = Connection(server.resp), max(numbers)
        open_ones = "SELECT COUNT(*) FROM vesta.vesta_reservation WHERE free_ms > %d" % 0
        until(lambda: mariadb().sql(open_ones + " AND free_ms > UNIX_TIMESTAMP(NOW(3)) * 1000") == "0", "all reservations have expired")
        rest = settle_rest(connection, highest)
        connection.close()
        numbers += rest
        told("%d were given again; %d committed, highest %d: %d twice, %d missing", len(rest), len(numbers), highest,
             len(numbers) - len(set(numbers)), highest - len(set(numbers)))
        same(sorted(numbers), list(range(1, highest + 1)))


main()
