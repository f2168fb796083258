"""shared.py -- many leases of one process in one distant store.  The number of connections is about the number of calls
in progress, and a fault of one lease does not affect the others.  shared.py ISSUER VESTA mysql|postgresql|zk SHARER"""
import subprocess
import sys
import threading

from world import PLACES, Schedule, told
from servers import claim, main, until

SHARER = sys.argv[4]
FILES = 40
THREADS = 8  # threads for the files of one store
place = PLACES[sys.argv[3]]().begin()


class Sharer:
    """A process that uses FILES generator files."""

    def __init__(self, schedule, name, store):
        self.given = self.renewed = 0
        schedule.out_files.append(schedule.path(name + ".ids"))
        self.process = subprocess.Popen([SHARER, schedule.path(name + ".ids"), schedule.folder, store, schedule.ns, "strict", str(FILES)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.given, self.renewed = map(int, line.split())

    def all_renewed(self, times):
        """Waits until all leases were renewed `times` more often, and issue ids."""
        begun = self.renewed
        until(lambda: self.renewed >= begun + times and self.given == FILES, "all of them are renewed")

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        self.reader.join()


@claim("%d leases of one process are renewed over no more connections than it has threads, and broken connections are opened again" % FILES)
def _():
    with Schedule(place, lease="strict") as s:
        sharer = Sharer(s, "a", place.uri())
        sharer.all_renewed(1)
        made = len(place.proxy.pairs)
        assert 0 < made <= 3 * THREADS, "%d connections" % made  # includes connections that ask ZooKeeper why it is slow
        sharer.all_renewed(2)
        more = len(place.proxy.pairs) - made
        told("%d connections for %d leases, and %d more in their next %d renewals", made, FILES, more, 2 * FILES)
        assert more < FILES, "they are made again for each call"
        place.proxy.cut()
        sharer.all_renewed(2)
        sharer.end()


@claim("a store that hangs renews none of them, and afterwards all are renewed by themselves")
def _():
    with Schedule(place, lease="strict") as s:
        sharer = Sharer(s, "b", place.uri())
        sharer.all_renewed(1)
        place.proxy.hold_requests = True
        until(lambda: sharer.given < FILES, "no lease is renewed")
        place.proxy.heal()
        sharer.all_renewed(1)
        sharer.end()


main()
