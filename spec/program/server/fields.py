"""fields.py -- `vesta serve` with extreme layouts."""
import json

from serving import Server, bulks, claim, main, same

MICRO = "sign:1=0 time:53 worker:10 unit=1us epoch=1970-01-01T00:00:00Z"
HIGH = "time:41 worker:11 seq:12 unit=1ms epoch=1970-01-01T00:00:00Z"  # Its highest bit is set since 2004.


@claim("a layout in microseconds without a sequence issues ids, explains them and rebuilds them")
def _(world):
    with Server(world, layout=MICRO, pacing="clock") as server:
        ids = [int(server.get("/genid").body) for _ in range(20)]
        same(sorted(set(ids)), ids)
        parts = json.loads(server.get("/expid?id=%d" % ids[0]).body)
        same((parts["time"], parts["worker"], "seq" in parts), (ids[0] >> 10, ids[0] & 1023, False))
        told = json.loads(server.get("/v1/ids/%d" % ids[0]).body)
        same((told["id"], told["unix_ms"], "seq" in told), (str(ids[0]), (ids[0] >> 10) // 1000, False))
        same(int(server.get("/makeid?time=%d&machine=%d" % (parts["time"], parts["worker"])).body), ids[0])
        same(server.get("/makeid?machine=1").status, 400)
        same(server.get("/makeid?time=9007199254740992&machine=1").status, 400)


@claim("ids above 2^63 are unsigned in every reply")
def _(world):
    with Server(world, layout=HIGH, pacing="clock") as server:
        number = int(server.get("/genid").body)
        assert number >= 1 << 63, number
        parts = json.loads(server.get("/v1/ids/%d" % number).body)
        same((parts["id"], parts["time"] >> 40), (str(number), 1))
        same(int(server.get("/makeid?time=%d&seq=%d&machine=%d" % (parts["time"], parts["seq"], parts["worker"])).body), number)
        [given] = bulks(server.redis("GET", "default"))
        assert given > number, (given, number)


@claim("a server rejects a read-only layout, with the reason")
def _(world):
    for layout, why in (("mastodon", "62 bits"), ("cockroachdb", "a lease cannot reserve")):
        done = world.run("serve", "--http", "unix:" + world.path("s"), "--resp", "off", "--layout", layout, "--worker", "3")
        assert done.code != 0 and "can be read, not issued" in done.err and why in done.err, (done.code, done.err)


main()
