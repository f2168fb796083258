"""A leap second, inserted and then deleted in the server's clock: a client that can wait a second gets an id, without
duplicates, in ascending order."""
import json

from serving import Server, claim, main, same, set_clock, shifted


def ids_of(server, n):
    ids = []
    for _ in range(n):
        reply = server.get("/genid")
        same((reply.status, reply.body.isdigit()), (200, True))
        ids.append(int(reply.body))
    return ids


@claim("during an inserted and a deleted leap second no waiting request is rejected, and ids are unique and ascending")
def leap(world):
    for layout, ns in (("vesta-second", "s"), ("vesta-milli", "m"), ("butterfly", "b")):
        clock = world.path("clock-" + ns)
        set_clock(clock, "+0")
        with Server(world, "--namespace", ns, "--wait-ms", "30000", layout=layout, pacing="clock", env=shifted(clock)) as server:
            ids = ids_of(server, 40)
            set_clock(clock, "-1")  # 23:59:59 occurs twice.
            ids += ids_of(server, 40)
            set_clock(clock, "+0")  # 23:59:59 is skipped.
            ids += ids_of(server, 40)
            same(ids, sorted(set(ids)))
            first, last = (json.loads(server.get("/v1/ids/%d" % i).body)["unix_ms"] for i in (ids[0], ids[-1]))
            assert last >= first, (first, last)


main()
