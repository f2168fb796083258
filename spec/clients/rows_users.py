"""rows_users.py -- use and misuse of a client, and events of its process."""
import time

from harness import set_clock, shifted
from proxy import change, tells
from rows import row
from rows_replies import WAIT
from servers import until

PASSWORD = "open \"sesame\" ' \u00e9"


@row("a right, a wrong and a missing password")
def _(cell):
    server = cell.suite.with_password()
    client = cell.client([server.address], size=50, timeout=5000, wait=WAIT, password=PASSWORD)
    client.next(120)
    for options, said in (({"password": "guess"}, "WRONGPASS"), ({}, "NOAUTH")):
        client.open([server.address], size=50, timeout=5000, wait=600000, **options)
        client.fails(server.address, said)  # at once, before the wait is over
    client.open([server.address, cell.b.address], size=50, timeout=5000, wait=WAIT)
    assert cell.of(cell.server_b, client.next(60))


@row("a named client sends its secret as the password, and fails at once if it may not request blocks")
def _(cell):
    server, secrets = cell.suite.with_clients()
    client = cell.client([server.address], size=50, timeout=5000, wait=WAIT, password=secrets["ids"])
    client.next(120)
    client.open([server.address], size=50, timeout=5000, wait=600000, password=secrets["reader"])
    client.fails(server.address, "NOPERM")


@row("a name that no server has fails at once")
def _(cell):
    client = cell.client(name="nowhere", timeout=5000, wait=600000)
    client.fails(cell.a.address, cell.b.address, "unknown name 'nowhere'")


@row("wrong, huge and empty options are rejected by name and value")
def _(cell):
    client, good = cell.driver(), {"servers": [cell.a.address], "name": "ids"}
    for wrong, *said in (
            ({"servers": []}, "servers"), ({"servers": ["127.0.0.1:0"]}, "127.0.0.1:0"), ({"servers": ["127.0.0.1:99999"]}, "99999"),
            ({"servers": ["127.0.0.1"]}, "127.0.0.1"), ({"servers": ["127.0.0.1:x"]}, "127.0.0.1:x"), ({"servers": [":8089"]}, ":8089"),
            ({"servers": [cell.a.address, "127.0.0.1:-1"]}, "127.0.0.1:-1"), ({"name": ""}, "name"), ({"name": "n" * 65}, "name", "n" * 40),
            ({"name": "two words"}, "two words"), ({"name": "a\r\nGET"}, "name"), ({"name": "n\u00e4me"}, "name"),
            ({"size": 0}, "size", "0"), ({"size": -1}, "size", "-1"), ({"size": 100001}, "size", "100001"), ({"size": 2**63 - 1}, "size"),
            ({"ttl": 0}, "ttl", "0"), ({"ttl": -5}, "ttl"), ({"timeout": 0}, "timeout", "0"), ({"timeout": -1}, "timeout"),
            ({"wait": -1}, "wait"), ({"ttl": 10**12}, "ttl"), ({"timeout": 10**12}, "timeout"), ({"wait": 10**12}, "wait")):
        answer = client.try_open(**{**good, **wrong})
        if {"%s=%s" % pair for pair in wrong.items()} & set(cell.column.accepts) or set(wrong) & set(cell.column.accepts):
            assert answer.line == "ok", "columns.py lists this as accepted: %r: %s" % (wrong, answer.line)
            continue
        assert answer.word == "error", "%r was not rejected: %s" % (wrong, answer.line)
        for part in (cell.column.calls.get(part, part) for part in said):
            assert part in answer.error, "%r is not in %r" % (part, answer.error)
    assert cell.watch.connections == 0, "open asks no server"
    client.open([cell.a.address], name="ids", size=100000, timeout=60000, wait=WAIT)
    client.next(10)
    client.open([cell.a.address], name="ids", size=1, timeout=60000, wait=WAIT)
    client.next(10)


@row("an unknown option is rejected by name, and so is a string instead of a list of servers")
def _(cell):
    client = cell.driver()
    if cell.column.name in ("python", "node"):  # other languages check types and names themselves
        assert "servers is a" in client.try_open(servers=[cell.a.address], name="ids", as_text="yes").error
        assert "pasword" in client.try_open(servers=[cell.a.address], name="ids", pasword="x").error


@row("the defaults that all clients have")
def _(cell):
    word, *pairs = cell.driver().say("defaults").line.split()
    if not cell.column.has_defaults:
        assert word == "none", "columns.py lists no defaults for it: " + word
        return
    held = dict(pair.split("=") for pair in pairs)
    assert word == "defaults" and {"ttl", "timeout"} <= set(held), (word, pairs)
    common = {"size": "1000", "ttl": "10000", "timeout": "2000", "wait": "5000"}
    assert held == {key: common[key] for key in held}, held


@row("one request at a time, and one for each block, however many threads call")
def _(cell):
    client = cell.client(size=10, timeout=60000, wait=60000)
    said = client.ids("at_once 4 200")
    assert len(said.ids) == 800 and not said.error, said.line[-300:]
    until(lambda: is_all_the_same(client.info(), cell.watch) or time.sleep(0.01), lambda: "a block for each request of %d: %s" %
          (cell.watch.requests, client.say("info").line))
    info = client.info()
    left_by_threads = 4 if cell.column.name == "c" else 0  # each of four threads ends with up to 9 unused ids
    assert 80 <= info["blocks"] <= 82 + left_by_threads and info["drops"] == 0, info


def is_all_the_same(info, watch):
    return info["blocks"] == info["requests"] == len(watch.grants) == watch.requests


@row("all ids of a block in their order, and no request without a call")
def _(cell):
    client = cell.client(size=1000, timeout=60000, wait=WAIT, ttl=600000)
    ids = client.next(1)
    time.sleep(0.2)
    assert cell.watch.requests == 1, "less than a tenth is used, but there were %d requests" % cell.watch.requests
    ids += client.next(999)
    assert ids == cell.watch.grants[0].ids(), "the ids are not those of the block"
    client.settle(2)
    client.next(10)
    time.sleep(0.2)
    assert cell.watch.requests == 2, "there were %d requests" % cell.watch.requests


@row("a sequence in two parts")
def _(cell):
    client = cell.client(name="parts", size=300, timeout=60000, wait=WAIT)
    assert client.next(300) == cell.watch.grants[0].ids()
    assert cell.watch.grants[0].low_bits == 14


@row("numbers of a tag whose store all servers share, while one server is killed")
def _(cell):
    client = cell.client(name="numbers", size=100, timeout=20000, wait=WAIT)
    numbers = client.next(250)
    cell.server_a.kill()
    numbers += client.next(550)
    assert max(numbers) < 2**32 and cell.watch.grants[0].values["kind"] == "numbers", numbers[:3]


@row("numbers of a tag with a stride, up to the largest")
def _(cell):
    """A block of numbers has a first number and a stride: docs/blocks.md."""
    client = cell.driver()
    client.counted = False
    client.open([cell.a.address], size=100, timeout=60000, wait=WAIT)
    numbers = tells(kind=b"numbers", first=b"9223372036854775510", count=100, stride=3, base=None, seq_bits=None, layout=None)
    cell.a.fault(numbers)
    got = client.next(100)
    assert got == list(range(9223372036854775510, 2**63, 3)), got
    client.settle(2)
    for wrong in ({"first": b"18446744073709551418"}, {"stride": 0}, {"stride": -1}, {"stride": None}, {"count": 0}):
        values = {"kind": b"numbers", "first": b"7", "count": 100, "stride": 2, **wrong}
        cell.a.fault(change(**values), 99)
        client.open([cell.a.address], size=100, timeout=300, wait=30)
        client.fails()
        until(lambda: cell.errors_of(client, cell.a) or time.sleep(0.01), "the client counts a failure")


@row("ttl drops the rest of a block")
def _(cell):
    client = cell.client([cell.a.address], size=1000, timeout=60000, wait=WAIT, ttl=300)
    client.next(300)
    client.settle(2)
    time.sleep(0.5)
    old = {id for grant in cell.watch.grants for id in grant.ids()}
    assert not old & set(client.next(5)), "ids of a block that is older than its ttl"
    assert client.info()["drops"] >= 1, client.say("info").line


@row("a wall clock that is a day ahead or behind has no effect")
def _(cell):
    path = cell.path("clock")
    set_clock(path, "+0")
    client = cell.driver(shifted(path))
    client.open([cell.a.address], size=100, timeout=60000, wait=WAIT, ttl=600000)
    ids = []
    for blocks, off in enumerate(("+86400", "-86400", "+0"), 2):
        ids += client.next(80)
        client.settle(blocks)
        set_clock(path, off)
    ids += client.next(60)
    assert ids == [id for grant in cell.watch.grants for id in grant.ids()][:300], "blocks were dropped: " + client.say("info").line
    client.open([cell.a.address], size=1000, timeout=60000, wait=WAIT, ttl=300)
    client.next(5)
    set_clock(path, "-172800")
    time.sleep(0.5)
    old = {id for grant in cell.watch.grants for id in grant.ids()}
    assert not old & set(client.next(5)), "ids of a block that is older than its ttl"


@row("its process forks, and the child has blocks and connections of its own")
def _(cell):
    client = cell.client(size=100, timeout=5000, wait=WAIT)
    cell.watch.processes = 2  # the parent may prefetch a block while the child requests one
    client.next(20)
    for _ in range(3):
        said = client.ids("fork 150")
        if cell.column.forks:
            assert len(said.ids) == 150, said.line[:300]
        else:
            assert said.line == "none", "columns.py lists this runtime as unable to fork: " + said.line[:300]
        client.next(150)


@row("its process is killed and restarted")
def _(cell):
    for _ in range(2):
        client = cell.client(size=100, timeout=5000, wait=WAIT)
        client.next(250)
        client.kill()
    cell.client(size=100, timeout=5000, wait=WAIT).next(250)


@row("after close a call is an error, a second close is not, and the process exits by itself")
def _(cell):
    client = cell.client(size=100, timeout=5000, wait=WAIT)
    client.next(20)
    assert client.say("close").line == "ok"
    client.fails("closed")
    assert client.say("close").line == "ok"
    client.open(cell.both, size=100, timeout=5000, wait=WAIT)
    client.next(20)
    assert client.end() == 0
