"""ZooKeeper counts a node's version in 32 bits, and a write that names version -1 replaces any version. Regression: a
counter or record that had reached -1 after 2^32 writes was written without a comparison, so two hosts took the same
range."""
import os
import signal
import struct
import sys
import zlib

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
from servers import Caller, Proxy, ZooKeeper, claim, has, main, until

CALL = os.environ.get("STORE_CALL", os.path.join(BUILD, "spec", "stores", "store_call"))
if not all(os.path.exists(jar) for jar in ZooKeeper.JARS.split(":")) or b"zookeeper" not in open(CALL, "rb").read():
    print("1 passed, 0 failed # no ZooKeeper here")
    sys.exit(0)
zk = ZooKeeper().start().ready()


def uri(port=None):
    return "zk://me:secret@127.0.0.1:%d/vesta" % (port or zk.port)


def entries(log):
    """Yields (begin, end) of each transaction of a log, after its header of 16 bytes."""
    at = 16
    while at + 12 < len(log):
        length, = struct.unpack_from(">i", log, at + 8)
        if length <= 0:
            return
        yield at + 12, at + 12 + length
        at += 12 + length + 1


def plant(path, version):
    """Sets a node's version, by rewriting the transaction of its last write while the server is down."""
    zk.stop(signal.SIGKILL)
    folder = os.path.join(zk.path("data"), "version-2")
    name = b"\0\0\0\5"  # the type of a set
    key = struct.pack(">i", len(path)) + path.encode()
    for file in sorted((f for f in os.listdir(folder) if f.startswith("log.")), key=lambda f: int(f[4:], 16), reverse=True):
        with open(os.path.join(folder, file), "r+b") as opened:
            log = bytearray(opened.read())
            found = None
            for begin, end in entries(log):
                at = log.find(name, begin, end)
                while at >= 0:
                    body = at + len(name) + 4  # The transaction's length is between the type and the path.
                    if log[body:body + len(key)] == key:
                        found = begin, end, body + len(key)
                    at = log.find(name, at + 1, end)
            if not found:
                continue
            begin, end, at = found
            length, = struct.unpack_from(">i", log, at)
            struct.pack_into(">i", log, at + 4 + length, version)
            struct.pack_into(">q", log, begin - 12, zlib.adler32(bytes(log[begin:end])))
            opened.seek(0)
            opened.write(log)
            break
    else:
        raise AssertionError("no write of %s is in the logs" % path)
    zk.start().ready()


def is_write(data):
    return b"vesta " in data  # Only a write contains a text.


def fresh(ns):
    with Caller(CALL, uri(), ns) as caller:
        caller.ask("init", "OK")
        caller.ask("make 5 77", "OK")
        caller.ask("swap 7 0 10", "OK")


def took(got):
    return got["from"], got["to"]


def race(ns, late, first):
    """Holds the request `late` back until `first` is done, and returns both replies."""
    proxy = Proxy(zk.port)
    with Caller(CALL, uri(proxy.port), ns) as slow, Caller(CALL, uri(), ns) as quick:
        slow.ask("ns", "OK")
        proxy.at, proxy.hold_requests = is_write, True
        slow.send(late)
        until(lambda: not proxy.at, "its write is on its way")
        done = quick.ask(first)
        proxy.heal()
        return slow.answer(), done


@claim("a take based on version -1 replaces no other take")
def _():
    with Caller(CALL, uri()) as caller:
        caller.ask("init", "OK")
        caller.ask("add minus 1 10", "OK")
        assert took(caller.ask("take minus 10", "OK")) == (1, 11)
    plant("/vesta/~counters/minus", -1)
    proxy = Proxy(zk.port)
    with Caller(CALL, uri(proxy.port)) as slow, Caller(CALL, uri()) as quick:
        proxy.at, proxy.hold_requests = is_write, True
        slow.send("take minus 10")
        got = quick.ask("take minus 10")
        proxy.heal()
        late = slow.answer()
    ranges = [took(each) for each in (got, late) if each["outcome"] == "OK"]
    assert len(set(ranges)) == len(ranges), ranges
    for each in (got, late):
        assert each["outcome"] == "REFUSED", each
        has(each["text"], "minus", "version -1", "set its data once")


@claim("a renewal at version -1 is rejected, and so is a write of the namespace's node")
def _():
    fresh("leases")
    with Caller(CALL, uri(), "leases") as caller:
        caller.ask("swap 7 1 20", "OK")
    plant("/vesta/leases/w/0/7", -1)
    with Caller(CALL, uri(), "leases") as caller:
        has(caller.ask("swap 7 2 30", "REFUSED")["text"], "version -1")
        assert caller.ask("read 7", "OK")["until"] == 20
    fresh("spaces")
    with Caller(CALL, uri(), "spaces") as caller:
        caller.ask("advance 99 0", "OK")
    plant("/vesta/spaces", -1)
    with Caller(CALL, uri(), "spaces") as caller:
        for order in ("swap 7 1 20", "advance 101 0"):
            has(caller.ask(order, "REFUSED")["text"], "version -1", "spaces")


@claim("a write over version -2 replaces only that version, and leaves one that the next write can name")
def _():
    with Caller(CALL, uri()) as caller:
        caller.ask("add before 1 10", "OK")
        assert took(caller.ask("take before 10", "OK")) == (1, 11)
    plant("/vesta/~counters/before", -2)
    late, first = race("orders", "take before 10", "take before 10")
    assert sorted((took(late), took(first))) == [(11, 21), (21, 31)], (late, first)
    with Caller(CALL, uri()) as caller:
        assert took(caller.ask("take before 10", "OK")) == (31, 41)
    fresh("renewed")
    with Caller(CALL, uri(), "renewed") as caller:
        caller.ask("swap 7 1 20", "OK")
    plant("/vesta/renewed/w/0/7", -2)
    with Caller(CALL, uri(), "renewed") as caller:
        caller.ask("swap 7 2 30", "OK")
        caller.ask("swap 7 3 40", "OK")
        assert caller.ask("read 7", "OK")["until"] == 40


@claim("after version 2^31 - 1 follows -2^31")
def _():
    with Caller(CALL, uri()) as caller:
        caller.ask("add wraps 1 10", "OK")
        assert took(caller.ask("take wraps 10", "OK")) == (1, 11)
    plant("/vesta/~counters/wraps", (1 << 31) - 1)
    with Caller(CALL, uri()) as caller:
        assert took(caller.ask("take wraps 10", "OK")) == (11, 21)
        assert took(caller.ask("take wraps 10", "OK")) == (21, 31)


main()
