"""foreign.py -- in a real browser, pages of other origins request ids from a server in every way that a page can."""
import contextlib
import json
import re
import socket
import threading

from paged import Paged, browsing, open_page
from serving import Server, claim, main, same

PAGE = b"<!doctype html><meta charset=utf-8><title>another site</title><body>a page"
MEANS = """(async () => {
    const at = '%s', routes = ['/genid', '/v1/ids?n=9', '/v1/blocks?n=1000', '/api/snowflake/get/default', '/v1/ids/1'], done = [];
    const settled = (element, ...events) => new Promise(end => events.forEach(event => element.addEventListener(event, () => end(event))));
    for (const route of routes) {
        for (const method of ['GET', 'POST', 'HEAD'])
            for (const mode of ['no-cors', 'cors'])
                for (const referrerPolicy of ['no-referrer', 'unsafe-url'])
                    done.push(await fetch(at + route, {method, mode, referrerPolicy, credentials: 'include'}).then(r => r.type, e => 'failed'));
        done.push(await fetch(at + route, {headers: {Authorization: 'Bearer x'}}).then(r => r.type, e => 'failed'));
        for (const name of ['img', 'script', 'iframe', 'video', 'link']) {
            const element = document.createElement(name), ended = settled(element, 'load', 'error');
            if (name == 'link') element.rel = 'stylesheet', element.href = at + route; else element.src = at + route;
            document.body.append(element);
            done.push(name + ' ' + await ended);
        }
        navigator.sendBeacon(at + route, new URLSearchParams({n: 5}));
        const events = new EventSource(at + route);
        done.push('events ' + await settled(events, 'open', 'error'));
        events.close();
        for (const method of ['get', 'post']) {
            const frame = document.createElement('iframe'), form = document.createElement('form');
            frame.name = 'target';
            document.body.append(frame);
            Object.assign(form, {method, action: at + route, target: 'target'});
            document.body.append(form);
            const ended = settled(frame, 'load');
            form.submit();
            await ended;
            frame.remove();
        }
    }
    done.push('socket ' + await settled(new WebSocket(at.replace('http', 'ws') + '/genid'), 'open', 'error'));
    const sandbox = document.createElement('iframe');
    sandbox.sandbox = 'allow-scripts';
    sandbox.srcdoc = `<script>fetch('${at}/genid', {method: 'POST', mode: 'no-cors'}).finally(() => parent.postMessage('asked', '*'))</` + 'script>';
    const asked = settled(window, 'message');
    document.body.append(sandbox);
    await asked;
    return done;
})()"""


class Elsewhere:
    def __enter__(self):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.door.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:  # Browsers open connections before they send a request.
                threading.Thread(target=self.answer, args=self.door.accept()[:1], daemon=True).start()

    @staticmethod
    def answer(client):
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(PAGE), PAGE))


def counted(server, what):
    found = re.search(r"(?m)^%s (\d+)" % re.escape(what), server.get("/metrics").body)
    return int(found.group(1)) if found else 0


@claim("a page of another origin spends no id with forms, images, frames, fetch, events, sockets or links")
def _(world):
    ids, refused = 'vesta_ids_issued_total{namespace="default",proto="http"}', 'vesta_requests_total{proto="http",code="cross_site"}'
    with Server(world) as server, Elsewhere() as site, browsing() as browser:
        first = server.tick()
        # The first name is the same site at another port, the second is another site.
        for name in "127.0.0.1", "localhost":
            tab = browser.tab()
            tab.go("http://%s:%d/" % (name, site.port))
            tab.until("document.title == 'another site'")
            before = counted(server, refused)
            done = tab.run(MEANS % ("http://127.0.0.1:%d" % server.http))
            assert not [how for how in done if how in ("basic", "cors", "events open", "socket open", "script load", "img load")], done
            asked = sum(url.startswith("http://127.0.0.1:%d/" % server.http) for url in tab.asked)
            assert asked > 100 and counted(server, refused) - before > 100, (asked, counted(server, refused) - before)
            tab.run("location.href = 'http://127.0.0.1:%d/genid'; 0" % server.http)  # as if the user clicked a link
            tab.until("document.body && document.body.innerText.includes('cross_site')")
        same(server.tick(), first + 1)
        same(counted(server, ids), 2)  # This test requested these two.
        tab.go("http://127.0.0.1:%d/genid" % server.http)  # as if the user typed the address
        tab.until("/^\\d+$/.test(document.body.innerText)")


@claim("a page on a domain that was rebound to this server is rejected, although its browser treats it as same-origin")
def _(world):
    with Server(world) as server, Elsewhere(), browsing() as browser:
        first, tab = server.tick(), browser.tab()
        tab.go("http://rebound.localhost:%d/" % server.http)  # This machine's own name gets the index page.
        tab.until("document.body.innerText.includes('/genid')")
        for name in "rebound.example", "127.0.0.1.nip.io":
            asked = server.say(server.http, b"GET /genid HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nUser-Agent: Mozilla/5.0\r\n\r\n" % name.encode())
            assert b" 421 " in asked, asked
        same(server.tick(), first + 1)


@claim("a page of a listed origin gets and reads ids, after a preflight where needed, and a page of another origin "
       "does not")
def _(world):
    with Elsewhere() as shop, Elsewhere() as other, browsing() as browser:
        with Server(world, "--allow-origins", "http://127.0.0.1:%d" % shop.port) as server:
            at, tab = "http://127.0.0.1:%d" % server.http, browser.tab()
            tab.go("http://127.0.0.1:%d/" % shop.port)
            tab.until("document.title == 'another site'")
            assert tab.run("fetch('%s/genid').then(r => r.text())" % at).isdigit()
            said = tab.run("fetch('%s/v1/ids?n=3', {method: 'POST', headers: {Authorization: 'Bearer x'}}).then(r => r.text())" % at)
            same(len(json.loads(said)["ids"]), 3)
            same(tab.run("fetch('%s/v1/ids?n=0').then(r => r.json()).then(said => said.code)" % at), "bad_count")
            tab.go("http://127.0.0.1:%d/" % other.port)
            tab.until("location.port == %d && document.title == 'another site'" % other.port)
            same(tab.run("fetch('%s/genid').then(() => 'read', () => 'failed')" % at), "failed")


class Tunnel:
    """A port on this machine that leads to the admin's socket, like `ssh -L`."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.door.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                here = self.door.accept()[0]
                there = socket.socket(socket.AF_UNIX)
                there.connect(self.path)
                for ends in (here, there), (there, here):
                    threading.Thread(target=self.pass_on, args=ends, daemon=True).start()

    @staticmethod
    def pass_on(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@claim("the admin's page works without a token through a tunnel to its socket, and a page of another origin cannot "
       "act there")
def _(world):
    path = world.path("admin")
    server = Paged(world, "return { namespaces = { orders = { layout = 'vesta-second', worker = 7, store = 'file:%s' } } }" % world.folder)
    server.args[server.args.index("--admin") + 1] = "unix:" + path
    with server, Tunnel(path) as tunnel, Elsewhere() as site, browsing() as browser:
        server.url = lambda: "http://localhost:%d/" % tunnel.port
        tab = open_page(browser, server)
        assert not tab.faults, tab.faults
        bad = browser.tab(window=True)
        bad.go("http://localhost:%d/" % site.port)
        bad.until("document.title == 'another site'")
        bad.run("fetch('http://localhost:%d/admin/log?level=debug', {method: 'POST', mode: 'no-cors'}).then(() => 1, () => 0)" % tunnel.port)
        bad.run("fetch('http://localhost:%d/admin/drain', {method: 'POST', mode: 'no-cors'}).then(() => 1, () => 0)" % tunnel.port)
        same(tab.run("fetch('/admin/status').then(r => r.json()).then(said => said.draining)"), False)
        same(tab.run("fetch('/admin/log?level=info', {method: 'POST'}).then(r => r.status)"), 202)
        assert server.process.poll() is None


main()
