"""half_open.py VESTA CERTIFICATES -- handshakes that clients start and never finish.  Their memory is counted, and
other clients can still connect."""
import os
import re
import resource
import select
import signal
import socket
import ssl
import threading
import time

from secured import Secure
from servers import until
from serving import SLOW, claim, command, get, main, same

HALVES = 2400


def promise(length):
    """Returns a record with the start of a ClientHello that announces this many bytes."""
    return b"\x16\x03\x01\x0f\xa0\x01" + length.to_bytes(3, "big") + b"\x03\x03" + b"x" * 3994 + b"\x16\x03\x01\x3f\x00" + b"x" * 12000


def hello(server):
    context, into, out = server.context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(into, out, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def peak(server):
    """Returns the peak memory since the start, in MiB."""
    with open("/proc/%d/status" % server.process.pid) as status:
        return int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]) / 1024


def begin(server, first, from_address):
    sock = socket.create_connection(("127.0.0.1", server.http), source_address=(from_address, 0))
    sock.sendall(first)
    return sock


def takes(server):
    """Makes one request over a new connection.  Returns whether it was answered."""
    try:
        return server.say(server.http, get("/genid", "Connection: close")).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


def half_open(world, first_of):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with Secure(world, "--memory-mib", "128") as server:
        first, refused, halves = first_of(server), 0, []
        for i in range(HALVES // SLOW):
            halves.append(begin(server, first, "127.0.1.%d" % (i % 5 + 1)))
            if i % 100 == 99:
                refused += not takes(server)
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            refused += not takes(server)
        print("    %d half-open handshakes: peak %.0f MiB, %d requests refused" % (len(halves), peak(server), refused))
        same(refused, 0)
        assert SLOW > 1 or peak(server) < 160, "%.0f MiB" % peak(server)
        for half in halves:
            half.close()


@claim("2,400 half-open handshakes stay within 160 MiB if clients may use 128 MiB, and no other client is rejected")
def half_open_handshakes_have_their_bound(world):
    half_open(world, hello)


@claim("the same holds for handshakes that announce the longest possible message")
def handshakes_with_a_vast_message_have_it(world):
    half_open(world, lambda server: promise(131000))


class Greedy(threading.Thread):
    """A named client that starts handshakes without finishing them and keeps large transactions open, all over TLS."""

    def __init__(self, server, token):
        super().__init__()
        self.server, self.token, self.is_over = server, token, False

    def transact(self):
        sock = self.server.connect(self.server.resp)
        sock.sendall(command("AUTH", "greedy", self.token) + command("MULTI") + command("ECHO", "x" * 60000) * 10)
        return sock

    def run(self):
        first, halves, transactions = hello(self.server), [], []
        while not self.is_over:
            try:
                halves.append(begin(self.server, first, "127.0.0.9"))
                if len(halves) % 10 == 0 and len(transactions) < 60:
                    transactions.append(self.transact())
            except OSError:
                pass
            if len(halves) > 1000:
                halves.pop(0).close()
        for sock in halves + transactions:
            sock.close()


@claim("next to a client that takes as much memory as it can over TLS, no request of a named client is rejected or reported as wrong")
def a_named_client_beside_a_greedy_one(world):
    tokens = {name: world.run("client", "add", name, "--file", world.path("clients")).out.strip() for name in ("greedy", "modest")}
    with Secure(world, "--clients", world.path("clients"), "--memory-mib", "32") as server:
        greedy, asked, failed = Greedy(server, tokens["greedy"]), 0, []
        greedy.start()
        try:
            end = time.monotonic() + 6
            while time.monotonic() < end or asked <= 20:
                for port, words, good in ((server.resp, command("AUTH", "modest", tokens["modest"]) + command("GET", "default"), b"+OK\r\n"),
                                          (server.http, get("/genid", "Authorization: Bearer " + tokens["modest"]), b"HTTP/1.1 200 ")):
                    try:
                        said = server.say(port, words)
                    except OSError as error:
                        said = str(error).encode()
                    asked += 1
                    if not said.startswith(good) or b"\r\n-" in said:
                        failed.append(said)
        finally:
            greedy.is_over = True
            greedy.join()
        told = server.curl("/metrics", "-H", "Authorization: Bearer " + tokens["modest"]).stdout
        shed = sum(map(int, re.findall(r"(?m)^vesta_connections_shed_total{.*} (\d+)$", told)))
        print("    %d requests: %d refused or reported as wrong; %d connections of the other closed" % (asked, len(failed), shed))
        same(failed[:2], [])
        assert asked > 20


def hold_memory(server, name, token, transactions):
    """Opens connections that keep transactions of 300 KB open, and have received replies."""
    for _ in range(transactions):
        sock = server.connect(server.resp)
        sock.sendall(command("AUTH", name, token) + command("MULTI") + command("ECHO", "x" * 60000) * 5)
        said = b""
        while said.count(b"\r\n") < 7:
            part = sock.recv(1000)
            assert part, said
            said += part
        yield sock


@claim("each thread has memory for a handshake, even if handshakes of other threads use all that clients leave")
def each_thread_has_room(world):
    tokens = {name: world.run("client", "add", name, "--file", world.path("clients")).out.strip() for name in ("a", "b", "c")}
    with Secure(world, "--clients", world.path("clients"), "--memory-mib", "8", "--threads", "8") as server:
        first, halves, held, good = hello(server), [], [], 0
        for i in range(60):
            halves.append(begin(server, first, "127.0.1.%d" % (i + 1)))
            halves[-1].settimeout(20 * SLOW)
            halves[-1].recv(1000)
        for name, transactions in ("a", 4), ("b", 2), ("c", 1):
            held += hold_memory(server, name, tokens[name], transactions)
        for _ in range(10):
            half = begin(server, first, "127.0.2.1")
            half.settimeout(20 * SLOW)
            try:
                good += half.recv(1000)[:1] == b"\x16"
            except ConnectionResetError:
                pass
            halves.append(half)
        same(good, 10)
        for sock in halves + held:
            sock.close()


@claim("a slow client finishes its handshake while an address floods and other clients start theirs")
def a_slow_client_beside_a_flood(world):
    with Secure(world, "--memory-mib", "8", "--threads", "1") as server:  # room for 21 handshakes
        first, into, out = hello(server), ssl.MemoryBIO(), ssl.MemoryBIO()
        slow = server.context().wrap_bio(into, out, server_hostname="localhost")
        try:
            slow.do_handshake()
        except ssl.SSLWantReadError:
            pass
        halves = [begin(server, out.read(), "127.0.0.5")]
        halves[0].settimeout(20 * SLOW)
        into.write(halves[0].recv(65536))
        for address in ["127.0.0.9"] * 40 + ["127.0.1.%d" % (i + 1) for i in range(10)]:
            halves.append(begin(server, first, address))
            halves[-1].settimeout(20 * SLOW)
            same(halves[-1].recv(1000)[:1], b"\x16")
        slow.do_handshake()
        slow.write(get("/genid"))
        halves[0].sendall(out.read())
        assert halves[0].recv(65536), "its handshake was ended"
        for half in halves:
            half.close()


POOL, FLOOD = 40, 1500


def flood(server):
    """Opens connections from another address, which the server accepts.  Their handshakes have not started."""
    halves = []
    for _ in range(FLOOD):
        halves.append(socket.create_connection(("127.0.0.1", server.http), source_address=("127.0.0.9", 0)))
    until(lambda: server.metric('vesta_connections{proto="http"}') >= FLOOD, "all are accepted")
    return halves


def are_served(halves):
    """Returns how many of them the server has answered or closed."""
    poll = select.poll()
    for half in halves:
        poll.register(half, select.POLLIN)
    return len(poll.poll(0))


@claim("a client with many connections can open another one while another address floods with handshakes")
def a_large_pool_beside_a_flood(world):
    resource.setrlimit(resource.RLIMIT_NOFILE, (8000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    with Secure(world, "--threads", "1") as server:
        pool = [server.connect(server.resp) for _ in range(POOL)]
        first, halves, context = hello(server), flood(server), server.context()
        server.process.send_signal(signal.SIGSTOP)
        for half in halves:
            half.sendall(first)
        sock = context.wrap_socket(server.plain(server.resp), server_hostname="localhost", do_handshake_on_connect=False)
        sock.settimeout(0)
        try:
            sock.do_handshake()
        except ssl.SSLWantReadError:
            pass
        sock.settimeout(20 * SLOW)
        server.process.send_signal(signal.SIGCONT)
        sock.do_handshake()
        sock.sendall(command("GET", "default"))
        said, served = sock.recv(100), are_served(halves)
        print("    answered when %d of %d handshakes of the other address were served" % (served, FLOOD))
        assert said.startswith(b"$"), said
        assert served < FLOOD / 2, served
        for other in halves + pool + [sock]:
            other.close()


@claim("partly sent records are counted, and their memory is limited")
def parts_of_records_are_counted(world):
    with Secure(world, "--memory-mib", "8") as server:
        halves, part = [], b"\x17\x03\x03\x40\x00" + b"x" * 12000
        for _ in range(10):
            sock = server.connect(server.http)
            os.write(sock.fileno(), part)  # bypasses the encryption
            halves.append(sock)
        until(lambda: server.metric("vesta_client_memory_bytes") >= 10 * 16384, "they are counted")
        for _ in range(500):
            sock = server.connect(server.http)
            try:
                os.write(sock.fileno(), part)
            except OSError:
                pass
            halves.append(sock)
        until(lambda: server.metric('vesta_connections_shed_total{proto="http"}') > 0, "some are closed")
        assert server.metric("vesta_client_memory_bytes") <= 8 << 20
        same(takes(server), True)
        for half in halves:
            half.close()
        until(lambda: server.metric("vesta_client_memory_bytes") == 0, "all memory is released")


main()
