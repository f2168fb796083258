"""Regression: in the layouts of Vesta (Java) the field `method` is above the time, and each interface wrote another
value. `curl /genid`, `redis-cli GET default` and `vesta gen`, a second apart, printed 2.7e18, 1.5e18 and 0.4e18. By
default all now write one value, and mixing old and new values duplicates no id."""
import json
import os
import subprocess
import threading
import time
from urllib.parse import quote

from harness import VESTA, environment
from serving import Configured, Server, bulks, claim, command, main, same

DRIVE = os.path.join(os.path.dirname(VESTA), "spec", "clients", "drive_c")
LAYOUT = "vesta-milli"
BY_PROTOCOL = "return { namespaces = { default = { layout = '%s', worker = 5, method = %s } } }"


def with_client(text):
    """A claim that needs the client's driver, which is not built with a sanitizer or without hiredis."""
    if os.path.exists(DRIVE):
        return claim(text)
    print("skipped, no driver of the C client is built: " + text)
    return lambda function: function


def method_of(id):
    return id >> 60 & 3


class Client:
    def __init__(self, world, servers, fallback=None, size=1000):
        self.process = subprocess.Popen([DRIVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        cwd=world.folder, env=environment(world.folder))
        words = ["servers=" + quote(servers), "name=default", "size=%d" % size, "wait=60000", "timeout=30000"]
        if fallback:
            words.append("fallback=" + quote(fallback))
        same(self.say("open " + " ".join(words)), "ok\n")

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline()

    def take(self, count):
        said = self.say("next %d" % count)
        ids = [int(text) for text in said.split()[1:]]
        same(len(ids), count)
        return ids

    def end(self):
        self.process.stdin.close()
        same(self.process.wait(60), 0)


def expand(block):
    base, first, bits = int(block["base"]), int(block["first"]), block["seq_bits"]
    return [base | (t >> bits) << block["time_shift"] | (t & (1 << bits) - 1) << block["seq_shift"]
            for t in range(first, first + block["count"])]


def http_block(server, n):
    return expand(json.loads(server.get("/v1/blocks?ns=default&n=%d" % n).body))


def resp_block(server, n):
    lines = server.redis("VESTA.BLOCK", "default", str(n)).decode().split("\r\n")
    words = [line.lstrip(":") for line in lines if line and line[0] not in "*$"]
    block = dict(zip(words[::2], words[1::2]))
    return expand({name: int(value) if value.isdigit() else value for name, value in block.items()})


def ways(world, server):
    return {
        "HTTP": lambda: int(server.get("/genid").body),
        "the Redis protocol": lambda: bulks(server.redis("GET", "default"))[0],
        "vesta gen": lambda: int(world.run("gen").out),
        "a block over HTTP": lambda: http_block(server, 1)[0],
        "a block over the Redis protocol": lambda: resp_block(server, 1)[0],
        "a client's fallback": lambda: fallback_id(world),
        "/makeid": lambda: int(server.get("/makeid?time=%d&seq=1023&machine=9" % now()).body),
        "VESTA.MAKE": lambda: bulks(server.redis("VESTA.MAKE", "default", "time", str(now()), "seq", "1023"))[0],
    }


def now():
    return int(time.time() * 1000) - 1420041600000


def fallback_id(world):
    client = Client(world, "127.0.0.1:1", "layout=%s worker=6 path=%s" % (LAYOUT, world.path("own.gen")))
    (id,) = client.take(1)
    client.end()
    return id


@with_client("ids of one namespace from all interfaces sort by time, and can be read back")
def _(world):
    with Server(world, layout=LAYOUT, pacing="clock") as server:
        made = []
        for _ in range(3):
            for way, take in ways(world, server).items():
                made.append((take(), way))
                time.sleep(0.005)  # The next id belongs to another millisecond.
        same([way for _, way in sorted(made)], [way for _, way in made])
        same({method_of(id) for id, _ in made}, {2})
        for id, _ in made:
            fields = json.loads(server.get("/v1/ids/%d" % id).body)
            same((fields["method"], abs(fields["unix_ms"] - time.time() * 1000) < 600000), (2, True))
            assert '"genMethod":2,' in server.get("/expid?id=%d" % id).body


@claim("method = N is written by every interface that has the field, and by_protocol writes 1 over the Redis "
       "protocol, 2 over HTTP, 0 in a program")
def _(world):
    for setting, expected in ("1", (1, 1, 1)), ("'3'", (3, 3, 3)), ("'by_protocol'", (2, 1, 0)):
        with Configured(world, BY_PROTOCOL % (LAYOUT, setting)) as server:
            ids = (int(server.get("/genid").body), *bulks(server.redis("GET", "default")), int(world.run("gen", "-c", world.path("vesta.lua")).out))
            same(tuple(map(method_of, ids)), expected)
            made = (int(server.get("/makeid?time=1&seq=1").body), *bulks(server.redis("VESTA.MAKE", "default", "time", "1", "seq", "1")))
            same(tuple(map(method_of, made)), expected[:2])
            same((method_of(http_block(server, 5)[4]), method_of(resp_block(server, 5)[4])), expected[:2])


def bumped(id):
    """Returns the id without its method. Two ids with the same result would be duplicates if both had the same method.
    """
    return id & ~(3 << 60)


def issue_at_once(world, server, taken, tasks):
    failed = []

    def run(name, take):
        try:
            while len(taken[name]) < 20000:
                ids = take()
                assert ids, "%s issued nothing" % name
                taken[name] += ids
        except BaseException as error:
            failed.append((name, error))
    threads = [threading.Thread(target=run, args=task) for task in tasks.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed


def count_a_mix(world, server, gen_flags, old=None):
    clients = [Client(world, "127.0.0.1:%d" % server.resp),
               Client(world, "127.0.0.1:1", "namespace=default"),  # It uses the server's generator file.
               Client(world, "127.0.0.1:1", "layout=%s worker=6 path=%s" % (LAYOUT, world.path("own.gen")))]
    tasks = {
        "http": lambda: [int(text) for text in json.loads(server.get("/v1/ids?n=1000").body)["ids"]],
        "resp": lambda: bulks(server.redis("VESTA.NEXT", "default", "1000")),
        "pipelined": lambda: bulks(server.say(server.resp, command("GET", "default") * 500)),
        "http block": lambda: http_block(server, 1000),
        "resp block": lambda: resp_block(server, 1000),
        "gen": lambda: [int(line) for line in world.run("gen", "-n", "5000", *gen_flags).lines()],
        "gen by protocol": lambda: [int(line) for line in world.run("gen", "-n", "5000", "--method", "by_protocol").lines()],
        "client": lambda: clients[0].take(2000),
        "fallback on the server's file": lambda: clients[1].take(2000),
        "fallback with a lease of its own": lambda: clients[2].take(2000),
    }
    taken = {name: [] for name in tasks}
    issue_at_once(world, server, taken, tasks)
    for client in clients:
        client.end()
    return taken


@with_client("a mix of HTTP, the Redis protocol, blocks, gen, clients and fallbacks has no duplicates, even if all "
             "had the same method")
def _(world):
    with Server(world, layout=LAYOUT, pacing="clock") as server:
        taken = count_a_mix(world, server, [])
    ids = [id for part in taken.values() for id in part]
    assert len(ids) >= 200000, {name: len(part) for name, part in taken.items()}
    same({name: {method_of(id) for id in part} for name, part in taken.items()},
         {name: {0 if name == "gen by protocol" else 2} for name in taken})
    same(len(set(map(bumped, ids))), len(ids))


@with_client("a rolling upgrade has no duplicates: on one file, one process writes by protocol like earlier versions, "
             "and another writes 2")
def _(world):
    with Configured(world, BY_PROTOCOL % (LAYOUT, "'by_protocol'")) as server:
        taken = count_a_mix(world, server, [])
    ids = [id for part in taken.values() for id in part]
    same({name: {method_of(id) for id in part} for name, part in taken.items()},
         {"http": {2}, "resp": {1}, "pipelined": {1}, "http block": {2}, "resp block": {1}, "gen": {2}, "gen by protocol": {0},
          "client": {1}, "fallback on the server's file": {2}, "fallback with a lease of its own": {2}})
    same(len(set(map(bumped, ids))), len(ids))


main()
