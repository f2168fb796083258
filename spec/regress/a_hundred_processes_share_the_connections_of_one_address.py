"""ZooKeeper lets in 60 connections of one address (maxClientCnxns).  Each generator file kept one for ever: of 100 processes
40 got no number, with a sentence about something else."""
import os
import socket
import sys
import time

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
sys.argv = [sys.argv[0], os.path.join(BUILD, "spec", "leases", "lease_issuer"), sys.argv[1], *sys.argv[2:]]
from servers import Caller, claim, main, until
from world import PLACES, Schedule, now_ms, told

CALL = os.path.join(BUILD, "spec", "stores", "store_call")
LIMIT = 60  # what a ZooKeeper has where its configuration says nothing
CROWD = 100
WITHIN_S = 60  # how long it took is printed: 3 to 6 s on two quiet cores, and what a busy machine makes of that
place = PLACES["zk"]().begin()


@claim("100 processes on a ZooKeeper as it comes, from one address: all have numbers within a minute, and keep them")
def _():
    with open(place.path("zoo.cfg")) as file:
        assert "maxClientCnxns" not in file.read()
    with Schedule(place, lease="balanced") as s:
        begun = now_ms()
        issuers = [s.start("h%d" % i, identity="h%d" % i, rate=100, ids=50, rest=1, store=place.uri(port=place.port)) for i in range(CROWD)]
        for issuer in issuers:
            issuer.when(lambda line: line.given == 50, "its ids are given", WITHIN_S)
        last = max(next(line.ms for line in issuer.lines if line.given) for issuer in issuers) - begun
        told("the last of %d had its first id after %.1f s", CROWD, last / 1000)
        time.sleep(6)  # a renewal of everybody
        assert len({issuer.last().worker for issuer in issuers} - {-1}) == CROWD
        last = [issuer.last() for issuer in issuers]
        lost = [(line.ms - begun, line.given, line.refused, line.state, line.text) for line in last if line.refused and line.state not in ("active", "renewing")]
        assert not lost, lost


@claim("a connection that is not let in is said to be that")
def _():
    others = [socket.socket() for _ in range(LIMIT + 20)]
    for other in others:
        other.connect_ex(("127.0.0.1", place.port))  # some of them are turned away, even before this returns

    def turned_away():
        with Caller(CALL, place.uri(port=place.port), "s1", 3000) as caller:
            return "maxClientCnxns" in caller.ask("ns")["text"]
    try:
        until(turned_away, "the limit is named")
    finally:
        for other in others:
            other.close()
    with Caller(CALL, place.uri(port=place.port), "s1", 3000) as caller:
        caller.settle("ns")


main()
