"""paged.py -- a server with the admin's page, and a browser that shows it."""
import atexit
import contextlib
import functools
import json
import time
import urllib.parse

from chromium import Chromium
from serving import SLOW, Configured, free_port

TOKEN = "let me in"
CONFIG = """return { admin = { token = "%s" }, stores = { db = { uri = "sqlite:%s" } },
  segments = { { store = "db", tags = "*" } }, namespaces = {
    orders = { layout = "vesta-second", pacing = "clock", worker = 7, store = "file:%s", path = "%s",
      policy = { "borrow", borrow_ms_max = 500 } },
    requests = { layout = "snowflake", worker = 3, store = "file:%s" } } }"""


class Paged(Configured):
    """Serves two namespaces and a tag. The path of one generator, and therefore its identity, is markup."""

    def __init__(self, world, config=None, quiet=False):
        self.admin = free_port()
        super().__init__(world, config or self.odd(world), "--admin", "127.0.0.1:%d" % self.admin)
        self.quiet = quiet

    @staticmethod
    def odd(world):
        odd = world.path("<b id=odd>orders<img src=x onerror='document.title=1'>.gen")
        database = world.path("counters.db")
        assert world.run("segments", "add", "invoices", "--store", "sqlite:" + database).code == 0
        return CONFIG % (TOKEN, database, world.folder, odd, world.folder)

    def watching(self):
        return self.ask("status")["viewers"]

    def ask(self, what):
        request = "GET /admin/%s HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n" % (what, TOKEN)
        return json.loads(self.say(self.admin, request.encode()).partition(b"\r\n\r\n")[2])

    def until_watched_by(self, count):
        end = time.monotonic() + 60 * SLOW
        while self.watching() != count:
            assert time.monotonic() < end, self.watching()
            time.sleep(0.05)

    def url(self, token=TOKEN):
        return "http://127.0.0.1:%d/" % self.admin + ("#token=" + urllib.parse.quote(token) if token else "")


class Events:
    def __init__(self, server):
        self.sock = server.connect(server.admin)
        self.sock.sendall(b"GET /admin/events?all=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % TOKEN.encode())
        self.file = self.sock.makefile("rb")
        while self.file.readline().strip():
            pass

    def next(self):
        lines = iter(self.file.readline, b"\n")
        event = dict(line.decode().rstrip("\n").split(": ", 1) for line in lines)
        return event["event"], json.loads(event["data"])

    def workers(self, namespace, are=lambda said: True):
        """Returns the next event about a namespace's worker ids for which `are` is true."""
        while True:
            kind, said = self.next()
            if kind == "workers" and said["namespace"] == namespace and are(said):
                return said


@functools.lru_cache(maxsize=None)
def _one_browser():
    browser = Chromium().__enter__()
    atexit.register(browser.__exit__)
    return browser


@contextlib.contextmanager
def browsing():
    """Yields the browser that all claims share. Each claim opens its own tabs."""
    try:
        yield _one_browser()
    finally:
        _one_browser().close_tabs()


def text_of(tab, element):
    return tab.run("document.querySelector(%s).innerText" % json.dumps(element))


def shown(element):
    return "!!document.querySelector(%s)?.checkVisibility()" % json.dumps(element)


def open_page(browser, server, **how):
    tab = browser.tab(**how)
    tab.go(server.url())
    tab.until(shown("#board") + " && document.querySelectorAll('#namespaces dd').length > 3")
    return tab
