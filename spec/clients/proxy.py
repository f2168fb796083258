"""proxy.py -- a proxy between a client and a vesta server, which parses both directions and falsifies a reply.

    proxy.fault(cut)            cuts the next reply to VESTA.BLOCK in half
    proxy.fault(late, 99)       delays the next 99 replies past their deadline

A fault is a function of the exchange that returns whether the connection stays open.  If a later reply could be taken for
the reply to another request, the connection is spoiled.  Requests on a spoiled connection are counted in `reused`.
"""
import select
import socket
import threading
import time

from between import Between
from servers import until
from serving import command


# ------------------------------------------------------------------ the Redis protocol in both directions

class End:
    """One side of the proxy: a connection, and the bytes that were read and not used yet."""

    def __init__(self, socket):
        self.socket, self.rest = socket, b""
        self.sendall = socket.sendall

    def more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.rest += data

    def line(self):
        while b"\r\n" not in self.rest:
            self.more()
        line, _, self.rest = self.rest.partition(b"\r\n")
        return line

    def bytes(self, count):
        while len(self.rest) < count + 2:
            self.more()
        data, self.rest = self.rest[:count], self.rest[count + 2:]
        return data

    def value(self):
        """Reads a value: an array as a list, a bulk string as bytes, an integer as int, and other lines as str with the first letter."""
        line = self.line()
        if line[:1] == b"*":
            return [self.value() for _ in range(int(line[1:]))]
        if line[:1] == b"$":
            return self.bytes(int(line[1:]))
        return int(line[1:]) if line[:1] == b":" else line.decode()

    def has_more(self):
        """Returns whether more bytes have arrived."""
        if self.rest:
            return True
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except OSError:
            return False

    def is_closed(self, patience_s=0):
        """Returns whether the peer has closed the connection, even if unread bytes remain.  Waits that long for it."""
        try:
            poll = select.poll()
            poll.register(self.socket, select.POLLRDHUP)  # poll always reports errors too
            return bool(poll.poll(1000 * patience_s))
        except (OSError, ValueError):
            return True


def written(value):
    if isinstance(value, list):
        return b"*%d\r\n" % len(value) + b"".join(map(written, value))
    if isinstance(value, bytes):
        return b"$%d\r\n%s\r\n" % (len(value), value)
    return b":%d\r\n" % value if isinstance(value, int) else value.encode() + b"\r\n"


class Grant:
    """The block in a reply, and its ids by the formula in docs/blocks.md."""

    def __init__(self, values):
        self.values = {key.decode(): value if isinstance(value, int) else value.decode()
                       for key, value in zip(values[::2], values[1::2])}

    def __getattr__(self, key):
        return int(self.values[key])

    def id(self, i):
        if self.values["kind"] == "numbers":
            return self.first + i * self.stride
        tick = self.first + i
        seq = tick % 2**self.seq_bits
        return (self.base | tick >> self.seq_bits << self.time_shift | seq >> self.low_bits << self.seq_shift
                | seq % 2**self.low_bits << self.low_shift)

    def ids(self, count=None):
        return [self.id(i) for i in range(self.count if count is None else count)]


# ------------------------------------------------------------------ the faults

LATE_S_MAX = 30


class Exchange:
    """One request and the server's true reply."""

    def __init__(self, proxy, client, server, request):
        self.proxy, self.client, self.server, self.request = proxy, client, server, request
        self.spoiled = False

    def ask(self, *words):
        self.server.sendall(command(*words))
        return self.server.value()

    def send(self, value):
        self.client.sendall(value if isinstance(value, bytes) else written(value))

    def changed(self, **values):
        """Returns the reply with other values.  None removes a value."""
        pairs = dict(zip(self.reply[::2], self.reply[1::2]))
        for key, value in values.items():
            pairs[key.encode()] = value
        return [part for key, value in pairs.items() if value is not None for part in (key, value)]


def spoils(say):
    """Makes a fault that leaves the connection open, but spoiled."""
    def fault(x):
        x.spoiled = True
        say(x)
        return True
    fault.spoils = True
    return fault


def cut(x):
    data = written(x.reply)
    x.send(data[:len(data) // 2])
    return False


@spoils
def silent(x):
    pass


@spoils
def late(x):
    """Replies only after the client has closed the connection, as it should, or sent something else."""
    select.select([x.client.socket], [], [], LATE_S_MAX)
    x.send(x.reply)


@spoils
def swapped(x):
    x.send(x.ask("VESTA.BLOCK", "other", x.request[2]))


@spoils
def again(x):
    """Repeats the reply to the request before, whose ids were already issued."""
    x.send(x.proxy.told)


@spoils
def twice(x):
    x.send(written(x.reply) * 2)


def says(line):
    def says(x):
        x.send(line)
        return True
    return says


def sends(data):
    @spoils
    def sends(x):
        x.send(data)
    return sends


def change(**values):
    """Replies with other values, which are invalid."""
    return spoils(tells(**values))


def tells(**values):
    """Replies with other values, which are valid."""
    def tells(x):
        x.send(x.changed(**values))
        return True
    return tells


def in_pieces(x):
    data = written(x.reply)
    for at in range(0, len(data), 7):
        x.send(data[at:at + 7])
        time.sleep(0.001)
    return True


# ------------------------------------------------------------------ the proxies of one client

class Watch:
    """The view of both proxies of a client: its grants, and requests that overlapped."""

    def __init__(self):
        self.lock, self.under_way = threading.Lock(), {}
        self.begin()

    def begin(self):
        with self.lock:
            self.requests, self.overlapped, self.reused, self.connections, self.grants = 0, [], [], 0, []
            self.processes = 1  # how many processes may have a request in progress

    def asked(self, x, spoiled):
        """Records a request.  If its client has closed the connection, it gave up before it asked the other server, even if the
        proxy reads the request only now."""
        with self.lock:
            others = [one for one in self.under_way if one is not x.client]
            self.requests += 1
            self.under_way[x.client] = x
            if spoiled:
                self.reused.append(x.request)
        if len(others) < self.processes or x.client.is_closed():
            return
        # The client before may still wait for a late reply.  It closes the connection at its timeout of up to 1 s, and a
        # loaded machine is late.  No patience if the row has failed already.
        patience_s = 0 if self.overlapped else 5
        open_too = [other for other in others if not other.is_closed(patience_s) and other in self.under_way]
        if len(open_too) >= self.processes:
            self.overlapped.append(x.request)

    def answered(self, client):
        with self.lock:
            self.under_way.pop(client, None)


class Proxy(Between):
    def __init__(self, target, watch):
        self.watch, self.told, self.row, self.last = watch, None, 0, None
        self.heal()
        super().__init__(target)
        self.address = "127.0.0.1:%d" % self.port

    def fault(self, fault, times=1):
        self.plan, self.times = fault, times

    def heal(self):
        self.plan, self.times = None, 0

    def begin(self):
        """Starts a row.  Requests that a client of the last row still has in progress are ignored."""
        with socket.create_connection(("127.0.0.1", self.port)) as probe:  # accepted after all earlier connections
            until(lambda: probe.getsockname() == self.last or time.sleep(0.005), "the proxy accepts")
        self.heal()
        self.row += 1

    def met(self, client, server):
        try:
            self.last = client.getpeername()
        except OSError:
            pass  # the connection is closed already
        self.watch.connections += 1
        self.in_background(self.go, client, server, self.row)

    def go(self, client, server, row):
        client, server, spoiled = End(client), End(server), False
        try:
            while True:
                x = Exchange(self, client, server, [word.decode() for word in client.value()])
                is_block = x.request[0] == "VESTA.BLOCK" and row == self.row
                if is_block:
                    self.watch.asked(x, spoiled)
                lives = self.answer(x, is_block)
                spoiled = spoiled or x.spoiled
                if not lives:
                    break
        except (OSError, EOFError, ValueError):
            pass
        self.watch.answered(client)
        client.socket.close()
        server.socket.close()

    def answer(self, x, is_block):
        """Replies to a request.  The request is in progress until the reply starts.  After a fault that spoils the connection, it
        is in progress until that is closed."""
        x.reply = x.ask(*x.request)
        if x.client.has_more():
            self.watch.overlapped.append(x.request)
        if is_block and isinstance(x.reply, list):
            self.watch.grants.append(Grant(x.reply))
        if is_block and self.times > 0:
            self.times -= 1
            if not getattr(self.plan, "spoils", False):
                self.watch.answered(x.client)
            return self.plan(x)
        self.watch.answered(x.client)
        x.send(x.reply)
        if is_block:
            self.told = x.reply
        return True
