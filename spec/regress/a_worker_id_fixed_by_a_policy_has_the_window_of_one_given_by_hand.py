"""A pod that was killed and has lost its disk gets the number that its policy fixes again in seconds, also under
`balanced`, whose window is ten minutes for numbers that are drawn."""
import json
import subprocess
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


@claim('fixed = "ordinal" gives that window to hosts with an ordinal alone: the others keep the window of their lease')
def _(world):
    db = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + db, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    with open(world.path("pod.lua"), "w") as file:
        file.write("return { api = 1, fixed = 'ordinal', choose_worker = function(ctx) return ctx.ordinal or 512 end }")
    named = ["unshare", "--uts", "--map-root-user", "sh", "-c", 'hostname "$0" && exec "$@"']
    if subprocess.run([*named, "orders-7", "true"], capture_output=True).returncode != 0:
        return  # no user may set a host's name here
    for host, worker, least_ms, most_ms in (("orders-7", 7, 1, 10000), ("build", 512, 500000, 700000)):
        server = Configured(world, """return { namespaces = { orders = { layout = "vesta-milli", store = "sqlite:%s", lease = "balanced",
          path = "%s", policy = "pod.lua" } } }""" % (db, world.path(host + ".gen")))
        server.args = [*named, host, *server.args]
        with server:
            same(server.get("/genid").status, 200)
            found, = (row for row in json.loads(world.run("workers", "--store", "sqlite:" + db, "--namespace", "orders", "--json").out)["workers"]
                      if row["worker"] == worker)
            assert least_ms <= found["until_ms"] - found["written_ms"] <= most_ms, found


main()
