"""Regression: the preset `butterfly` was the layout of Butterfly 1.0.1, so a worker id reserved for vesta made the ids
that a current Butterfly makes with another worker id.

The ids are in spec/vectors/ids.csv. Butterfly's own classes of each version made them.
"""
import json

from harness import claim, main, same
from serving import Server

# One process each, worker id 9, one id after the other.
SINCE_1_0_2 = (893538532788797459, 893538532788813842, 893538532788813843, 893538532788830226)
UP_TO_1_0_1 = (893538526191165449, 893538526191173641, 893538526191181833, 893538526191190025)


def read(world, layout, ids):
    lines = world.run("explain", "--json", "--layout", layout, *map(str, ids)).out.splitlines()
    return [(p["time"], p["seq"], p["worker"]) for p in map(json.loads, lines)]


@claim("ids of Butterfly since 1.0.2 are read with their worker id and consecutive sequence numbers")
def since(world):
    same(read(world, "butterfly", SINCE_1_0_2), [(213036187360, seq, 9) for seq in (1, 2, 3, 4)])


@claim("ids of Butterfly up to 1.0.1 are read so by the preset of that version")
def before(world):
    same(read(world, "butterfly-v1.0.1", UP_TO_1_0_1), [(213036185787, seq, 9) for seq in (1, 2, 3, 4)])


@claim("three consecutive ids reveal the wrong version's preset, because the worker id changes")
def told_apart(world):
    assert len({worker for _, _, worker in read(world, "butterfly-v1.0.1", SINCE_1_0_2)}) > 1
    assert len({worker for _, _, worker in read(world, "butterfly", UP_TO_1_0_1)}) > 1


def of_butterfly(time, seq, worker):
    """Returns the id of Butterfly's UuidSplicer, verified with the ids above."""
    return time << 22 | (seq >> 1) << 14 | worker << 1 | seq & 1


@claim("no id of worker 18 is an id that Butterfly makes with worker 9 or 9 + 4096")
def apart(world):
    same([of_butterfly(213036187360, seq, 9) for seq in (1, 2, 3, 4)], list(SINCE_1_0_2))
    ids = [int(i) for i in world.run("gen", "--layout", "butterfly", "--worker", "18", "-n", "20000").lines()]
    same(len(set(ids)), 20000)
    times = {(i >> 22) for i in ids}
    others = {of_butterfly(time, seq, worker) for time in times for seq in range(512) for worker in (9, 9 + 4096)}
    same((len(others), len(others & set(ids))), (len(times) * 1024, 0))
    same({worker for _, _, worker in read(world, "butterfly", ids[::500])}, {18})


def places(layout):
    """Returns for each bit of the tick, from the lowest, its place in an id, as docs/blocks.md describes for clients.
    """
    shift, at = 64, {"time": [], "seq": []}
    for word in layout.split():
        name, _, width = word.partition(":")
        if width and "=" not in name:
            shift -= int(width.split("=")[0])
            at.setdefault(name, [])[:0] = range(shift, shift + int(width.split("=")[0]))
    return at["seq"] + at["time"]


@claim("a server's blocks, composed as documented, are consecutive ids, and /expid and /v1/ids show the sequence once")
def served(world):
    with Server(world, layout="butterfly", pacing="history") as server:
        block = json.loads(server.get("/v1/blocks?n=2000").body)
        assert "seq:8 worker:13 seq:1 " in block["layout"], block
        bits = places(block["layout"])
        ids = [int(block["base"]) + sum((tick >> i & 1) << place for i, place in enumerate(bits))
               for tick in range(int(block["first"]), int(block["first"]) + block["count"])]
        got = read(world, "butterfly", ids)
        same({worker for _, _, worker in got}, {5})
        same([time * 512 + seq - int(block["first"]) for time, seq, _ in got], list(range(block["count"])))
        for path in ("/expid?id=%d", "/v1/ids/%d"):
            body = server.get(path % SINCE_1_0_2[1]).body
            same((body.count('"seq"'), json.loads(body)["seq"], json.loads(body)["worker"]), (1, 2, 9))
        same(server.get("/makeid?time=213036187360&seq=2&worker=9").body, str(SINCE_1_0_2[1]))


main()
