"""Regression: `store advance --yes` set the floor by the clock of a store that was two hours ahead, and no command
could lower it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time

VESTA = os.path.abspath(sys.argv[1])
from servers import Caller, MariaDB, claim, free_port, gives_ids, main, until

CALL = os.path.join(os.path.dirname(VESTA), "spec", "stores", "store_call")
home = tempfile.TemporaryDirectory(prefix="vesta-t9-")
env = dict(os.environ, VESTA_STATE=home.name, HOME=home.name)
db = MariaDB().start()
db.sql("CREATE DATABASE vesta; CREATE USER plain@'127.0.0.1'; GRANT ALL ON vesta.* TO plain@'127.0.0.1'")
PLACE = ["--store", "mysql://plain@127.0.0.1:%d/vesta" % db.port, "--namespace", "orders"]
HOURS = 7200


def vesta(*words, ok=True):
    done = subprocess.run([VESTA, *words, *PLACE], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout if ok else done.stderr


def ahead(seconds):
    db.sql("SET GLOBAL init_connect = '%s'" % ("SET timestamp = UNIX_TIMESTAMP() + %d" % seconds if seconds else ""))


def floor_in_s():
    floor_ms = json.loads(vesta("store", "show", "--json")).get("floor_ms")
    return floor_ms and floor_ms / 1000 - time.time()


def numbers():
    return json.loads(vesta("workers", "--json"))["workers"]


@claim("advance rejects a store's clock that is ahead or behind beyond the limit, unless --trust-store-clock is given")
def _():
    vesta("store", "init", "--layout", "snowflake")
    for seconds in (HOURS, -HOURS, 15, -15):
        ahead(seconds)
        said = vesta("store", "advance", "--yes", "--lease", "strict", ok=False)
        off = float(re.search(r"clock, .* is ([0-9.]+) s", said)[1])  # SET timestamp has a precision of seconds.
        assert abs(off - abs(seconds)) < 4 and "--trust-store-clock" in said, said
        assert ("ahead of" if seconds > 0 else "behind") in said, said
        ahead(0)
        assert floor_in_s() is None
    ahead(HOURS)
    vesta("store", "advance", "--yes", "--lease", "strict", "--trust-store-clock")
    ahead(0)
    assert HOURS < floor_in_s() < HOURS + 60, floor_in_s()


@claim("a floor is not lowered below a granted time")
def _():
    tick = (int(time.time() * 1000) + 3600000 - 1288834974657) << 22
    with Caller(CALL, PLACE[1], "orders") as caller:
        caller.ask("swap 9 0 %d" % tick, "OK")
        said = vesta("store", "lower", "--yes", "--lease", "strict", ok=False)
        assert "worker id 9 was granted" in said, said
        assert floor_in_s() > HOURS - 60
        caller.ask("swap 9 1 1", "OK")


@claim("otherwise the floor is lowered, and a holder that claimed above the old floor issues ids again by itself")
def _():
    port = free_port()
    server = subprocess.Popen([VESTA, "serve", "--http", "127.0.0.1:%d" % port, "--resp", "off", "--layout", "snowflake", "--lease", "strict", *PLACE],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: [row for row in numbers() if row["worker"] != 9], "it claims a number, at the floor")
        assert not gives_ids(port)
        vesta("store", "lower", "--yes", "--lease", "strict")
        assert 0 < floor_in_s() < 30, floor_in_s()
        said = vesta("store", "lower", "--yes", "--lease", "strict", ok=False)
        assert "nothing was done" in said, said
        until(lambda: gives_ids(port), "ids again, a floor of 20 s later", 60)
    finally:
        server.kill()
        server.wait()


main()
