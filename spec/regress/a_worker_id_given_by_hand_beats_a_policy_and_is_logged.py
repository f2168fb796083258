"""A worker id that was assigned when the generator file was created stays, whatever policy a later config names. The
log reports this once, with advice."""
import time

from serving import SLOW, Configured, claim, main, same

SENTENCE = "a policy is not asked for a worker id: the generator file has one, assigned by hand"
CONFIG = """return { log = { file = "%s" }, namespaces = { orders = { path = "%s", store = "sqlite:%s", layout = "vesta-milli",
  policy = "%s" } } }"""


@claim("a policy next to an assigned worker id is not called, and the log reports this once, with advice")
def _(world):
    path, db, policy, log = (world.path(name) for name in ("a.gen", "vesta.db", "policy.lua", "log"))
    with open(policy, "w") as file:
        file.write("return { api = 1, choose_worker = function(ctx) return 9 end }\n")
    same(world.run("gen", "--namespace", "orders", "--path", path, "--store", "sqlite:" + db, "--layout", "vesta-milli",
                   "--worker", "3").code, 0)
    server = Configured(world, CONFIG % (log, path, db, policy))
    server.quiet = True
    with server:
        end = time.monotonic() + 30 * SLOW
        while True:
            asked = server.get("/genid")
            if asked.status == 200:
                break
            assert time.monotonic() < end, asked.body
            time.sleep(0.05)
        while SENTENCE not in open(log).read():  # until the policy thread runs
            assert time.monotonic() < end, open(log).read()
            time.sleep(0.05)
        time.sleep(1)
        metrics = server.get("/metrics").body
        assert 'vesta_worker_id{namespace="orders"} 3\n' in metrics, metrics
    with open(log) as file:
        said = file.read()
    same(said.count(SENTENCE), 1)
    line, = [one for one in said.splitlines() if SENTENCE in one]
    for part in ("orders", "remove it, or remove choose_worker"):
        assert part in line, line
    assert "a policy chose a worker id" not in said, said


main()
