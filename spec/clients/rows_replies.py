"""rows_replies.py -- wrong replies of a server."""
import csv
import os
import time

from columns import HERE
from proxy import again, change, cut, in_pieces, late, says, sends, silent, swapped, tells, twice
from rows import row
from servers import until

COLUMNS = "kind seq_bits time_shift seq_shift low_bits low_shift base first count stride i id layout".split()
REPLY, WIDE = COLUMNS[:10], ("kind", "base", "first")  # the columns of spec/vectors/blocks.csv that are in a reply
WAIT = 60000  # ms for calls that must succeed, long enough for a busy machine


def is_passed_over(cell, fault, *said):
    """One such reply costs no id.  If a server sends only such replies, ids come from the other server.  Without another server, the
    error has these texts.  The timeout is short only if the fault is a timeout."""
    timeout = 1000 if fault in (silent, late) else 20000
    cell.a.fault(fault)
    client = cell.client([cell.a.address], size=50, timeout=timeout, wait=WAIT)
    client.next(60)
    assert cell.errors_of(client, cell.a) >= 1, client.say("info").line
    cell.a.fault(fault, 99)
    client.open(cell.both, size=50, timeout=timeout, wait=WAIT)
    assert not cell.of(cell.server_a, client.next(120))
    client.open([cell.a.address], size=50, timeout=200 if fault in (silent, late) else 20000, wait=500)
    until(lambda: all(part in client.fails(cell.a.address) for part in said), "the error has the server's text")
    cell.a.heal()
    client.open([cell.a.address], size=50, timeout=5000, wait=WAIT)
    client.next(60)


def reply_row(text, fault, *said):
    row(text)(lambda cell: is_passed_over(cell, fault, *said))


reply_row("a reply cut in half", cut)
reply_row("no reply within the timeout", silent)
reply_row("a reply after the deadline", late)
reply_row("the reply to another request", swapped)
reply_row("-LOADING", says("-LOADING no worker number at the moment"), "no worker number at the moment")
reply_row("-TRYAGAIN", says("-TRYAGAIN the time unit is used up"), "the time unit is used up")
reply_row("-OOM", says("-OOM its clients hold all memory"), "its clients hold all memory")


@row("the reply to the request before")
def _(cell):
    client = cell.client([cell.a.address], size=50, timeout=20000, wait=WAIT)
    client.next(10)
    cell.a.fault(again, 3)
    client.next(300)
    assert cell.errors_of(client, cell.a) >= 1, client.say("info").line


@row("a reply twice")
def _(cell):
    """A client may use the first of the two, or neither."""
    cell.a.fault(twice, 3)
    client = cell.client([cell.a.address], size=50, timeout=20000, wait=WAIT)
    client.next(300)


@row("a reply in small pieces is a reply")
def _(cell):
    cell.a.fault(in_pieces, 99)
    client = cell.client([cell.a.address], size=50, timeout=20000, wait=WAIT)
    client.next(200)
    assert cell.errors_of(client, cell.a) == 0


@row("garbage instead of a reply")
def _(cell):
    for data in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00" * 100, b"*-1\r\n", b"$-1\r\n", b"*2\r\n$2\r\nns\r\n$3\r\nids\r\n", b"*0\r\n",
                 b":5\r\n", b"+OK\r\n", b"*99999999999\r\n", b"$99999999999\r\n", b"*2\r\n*1\r\n:1\r\n:2\r\n", b"x" * 100000):
        refuses(cell, sends(data))


@row("the error for an HTTP port names the Redis protocol")
def _(cell):
    cell.a.fault(sends(b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n"), 99)
    client = cell.client([cell.a.address], size=50, timeout=5000, wait=30)
    said = "Redis protocol" if cell.column.name in ("c", "lua5.4", "nginx") else "it answers HTTP: name its port of the Redis protocol"
    until(lambda: said in client.try_next(1).error, lambda: client.try_next(1).error)


def refuses(cell, fault):
    """The client makes no id from the reply, and works afterwards."""
    cell.a.fault(fault, 99)
    client = cell.drivers[0] if cell.drivers else cell.driver()
    client.open([cell.a.address], size=50, timeout=300, wait=30)
    said = client.try_next(1)
    assert not said.ids and said.error, said.line
    until(lambda: cell.errors_of(client, cell.a) or time.sleep(0.01), "the client counts a failure")
    assert client.info()["blocks"] == 0, client.say("info").line
    cell.a.heal()


@row("a reply with an invalid value: too large, missing, or overlapping another")
def _(cell):
    for key, wrong in (("ns", (b"Ids", b"ids2", b"", None)), ("kind", (b"tock", b"", None)),
                       ("count", (0, 51, -1, 10**30, b"x", None)), ("first", (b"-1", b"18446744073709551616", b"1e3", b"", b" 7", None)),
                       ("base", (b"x", b"18446744073709551616", None)), ("seq_bits", (64, -1, None)), ("time_shift", (64, None)),
                       ("seq_shift", (64, None)), ("low_bits", (64, -5, None)), ("low_shift", (99, None))):
        for value in wrong:
            refuses(cell, change(**{key: value}))
    refuses(cell, change(first=b"18446744073709551615"))  # its second tick exceeds 2^64
    refuses(cell, change(time_shift=63))                  # its time exceeds 2^64
    for wrong in ({"seq_shift": 0}, {"time_shift": 20}, {"low_bits": 23}, {"low_bits": 2, "low_shift": 3}, {"base": b"1024"}):
        refuses(cell, change(**wrong))  # parts of an id overlap, so two ids could be equal
    client = cell.drivers[0]
    client.open([cell.a.address], size=50, timeout=5000, wait=WAIT)
    client.next(60)


@row("every vector of docs/blocks.md, digit by digit")
def _(cell):
    client = cell.driver()
    client.counted = False
    with open(os.path.join(HERE, "..", "vectors", "blocks.csv")) as file:
        lines = list(csv.DictReader((line for line in file if not line.startswith("#")), COLUMNS))
    blocks = {}
    for line in lines:
        blocks.setdefault(tuple(line[key] for key in REPLY), []).append(line)
    for vectors in blocks.values():
        one = vectors[0]
        values = {key: None if not one[key] else one[key].encode() if key in WIDE else int(one[key]) for key in REPLY}
        cell.a.fault(tells(**values))
        client.open([cell.a.address], size=int(one["count"]), timeout=20000, wait=WAIT)
        got = client.next(int(one["count"]))
        for vector in vectors:
            assert got[int(vector["i"])] == int(vector["id"]), (vector, got[int(vector["i"])])
        client.settle(2)
