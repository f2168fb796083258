"""sockets.py -- `vesta serve` as the kernel sees it: sizes of writes, and exhausted memory."""
import http.client
import re
import resource
import signal
import socket

from servers import until
from serving import SLOW, Server, claim, command, fails, get, main, same

MIB = 1 << 20


def plain_build(text):
    """Only for builds without sanitizers, which make system calls and use memory themselves."""
    return claim(text) if SLOW == 1 else lambda function: function


@plain_build("pipelined requests are answered in one write, over both protocols")
def _(world):
    trace = world.path("trace")
    with Server(world, wrap=["strace", "-D", "-f", "-qq", "-e", "trace=sendto,sendmsg,write,writev", "-s", "100000", "-o", trace]) as server:
        for port, data, mark in ((server.http, get("/genid") * 16, b"HTTP/1.1 200 OK"), (server.resp, command("GET", "default") * 16, b"$18\r\n")):
            with server.connect(port) as sock:
                sock.sendall(data)
                got = b""
                while got.count(mark) < 16 or not re.search(rb"\d{18}(\r\n)?\Z", got):
                    got += sock.recv(65536)
    with open(trace) as file:
        for what in (r"HTTP/1\.1 200 OK", r"\$18\\r\\n\d"):
            writes = [len(re.findall(what, line)) for line in file if re.search(what, line)]
            same((what, writes), (what, [16]))
            file.seek(0)


@claim("an idle HTTP client is disconnected, also on the admin listener, but not one that waits for an id")
def _(world):
    path = world.path("admin.sock")
    slow = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"  # 2 ids per second
    with Server(world, "--http-idle-ms", "300", "--wait-ms", "20000", "--admin", "unix:" + path, layout=slow, pacing="clock") as server:
        with server.connect(server.http) as idle, server.connect(server.http) as waits, socket.socket(socket.AF_UNIX) as admin:
            admin.connect(path)
            waits.sendall(get("/v1/ids?n=8"))
            for sock in (idle, admin):
                sock.settimeout(20 * SLOW)
                same(sock.recv(100), b"")
            assert waits.recv(100).startswith(b"HTTP/1.1 200 ")
    for wrong in ("0", "99", "86400001", "-1", "1.5", "1s", "", "9" * 40):
        fails(world.run("serve", "--http-idle-ms", wrong), 2, "http-idle-ms")


def of_loops(asker):
    """Returns the number of connections per thread, including the caller's own. The caller keeps its connection,
    because a closed one is counted until its thread has noticed."""
    asker.request("GET", "/metrics")
    text = asker.getresponse().read().decode()
    return [int(count) for count in re.findall(r'(?m)^vesta_loop_connections\{loop="\d+"\} (\d+)$', text)]


def are_even(loads, threads, count):
    same((len(loads), sum(loads)), (threads, count + 1))
    assert max(loads) - min(loads) <= 1, loads


@claim("the threads share connections that arrive together, and later ones go to the threads with fewer")
def _(world):
    for threads, count in ((4, 64), (2, 8), (3, 1), (1, 5)):
        with Server(world, "--threads", str(threads)) as server:
            asker = http.client.HTTPConnection("127.0.0.1", server.http, timeout=20 * SLOW)
            until(lambda: sum(of_loops(asker)) == 1, "no connection but the asker's")
            server.process.send_signal(signal.SIGSTOP)  # so that all threads wake up for the same burst
            socks = [server.connect(port) for _ in range(count // 2 + count % 2) for port in (server.http, server.resp)][:count]
            for i, sock in enumerate(socks):
                sock.sendall(command("GET", "default") if i % 2 else get("/genid"))
            server.process.send_signal(signal.SIGCONT)
            for i, sock in enumerate(socks):
                assert sock.recv(100), "connection %d of %d is not served" % (i, count)
            are_even(of_loops(asker), threads, count)
            for sock in socks[:count // 2]:
                sock.close()
            until(lambda: sum(of_loops(asker)) == count - count // 2 + 1, "connections that are over")
            socks = socks[count // 2:] + [server.connect(server.http) for _ in range(count // 2)]
            until(lambda: sum(of_loops(asker)) == count + 1, "new connections")
            are_even(of_loops(asker), threads, count)
            asker.close()


@claim("a connection that moves to another thread while the server stops is answered or closed")
def _(world):
    for _ in range(5):
        with Server(world, "--threads", "4") as server:
            server.process.send_signal(signal.SIGTERM)
            answers = [asked(server) for _ in range(40)]
            assert all(answer in (b"", b"H") for answer in answers), answers
            same(server.process.wait(timeout=20 * SLOW), 0)


def asked(server):
    try:
        with server.connect(server.http) as sock:
            sock.sendall(get("/genid"))
            return sock.recv(1)
    except OSError:
        return b""


def virtual_bytes(server):
    with open("/proc/%d/statm" % server.process.pid) as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


@plain_build("if there is no memory for a connection, it is accepted when memory is free")
def _(world):
    with Server(world, env={"MALLOC_ARENA_MAX": "1"}) as server:  # so that an ended thread leaves no free memory
        socks = [server.connect(server.http) for _ in range(600)]
        server.get("/genid")
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (virtual_bytes(server), resource.RLIM_INFINITY))
        # Only the kernel has accepted them. They need more memory than the heap has.
        late = [server.connect(server.http) for _ in range(400)]
        for sock in late:
            sock.sendall(get("/genid"))
            sock.settimeout(1)
        answered = 0
        for sock in late:
            try:
                answered += sock.recv(1) == b"H"
            except TimeoutError:
                break
        assert answered < 400, "the limit was not met"
        resource.prlimit(server.process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        for sock in late[answered:]:
            sock.settimeout(20)
            assert sock.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        for sock in socks + late:
            sock.close()


main()
