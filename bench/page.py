"""page.py -- the rows about the admin's page: its bytes, how soon a browser paints it, what viewers at rest cost the server."""
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import net

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spec" / "support"))
from chromium import Chromium  # noqa: E402

TOKEN = "bench"
VIEWERS = 10
REST_S = 30
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def served(build, folder, port):
    """A server of two namespaces, a tag and a policy, as the page has them to show; its admin's listener is one port up."""
    counters = f"sqlite:{folder}/counters.db"
    subprocess.run([str(build / "vesta"), "segments", "add", "invoices", "--store", counters], check=True, stdout=subprocess.DEVNULL,
                   timeout=60)
    config = folder / "page.conf.lua"
    config.write_text(f"""return {{ admin = {{ token = "{TOKEN}" }}, stores = {{ db = {{ uri = "{counters}" }} }},
      segments = {{ {{ store = "db", tags = "*" }} }}, namespaces = {{
        orders = {{ layout = "vesta-second", worker = 7, store = "file:{folder}", path = "{folder}/orders.gen", policy = "borrow" }},
        requests = {{ layout = "snowflake", worker = 3, store = "file:{folder}", path = "{folder}/requests.gen" }} }} }}""")
    return net.Server(port, [str(build / "vesta"), "serve", "-c", str(config), "--http", f"127.0.0.1:{port}", "--resp", "off",
                             "--admin", f"127.0.0.1:{port + 1}"], folder / "vesta.log", {"VESTA_STATE": str(folder)})


def body(port, path):
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        s.sendall(f"GET {path} HTTP/1.0\r\nAccept: text/html\r\n\r\n".encode())
        with s.makefile("rb") as file:
            head, _, text = file.read().partition(b"\r\n\r\n")
    if b" 200 " not in head:
        raise RuntimeError(f"{path}: {head[:80]}")
    return text


def page_bytes(port):
    """Of the document, and of all that it and its files name."""
    seen, left = {}, ["/"]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen[path] = text = body(port, path)
        left += ["/page/" + name.decode() for name in re.findall(rb"['\"](?:/page/|\./)([a-z]+\.(?:js|css))['\"]", text)]
    return sum(map(len, seen.values()))


def paints(port, samples):
    """Milliseconds from the navigation to the first content, by the browser's own clock, each in a new tab; nothing of it is
    cached, for the server forbids it.  The first, which finds the browser cold, is not counted."""
    if not shutil.which("chromium"):
        raise net.Missing("chromium is not here")
    made = []
    with Chromium() as browser:
        for _ in range(samples + 1):
            tab = browser.tab()
            tab.go(f"http://127.0.0.1:{port}/#token={TOKEN}")
            made.append(tab.until(PAINTED))
            browser.close_tabs()
    return made[1:]


class Viewers:
    """Those that follow all that a page shows, and do nothing else."""

    def __init__(self, port):
        self.sockets = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(VIEWERS)]
        for s in self.sockets:
            s.sendall(f"GET /admin/events?all=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            threading.Thread(target=self.read, args=(s,), daemon=True).start()

    @staticmethod
    def read(s):
        try:
            while s.recv(1 << 20):
                pass
        except OSError:
            pass

    def __enter__(self):
        time.sleep(2)  # until they have had what is sent once

    def __exit__(self, *_):
        for s in self.sockets:
            s.shutdown(socket.SHUT_RDWR)
            s.close()


def share(server):
    """Percent of a core that the server takes."""
    before, began = server.cpu_ns(), time.monotonic_ns()
    time.sleep(REST_S)
    return 100 * (server.cpu_ns() - before) / (time.monotonic_ns() - began)


def figures(build, folder, port, samples):
    """Bytes; milliseconds; pairs of percents: with viewers, and with none."""
    with served(build, folder, port) as server:
        size, painted, pairs = page_bytes(port + 1), paints(port + 1, samples), []
        for _ in range(samples):
            with Viewers(port + 1):
                watched = share(server)
            pairs.append((watched, share(server)))
    return size, painted, pairs
