"""a_server_passes_a_leap_second.py -- a server whose clock gets a leap second, inserted and then deleted: whoever waits a second gets
an id, none comes twice and none is older."""
import json

from serving import Server, claim, main, same, set_clock, shifted


def ids_of(server, n):
    """n ids by requests of one each; all are answered."""
    ids = []
    for _ in range(n):
        reply = server.get("/genid")
        same((reply.status, reply.body.isdigit()), (200, True))
        ids.append(int(reply.body))
    return ids


@claim("a leap second, inserted and deleted: 0 refused of those that wait, none twice, none out of order")
def leap(world):
    for layout, ns in (("vesta-second", "s"), ("vesta-milli", "m"), ("butterfly", "b")):
        clock = world.path("clock-" + ns)
        set_clock(clock, "+0")
        with Server(world, "--namespace", ns, "--wait-ms", "30000", layout=layout, pacing="clock", env=shifted(clock)) as server:
            ids = ids_of(server, 40)
            set_clock(clock, "-1")  # 23:59:59 again
            ids += ids_of(server, 40)
            set_clock(clock, "+0")  # 23:59:59 never comes
            ids += ids_of(server, 40)
            same(ids, sorted(set(ids)))
            first, last = (json.loads(server.get("/v1/ids/%d" % i).body)["unix_ms"] for i in (ids[0], ids[-1]))
            assert last >= first, (first, last)


main()
