"""pipeline.py -- clients that pipeline expensive requests without a pause, in a process of their own, so that they do
not slow down the test that measures."""
import os
import selectors
import socket
import subprocess
import sys
import time

CHUNK = 64 * 1024

HTTP_READY = b"GET /readyz HTTP/1.1\r\nHost: t\r\n\r\n"
EXEC = b"MULTI\r\n" + b"INFO\r\n" * 10000 + b"EXEC\r\n"


def array(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


# Requests that are expensive to parse but have short answers.
LONG = [*[("resp", array(b"CONFIG", b"GET", *[b"*" * 65000] * 15))] * 7, ("resp", array(b"CONFIG", b"GET", *[b"*q*z"] * 1000)),
        ("resp", array(b"COMMAND", b"INFO", *[b"zzzz"] * 1020)),
        ("resp", b"MULTI\r\n" + array(b"CONFIG", b"GET", *[b"*q*z"] * 1000) * 40 + b"EXEC\r\n")]
EXPENSIVE = [("http", HTTP_READY), ("resp", b"INFO\r\n"), ("resp", b"CLIENT INFO\r\n"), ("resp", b"VESTA.INFO\r\n"), ("resp", EXEC)]
KINDS = {"expensive": EXPENSIVE, "long": LONG}


class Stranger:
    def __init__(self, port, request):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setblocking(False)
        self.data = request * max(1, CHUNK // len(request))
        self.at = 0

    def push(self):
        self.at += self.sock.send(self.data[self.at:self.at + CHUNK])
        self.at %= len(self.data)


def pump(http, resp, count, requests):
    selector = selectors.DefaultSelector()
    for i in range(count):
        face, request = requests[i % len(requests)]
        stranger = Stranger(http if face == "http" else resp, request)
        selector.register(stranger.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, stranger)
    print("strangers are connected", flush=True)
    scratch = bytearray(1 << 20)
    while selector.get_map():
        for key, events in selector.select():
            try:
                if events & selectors.EVENT_READ and key.data.sock.recv_into(scratch) == 0:
                    raise ConnectionError
                if events & selectors.EVENT_WRITE:
                    key.data.push()
            except BlockingIOError:
                pass
            except OSError:  # the server ended the connection
                selector.unregister(key.data.sock)
                key.data.sock.close()


class Strangers:
    """`count` clients that send the requests of a kind in KINDS while the block runs."""

    def __init__(self, server, count, settle_s=1, kind="expensive"):
        self.args = [sys.executable, os.path.abspath(__file__), str(server.http), str(server.resp), str(count), kind]
        self.settle_s = settle_s

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "strangers are connected\n"
        time.sleep(self.settle_s)
        return self

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


if __name__ == "__main__":
    pump(*(int(word) for word in sys.argv[1:4]), KINDS[sys.argv[4]])
