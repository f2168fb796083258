"""page.py -- the admin's page in a real browser."""
import json
import os
import re
import signal
import socket
import time

from paged import TOKEN, Paged, browsing, open_page, shown, text_of
from serving import SLOW, VESTA, Server, claim, command, main, same

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "..", "csrc", "server", "page")
BYTES_MAX = 150 * 1024


@claim("the page is empty without a token, rejects a wrong token, accepts the right one, and can forget it")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = browser.tab()
        tab.go(server.url(None))
        tab.until(shown("#login"))
        assert not tab.run(shown("#board")) and "orders" not in tab.run("document.body.innerText")
        tab.type("#token", "guess")
        tab.press("Enter")
        tab.until("document.getElementById('login-error').innerText.includes('rejected this token')")
        tab.type("#token", TOKEN)
        tab.press("Enter")
        tab.until(shown("#board"))
        tab.until("document.getElementById('namespaces').innerText.includes('orders')")
        tab.run("document.getElementById('forget').click()")
        tab.until(shown("#login"))
        assert "orders" not in tab.run("document.body.innerText") and tab.run("sessionStorage.length") == 0


@claim("a token that is not valid text, or not ASCII, is rejected like any wrong token, in a link and typed")
def _(world):
    with Paged(world) as server, browsing() as browser:
        for wrong in ("%", "%E2%9C%93", "%FF"):
            tab = browser.tab()
            tab.go(server.url(None) + "#token=" + wrong)
            tab.until("document.getElementById('login-error').innerText.includes('rejected this token')")
            assert tab.run(shown("#login")) and not tab.run(shown("#board"))
        tab = browser.tab()
        tab.go(server.url(None) + "#token=a%0Ab")
        tab.until("document.getElementById('login-error').innerText.includes('cannot be reached')")
        tab.type("#token", "\u2713")
        tab.press("Enter")
        tab.until("document.getElementById('login-error').innerText.includes('rejected this token')")


@claim("the page lists clients with their share of the ids and the busiest connections, and never treats a client's "
       "name as markup")
def _(world):
    with Paged(world) as server, browsing() as browser, server.connect(server.resp) as most, server.connect(server.resp) as other:
        other.sendall(command("CLIENT", "SETNAME", "<b>till</b>") + command("GET", "orders"))
        most.sendall(command("VESTA.NEXT", "orders", "70") + command("GET", "nothing"))
        assert most.recv(4096) and other.recv(4096)
        tab = open_page(browser, server)
        tab.until("document.querySelectorAll('#connections tbody tr').length === 2")
        rows = tab.run("[...document.querySelectorAll('#connections tbody tr')].map(tr => [...tr.cells].map(td => td.innerText))")
        same([(row[1], row[2], row[3], row[4]) for row in rows],
             [("default", "127.0.0.1:%d" % sock.getsockname()[1], "resp", ids) for sock, ids in ((most, "70"), (other, "1"))])
        assert rows[1][7].startswith("get ") and rows[1][7].endswith(", <b>till</b>"), rows
        # Ids are issued while the page is open, so this client has a share of 100 %.
        def takes():
            most.sendall(command("VESTA.NEXT", "orders", "70"))
            return most.recv(4096) and tab.run("document.querySelector('#clients tbody tr').cells[3].innerText")
        end = time.monotonic() + 200 * SLOW  # An idle server would show no shares.
        while takes() != "100 %":
            assert time.monotonic() < end, tab.run("document.querySelector('#clients').innerText")
            time.sleep(0.1)
        first = tab.run("[...document.querySelector('#clients tbody tr').cells].map(td => td.innerText)")
        same((first[0], first[4], first[7]), ("default", "-", "invalid 1"))


@claim("the page lists the limits of each client: rates, weight, and how many requests waited")
def _(world):
    secret = world.run("client", "add", "shop", "--names", "*", "--calls", "give", "--rate", "1000", "--weight", "3",
                       "--file", world.path("clients")).out.strip()
    config = Paged.odd(world).replace("return {", "return { clients = '%s'," % world.path("clients"), 1)
    with Paged(world, config) as server, browsing() as browser, server.connect(server.resp) as sock:
        sock.sendall(command("AUTH", "shop", secret))
        same(sock.recv(100), b"+OK\r\n")
        tab = open_page(browser, server)
        agreed = "[...document.querySelectorAll('#clients tbody tr')].find(tr => tr.cells[0].innerText === 'shop')?.cells[4].innerText"
        sock.sendall(command("GET", "orders"))
        assert sock.recv(100).startswith(b"$")
        tab.until(agreed + " === '1,000 ids/s, weight 3'")
        # more than the rate saves up in a second
        sock.sendall(command("VESTA.NEXT", "orders", "1000") + command("GET", "orders") * 20)
        tab.until("/^1,000 ids\\/s, weight 3, [1-9][0-9]? waited$/.test(%s)" % agreed)


@claim("the focus stays while a table changes, and screen readers announce only changes of state")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.until("document.getElementById('workers').innerText.includes('held')")
        tab.run("window.told = 0; new MutationObserver(l => { told += l.length })"
                ".observe(document.getElementById('live'), { childList: true, subtree: true, characterData: true });"
                "document.querySelector('#workers .scroll').focus(); window.rows = document.querySelector('#workers tbody'); 0")
        tab.until("document.querySelector('#workers tbody') !== rows")
        same(tab.run("document.activeElement.className"), "scroll")
        same(tab.run("told"), 0)


@claim("the page removes the token from the address, requests only the server's own files, and reports no error")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        same(tab.run("location.href"), server.url(None))
        tab.until("document.getElementById('workers').innerText.includes('held')")
        assert all(url.startswith(server.url(None)) or url.startswith("data:") for url in tab.asked), tab.asked
        same(tab.faults, [])
        assert TOKEN not in server.said and "#token" not in server.said


@claim("the page shows ids, worker ids and their holders, pauses, tags and replies")
def _(world):
    with Paged(world) as server, browsing() as browser:
        server.redis("INCR", "invoices")
        server.redis("GET", "nobody")
        tab = open_page(browser, server)
        tab.until("document.getElementById('tiles').innerText.includes('2 of 2')")
        server.get("/v1/ids?ns=requests&n=1234")
        tab.until("document.getElementById('ns-requests').innerText.includes('1,234 since the start')")
        tab.until("document.getElementById('answers').innerText.includes('unknown_name')")
        tab.until("document.getElementById('segments').innerText.includes('invoices')")
        tab.until("/7\\s+held/.test(document.getElementById('workers').innerText)")
        assert "pid %d" % server.process.pid in text_of(tab, "#workers")
        assert "Layout ends\nin 5" in text_of(tab, "#ns-requests"), text_of(tab, "#ns-requests")
        same(tab.run("document.querySelectorAll('#chart-ids svg, #chart-refused svg').length"), 2)


@claim("the title has the server's name and host, and tiles show ids per second next to the capacity, and the latency")
def _(world):
    config = "return { http = { hosts = { '*', 'ids1.example.com' } }, admin = { token = '%s' }, namespaces = { web = {" \
             " layout = 'snowflake', rate = 5000, store = 'file:%s' }, orders = { layout = 'vesta-second', store = 'file:%s' } } }"
    with Paged(world, config % (TOKEN, world.folder, world.folder)) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.until("document.title === 'vesta on ids1.example.com: 2 of 2 ready'")
        assert "host " + socket.gethostname() in text_of(tab, "header"), text_of(tab, "header")
        assert "capacity 1,053,576, 0\u00a0%\u00a0used" in text_of(tab, "#tiles"), text_of(tab, "#tiles")
        tab.until("document.getElementById('ns-web').innerText.includes('5,000 per second, 0\u00a0%\u00a0used')")
        assert "no request in the last 10 s" in text_of(tab, "#tiles"), text_of(tab, "#tiles")
        end = time.monotonic() + 60 * SLOW
        while not re.search("Latency of 99 %\n\u2264\\s[0-9.]+\\s(\u00b5s|ms)\nhalf \u2264\\s", text_of(tab, "#tiles")):
            assert server.get("/v1/ids?ns=web").status == 200 and time.monotonic() < end, text_of(tab, "#tiles")


@claim("a namespace without ids is first in every list and named in the banner and the events, and an assigned worker "
       "id is no warning")
def _(world):
    store, away = world.path("store"), world.path("away")
    config = "return { admin = { token = '%s' }, namespaces = { z = { layout = 'snowflake', worker = 3, wait_ms_max = 0, store = 'file:%s' }," \
             " b = { layout = 'snowflake', store = 'file:%s' } } }" % (TOKEN, store, world.folder)
    with Paged(world, config) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.until("document.querySelectorAll('#namespaces article').length === 2")
        order = "['#namespaces', '#workers'].map(list => [...document.querySelector(list).children].map(at => at.id.slice(-1)).join('')).join()"
        same(tab.run(order), "bz,bz")
        assert "continue without the store for a few seconds, because the worker id is assigned" in text_of(tab, "#ns-z"), text_of(tab, "#ns-z")
        assert re.search(r"continue without the store for 2\smin\s\d\d\ss", text_of(tab, "#ns-b")), text_of(tab, "#ns-b")
        same(tab.run("document.querySelectorAll('#ns-z .warn, #ns-z .bad, #broken:not([hidden])').length"), 0)
        tab.until("document.getElementById('recent').innerText.includes('z: worker id 3 is leased')")
        os.rename(store, away)
        open(store, "w").close()  # a file, not a folder, so that the lease cannot be renewed
        tab.until("document.getElementById('recent').textContent.includes('warning: z: ids continue for now, but the lease is not renewed')")
        tab.until("document.getElementById('broken').innerText.includes('No ids: z.')")
        same(tab.run(order), "zb,zb")
        tab.until("document.getElementById('recent').textContent.includes('problem: z: no ids: ')")
        os.unlink(store)
        os.rename(away, store)
        tab.until("document.getElementById('recent').innerText.includes('z: ids are issued again')")
        tab.until("document.getElementById('broken').hidden")
        same(tab.run(order), "bz,bz")


@claim("the plot shows the value and UTC time of a step, by pointer and by arrow keys")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.until("!!document.querySelector('#chart-ids svg')")
        keys = "['End', 'ArrowLeft'].forEach(key => document.querySelector('#chart-ids .plot').dispatchEvent(new KeyboardEvent('keydown', { key })))"
        tab.run(keys)
        tip = tab.run("document.querySelector('#chart-ids .tip').innerText")
        assert re.fullmatch(r"\d\d:\d\d:\d\d UTC: (no data|[\d.,]+ ids/s)", tip), tip
        same(tab.run("document.querySelector('#chart-ids .plot').ariaValueText"), tip)
        tab.run("(p => p.dispatchEvent(new PointerEvent('pointermove', { clientX: p.getBoundingClientRect().left })))(document.querySelector('#chart-ids .plot'))")
        first = tab.run("document.querySelector('#chart-ids .tip').innerText")
        assert first[:8] != tip[:8], (first, tip)
        tab.run("document.querySelector('#chart-ids .plot').dispatchEvent(new PointerEvent('pointerleave'))")
        assert tab.run("document.querySelector('#chart-ids .tip').hidden")
        assert re.search(r"\d ids/s\n.*\d ids/s\n0", text_of(tab, "#chart-ids")) and text_of(tab, "#chart-ids").endswith(" UTC"), text_of(tab, "#chart-ids")


@claim("on a phone, each table can be scrolled to its last column")
def _(world):
    with Paged(world) as server, browsing() as browser, server.connect(server.resp) as sock:
        sock.sendall(command("GET", "orders"))
        tab = open_page(browser, server, width=390, height=844)
        tab.until("document.querySelectorAll('#connections td').length > 0 && document.querySelectorAll('#workers td').length > 0")
        reach = "[...document.querySelectorAll('.scroll')].filter(at => at.checkVisibility()).map(at => { at.scrollLeft = 1e6;" \
                " return at.querySelector('tr').lastChild.getBoundingClientRect().right <= innerWidth })"
        same(set(tab.run(reach)), {True})


@claim("markup in an identity is displayed as text, and only the page's own scripts run")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.until("document.getElementById('workers').innerText.includes('<b id=odd>')")
        same(tab.run("document.querySelectorAll('#odd, main img').length"), 0)
        tab.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title=1\"><script>document.title=2</scr' + 'ipt>')")
        tab.until("document.querySelector('body > img').complete")
        assert tab.run("document.title").startswith("vesta"), tab.run("document.title")
        assert any("Content Security Policy" in fault for fault in tab.faults), tab.faults


@claim("while the server is stopped or gone, the page shows the time of its state, and later it continues by itself")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        server.process.send_signal(signal.SIGSTOP)
        tab.until(shown("#stale"))
        assert "This page shows the state of" in text_of(tab, "#stale") and "not live" in text_of(tab, "#live")
        tab.until("document.getElementById('stale').innerText.includes('has sent nothing for 10 s. Reconnecting.')")
        server.process.send_signal(signal.SIGCONT)
        tab.until("!(%s)" % shown("#stale"))
        server.kill()
        tab.until(shown("#stale"))
        server.process.wait()
        server.__enter__()
        tab.until("!(%s)" % shown("#stale"))
        tab.until("document.getElementById('server').innerText.includes('pid %d')" % server.process.pid)


@claim("reload and drain ask for confirmation")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.run("document.querySelector('[data-action=drain]').click()")
        tab.until(shown("#ask") + " && document.activeElement.value === 'no'")
        tab.press("Escape")
        tab.until("!(%s)" % shown("#ask"))
        tab.run("document.querySelector('[data-action=reload]').click()")
        tab.until(shown("#ask"))
        tab.run("document.getElementById('ask-yes').click()")
        server.listen("admin: reload requested")
        assert "drain requested" not in server.said
        tab.run("document.querySelector('[data-action=drain]').click()")
        tab.until(shown("#ask"))
        tab.run("document.getElementById('ask-yes').click()")
        server.listen("admin: drain requested")
        same(server.process.wait(60), 0)


@claim("the keyboard reaches the content, each action and each field, and the focus is visible")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        seen = []
        for _ in range(40):
            tab.press("Tab")
            at = tab.run("(e => [e.id || e.dataset.action || e.dataset.field || e.className || e.tagName,"
                         " getComputedStyle(e).outlineStyle !== 'none'])(document.activeElement)")
            if at[0] == "BODY":
                break
            seen.append(at)
        names = [name for name, _ in seen]
        same(names[:4], ["skip", "reload", "drain", "forget"])
        for name in ("id-namespace", "id-text", "id-day", "time"):
            assert name in names, names
        ringed = {name for name, ring in seen if ring}  # The date input's own button has another focus ring.
        same(sorted(set(names) - ringed), [])


@claim("an id is split into fields as you type, built from its fields, or rejected with the field's name, and a day "
       "shows its range")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        tab.run("(s => { s.value = 'requests'; s.dispatchEvent(new Event('change')) })(document.getElementById('id-namespace'))")
        tab.type("#id-text", "2006878101304209419")
        same(tab.run("[...document.querySelectorAll('#id-bits span')].map(e => e.firstChild.data).join('')"), format(2006878101304209419, "064b"))
        assert "2026-01-01T23:59:59.999Z" in tab.run("document.getElementById('id-bits').ariaLabel || document.getElementById('id-bits').getAttribute('aria-label')")
        tab.type("[data-field=worker]", "5")
        made = tab.run("document.getElementById('id-text').value")
        same(json.loads(world.run("explain", "--json", "--layout", "snowflake", made).out)["worker"], 5)
        tab.type("[data-field=worker]", "1024")
        tab.until("document.getElementById('id-error').innerText.includes('worker is 1024')")
        for wrong in ("x", "-1", "18446744073709551616", "1e3", "9" * 5000):
            tab.type("#id-text", wrong)
            tab.until("document.getElementById('id-error').innerText.includes('An id must be a number')")
        tab.type("#id-text", "0x1bd9dd15c3ffff8b")
        tab.run("(d => { d.value = '2026-01-01'; d.dispatchEvent(new Event('input')) })(document.getElementById('id-day'))")
        first, last = world.run("range", "--layout", "snowflake", "2026-01-01").out.split()
        assert "%s to %s" % (first, last) in text_of(tab, "#id-range"), text_of(tab, "#id-range")


@claim("the page reads layouts as the program does: every preset, its ids, times and ranges")
def _(world):
    with Paged(world) as server, browsing() as browser:
        tab = open_page(browser, server)
        presets = [line.split()[0] for line in world.run("layout").out.splitlines()[1:] if line[:1].islower()]
        assert len(presets) > 8, presets
        compared = 0
        for preset in presets:
            text = next(line for line in world.run("layout", preset).out.splitlines() if "time:" in line).strip()
            text = text[text.index(next(w for w in text.split() if ":" in w)):]
            ids = ["2006878101304209419", "1", "4611686018427387904"]
            said = tab.run("import('/page/bits.js').then(b => { const l = b.readLayout(%s); return %s.map(id =>"
                           " Object.fromEntries(b.takeApart(l, id).map(p => [p.field.name, String(p.value)]))) })" % (json.dumps(text), json.dumps(ids)))
            for id, fields in zip(ids, said):
                told = world.run("explain", "--json", "--layout", preset, id)
                if told.code != 0:
                    continue
                explained, compared = json.loads(told.out), compared + 1
                for name, value in fields.items():
                    same((preset, id, name, int(value)), (preset, id, name, int(explained[name])))
        assert compared > 2 * len(presets), compared


@claim("eight windows share one connection without polling, and close it when none is visible")
def _(world):
    with Paged(world) as server, browsing() as browser:
        # A browser opens at most six connections to a server.
        tabs = [open_page(browser, server, window=True) for _ in range(8)]
        for tab in tabs:
            tab.run("window.told = document.getElementById('server').innerText; 0")
        for tab in tabs:
            same(tab.run("document.visibilityState"), "visible")
            tab.until("document.getElementById('workers').innerText.includes('held')")
            tab.until("document.getElementById('server').innerText !== told")
            asked = {url.removeprefix(server.url(None)).split("/")[0] for url in tab.asked if not url.startswith("data:")}
            same(asked, {"", "page"})
        same(server.watching(), 1)
        browser.close_tabs()
        server.until_watched_by(0)
        front = open_page(browser, server)
        other = browser.tab()
        front.until("document.hidden")
        server.until_watched_by(0)
        front.look()
        front.until("document.getElementById('live').className == 'good' && document.title.includes('ready')")
        server.until_watched_by(1)
        same(other.run("document.hidden"), True)


HEARD = """import('/page/hub.js').then(hub => new Promise(told => {
    const said = [['history', { ids: Array(360).fill(1), refused: Array(360).fill(0), until_unix_ms: 1 }],
                  ['workers', { namespace: 'a', read_unix_ms: 1, held: 1, workers: [{ worker: '7' }], error: '' }],
                  ['history', { ids: [5, 6], refused: [null, 8], until_unix_ms: 2 }],
                  ['workers', { namespace: 'a', read_unix_ms: 2, error: 'silent' }], ['status', { unix_ms: 3 }]];
    const bytes = new TextEncoder().encode(said.map(([kind, data]) => `event: ${kind}\\ndata: ${JSON.stringify(data)}\\n\\n`).join(''));
    fetch = async () => new Response(new ReadableStream({ start: to => [...bytes].forEach(byte => to.enqueue(Uint8Array.of(byte))) }));
    const { port1, port2 } = new MessageChannel(), heard = [];
    port1.onmessage = ({ data }) => (heard.push(data), data.kind === 'status' && told(heard.map(one => one.said)));
    hub.join(port2);
    port1.postMessage({ token: 'any' });
}))"""


@claim("changes are merged with the first complete list, for any split of their bytes")
def _(world):
    with Paged(world) as server, browsing() as browser:
        _, _, history, workers, _ = open_page(browser, server).run(HEARD)
        same((history["ids"], history["refused"][-3:]), ([1] * 358 + [5, 6], [0, None, 8]))
        same((history["until_unix_ms"], len(history["refused"])), (2, 360))
        same((workers["workers"], workers["held"], workers["read_unix_ms"], workers["error"]), ([{"worker": "7"}], 1, 2, "silent"))


@claim("the page is below 150 KB and loads nothing from elsewhere")
def _(world):
    sizes = {name: os.path.getsize(os.path.join(PAGE, name)) for name in os.listdir(PAGE) if name.rsplit(".")[-1] in ("html", "css", "js")}
    assert sum(sizes.values()) < BYTES_MAX, sizes
    for name in sizes:
        with open(os.path.join(PAGE, name)) as file:
            text = file.read().replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text, name
    with Paged(world) as server:
        for name in sizes:
            reply = server.say(server.admin, ("GET /page/%s HTTP/1.0\r\n\r\n" % name).encode())
            assert reply.startswith(b"HTTP/1.1 200 ") and b"script-src 'self'" in reply and b"nosniff" in reply, reply[:600]
        for wrong in ("", "page", "../page.js", "%2e%2e%2fpage.js", "page.js/", "x" * 4000):
            reply = server.say(server.admin, ("GET /page/%s HTTP/1.0\r\n\r\n" % wrong).encode())
            assert b" 404 " in reply[:20], reply[:200]
            assert b" 404 " in server.say(server.http, b"GET /page/page.js HTTP/1.0\r\n\r\n")[:20]


main()
