"""top.py -- `vesta top` on real servers in a terminal, and on hostile listeners."""
import contextlib
import itertools
import json
import os
import random
import re
import signal
import socket
import termios
import threading
import time

from glass import Glass
from harness import SLOW, claim, fails, main, same
from terminal import Terminal, plain

CONFIG = """return { stores = { db = { uri = "sqlite:%s" } }, segments = { { store = "db", tags = "*" } }, namespaces = { orders = { layout = "snowflake", worker = 3, policy = "borrow" }, web = { layout = "vesta-second", worker = 7, store = "db", shadow_policy = "borrow" } },
  http = { listen = "unix:%s" }, resp = { listen = "off" }, admin = { listen = { "unix:%s" }, token = "s3cret" } }"""


class Served:
    def __init__(self, w):
        self.world, self.http, self.admin = w, w.path("h"), w.path("a")
        with open(w.path("v.lua"), "w") as file:
            file.write(CONFIG % (w.path("db"), self.http, self.admin))
        same(w.run("segments", "add", "invoices", "--store", "sqlite:" + w.path("db")).code, 0)
        self.start()

    def start(self):
        self.program = self.world.start("serve", "-c", "v.lua", stderr=-1, text=True)
        self.until("msg=ready")

    def until(self, text):
        while text not in self.program.stderr.readline():
            assert self.program.poll() is None, text

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
    """A listener that sends bytes to each connection, optionally depending on the request, then keeps or closes it."""

    def __init__(self, path, answer, keeps=False):
        super().__init__(daemon=True)
        self.answer, self.keeps, self.kept, self.asked = answer, keeps, [], []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        self.start()

    def run(self):
        while True:
            try:
                taken = self.socket.accept()[0]
                self.asked.append(taken.recv(65536).split(b" ")[1])
                answer = self.answer(self.asked[-1]) if callable(self.answer) else self.answer
                taken.sendall(answer)
            except (OSError, IndexError):
                continue
            self.kept.append(taken)
            if not self.keeps:
                taken.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


def lines(frame):
    return [line for line in plain(frame).split("\n") if line]


@claim("without a terminal, top prints ids, capacity, latency, rejections, leases and events, and --json prints the "
       "event")
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
        row = re.search(r"(?m)^orders +([\d,.]+) +4\.1M .* 3 +<0:10 +5\d\.\d y ready$", done.out)
        assert row and int(row[1].replace(",", "").split(".")[0]) > 0, done.out
        assert re.search(r"(?m)^web +0 +1\.0M .* 7 +<0:10 +\d\d\.\d y ready$", done.out), done.out
        assert re.search(r"(?m)^rejected +(.*, )?unknown_name [\d.,]+/s of [\d,]+(,|$)", done.out) and re.search(r"(?m)^policies +generation 1$", done.out), done.out
        assert re.match("vesta top  %s  unix:" % re.escape(socket.gethostname()), done.out), done.out
        assert re.search(r"(?m)^latency +99 % within [\d.]+ (us|ms), half within [\d.]+ (us|ms)$", done.out), done.out
        assert re.search(r"(?m)^\d\d:\d\d:\d\d +web: worker id 7 is leased$", done.out), done.out
        assert "\x1b" not in done.out
        got = w.run("top", "-c", "v.lua", "--json")
        same((got.code, [ns["name"] for ns in json.loads(got.out)["namespaces"]]), (0, ["orders", "web"]))
        same(len(got.lines()), 1)
        with open(w.path("token"), "w") as file:
            file.write("s3cret\n")
        for words, env in ((["--admin", "unix:" + server.admin, "--token-file", "token"], {}),
                           (["--once"], {"VESTA_ADMIN": "unix:" + server.admin, "VESTA_ADMIN_TOKEN": "s3cret"}), ([], {"VESTA_CONFIG": "v.lua"})):
            same((words, w.run("top", *words, "--json", env=env).code), (words, 0))


@claim("top fits 80x24 and any resized terminal, and q and Ctrl-C end it and restore the terminal")
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


@claim("top restores the terminal on each signal that ends or stops it, and continues after SIGCONT")
def _(w):
    with Served(w):
        crash = (signal.SIGSEGV,) if SLOW == 1 else () # A sanitizer handles SIGSEGV itself.
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT, *crash, signal.SIGUSR1, signal.SIGALRM):
            with Terminal(w, "top", "-c", "v.lua", TERM="xterm") as screen:
                screen.until("q ends", frame=True)
                assert not screen.is_restored()
                same((number, screen.end(number), screen.is_restored()), (number, 0 if number == signal.SIGHUP else -number, True))
                assert "\x1b[?25h\x1b[?1049l" in screen.said, screen.said[-300:]
        with Terminal(w, "top", "-c", "v.lua", TERM="xterm", can_stop=True) as screen:
            for number in (signal.SIGTSTP, signal.SIGTSTP, signal.SIGSTOP):
                screen.until("q ends", frame=True)
                screen.program.send_signal(number)
                os.waitid(os.P_PID, screen.program.pid, os.WSTOPPED | os.WNOWAIT)
                screen.read()
                if number == signal.SIGTSTP:
                    assert screen.is_restored() and screen.said.rstrip().endswith("\x1b[K"), screen.said[-300:]
                else:
                    # A shell restores the terminal's mode like this.
                    termios.tcsetattr(screen.theirs, termios.TCSANOW, screen.before)
                screen.said = ""
                screen.program.send_signal(signal.SIGCONT)
                screen.until("q ends", frame=True)
                assert "\x1b[?1049h" in screen.said and not screen.is_restored(), screen.said[:300]
            screen.type("q")
            same((screen.end(), screen.is_restored()), (0, True))


@claim("if the server is gone, the screen is marked stale with its age, and it continues when the server is back")
def _(w):
    with Served(w) as server, Terminal(w, "top", "-c", "v.lua", TERM="xterm") as screen:
        first = screen.until(r"pid (\d+), up", frame=True)
        pid = re.search(r"pid (\d+)", plain(first))[1]
        screen.type("3")
        screen.until("orders: 1 held", frame=True)
        server.program.send_signal(signal.SIGSTOP)  # so that a request is under way when the server dies
        screen.until(r"STALE: .*\n +the server sends nothing", frame=True)
        server.kill()
        screen.until(r"STALE: .*\n.*: cannot", frame=True)
        screen.said = ""
        assert len(re.findall(r"\x1b\[H", screen.until(r"(?s)(STALE.*){3}"))) < 20, "it draws without news"
        screen.type("1")
        old = plain(screen.until(r"STALE: the state of 20\S+Z, [1-9]\d* s old. Retrying each second", frame=True))
        assert "pid " + pid in old and "orders" in old, old
        assert "\x1b[31mSTALE" in screen.frame()
        server.start()
        screen.until(r"(?s)^(?!.*STALE).*pid (?!%s\b)\d+, up.*q ends" % pid, frame=True)
        screen.type("q")
        same(screen.end(), 0)


@claim("top reports or waits out a missing listener, a wrong token, silence, invalid and huge replies")
def _(w):
    fails(w.run("top"), 2, "no admin listener is named: --admin ADDR, VESTA_ADMIN, or -c FILE")
    fails(w.run("top", "--admin", "unix:" + w.path("none")), 1, "none: cannot connect")
    fails(w.run("top", "--admin", "nonsense"), 2, "--admin has a wrong address: 'nonsense'")
    fails(w.run("top", "--admin", "unix:/x", "--token-file", w.path("none")), 1, "--token-file")
    fails(w.run("top", "x"), 2, "unexpected operand")
    with Served(w) as server:
        fails(w.run("top", "--admin", "unix:" + server.admin), 1, "the token is missing or wrong: use --token-file, VESTA_ADMIN_TOKEN or -c")
        fails(w.run("top", "--admin", "unix:" + server.http), 1, "this is not the admin listener of a vesta server: it answered HTTP/1.1 404")
        with Terminal(w, "top", "--admin", "unix:" + server.admin, TERM="xterm") as screen:
            same((screen.end(), screen.is_restored()), (1, True))
            assert "the token is missing or wrong" in screen.said
    asked = []
    deep = b'{"namespaces":' + b"[" * 100000 + b"]" * 100000 + b"}"
    for number, (answer, want) in enumerate((
            (b"", "closed the connection"), (b"SSH-2.0-x\r\n", "closed the connection"), (b"\r\n\r\n", "not the admin listener"),
            (HEAD, "closed the connection"), (HEAD + b"data: {\n\n", None), (HEAD + b"data: " + deep + b"\n\n", None),
            (HEAD + b'data: {"pid":1,"namespaces":[{"name":"\\u001b[2J\x1b[2J","ids":{"x":99999999999999999999}},7,"x"],"requests":{"a":"b"}}\n\n', None),
            (HEAD + b'data: {"namespaces":[{"name":"unended\n\n', None), (HEAD + b"data: " + b"x" * (9 << 20), "longer than a vesta server sends"))):
        path = w.path("liar%d" % number)
        Liar(path, answer, keeps=want is None)
        asked.append((number, want, w.start("top", "--admin", "unix:" + path, stdout=-1, stderr=-1, text=True)))
    for number, want, program in asked:
        out, err = program.communicate(timeout=60 * SLOW)
        same((number, program.returncode, "\x1b" in out + err), (number, 1 if want else 0, False))
        assert (want or "") in err, (number, want, err)


def glass_of(screen):
    """Returns the contents of the terminal, after checking that no line was too wide and no code unknown."""
    glass = Glass().feed(screen.said)
    same(glass.faults, [])
    return glass.lines()


def turn(screen, keys, pattern):
    """Sends the keys, waits until the view matches the pattern, and returns it."""
    screen.type(keys)
    return plain(screen.until(r"(?s)%s.*(q ends|y: yes)" % pattern, frame=True))


@claim("keys select the views, and actions ask for confirmation")
def _(w):
    with Served(w) as server, Terminal(w, "top", "-c", "v.lua", TERM="xterm") as screen:
        server.get("/v1/ids?ns=invoices&n=5")
        server.get("/v1/ids?ns=web&n=3")
        screen.until(r"\[1 overview\].*\n(.*\n)*.*q ends", frame=True)
        turn(screen, "2", r"\[2 namespaces\].*orders: ready.*layout ends +in 5\d years, at.*web: ready")
        assert re.search(r"shadow policy +borrow: agreed \d+, differed 0, failed 0", turn(screen, "\x1b[6~", "shadow policy")), screen.frame()
        turn(screen, "\t", r"\[3 workers\].*orders: 1 held, 0 expired, 0 free\. Read .* 3  held +\d:\d\d +\S+ s  ")
        turn(screen, "n", r"web: 1 held.*\n +7  held +\d:\d\d +[+-]0\.\d{3} s")
        turn(screen, "\x1b[C", r"\[4 segments\].*\ninvoices +trend +5 +995 +[01,]+ +\d+ +\d+\n")
        turn(screen, "5", r"\[5 policies\].*generation +1\n.*stuck +no\n.*REPLIES.*ok +[\d.]+ +\d+\n")
        turn(screen, "6", r"\[6 hour\].*namespace web\nids per second: (now|no data).*rejected requests per second")
        turn(screen, "n", "all namespaces and tags")
        turn(screen, "\x1b[Z", r"\[5 policies\]")
        turn(screen, "?", r"KEYS.*reload policies")
        same([len(line) <= 80 for line in glass_of(screen)], [True] * 24)
        turn(screen, " ", r"\[5 policies\]")
        turn(screen, "d", "STOP the server[?]")
        screen.type("x")
        screen.until(r"REPLIES(?s:.*)q ends", frame=True)
        turn(screen, "r", "Reload policies and tag tables[?]")
        screen.type("y")
        screen.until("the server reloads", frame=True)
        server.until("admin: reload requested")
        turn(screen, "d", "STOP the server[?]")
        screen.type("y")
        screen.until("the server drains|STALE", frame=True)
        same(server.program.wait(60 * SLOW), 0)
        screen.until("STALE", frame=True)
        glass_of(screen)
        screen.type("q")
        same(screen.end(), 0)


@claim("without a terminal, --view prints one view with every namespace and tag, and --json prints the server's own "
       "JSON")
def _(w):
    with Served(w) as server:
        server.get("/v1/ids?ns=invoices&n=5")
        views = dict((("namespaces", r"(?s)orders: ready.*\n  clock +steady.*web: ready.*shadow policy +borrow"),
                      ("workers", r"(?s)orders: 1 held.*\n +3  held.*\nweb: 1 held.*\n +7  held +\d:\d\d +[+-]0.\d{3} s"),
                      ("segments", r"(?m)^invoices +trend +5 +995 "), ("policies", r"(?m)^  generation +1$"), ("hour", "rejected requests per second")))
        for view, code, out, err in together(w, [(view, ["-c", "v.lua", "--view", view]) for view in views]):
            assert (code, err) == (0, "") and re.search(views[view], out) and "\x1b" not in out, (view, out, err)
        said = [json.loads(line) for line in w.run("top", "-c", "v.lua", "--view", "workers", "--json").lines()]
        same([(one["namespace"], one["held"]) for one in said], [("orders", 1), ("web", 1)])
        (said,) = map(json.loads, w.run("top", "-c", "v.lua", "--view", "segments", "--json").lines())
        same([tag["given"] for tag in said["segments"]], ["5"])


def together(w, asked):
    """Runs all calls, each (name, arguments), at once."""
    started = [(what, w.start("top", *words, stdout=-1, stderr=-1, text=True)) for what, words in asked]
    for what, program in started:
        out, err = program.communicate(timeout=60 * SLOW)
        yield what, program.returncode, out, err


def answer(status, body):
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


NOT_FOUND = answer("404 Not Found", b'{"code":"not_found","detail":"no such path"}')
STATUS = b'{"version":"0.0.9","pid":%d,"unix_ms":1795432359195,"uptime_s":9,"namespaces":[{"name":"old","ready":true,"ids":{"http":7}}]}'


@claim("a server without a stream is polled each second, and a missing route of an older server affects only its view")
def _(w):
    has_workers = threading.Event()

    def older(path):
        if path == b"/admin/status":
            return answer("200 OK", STATUS % 5)
        held = b'{"namespace":"old","read_unix_ms":1795432359195,"held":0,"expired":0,"free":9,"workers":[]}\n'
        return answer("200 OK", held) if path == b"/admin/workers?ns=old" and has_workers.is_set() else NOT_FOUND
    liar = Liar(w.path("old"), older)
    with Terminal(w, "top", "--admin", "unix:" + w.path("old"), TERM="xterm") as screen:
        turn(screen, "", r"0\.0\.9 pid 5.*the server offers no event stream.*\nold .* ready")
        turn(screen, "4", "no data +the server does not report this: it is older than this program")
        turn(screen, "3", "no data +the server does not report this")
        assert "STALE" not in plain(screen.frame())
        has_workers.set()
        turn(screen, "", r"old: 0 held, 0 expired, 9 free")
        glass_of(screen)
    # top requests only what the view shows, at most once a second per route, whether or not a request succeeds.
    same(set(liar.asked), {b"/admin/events", b"/admin/status", b"/v1/segments", b"/admin/workers?ns=old"})
    fails(w.run("top", "--admin", "unix:" + w.path("old"), "--view", "segments", "--json"), 1, "older than this program")


@claim("after an empty event or a truncated reply, the last state remains on the screen")
def _(w):
    old, new = answer("200 OK", STATUS % 7), answer("200 OK", STATUS % 8)
    head = old.index(b"{")
    events = itertools.chain((HEAD + b"data: " + STATUS % 7 + b"\n\n", HEAD + b"data: \n\n"), itertools.repeat(NOT_FOUND))
    states = itertools.chain((old[:head], old[:head + 30]), itertools.repeat(new))
    liar = Liar(w.path("cuts"), lambda path: next(events if path == b"/admin/events" else states))
    with Terminal(w, "top", "--admin", "unix:" + w.path("cuts"), "--view", "namespaces", TERM="xterm") as screen:
        screen.until(r"pid 8(.*\n)+.*old: ready(.*\n)+.*q ends", frame=True)
        frames = [plain(frame) for frame in screen.said.split("\x1b[H")[1:-1]]
        seen = [i for i, frame in enumerate(frames) if "old: ready" in frame]
        same(seen, list(range(seen[0], len(frames))))
    same(liar.asked[:6], [b"/admin/events"] * 3 + [b"/admin/status"] * 3)


@claim("the first view lists a namespace without ids first, and shows why a lease is not renewed")
def _(w):
    event = b'{"version":"1","pid":1,"unix_ms":1795432359195,"namespaces":[{"name":"orders","ready":true,"keeper":"no majority","holds_lease":true,' \
            b'"worker":3,"lease_end_ms":1795432389195,"layout_end_ms":1895432359195},{"name":"zinc","ready":false,"why":"lease"}]}'
    Liar(w.path("k"), HEAD + (b"data: " + event + b"\n\n") * 2)
    done = w.run("top", "--admin", "unix:" + w.path("k"))
    assert re.search(r"(?m)^zinc .* lease\norders .* 0:30 .* ready\n  not renewed +no majority$", done.out), done


@claim("no text of a server can control the terminal: escapes, direction marks and broken UTF-8 in names, and wrong "
       "types")
def _(w):
    evil = rb'\u001b[2J' + "\x1b]0;x\x07\u009b2J\u202eabc\u200b".encode() + b"\xff\xc3" + rb"\ud800\n\t\u0000" + b"\xe2\x82"
    event = b'{"version":"E","pid":1,"unix_ms":9223372036854775806,"uptime_s":-9223372036854775807,"draining":true,"requests":{"E":7,"ok":3},' \
            b'"policies":{"generation":1,"calls":{"E":{"E":3}},"last_error":"E","last_error_unix_ms":-9223372036854775807},"namespaces":[' \
            b'{"name":"E","why":"E","detail":"E","keeper":"k","warning":"E","pauses":{"E":4},"clock_drift_ms":-9223372036854775807,"layout":"E",' \
            b'"layout_end_ms":9223372036854775807,"shadow":{"policy":"E","last_unix_ms":1,"hook":"E","said":"E","done":"E","why":"E","differed":1}}]}'
    said = {b"/admin/status": event,
            b"/admin/workers": b'{"namespace":"E","held":1,"error":"E","read_unix_ms":-9223372036854775807,"more":2,"workers":'
                               b'[{"worker":"E","state":"E","end_ms":9223372036854775,"clock_ms":1},{"worker":"E","state":"E","left_ms":922337203685477580,"clock_ms":-9223372036854775807,"holder":"E","identity":"E"},7,[]]}',
            b"/v1/segments": b'{"segments":[{"tag":"E","order":"E","given":"E","left":-5,"warning":"E","databases":[{"store":"E","trouble":"E"}]}],'
                             b'"unread":1,"unread_why":"E","next":"E"}',
            b"/admin/history": b'{"step_ms":-1,"ids":[null,9223372036854775806,-7,"E",{}],"refused":[' + b"1," * 5000 + b"]}"}

    asked = Liar(w.path("evil"), lambda path: answer("200 OK", said[path.split(b"?")[0]].replace(b"E", evil)) if b"events" not in path else NOT_FOUND)
    views = ("overview", "namespaces", "workers", "segments", "policies", "hour")
    for view, code, out, _ in together(w, [(view, ["--admin", "unix:" + w.path("evil"), "--view", view]) for view in views]):
        assert code == 0 and not re.search(r"[^\n -~\u00a1-\u2027\u2500-\u259f]", out) and "?[2J" in out, (view, ascii(out))
    with Terminal(w, "top", "--admin", "unix:" + w.path("evil"), TERM="xterm") as screen:
        for number in "123456":
            turn(screen, number, r"\[%s (?!.*waiting for the server)" % number)
        turn(screen, "4", r"more tags follow")
        turn(screen, "n", r"tags after \?\[2J")
        glass_of(screen)
    same([path for path in asked.asked if re.search(rb"[^!-~]", path)], [])
    wants = {b'{"segments":': ("no tags", 0), b"": ("whole", 1), b"x" * (9 << 20): ("longer than a vesta server sends", 1)}
    for body in wants:
        Liar(w.path("cut%d" % len(body)), lambda path, body=body: NOT_FOUND if path == b"/admin/events" else
             answer("200 OK", STATUS % 6) if path == b"/admin/status" else
             answer("200 OK", body) if body else b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{}")
    for body, code, out, err in together(w, [(body, ["--admin", "unix:" + w.path("cut%d" % len(body)), "--view", "segments"]) for body in wants]):
        assert wants[body][0] in out and code == wants[body][1], (wants[body], out, err)


@claim("--json prints an answer of any length completely")
def _(w):
    event = b'{"pid":1,"namespaces":[%s]}' % b",".join(b'{"name":"space%d","ready":true}' % number for number in range(2000))
    Liar(w.path("long"), HEAD + b"data: " + event + b"\n\n", keeps=True)
    done = w.run("top", "--admin", "unix:" + w.path("long"), "--json")
    same((done.code, done.err, done.out), (0, "", event.decode() + "\n"))


class Mangler(Liar):
    """Streams events that are truncated or altered, and ends with a valid event of another server."""

    def run(self):
        chance, left = random.Random(7), 400
        while True:
            taken = self.socket.accept()[0]
            # On a busy machine, top reconnects in the meantime and receives the rest.
            with contextlib.suppress(OSError):
                taken.recv(65536)
                taken.sendall(HEAD)
                while left:
                    left -= 1
                    taken.sendall(b"data: %s\n\n" % self.mangled(chance))
                    time.sleep(0.01)
                taken.sendall(b"data: " + STATUS % 4711 + b"\n\n")
                self.kept.append(taken)

    def mangled(self, chance):
        event = bytearray(self.answer)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(event))
            event[at:at + chance.randrange(3)] = chance.choice((b"", b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b"-", b"9", b"\xff", b"\\u12"))
        if chance.randrange(2):
            del event[chance.randrange(len(event)):]
        return event


@claim("a truncated or altered event ends no view, and the next valid one is shown")
def _(w):
    event = b'{"version":"1","pid":1,"unix_ms":1795432359195,"uptime_s":9,"connections":1,"waiting":0,"draining":false,' \
            b'"requests":{"ok":3,"unknown_name":7},"other_namespaces":{"count":2,"unready":1,"ids":3,"refused":4},"policies":{"generation":1,' \
            b'"stuck":false,"reload_ok":true,"reload_unix_ms":1795432359195,"calls":{"wait":{"yes":3}},"last_error":"e","last_error_unix_ms":5},' \
            b'"namespaces":[{"name":"orders","ready":false,"why":"lease","detail":"\\u00e9\\n","keeper":"k","warning":"w","holds_lease":true,"worker":3,' \
            b'"lease_end_ms":1795432389195,"layout_end_ms":1895432359195,"clock_drift_ms":-2000,"ids":{"http":7,"resp":8},"refused":1,' \
            b'"pauses":{"full":1,"lease":2},"shadow":{"policy":"p","agreed":1,"differed":2,"last_unix_ms":7,"hook":"h","said":"s"}}]}'
    screens = []
    for view in ("overview", "namespaces", "policies"):
        Mangler(w.path(view), event)
        screens.append(Terminal(w, "top", "--admin", "unix:" + w.path(view), "--view", view, TERM="xterm"))
    for screen in screens:
        with screen:
            screen.until("pid 4711(?s:.*)q ends", frame=True)
            screen.type("q")
            same((screen.end(), screen.is_restored()), (0, True))


main()
