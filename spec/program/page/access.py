"""access.py -- axe-core looks at the page in each of its states; with VESTA_PICTURES=FOLDER it is photographed, too."""
import contextlib
import os
import signal
import sys

import node_modules
from paged import Paged, browsing, open_page, shown
from serving import claim, main, same

HERE, FOLDER = os.path.dirname(os.path.abspath(__file__)), os.path.abspath(sys.argv[2])
PICTURES = os.environ.get("VESTA_PICTURES")
why = node_modules.install(HERE, FOLDER)
if why:
    print("skipped: " + why)
    sys.exit(77)  # what ctest takes for a skipped test
with open(os.path.join(FOLDER, "node_modules", "axe-core", "axe.min.js")) as file:
    AXE = file.read()
FINDINGS = "axe.run().then(r => r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).join('; ')))"


def look(tab, state):
    tab.run(AXE + "; 0")
    same(tab.run(FINDINGS), [])
    if PICTURES:
        tab.picture(os.path.join(PICTURES, state + ".png"))


def fill_id(tab):
    tab.type("#id-text", "2708711107928457738")
    tab.run("(d => { d.value = '2026-11-22'; d.dispatchEvent(new Event('input')) })(document.getElementById('id-day'))")


@claim("axe-core finds nothing wrong: light, dark, narrow, wide; signing in, asking, an error, an old page")
def _(world):
    with contextlib.ExitStack() as stack:
        server, browser = stack.enter_context(Paged(world)), stack.enter_context(browsing())
        server.redis("INCR", "invoices")
        server.redis("GET", "nobody")
        for state, how in (("light", {}), ("dark", {"dark": True}), ("narrow", {"width": 390, "height": 800}),
                           ("wide", {"width": 2560, "height": 1440, "dark": True})):
            tab = open_page(browser, server, **how)
            tab.until("document.getElementById('workers').innerText.includes('held')")
            fill_id(tab)
            look(tab, state)
            assert tab.run("document.documentElement.scrollWidth <= innerWidth"), state + " scrolls sideways"
        tab.type("#id-text", "no id")
        look(tab, "error")
        tab.run("document.querySelector('[data-action=drain]').click()")
        look(tab, "question")
        tab.run("document.querySelector('#ask button').click()")
        stranger = browser.tab(width=1000, height=600)
        stranger.go(server.url(None))
        stranger.until(shown("#login"))
        look(stranger, "empty")
        tab.look()
        tab.until("document.getElementById('live').className == 'good'")
        server.process.send_signal(signal.SIGSTOP)
        tab.until(shown("#stale"))
        look(tab, "stale")
        server.process.send_signal(signal.SIGCONT)


sys.argv[2:] = sys.argv[3:]
main()
