"""A pod that was killed and has lost its disk gets the number that its policy fixes again in seconds, also under
`balanced`, whose window is ten minutes for numbers that are drawn."""
import json
import time

from serving import Configured, claim, main, same

POD = """return { namespaces = { orders = { layout = "vesta-milli", store = "sqlite:%s", lease = "balanced", identity = "orders-101",
  path = "%s", policy = { "twitter", worker = 101 } } } }"""


def record(world, uri):
    shown = json.loads(world.run("workers", "--store", uri, "--namespace", "orders", "--json").out)
    found, = shown["workers"]
    return found


def life(server, world, db, look):
    """One server from its start to kill -9; `look` sees what it serves and holds."""
    with server:
        same(server.get("/genid").status, 200)
        look(server, record(world, "sqlite:" + db))
        server.kill()


def pod_of(world, files):
    """A namespace of its own, and one server a file; a start that is not done within the suite's time for one fails."""
    db = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + db, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    return db, (Configured(world, POD % (db, world.path(file))) for file in files)


def is_small(found):
    same((found["worker"], found["identity"]), (101, "orders-101"))
    assert found["until_ms"] - found["written_ms"] <= 10000, found


@claim("its window is 5 s, and after kill -9 without its file it serves again with the same number, long before ten minutes are over")
def _(world):
    db, servers = pod_of(world, ["pod1.gen", "pod2.gen"])
    for server in servers:
        life(server, world, db, lambda server, found: is_small(found))


@claim("and keeps that window when another process, which did not ask the policy, goes on with the lease")
def _(world):
    db, servers = pod_of(world, ["pod.gen", "pod.gen"])

    def renewed(server, first):
        found = first
        while found["written_ms"] == first["written_ms"]:
            same(server.get("/genid").status, 200)
            time.sleep(0.1)
            found = record(world, "sqlite:" + db)
        is_small(found)

    for server in servers:
        life(server, world, db, renewed)


main()
