"""A killed pod that lost its disk gets the worker id that its policy fixes within seconds, even under `balanced`, where
drawn worker ids have a window of ten minutes."""
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
    """Runs one server from its start to kill -9, and calls `look` while it serves."""
    with server:
        same(server.get("/genid").status, 200)
        look(server, record(world, "sqlite:" + db))
        server.kill()


def pod_of(world, files):
    """Creates a namespace, and returns one server per file. A start that exceeds the suite's time limit fails."""
    db = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + db, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    return db, (Configured(world, POD % (db, world.path(file))) for file in files)


def is_small(found):
    same((found["worker"], found["identity"]), (101, "orders-101"))
    assert found["until_ms"] - found["written_ms"] <= 10000, found


@claim("a fixed worker id has a window of 5 s, and after kill -9 without its file the server soon serves with the "
       "same worker id")
def _(world):
    db, servers = pod_of(world, ["pod1.gen", "pod2.gen"])
    for server in servers:
        life(server, world, db, lambda server, found: is_small(found))


@claim("the window is kept if another process, which did not ask the policy, continues the lease")
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


@claim("with fixed = \"ordinal\", only hosts with an ordinal have that window, and others keep the window of their "
       "lease")
def _(world):
    db = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + db, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    with open(world.path("pod.lua"), "w") as file:
        file.write("return { api = 1, fixed = 'ordinal', choose_worker = function(ctx) return ctx.ordinal or 512 end }")
    named = ["unshare", "--uts", "--map-root-user", "sh", "-c", 'hostname "$0" && exec "$@"']
    if subprocess.run([*named, "orders-7", "true"], capture_output=True).returncode != 0:
        return  # Users may not set a host name here.
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
