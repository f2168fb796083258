"""far.py -- a store that is far away: bytes are delayed each way as configured, in order and without loss."""
import socket
import threading
import time

from between import Between


class Far(Between):
    """A proxy between a client and a server on this machine, with half a round trip of delay each way."""

    def __init__(self, target, round_trip_s):
        self.way_s = round_trip_s / 2
        super().__init__(target)

    def met(self, client, server):
        self.in_background(self.reach, client, server)

    def reach(self, client, server):
        time.sleep(2 * self.way_s)  # the TCP handshake, which takes no time on this machine
        for source, sink in ((client, server), (server, client)):
            self.in_background(Way(sink, self.way_s).listen, source)


class Way:
    def __init__(self, sink, way_s):
        self.sink, self.way_s = sink, way_s
        self.sent = []
        self.changed = threading.Condition()
        threading.Thread(target=self.deliver, daemon=True).start()

    def listen(self, source):
        while True:
            try:
                data = source.recv(65536)
            except OSError:
                data = b""
            with self.changed:
                self.sent.append((time.monotonic() + self.way_s, data))
                self.changed.notify()
            if not data:
                return

    def deliver(self):
        while True:
            with self.changed:
                while not self.sent:
                    self.changed.wait()
                due, data = self.sent.pop(0)
            time.sleep(max(0, due - time.monotonic()))
            try:
                if data:
                    self.sink.sendall(data)
                else:
                    self.sink.shutdown(socket.SHUT_RDWR)
            except OSError:
                data = b""
            if not data:
                return
