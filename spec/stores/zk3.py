"""zk3.py -- tests the zk: store on three ZooKeeper servers: the loss of a leader and of the majority.  zk3.py
STORE_CONTRACT STORE_CALL"""
import signal
import subprocess
import sys

from servers import Caller, SLOW, claim, ensemble, main, until

CONTRACT, CALL = sys.argv[1:3]
servers = ensemble(3)
URI = "zk://me:secret@%s/vesta" % ",".join("127.0.0.1:%d" % server.port for server in servers)
with Caller(CALL, URI) as first:
    first.ask("init", "OK")


def leader():
    return until(lambda: next((server for server in servers if server.mode() == "leader"), None), "there is a leader")


class Writer:
    """Writes new versions, and compares each reply with the acknowledged ones."""

    def __init__(self, caller):
        self.caller = caller
        self.ver = caller.ask("read 7", "OK")["ver"]  # the last acknowledged version
        self.asked = self.ver  # the last sent version
        self.counts = {}
        self.last = {}

    def step(self):
        got = self.caller.ask("read 7", "OK", "DOWN")
        if got["outcome"] == "OK":
            assert self.ver <= got["ver"] <= self.asked, "acknowledged %d, sent %d, found %r" % (self.ver, self.asked, got)
            assert got["until"] == got["ver"], got
            self.ver, self.asked = got["ver"], got["ver"] + 1
            got = self.caller.ask("swap 7 %d %d" % (self.ver, self.ver + 1), "OK", "CONFLICT", "DOWN", "UNKNOWN")
            if got["outcome"] == "OK":
                self.ver += 1
        self.counts[got["outcome"]] = self.counts.get(got["outcome"], 0) + 1
        self.last.update(got, modes=[server.mode() for server in servers])
        return got["outcome"]

    def steps_until_ok(self, count):
        """Makes `count` steps, and then more until one succeeds."""
        for _ in range(count):
            self.step()
        until(lambda: self.step() == "OK", lambda: "a swap goes through, last %r" % self.last)


def fresh(ns):
    caller = Caller(CALL, URI, ns, 800)
    caller.settle("ns")
    caller.ask("make 5 77", "OK")
    caller.settle("swap 7 0 1")
    return caller


@claim("on several servers, each version has one winner in a race")
def _():
    done = subprocess.run([CONTRACT, URI, "race"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120 * SLOW)
    assert done.stdout.endswith("1 passed, 0 failed\n"), done.stdout + done.stderr


@claim("leaders are killed during writes: the writer continues with the others, and no acknowledged write is lost")
def _():
    with fresh("leader") as caller:
        writer = Writer(caller)
        for _ in range(3):
            writer.steps_until_ok(20)
            was = leader()
            was.stop(signal.SIGKILL)
            writer.steps_until_ok(20)
            was.start().ready()
        print("# " + ", ".join("%s %d" % pair for pair in sorted(writer.counts.items())))


@claim("without a majority nothing is acknowledged, and with one the writer continues")
def _():
    with fresh("majority") as caller:
        writer = Writer(caller)
        writer.steps_until_ok(5)
        # Does not stop the leader.  A ZooKeeper 3.8 leader that was stopped may continue to lead after a proposal that
        # no follower acknowledges any more.  Then it commits no write of any client until it is restarted.
        led = leader()
        stopped = [server for server in servers if server is not led]
        for server in stopped:
            server.pause()
        try:
            for _ in range(10):
                assert writer.step() != "OK"
        finally:
            for server in stopped:
                server.go_on()
        writer.steps_until_ok(5)


main(sys.argv[3] if len(sys.argv) > 3 else "")
