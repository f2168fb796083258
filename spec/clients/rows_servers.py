"""rows_servers.py -- faults of servers while a client has their blocks."""
import os
import shutil
import socket
import subprocess
import time

from ports import free_port, give_back
from proxy import says
from rows import row
from rows_replies import WAIT
from servers import until


@row("a server killed -9 while its block is in use, and restarted")
def _(cell):
    client = cell.client(size=200, timeout=5000, wait=WAIT)
    client.next(50)
    cell.server_a.kill()
    assert cell.of(cell.server_b, client.next(800))
    cell.server_a.start()
    cell.server_b.kill()
    assert cell.of(cell.server_a, client.next(1200)), "the restarted server issues no ids"


@row("a server that is stopped for longer than the timeout, and continues")
def _(cell):
    client = cell.client(size=200, timeout=1000, wait=WAIT)
    client.next(50)
    cell.server_a.stall()
    assert cell.of(cell.server_b, client.next(800))
    cell.server_a.heal()
    cell.server_b.kill()
    assert cell.of(cell.server_a, client.next(1200)), "the continued server issues no ids"


@row("a black hole first in the list")
def _(cell):
    """The queue of the listener is full, so connections to it are not even rejected."""
    with socket.socket() as hole:
        hole.bind(("127.0.0.1", 0))
        hole.listen(0)
        address = "127.0.0.1:%d" % hole.getsockname()[1]
        callers = []
        for _ in range(4):
            callers.append(socket.socket())
            callers[-1].setblocking(False)
            callers[-1].connect_ex(hole.getsockname())
        try:
            client = cell.client([address, cell.a.address], size=200, timeout=1000, wait=WAIT)
            client.next(600)
            until(lambda: client.info()["errors"][address] or client.next(10) and time.sleep(0.02), "the client counts a failure of the black hole")
            client.open([address], timeout=300, wait=600)
            client.fails(address)
        finally:
            for caller in callers:
                caller.close()


@row("a server whose next block is late is reported as one that answered")
def _(cell):
    client = cell.client(servers=[cell.a.address], size=20, timeout=10000, wait=1500)
    client.next(1)
    cell.server_a.stall()
    said = client.try_next(200)
    cell.server_a.heal()
    assert said.error and "replied, but its next block has not arrived yet" in said.error, said.line[-300:]


@row("all servers are killed: every call ends by its deadline and names them, and succeeds after a restart")
def _(cell):
    client = cell.client(size=20, timeout=5000, wait=WAIT)
    client.next(10)
    for server in cell.site.servers:
        server.kill()
    client.open(cell.both, size=20, timeout=400, wait=300)
    for _ in range(2):
        client.fails(cell.a.address, cell.b.address)
    client.open(cell.both, size=20, timeout=400, wait=0)
    client.fails(cell.a.address, cell.b.address)
    client.open(cell.both, size=20, timeout=5000, wait=WAIT)
    for server in cell.site.servers:
        server.start()
    client.next(100)


@row("all servers rest for seconds: a waiting call asks one ten times a second, and succeeds when it is back")
def _(cell):
    client = cell.client(size=20, timeout=5000, wait=2500)
    for proxy in (cell.a, cell.b):
        proxy.fault(says(b"-LOADING no worker number\r\n"), 10**6)
    until(lambda: client.fails("LOADING") and min(client.info()["errors"].values()) >= 8, "the back-off has reached its maximum")
    before, begun = cell.watch.requests, time.monotonic()
    client.fails("LOADING")
    asked, seconds = cell.watch.requests - before, time.monotonic() - begun
    assert 5 <= asked <= 10 * seconds + 2, "%d requests in %.1f s" % (asked, seconds)
    for proxy in (cell.a, cell.b):
        proxy.heal()
    client.next(1)  # a server is asked again at most 6.4 s after its failure


@row("the rest of a block is used after its server was killed")
def _(cell):
    client = cell.client([cell.a.address], size=100, timeout=2000, wait=3000, ttl=600000)
    client.next(50)
    client.settle(2)
    cell.server_a.kill()
    client.next(150)
    client.fails(cell.a.address)
    cell.server_a.start()
    until(lambda: client.try_next(1).ids, "the client recovers by itself")


HAPROXY = """
defaults
  mode tcp
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  option redispatch
  retries 3
listen vesta
  bind 127.0.0.1:%d
  balance roundrobin
  server a %s
  server b %s
"""


@row("HAProxy in front of two servers, one of which is killed and restarted")
def _(cell):
    port, path = free_port(), cell.path("haproxy.cfg")
    with open(path, "w") as file:
        file.write(HAPROXY % (port, cell.a.address, cell.b.address))
    program = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
    assert program, "haproxy is not here: apt-get install haproxy"
    with open(cell.path("haproxy.log"), "w") as log:
        balancer = subprocess.Popen([program, "-db", "-f", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0 or time.sleep(0.02), "HAProxy listens")
        client = cell.client(["127.0.0.1:%d" % port], size=50, timeout=5000, wait=WAIT)
        client.next(60)
        cell.server_a.kill()
        client.next(300)
        cell.server_a.start()
        client.next(300)
    finally:
        balancer.kill()
        balancer.wait()
        give_back(port)
