"""Regression: unread replies, queued transactions and incomplete requests were limited per connection but not in total.
1,000 transactions of 1 MiB took 1 GB."""
import re
import select
import time

from serving import Server, claim, command, get, main, same, SLOW, until_closed

MIB = 1 << 20
PATIENCE_S = 20 * SLOW
LIMITED = ("--memory-mib", "8")
FORM = "Content-Type: application/x-www-form-urlencoded"


def value(server, name):
    return int(re.search(r"(?m)^%s (\d+)$" % re.escape(name), server.get("/metrics").body)[1])


def unsent(server, port):
    """Returns the bytes that the kernel buffers for each connection of that port whose client does not read."""
    with open("/proc/%d/net/tcp" % server.process.pid) as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[4].split(":")[0], 16) for row in rows if row[1].endswith(":%04X" % port) and row[3] == "01"]


def push(sock, data):
    sock.setblocking(False)
    sent = 0
    try:
        while sent < len(data):
            sent += sock.send(data[sent:])
    except (BlockingIOError, ConnectionResetError, BrokenPipeError):
        pass
    return sent


def held(server):
    held = value(server, "vesta_client_memory_bytes")
    assert held <= 8 * MIB, held
    return held


@claim("memory for unread replies is limited, including the kernel's, the largest holders are disconnected, and "
       "others are answered")
def _(world):
    with Server(world, *LIMITED, "--threads", "2") as server:
        server.get("/v1/ids?n=10000")
        before, most_kb, kernel = server.rss_kb(), 0, 0
        socks = [server.connect(server.http) for _ in range(150)]
        deadline = time.monotonic() + PATIENCE_S
        while not value(server, 'vesta_connections_shed_total{proto="http"}') or held(server) > 6 * MIB:
            for sock in socks:
                push(sock, get("/metrics") * 200)
            most_kb, kernel = max(most_kb, server.rss_kb()), max([kernel, *unsent(server, server.http)])
            same(server.redis("PING"), b"+PONG\r\n")
            assert time.monotonic() < deadline, held(server)
        assert most_kb - before < 24 * 1024 * SLOW, "%d KiB more" % (most_kb - before)
        assert kernel < MIB // 4, kernel
        assert "memory_mib=8" in server.heard("connections were closed, because clients held too much memory")
        for sock in socks:
            sock.close()
        while held(server) > 0:
            assert time.monotonic() < deadline, "memory does not come back"
        same(server.get("/v1/ids?n=10000").status, 200)


@claim("transactions over the limit are rejected with -OOM, EXEC reports that nothing was done, and memory becomes "
       "available again")
def _(world):
    with Server(world, *LIMITED) as server:
        before = server.rss_kb()
        socks = [server.connect(server.resp) for _ in range(40)]
        queued = command("MULTI") + command("ECHO", "x" * 60000) * 10
        answers = []
        for sock in socks:
            sock.sendall(queued)
            said = b""
            while said.count(b"\r\n") < 11:
                said += sock.recv(4096)
            answers.append(said)
        refused = [said for said in answers if b"-OOM the memory for clients (8 MiB) is used up" in said]
        assert 0 < len(refused) < 40 and b"+QUEUED\r\n" * 10 in answers[0], answers[-1]
        held(server)
        assert server.rss_kb() - before < 24 * 1024 * SLOW
        assert 'code="overloaded"} %d\n' % sum(said.count(b"-OOM") for said in answers) in server.get("/metrics").body
        last = socks[answers.index(refused[-1])]
        last.sendall(command("EXEC"))
        assert last.recv(100).startswith(b"-EXECABORT")
        for sock in socks:
            sock.close()
        deadline = time.monotonic() + PATIENCE_S
        while held(server) > 0:
            assert time.monotonic() < deadline, "memory does not come back"
        assert server.say(server.resp, queued + command("EXEC")).count(b"x" * 60000) == 10


@claim("incomplete requests over the limit are rejected with 503 and closed, and a complete request is served")
def _(world):
    half = get("/v1/ids", "Content-Length: 65000", FORM, method="POST") + b"n=" + b"1" * 60000
    with Server(world, *LIMITED) as server:
        socks = [server.connect(server.http) for _ in range(300)]
        for sock in socks:
            push(sock, half)
        deadline = time.monotonic() + PATIENCE_S
        while not value(server, 'vesta_connections_shed_total{proto="http"}'):
            held(server)
            assert time.monotonic() < deadline
        same(server.get("/genid").status, 200)
        ready = select.select(socks, [], [], PATIENCE_S)[0]
        for sock in ready[:1]:
            sock.setblocking(True)
            said = until_closed(sock)
            assert not said or said.startswith(b"HTTP/1.1 503 "), said
        for sock in socks:
            sock.close()


main()
