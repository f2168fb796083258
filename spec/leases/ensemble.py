"""ensemble.py -- kills the leader of three ZooKeeper servers on this machine while ids are issued.  ensemble.py ISSUER
VESTA"""
import signal
import time

from world import Schedule, ZooKeeper, now_ms, told
from servers import claim, free_port, main, until

BEFORE_S = AFTER_S = 5


class Ensemble:
    kind = "zk of three"

    def __init__(self):
        ports = [(free_port(), free_port()) for _ in range(3)]
        lines = "".join("server.%d=127.0.0.1:%d:%d\n" % (i + 1, *pair) for i, pair in enumerate(ports))
        self.servers = [ZooKeeper("initLimit=20\nsyncLimit=10\n" + lines) for _ in ports]
        for i, server in enumerate(self.servers):
            with open(server.path("data/myid"), "w") as file:
                file.write(str(i + 1))
            server.start()
        for server in self.servers:
            server.ready()

    def uri(self, **_):
        return "zk://me:secret@%s/vesta" % ",".join("127.0.0.1:%d" % server.port for server in self.servers)

    port = None

    def leader(self):
        return until(lambda: next((s for s in self.servers if s.mode() == "leader"), None), "there is a leader")


place = Ensemble()


def rate(issuers, from_ms, to_ms):
    """Returns the ids per second of all issuers, and how many requests failed."""
    given = refused = 0
    for issuer in issuers:
        lines = [line for line in list(issuer.lines) if from_ms <= line.ms <= to_ms]
        given += lines[-1].given - lines[0].given
        refused += lines[-1].refused - lines[0].refused
    return given * 1000 / (to_ms - from_ms), refused


def kill_the_leader(lease):
    with Schedule(place, lease=lease) as s:
        issuers = [s.start(home, identity=home, rate=20000) for home in ("ada", "bob", "cyd")]
        for issuer in issuers:
            issuer.issues()
        begun = now_ms()
        time.sleep(BEFORE_S)
        leader = place.leader()
        killed = now_ms()
        leader.stop(signal.SIGKILL)
        place.leader()
        elected = now_ms()
        for issuer in issuers:  # long enough that a renewal was due
            issuer.when(lambda line: line.state == "active", "a renewal is acknowledged", 60, since_ms=elected + 6000)
        well = now_ms()
        time.sleep(AFTER_S)
        phases = (("before", begun, killed), ("while there is none", killed, elected), ("until all have renewed", elected, well),
                  ("after", well, now_ms()))
        for name, from_ms, to_ms in phases:
            told("%s, %-22s %5.1f s %8.0f ids/s %4d refused", lease, name, (to_ms - from_ms) / 1000,
                 *rate(issuers, from_ms, to_ms))
        assert len({issuer.last().worker for issuer in issuers}) == 3
        leader.start().ready()
        return rate(issuers, begun, now_ms())[1]


@claim("the leader is killed under load: another one leads, no request for an id fails, and there is no duplicate")
def _():
    assert kill_the_leader("balanced") == 0


@claim("the same with strict leases: ids resume by themselves, and there is no duplicate")
def _():
    kill_the_leader("strict")


main()
