"""Regression: one client used all clients' memory, by transactions kept open with WATCH, and by bodies sent byte by
byte. Valid credentials were then reported as wrong, and other named clients were disconnected."""
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from serving import Server, claim, command, get, main, same, until_closed  # noqa: E402

FORM = "Content-Type: application/x-www-form-urlencoded"
SECONDS = 6


def connect(port, address="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0))


class Greedy(threading.Thread):
    """Takes as much memory as possible, over both protocols, until stopped."""

    def __init__(self, server, token, address):
        super().__init__()
        self.server, self.token, self.address, self.is_over = server, token, address, False

    def transact(self):
        sock = connect(self.server.resp, self.address)
        if self.token:
            sock.sendall(command("AUTH", "greedy", self.token))
            sock.recv(100)
        sock.sendall(command("MULTI"))
        sock.recv(100)
        sock.setblocking(False)
        return sock

    def half_send(self):
        sock = connect(self.server.http, self.address)
        if self.token:
            sock.sendall(get("/genid", "Authorization: Bearer " + self.token))
            sock.recv(1000)
        sock.sendall(get("/v1/ids", "Content-Length: 65000", FORM, "Authorization: Bearer " + (self.token or "x"), method="POST") + b"n=" + b"1" * 60000)
        sock.setblocking(False)
        return sock

    def push(self, sock, data, begin):
        try:
            sock.send(data)
            while sock.recv(65536):
                pass
        except BlockingIOError:
            return sock
        except OSError:
            pass
        sock.close()
        return begin()

    def run(self):
        try:
            transactions = [self.transact() for _ in range(60)]
            halves = [self.half_send() for _ in range(300)]
            while not self.is_over:
                transactions = [self.push(sock, command("ECHO", "x" * 60000) + command("WATCH", "k"), self.transact) for sock in transactions]
                halves = [self.push(sock, b"1", self.half_send) for sock in halves]
            for sock in transactions + halves:
                sock.close()
        except OSError as error:
            print("    the greedy client ended:", error)


class Modest:
    def __init__(self, server, token):
        self.server, self.token, self.asked, self.wrong, self.refused = server, token, 0, [], []
        self.kept = connect(server.resp)
        self.kept.sendall(command("AUTH", "modest", token))
        same(self.kept.recv(100), b"+OK\r\n")

    def note(self, said, good):
        self.asked += 1
        if any(word in said for word in (b"WRONGPASS", b"NOAUTH", b" 401 ", b" 403 ")):
            self.wrong.append(said)
        elif not said.startswith(good):
            self.refused.append(said)

    def slowly(self):
        """Sends a request in two pieces, so that the server stores the first."""
        request = get("/genid", "Authorization: Bearer " + self.token, "Connection: close")
        with connect(self.server.http) as sock:
            sock.sendall(request[:-2])
            time.sleep(0.02)
            sock.sendall(request[-2:])
            return until_closed(sock)

    def ask(self):
        self.note(self.server.say(self.server.resp, command("AUTH", "modest", self.token) + command("GET", "default")), b"+OK\r\n$")
        self.note(self.server.say(self.server.http, get("/genid", "Authorization: Bearer " + self.token)), b"HTTP/1.1 200 ")
        self.note(self.slowly(), b"HTTP/1.1 200 ")
        self.kept.sendall(command("MULTI") + command("ECHO", "y" * 30000) + command("EXEC"))
        said, want = b"", len(b"+OK\r\n+QUEUED\r\n*1\r\n$30000\r\n") + 30002
        while len(said) < want:
            got = self.kept.recv(65536)
            said += got
            if not got or b"\n-" in b"\n" + said:
                said = b"refused: " + said
                break
        self.note(said, b"+OK\r\n+QUEUED\r\n*1\r\n")


def beside(world, is_named, address):
    tokens = {name: world.run("client", "add", name, "--calls", "give,block,read", "--file", world.path("clients")).out.strip()
              for name in ("greedy", "modest")}
    with open(world.path("clients"), "a") as file:
        file.write("default names=* calls=give\n")
    with Server(world, "--clients", world.path("clients"), "--memory-mib", "8", "--threads", "2") as server:
        modest, greedy = Modest(server, tokens["modest"]), Greedy(server, tokens["greedy"] if is_named else None, address)
        greedy.start()
        try:
            time.sleep(1)
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                modest.ask()
        finally:
            greedy.is_over = True
            greedy.join()
        shed = [line for line in server.get("/metrics", headers={"Authorization": "Bearer " + tokens["modest"]}).body.splitlines()
                if line.startswith("vesta_connections_shed_total")]
        print("    %d requests: %d refused, %d reported as wrong; %s" % (modest.asked, len(modest.refused), len(modest.wrong), shed))
        same((modest.wrong[:2], modest.refused[:2]), ([], []))
        assert modest.asked > 20


@claim("a named client that takes as much memory as it can causes no rejections or false errors for another named "
       "client")
def _(world):
    beside(world, True, "127.0.0.1")


@claim("a client without credentials that takes as much memory as it can causes no rejections or false errors for a "
       "named client")
def _(world):
    beside(world, False, "127.0.0.2")


@claim("a body sent byte by byte is ended after ten seconds in total")
def _(world):
    with Server(world) as server, connect(server.http) as sock:
        sock.sendall(get("/v1/ids", "Content-Length: 60000", FORM, method="POST"))
        began, said = time.monotonic(), b""
        sock.settimeout(0.2)
        while not said and time.monotonic() - began < 30:
            sock.sendall(b"n")
            try:
                said = sock.recv(1000)
            except socket.timeout:
                pass
        assert said.startswith(b"HTTP/1.1 408 ") and 9 < time.monotonic() - began < 13, (said, time.monotonic() - began)


main()
