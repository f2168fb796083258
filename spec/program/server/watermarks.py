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
        assert int(server.get("/genid?ns=orders").body) > first
        status, mark = asks(server)
        same((status, mark["ns"]), (200, "orders"))
        assert int(mark["id"]) >= first and int(mark["id"]) >> 22 == mark["time_ms"] - EPOCH_MS - 1, mark
        assert 9000 <= mark["behind_ms"] < 60000, mark
        assert int(server.get("/genid?ns=orders").body) > int(mark["id"])
        said = server.redis("VESTA.WATERMARK", "orders").split(b"\r\n")
        same(said[8], mark["id"].encode())
        assert server.redis("VESTA.WATERMARK", "orders", "yesterday").startswith(b"-ERR by 'yesterday' must be id or time")
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
        assert server.get("/genid?ns=orders").status == 200
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
        assert "history pacing" in error["detail"] and "so that it releases its worker id. If it was killed" in error["detail"], error


@claim("masked ids do not sort by time, so only the time is a watermark, and no plain id is shown")
def _(world):
    init(world)
    secret = world.path("mask.key")
    with open(secret, "w", encoding="utf-8") as key:
        key.write("00112233445566778899aabbccddeeff\n")
    os.chmod(secret, 0o600)
    with Configured(world, config(world, more=", mask = { digits = 20, secret_file = '%s' }" % secret)) as server:
        same(server.get("/genid?ns=orders").status, 200)
        status, error = asks(server)
        assert (status, error["code"]) == (400, "bad_command") and "masked" in error["detail"], error
        status, mark = asks(server, "ns=orders&by=time")
        assert status == 200 and "id" not in mark and mark["behind_ms"] < 60000, mark
        assert b"masked" in server.redis("VESTA.WATERMARK", "orders")


@claim("a namespace with two layouts has a watermark for each, and a reader that names none gets neither")
def _(world):
    first = SORTED.replace("sign:1=0", "version:1=0")
    second = SORTED.replace("sign:1=0", "version:1=1")
    store = "file:" + world.path("store")
    init(world, first)
    with Configured(world, config(world, first)) as server:
        early = server.get("/genid?ns=orders").body
        same([asks(server)[0], asks(server, "ns=orders&leased_as=orders")[0]], [200, 200])
        same(asks(server, "ns=orders&leased_as=orders.2")[1]["code"], "not_served")
        same(world.run("store", "relayout", "--store", store, "--namespace", "orders", "--layout", second).code, 0)
        time.sleep(1.1)  # a reading answers the requests of the next second
        status, error = asks(server)
        same((status, error["code"]), (400, "bad_command"))
        assert "from leased_as=orders to leased_as=orders.2" in error["detail"], error
        assert server.redis("VESTA.WATERMARK", "orders").startswith(b"-ERR 'orders' has 2 layouts"), "no layout was named"
        status, mark = asks(server, "ns=orders&leased_as=orders")
        assert (status, mark["leased_as"]) == (200, "orders") and int(mark["id"]) < int(early), mark
        assert b"orders.2" in server.redis("VESTA.WATERMARK", "orders", "ID", "orders.2")
        asked = time.monotonic()
        same(asks(server, "ns=orders&leased_as=orders.2")[1]["code"], "not_served")  # it has not been started
        same(world.run("watermark", "orders.2", "--store", store, "--start").code, 0)
        again = asks(server, "ns=orders&leased_as=orders.2")[1]
        assert again.get("code") == "not_served" or time.monotonic() - asked > 0.9, again  # so does an error
        time.sleep(1.1)
        status, mark = asks(server, "ns=orders&leased_as=orders.2")
        assert (status, mark["leased_as"]) == (200, "orders.2") and int(mark["id"]) >= 2 ** 63, mark
        for name in ("default", "orders.100", "orders.02", "a/b", "x" * 65):
            same(asks(server, "ns=orders&leased_as=" + name)[1]["code"], "bad_field")
    done = world.run("watermark", "orders", "--store", store)
    same([line.split(" ")[0] for line in done.out.splitlines()], ["orders", "orders.2"])


def forge(path, **changes):
    """Changes values of a record in a file store."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split(" ", 1) for line in file.read().splitlines()]
    text = "".join("%s %s\n" % (key, changes.get(key, value)) for key, value in lines if key != "sum")
    total = 0xcbf29ce484222325
    for byte in text.encode():
        total = (total ^ byte) * 0x100000001b3 % 2 ** 64
    with open(path, "w", encoding="utf-8") as file:
        file.write("%ssum %016x\n" % (text, total))


@claim("store lower lowers a mark that was raised by a clock that was ahead, and a floor together with it")
def _(world):
    init(world)
    store = ("--store", "file:" + world.path("store"), "--namespace", "orders")
    record = next(os.path.join(at, name) for at, _, names in os.walk(world.path("store")) for name in names if "mark_ms" in open(os.path.join(at, name), encoding="utf-8").read())

    def shown():
        return json.loads(world.run("store", "show", *store, "--json").out)

    assert world.run("store", "lower", *store, "--yes").code == 1, "there was nothing to lower"
    for floor_ms in (0, int((time.time() + 86400 * 29) * 1000)):
        was = shown()["incarnation"]
        forge(record, mark_ms=int((time.time() + 86400 * 30) * 1000), floor_ms=floor_ms)
        done = world.run("store", "lower", *store, "--yes")
        same(done.code, 0)
        assert "are no longer true" in done.err, done.err
        got = shown()
        assert got["mark_ms"] <= time.time() * 1000, got
        same((got["incarnation"] == was, "floor_ms" in got), (floor_ms == 0, floor_ms != 0))


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
        time.sleep(1.2)
        same(asks(server)[0], 200)


main()
