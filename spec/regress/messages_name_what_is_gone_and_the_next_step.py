"""Regression: misleading messages. A namespace without its node w reported "others were faster" 64 times and used a
slot each time. One without its incarnation's node reported that it keeps changing. A quota was an unknown error, a
store that went back did not name the remedy, and doctor ignored a database that does not flush its log."""
import os
import subprocess
import sys
import tempfile

VESTA = os.path.abspath(sys.argv[1])
BUILD = os.path.dirname(VESTA)
from servers import Caller, MariaDB, ZooKeeper, claim, main

CALL, RAW = (os.path.join(BUILD, "spec", "stores", name) for name in ("store_call", "zk_raw"))
zk = ZooKeeper("enforceQuota=true\n").start().ready()
URI = "zk://me:secret@127.0.0.1:%d/vesta" % zk.port
home = tempfile.TemporaryDirectory()


def vesta(*words, uri=URI, ns="orders"):
    env = dict(os.environ, VESTA_STATE=home.name, HOME=home.name)
    return subprocess.run([VESTA, *words, "--store", uri, "--namespace", ns], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60)


def raw(what, path, text=""):
    subprocess.run([RAW, "127.0.0.1:%d" % zk.port, "me:secret", what, path], input=text, text=True, check=True, capture_output=True, timeout=60)


def fresh(ns):
    done = vesta("store", "init", "--layout", "snowflake", ns=ns)
    assert done.returncode == 0, done.stderr


def tag_of(ns):
    done = subprocess.run([RAW, "127.0.0.1:%d" % zk.port, "me:secret", "get", "/vesta/" + ns], capture_output=True, text=True, check=True, timeout=60)
    return "i-" + next(line.split()[1] for line in done.stdout.split("\n") if line.startswith("incarnation "))


@claim("a deleted node, of the records or of the incarnation, is named by a write, doctor and a new process, and "
       "advance recreates it")
def _():
    for what in ("w", "i"):
        ns = "gone" + what
        fresh(ns)
        raw("remove", "/vesta/%s/%s" % (ns, "w" if what == "w" else tag_of(ns)))
        with Caller(CALL, URI, ns) as caller:
            got = caller.ask("swap 7 0 10", "REFUSED")
            assert " was deleted" in got["text"] and "vesta store advance" in got["text"], got
        said = vesta("doctor", "--layout", "snowflake", ns=ns).stdout
        assert "is missing" in said and "vesta store advance" in said, said
        done = vesta("gen", "-n", "1", "--layout", "snowflake", "--wait-ms", "3000", "--path", "%s/%s.gen" % (home.name, ns), ns=ns)
        assert done.returncode != 0 and " was deleted" in done.stderr and "faster" not in done.stderr, done.stderr
        assert vesta("store", "advance", "--yes", "--lease", "strict", ns=ns).returncode == 0
        with Caller(CALL, URI, ns) as caller:
            caller.ask("swap 7 0 10", "OK")


@claim("a quota is reported as a quota")
def _():
    fresh("full")
    raw("put", "/zookeeper/quota/vesta", "")
    raw("put", "/zookeeper/quota/vesta/full", "")
    raw("put", "/zookeeper/quota/vesta/full/zookeeper_limits", "count=-1,bytes=-1,byteHardLimit=10,countHardLimit=4")
    raw("put", "/zookeeper/quota/vesta/full/zookeeper_stats", "count=4,bytes=400")
    with Caller(CALL, URI, "full") as caller:
        got = caller.ask("swap 7 0 10")
        assert got["outcome"] == "REFUSED" and "quota" in got["text"], got


@claim("doctor reports a database that acknowledges unflushed writes")
def _():
    db = MariaDB().start("--innodb-flush-log-at-trx-commit=0")
    db.sql("CREATE DATABASE vesta")
    uri = "mysql://root@127.0.0.1:%d/vesta" % db.port
    assert vesta("store", "init", "--layout", "snowflake", uri=uri).returncode == 0
    said = vesta("doctor", "--layout", "snowflake", uri=uri)
    assert "innodb_flush_log_at_trx_commit is 0" in said.stdout and said.returncode != 0, said.stdout
    db.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
    assert "innodb_flush" not in vesta("doctor", "--layout", "snowflake", uri=uri).stdout


@claim("the message about a store that went back names the remedy")
def _():
    with open(VESTA, "rb") as program:
        assert b"Check that this is the right store, then run: vesta store advance" in program.read()


main()
