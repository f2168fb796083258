"""watermarks.py -- `vesta watermark`, /v1/watermark and VESTA.WATERMARK: values, errors, and a store that is gone."""
import json
import os
import time

from serving import Configured, claim, main, same

SORTED = "sign:1=0 time:41 worker:10 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"
ABOVE = "sign:1=0 worker:10 time:41 seq:12 unit=1ms epoch=2020-01-01T00:00:00Z"
EPOCH_MS = 1577836800000


def config(world, layout=SORTED, more=""):
    return ("return { stores = { a = { uri = 'file:%s' } }, namespaces = { orders = { store = 'a', layout = '%s' %s } } }"
            % (world.path("store"), layout, more))


def init(world, layout=SORTED, starts=True):
    store = "file:" + world.path("store")
    same(world.run("store", "init", "--store", store, "--namespace", "orders", "--layout", layout).code, 0)
    done = world.run("watermark", "orders", "--store", store, *(["--start"] if starts else []))
    return done.out, done.err


def asks(server, query="ns=orders"):
    reply = server.get("/v1/watermark?" + query)
    return reply.status, json.loads(reply.body)


@claim("the command, HTTP and the Redis protocol give the same watermark, and later ids are above it")
def _(world):
    first = int(init(world)[0])
    with Configured(world, config(world)) as server:
        status, mark = asks(server)
        same((status, mark["ns"]), (200, "orders"))
        assert int(mark["id"]) >= first and int(mark["id"]) >> 22 == mark["time_ms"] - EPOCH_MS - 1, mark
        assert 9000 <= mark["behind_ms"] < 60000, mark
        assert int(server.get("/genid?ns=orders").body) > int(mark["id"])
        said = server.redis("VESTA.WATERMARK", "orders").split(b"\r\n")
        same(said[8], mark["id"].encode())
        assert server.redis("VESTA.WATERMARK", "orders", "yesterday").startswith(b"-ERR by 'yesterday' must be time")
        done = world.run("watermark", "orders", "--store", "file:" + world.path("store"), "--json")
        shown = json.loads(done.out)
        assert int(shown["id"]) >= int(mark["id"]) and shown["namespace"] == "orders", shown


@claim("a watermark is refused with the reason: not started, unknown, a worker id above the time, history pacing")
def _(world):
    out, err = init(world, starts=False)
    assert out == "" and "has no watermarks yet" in err and "--start" in err, err
    done = world.run("watermark", "other", "--store", "file:" + world.path("store"))
    assert done.code and done.out == "" and "is not in the store" in done.err, done
    with Configured(world, config(world)) as server:
        status, error = asks(server)
        same((status, error["code"]), (503, "not_served"))
        same(asks(server, "ns=other")[1]["code"], "unknown_name")
        same(asks(server, "ns=orders&by=week")[1]["code"], "bad_field")


@claim("if ids do not sort by time, only the time is a watermark")
def _(world):
    out, err = init(world, ABOVE)
    assert out == "" and "the worker id is above the time" in err, err
    done = world.run("watermark", "orders", "--time", "--store", "file:" + world.path("store"))
    assert done.out.endswith("Z\n") and done.code == 0, done
    with Configured(world, config(world, ABOVE)) as server:
        same(asks(server)[1]["code"], "bad_command")
        status, mark = asks(server, "ns=orders&by=time")
        assert status == 200 and "id" not in mark and mark["behind_ms"] < 60000, mark


@claim("with history pacing there is no watermark, and the holder is named")
def _(world):
    init(world)
    with Configured(world, config(world, more=", pacing = 'history'")) as server:
        assert server.get("/genid?ns=orders").status == 200
        status, error = asks(server)
        same((status, error["code"]), (503, "not_served"))
        assert "history pacing" in error["detail"] and "worker id" in error["detail"], error


@claim("while the store is gone, a watermark is an error at once, and the last one is not repeated")
def _(world):
    init(world)
    store = world.path("store")
    with Configured(world, config(world)) as server:
        same(asks(server)[0], 200)
        os.rename(store, store + ".away")
        time.sleep(1.2)  # a reading answers the requests of the next second
        begun = time.monotonic()
        status, error = asks(server)
        assert status == 503 and "id" not in error and time.monotonic() - begun < 10, error
        os.rename(store, store + ".empty") if os.path.exists(store) else None
        os.rename(store + ".away", store)
        same(asks(server)[0], 200)


main()
