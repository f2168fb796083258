"""T5: a call had 0.8 s for its connection and all its checks, and what it had done by then was lost: no number at 150 ms of
distance from MariaDB, 300 ms from ZooKeeper."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

VESTA = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "stores"))
from far import Far  # noqa: E402
from servers import SLOW, MariaDB, ZooKeeper, claim, main  # noqa: E402

FIRST_ID_S = 10
ROUND_TRIP_S = 0.5
home = tempfile.mkdtemp(prefix="vesta-far-")


def vesta(*words, **kw):
    env = dict(os.environ, VESTA_STATE=home, HOME=home)
    return subprocess.run([VESTA, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, env=env, **kw)


def first_id(near, far, name):
    """Seconds until the first id of a newcomer, by its own clock."""
    done = vesta("store", "init", "--store", near, "--namespace", name, "--layout", "snowflake")
    assert done.returncode == 0, done.stderr
    begun = time.monotonic()
    done = vesta("gen", "-n", "1", "--store", far, "--namespace", name, "--layout", "snowflake", "--lease", "balanced",
                 "--path", os.path.join(home, name + ".gen"), "--wait-ms", "60000")
    took = time.monotonic() - begun
    assert done.returncode == 0 and re.fullmatch(r"\d+\n", done.stdout), done.stderr
    print("# first id after %.1f s" % took)
    return took


def doctor_says(uri, name):
    return vesta("doctor", "--store", uri, "--namespace", name, "--layout", "snowflake").stdout


@claim("MariaDB with TLS, half a second away: the first id within 10 s under balanced")
def _():
    db = MariaDB()
    folder = db.start_with_tls()
    db.sql("CREATE DATABASE vesta; CREATE USER far@'127.0.0.1' IDENTIFIED BY 's' REQUIRE SSL; GRANT ALL ON vesta.* TO far@'127.0.0.1'")
    far = Far(db.port, ROUND_TRIP_S)
    uri = "mysql://far:s@127.0.0.1:%d/vesta?tls=verify&ca=" + folder + "/ca.pem"
    assert first_id(uri % db.port, uri % far.port, "maria") < FIRST_ID_S * SLOW
    said = doctor_says(uri % far.port, "maria")
    assert re.search(r"round trip of 0\.[5-9]\d* s", said) and "leases that it fits: balanced, autonomous" in said, said


@claim("ZooKeeper, half a second away: the first id within 10 s under balanced")
def _():
    zk = ZooKeeper().start().ready()
    far = Far(zk.port, ROUND_TRIP_S)
    uri = "zk://me:secret@127.0.0.1:%d/vesta"
    assert first_id(uri % zk.port, uri % far.port, "zoo") < FIRST_ID_S * SLOW
    said = doctor_says(uri % far.port, "zoo")
    assert re.search(r"round trip of 0\.[5-9]\d* s", said) and "leases that it fits: balanced, autonomous" in said, said


try:
    main()
finally:
    shutil.rmtree(home, ignore_errors=True)
