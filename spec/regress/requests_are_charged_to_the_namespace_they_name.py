"""Regression: `namespaces.NAME.requests` of the first namespace was charged for every request, even for PING, tags and
other namespaces, so a client without rights to it could exhaust it."""
import re

from serving import Configured, claim, command, get, main, same

LAYOUT = 'layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"'
RATE = 1
# With wait_ms_max = 0, a request over the rate is rejected at once.
CONFIG = """return { namespaces = {
  first = { worker = 5, requests = %d, wait_ms_max = 0, %s }, second = { worker = 5, requests = %d, wait_ms_max = 0, %s },
  free = { worker = 5, %s } }, segments = { { store = "counters", tags = { "tag" } } },
  stores = { counters = { uri = "sqlite:%s" } } }"""


def server(world):
    store = "sqlite:" + world.path("counters.db")
    for words in (("segments", "init", "--store", store), ("segments", "add", "tag", "--store", store)):
        world.run(*words)
    return Configured(world, CONFIG % (RATE, LAYOUT, RATE, LAYOUT, LAYOUT, world.path("counters.db")))


def talk(s, *commands):
    return s.say(s.resp, b"".join(command(*words) for words in commands))


def is_open(s, name):
    """Returns whether the namespace's rate of requests is unused. This request uses it."""
    return not talk(s, ["GET", name]).startswith(b"-TRYAGAIN 'first' has reached its rate limit" if name == "first" else b"-TRYAGAIN 'second' has")


NAMELESS = [["PING"], ["INFO"], ["TIME"], ["COMMAND", "COUNT"], ["CLIENT", "ID"], ["VESTA.INFO"], ["VESTA.LAYOUTS"], ["SELECT", "0"],
            ["HELLO"], ["ECHO", "x"], ["CONFIG", "GET", "save"], ["MULTI"], ["EXEC"]]
OTHERS = [["GET", "free"], ["MGET", "free", "free"], ["VESTA.NEXT", "free", "2"], ["VESTA.EXPLAIN", "free", "5"], ["VESTA.BLOCK", "free", "5"],
          ["VESTA.MAKE", "free", "time", "1", "seq", "1"], ["GET", "nosuch"], ["INCR", "nosuch"]]


@claim("requests that name no namespace, or another one, use none of a namespace's rate of requests")
def _(world):
    with server(world) as s:
        for _ in range(5):
            talk(s, *NAMELESS, *OTHERS)
        for path in ("/healthz", "/readyz", "/metrics", "/version", "/", "/v1/segments", "/genid?ns=free", "/v1/ids?ns=free", "/nowhere",
                     "/expid?id=1&ns=free", "/transtime?time=1&ns=free", "/makeid?time=1&seq=1&ns=free", "/v1/ids/1?ns=free",
                     "/v1/blocks?n=1&ns=free", "/api/snowflake/get/free", "/decodeSnowflakeId?snowflakeId=1&ns=free"):
            for _ in range(3):
                server_said = s.get(path)
                assert server_said.status != 429, (path, server_said.body)
        assert is_open(s, "first") and not is_open(s, "first")
        assert is_open(s, "second") and not is_open(s, "second")


CHARGED = [["GET", "second"], ["MGET", "second", "second"], ["VESTA.NEXT", "second", "2"], ["VESTA.EXPLAIN", "second", "5"],
           ["VESTA.BLOCK", "second", "5"], ["VESTA.MAKE", "second", "time", "1", "seq", "1"], ["MGET", "free", "second", "free"]]
ROUTES = ["/genid?ns=second", "/v1/ids?ns=second", "/expid?id=1&ns=second", "/transtime?time=1&ns=second", "/v1/ids/1?ns=second",
          "/makeid?time=1&seq=1&ns=second", "/v1/blocks?n=1&ns=second", "/api/snowflake/get/second",
          "/decodeSnowflakeId?snowflakeId=1&ns=second"]


def exhaust(s, name):
    """Afterwards the next request of that namespace would have to wait for seconds."""
    said = talk(s, ["MULTI"], *[["GET", name]] * 30, ["EXEC"])
    assert b"TRYAGAIN" not in said, said


@claim("each command and route is charged to the namespace that it names, and to no other")
def _(world):
    with server(world) as s:
        exhaust(s, "second")
        for words in CHARGED:
            said = talk(s, words)
            assert said.startswith(b"-TRYAGAIN 'second' has reached its rate limit, 1 requests a second"), (words, said)
        for path in ROUTES:
            same((path, s.get(path).status), (path, 429))
        assert is_open(s, "first"), "the first namespace paid for the second"


@claim("a request without a name uses the first namespace and is charged to it")
def _(world):
    with server(world) as s:
        exhaust(s, "first")
        for path in "/genid", "/v1/ids", "/expid?id=1", "/v1/blocks?n=1":
            same((path, s.get(path).status), (path, 429))
        same(s.get("/genid?ns=second").status, 200)


@claim("at EXEC a transaction is charged to each namespace for its commands, including those that issue no id")
def _(world):
    with server(world) as s:
        names = [["GET", "second"], ["VESTA.EXPLAIN", "second", "5"], ["GET", "free"], ["PING"], ["VESTA.MAKE", "second", "time", "1", "seq", "1"]]
        said = talk(s, ["MULTI"], *names, ["EXEC"])
        same((said.count(b"+QUEUED"), b"TRYAGAIN" in said), (5, False))
        assert is_open(s, "first"), "the first namespace paid for a transaction that does not name it"
        said = talk(s, ["MULTI"], *names, ["EXEC"])
        assert b"-TRYAGAIN 'second' has reached its rate limit" in said, said
        waits = re.search(rb"again in (\d+)\.", said)
        # The first transaction cost three requests, the rejected one none.
        assert waits and 1 <= int(waits[1]) <= 3, said


@claim("a request that waits for the rate is charged once")
def _(world):
    config = "return { namespaces = { first = { worker = 5, requests = 10, wait_ms_max = 5000, %s } } }" % LAYOUT
    with Configured(world, config) as s:
        said = s.say(s.resp, command("GET", "first") + command("PING") + command("VESTA.NEXT", "first", "1") * 15)
        same((said.count(b"$"), b"-TRYAGAIN" in said), (31 - 15, False))
        same(s.get("/genid", method="HEAD").status, 200)


main()
