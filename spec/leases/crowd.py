"""crowd.py -- many claims at the same time, and a claim with hardly any free worker id.  crowd.py ISSUER VESTA
sqlite|mysql|postgresql|zk|file [PART]"""
import struct
import sys

from world import PLACES, Schedule, Server, now_ms, told
from servers import claim, main

CROWD = 100
NUMBERS = 8192
MULTI, GET_CHILDREN = 14, (8, 12)


class File(Server):
    kind = "file"

    def __init__(self):
        super().__init__("file")

    def uri(self, **_):
        return "file:" + self.folder

    def begin(self):
        return self


place = {**PLACES, "file": File}[sys.argv[3]]().begin()


@claim("100 processes that claim at the same time get 100 worker ids")
def _():
    with Schedule(place, lease="local" if place.kind == "file" else "strict") as s:
        begun = now_ms()
        issuers = [s.start("h%d" % i, identity="h%d" % i, rate=1000, ids=50) for i in range(CROWD)]
        for issuer in issuers:
            assert issuer.process.wait(120) == 0
            issuer.reader.join()
        last = max(issuer.last().ms for issuer in issuers) - 50
        numbers = {issuer.last().worker for issuer in issuers}
        told("%d processes began, claimed and issued within %.1f s", CROWD, (last - begun) / 1000)
        assert len(numbers) == CROWD, sorted(numbers)


class Counter:
    """Counts the requests of a process to ZooKeeper, at a proxy."""

    def __init__(self, ns):
        self.ns = ns
        self.asked, self.rest = [], b""
        place.proxy.at = self.see

    def see(self, data):
        self.rest += data
        while len(self.rest) >= 12:
            length, _, kind = struct.unpack(">iii", self.rest[:12])
            if len(self.rest) < 4 + length:
                break
            self.asked.append((kind, self.rest[16:4 + length]))
            self.rest = self.rest[4 + max(length, 8):]
        return False

    def found(self):
        """A listing has one request for the groups, then one for each group."""
        place.proxy.heal()
        root = ("/vesta/%s/w" % self.ns).encode()
        return (sum(kind in GET_CHILDREN and text[:len(root) + 1] in (root + b"\0", root + b"\1") for kind, text in self.asked),
                sum(kind == MULTI for kind, _ in self.asked))


class Log:
    """Counts the same in MariaDB's own log."""

    def __init__(self, _):
        place.sql("SET GLOBAL general_log_file = '%s'; SET GLOBAL general_log = 1" % place.path("general"))

    def found(self):
        place.sql("SET GLOBAL general_log = 0")
        with open(place.path("general"), errors="replace") as file:
            done = [line for line in file if "Query" in line]
        return (sum("ORDER BY l.worker" in line for line in done),
                sum("INSERT INTO vesta_lease" in line or "UPDATE vesta_lease" in line for line in done))


class PgLog:
    """Counts the same in PostgreSQL's own log."""

    def __init__(self, _):
        place.sql("ALTER SYSTEM SET log_statement = 'all'")
        place.sql("SELECT pg_reload_conf()")

    def found(self):
        place.sql("ALTER SYSTEM RESET log_statement")
        with open(place.path("log"), errors="replace") as file:
            done = [line for line in file if "statement:" in line]
        return sum("ORDER BY worker" in line for line in done), sum("WITH met AS" in line for line in done)


@claim("the one free worker id of %d is claimed with one listing and at most three swaps" % NUMBERS)
def _():
    with Schedule(place, layout="butterfly", lease="local" if place.kind == "file" else "strict") as s:
        s.fill(NUMBERS - 1)
        counter = {"zk": Counter, "mysql": Log, "postgresql": PgLog}.get(place.kind, lambda _: None)(s.ns)
        issuer = s.start("ada", identity="ada", rate=1000)
        line = issuer.issues(60)
        told("one of %d: issuing after %.2f s", NUMBERS, (line.ms - issuer.begun_ms) / 1000)
        assert line.worker == NUMBERS - 1, line.worker
        if counter:
            listings, swaps = counter.found()
            told("%d listing, %d swaps", listings, swaps)
            assert listings == 1 and 1 <= swaps <= 3, (listings, swaps)


main(sys.argv[4] if len(sys.argv) > 4 else "")
