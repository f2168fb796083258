"""edges.py -- epoll reports sockets edge-triggered, and the server must process every byte whatever a client does
between two events.

A client's script is a list of bytes to send and the exact reply. If the server misses an event, the client waits for
its reply until the timeout, so no test needs to sleep.
"""
import ctypes
import os
import random
import re
import select
import socket
import time

from serving import SLOW, Server, claim, command, get, main, same, until_closed

PATIENCE_S = 20 * SLOW  # After this time without a reply, the server has missed an event.
SLOW_MILLI = "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"  # 4 ids per millisecond
READ_MAX = 65536  # the most that the server reads at once


def echo(text):
    return command("ECHO", text), b"$%d\r\n%s\r\n" % (len(text), text.encode())


PING = command("PING"), b"+PONG\r\n"
HTTP = [(get("/healthz"), b"ok\n"), (b"POST /healthz HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nabcde", b"405"),
        (get("/v1/nothing"), b"404")]


def read_by_now(server):
    """Returns when earlier data was read, because a thread serves its clients in the order of events."""
    same(server.redis("PING"), b"+PONG\r\n")


def whole(script, length):
    answer, at = b"", 0
    for said, answered in script:
        at += len(said)
        if at > length:
            break
        answer += answered
    return answer


@claim("a client may pause or stop sending after each byte, and all complete requests are answered")
def _(world):
    script = [PING, echo("one\r\n$3"), (b"PING\r\n", b"+PONG\r\n"), echo("")]
    text = b"".join(said for said, _ in script)
    with Server(world) as server:
        for at in range(len(text) + 1):
            for pauses in False, True:
                with server.connect(server.resp) as sock:
                    sock.sendall(text[:at])
                    if pauses:
                        read_by_now(server)
                    sock.shutdown(socket.SHUT_WR)
                    same((at, until_closed(sock)), (at, whole(script, at)))
            with server.connect(server.resp) as sock:
                sock.sendall(text[:at])
                read_by_now(server)
                sock.sendall(text[at:])
                sock.shutdown(socket.SHUT_WR)
                same((at, until_closed(sock)), (at, whole(script, len(text))))


@claim("over HTTP, a client may pause or stop sending after each byte, and all complete requests are answered")
def _(world):
    text = b"".join(said for said, _ in HTTP)
    with Server(world) as server:
        for at in range(len(text) + 1):
            with server.connect(server.http) as sock:
                sock.sendall(text[:at])
                read_by_now(server)
                sock.sendall(text[at:])
                sock.shutdown(socket.SHUT_WR)
                same((at, re.findall(rb"HTTP/1.1 (\d+)", until_closed(sock))), (at, [b"200", b"405", b"404"]))


@claim("data or the end of a stream that arrives while a client waits for an id is processed after the wait")
def _(world):
    with Server(world, "--wait-ms", "5000", layout=SLOW_MILLI, pacing="clock") as server:
        for ends in False, True:
            with server.connect(server.resp) as sock:
                sock.sendall(command("MGET", *["default"] * 1000))  # 250 ms at this layout's rate
                read_by_now(server)
                sock.sendall(PING[0])
                if ends:
                    sock.shutdown(socket.SHUT_WR)
                    assert until_closed(sock).endswith(b"\r\n+PONG\r\n")
                    continue
                said = b""
                while not said.endswith(b"+PONG\r\n"):
                    said += sock.recv(READ_MAX)
                sock.sendall(PING[0])
                same(sock.recv(100), b"+PONG\r\n")


@claim("a client that sends more than one read is served to the end, and an unread reply blocks no other client")
def _(world):
    with Server(world) as server:
        for length in READ_MAX - 1, READ_MAX, READ_MAX + 1, 5 * READ_MAX:
            with server.connect(server.resp) as sock:
                sock.sendall(b"PING\r\n" * (length // 6) + b"\n" * (length % 6))
                read_by_now(server)
                serve([Client(sock, [(b"", b"+PONG\r\n" * (length // 6)), PING])])


class Client:
    def __init__(self, sock, script, chance=None):
        self.sock, self.chance = sock, chance or random.Random(1)
        self.text = b"".join(said for said, _ in script)
        self.due = b"".join(answered for _, answered in script)
        self.sent = self.got = 0
        sock.setblocking(False)

    def part(self):
        return self.chance.choice((1, 2, 7, 100, 4096, READ_MAX, 10 * READ_MAX))

    def sends(self):
        try:
            self.sent += self.sock.send(self.text[self.sent:self.sent + self.part()])
        except BlockingIOError:
            return
        if self.sent == len(self.text):
            self.sock.shutdown(socket.SHUT_WR)

    def reads(self):
        """Returns false if the server has closed."""
        try:
            part = self.sock.recv(self.part())
        except BlockingIOError:
            return True
        assert self.due.startswith(part, self.got), (self.got, part[:100], self.due[self.got:self.got + 100])
        self.got += len(part)
        return part != b""

    def step(self):
        """Sends or reads at random. Returns false at the end."""
        if self.sent < len(self.text) and self.chance.random() < 0.5:
            self.sends()
            return True
        return self.reads()


def serve(clients):
    """Lets the clients act in random order until each has read its whole reply."""
    chance, left, moved_s, moved = random.Random(2), list(clients), time.monotonic(), 0
    while left:
        client = chance.choice(left)
        if not client.step():
            same((client.sent, client.got), (len(client.text), len(client.due)))
            left.remove(client)
        now = sum(c.sent + c.got for c in clients) + len(clients) - len(left)
        if now != moved:
            moved, moved_s = now, time.monotonic()
        else:
            select.select([c.sock for c in left], [], [], 0.001)
        assert time.monotonic() - moved_s < PATIENCE_S, "%d clients are forgotten: %s" % (
            len(left), [(c.sent, len(c.text), c.got, len(c.due)) for c in left][:5])


def script_of(chance):
    """Returns a script of small requests, requests that take many reads, and requests with replies larger than a
    socket's buffer."""
    sizes = (0, 1, 30, 3000, 60000)
    return [PING if chance.random() < 0.5 else echo(chance.choice("abc") * chance.choice(sizes))
            for _ in range(chance.choice((1, 5, 40)))]


@claim("a hundred clients that send and read in random parts, and read late, get exact replies")
def _(world):
    path = world.path("r.sock")
    for threads in "1", "3":
        with Server(world, "--threads", threads, "--resp", "unix:" + path) as server:
            clients = []
            for seed in range(100):
                chance = random.Random(seed)
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(path)
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
                clients.append(Client(sock, script_of(chance), chance))
            serve(clients)
        with Server(world, "--threads", threads) as server:
            clients = []
            for seed in range(100):
                chance = random.Random(seed)
                sock = socket.socket()
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                sock.connect(("127.0.0.1", server.resp))
                clients.append(Client(sock, script_of(chance), chance))
            serve(clients)


# ---------------------------------------------------------------- a thread that hangs

SEIZE, INTERRUPT, SYSCALL, DETACH = 0x4206, 0x4207, 24, 17  # <linux/ptrace.h>
WAIT_ALL = 0x40000000  # __WALL: also waits for threads
BLOCKS_S = 0.1  # A thread without a system call for this time is blocked in one.


class Held:
    """Stops the first thread of a server as its pending system call returns, so that it was notified but does nothing.
    """

    def __init__(self, server):
        self.thread = server.process.pid
        self.ask(SEIZE)
        self.ask(INTERRUPT)
        os.waitpid(self.thread, WAIT_ALL)
        self.ask(SYSCALL)
        met_s = time.monotonic()
        while time.monotonic() - met_s < BLOCKS_S:
            if self.is_stopped():
                self.ask(SYSCALL)
                met_s = time.monotonic()
            time.sleep(0.001)

    def ask(self, what):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        same((what, libc.ptrace(what, self.thread, None, None), os.strerror(ctypes.get_errno())), (what, 0, os.strerror(0)))

    def is_stopped(self):
        return os.waitpid(self.thread, WAIT_ALL | os.WNOHANG)[0] != 0

    def let_go(self):
        self.ask(INTERRUPT)
        if not self.is_stopped():
            os.waitpid(self.thread, WAIT_ALL)
        self.ask(DETACH)


def ponged(sock, within_s):
    return bool(select.select([sock], [], [], within_s)[0]) and sock.recv(100) == b"+PONG\r\n"


@claim("while one thread hangs, the others accept its clients and serve everyone, and later the thread serves its own")
def _(world):
    with Server(world, "--threads", "2") as server:
        held, kept, late, in_a_row = Held(server), [], [], 0
        try:
            with server.connect(server.resp) as first:
                first.sendall(PING[0])
                assert ponged(first, PATIENCE_S), "a client that the held loop was told of is let in by no other"
            end_s = time.monotonic() + PATIENCE_S
            # It has fewer clients than the other thread, so until it is known to hang it is assigned some.
            while in_a_row < 5:
                sock = server.connect(server.resp)
                sock.sendall(PING[0])
                in_a_row = in_a_row + 1 if ponged(sock, 0.3 * SLOW) else 0
                late += [] if in_a_row else [sock]
                kept.append(sock)
                assert time.monotonic() < end_s, "clients are given to a loop that is held"
        finally:
            held.let_go()
        for sock in late:
            assert ponged(sock, PATIENCE_S), "a client that was given to the loop while it was held was forgotten"
        for sock in kept:
            sock.close()


main()
