"""page.py -- the rows about the admin's page: its bytes, the time until a browser paints it, and the server's cost of
idle viewers."""
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import daemons
from rows import ROOT, Folder, Made, Missing

sys.path.append(str(ROOT / "spec" / "support"))
from chromium import Chromium  # noqa: E402

TOKEN = "bench"
VIEWERS = 10
REST_S = 3
SAMPLES_MAX = 3
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def served(turns, folder, admin):
    counters = f"sqlite:{folder}/counters.db"
    subprocess.run([str(turns.build / "vesta"), "segments", "add", "invoices", "--store", counters], check=True, stdout=subprocess.DEVNULL,
                   timeout=60)
    config = folder / "page.conf.lua"
    config.write_text(f"""return {{ admin = {{ token = "{TOKEN}" }}, stores = {{ db = {{ uri = "{counters}" }} }},
      segments = {{ {{ store = "db", tags = "*" }} }}, namespaces = {{
        orders = {{ layout = "vesta-second", worker = 7, store = "file:{folder}", path = "{folder}/orders.gen", policy = "borrow" }},
        requests = {{ layout = "snowflake", worker = 3, store = "file:{folder}", path = "{folder}/requests.gen" }} }} }}""")
    address = daemons.tcp()
    return daemons.Server(address, [turns.build / "vesta", "serve", "-c", config, "--http", address, "--resp", "off", "--admin", admin],
                          folder / "vesta.log", {"VESTA_STATE": str(folder)})


def body(admin, path):
    with daemons.dial(admin) as s:
        s.sendall(f"GET {path} HTTP/1.0\r\nAccept: text/html\r\n\r\n".encode())
        with s.makefile("rb") as file:
            head, _, text = file.read().partition(b"\r\n\r\n")
    if b" 200 " not in head:
        raise RuntimeError(f"{path}: {head[:80]}")
    return text


def page_bytes(admin):
    seen, left = {}, ["/"]
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen[path] = text = body(admin, path)
        left += ["/page/" + name.decode() for name in re.findall(rb"['\"](?:/page/|\./)([a-z]+\.(?:js|css))['\"]", text)]
    return sum(map(len, seen.values()))


def paints(admin, samples):
    """Returns milliseconds from the navigation to the first content, by the browser's clock, each in a new tab. The
    server forbids caching. The first one is not counted, because the browser has just started."""
    if not shutil.which("chromium"):
        raise Missing("chromium is not here")
    made = []
    with Chromium() as browser:
        for _ in range(samples + 1):
            tab = browser.tab()
            tab.go(f"http://{admin}/#token={TOKEN}")
            made.append(tab.until(PAINTED))
            browser.close_tabs()
    return made[1:]


class Viewers:
    """Viewers that follow everything a page shows, and send nothing."""

    def __init__(self, admin, tiny):
        self.tiny = tiny
        self.sockets = [daemons.dial(admin) for _ in range(VIEWERS)]
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
        time.sleep(0.1 if self.tiny else 2)  # until they have received the initial data

    def __exit__(self, *_):
        for s in self.sockets:
            s.shutdown(socket.SHUT_RDWR)
            s.close()


def share(server, seconds):
    before, began = server.cpu_ns(), time.monotonic_ns()
    time.sleep(seconds)
    return 100 * (server.cpu_ns() - before) / (time.monotonic_ns() - began)


def row(turns):
    admin = daemons.tcp()
    with Folder() as folder, served(turns, folder, admin) as server:
        size, made = page_bytes(admin), []
        for painted in paints(admin, min(turns.samples, SAMPLES_MAX)):
            with Viewers(admin, turns.tiny):
                watched = share(server, turns.few(REST_S, 0.2))
            made.append({"size": (size, 150 * 1024), "paint": (painted, 200.0), "rest": (watched, share(server, turns.few(REST_S, 0.2)))})
    return Made(made)
