"""choosing.py -- policies that decide about worker ids in `vesta serve`. The stores are real: a folder, SQLite,
ZooKeeper."""
import os
import re
import signal
import sqlite3
import subprocess
import time

from serving import SLOW, Server, World, claim, main, same

from servers import ZooKeeper

LAYOUT = "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"

# Chooses the lowest of a few worker ids that no other process holds.
LOWEST = """
  local held, first, last = {}, 7, 8
  for _, r in ipairs(ctx.records) do held[r.worker] = r.held and not r.expired and r.identity ~= ctx.identity end
  for worker = first, last do if not held[worker] then return worker end end
  return nil, "the numbers " .. first .. " to " .. last .. " are held" """

AT_WORK = "if ctx.identity ~= 'host-0' then %s end return 3"  # but not during the trial calls before the start

WHAT_IT_KNOWS = """
  local r = ctx.records[1]
  return 500, table.concat({ ctx.namespace, ctx.range.first, ctx.range.last, ctx.attempt, #ctx.records, ctx.host,
    tostring(ctx.ordinal), ip4(ctx.ip or "") and "IPv4" or tostring(ctx.ip), ctx.identity,
    tostring(ctx.random >= 0 and ctx.random < 4294967296), r and r.worker .. "," .. r.epoch .. "," .. tostring(r.held) or "",
    r and math.abs(r.until_ms - ctx.now_ms) < 200000 and math.abs(r.written_ms - ctx.now_ms) < 60000
    and math.abs(r.seen_ms - ctx.now_ms) < 60000 and "now" or "" }, "|") """


def policy(world, name="policy", **functions):
    """Writes a policy with these function bodies, for example choose_worker="return 7"."""
    path = world.path(name + ".lua")
    with open(path, "w") as file:
        file.write("return { api = 1, %s }\n" % ", ".join("%s = function(ctx) %s end" % pair for pair in functions.items()))
    return path


class Chooser(Server):
    def __init__(self, world, policy, store, *flags, name="a", more=()):
        super().__init__(world, *flags, layout=LAYOUT, pacing="clock")
        at = self.args.index("--worker")
        self.args[at:at + 2] = ["--policy", policy, "--store", store, "--path", world.path(name + ".gen"), *more]

    def metric(self, line):
        return float(re.search(r"(?m)^%s (\S+)$" % re.escape(line), self.get("/metrics").body).group(1))

    def worker(self):
        return int(self.metric('vesta_worker_id{namespace="default"}'))

    def calls(self, hook, result="ok"):
        return int(self.metric('vesta_policy_calls_total{hook="%s",result="%s"}' % (hook, result)))

    def id(self):
        return int(self.get("/genid").body)


def soon(ask, holds):
    for _ in range(3000 * SLOW):
        answer = ask()
        if holds(answer):
            return answer
        time.sleep(0.01)
    raise AssertionError(answer)


def sqlite_of(world):
    return "sqlite:" + world.path("vesta.db")


def stores(world):
    yield "file:" + world.path("store")
    yield sqlite_of(world)


def made(world, store):
    """Creates the namespace, because processes do not create it in a shared store."""
    same(world.run("store", "init", "--store", store, "--namespace", "default", "--layout", LAYOUT).code, 0)
    return store


def leases(world):
    with sqlite3.connect(world.path("vesta.db")) as database:
        return database.execute("SELECT count(*) FROM vesta_lease").fetchone()[0]


def refused_start(server, code=1):
    """Runs a server that must fail to start, and returns its stderr."""
    done = subprocess.run(server.args, cwd=server.world.folder, env=server.env, capture_output=True, text=True, timeout=60 * SLOW)
    same(done.returncode, code)
    return done.stderr


class Locked:
    def __init__(self, world):
        self.database = sqlite3.connect(world.path("vesta.db"), isolation_level=None, timeout=20)

    def __enter__(self):
        self.database.execute("BEGIN EXCLUSIVE")

    def __exit__(self, *_):
        self.database.close()


# ---------------------------------------------------------------- choice of a worker id

@claim("the choice of a shadow policy is only counted, both with and without a policy in force")
def _(world):
    shadow = policy(world, "shadow", choose_worker="return 99, 'mine'", on_start="return 'refuse', 'not today'")
    store = "file:" + world.path("store")
    for name, in_force in (("a", policy(world, choose_worker="return 7")), ("b", None)):
        server = Chooser(world, in_force or shadow, store, name=name, more=("--shadow-policy", shadow) if in_force else ())
        if not in_force:
            server.args[server.args.index("--policy")] = "--shadow-policy"
        with server:
            line = 'vesta_policy_shadow_total{hook="%s",decision="%s",outcome="%s"}'
            end_s = time.monotonic() + 60 * SLOW
            while server.metric(line % ("choose_worker", "worker", "differed")) + server.metric(line % ("on_start", "refuse", "differed"))\
                    + server.metric("vesta_policy_shadow_dropped_total") < 2:
                assert time.monotonic() < end_s, server.get("/metrics").body
                time.sleep(0.02)
            assert server.worker() != 99 and server.id()
            same(server.metric(line % ("choose_worker", "worker", "agreed")), 0.0)


@claim("on a folder and on SQLite, servers claim the worker ids that a policy chooses from the store's list")
def _(world):
    lowest = policy(world, choose_worker=LOWEST)
    for at, store in enumerate(stores(world)):
        with Chooser(world, lowest, store, name="a%d" % at) as a, Chooser(world, lowest, store, name="b%d" % at) as b:
            same((a.worker(), b.worker()), (7, 8))
            same(a.calls("choose_worker"), 1)
            assert "a policy chose a worker id" in a.said and "worker=7 attempt=1" in a.said, a.said
            assert "drawn at random" not in a.said, a.said
            assert a.id() != b.id()


@claim("on ZooKeeper, servers claim the worker ids that a policy chooses from the store's list")
def _(world):
    zoo = ZooKeeper().start().ready()
    try:
        store = made(world, "zk://me:secret@127.0.0.1:%d/vesta" % zoo.port)
        lowest = policy(world, choose_worker=LOWEST)
        with Chooser(world, lowest, store, name="a") as a, Chooser(world, lowest, store, name="b") as b:
            same((a.worker(), b.worker()), (7, 8))
            assert a.id() != b.id()
    finally:
        zoo.end()


@claim("a policy receives the store's records and the properties of the machine")
def _(world):
    telling = policy(world, choose_worker=WHAT_IT_KNOWS)
    with Chooser(world, policy(world, "first", choose_worker="return 3"), sqlite_of(world), name="first"):
        with Chooser(world, telling, sqlite_of(world)) as server:
            same(server.worker(), 500)
            reason = re.search(r'worker=500 .*reason="?([^"\n]*)', server.said).group(1).split("|")
    host = os.uname().nodename
    ordinal = re.search(r"-(\d{1,9})$", host.split(".")[0])
    same(reason[:7], ["default", "0", "1023", "1", "1", host, ordinal.group(1).lstrip("0") or "0" if ordinal else "nil"])
    assert reason[7] == "IPv4" or reason[7] == "nil" or ":" in reason[7], reason
    same(reason[8:], [world.path("a.gen"), "true", "3,1,true", "now"])


@claim("if a policy returns no worker id, the start waits, logs the reason, and continues when one is free")
def _(world):
    lowest, store = policy(world, choose_worker=LOWEST), sqlite_of(world)
    with Chooser(world, lowest, store, name="a") as a:
        with Chooser(world, lowest, store, name="b") as b:
            third = Chooser(world, lowest, store, name="c")
            process = subprocess.Popen(third.args, cwd=world.folder, env=third.env, stderr=subprocess.PIPE, text=True)
            said = ""
            while "waiting for a worker id" not in said:
                said = process.stderr.readline()
            assert "the numbers 7 to 8 are held" in said, said
            freed = b.worker()
        while "serving ids" not in said:
            said = process.stderr.readline()
        assert "worker=%d" % freed in said, said
        process.send_signal(signal.SIGTERM)
        same(process.wait(20 * SLOW), 0)
        process.stderr.close()
        same(a.worker(), 7)


@claim("if a policy fails or returns an invalid worker id, the default choice applies and is logged")
def _(world):
    for at, (body, result, part) in enumerate((
            ("error('I cannot')", "error", "I cannot"),
            ("return 1024", "garbage", "choose_worker returned 1024, but worker ids are 0 to 1023"),
            ("return -1", "garbage", "choose_worker returned -1"),
            ("return 'seven'", "garbage", "choose_worker returned 'seven'"),
            ("while true do end", "instructions", "ended after 10000000 instructions"),
            ("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end", "memory", "choose_worker"))):
        with Chooser(world, policy(world, choose_worker=AT_WORK % body), sqlite_of(world), name="n%d" % at) as server:
            assert 0 <= server.worker() < 1024
            event = server.heard("a policy failed: the fixed rules hold")
            assert part in event, event
            if result != "garbage":
                same(server.calls("choose_worker", result), 1)
            assert "drawn at random" in server.said, server.said


@claim("an assigned worker id is claimed without asking the policy, which can still refuse the start")
def _(world):
    asked = policy(world, choose_worker="return 9")
    server = Chooser(world, asked, "file:" + world.path("store"), more=["--worker", "4"])
    with server:
        same((server.worker(), server.calls("choose_worker")), (4, 0))
    refusing = policy(world, on_start="return 'refuse', 'not on ' .. ctx.namespace")
    said = refused_start(Chooser(world, refusing, "file:" + world.path("store2"), name="b", more=["--worker", "4"]))
    assert "default: the policy refuses to start: not on default" in said, said


@claim("if a policy fails in its trial calls, the server does not start, and logs the function, the situation and the "
       "place")
def _(world):
    for function, body, part in (("choose_worker", "return ctx.records[1].worker", "with no records (error): "),
                                 ("on_start", "return #ctx.peers", "at a first start, alone (garbage): "),
                                 ("on_store_down", "return 'wait'", "with an unreachable store (garbage): "),
                                 ("on_lease_lost", "while true do end", "with a lost worker id (instructions): ")):
        said = refused_start(Chooser(world, policy(world, **{function: body}), sqlite_of(world)), code=2)
        assert "--policy cannot be used: %s fails when it is tried %s%s:1:" % (function, part, world.path("policy.lua")) in said, said
    assert not os.path.exists(world.path("vesta.db")) or not leases(world)


# ---------------------------------------------------------------- start

@claim("on_start receives the peers' clocks and its own last time, once, and its refusal ends the start without a "
       "claim")
def _(world):
    store = sqlite_of(world)
    alone = "if ctx.last_ms or #ctx.peers > 0 then return 'refuse', 'there are others' end return 'go'"
    with Chooser(world, policy(world, on_start=alone), store, name="a") as a:
        same(a.calls("on_start"), 1)
        peers = """if #ctx.peers ~= 1 then return 'go' end return 'refuse', #ctx.peers .. ' peer ' .. ctx.peers[1].worker .. ' '
          .. (math.abs(ctx.peers[1].seen_ms - ctx.now_ms) < 30000 and 'in step' or 'off') .. ' ' .. tostring(ctx.last_ms)"""
        said = refused_start(Chooser(world, policy(world, "b", on_start=peers), store, name="b"))
        assert "the policy refuses to start: 1 peer %d in step nil" % a.worker() in said, said
    last = "if not ctx.last_ms then return 'go' end return 'refuse', math.abs(ctx.last_ms - ctx.now_ms) < 60000 and #ctx.peers .. ' peers, been here before' or 'not'"
    said = refused_start(Chooser(world, policy(world, on_start=last), store, name="a"))
    assert "0 peers, been here before" in said, said
    same(leases(world), 1)


@claim("on_start is called before a claim only: after a kill an open lease continues without it, even without the "
       "store")
def _(world):
    asking, refusing = policy(world, on_start="return 'go'"), policy(world, "b", on_start="return 'refuse', 'not again'")
    with Chooser(world, asking, made(world, sqlite_of(world)), "--lease", "balanced") as server:
        ids, worker = {server.id()}, server.worker()
        same(server.calls("on_start"), 1)
        server.kill()
        server.process.wait()
        server.process.stderr.close()
        server.args[server.args.index(asking)] = refusing
        with Locked(world):
            server.__enter__()
            ids.add(server.id())
            same((len(ids), server.worker(), server.calls("on_start")), (2, worker, 0))
    said = refused_start(server)  # The lease was released, so this start makes a claim.
    assert "the policy refuses to start: not again" in said, said


@claim("a failing on_start does not prevent the start")
def _(world):
    failing = policy(world, on_start="if #ctx.peers == 1 then error('oh') end return 'go'")
    with Chooser(world, failing, sqlite_of(world)) as peer, Chooser(world, failing, sqlite_of(world), name="b") as server:
        same((peer.calls("on_start"), server.calls("on_start", "error")), (1, 1))
        assert server.id() != peer.id()


# ---------------------------------------------------------------- a silent store

@claim("while the store is silent, on_store_down is called repeatedly, and on 'refuse' issuing stops until the store "
       "is back")
def _(world):
    going = "return 'continue', 'down for ' .. ctx.down_ms .. ', left ' .. ctx.left_ms"
    with Chooser(world, policy(world, on_store_down=going), made(world, sqlite_of(world)), "--lease", "strict") as server:
        ids = {server.id()}
        same(server.calls("on_store_down"), 0)
        since = time.monotonic()
        with Locked(world):
            soon(lambda: server.calls("on_store_down"), lambda count: count >= 1)
            reply = server.get("/genid")
            ids.add(reply.body)
            # The window of strict is short. On a slow machine it may have ended, and it ends at the latest when the
            # policy is called again.
            assert reply.status == 200 or time.monotonic() - since > 2, reply.body
            soon(lambda: server.calls("on_store_down"), lambda count: count >= 2)
        same(len(ids), 2)
    refusing = "if ctx.down_ms >= 0 and ctx.left_ms > 0 then return 'refuse', 'rather none' end return 'continue'"
    with Chooser(world, policy(world, on_store_down=refusing), sqlite_of(world), "--lease", "strict", name="b") as server:
        ids = [server.id()]
        with Locked(world):
            event = server.listen("a policy ends a lease because its store is silent")
            assert "rather none" in event, event
            reply = soon(lambda: server.get("/genid"), lambda reply: reply.status == 503)
            assert "no lease" in reply.body, reply.body
            assert server.redis("GET", "default").startswith(b"-LOADING"), "ids were given"
            assert '"code":"lease"' in server.get("/readyz").body
        ids.append(int(soon(lambda: server.get("/genid"), lambda reply: reply.status == 200).body))
        same(len(set(ids)), 2)
        same(server.calls("on_store_down", "error"), 0)


# ---------------------------------------------------------------- a lost lease

def checksum(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001b3) % 2 ** 64
    return "%016x" % value


def take_over(world, worker):
    with sqlite3.connect(world.path("vesta.db"), timeout=20) as database:
        database.execute("BEGIN IMMEDIATE")
        ver, record = database.execute("SELECT ver, record FROM vesta_lease WHERE worker = ?", (worker,)).fetchone()
        text = record.decode() if isinstance(record, bytes) else record
        until = int(re.search(r"(?m)^until (\d+)$", text).group(1)) + (60000 << 12)
        for pattern, new in ((r"ver \d+", "ver %d" % (ver + 1)), (r"owner \w+", "owner " + "0123456789abcdef" * 2),
                             (r"until \d+", "until %d" % until), (r"identity .*", "identity elsewhere"),
                             (r"holder .*", "holder elsewhere pid 1")):
            text = re.sub("(?m)^%s$" % pattern, new, text)
        body = text[:text.index("sum ")]
        database.execute("UPDATE vesta_lease SET ver = ?, record = ? WHERE worker = ?",
                         (ver + 1, (body + "sum %s\n" % checksum(body)).encode(), worker))


def loser(world, **functions):
    """A server that holds worker id 40 until another process takes it, and 41 afterwards."""
    rules = policy(world, choose_worker="return ctx.records[1] and 41 or 40", **functions)
    return Chooser(world, rules, made(world, sqlite_of(world)), "--lease", "strict")


def lose(world, server):
    first = server.id()
    same(server.worker(), 40)
    take_over(world, 40)
    assert "worker=40" in server.listen("a worker id was taken over by another process")
    return first


@claim("a lost worker id is replaced without a policy, on 'claim', and if the policy fails")
def _(world):
    for at, functions in enumerate(({}, {"on_lease_lost": "return 'claim'"}, {"on_lease_lost": "return ctx.worker == 40 and 40 or 'claim'"})):
        place = World(world.path("place%d" % at))
        os.makedirs(place.folder)
        with loser(place, **functions) as server:
            first = lose(place, server)
            assert int(soon(lambda: server.get("/genid"), lambda reply: reply.status == 200).body) != first
            same(server.worker(), 41)
            same((server.calls("on_lease_lost"), server.calls("on_lease_lost", "garbage")), [(0, 0), (1, 0), (0, 1)][at])


@claim("on 'stop' no other worker id is claimed until a restart, and the log and /readyz show the reason")
def _(world):
    with loser(world, on_lease_lost="return 'stop', 'a person must look at ' .. ctx.worker") as server:
        lose(world, server)
        event = server.listen("a policy stops a namespace after the loss of its worker id")
        assert "a person must look at 40" in event, event
        said = soon(lambda: server.get("/readyz").body, lambda body: "a person must look" in body)
        assert '"code":"not_ready"' in said and '"code":"lease"' in said, said
        for _ in range(3):  # The keeper asks the policy again each time.
            time.sleep(1)
            same(server.get("/genid").status, 503)
        same((server.calls("on_lease_lost"), server.calls("choose_worker")), (1, 1))
    with loser(world) as server:
        same(server.worker(), 41)


main()
