"""cell.py -- the cells of the table: two servers, each behind a proxy, and a language's drivers."""
import os
import signal
import socket
import time

from columns import HERE
from driver import Driver
from proxy import Proxy, Watch
from serving import VESTA, World, environment, free_port, give_back
from servers import until

import subprocess

# ids: one tick per id, and the worker id in the lowest bits.  parts: a sequence in two parts.  other: for replies to
# another request.  numbers: a tag.
CONFIG = """return { namespaces = {
  ids = { layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", worker = %(worker)d, pacing = "history" },
  parts = { layout = "sign:1 time:31 seq:8 worker:10 seq:14 unit=1s epoch=2020-01-01T00:00:00Z", worker = %(worker)d, pacing = "history" },
  other = { layout = "vesta-second", worker = %(worker)d, pacing = "history" } }, %(segments)s threads = 1 }"""
SEGMENTS = """stores = { counters = { uri = "%s" } }, segments = { { store = "counters", tags = { "numbers" }, step = 500 } }, """


def make_counter(folder):
    """Creates a store with the tag `numbers`, which the servers of a run share.  Returns its URI."""
    uri = "sqlite:" + os.path.join(folder, "counters.db")
    subprocess.run([VESTA, "segments", "add", "numbers", "--store", uri], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, env=environment(folder), timeout=60)
    return uri


class Vesta:
    """A `vesta serve` that can be killed and restarted on the same port with the same state."""

    def __init__(self, folder, worker, *flags, counters=None, tls=""):
        self.folder, self.worker, self.port = folder, worker, free_port()
        os.makedirs(folder)
        with open(os.path.join(folder, "vesta.lua"), "w") as file:
            file.write(CONFIG % {"worker": worker, "segments": SEGMENTS % counters if counters else ""})
        self.args = [VESTA, "serve", "-c", file.name, "--http", "unix:" + os.path.join(folder, "http.sock"),
                     "--resp", tls + "127.0.0.1:%d" % self.port, *flags]
        self.address = "127.0.0.1:%d" % self.port
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "log"), "ab") as log:
            self.process = subprocess.Popen(self.args, cwd=self.folder, env=environment(self.folder), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        until(self.answers, self.log)

    def answers(self):
        assert self.process.poll() is None, "a server ended:\n" + self.log()
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
            return True
        except OSError:
            return False

    def log(self):
        return self.everything()[-2000:]

    def everything(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stall(self):
        self.process.send_signal(signal.SIGSTOP)
        until(lambda: self.state() == "T", "the server is stopped")

    def state(self):
        with open("/proc/%d/stat" % self.process.pid) as file:
            return file.read().rpartition(")")[2].split()[0]

    def heal(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
        else:
            self.start()

    def end(self):
        self.kill()
        give_back(self.port)


class Site:
    """The two servers of one language and their proxies, used for all its rows."""

    def __init__(self, folder, number, counters):
        self.watch, self.number = Watch(), number
        self.servers = [Vesta(os.path.join(folder, "ab"[i]), 10 + 2 * number + i, counters=counters) for i in (0, 1)]
        self.proxies = [Proxy(server.port, self.watch) for server in self.servers]

    def heal(self):
        for server, proxy in zip(self.servers, self.proxies):
            server.heal()
            proxy.begin()
        self.watch.begin()

    def end(self):
        for server in self.servers:
            server.end()


class Cell(World):
    """The argument of a row's function.  a, b: the proxies.  The client uses their addresses."""

    def __init__(self, row, column, site, suite):
        self.row, self.column, self.site, self.suite = row, column, site, suite
        super().__init__(os.path.join(suite.folder, column.name, "cell%d" % row.number))
        os.makedirs(self.folder)
        self.a, self.b = site.proxies
        self.server_a, self.server_b = site.servers
        self.watch, self.drivers = site.watch, []
        self.both = [self.a.address, self.b.address]

    def __str__(self):
        return "%s / %s" % (self.row.text, self.column.name)

    def driver(self, env=None):
        self.drivers.append(Driver(self, self.column, self.suite.build, self.suite.ledger, env))
        return self.drivers[-1]

    def client(self, servers=None, name="ids", **options):
        """Starts a driver that has a client."""
        driver = self.driver()
        driver.open(self.both if servers is None else servers, name, **options)
        return driver

    def of(self, server, ids):
        """Returns the ids that this server issued.  The worker id is in the lowest bits."""
        return [id for id in ids if id & 1023 == server.worker]

    def errors_of(self, driver, proxy):
        return driver.info()["errors"].get(proxy.address, 0)

    def end(self):
        for driver in self.drivers:
            if driver.process.poll() is None:
                driver.end()
        assert not self.watch.overlapped, "two requests at once: %r" % self.watch.overlapped[0]
        assert not self.watch.reused, "a request on a connection that should have been closed: %r" % self.watch.reused[0]
