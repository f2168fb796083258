"""serving.py -- a running `vesta serve` for tests, and sockets that send exactly what a test needs.

A Server has its own free ports and its own state.  Leaving the `with` block sends TERM and requires exit code 0.  Ids
of the layout WIDE count up by one tick each, so a test can check that no id was issued in between.
"""
import contextlib
import http.client
import os
import re
import signal
import socket
import subprocess
import threading
import time

from harness import SLOW, VESTA, World, claim, environment, fails, main, same, set_clock, shifted  # noqa: F401
from ports import free_port, give_back  # noqa: F401

WIDE = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"


class Server:
    def __init__(self, world, *flags, layout=WIDE, pacing="history", env=None, wrap=(), quiet=False, pass_fds=()):
        self.world = world
        self.http = free_port()
        self.resp = free_port()
        self.quiet, self.pass_fds = quiet, pass_fds  # quiet: it does not print on stderr when it is ready
        self.was_killed = False
        self.args = [*wrap, VESTA, "serve", "--http", "127.0.0.1:%d" % self.http, "--resp", "127.0.0.1:%d" % self.resp,
                     "--worker", "5", "--layout", layout, "--pacing", pacing, *flags]
        self.env = environment(world.folder, **(env or {}))

    def __enter__(self):
        self.process = subprocess.Popen(self.args, cwd=self.world.folder, env=self.env, stderr=subprocess.PIPE, text=True,
                                        pass_fds=self.pass_fds)
        self.said = ""
        if self.quiet:
            self.await_http()
            return self
        while not re.search(r'(?m)msg"?[=:]"?ready"?}?\n\Z', self.said):
            line = self.process.stderr.readline()
            assert line, "the server ended with %r:\n%s" % (self.process.wait(), self.said)
            self.said += line
        return self

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(15 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        for port in self.http, self.resp:
            give_back(port)
        rest = self.process.stderr.read()
        self.said += rest
        self.process.stderr.close()
        if kind is not None or (code != 0 and not self.was_killed):
            print(self.said)
        if kind is not None:
            return
        if not self.was_killed:
            same(code, 0)
            events = rest.splitlines()
            assert all(re.match(r'ts=|{"ts":', event) and not re.search('level"?[=:]"?error', event) for event in events), rest
            assert not rest or any("all worker ids are released" in event for event in events), rest

    def kill(self):
        """Kills it, like a machine that fails: nothing is logged or released."""
        self.process.kill()
        self.was_killed = True

    def await_http(self):
        for _ in range(1000):
            try:
                self.connect(self.http).close()
                return self.get("/healthz")  # after one answer, all listeners can be used
            except ConnectionRefusedError:
                assert self.process.poll() is None, "the server ended with %r" % self.process.poll()
                time.sleep(0.01)
        raise AssertionError("nobody listens on port %d" % self.http)

    def listen(self, part):
        """Reads the log until an event contains this part, and returns the event.  Ends the server if none comes in
        time."""
        end = threading.Timer(60 * SLOW, self.process.kill)
        end.start()
        try:
            while True:
                line = self.process.stderr.readline()
                assert line, "no event has %r, or the server ended:\n%s" % (part, self.said)
                self.said += line
                if part in line:
                    return line
        finally:
            end.cancel()

    def heard(self, part):
        """Returns the event that contains this part, whether it was read already or is still to come."""
        return next((line for line in self.said.splitlines() if part in line), None) or self.listen(part)

    def rss_kb(self):
        with open("/proc/%d/status" % self.process.pid) as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

    def connect(self, port):
        sock = socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def say(self, port, data, end=True):
        """Sends bytes, ends the sending side, and returns all replies until the server closes."""
        with self.connect(port) as sock:
            try:
                sock.sendall(data)
                if end:
                    sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server may reject before it has read everything
            return until_closed(sock)

    def get(self, path, method="GET", headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=20 * SLOW)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, dict((k.lower(), v) for k, v in reply.getheaders()), reply.read().decode())
        finally:
            connection.close()

    def redis(self, *words):
        """Returns the reply to one command.  The sending side is closed after the reply: an earlier end would drop a
        request that waits."""
        reply = b""
        # a rejection may come first
        with self.connect(self.resp) as sock, sock.makefile("rb") as file, contextlib.suppress(OSError):
            with contextlib.suppress(OSError):
                sock.sendall(command(*words))
            reply = read_reply(file)
            sock.shutdown(socket.SHUT_WR)
            reply += file.read()
        return reply

    def tick(self):
        """Returns the tick of a new id."""
        return int(self.get("/genid").body) >> 10


def read_reply(file):
    """Returns the bytes of one reply of the Redis protocol, including nested replies."""
    line = file.readline()
    kind, count = line[:1], line[1:-2]
    if kind in (b"$", b"=", b"!") and count != b"-1":
        return line + file.read(int(count) + 2)
    if kind in (b"*", b"~", b">", b"%"):
        return line + b"".join(read_reply(file) for _ in range(int(count) * (1 + (kind == b"%"))))
    return line


class Configured(Server):
    """A server with this config (text or file), on addresses of its own."""

    def __init__(self, world, config, *flags, env=None, faces=True):
        super().__init__(world)
        if not os.path.isabs(config):
            config = write(world, config)
        world.own_maps()
        addresses = self.args[2:6] if faces else []
        self.args = [VESTA, "serve", "-c", config, *addresses, *flags]
        self.env = environment(world.folder, **(env or {}))


def write(world, text):
    with open(world.path("vesta.lua"), "w") as file:
        file.write(text)
    return world.path("vesta.lua")


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body


def refuses_soon(server):
    for _ in range(100):
        try:
            server.connect(server.http).close()
        except ConnectionRefusedError:
            return
        except ConnectionResetError:
            pass  # it was in the queue of the listener that was just closed
        time.sleep(0.01)
    raise AssertionError("new connections are still accepted")


def until_closed(sock):
    parts = []
    try:
        while True:
            part = sock.recv(65536)
            if not part:
                break
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def command(*words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word.encode() if isinstance(word, str) else word
        parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(parts)


def bulks(data):
    """Returns the bulk strings of RESP replies that contain nothing else but array headers."""
    return [int(digits) for digits in re.findall(rb"\$\d+\r\n(\d+)\r\n", data)]


def get(path, *headers, method="GET"):
    return "\r\n".join(["%s %s HTTP/1.1" % (method, path), "Host: t", *headers, "", ""]).encode()
