"""policies.py -- effects of a policy on clients of `vesta serve` when the clock goes back, the policy fails, or it is
replaced.

The clock is changed while the server runs, but its uptime is not (see spec/program/cli/clock_shift.c). A policy runs on
its own thread, and a request waits 10 ms for its answer. Therefore these tests expect a result in one of the next
replies, not in each.
"""
import json
import os
import re
import resource
import select
import signal
import socket
import subprocess
import threading
import time

from serving import SLOW, VESTA, Server, claim, command, fails, get, main, same, set_clock, shifted, until_closed
from threads import of_threads

FOUR_A_MS = "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"
HELD_MAX = 4096  # The same value as VS_HELD_MAX.
SHORT = ("--wait-ms", "10")
PATIENT = ("--wait-ms", "5000")  # a request also waits for the answer of a policy on a loaded machine


class Judged(Server):
    """A server with an adjustable clock and a policy, given as text or as the name of a built-in one.  The threads of
    policies keep the priority of the others (see clock_shift.c), except with own_priority."""

    def __init__(self, world, policy, *flags, layout=FOUR_A_MS, own_priority=False, **more):
        self.policy = world.path("policy.lua") if "return" in policy else policy
        self.clock = world.path("clock")
        self.write(policy)
        self.step("+0")
        super().__init__(world, "--policy", self.policy, *SHORT, *flags, layout=layout, pacing="clock",
                         env=dict(shifted(self.clock), **({} if own_priority else {"KEEP_PRIORITY": "1"})), **more)

    def write(self, policy):
        if "return" in policy:
            with open(self.policy + ".new", "w") as file:
                file.write(policy)
            os.rename(self.policy + ".new", self.policy)

    def step(self, by):
        set_clock(self.clock, by)

    def stop_clock(self, behind_s):
        """Sets the clock back and stops it, so that it cannot catch up on a slow machine."""
        self.stands_at = int(time.time() - behind_s)
        self.step("=%d" % self.stands_at)

    def go_on(self, later_s):
        """Restarts the clock at that time after its stop. The true time would be a jump on a slow machine."""
        self.step("%+d" % (self.stands_at + later_s - time.time()))

    def curl(self):
        done = subprocess.run(["curl", "-s", "-w", "%{http_code} %header{retry-after}", "http://127.0.0.1:%d/genid" % self.http],
                              capture_output=True, text=True, timeout=30 * SLOW)
        return done.stdout

    def redis_cli(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.resp), *words], capture_output=True, text=True, timeout=30 * SLOW)
        return done.stdout.strip()

    def reload(self, policy, good=True):
        generation = self.metric("vesta_policy_generation")
        self.write(policy)
        self.process.send_signal(signal.SIGHUP)
        if good:
            soon(lambda: self.metric("vesta_policy_generation"), lambda now: now == generation + 1)
        soon(lambda: self.metric("vesta_config_last_reload_successful"), lambda successful: successful == good)
        same(self.metric("vesta_policy_generation"), generation + good)

    def metric(self, line):
        """Returns the value of the metric with that name and labels, or None while a change of worker id hides it."""
        found = re.search(r"(?m)^%s (\S+)$" % re.escape(line), self.get("/metrics").body)
        return float(found.group(1)) if found else None


def hold(server, socks):
    """Sends a request on each socket until it waits. Before the policy has answered, a request may be rejected."""
    poll, by_fd = select.poll(), {sock.fileno(): sock for sock in socks}
    for sock in socks:
        poll.register(sock, select.POLLIN)
        sock.sendall(command("GET", "default"))
    end_s = time.monotonic() + 60 * SLOW
    while server.metric("vesta_waiting_requests") < len(socks):
        assert time.monotonic() < end_s, "waited for %d to wait, and %d do" % (len(socks), server.metric("vesta_waiting_requests"))
        for fd, _ in poll.poll(20):
            assert by_fd[fd].recv(1000)
            by_fd[fd].sendall(command("GET", "default"))


def take(sock):
    """Returns the id of a waiting client, which on a slow machine may have been rejected before."""
    while True:
        reply = sock.recv(1000)
        # The disk write of a lease's renewal can delay the reply.
        if not reply.startswith((b"-TRYAGAIN ", b"-LOADING ")):
            return int(re.fullmatch(rb"\$\d+\r\n(\d+)\r\n", reply).group(1))
        sock.sendall(command("GET", "default"))


def soon(ask, holds):
    end_s = time.monotonic() + 60 * SLOW
    while True:
        answer = ask()
        if holds(answer):
            return answer
        assert time.monotonic() < end_s, answer
        time.sleep(0.005)


def refused(server):
    return soon(lambda: server.get("/genid"), lambda reply: reply.status == 503)


def judging(body, before=""):
    return "%s\nreturn { api = 1, on_clock_back = function(ctx)\n%s\nend }\n" % (before, body)


def real(body):
    """Returns a policy with this body for real steps of the clock, and a valid answer for the trial call with 5 ms."""
    return judging("if ctx.back_ms > 100 then %s end return 'refuse'" % body)


@claim("borrow: after the clock went back by 3 s, curl and redis-cli get increasing ids, then 'refuse' leads to 503 "
       "and -TRYAGAIN")
def _(world):
    with Judged(world, judging("if ctx.back_ms < 10000 then return 'borrow', 2 end return 'refuse', 'enough is enough'"), *PATIENT) as server:
        ids = [int(server.get("/genid").body)]
        server.stop_clock(3)
        # a request may be rejected after another one has used up the loan of eight ids
        ids.append(int(soon(lambda: server.redis_cli("GET", "default"), str.isdigit)))
        ids.append(int(soon(lambda: re.fullmatch(r"(\d+)\n?200 ", server.curl()), bool).group(1)))
        event = server.listen("a policy judged: borrow")
        assert "amount_ms=2" in event, event
        assert 1000 < int(re.search(r"back_ms=(\d+)", event).group(1)) < 10000, event
        server.stop_clock(20)
        for _ in range(200):
            reply = server.redis_cli("GET", "default")
            if not reply.isdigit():
                break
            ids.append(int(reply))
        assert reply.startswith("TRYAGAIN the clock is "), reply
        same(ids, sorted(set(ids)))
        soon(server.curl, lambda said: re.search(r"behind the latest time seen.*enough is enough.*503 2[0-2]$", said, re.S))
        assert 'reason="enough is enough"' in server.listen("a policy judged: refuse")
        server.go_on(21)
        assert int(soon(lambda: server.redis_cli("GET", "default"), str.isdigit)) > ids[-1]


@claim("on 'refuse', the replies, /readyz, the status, the metrics and the log name the policy and its reason")
def _(world):
    with Judged(world, judging("if ctx.back_ms > 100 then return 'refuse', 'it is night' end return 'wait'")) as server:
        int(server.get("/genid").body)
        server.stop_clock(3)
        wanted = "; policy %s refused: it is night" % server.policy
        soon(lambda: server.get("/genid").body, lambda body: body.startswith("the clock is ") and body.endswith(wanted + "\n"))
        soon(lambda: server.redis_cli("GET", "default"), lambda reply: reply.startswith("TRYAGAIN the clock is ") and reply.endswith(wanted))
        soon(lambda: server.get("/v1/ids").body, lambda body: wanted in (json.loads(body).get("detail") or ""))
        soon(lambda: server.get("/readyz").body, lambda body: wanted in body)
        event = server.listen("a policy judged: refuse")
        assert "level=warn" in event and 'reason="it is night"' in event, event
        assert server.metric('vesta_policy_decisions_total{hook="on_clock_back",decision="refuse"}') >= 1
        server.go_on(4)
        soon(lambda: server.get("/genid"), lambda reply: reply.status == 200)


@claim("the log of a reload names changed policies and their namespaces or that nothing changed, and the status shows "
       "the current policies")
def _(world):
    admin = "unix:" + world.path("admin")
    with Judged(world, judging("return 'refuse'"), "--admin", admin) as server:
        def in_force():
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(admin[5:])
                sock.sendall(get("/admin/status", "Connection: close"))
                return json.loads(until_closed(sock).partition(b"\r\n\r\n")[2])["namespaces"][0].get("policy")

        soon(in_force, lambda name: name == server.policy)
        server.reload(judging("return 'wait'"))
        event = server.listen("a changed policy was loaded")
        assert "namespace=default policy=%s shadow_policy=none" % server.policy in event, event
        assert "changed=1" in server.listen("reloaded: the new policies are in use")
        server.reload(judging("return 'wait'"))
        server.listen("reloaded: no policy has changed since")


@claim("with a policy that borrows, the server stays ready without requests, and stops being ready when the policy "
       "refuses")
def _(world):
    with Judged(world, judging("if ctx.back_ms < 60000 then return 'borrow' end return 'refuse'"), *PATIENT) as server:
        int(server.get("/genid").body)
        server.stop_clock(3)
        soon(lambda: server.redis_cli("GET", "default"), str.isdigit)
        for _ in range(3):
            time.sleep(1.2)  # The loan has expired, and no request has led to another one.
            same(server.get("/readyz").status, 200)
        server.stop_clock(90)
        soon(lambda: server.get("/readyz").status, lambda status: status == 503)


@claim("wait: any number of requests wait until the clock is right, and are then answered")
def _(world):
    with Judged(world, "wait") as server:
        last = int(server.get("/genid").body)
        server.stop_clock(3)
        socks = [server.connect(server.resp) for _ in range(40)]
        hold(server, socks)
        server.listen("a policy judged: wait")
        same(server.get("/healthz").status, 200)
        server.step("+0")
        ids = []
        for sock in socks:
            ids.append(take(sock))
            sock.close()
        same(len(set(ids)), 40)
        assert min(ids) > last


@claim("wait with a time: a request waits that long, and is then rejected")
def _(world):
    with Judged(world, judging("return 'wait', 300")) as server:
        server.get("/genid")
        server.step("-600")
        from_s = time.monotonic()
        refused(server)
        assert time.monotonic() - from_s >= 0.3


FAILING = (
    ("error", "error('no luck')", "policy.lua:3: no luck"),
    ("garbage", "return 'perhaps'", "on_clock_back returned 'perhaps'"),
    ("instructions", "while true do end", "ended after 10000000 instructions"),
    ("instructions", "while true do pcall(function() while true do end end) end", "ended after 10000000 instructions"),
    ("memory", "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", "ended"),
)


@claim("if a policy loops, takes too much memory, fails or returns nonsense, the fixed rules apply, and the log and "
       "metrics show the reason")
def _(world):
    for number, (result, body, error) in enumerate(FAILING):
        with Judged(world, real(body), "--namespace", "n%d" % number) as server:
            last = int(server.get("/genid").body)
            server.step("-600")
            soon(lambda: server.redis("GET", "n%d" % number), lambda reply: reply.startswith(b"-TRYAGAIN the clock is "))
            event = server.listen("a policy failed: the fixed rules hold")
            assert "namespace=n%d" % number in event and "hook=on_clock_back" in event and error in event, event
            assert "failure=%s " % result in event, event
            count = server.metric('vesta_policy_calls_total{hook="on_clock_back",result="%s"}' % result)
            same((count, server.metric("vesta_policy_stuck")), (1, 0))
            refused(server)
            assert "policy_stuck" not in server.get("/readyz").body
            server.step("+0")
            assert int(soon(lambda: server.get("/genid"), lambda reply: reply.status == 200).body) > last


@claim("a shadow policy that loops, takes too much memory or fails does not change replies, under load with a clock "
       "that went back")
def _(world):
    bodies = "while true do end", "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", "error 'boo'"
    for number, body in enumerate(bodies):
        name = "n%d" % number  # a generator that had the stopped clock would see a jump at the next start
        shadow = world.path("shadow.lua")
        with open(shadow, "w") as file:
            file.write(real(body))
        with Judged(world, judging("return 'borrow', 60000"), "--shadow-policy", shadow, "--namespace", name, *PATIENT) as server:
            server.stop_clock(3)
            soon(lambda: server.redis_cli("GET", name), str.isdigit)
            failed = 'vesta_policy_shadow_total{hook="on_clock_back",decision="%s",outcome="failed"}'
            soon(lambda: sum(server.metric(failed % how) for how in ("instructions", "memory", "error", "time")), lambda count: count >= 1)
            ids = [soon(lambda: server.redis_cli("GET", name), str.isdigit) for _ in range(20)]
            same(len(set(ids)), 20)
            same(server.get("/readyz").status, 200)
            server.listen("a shadow policy failed")


@claim("the thread that runs policies has a lower priority than the others")
def _(world):
    with Judged(world, "wait", "--threads", "3", own_priority=True) as server:
        niceness = [int(stat.rpartition(")")[2].split()[16]) for stat in of_threads(server.process.pid, "stat")]
        least = min(niceness)
        assert len(niceness) >= 4 and sorted(niceness)[:-1] == [least] * (len(niceness) - 1) and max(niceness) >= min(least + 10, 19), niceness


@claim("a broken policy prevents the start, and the message names file and line")
def _(world):
    def start(policy):
        return world.run("serve", "--policy", policy, "--worker", "5", "--http", "off", "--resp", "unix:" + world.path("resp"))

    for source, parts in (("return {", ("policy.lua:",)), ("return { api = 1, on_clock_bakc = function() end }", ("on_clock_bakc", "on_clock_back")),
                          (judging("return 'perhaps'"), ("--policy cannot be used", "on_clock_back fails when it is tried with a clock that is 5 ms back (garbage)")),
                          (judging("while true do end"), ("fails when it is tried",))):
        with open(world.path("policy.lua"), "w") as file:
            file.write(source)
        fails(start(world.path("policy.lua")), 2, *parts)
    fails(start("wiat"), 2, "there is no policy 'wiat'", "wait")
    fails(start(world.path("none.lua")), 2, "none.lua")


class Load:
    def __init__(self, server, clients=4):
        self.server, self.ending = server, False
        self.ids, self.odd = [[] for _ in range(clients)], []
        self.threads = [threading.Thread(target=self.run, args=(ids,)) for ids in self.ids]

    def run(self, out):
        batch = command("GET", "default") * 50
        with self.server.connect(self.server.resp) as sock:
            stream = sock.makefile("rb")
            while not self.ending:
                sock.sendall(batch)
                for _ in range(50):
                    head = stream.readline()
                    if head.startswith(b"$"):
                        out.append(int(stream.readline()))
                    else:
                        self.odd.append(head)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self.ending = True
        for thread in self.threads:
            thread.join()

    def count(self):
        """Returns the number of ids, after checking that no request was rejected and no id duplicated."""
        same(self.odd[:3], [])
        ids = sorted(id for ids in self.ids for id in ids)
        same(sum(a == b for a, b in zip(ids, ids[1:])), 0)
        return len(ids)


@claim("SIGHUP with a broken and then a valid policy under load rejects no request and duplicates no id, and the log "
       "shows which policy applies")
def _(world):
    with Judged(world, judging("return 'refuse'"), "--threads", "2", layout="vesta-milli") as server:
        with Load(server) as load:
            for _ in range(3):
                server.reload("return {", good=False)
                server.reload(judging("return 'wait'"))
        assert load.count() > 1000
        event = server.listen("reload failed: the old policies stay in use")
        assert "policy.lua:" in event, event
        failures = 1
        # Repeated failures within a second are counted, in a separate line or in that of the next failure.
        while failures < 3:
            event = server.listen("reload failed: the old policies stay in use")
            failures += int((re.findall(r"repeated=(\d+)", event) or [0])[0]) + ("error=" in event)
        server.step("-600")
        with server.connect(server.resp) as sock:
            hold(server, [sock])
            server.step("+0")
            assert take(sock) > 0


@claim("after SIGHUP the new policy decides about new requests, and waiting ones keep the old decision")
def _(world):
    with Judged(world, judging("return 'wait'")) as server:
        server.get("/genid")
        server.step("-600")
        for _ in range(50):  # until the request waits because of the policy's answer, not for its answer
            server.reload(judging("return 'wait'"))
            with server.connect(server.resp) as held:
                hold(server, [held])
                server.listen("a policy judged: wait")
                server.reload(judging("return 'refuse'"))
                refused(server)
                if not select.select([held], [], [], 0)[0]:
                    break
        else:
            raise AssertionError("the new policy judges those who wait")


@claim("a paused namespace delays no other, whatever its policy answers")
def _(world):
    with open(world.path("vesta.lua"), "w") as file:
        file.write("""return { namespaces = {
  slow = { layout = "sign:1 time:32 seq:1 worker:30 unit=1s epoch=2020-01-01T00:00:00Z", worker = 1, policy = { "wait", wait_ms_max = 60000 } },
  fast = { layout = "vesta-milli", worker = 2, policy = "refuse" } } }""")
    server = Server(world)
    server.args = [VESTA, "serve", "-c", world.path("vesta.lua"), *server.args[2:6]]
    with server:
        socks = [server.connect(server.resp) for _ in range(12)]
        for sock in socks:  # Two ids per second, plus one that may be borrowed.
            sock.sendall(command("GET", "slow"))
        served = 0
        while not select.select(socks[-1:], [], [], 0)[0]:
            for port, say in ((server.resp, command("GET", "fast")), (server.http, get("/v1/ids?n=3&ns=fast", "Connection: close"))):
                assert re.match(rb"\$|HTTP/1.1 200 ", server.say(port, say))
            served += 1
        assert served >= 5, "the others were served behind those who waited"
        assert server.redis("MGET", "fast", "fast").startswith(b"*2\r\n")
        same(len({take(sock) for sock in socks}), 12)
        for sock in socks:
            sock.close()


@claim("SIGTERM answers all waiting requests")
def _(world):
    with Judged(world, judging("return 'wait'"), "--threads", "2") as server:
        server.get("/genid")
        server.step("-600")
        socks = [server.connect(server.resp) for _ in range(50)]
        hold(server, socks)
        server.process.send_signal(signal.SIGTERM)
        for sock in socks:
            assert re.match(rb"-TRYAGAIN the clock is |\$", until_closed(sock))
            sock.close()
        same(server.process.wait(15 * SLOW), 0)


@claim("a waiting client that disconnects leaves nothing behind, and others are served")
def _(world):
    with Judged(world, judging("return 'wait'")) as server:
        server.get("/genid")
        server.step("-600")
        socks = [server.connect(server.resp) for _ in range(20)]
        hold(server, socks)
        for sock in socks:
            # With SO_LINGER 0, closing resets the connection.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
        for _ in range(1000):
            if server.metric("vesta_waiting_requests") == 0:
                break
            time.sleep(0.02)
        same(server.metric("vesta_waiting_requests"), 0)
        server.step("+0")
        soon(lambda: server.get("/genid"), lambda reply: reply.status == 200)


@claim("switch: the server issues ids of another worker id at once, and a second switch within a minute is rejected")
def _(world):
    store, switching = "file:" + world.path("store"), judging("if ctx.back_ms > 10 then return 'switch' end return 'refuse'")
    server = Judged(world, switching, "--threads", "2", "--wait-ms", "1000", layout="vesta-milli")
    at = server.args.index("--worker")
    server.args[at:at + 2] = ["--store", store]
    with server:
        number = 'vesta_worker_id{namespace="default"}'
        first = server.metric(number)
        with Load(server) as load:
            soon(lambda: sum(map(len, load.ids)), lambda count: count > 1000)
            server.step("-600")
            server.listen("a policy judged: switch")
            soon(lambda: server.metric(number), lambda worker: worker not in (first, None))
            given = sum(map(len, load.ids))
            soon(lambda: sum(map(len, load.ids)), lambda count: count > given + 1000)
        assert load.count() > 2000
        second = server.metric(number)
        held = {row["worker"]: row["state"] for row in json.loads(world.run("workers", "--store", store, "--json").out)["workers"]}
        same((held[first], held[second] != "free"), ("free", True))  # A clock that is right shows the lease as expired.
        server.step("-1200")
        refused(server)
        same(server.metric(number), second)


@claim("the number of waiting requests is limited, and others are rejected at once")
def _(world):
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[1], limit[1]))
    with Judged(world, judging("return 'wait'"), "--address-connections", str(HELD_MAX + 100), *PATIENT) as server:
        server.get("/genid")
        server.step("-600")
        socks = [server.connect(server.resp) for _ in range(HELD_MAX)]
        hold(server, socks)
        refused(server)
        server.step("+0")
        ids = set()
        for sock in socks:
            ids.add(take(sock))
            sock.close()
        same(len(ids), HELD_MAX)


main()
