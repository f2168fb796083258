"""access.py -- axe-core looks at the page in each of its states; with VESTA_PICTURES=FOLDER it is photographed, too, by a
server that has had ids to give for two minutes."""
import contextlib
import math
import os
import signal
import sys
import time

import node_modules
from paged import TOKEN, Paged, browsing, open_page, shown
from serving import claim, free_port, main, same

HERE, FOLDER = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[2])
PICTURES = os.environ.get("VESTA_PICTURES")
BUSY_S = 120
IN_TROUBLE = """return { admin = { token = "%s" }, namespaces = {
    orders = { layout = "vesta-milli", store = "mysql://owner@127.0.0.1:%d/vesta?tls=off" },
    scarce = { layout = "sign:1 time:41 seq:2 worker:20 unit=1s epoch=2020-01-01T00:00:00Z", worker = 3, wait_ms_max = 0,
      store = "file:%s", shadow_policy = "borrow" },
    requests = { layout = "time:24 worker:10 seq:29 unit=1s epoch=%s", worker = 3, store = "file:%s" } } }"""
why = node_modules.install(HERE, FOLDER)
if why:
    print("skipped: " + why)
    sys.exit(77)  # what ctest takes for a skipped test
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


def keep_busy(server):
    for i in range(BUSY_S * 4):
        n = 400 + 300 * math.sin(i / 40) + (i % 7) * 20
        server.get("/v1/ids?ns=orders&n=%d" % n)
        server.get("/v1/ids?ns=requests&n=%d" % (n / 3))
        server.redis("INCR", "invoices")
        time.sleep(0.25)


@claim("axe-core finds nothing wrong: light, dark, narrow, wide; signing in, a wrong id, questions, an old page")
def _(world):
    with contextlib.ExitStack() as stack:
        server, browser = stack.enter_context(Paged(world)), stack.enter_context(browsing())
        server.redis("INCR", "invoices")
        server.redis("GET", "nobody")
        if PICTURES:
            keep_busy(server)
        for state, how in (("light", {}), ("dark", {"dark": True}), ("narrow", {"width": 360, "height": 740}),
                           ("wide", {"width": 2560, "height": 1440, "dark": True})):
            tab = open_page(browser, server, **how)
            tab.until("document.getElementById('workers').innerText.includes('held')")
            fill_id(tab)
            look(tab, state)
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


@claim("axe-core finds nothing wrong: a server that has just begun, and one in trouble")
def _(world):
    with Paged(world, 'return { admin = { token = "%s" } }' % TOKEN) as server, browsing() as browser:
        look(open_page(browser, server), "empty")
    lately = time.strftime("%Y-%m-%dT00:00:00Z", time.gmtime(time.time() - 100 * 86400))  # of 194 days that the time has
    config = IN_TROUBLE % (TOKEN, free_port(), world.folder, lately, world.folder)
    with Paged(world, config, quiet=True) as server, browsing() as browser:  # it will not say that it is ready
        tab = open_page(browser, server)
        tab.until("!!document.querySelector('#ns-scarce .state.good') && !!document.querySelector('#ns-orders .state.bad')")
        server.get("/v1/ids?ns=scarce&n=9")
        tab.until("!!document.querySelector('#ns-scarce .warn') && !!document.querySelector('#ns-requests .bad')")
        look(tab, "error")
        look(open_page(browser, server, width=360, height=740, dark=True), "error-narrow")


sys.argv[2:] = sys.argv[3:]
main()
