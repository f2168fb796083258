"""U4: a pod that was killed and has lost its disk gets the number that its policy fixes again in seconds, also under
`balanced`, whose window is ten minutes for numbers that are drawn."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))
from serving import Configured, claim, main, same  # noqa: E402

POD = """return { namespaces = { orders = { layout = "vesta-milli", store = "sqlite:%s", lease = "balanced", identity = "orders-101",
  path = "%s", policy = { "twitter", worker = 101 } } } }"""


def record(world, uri):
    shown = json.loads(world.run("workers", "--store", uri, "--namespace", "orders", "--json").out)
    found, = shown["workers"]
    return found


@claim("its window is 5 s, and after kill -9 without its file it serves again with the same number, long before ten minutes are over")
def _(world):
    db = world.path("vesta.db")
    same(world.run("store", "init", "--store", "sqlite:" + db, "--namespace", "orders", "--layout", "vesta-milli").code, 0)
    for life in 1, 2:
        server = Configured(world, POD % (db, world.path("pod%d.gen" % life)))
        server.__enter__()  # within the time that the suite gives a test: not ten minutes
        same(server.get("/genid").status, 200)
        found = record(world, "sqlite:" + db)
        same((found["worker"], found["identity"]), (101, "orders-101"))
        assert found["until_ms"] - found["written_ms"] <= 10000, found
        if life == 1:
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            server.process.stderr.close()
        else:
            server.__exit__(None, None, None)


main()
