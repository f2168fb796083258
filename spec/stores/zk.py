"""zk.py -- tests the zk: store on a real ZooKeeper: the contract, and faults.  zk.py STORE_CONTRACT STORE_CALL ZK_RAW
STORE_COUNTERS"""
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from servers import Caller, Proxy, ZooKeeper, claim, contract, free_port, has, main, until

CONTRACT, CALL, RAW, COUNTERS = sys.argv[1:5]
zk = ZooKeeper().start().ready()


def uri(user="me:se%2Fcret@", port=None, root="/vesta", more=""):
    return "zk://%s127.0.0.1:%d%s%s" % (user, port or zk.port, root, more)


def is_write(data):
    """Whether a request is a write: only a write contains the path of the incarnation's node.  A request comes in one
    piece, after its length."""
    return b"/i-" in data


def raw(what, path, text="", auth="me:se/cret", ok=True):
    done = subprocess.run([RAW, "127.0.0.1:%d" % zk.port, auth, what, path], input=text, capture_output=True, text=True, timeout=60)
    assert not ok or done.returncode == 0, done.stderr
    return done.stdout


HASTY_MS = 800  # short, because these cases wait for the deadline


def fresh(ns, where=None, **kw):
    """Creates a namespace with worker id 7 at version 1.  Returns the caller that made it."""
    caller = Caller(CALL, where or uri(), ns, **kw)
    caller.ask("make 5 77", "OK")
    caller.ask("swap 7 0 10", "OK")
    return caller


@claim("without a root, the store is refused with the command that creates it, and creates none")
def _():
    with Caller(CALL, uri()) as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10"):
            has(caller.ask(order, "REFUSED")["text"], "vesta store init")
    assert subprocess.run([RAW, "127.0.0.1:%d" % zk.port, "-", "get", "/vesta"], capture_output=True).returncode != 0


@claim("init needs a user for the ACL, or acl=open")
def _():
    with Caller(CALL, uri("")) as caller:
        has(caller.ask("init", "REFUSED")["text"], "acl=open")
    with Caller(CALL, uri()) as caller:
        caller.ask("init", "OK")
        caller.ask("init", "OK")  # a second time, it changes nothing
    with Caller(CALL, uri(root="/deep/in/vesta")) as caller:
        caller.ask("init", "OK")
        caller.ask("ns", "OK")


@claim("the contract holds")
def _():
    contract(CONTRACT, uri(), 18)


@claim("the contract holds with acl=open")
def _():
    contract(CONTRACT, uri("", root="/open", more="?acl=open"), 18)


@claim("the contract of counters holds, also with acl=open")
def _():
    contract(COUNTERS, uri(), 16)
    contract(COUNTERS, uri("", root="/open", more="?acl=open"), 16)


def took(got):
    return got["from"], got["to"]


@claim("a counter's lost reply: unknown, done, and its numbers are lost; a lost request: not done")
def _():
    proxy = Proxy(zk.port)

    def is_take(data):
        return b"vesta counter" in data  # only a write contains a text

    with Caller(CALL, uri(port=proxy.port)) as caller:
        caller.ask("add lost 1 10", "OK")
        assert took(caller.ask("take lost 0", "OK")) == (1, 11)
        proxy.at, proxy.lose_answers = is_take, True
        caller.ask("take lost 5", "UNKNOWN")
        proxy.heal()
        assert took(caller.settle("take lost 5")) == (16, 21)
        proxy.at, proxy.lose_requests = is_take, True
        caller.ask("take lost 5", "UNKNOWN")
        proxy.heal()
        assert took(caller.settle("take lost 5")) == (21, 26)


@claim("a tag's node that is damaged, another tag's, or writable by anyone is refused and not changed")
def _():
    with Caller(CALL, uri()) as caller:
        caller.ask("add hostile 1 10", "OK")
        caller.ask("add other 1 10", "OK")
        text = raw("get", "/vesta/~counters/hostile")
        for other, part in ((text[:40], "truncated"), ("", "empty"), (text.replace("max 1", "max 2"), "checksum"), ("hello\n", "not a vesta record"),
                            (text.replace("counter 1", "counter 2"), "newer vesta"), (raw("get", "/vesta/~counters/other"), "belongs to another tag")):
            raw("put", "/vesta/~counters/hostile", other)
            for order in ("take hostile 5", "untake hostile 1 5", "step hostile 5", "add hostile 1 5"):
                has(caller.ask(order, "REFUSED")["text"], "'hostile'", part)
            got = caller.ask("tags", "OK")
            assert (got["passed"], got["unusable"]) == (0, 1), got
            has(got["text"], "hostile: ", part)
            assert raw("get", "/vesta/~counters/hostile") == other
        raw("put", "/vesta/~counters/hostile", text)
        assert took(caller.ask("take hostile 0", "OK")) == (1, 11)
        raw("open", "/vesta/~counters/hostile")
        has(caller.ask("take hostile 0", "REFUSED")["text"], "anyone may write")


@claim("another user is not authorized, and the error does not show the password")
def _():
    fresh("mine").__exit__()
    for user in ("me:wr0ng@", "other:se%2Fcret@", ""):
        with Caller(CALL, uri(user), "mine") as caller:
            for order in ("ns", "read 7", "swap 7 1 20", "list"):
                text = caller.ask(order, "REFUSED")["text"]
                has(text, "not authorized")
                assert "wr0ng" not in text and "cret" not in text


@claim("a root or namespace node that anyone may write is refused, unless the URI has acl=open")
def _():
    with Caller(CALL, uri(root="/opened")) as caller:
        caller.ask("init", "OK")
    fresh("a", uri(root="/opened")).__exit__()
    raw("open", "/opened/a")
    with Caller(CALL, uri(root="/opened"), "a") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "anyone may write")
    with Caller(CALL, uri(root="/opened"), "b") as caller:
        caller.ask("ns", "OK")
    raw("open", "/opened")
    with Caller(CALL, uri(root="/opened"), "b") as caller:
        has(caller.ask("ns", "REFUSED")["text"], "anyone may write")
    with Caller(CALL, uri(root="/opened", more="?acl=open"), "a") as caller:
        caller.ask("ns", "OK")


@claim("a lost reply: the outcome is unknown, and the write was done")
def _():
    proxy = Proxy(zk.port)
    fresh("lost").__exit__()
    with Caller(CALL, uri(port=proxy.port), "lost") as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        proxy.at, proxy.lose_answers = is_write, True  # the write reads first, and that reply arrives
        caller.ask("swap 7 2 30", "UNKNOWN")
        proxy.heal()
        got = caller.settle("read 7")
        assert (got["ver"], got["until"]) == (3, 30), got
        caller.ask("swap 7 2 31", "CONFLICT")
        caller.ask("swap 7 3 40", "OK")


@claim("a lost request: the outcome is unknown, and the write was not done")
def _():
    proxy = Proxy(zk.port)
    fresh("lost2").__exit__()
    with Caller(CALL, uri(port=proxy.port), "lost2") as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        proxy.at, proxy.lose_requests = is_write, True
        caller.ask("swap 7 2 30", "UNKNOWN")
        proxy.heal()
        got = caller.settle("read 7")
        assert (got["ver"], got["until"]) == (2, 20), got
        caller.ask("swap 7 2 30", "OK")


@claim("a broken connection is opened again, in the same session")
def _():
    proxy = Proxy(zk.port)
    fresh("broken").__exit__()
    with Caller(CALL, uri(port=proxy.port), "broken") as caller:
        caller.ask("ns", "OK")
        for ver in range(1, 4):
            proxy.cut()
            got = caller.settle("read 7")
            assert got["ver"] == ver
            caller.ask("swap 7 %d 20" % ver, "OK")


@claim("a server that stops: a call ends at its deadline, requests that it received may be done later, and a late reply does no harm")
def _():
    with fresh("stopped", call_ms=HASTY_MS) as caller:
        zk.pause()
        try:
            for order in ("read 7", "swap 7 1 20", "ns", "list", "read 7"):
                caller.ask(order, "DOWN")
                # a write is not sent if the read before it got no reply
        finally:
            zk.go_on()
        got = caller.settle("read 7")
        assert got["ver"] == 1, got
        caller.settle("swap 7 1 20")


@claim("a store that is closed while its server stops during a write ends without a crash")
def _():
    proxy = Proxy(zk.port)
    fresh("closing").__exit__()
    with Caller(CALL, uri(port=proxy.port), "closing", HASTY_MS) as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 15", "OK")
        proxy.at, proxy.hold_requests = is_write, True
        caller.ask("swap 7 2 20", "UNKNOWN")


@claim("an abandoned write may be done later: then it is detected, and no late reply is taken for another call's")
def _():
    proxy = Proxy(zk.port)
    fresh("late").__exit__()
    with Caller(CALL, uri(port=proxy.port), "late", HASTY_MS) as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 15", "OK")
        proxy.at, proxy.hold_requests = is_write, True
        caller.ask("swap 7 2 20", "UNKNOWN")
        caller.ask("read 7", "DOWN")
        proxy.heal()
        until(lambda: caller.ask("read 7").get("ver") == 3, "the late write is seen")
        assert caller.ask("read 7", "OK")["until"] == 20
        caller.ask("swap 7 2 21", "CONFLICT")
        caller.ask("swap 7 3 30", "OK")


@claim("an expired session is opened again, and the next swap succeeds")
def _():
    with fresh("expired") as caller:
        caller.process.send_signal(signal.SIGSTOP)
        time.sleep(7)  # a session lives 4 s
        caller.process.send_signal(signal.SIGCONT)
        got = caller.settle("read 7")
        assert got["ver"] == 1, got
        caller.ask("swap 7 1 20", "OK")


@claim("a server that is killed and started again: calls are down in the meantime, nothing is lost, and the store recovers")
def _():
    with fresh("restart", call_ms=HASTY_MS) as caller:
        zk.stop(signal.SIGKILL)
        caller.settle("read 7", "DOWN")
        caller.ask("swap 7 1 20", "DOWN")
        zk.start().ready()
        assert caller.settle("read 7")["until"] == 10
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")


def changed(text, old, new):
    assert old in text, text
    return text.replace(old, new)


@claim("a damaged, foreign or newer record is refused and never overwritten")
def _():
    with fresh("hostile") as caller:
        good = raw("get", "/vesta/hostile/w/0/7")
        for text, part in ((good[:100], "truncated"), ("", "empty"), (good + "x", "truncated"), ("hello", "not a vesta record"),
                           (changed(good, "until 10", "until 11"), "checksum"), ("vesta lease 2\nmore\n", "newer vesta"),
                           ("x" * 1000000, "not a vesta record"), (good * 30, "a vesta record")):
            raw("put", "/vesta/hostile/w/0/7", text)
            got = caller.ask("read 7", "REFUSED")
            if part != "a vesta record":
                has(got["text"], part)
            for order in ("swap 7 0 20", "swap 7 1 20", "list"):
                caller.ask(order, "REFUSED")
            assert raw("get", "/vesta/hostile/w/0/7") == text
        raw("put", "/vesta/hostile/w/0/7", good)
        caller.ask("swap 7 1 20", "OK")


@claim("a damaged namespace node is refused and not overwritten")
def _():
    with fresh("nsnode") as caller:
        good = raw("get", "/vesta/nsnode")
        for text in (good[:50], "", "x" * 100000):
            raw("put", "/vesta/nsnode", text)
            for order in ("ns", "make 5 77", "swap 7 1 20"):
                caller.ask(order, "REFUSED")
            assert raw("get", "/vesta/nsnode") == text


@claim("nodes that are not records are not listed")
def _():
    with fresh("others") as caller:
        for path in ("w/007", "w/abc", "w/-1", "w/99999999999999999999999", "w/0/007", "w/0/x", "w/0/999", "w/1", "x"):
            raw("put", "/vesta/others/" + path, "hello")
        assert caller.ask("list", "OK")["count"] == 1


@claim("a server without a majority, one in read-only mode, and one that requires SASL are reported with their remedy")
def _():
    lone = ZooKeeper("initLimit=20\nsyncLimit=10\n" + "".join("server.%d=127.0.0.1:%d:%d\n" % (i, free_port(), free_port()) for i in (1, 2, 3)))
    sasl = ZooKeeper("sessionRequireClientSASLAuth=true\nauthProvider.sasl=org.apache.zookeeper.server.auth.SASLAuthenticationProvider\n")
    with open(lone.path("data/myid"), "w") as file:
        file.write("1\n")
    with open(sasl.path("jaas"), "w") as file:
        file.write('Server { org.apache.zookeeper.server.auth.DigestLoginModule required user_a="b"; };\n')
    lone.start(JAVA_TOOL_OPTIONS="-Dreadonlymode.enabled=true")
    sasl.start(JAVA_TOOL_OPTIONS="-Djava.security.auth.login.config=" + sasl.path("jaas")).ready()
    until(lambda: lone.mode() == "read", lambda: "read-only mode, not %s" % lone.mode())
    for server, outcome, words, remedy in ((lone, "DOWN", "it is in read-only mode", "until a majority"),
                                           (sasl, "REFUSED", "required to do SASL authentication", "without SASL")):
        with Caller(CALL, uri(port=server.port)) as caller:
            has(caller.ask("ns", outcome)["text"], words, remedy)
        server.end()


@claim("a store that was emptied and created again is detected as another one, even with the same content")
def _():
    with fresh("wiped") as caller:
        was = caller.ask("ns", "OK")["incarnation"]
        text, tag = raw("get", "/vesta/wiped"), "i-%016x" % 77
        record = raw("get", "/vesta/wiped/w/0/7")
        raw("remove", "/vesta/wiped")
        caller.ask("swap 7 1 20", "MOVED")
        caller.ask("swap 8 0 20", "MOVED")
        raw("put", "/vesta/wiped", text)  # restored from a copy
        for path, body in (("/" + tag, ""), ("/w", ""), ("/w/0", ""), ("/w/0/7", record)):
            raw("put", "/vesta/wiped" + path, body)
        caller.ask("swap 7 1 20", "MOVED")
        assert caller.ask("ns", "OK")["incarnation"] != was
        caller.ask("swap 7 1 20", "OK")


@claim("a request that the client library registers but cannot send: the call ends, and a later completion does no harm")
def _():
    told = zk.path("unsent")
    env = dict(LD_PRELOAD=os.path.join(os.path.dirname(os.path.abspath(CALL)), "..", "..", "unsent.so"), UNSENT=told,
               ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    with fresh("unsent", **env) as caller:
        def is_written():
            """A request that was reported as not sent may still be done."""
            return caller.ask("swap 7 %d 20" % caller.settle("read 7")["ver"], "OK", "CONFLICT")["outcome"] == "OK"

        for what, order, outcomes in (("get", "read 7", ("DOWN",)), ("get", "swap 7 1 20", ("DOWN",)), ("multi", "swap 7 %d 20", ("UNKNOWN", "DOWN"))) * 3:
            order = order % caller.settle("read 7")["ver"] if "%" in order else order
            with open(told, "w") as file:
                file.write(what)
            caller.ask(order, *outcomes)
            os.remove(told)
            caller.settle("ns")
            until(is_written, "a write")


@claim("invalid URIs are refused at open")
def _():
    for bad, part in (("zk:h/x", "no '//'"), ("zk://h", "does not name a node under /"), ("zk://h/", "does not name a node under /"),
                      ("zk://h/a//b", "does not name a node under /"), ("zk://h/a/../b", "does not name a node under /"),
                      ("zk://u@h/x", "only a user or only a password"), ("zk://h:x/x", "not a HOST:PORT"), ("zk://h:1,/x", "not a HOST:PORT"),
                      ("zk://h:1,,h:2/x", "not a HOST:PORT"), ("zk://h/x?acl=closed", "acl in the store's URI must be open"), ("zk://h/x?tls=verify", "has no zookeeper_init_ssl"), ("zk://h/x?TLS=off", "unknown key"),
                      ("zk://" + ",".join("host%d:2181" % i for i in range(60)) + "/x", "longer than"),
                      ("zk://h/x?secret_file=/no/such", "No such file")):
        done = subprocess.run([CALL, bad, "orders"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and part in done.stderr, (bad, part, done.stderr)


@claim("another program, or no server, is reported as such, not by the client library's error")
def _():
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    silent.close()
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=web.serve_forever, daemon=True).start()

    def five(at):
        with Caller(CALL, uri(port=at), "nobody") as caller:
            # the client library is in different states at the first and the later calls
            return [caller.ask("ns", "DOWN")["text"] for _ in range(5)]

    with ThreadPoolExecutor() as pool:  # each call waits for its deadline
        for text in sum(pool.map(five, (port, web.server_port)), []):
            assert any(part in text for part in ("no server", "no reply", "was not open")), text
    web.shutdown()
    with Caller(CALL, "zk://me:x@no.such.host.invalid/x", "nobody") as caller:
        has(caller.ask("ns", "DOWN")["text"], "its host names cannot be resolved")


@claim("a trailing slash in the path names the same node")
def _():
    with Caller(CALL, uri(root="/vesta/"), "slash") as caller:
        caller.ask("make 5 77", "OK")
    with Caller(CALL, uri(), "slash") as caller:
        assert caller.ask("ns", "OK")["ns_ver"] == 1


@claim("the secret can be in a file")
def _():
    path = zk.path("secret")
    with open(path, "w") as file:
        file.write("me:se/cret\n")
    with Caller(CALL, uri("", more="?secret_file=" + path), "secret") as caller:
        caller.ask("make 5 77", "OK")
    with Caller(CALL, uri(), "secret") as caller:
        assert caller.ask("ns", "OK")["ns_ver"] == 1


@claim("of several servers, an unreachable one is skipped")
def _():
    with Caller(CALL, uri().replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:"), "several") as caller:
        caller.settle("ns")
        caller.ask("make 5 77", "OK")
    many = ",".join(["0"] * 150 + ["127.0.0.1:%d" % zk.port])  # each gets the default port
    with Caller(CALL, "zk://me:se%2Fcret@" + many + "/vesta", "several") as caller:
        caller.settle("ns")


part = sys.argv[5] if len(sys.argv) > 5 else ""
if part:  # the state that the first claims leave
    with Caller(CALL, uri()) as first:
        first.ask("init", "OK")
main(part)
