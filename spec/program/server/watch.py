"""watch.py -- the admin's event stream."""
import json
import signal
import socket
import time

from serving import SLOW, Server, claim, get, main, same, until_closed

VIEWERS_MAX = 32


class Watched(Server):
    def __init__(self, world, *flags, **more):
        self.path = world.path("admin.sock")
        super().__init__(world, "--admin", "unix:" + self.path, *flags, **more)

    def begin(self, path="/admin/events", method="GET"):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(20 * SLOW)
        sock.connect(self.path)
        sock.sendall(get(path, method=method))
        return sock

    def ask(self, path):
        with self.begin(path) as sock:
            sock.shutdown(socket.SHUT_WR)
            head, _, body = until_closed(sock).decode().partition("\r\n\r\n")
            return head, json.loads(body)


class Viewer:
    def __init__(self, server, path="/admin/events"):
        self.sock = server.begin(path)
        self.bytes = b""
        self.head = self.until(b"\r\n\r\n").decode()

    def until(self, end):
        while end not in self.bytes:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError(self.bytes)
            self.bytes += more
        part, _, self.bytes = self.bytes.partition(end)
        return part

    def any(self):
        lines = dict(line.split(": ", 1) for line in self.until(b"\n\n").decode().split("\n"))
        return lines["event"], json.loads(lines["data"])

    def event(self):
        lines = dict(line.split(": ", 1) for line in self.until(b"\n\n").decode().split("\n"))
        same(lines["event"], "status")
        return int(lines["id"]), json.loads(lines["data"])


@claim("events contain the server's state, have numbers, and are sent once a second, the same to all viewers")
def _(world):
    with Watched(world) as server:
        first, second = Viewer(server), Viewer(server)
        assert first.head.startswith("HTTP/1.1 200 ") and "Content-Type: text/event-stream" in first.head, first.head
        assert "Content-Length" not in first.head and "no-store" in first.head, first.head
        seen = [first.event() for _ in range(3)]
        numbers = [number for number, _ in seen]
        same(numbers, list(range(numbers[0], numbers[0] + 3)))
        assert seen[2][1]["unix_ms"] - seen[0][1]["unix_ms"] >= 1800, seen
        server.get("/v1/ids?n=20")
        while first.event()[1]["namespaces"][0]["ids"]["http"] != 20:
            pass
        both = {number: state for number, state in seen}
        number, state = second.event()
        while number not in both:
            number, state = second.event()
        same(state, both[number])
        same(set(state) - {"policies"}, set(server.ask("/admin/status")[1]) - {"policies"})


@claim("with all=1 the first events contain the histories, worker ids and segments, and later ones the changes")
def _(world):
    with Watched(world) as server:
        viewer, first = Viewer(server, "/admin/events?all=1"), {}
        while not first.keys() >= {"status", "segments", "history", "workers"}:
            kind, said = viewer.any()
            if kind != "workers" or said["error"] == "":  # A slow machine's disk may be silent for a moment.
                first.setdefault(kind, said)
        same(first["segments"]["segments"], [])
        same((len(first["history"]["ids"]), first["history"]["step_ms"]), (360, 10000))
        same(first["workers"]["namespace"], "default")
        same(first["workers"]["workers"], server.ask("/admin/workers?ns=default")[1]["workers"])
        for wrong in ("", "0", "11", "x" * 3000):
            head, said = server.ask("/admin/events?all=" + wrong)
            same((said["status"], said["code"]), (400, "bad_field"))


@claim("a viewer that never reads delays no other, and costs at most its socket buffer and one event")
def _(world):
    with Watched(world) as server:
        deaf = [server.begin("/admin/events?all=1") for _ in range(4)]
        viewer = Viewer(server)
        before = server.rss_kb()
        for _ in range(4):
            viewer.event()
            same(server.get("/genid").status, 200)
        assert server.rss_kb() - before < 20000, (before, server.rss_kb())
        for sock in deaf:
            sock.close()


@claim("the number of viewers is limited, another one is rejected, and a viewer that leaves makes room")
def _(world):
    with Watched(world) as server:
        viewers = [Viewer(server) for _ in range(VIEWERS_MAX)]
        with server.begin() as sock:
            sock.shutdown(socket.SHUT_WR)
            reply = until_closed(sock)
        assert reply.startswith(b"HTTP/1.1 503 ") and b'"code":"overloaded"' in reply and b"%d viewers are connected" % VIEWERS_MAX in reply, reply
        viewers.pop().sock.close()
        viewers.append(again(server))
        viewers[-1].event()
        with server.begin(method="HEAD") as sock:  # HEAD takes no viewer's place.
            sock.shutdown(socket.SHUT_WR)
            assert b" 200 OK" in until_closed(sock)


def again(server):
    for _ in range(200 * SLOW):
        try:
            viewer = Viewer(server)
        except (EOFError, ConnectionError):
            viewer = None
        if viewer and " 200 " in viewer.head:
            return viewer
        time.sleep(0.05)
    raise AssertionError("the place of one who left stays taken")


@claim("events end when the server ends, and data from a viewer is not read as requests")
def _(world):
    with Watched(world) as server:
        viewer = Viewer(server)
        tick = server.tick()
        viewer.sock.sendall(get("/admin/drain", method="POST") + b"GET GET GET\r\n\r\n" * 1000)
        viewer.event()
        same(server.tick(), tick + 1)
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(20 * SLOW), 0)
        until_closed(viewer.sock)


@claim("the history has a value for each ten seconds of an hour, and an unknown namespace is reported")
def _(world):
    with Watched(world) as server:
        for query, names in (("", False), ("?ns=default", True)):
            head, said = server.ask("/admin/history" + query)
            assert " 200 " in head, head
            same(("namespace" in said, said["step_ms"], len(said["ids"]), len(said["refused"])), (names, 10000, 360, 360))
        for query in ("?ns=nobody", "?ns=", "?ns=%00", "?ns=" + "x" * 4000):
            head, said = server.ask("/admin/history" + query)
            same((said["status"], said["code"]), (404, "unknown_name"))


main()
