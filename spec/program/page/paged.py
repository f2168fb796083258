"""paged.py -- a server with the admin's page, and a browser that looks at it."""
import atexit
import contextlib
import functools
import json
import urllib.parse

from chromium import Chromium
from serving import Configured, free_port

TOKEN = "let me in"
CONFIG = """return { admin = { token = "%s" }, stores = { db = { uri = "sqlite:%s" } },
  segments = { { store = "db", tags = "*" } }, namespaces = {
    orders = { layout = "vesta-second", pacing = "clock", worker = 7, store = "file:%s", path = "%s",
      policy = { "borrow", borrow_ms_max = 500 } },
    requests = { layout = "snowflake", worker = 3, store = "file:%s" } } }"""


class Paged(Configured):
    """Serves two namespaces and a tag; the path of one generator, and so its identity, is markup."""

    def __init__(self, world):
        self.admin = free_port()
        odd = world.path("<b id=odd>orders<img src=x onerror='document.title=1'>.gen")
        database = world.path("counters.db")
        assert world.run("segments", "add", "invoices", "--store", "sqlite:" + database).code == 0
        super().__init__(world, CONFIG % (TOKEN, database, world.folder, odd, world.folder), "--admin", "127.0.0.1:%d" % self.admin)

    def url(self, token=TOKEN):
        return "http://127.0.0.1:%d/" % self.admin + ("#token=" + urllib.parse.quote(token) if token else "")


@functools.lru_cache(maxsize=None)
def _one_browser():
    browser = Chromium().__enter__()
    atexit.register(browser.__exit__)
    return browser


@contextlib.contextmanager
def browsing():
    """The browser of all claims, in which each has tabs of its own."""
    try:
        yield _one_browser()
    finally:
        _one_browser().close_tabs()


def text_of(tab, element):
    return tab.run("document.querySelector(%s).innerText" % json.dumps(element))


def shown(element):
    """An expression: whether it is to be seen."""
    return "!!document.querySelector(%s)?.checkVisibility()" % json.dumps(element)


def open_page(browser, server, **how):
    tab = browser.tab(**how)
    tab.go(server.url())
    tab.until(shown("#board") + " && document.querySelectorAll('#namespaces dd').length > 3")
    return tab
