"""Regression: ZooKeeper accepts 60 connections per address (maxClientCnxns), and each generator file kept one open. Of
100 processes, 40 got no worker id and a misleading message."""
import os
import socket
import sys
import time

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
sys.argv = [sys.argv[0], os.path.join(BUILD, "spec", "leases", "lease_issuer"), sys.argv[1], *sys.argv[2:]]
from servers import Caller, claim, main, until
from world import PLACES, Schedule, now_ms, told

CALL = os.path.join(BUILD, "spec", "stores", "store_call")
LIMIT = 60  # ZooKeeper's default
CROWD = 100
WITHIN_S = 60  # The time is printed. It is 3 to 6 s on two idle cores, and longer on a busy machine.
place = PLACES["zk"]().begin()


@claim("100 processes at one address get worker ids from a default ZooKeeper within a minute, and keep them")
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
        time.sleep(6)  # Every process renews in this time.
        assert len({issuer.last().worker for issuer in issuers} - {-1}) == CROWD
        last = [issuer.last() for issuer in issuers]
        lost = [(line.ms - begun, line.given, line.refused, line.state, line.text) for line in last if line.refused and line.state not in ("active", "renewing")]
        assert not lost, lost


@claim("a connection that ZooKeeper rejects is reported as such")
def _():
    others = [socket.socket() for _ in range(LIMIT + 20)]
    for other in others:
        other.connect_ex(("127.0.0.1", place.port))  # Some are rejected before connect_ex returns.

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
