"""flood.py PORT SECONDS IDLE RATE SOURCES -- a flood of connections to 127.0.0.1:PORT from SOURCES addresses.

It opens IDLE connections that send nothing, and RATE short connections a second, every other one with half a request.
It never reads.  It prints `full` when the idle ones are open, and at the end `ended` with the number of its
connections.
"""
import collections
import contextlib
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

from claims import SLOW

IP_BIND_ADDRESS_NO_PORT = 24  # <linux/in.h> (the module socket has no name for it)
MOMENT_S = 0.1
CHURN_MAX = 2000  # short connections that are open at once


def socket_of(address):
    """Gets a port of that address when it connects, and frees it as soon as it is closed."""
    sock = socket.socket()
    # otherwise TIME_WAIT would use up the ports
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # otherwise finding a free port among thousands would take seconds
    sock.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
    sock.bind((address, 0))
    return sock


def flood(port, seconds, idle, rate, sources, say):
    began, opened, kept, churn = time.monotonic(), 0, [], collections.deque()

    def dial():
        nonlocal opened
        opened += 1
        sock = socket_of("127.0.1.%d" % (1 + opened % sources))
        sock.setblocking(False)
        sock.connect_ex(("127.0.0.1", port))
        return sock

    while len(kept) < idle:
        for _ in range(min(200, idle - len(kept))):
            kept.append(dial())
        time.sleep(0.005)
    say("full")
    began, made = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        now = time.monotonic()
        while made < rate * (now - began) and len(churn) < CHURN_MAX:
            sock = dial()
            churn.append((now, sock))
            made += 1
        while churn and churn[0][0] < now - MOMENT_S:
            sock = churn.popleft()[1]
            try:
                if made % 2:
                    sock.send(b"GET /genid HTTP/1.1\r\n")
            except OSError:
                pass
            sock.close()
        time.sleep(0.002)
    for sock in kept:
        sock.close()
    say("ended %d" % opened)


class Flood:
    """The flood, in a process of its own."""

    def __init__(self, port, seconds, idle, rate, sources=8):
        words = [str(word) for word in (port, seconds, idle, rate, sources)]
        self.process = subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        assert self.process.stdout.readline() == "full\n"
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.process.kill()
        self.made = self.process.stdout.read()
        self.process.stdout.close()
        assert self.process.wait() == 0 or kind is not None

    def goes_on(self):
        return self.process.poll() is None


class Client(threading.Thread):
    """Takes ids on a connection that was open before the flood.  Any other reply counts as a rejection."""

    def __init__(self, server, resp):
        super().__init__()
        self.sock = server.connect(server.resp if resp else server.http)
        self.say = b"GET default\r\n" if resp else b"GET /genid HTTP/1.1\r\nHost: t\r\n\r\n"
        self.form = re.compile(rb"\$\d+\r\n\d+\r\n" if resp else rb"HTTP/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n\d+")
        self.ids, self.refused, self.slowest_s, self.over = 0, [], 0, False

    def run(self):
        while not self.over:
            asked = time.monotonic()
            try:
                self.sock.sendall(self.say)
                reply = self.sock.recv(4096)
            except OSError as error:
                reply = repr(error).encode()
            self.slowest_s = max(self.slowest_s, time.monotonic() - asked)
            if not self.form.fullmatch(reply):
                self.refused.append(reply)
                return
            self.ids += 1
            time.sleep(0.005)
        self.sock.close()


def weather(server, *flood):
    """Runs a flood, and returns the results of the clients that were connected before it."""
    clients = [Client(server, resp) for resp in (False, True) * 4]
    for client in clients:
        client.start()
    with Flood(*flood) as passing:
        yield passing
    for client in clients:
        before = client.ids
        while client.ids < before + 2 and client.is_alive():
            time.sleep(0.001)
        client.over = True
    for client in clients:
        client.join()
    yield clients


@contextlib.contextmanager
def ten_thousand(port, address):
    """Opens ten thousand idle connections from one address, and a hundred more.  None of them closes when it is asked
    to."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert limit[1] >= 11000, "a server of 10,000 connections needs a hard limit of 11,000 descriptors, not %d" % limit[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    with contextlib.ExitStack() as idle:
        for _ in range(10100):
            sock = idle.enter_context(socket_of(address))
            sock.settimeout(20 * SLOW)
            sock.connect(("127.0.0.1", port))
        yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def limited(files):
    """Wraps a server's command so that it has so many descriptors and no more."""
    return ["bash", "-c", 'ulimit -n %d; exec "$0" "$@"' % files]


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    flood(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]),
          lambda text: print(text, flush=True))
