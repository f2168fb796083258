"""Ids of a local lease could run a day ahead of the clock, the floor of an advance is six minutes ahead: a store that was lost
and put right as the manual says gave 189,984 of them again."""
import os

from harness import claim, main, same

LAYOUT = "sign:1=0 time:45 worker:10 seq:8 unit=1s epoch=2026-01-01T00:00:00Z"
PLACE = ["--namespace", "n", "--layout", LAYOUT]


def give(world, name, store, ahead_ms, wait_ms, count):
    done = world.run("gen", "--path", world.path(name), "--store", store, *PLACE, "--worker", "5", "--ahead-ms", str(ahead_ms),
                     "--wait-ms", str(wait_ms), "-n", str(count))
    return done, [int(line) for line in done.lines()]


@claim("what may run an hour ahead is refused, with the number that may not be passed")
def _(world):
    for store in "file:" + world.path("store"), "sqlite:" + world.path("db"):
        done, ids = give(world, "a.gen", store, 360001, 1000, 1)
        same((done.code, len(ids)), (2, 0))
        assert "360001 is more than the 360000 ms" in done.err, done.err


@claim("what ran ahead as far as it may lies below the floor of an advance, and is given by nobody again")
def _(world):
    store = "file:" + world.path("store")
    done, before = give(world, "a.gen", store, 360000, 20000, 360 * 256)  # a slow disk gives the windows for them slowly
    same((done.code, len(before)), (0, 360 * 256))
    os.rename(world.path("store"), world.path("lost"))
    done = world.run("store", "advance", "--store", store, *PLACE, "--lease", "local", "--yes")
    same(done.code, 0)
    # another generator file with that number, as far ahead as one may be: it has to wait for the floor
    done, after = give(world, "b.gen", store, 360000, 20000, 1000)
    same((done.code, len(after)), (0, 1000))
    assert min(after) > max(before), (min(after), max(before))


main()
