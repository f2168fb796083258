"""Regression: in a transaction, VESTA.EXPLAIN and VESTA.MAKE were answered for a namespace without the client's right,
because only commands that issue ids were checked when queued."""
from serving import Configured, claim, command, main, same

LAYOUT = 'layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"'
CONFIG = 'return { namespaces = { hers = { worker = 5, %s }, his = { worker = 5, %s } }, clients = "%s" }'
CALLS = [["GET"], ["MGET"], ["VESTA.NEXT"], ["INCR"], ["VESTA.EXPLAIN", "5"], ["VESTA.MAKE", "time", "1", "seq", "1"]]


def add(world, name, *words):
    done = world.run("client", "add", name, *words, "--file", world.path("clients"))
    assert done.code == 0, done.err
    return done.out.strip()


@claim("a client that may not use a namespace is rejected by each command of a transaction that names it")
def _(world):
    secret = add(world, "her", "--names", "hers", "--calls", "give,read,make")
    with Configured(world, CONFIG % (LAYOUT, LAYOUT, world.path("clients"))) as server:
        for name, *rest in CALLS:
            for ns in "hers", "his":
                words = [["AUTH", secret], ["MULTI"], [name, ns, *rest], ["EXEC"]]
                said = server.say(server.resp, b"".join(command(*one) for one in words))
                same((name, ns, b"-NOPERM" in said, b"-EXECABORT" in said), (name, ns, ns == "his", ns == "his"))


main()
