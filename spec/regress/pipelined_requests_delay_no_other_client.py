"""pipelined_requests_delay_no_other_client.py -- a round of the event loop ended by bytes and not by time.  Fifty strangers
who pipelined `/readyz`, `INFO`, `CLIENT INFO`, `VESTA.INFO` and `EXEC` of 10,000 `INFO` delayed another client's GET by
8.6 s and TERM by 16.6 s, and the admin was not answered in 20 s.

The bounds are far above what an idle machine shows, and far below those times: the test also runs beside other work.
"""
import signal
import socket
import time

from pipeline import Strangers
from serving import Configured, claim, command, get, main, same, SLOW, until_closed

STRANGERS = 50
NAMESPACES = 64
CONFIG = """
local namespaces = {}
for i = 1, %d do
  namespaces["n" .. i] = { worker = 5, layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z" }
end
return { namespaces = namespaces, threads = 1, admin = { listen = "unix:%s" } }
"""


class Server(Configured):
    def __init__(self, world):
        self.admin = world.path("admin.sock")
        super().__init__(world, CONFIG % (NAMESPACES, self.admin))


def latencies(ask, count):
    """How long each answer took, in milliseconds, the shortest first."""
    took = []
    for _ in range(count):
        began = time.monotonic()
        ask()
        took.append((time.monotonic() - began) * 1000)
        time.sleep(0.005)
    return sorted(took)


def said(name, took):
    print("# %s: median %.2f ms, at most %.2f ms" % (name, took[len(took) // 2], took[-1]), flush=True)


def ask_admin(server):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20 * SLOW)
        sock.connect(server.admin)
        sock.sendall(get("/readyz", "Connection: close"))
        assert until_closed(sock).startswith(b"HTTP/1.1 200 ")


def asks_get(sock):
    def ask():
        sock.sendall(command("GET", "n1"))
        assert sock.recv(100).startswith(b"$"), "no id"
    return ask


@claim("beside 50 strangers who pipeline expensive requests another client and the admin are answered, and TERM is heard")
def _(world):
    with Server(world) as server:
        client = server.connect(server.resp)
        said("GET, alone", latencies(asks_get(client), 50))
        with Strangers(server, STRANGERS):
            gets = latencies(asks_get(client), 50)
            said("GET beside the strangers", gets)
            admins = latencies(lambda: ask_admin(server), 20)
            said("admin beside the strangers", admins)
            new = latencies(lambda: same(server.get("/healthz").body, "ok\n"), 20)
            said("a new connection beside the strangers", new)
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            same(server.process.wait(20 * SLOW), 0)
            ended_s = time.monotonic() - began
            print("# TERM to the end: %.2f s" % ended_s, flush=True)
        assert gets[len(gets) // 2] < 100 * SLOW and gets[-1] < 1000 * SLOW, gets
        assert admins[len(admins) // 2] < 100 * SLOW and admins[-1] < 1000 * SLOW, admins
        assert new[len(new) // 2] < 200 * SLOW and new[-1] < 2000 * SLOW, new
        assert ended_s < 5 * SLOW, ended_s


main()
