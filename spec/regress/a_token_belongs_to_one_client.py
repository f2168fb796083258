"""Regression: two lines of a clients file could contain the same token. A connection with that token became the later
client, and the first client was rejected with its own name and token."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from serving import Server, claim, fails, main, same  # noqa: E402

SHARED = "client 'bob' has the same token as client 'alice' in line 1"


def read(path):
    with open(path) as file:
        return file.read()


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


def alice(world):
    path = world.path("clients")
    token = world.run("client", "add", "alice", "--names", "orders", "--calls", "give", "--file", path).out.strip()
    return path, token, read(path)


def copied(line):
    """Returns a line for bob with her token and wider rights. Another time of creation does not make it another token.
    """
    secret = line.split("secret=random:")[1].strip()
    digest = secret.split(":")[-1]
    return "# a copy\nbob names=* calls=give secret=random:2020-01-01T00:00:00Z:%s secret=random:2021-01-01T00:00:00Z:%s\n" % ("ab" * 32, digest)


@claim("check and the server's start reject a token in two lines, and name both clients and lines")
def _(world):
    path, token, line = alice(world)
    append(path, copied(line))
    config = world.path("vesta.lua")
    append(config, 'return { clients = "%s", namespaces = { default = { worker = 1 } } }' % path)
    checked = world.run("check", config)
    same(checked.code, 1)
    started = world.run("serve", "--clients", path)
    same(started.code, 2)
    for said in checked.out + checked.err, started.err:
        assert "%s:3: %s" % (path, SHARED) in said, said
        assert "vesta client add NAME" in said and token not in said and line.split(":")[-1].strip() not in said, said


@claim("after SIGHUP, such a file changes nothing, and the token stays alice's")
def _(world):
    path, token, line = alice(world)
    with Server(world, "--clients", path) as server:
        append(path, copied(line))
        server.process.send_signal(signal.SIGHUP)
        event = server.heard("the file of clients cannot be reloaded")
        assert SHARED in event and token not in event, event
        same(server.redis("AUTH", "alice", token), b"+OK\r\n")


@claim("vesta client neither lists nor changes such a file")
def _(world):
    path, _, line = alice(world)
    append(path, copied(line))
    was = read(path)
    fails(world.run("client", "list", "--file", path), 1, SHARED)
    for words in ("add", "carol"), ("set", "alice", "--n", "5"), ("rotate", "bob"), ("remove", "bob"):
        fails(world.run("client", *words, "--file", path), 2, SHARED)
    same(read(path), was)


@claim("a token that occurs twice in one line is rejected")
def _(world):
    path, _, line = alice(world)
    twice = line.rstrip("\n") + " secret=" + line.split("secret=")[1]
    with open(path, "w") as file:
        file.write(twice)
    for done, code in (world.run("serve", "--clients", path), 2), (world.run("client", "list", "--file", path), 1):
        fails(done, code, ":1: client 'alice' has the same token twice")


@claim("two tokens of one client, and tokens of other clients, are valid together")
def _(world):
    path, token, _ = alice(world)
    newer = world.run("client", "rotate", "alice", "--file", path).out.strip()
    bobs = world.run("client", "add", "bob", "--file", path).out.strip()
    with Server(world, "--clients", path) as server:
        for name, secret in ("alice", token), ("alice", newer), ("bob", bobs):
            same(server.redis("AUTH", name, secret), b"+OK\r\n")


main()
