"""top.py -- `vesta top` on real servers, in a terminal: what it shows, how it grows old and young again, how it ends."""
import json
import re
import signal
import socket
import threading
import time

from harness import SLOW, claim, fails, main, same
from terminal import Terminal, plain

CONFIG = """return { namespaces = { orders = { layout = "snowflake", worker = 3, policy = "borrow" }, web = { layout = "vesta-second", worker = 7 } },
  http = { listen = "unix:%s" }, resp = { listen = "off" }, admin = { listen = { "unix:%s" }, token = "s3cret" } }"""


class Served:
    """A server with an admin listener, that can be killed and started again."""

    def __init__(self, w):
        self.world, self.http, self.admin = w, w.path("h"), w.path("a")
        with open(w.path("v.lua"), "w") as file:
            file.write(CONFIG % (self.http, self.admin))
        self.start()

    def start(self):
        self.program = self.world.start("serve", "-c", "v.lua", stderr=-1, text=True)
        while "msg=ready" not in self.program.stderr.readline():
            assert self.program.poll() is None

    def get(self, path):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(30)
            s.connect(self.http)
            s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
            while s.recv(65536):
                pass

    def kill(self):
        self.program.kill()
        self.program.wait()
        self.program.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


class Liar(threading.Thread):
    """A listener that answers each connection with these bytes, and then keeps or closes it."""

    def __init__(self, path, answer, keeps=False):
        super().__init__(daemon=True)
        self.answer, self.keeps, self.kept = answer, keeps, []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.start()

    def run(self):
        while True:
            try:
                taken = self.socket.accept()[0]
                taken.recv(65536)
                taken.sendall(self.answer)
            except OSError:
                continue
            self.kept.append(taken)
            if not self.keeps:
                taken.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def lines(frame):
    return [line for line in plain(frame).split("\n") if line]


@claim("one look without a terminal: ids, refusals, workers, leases, life; --json gives the event")
def _(w):
    with Served(w) as server:
        over = threading.Event()

        def ask():
            while not over.is_set():
                server.get("/v1/ids?ns=orders&n=1000")
                server.get("/genid?ns=none")
        asks = threading.Thread(target=ask)
        asks.start()
        done = w.run("top", "-c", "v.lua")
        over.set()
        asks.join()
        same((done.code, done.err), (0, ""))
        row = re.search(r"(?m)^orders +([\d,.]+) .* 3 +\d+:\d\d +5\d\.\d y ready$", done.out)
        assert row and int(row[1].replace(",", "").split(".")[0]) > 0, done.out
        assert re.search(r"(?m)^web +0 .* 7 +\d+:\d\d +\d\d\.\d y ready$", done.out), done.out
        assert re.search(r"(?m)^refused +unknown_name [\d.,]+/s of [\d,]+$", done.out) and "policies     generation 1" in done.out, done.out
        assert "\x1b" not in done.out
        got = w.run("top", "-c", "v.lua", "--json")
        same((got.code, [ns["name"] for ns in json.loads(got.out)["namespaces"]]), (0, ["orders", "web"]))
        same(len(got.lines()), 1)
        with open(w.path("token"), "w") as file:
            file.write("s3cret\n")
        for words, env in ((["--admin", "unix:" + server.admin, "--token-file", "token"], {}),
                           (["--once"], {"VESTA_ADMIN": "unix:" + server.admin, "VESTA_ADMIN_TOKEN": "s3cret"}), ([], {"VESTA_CONFIG": "v.lua"})):
            same((words, w.run("top", *words, "--json", env=env).code), (words, 0))


@claim("it fits 80x24 and what a terminal is resized to; q and Ctrl-C end it, and the terminal is as it was")
def _(w):
    with Served(w):
        for how in ("q", signal.SIGINT, signal.SIGTERM):
            with Terminal(w, "top", "-c", "v.lua", TERM="xterm") as screen:
                shown = screen.until(r"orders .* ready\n(.*\n)*.*q ends", frame=True)
                same([line for line in lines(shown) if len(line) > 80], [])
                assert len(lines(shown)) < 24 and "\x1b[?1049h" in screen.said and "\x1b[?25l" in screen.said, shown
                assert not screen.is_restored()
                screen.resize(40, 8)
                deadline = time.monotonic() + 60 * SLOW
                while not (len(lines(screen.frame())) <= 8 and "q ends" in screen.frame() and max(map(len, lines(screen.frame()))) <= 40):
                    assert time.monotonic() < deadline, screen.frame()
                    screen.read()
                if how == "q":
                    screen.type("q")
                same((screen.end(None if how == "q" else how), screen.is_restored()), (0, True))
                assert "\x1b[?25h\x1b[?1049l" in screen.said, screen.said[-300:]
        with Terminal(w, "top", "-c", "v.lua", TERM="xterm", NO_COLOR="1") as screen:
            assert "\x1b[3" not in screen.until("q ends", frame=True)


@claim("a server that is gone makes the screen stale, which says since when; it goes on when the server is back")
def _(w):
    with Served(w) as server, Terminal(w, "top", "-c", "v.lua", TERM="xterm") as screen:
        first = screen.until(r"pid (\d+), up", frame=True)
        pid = re.search(r"pid (\d+)", plain(first))[1]
        server.kill()
        old = plain(screen.until(r"STALE: of 20\S+Z, [1-9]\d* s ago; tried again each second", frame=True))
        assert "pid " + pid in old and "orders" in old, old  # what was seen stays
        assert "\x1b[31mSTALE" in screen.frame()
        server.start()
        screen.until(r"(?s)^(?!.*STALE).*pid (?!%s\b)\d+, up.*q ends" % pid, frame=True)
        screen.type("q")
        same(screen.end(), 0)


@claim("a listener that is none, a wrong token, silence, junk and huge things end with a sentence, or are waited out")
def _(w):
    fails(w.run("top"), 2, "no admin listener is named: --admin ADDR, VESTA_ADMIN, or -c FILE")
    fails(w.run("top", "--admin", "unix:" + w.path("none")), 1, "none: cannot connect")
    fails(w.run("top", "--admin", "nonsense"), 2, "--admin has a wrong address: 'nonsense'")
    fails(w.run("top", "--admin", "unix:/x", "--token-file", w.path("none")), 1, "--token-file")
    fails(w.run("top", "x"), 2, "unexpected operand")
    with Served(w) as server:
        fails(w.run("top", "--admin", "unix:" + server.admin), 1, "the token is missing or wrong: --token-file, VESTA_ADMIN_TOKEN or -c")
        fails(w.run("top", "--admin", "unix:" + server.http), 1, "it is no admin listener of a server that streams: it answers HTTP/1.1 404")
        with Terminal(w, "top", "--admin", "unix:" + server.admin, TERM="xterm") as screen:
            same((screen.end(), screen.is_restored()), (1, True))
            assert "the token is missing or wrong" in screen.said
    asked = []
    deep = b'{"namespaces":' + b"[" * 100000 + b"]" * 100000 + b"}"
    for number, (answer, want) in enumerate((
            (b"", "closed the connection"), (b"SSH-2.0-x\r\n", "closed the connection"), (b"\r\n\r\n", "no admin listener"),
            (HEAD, "closed the connection"), (HEAD + b"data: {\n\n", None), (HEAD + b"data: " + deep + b"\n\n", None),
            (HEAD + b'data: {"pid":1,"namespaces":[{"name":"\\u001b[2J\x1b[2J","ids":{"x":99999999999999999999}},7,"x"],"requests":{"a":"b"}}\n\n', None),
            (HEAD + b'data: {"namespaces":[{"name":"unended\n\n', None), (HEAD + b"data: " + b"x" * (9 << 20), "longer than any"))):
        path = w.path("liar%d" % number)
        Liar(path, answer, keeps=want is None)
        asked.append((number, want, w.start("top", "--admin", "unix:" + path, stdout=-1, stderr=-1, text=True)))
    for number, want, program in asked:
        out, err = program.communicate(timeout=60 * SLOW)
        same((number, program.returncode, "\x1b" in out + err), (number, 1 if want else 0, False))
        assert (want or "") in err, (number, want, err)


main()
