"""access.py -- axe-core checks the page in each of its states. With VESTA_PICTURES=FOLDER, takes pictures of them. The
pictures for the docs are taken after some minutes of load."""
import contextlib
import math
import os
import signal
import sys
import threading
import time

import node_modules
from paged import TOKEN, Paged, browsing, open_page, shown
from serving import claim, command, free_port, main, same

HERE, FOLDER = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[2])
PICTURES = os.environ.get("VESTA_PICTURES")
BUSY_S = 180
PICTURED = """return { admin = { token = "%s" }, clients = "clients", http = { hosts = { "ids1.example.com" } },
  stores = { db = { uri = "sqlite:%s" } }, segments = { { store = "db", tags = "*" } }, namespaces = {
    logs = { layout = "vesta-milli", worker = 12, store = "file:%s" }, orders = { layout = "vesta-second", store = "file:%s",
      shadow_policy = "borrow" }, requests = { layout = "snowflake", store = "file:%s" } } }"""
SIZES = (("light", {"height": 1420}), ("dark", {"height": 1420, "dark": True}), ("narrow", {"width": 390, "height": 1560}),
         ("wide", {"width": 1600, "height": 1180}))
IN_TROUBLE = """return { admin = { token = "%s" }, namespaces = {
    orders = { layout = "vesta-milli", store = "mysql://owner@127.0.0.1:%d/vesta?tls=off" },
    scarce = { layout = "sign:1 time:41 seq:2 worker:20 unit=1s epoch=2020-01-01T00:00:00Z", worker = 3, wait_ms_max = 0,
      store = "file:%s", shadow_policy = "borrow" },
    requests = { layout = "time:24 worker:10 seq:29 unit=1s epoch=%s", worker = 3, store = "file:%s" } } }"""
why = node_modules.install(HERE, FOLDER)
if why:
    print("skipped: " + why)
    sys.exit(77)  # ctest treats this exit code as skipped.
with open(os.path.join(FOLDER, "node_modules", "axe-core", "axe.min.js")) as file:
    AXE = file.read()
FINDINGS = "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).join('; ')))"


def look(tab, state, whole=True):
    tab.run(AXE + "; 0")
    same((state, tab.run(FINDINGS)), (state, []))
    assert tab.run("document.documentElement.scrollWidth <= innerWidth"), state + " scrolls sideways"
    if PICTURES:
        tab.picture(os.path.join(PICTURES, state + ".png"), whole)


def fill_id(tab):
    tab.type("#id-text", "2708711107928457738")
    tab.run("(d => { d.value = '2026-11-22'; d.dispatchEvent(new Event('input')) })(document.getElementById('id-day'))")
    tab.run("document.activeElement.blur()")


def pictured(world):
    """A server with clients and tags.  keep_busy makes the store of `logs` unreachable for a while."""
    secret = world.run("client", "add", "shop", "--names", "*", "--calls", "give", "--file", world.path("clients")).out.strip()
    for tag in "invoices", "tickets":
        same(world.run("segments", "add", tag, "--store", "sqlite:" + world.path("counters.db")).code, 0)
    with open(world.path("clients"), "a") as file:
        file.write("default names=* calls=give,read\n")
    stores = [world.path(name) for name in ("logs", "orders", "requests")]
    return Paged(world, PICTURED % (TOKEN, world.path("counters.db"), *stores)), secret


@contextlib.contextmanager
def busy(world, server, secret):
    """Loads the server. The body runs after most of BUSY_S."""
    load = threading.Thread(target=keep_busy, args=(world, server, secret), daemon=True)
    load.start()
    time.sleep(BUSY_S * 0.9)
    yield
    load.join()


def keep_busy(world, server, secret):
    with server.connect(server.resp) as sock:
        sock.sendall(command("AUTH", "shop", secret))
        for i in range(BUSY_S * 4):
            n = 2500 + 1500 * math.sin(i / 90) + (i % 7) * 60
            server.get("/v1/ids?ns=orders&n=%d" % n)
            server.get("/v1/ids?ns=logs&n=%d" % (40 + i % 9))
            sock.sendall(command("VESTA.NEXT", "requests", "%d" % (n / 3)) + command("INCR", "invoices"))
            sock.recv(1 << 20)
            if i == BUSY_S * 2:
                os.rename(world.path("logs"), world.path("away"))
                open(world.path("logs"), "w").close()  # not a folder, so no lease is renewed
            if i == BUSY_S * 2 + 40:
                os.unlink(world.path("logs"))
                os.rename(world.path("away"), world.path("logs"))
            time.sleep(0.25)


@claim("axe-core finds no fault in light, dark, narrow and wide pages, while signing in, with a wrong id, in dialogs "
       "and when stale")
def _(world):
    with contextlib.ExitStack() as stack:
        server, secret = pictured(world)
        browser = stack.enter_context(browsing())
        stack.enter_context(server)
        server.redis("INCR", "invoices")
        server.redis("GET", "nobody")
        if PICTURES:
            stack.enter_context(busy(world, server, secret))
        for state, how in SIZES:
            tab = open_page(browser, server, **how)
            tab.until("document.getElementById('workers').innerText.includes('held')")
            fill_id(tab)
            if PICTURES:
                time.sleep(2.5)  # rates need two events
            look(tab, state, whole=False)
        tab = open_page(browser, server)
        tab.type("#id-text", "no id")
        look(tab, "wrong-id")
        for action in "reload", "drain":
            tab.run("document.querySelector('[data-action=%s]').click()" % action)
            look(tab, "question-" + action, whole=False)
            tab.run("document.querySelector('#ask button').click()")
        server.process.send_signal(signal.SIGSTOP)
        tab.until(shown("#stale"))
        look(tab, "stale")
        server.process.send_signal(signal.SIGCONT)
        tab.until("!(%s)" % shown("#stale"))
        stranger = browser.tab(width=1000, height=600)
        stranger.go(server.url(None))
        stranger.until(shown("#login"))
        look(stranger, "token")
        stranger.type("#token", "guess")
        stranger.press("Enter")
        stranger.until("document.getElementById('login-error').innerText.includes('rejected this token')")
        look(stranger, "token-wrong")


@claim("axe-core finds no fault on the page of a new server and of a server with faults")
def _(world):
    with Paged(world, 'return { admin = { token = "%s" } }' % TOKEN) as server, browsing() as browser:
        look(open_page(browser, server), "empty")
    # The layout's time lasts 194 days.
    lately = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() - 100 * 86400))
    config = IN_TROUBLE % (TOKEN, free_port(), world.folder, lately, world.folder)
    with Paged(world, config, quiet=True) as server, browsing() as browser:  # This server never logs that it is ready.
        tab = open_page(browser, server)
        tab.until("!!document.querySelector('#ns-scarce .state.good') && !!document.querySelector('#ns-orders .state.bad')")
        server.get("/v1/ids?ns=scarce&n=9")
        tab.until("!!document.querySelector('#ns-scarce .warn') && !!document.querySelector('#ns-requests .bad')")
        look(tab, "error")
        look(open_page(browser, server, width=360, height=740, dark=True), "error-narrow")


sys.argv[2:] = sys.argv[3:]
main()
