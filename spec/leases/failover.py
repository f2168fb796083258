"""failover.py -- kills a PostgreSQL server while ids are issued, and promotes its standby.  The store's URI names both.
failover.py ISSUER VESTA"""
import signal
import time

from world import Schedule, now_ms, told
from servers import PostgreSQL, claim, main, until

OPEN = "local all all trust\nhost all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"


class Pair:
    """A primary and its standby."""
    kind = "postgresql of two"
    port = None

    def __init__(self, **settings):
        self.primary = PostgreSQL()
        self.primary.hba(OPEN)
        self.primary.start()
        self.primary.sql("CREATE DATABASE vesta")
        self.standby = PostgreSQL(primary=self.primary)
        self.standby.hba(OPEN)
        self.standby.start()
        until(lambda: self.primary.sql("SELECT COUNT(*) FROM pg_stat_replication") == "1", "the standby follows")
        for name, value in settings.items():
            self.set(self.primary, name, value)

    @staticmethod
    def set(server, name, value):
        server.sql("ALTER SYSTEM SET %s = '%s'" % (name, value))
        server.sql("SELECT pg_reload_conf()")

    def uri(self, **_):
        return "postgresql://postgres@%s/vesta" % ",".join("127.0.0.1:%d" % server.port for server in (self.primary, self.standby))

    def cut_off(self):
        """From now on, the standby receives nothing."""
        self.set(self.standby, "primary_conninfo", "")
        until(lambda: self.standby.sql("SELECT COUNT(*) FROM pg_stat_wal_receiver") == "0", "the standby is cut off")

    def fail_over(self):
        """Returns when the standby leads."""
        self.primary.stop(signal.SIGKILL)
        self.set(self.standby, "synchronous_standby_names", "")
        self.standby.promote()
        until(lambda: self.standby.sql("SELECT pg_is_in_recovery()") == "f", "it leads")
        return now_ms()

    def end(self):
        self.primary.end()
        self.standby.end()


@claim("the primary is killed under load and its synchronous standby is promoted: no request for an id fails, and there is no duplicate")
def _():
    place = Pair(synchronous_standby_names="*")
    with Schedule(place, lease="balanced") as s:
        issuers = [s.start(home, identity=home, rate=20000) for home in ("ada", "bob", "cyd")]
        for issuer in issuers:
            issuer.issues()
        begun = now_ms()
        promoted = place.fail_over()
        new = s.start("dan", identity="dan")  # needs a lease from the standby
        began = new.issues(60)
        for issuer in issuers:
            issuer.when(lambda line: line.state == "active", "a renewal is acknowledged", 60, since_ms=promoted + 6000)
        refused = sum(issuer.refused_between(begun, now_ms()) for issuer in issuers)
        told("promoted after %.1f s, a new process issues after %.1f s, %d requests refused", (promoted - begun) / 1000, (began.ms - begun) / 1000, refused)
        assert refused == 0
        assert len({issuer.last().worker for issuer in s.issuers}) == 4
    place.end()


@claim("a promoted standby lacks acknowledged writes: all issuers stop until an administrator repairs it, and there is no duplicate")
def _():
    place = Pair()
    with Schedule(place) as s:
        issuers = [s.start(home, identity=home) for home in ("ada", "bob")]
        for issuer in issuers:
            issuer.issues()
        until(lambda: place.standby.has_replayed(place.primary), "the standby has their leases")
        place.cut_off()
        cut = now_ms()
        for issuer in issuers:  # their renewals are acknowledged, and will be lost
            issuer.when(lambda line: line.state == "active" and line.given, "it renews", since_ms=cut + 6000)
        promoted = place.fail_over()
        for issuer in issuers:
            stopped = issuer.when(lambda line: line.state == "failstop" and line.refused, "it stops", 60, promoted)
            assert "went back" in stopped.text, stopped.text
        told("stopped after %.1f s: %s", (stopped.ms - promoted) / 1000, stopped.text)
        time.sleep(1)
        given = [issuer.last().given for issuer in issuers]
        time.sleep(1)
        assert given == [issuer.last().given for issuer in issuers], "ids from a store that went back"
        advanced = now_ms()
        s.advance()
        for issuer in issuers:
            again = issuer.issues(90, since_ms=advanced)
        told("vesta store advance: ids again after %.1f s", (again.ms - advanced) / 1000)
    place.end()


main()
