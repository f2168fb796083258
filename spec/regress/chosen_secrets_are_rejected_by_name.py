"""Secrets chosen by people were replaced by tokens. A file that still contains one is rejected with its clients, their
lines and the command that replaces them, so that no client silently loses its access."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from serving import Server, claim, fails, main, same  # noqa: E402

OLD = "secret=chosen:2026-01-01T00:00:00Z:$y$j9T$abcdefgh$" + "x" * 43
NEW = "secret=random:2026-01-01T00:00:00Z:" + "ab" * 32


def write(world, name, text):
    with open(world.path(name), "w") as file:
        file.write(text)
    return world.path(name)


def three(world):
    return write(world, "clients", "# ours\nweb names=* calls=give %s\norders names=* calls=give %s\nops names=* calls=give,read n=7 %s %s\n" % (OLD, NEW, NEW.replace("ab", "cd"), OLD))


def names_all(text, path):
    for part in ("%s:2: client 'web' has a secret that a person chose" % path, "vesta client rotate web --file %s" % path, "ops (line 4)"):
        assert part in text, (part, text)
    assert "orders" not in text and "$y$" not in text, text


@claim("check and the server's start name each client with a chosen secret, its line, and the command that replaces it")
def _(world):
    path = three(world)
    config = write(world, "vesta.lua", 'return { clients = "%s", namespaces = { default = { worker = 1 } } }' % path)
    checked = world.run("check", config)
    same(checked.code, 1)
    names_all(checked.out + checked.err, path)
    started = world.run("serve", "--clients", path)
    assert started.code != 0
    names_all(started.err, path)


@claim("after SIGHUP, such a file changes nothing, and the log names its clients")
def _(world):
    path = write(world, "clients", "orders names=* calls=give %s\n" % NEW)
    with Server(world, "--clients", path) as server:
        three(world)
        server.process.send_signal(signal.SIGHUP)
        names_all(server.heard("the file of clients cannot be reloaded"), path)


@claim("vesta client lists chosen secrets and replaces each by a token, and then the file is accepted")
def _(world):
    path = three(world)
    listed = world.run("client", "list", "--file", path)
    same((listed.code, listed.out.count("chosen: rejected, rotate it")), (0, 2))
    same(world.run("client", "list", "--json", "--file", path).out.count('"chosen":true'), 2)
    fails(world.run("client", "set", "web", "--n", "5", "--file", path), 2, "vesta client rotate web")
    tokens = [world.run("client", "rotate", name, "--file", path).out.strip() for name in ("web", "ops")]
    with open(path) as file:
        lines = file.read().splitlines()
    same((lines[0], "chosen" in "".join(lines), lines[3].count("secret=random:"), " n=7 " in lines[3]), ("# ours", False, 2, True))
    with Server(world, "--clients", path) as server:
        for name, token in zip(("web", "ops"), tokens):
            same(server.redis("AUTH", name, token), b"+OK\r\n")


@claim("a client cannot be created with a chosen secret")
def _(world):
    fails(world.run("client", "add", "web", "--secret-file", write(world, "secret", "correct horse battery staple\n"), "--file", world.path("clients")), 2, "--secret-file")
    assert not os.path.exists(world.path("clients"))
    token = world.run("client", "add", "web", "--file", world.path("clients")).out.strip()
    same((len(token), len(set(token)) > 8), (32, True))  # 32 letters of 5 bits each
    with open(world.path("clients")) as file:
        assert token not in file.read()


main()
