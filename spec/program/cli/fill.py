"""fill.py -- `vesta fill` on a real redis-server. A consumer must never pop an id twice."""
import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time

from certificates import make_certificates
from harness import SLOW, claim, fails, main, same
from ports import free_port, give_back

if not shutil.which("redis-server"):
    print("skipped: apt-get install redis-server")
    sys.exit(77)


class Redis:
    def __init__(self, world, *flags, name="redis"):
        self.world, self.flags, self.path, self.sock = world, flags, world.path(name + ".sock"), None
        self.address = "unix:" + self.path
        self.start()

    def start(self):
        if os.path.exists(self.path):
            os.remove(self.path)
        with open(self.world.path("redis.log"), "a") as log:
            self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "", "--dir", self.world.folder,
                                             *self.flags], stdout=log, stderr=log)
        until(self.try_connect, "redis-server answers")

    def try_connect(self):
        with contextlib.suppress(OSError):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(20)
            self.sock.connect(self.path)
            self.file = self.sock.makefile("rb")
            return str(self("PING")) in ("PONG", "NOAUTH Authentication required.")

    def send(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def read(self):
        line = self.file.readline()
        if not line:
            raise EOFError("redis-server is gone")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return None if rest == b"-1" else [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest.decode()

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        self.kill()


@contextlib.contextmanager
def free_ports(count):
    ports = [free_port() for _ in range(count)]
    try:
        yield ports
    finally:
        for port in ports:
            give_back(port)


def until(true, what, seconds=30 * SLOW):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "not within %d s: %s" % (seconds, what)
        time.sleep(0.01)


# Timeouts for replies. A busy machine may take half a second, and fill abandons the ids of a push whose reply is late.
PATIENT_MS, HASTY_MS = 60000, 500


class Fill:
    def __init__(self, world, redis, *flags, low=200, high=1000, timeout_ms=PATIENT_MS):
        self.process = world.start("fill", "--redis", redis.address, "--list", "ids", "--low", str(low), "--high", str(high), "--timeout-ms",
                                   str(timeout_ms), "--json", *flags, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = []
        self.reader = threading.Thread(target=lambda: self.said.extend(iter(self.process.stderr.readline, "")))
        self.reader.start()

    def heard(self, part, times=1):
        until(lambda: sum(part in line for line in self.said) >= times or self.process.poll() is not None, "%r in %r" % (part, self.said))
        assert sum(part in line for line in self.said) >= times, self.said

    def end(self, number=signal.SIGTERM):
        """Sends the signal and returns the last line of counts, or nothing after SIGKILL."""
        self.process.send_signal(number)
        out = self.process.stdout.read()
        self.reader.join()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        same(self.process.wait(), 0 if number == signal.SIGTERM else -number)
        return json.loads(out.splitlines()[-1]) if out else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end(signal.SIGKILL)


def once(world, redis, *flags, ns="once", timeout_ms=PATIENT_MS):
    return world.run("fill", "--once", "--redis", redis if isinstance(redis, str) else redis.address, "--list", "ids", "--namespace", ns, "--every",
                     "0", "--timeout-ms", str(timeout_ms), *flags)


def distinct(ids):
    same(len(set(ids)), len(ids))


@claim("a list is filled once, up to the high mark, in ascending order")
def _(world):
    with Redis(world) as redis:
        done = once(world, redis, "--low", "10", "--high", "777")
        same((done.code, done.out), (0, ""))
        ids = redis("LRANGE", "ids", 0, -1)
        same(len(ids), 777)
        same(sorted(set(ids), key=int), ids)
        popped = redis("LPOP", "ids", 70)
        same(once(world, redis, "--low", "10", "--high", "777").code, 0)
        distinct(popped + redis("LRANGE", "ids", 0, -1))
        same(redis("LLEN", "ids"), 777)
        same(redis("TTL", "ids"), -1)
        same(once(world, redis, "--format", "hex", "--high", "3", "--low", "2", "--db", "3").code, 0)
        redis("SELECT", 3)
        assert all(len(id) == 16 and int(id, 16) for id in redis("LRANGE", "ids", 0, -1)), "hex"


@claim("if fill is killed and restarted while a consumer pops, no id appears twice")
def _(world):
    with Redis(world) as redis:
        popped, stop = [], threading.Event()

        def consume():
            while not stop.is_set():
                popped.extend(redis("LPOP", "ids", 50) or ())
                time.sleep(0.001)
        consumer = threading.Thread(target=consume)
        consumer.start()
        try:
            for round in range(8):
                before = len(popped)
                with Fill(world, redis) as fill:
                    until(lambda: len(popped) > before + 2000, "the consumer pops")
                    fill.end(signal.SIGKILL if round < 7 else signal.SIGTERM)
        finally:
            stop.set()
            consumer.join()
        distinct(popped + redis("LRANGE", "ids", 0, -1))
        assert len(popped) > 16000, len(popped)


@claim("a flushed list is filled again with new ids, and fill reports it")
def _(world):
    with Redis(world) as redis, Fill(world, redis) as fill:
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full")
        fill.heard("has 1000 ids")
        before = redis("LRANGE", "ids", 0, -1)
        redis("FLUSHALL")
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full again")
        fill.heard("the list is empty")
        distinct(before + redis("LRANGE", "ids", 0, -1))
        until(lambda: redis("GET", "{ids}:vesta"), "the mark is back")
        counts = fill.end()
        same((counts["pushed"], counts["burnt"], counts["list"], counts["well"]), (2000, 0, 1000, True))


@claim("if Redis is killed and restarts empty or from disk, ids that were popped do not come back")
def _(world):
    with Redis(world, "--dbfilename", "dump.rdb") as redis, Fill(world, redis) as fill:
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full")
        same(redis("SAVE"), "OK")
        popped = redis("LPOP", "ids", 500)
        run = redis("GET", "{ids}:vesta")
        redis.kill()
        fill.heard("unix:")
        redis.start()  # The restored list contains the 500 popped ids again.
        until(lambda: redis("GET", "{ids}:vesta") not in (None, run), "the list was cleared")
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full again")
        fill.heard("removed 1000 ids from the list, because they may have been popped before")
        fill.heard("resumed: the list has")
        popped += redis("LRANGE", "ids", 0, -1)
        distinct(popped)
        redis.kill()
        os.remove(world.path("dump.rdb"))
        redis.start()
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full once more")
        distinct(popped + redis("LRANGE", "ids", 0, -1))
        same(fill.end()["cleared"], 1000)
        run = redis("GET", "{ids}:vesta")
        redis("SAVE")
        redis.kill()
        redis.start()  # The same restart while no fill runs.
        done = once(world, redis, "--high", "1000", "--low", "10")
        assert done.code == 0 and "removed 1000 ids from the list" in done.err, done.err
        assert redis("GET", "{ids}:vesta") != run


def without_twice(redis, popped, fill, total):
    def enough():
        popped.extend(redis("LPOP", "ids", 100) or [])
        return len(popped) >= total
    until(enough, "%d ids" % total)
    distinct(popped)
    return fill.end()


def is_synced(replica):
    return "master_link_status:up" in replica("INFO", "replication") and "master_sync_in_progress:0" in replica("INFO", "replication")


def replicate(replica, port):
    same(replica("REPLICAOF", *(("NO", "ONE") if port is None else ("127.0.0.1", port))), "OK")
    if port is not None:
        until(lambda: is_synced(replica), "the replica is in step")


@claim("if Redis becomes a replica and then a master again, the ids from its new data are removed, even though its "
       "run id is the same")
def _(world):
    with free_ports(2) as (first, second), Redis(world, "--port", str(first)) as redis, Redis(world, "--port", str(second), name="other") as other:
        replicate(other, first)
        with Fill(world, redis, low=200, high=1000) as fill:
            until(lambda: redis("LLEN", "ids") == other("LLEN", "ids") == 1000, "both lists are full")
            replicate(other, None)
            popped = redis("LPOP", "ids", 300)
            replicate(redis, second)  # The 300 popped ids are back,
            replicate(redis, None)    # and the server is a master again.
            fill.heard("may have been popped before")
            same(without_twice(redis, popped, fill, 2000)["well"], True)


@claim("if that happens while no fill runs, the next fill removes the returned ids")
def _(world):
    with free_ports(2) as (first, second), Redis(world, "--port", str(first)) as redis, Redis(world, "--port", str(second), name="other") as other:
        same(once(world, redis, "--high", "1000", "--low", "200").code, 0)
        replicate(other, first)
        replicate(other, None)
        popped = redis("LPOP", "ids", 300)
        replicate(redis, second)
        replicate(redis, None)
        same(redis("LLEN", "ids"), 1000)
        done = once(world, redis, "--high", "1000", "--low", "200")
        same(done.code, 0)
        assert "removed 1000 ids from the list" in done.err, done.err
        distinct(popped + redis("LRANGE", "ids", 0, -1))


@claim("an evicted mark is set again, and without a mark the ids that Redis restores from disk are removed")
def _(world):
    with Redis(world, "--dbfilename", "old.rdb") as redis, Fill(world, redis, low=200, high=1000) as fill:
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full")
        same(redis("DEL", "{ids}:vesta"), 1)
        until(lambda: redis("EXISTS", "{ids}:vesta") == 1, "the mark is set again")
        same(redis("LLEN", "ids"), 1000)  # A new mark is no reason to remove ids.
        fill.process.send_signal(signal.SIGSTOP)
        same((redis("DEL", "{ids}:vesta"), redis("SAVE")), (1, "OK"))
        popped = redis("LPOP", "ids", 300)
        redis.kill()
        redis.start()
        same((redis("LLEN", "ids"), redis("EXISTS", "{ids}:vesta")), (1000, 0))
        fill.process.send_signal(signal.SIGCONT)
        fill.heard("may have been popped before")
        without_twice(redis, popped, fill, 2000)


@claim("if Redis does not report its run id, a new connection removes the ids that it finds in the list")
def _(world):
    with Redis(world, "--rename-command", "INFO", "") as redis:
        for _ in range(2):
            done = once(world, redis, "--high", "100", "--low", "50")
            same(done.code, 0)
        assert "removed 100 ids from the list" in done.err, done.err


@claim("fill abandons the ids of a push without a reply, so no id appears twice whether or not Redis applied it")
def _(world):
    with Redis(world) as redis, Fill(world, redis, timeout_ms=HASTY_MS) as fill:
        until(lambda: redis("LLEN", "ids") >= 1000, "the list is full")
        popped = []
        for _ in range(3):
            said = sum("are burnt" in line for line in fill.said)
            redis.send("LPOP", "ids", 950)
            redis.send("CLIENT", "PAUSE", 60000, "WRITE")  # Reads continue, but the push is delayed.
            popped += redis.read()
            same(redis.read(), "OK")
            fill.heard("are burnt, because it is unknown whether unix:", said + 1)
            same(redis("CLIENT", "UNPAUSE"), "OK")  # Redis now applies the pushes of connections that are still open.
            until(lambda: redis("LLEN", "ids") >= 1000, "the list is full again")
        counts = fill.end()
        assert counts["burnt"] >= 300, counts
        distinct(popped + redis("LRANGE", "ids", 0, -1))


class Relay:
    """A relay between fill and Redis. For each push in `cuts`, it forwards that many bytes of the reply and then
    closes."""

    def __init__(self, world, redis):
        self.target, self.address, self.cuts, self.pushes = redis.path, "unix:" + world.path("relay.sock"), [], 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(world.path("relay.sock"))
        self.listener.listen(8)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.pass_on, args=(self.listener.accept()[0],), daemon=True).start()

    def pass_on(self, client):
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.target)
        with client, server, contextlib.suppress(OSError):
            while True:
                request = client.recv(1000000)
                while request and request.count(b"\r\n") < 1 + 2 * int(request[1:request.index(b"\r\n")]):
                    request += client.recv(1000000)
                if not request:
                    return
                server.sendall(request)
                reply = server.recv(1000000)
                if b"RPUSH" in request:
                    self.pushes += 1
                    if self.cuts:
                        client.sendall(reply[:self.cuts.pop()])
                        return
                client.sendall(reply)


@claim("if the replies of applied pushes are lost in whole or in part, no id appears twice")
def _(world):
    with Redis(world) as redis:
        relay = Relay(world, redis)
        relay.cuts = [0, 1, 3, 0, 2]
        with Fill(world, relay, "--namespace", "cut") as fill:
            until(lambda: not relay.cuts and redis("LLEN", "ids") >= 1000, "the list is full in spite of it")
            fill.heard("are burnt", 5)
            popped = redis("LPOP", "ids", 1000)
            until(lambda: redis("LLEN", "ids") >= 1000, "the list is full again")
            distinct(popped + redis("LRANGE", "ids", 0, -1))
            assert 5 <= fill.end()["burnt"] <= 500
        relay.listener.close()


@claim("two fills on one list produce no duplicates, and exceed the high mark by at most one push each")
def _(world):
    with Redis(world) as redis, Fill(world, redis, "--namespace", "a", "--worker", "1") as a, \
            Fill(world, redis, "--namespace", "a", "--worker", "1") as b:
        popped, most = [], 0
        while len(popped) < 6000:
            most = max(most, redis("LLEN", "ids"))
            popped += redis("LPOP", "ids", 300) or ()
            time.sleep(0.02)
        a.end(), b.end()
        distinct(popped + redis("LRANGE", "ids", 0, -1))
        assert most <= 1000 + 2 * 5000, most


@claim("SIGTERM ends fill at once, if Redis is unreachable or silent, and if there are no ids")
def _(world):
    silent = socket.socket(socket.AF_UNIX)
    silent.bind(world.path("silent.sock"))
    silent.listen(8)
    for address, part in (("unix:" + world.path("nobody.sock"), "No such file"), ("unix:" + world.path("silent.sock"), "no answer within"),
                          ("127.0.0.1:1", "Connection refused")):
        process = world.start("fill", "--redis", address, "--list", "ids", "--timeout-ms", "200", stderr=subprocess.PIPE, text=True)
        line = process.stderr.readline()
        assert part in line, line
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        process.stderr.close()
        same(process.wait(), 0)
        assert rest.count("\n") == 1 and "0 pushed" in rest, rest
    silent.close()


@claim("an error reply of Redis is reported with advice, and --once ends with 1")
def _(world):
    with Redis(world) as redis:
        redis("SET", "ids", "a text")
        fails(once(world, redis), 1, "WRONGTYPE", "choose another --list")
        redis("DEL", "ids")
        redis("RPUSH", "ids", "somebody's")
        fails(once(world, redis), 1, "no vesta fill has filled it", "choose another --list")
        same(redis("LRANGE", "ids", 0, -1), ["somebody's"])
        redis("DEL", "ids")
        fails(once(world, redis, "--db", "99"), 1, "ERR", "DB index")
        redis("CONFIG", "SET", "maxmemory", "1")
        fails(once(world, redis), 1, "OOM", "no memory left")
        redis("CONFIG", "SET", "maxmemory", "0")
        redis("CONFIG", "SET", "min-replicas-to-write", "1")
        fails(once(world, redis), 1, "NOREPLICAS", "too few replicas")
        redis("CONFIG", "SET", "min-replicas-to-write", "0")
        redis("REPLICAOF", "127.0.0.1", "1")
        fails(once(world, redis), 1, "READONLY", "its master")
        redis("CONFIG", "SET", "replica-read-only", "no")
        # A replica would lose the pushed ids at the next resync.
        fails(once(world, redis), 1, "READONLY", "its master")
        redis("REPLICAOF", "NO", "ONE")
        redis("CONFIG", "SET", "requirepass", "sesame")
        fails(once(world, redis), 1, "NOAUTH", "--password-file")
        for name, text in (("right", "sesame\n"), ("wrong", "simsim\n"), ("lines", "a\nb\n"), ("empty", ""), ("huge", "x" * 2000)):
            with open(world.path(name), "w") as file:
                file.write(text)
        fails(once(world, redis, "--password-file", world.path("wrong")), 1, "WRONGPASS", "correct the password")
        same(once(world, redis, "--password-file", world.path("right")).code, 0)
        for name in ("lines", "empty", "huge"):
            fails(once(world, redis, "--password-file", world.path(name)), 2, "a secret of 1 to 1023 bytes")
        fails(once(world, redis, "--password-file", world.path("none")), 1, "No such file")
        redis("AUTH", "sesame")
        redis("ACL", "SETUSER", "filler", "on", ">sesame", "~ids", "+@all")
        fails(once(world, redis, "--password-file", world.path("right"), "--user", "filler"), 1, "NOPERM", "this user needs")
        redis("DEL", "ids", "{ids}:vesta")
        redis("ACL", "SETUSER", "filler", "reset", "on", ">sesame", "~ids", "~{ids}:vesta", "+llen", "+rpush", "+get", "+set", "+del", "+info",
              "+client|setname")
        same(once(world, redis, "--password-file", world.path("right"), "--user", "filler").code, 0)
        assert len(redis("LRANGE", "ids", 0, -1)) == 10000


@claim("after a temporary error of Redis the same ids are pushed, and none is abandoned")
def _(world):
    with Redis(world) as redis, Fill(world, redis) as fill:
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full")
        redis("CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "10")
        redis.send("CONFIG", "SET", "min-replicas-to-write", "0")
        redis.send("LPOP", "ids", 950)
        redis.send("CONFIG", "SET", "min-replicas-to-write", "1")
        popped = [redis.read() for _ in range(3)][1]
        fill.heard("NOREPLICAS")
        redis("CONFIG", "SET", "min-replicas-to-write", "0")
        until(lambda: redis("LLEN", "ids") == 1000, "the list is full again")
        fill.heard("resumed: the list has")
        ids = popped + redis("LRANGE", "ids", 0, -1)
        distinct(ids)
        same(fill.end()["burnt"], 0)


def liar(world, answer):
    """Starts a server that sends this answer to every request, or closes if it is empty. Returns its address."""
    path = world.path("liar%d.sock" % len(os.listdir(world.folder)))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)

    def serve():
        peer, _ = listener.accept()
        with listener, peer, contextlib.suppress(OSError):
            while peer.recv(100000) and answer:
                peer.sendall(answer)
    threading.Thread(target=serve, daemon=True).start()
    return "unix:" + path


@claim("a reply that is not the Redis protocol is reported, and the connection is not used again")
def _(world):
    for answer, part in ((b"", "it closed the connection"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not the Redis protocol"),
                         (b"+OK", "no answer within"), (b"+OK\r\n+OK\r\n", "more replies than requests"), (b"$99999999999999\r\n", "no"),
                         (b"*1000000000\r\n", "no"), (b"\0" * 5000, "not the Redis protocol"), (b"-\r\n", "rejected a command"),
                         (b"-LOADING Redis is loading the dataset in memory\r\n", "wait until it is ready"), (b"*1\r\n" * 100, "not the Redis protocol"),
                         (b"$-1\r\n", "no number"), (b":-5\r\n", "no number"), (b"-\x1b[2J\r\n", "rejected a command"), (b"$3\r\n\xff\xff\xff\r\n", "no number")):
        fails(once(world, liar(world, answer), timeout_ms=HASTY_MS if part in ("no", "no answer within") else PATIENT_MS), 1, part)


@claim("invalid arguments are rejected with 2")
def _(world):
    for words in (["--list", ""], ["--low", "0"], ["--low", "-1"], ["--low", "10", "--high", "10"], ["--low", "9" * 400], ["--high", "100000001"],
                  ["--high", "1"], ["--redis", ""], ["--redis", "nowhere"], ["--redis", "redis://me:sesame@127.0.0.1:6379"], ["--cacert", "ca.pem"], ["--redis", "127.0.0.1:99999"],
                  ["--redis", "unix:"], ["--timeout-ms", "0"], ["--timeout-ms", "1e9"], ["--db", "-1"], ["--every", "-1"], ["--user", "me"],
                  ["--list", "x" * 513], ["operand"], ["--lists", "x"], ["--layout", "nonsense"], ["-c", world.path("no.lua"), "--worker", "1"]):
        fails(world.run("fill", "--list", "ids", "--once", "--redis", "127.0.0.1:1", *words, timeout=20), 2)
    fails(world.run("fill", "--once"), 2, "--list is missing")
    done = world.run("fill", "--once", "--list", "ids", "--redis", "rediss://me:sesame@127.0.0.1:6379")
    fails(done, 2, "--user, --password-file")
    assert "sesame" not in done.err, done.err


@claim("a Redis with TLS is filled only if its certificate and the client's are valid")
def _(world):
    make_certificates(world.path("made"))
    made, port = world.path("made", ""), free_port()
    with Redis(world, "--tls-port", str(port), "--tls-cert-file", made + "server.pem", "--tls-key-file", made + "server.key",
               "--tls-ca-cert-file", made + "ca.pem") as redis:
        def fill(*flags, address="rediss://127.0.0.1:%d" % port):
            return world.run("fill", "--once", "--list", "ids", "--redis", address, *flags, timeout=20)
        shows = ["--cert", made + "server.pem", "--key", made + "server.key"]
        fails(fill(*shows), 1, "certificate is rejected", "--cacert")
        fails(fill(*shows, "--cacert", made + "other.pem"), 1, "certificate is rejected", "--cacert")
        fails(fill("--cacert", made + "none.pem"), 1, "none.pem", "No such file")
        fails(fill("--cacert", made + "ca.pem"), 1)
        same(redis("LLEN", "ids"), 0)
        same(fill(*shows, "--cacert", made + "ca.pem").code, 0)
        same(redis("LLEN", "ids"), 10000)
        redis("DEL", "ids", "{ids}:vesta")
        same(fill(*shows, "--insecure", address="tls:127.0.0.1:%d" % port).code, 0)
        ids = redis("LRANGE", "ids", 0, -1)
        same(len(set(ids)), 10000)


@claim("numbers of a tag are pushed in order, set up by flags or a config, without duplicates after a kill, a restart "
       "or an exhausted range")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    same(world.run("segments", "add", "orders", "--from", "5000", "--step", "300", "--store", uri).code, 0)
    with open(world.path("c.lua"), "w") as file:
        file.write('return { stores = { a = { uri = "%s" } }, namespaces = { default = {} },'
                   ' segments = { { store = "a", tags = { "orders" }, step = 300, step_max = 300 } } }' % uri)
    with Redis(world) as redis:
        popped = []
        for round, flags in enumerate((("--store", uri), ("-c", world.path("c.lua")), ("--store", uri), ("-c", world.path("c.lua")))):
            with Fill(world, redis, "--tag", "orders", *flags) as fill:
                until(lambda: redis("LLEN", "ids") >= 1000, "the list is full")
                popped += redis("LPOP", "ids", redis("LLEN", "ids") - 100)  # A killed fill may have pushed more.
                until(lambda: redis("LLEN", "ids") >= 1000, "the list is full again")
                fill.end(signal.SIGKILL if round % 2 == 0 else signal.SIGTERM)
        ids = popped + redis("LRANGE", "ids", 0, -1)
        distinct(ids)
        same(ids[:3], ["5000", "5001", "5002"])
        same(sorted(ids, key=int), ids)
        redis("DEL", "ids")
        with contextlib.closing(sqlite3.connect(world.path("v.db"), timeout=10, isolation_level=None)) as db, \
                Fill(world, redis, "--tag", "orders", "-c", world.path("c.lua"), high=5000) as fill:
            until(lambda: redis("LLEN", "ids") == 5000, "the list is full")
            db.execute("BEGIN IMMEDIATE")
            ids += redis("LPOP", "ids", 4850)
            until(lambda: redis("LLEN", "ids") >= 200, "what is left of the last range, 100, brings it above the low mark")
            fill.heard("no ids")
            db.execute("ROLLBACK")
            until(lambda: redis("LLEN", "ids") == 5000, "the refill goes on to the high mark")
            distinct(ids + redis("LRANGE", "ids", 0, -1))
        redis("DEL", "ids")
        fails(once(world, redis, "--tag", "orders"), 2, "--tag names a counter")
        for words, part in ((["--tag", "none", "--store", uri], "tag 'none' does not exist"), (["--tag", "orders", "-c", world.path("none.lua")], "none.lua")):
            fails(world.run("fill", "--once", "--list", "ids", "--redis", redis.address, "--every", "0", *words), 1, part)
        for words in (["--tag", "orders"], ["--tag", "", "--store", uri], ["--tag", "a b", "--store", uri], ["--table", "x", "--store", uri],
                      ["--tag", "orders", "--store", uri, "--worker", "1"], ["--tag", "none", "-c", world.path("c.lua")],
                      ["--tag", "x" * 65, "--store", uri]):
            fails(world.run("fill", "--once", "--list", "ids", "--redis", redis.address, *words), 2)


BATCH = 100


@claim("in strict order, one transaction of the database provides a whole batch of a tag's numbers")
def _(world):
    """Batches are in order and complete. A batch that arrives after its caller gave up is lost, as strict order
    permits."""
    path = world.path("v.db")
    same(world.run("segments", "add", "orders", "--from", "1", "--step", "10", "--store", "sqlite:" + path).code, 0)
    db = sqlite3.connect(path, timeout=10)
    with db:
        db.execute("CREATE TABLE raises (max_id INTEGER)")
        db.execute("CREATE TRIGGER raised AFTER UPDATE OF max_id ON leaf_alloc BEGIN INSERT INTO raises VALUES (NEW.max_id); END")
    with open(world.path("c.lua"), "w") as file:
        file.write('return { stores = { a = { uri = "sqlite:%s" } }, segments = { { store = "a", tags = { "orders" }, order = "strict" } } }' % path)
    with Redis(world) as redis:
        done = world.run("fill", "--once", "--list", "ids", "--redis", redis.address, "--every", "0", "--timeout-ms", str(PATIENT_MS), "--tag",
                         "orders", "-c", world.path("c.lua"))
        same(done.code, 0)
        ids = [int(id) for id in redis("LRANGE", "ids", 0, -1)]
    same(len(ids), 10000)
    same(sorted(set(ids)), ids)
    first, raises, given = 1, 0, set(ids)
    for (end,) in db.execute("SELECT max_id FROM raises ORDER BY rowid").fetchall():
        # One transaction serves all waiting callers, so a late batch is followed directly by the next one.
        for at in range(first, end, BATCH):
            batch = set(range(at, min(at + BATCH, end)))
            assert batch <= given or not batch & given, "a part of [%d, %d) was given: %s" % (at, at + BATCH, sorted(batch & given))
        first, raises = end, raises + 1
    assert 0 < raises <= len(ids) // 50 and first > ids[-1], (raises, len(ids), first)
    db.close()


@claim("fill uses a namespace of a config by its name")
def _(world):
    with open(world.path("c.lua"), "w") as file:
        file.write('return { namespaces = { orders = { layout = "snowflake", worker = 7 }, other = { layout = "snowflake", worker = 9 } } }')
    with Redis(world) as redis:
        for name, worker in (("orders", 7), ("other", 9)):
            done = world.run("fill", "--once", "--list", name, "--redis", redis.address, "--every", "0", "-c", world.path("c.lua"), "--namespace", name)
            same(done.code, 0)
            got = json.loads(world.run("explain", "--json", "--layout", "snowflake", redis("LPOP", name)).out)
            same(got["worker"], worker)
        fails(world.run("fill", "--once", "--list", "x", "-c", world.path("c.lua"), "--namespace", "none"), 2, "has no namespace")
        fails(world.run("fill", "--once", "--list", "x", "-c", world.path("none.lua")), 1, "none.lua")


main()
