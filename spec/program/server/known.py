"""known.py -- the policies of known generators in `vesta serve`, and the worker ids that servers get from a store.
Their decisions on lists of records are tested in spec/policy."""
import re
import subprocess

from serving import SLOW, Configured, claim, main, same

LAYOUT = "sign:1 time:41 seq:9 worker:13 unit=1ms epoch=2020-01-01T00:00:00Z"


def server(world, policy, identity="a", layout=LAYOUT):
    config = 'return { namespaces = { shop = { layout = "%s", store = "s", identity = "%s", path = "%s", policy = %s } },\n' \
             '  stores = { s = { uri = "file:%s" } } }\n' % (layout, identity, world.path(identity + ".gen"), policy, world.path("store"))
    path = world.path(identity + ".lua")
    with open(path, "w") as file:
        file.write(config)
    return Configured(world, path)


def number(running):
    return int(re.search(r'(?m)^vesta_worker_id\{namespace="shop"\} (\d+)$', running.get("/metrics").body).group(1))


def numbers(world, *starts):
    """Returns the worker ids of servers that run one after the other, each with (policy, identity)."""
    got = []
    for policy, identity in starts:
        with server(world, policy, identity) as running:
            assert "a policy chose a worker id" in running.said, running.said
            assert int(running.get("/genid").body) > 0
            got.append(number(running))
    return got


def hash32(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 % 2 ** 32
    return value


@claim("vesta: embedded generators from 0, servers from 924")
def _(world):
    with server(world, '{ "vesta" }', "a") as a, server(world, '{ "vesta" }', "b") as b:
        with server(world, '{ "vesta", role = "server", last = 1023 }', "c") as c:
            same([number(a), number(b), number(c)], [0, 1, 924])
    # the identity's own worker id again, then one that was never used
    same(numbers(world, ('{ "vesta" }', "b"), ('{ "vesta" }', "d")), [1, 2])


@claim("butterfly: the slot of the identity's hash, or the next one if that is held")
def _(world):
    slot = hash32("pod-1") % 16
    other = next(name for name in ("pod-%d" % i for i in range(2, 999)) if hash32(name) % 16 == slot)
    with server(world, '"butterfly"', "pod-1") as one, server(world, '"butterfly"', other) as two:
        same([number(one), number(two)], [slot, (slot + 1) % 16])
    same(numbers(world, ('"butterfly"', "pod-1")), [slot])


@claim("butterfly_db: restarts reuse the same worker id")
def _(world):
    with server(world, '"butterfly_db"', "a") as a:
        same(number(a), 0)
        same(numbers(world, *[('"butterfly_db"', "restart-%d" % i) for i in range(3)]), [1, 1, 1])


@claim("leaf: a name keeps its worker id")
def _(world):
    same(numbers(world, ('"leaf"', "a"), ('"leaf"', "b"), ('"leaf"', "a"), ('"leaf"', "c"), ('"leaf"', "b")), [0, 1, 0, 2, 1])


@claim("uid: each start gets a worker id that was never used")
def _(world):
    same(numbers(world, *[('"uid"', "a")] * 4), [0, 1, 2, 3])


@claim("twitter: the configured worker id")
def _(world):
    same(numbers(world, ('{ "twitter", worker = 7 }', "a"), ('{ "twitter", worker = 8191 }', "b")), [7, 8191])


@claim("any: a worker id that was never used, and the same one at the next start")
def _(world):
    first = numbers(world, ('"any"', "a"))
    same(numbers(world, ('"any"', "b"), ('"any"', "a"))[1:], first)


@claim("with an invalid option no worker id is claimed, and the log names the option and its value")
def _(world):
    for at, (policy, said) in enumerate((('{ "twitter", wroker = 7 }', 'there is no option "wroker", did you mean worker?'),
                                         ('{ "leaf", peers_ms_max = -1 }', "must be a whole number from 0 to 86400000, not -1"),
                                         ('{ "uid", last = 8192 }', "must be a whole number from 0 to 8191, not 8192"),
                                         ('{ "ip_list", ips = {} }', "the option ips has no address"),
                                         ('{ "vesta", border = 8193 }', "the option border must be a whole number from 0 to 8192, not 8193"))):
        waiting = server(world, policy, "w%d" % at)
        process = subprocess.Popen(waiting.args, cwd=world.folder, env=waiting.env, stderr=subprocess.PIPE, text=True)
        try:
            line = ""
            while said not in line:
                assert "serving ids" not in line, line
                line = process.stderr.readline().replace('\\"', '"')
                assert line, "the server ended with %r and no word of %s" % (process.wait(), said)
        finally:
            process.kill()
            process.wait(20 * SLOW)
            process.stderr.close()


main()
