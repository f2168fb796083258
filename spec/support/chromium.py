"""chromium.py -- a headless Chromium, driven by the DevTools protocol over a pipe."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from claims import SLOW

PATIENCE_S = 60 * SLOW
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "about:blank"]


class Chromium:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="vesta-chromium-")
        (hears, self.to), (self.out, says) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (hears, says)]  # not 3 or 4, which they become
        os.close(hears)
        os.close(says)
        self.process = subprocess.Popen(["chromium", "--user-data-dir=" + self.folder, *FLAGS], close_fds=False,
                                        preexec_fn=lambda: [os.dup2(end, 3 + i) for i, end in enumerate(ends)],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env=dict(os.environ, HOME=self.folder))
        for end in ends:
            os.close(end)
        self.number, self.bytes, self.answers, self.tabs = 0, b"", {}, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE_S)
        except Exception:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, until):
        if not select.select([self.out], [], [], max(0, until - time.monotonic()))[0]:
            raise TimeoutError("chromium says nothing")
        more = os.read(self.out, 1 << 20)
        if not more:
            raise EOFError("chromium has ended")
        *messages, self.bytes = (self.bytes + more).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.tabs:
                self.tabs[message["sessionId"]].hear(message["method"], message["params"])

    def call(self, method, session=None, **params):
        self.number += 1
        message = dict(id=self.number, method=method, params=params, **({"sessionId": session} if session else {}))
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while self.number not in self.answers:
            self.read(until)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
        return answer["result"]

    def tab(self, width=1280, height=900, dark=False, window=False):
        """A tab in the foreground: other tabs of its window are then hidden."""
        target = self.call("Target.createTarget", url="about:blank", newWindow=window)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self.tabs[session] = Tab(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            tab.call(domain + ".enable")
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return tab

    def close_tabs(self):
        for session, tab in list(self.tabs.items()):
            self.call("Target.closeTarget", targetId=tab.target)
            del self.tabs[session]


class Tab:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.faults = []  # errors of the console and the network
        self.asked = []   # every requested URL

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def hear(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.faults.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def look(self):
        self.call("Page.bringToFront")

    def go(self, url):
        self.call("Page.navigate", url=url)

    def run(self, expression):
        said = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in said:
            raise RuntimeError(said["exceptionDetails"].get("exception", {}).get("description", said))
        return said["result"].get("value")

    def until(self, expression):
        """Waits until the expression is true, however slow the machine is.  Returns its value."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                said = self.run(expression)
            except RuntimeError:
                said = None  # between two documents
            if said:
                return said
            if time.monotonic() > end:
                raise AssertionError("waited for %s; the page says: %s" % (expression, self.run("document.body.innerText")))
            time.sleep(0.05)

    def type(self, element, text):
        """Types like a user who has put the cursor there."""
        self.run("(e => { e.focus(); e.select && e.select(); })(document.querySelector(%s))" % json.dumps(element))
        self.call("Input.insertText", text=text)

    def press(self, key):
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **(text if kind == "keyDown" else {}))

    def picture(self, path, whole=True):
        self.run("scrollTo(0, 0)")
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
