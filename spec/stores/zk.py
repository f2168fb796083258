"""zk.py -- the zk: store on a real ZooKeeper: the contract, and its hard days.  zk.py STORE_CONTRACT STORE_CALL ZK_RAW STORE_COUNTERS"""
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
    """Only a write names the incarnation's node; a request comes in one piece, its length before it."""
    return b"/i-" in data


def raw(what, path, text="", auth="me:se/cret", ok=True):
    done = subprocess.run([RAW, "127.0.0.1:%d" % zk.port, auth, what, path], input=text, capture_output=True, text=True, timeout=60)
    assert not ok or done.returncode == 0, done.stderr
    return done.stdout


HASTY_MS = 800  # the deadline where one is shown


def fresh(ns, where=None, **kw):
    """A namespace with number 7 at version 1; the caller that made it."""
    caller = Caller(CALL, where or uri(), ns, **kw)
    caller.ask("make 5 77", "OK")
    caller.ask("swap 7 0 10", "OK")
    return caller


@claim("without a root it is refused with a sentence that names the way out, and makes none")
def _():
    with Caller(CALL, uri()) as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10"):
            has(caller.ask(order, "REFUSED")["text"], "vesta store init")
    assert subprocess.run([RAW, "127.0.0.1:%d" % zk.port, "-", "get", "/vesta"], capture_output=True).returncode != 0


@claim("init wants somebody to belong to, or the word that anyone may write")
def _():
    with Caller(CALL, uri("")) as caller:
        has(caller.ask("init", "REFUSED")["text"], "acl=open")
    with Caller(CALL, uri()) as caller:
        caller.ask("init", "OK")
        caller.ask("init", "OK")  # again changes nothing
    with Caller(CALL, uri(root="/deep/in/vesta")) as caller:
        caller.ask("init", "OK")
        caller.ask("ns", "OK")


@claim("the contract holds")
def _():
    contract(CONTRACT, uri(), 17)


@claim("the contract holds where anyone may write, if the URI says so")
def _():
    contract(CONTRACT, uri("", root="/open", more="?acl=open"), 17)


@claim("the contract of counters holds, where anyone may write alike")
def _():
    contract(COUNTERS, uri(), 16)
    contract(COUNTERS, uri("", root="/open", more="?acl=open"), 16)


def took(got):
    return got["from"], got["to"]


@claim("a counter's answer that is lost: unknown, and done, and its numbers are nobody's; a request that is lost: not done")
def _():
    proxy = Proxy(zk.port)

    def is_take(data):
        return b"vesta counter" in data  # only a write brings a text

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


@claim("a tag's node that is damaged, another's or open to anyone is refused and left as it is")
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


@claim("whoever is somebody else is not authorized, and no password is told")
def _():
    fresh("mine").__exit__()
    for user in ("me:wr0ng@", "other:se%2Fcret@", ""):
        with Caller(CALL, uri(user), "mine") as caller:
            for order in ("ns", "read 7", "swap 7 1 20", "list"):
                text = caller.ask(order, "REFUSED")["text"]
                has(text, "not authorized")
                assert "wr0ng" not in text and "cret" not in text


@claim("a node that anyone may write is refused, the root and the namespace's alike, unless the URI says so")
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


@claim("an answer that is lost: unknown, and it was done")
def _():
    proxy = Proxy(zk.port)
    fresh("lost").__exit__()
    with Caller(CALL, uri(port=proxy.port), "lost") as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        proxy.at, proxy.lose_answers = is_write, True  # it looks first: that answer comes
        caller.ask("swap 7 2 30", "UNKNOWN")
        proxy.heal()
        got = caller.settle("read 7")
        assert (got["ver"], got["until"]) == (3, 30), got
        caller.ask("swap 7 2 31", "CONFLICT")
        caller.ask("swap 7 3 40", "OK")


@claim("a request that is lost: unknown, and it was not done")
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


@claim("a connection that breaks is made again, in the same session")
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


@claim("a server that stands still: a call ends at its deadline, what it had heard may be done later, and a late answer hurts nobody")
def _():
    with fresh("stopped", call_ms=HASTY_MS) as caller:
        zk.pause()
        try:
            for order in ("read 7", "swap 7 1 20", "ns", "list", "read 7"):
                caller.ask(order, "DOWN")
                # a write is not even sent where the look before it found no answer
        finally:
            zk.go_on()
        got = caller.settle("read 7")
        assert got["ver"] == 1, got
        caller.settle("swap 7 1 20")


@claim("closed while its server stands still and a write is under way: it ends, and does not crash")
def _():
    proxy = Proxy(zk.port)
    fresh("closing").__exit__()
    with Caller(CALL, uri(port=proxy.port), "closing", HASTY_MS) as caller:
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 15", "OK")
        proxy.at, proxy.hold_requests = is_write, True
        caller.ask("swap 7 2 20", "UNKNOWN")


@claim("a write that was given up may arrive later: it is then seen, and no late answer is taken for another's")
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


@claim("a session that has expired is opened again, and a swap goes on as if nothing were")
def _():
    with fresh("expired") as caller:
        caller.process.send_signal(signal.SIGSTOP)
        time.sleep(7)  # the session lives 4 s
        caller.process.send_signal(signal.SIGCONT)
        got = caller.settle("read 7")
        assert got["ver"] == 1, got
        caller.ask("swap 7 1 20", "OK")


@claim("a server that is killed and started again: down meanwhile, nothing lost, and it goes on")
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


@claim("a record that is damaged, foreign or newer is refused and never overwritten")
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


@claim("the namespace's node: damaged, it is refused, and not overwritten")
def _():
    with fresh("nsnode") as caller:
        good = raw("get", "/vesta/nsnode")
        for text in (good[:50], "", "x" * 100000):
            raw("put", "/vesta/nsnode", text)
            for order in ("ns", "make 5 77", "swap 7 1 20"):
                caller.ask(order, "REFUSED")
            assert raw("get", "/vesta/nsnode") == text


@claim("nodes that are no records are not listed")
def _():
    with fresh("others") as caller:
        for path in ("w/007", "w/abc", "w/-1", "w/99999999999999999999999", "w/0/007", "w/0/x", "w/0/999", "w/1", "x"):
            raw("put", "/vesta/others/" + path, "hello")
        assert caller.ask("list", "OK")["count"] == 1


@claim("a server without a majority, in read-only mode, and one that requires SASL are reported as that, with the remedy")
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


@claim("a store that was wiped and made again is another one, even where it looks the same")
def _():
    with fresh("wiped") as caller:
        was = caller.ask("ns", "OK")["incarnation"]
        text, tag = raw("get", "/vesta/wiped"), "i-%016x" % 77
        record = raw("get", "/vesta/wiped/w/0/7")
        raw("remove", "/vesta/wiped")
        caller.ask("swap 7 1 20", "MOVED")
        caller.ask("swap 8 0 20", "MOVED")
        raw("put", "/vesta/wiped", text)  # by the book, from a copy
        for path, body in (("/" + tag, ""), ("/w", ""), ("/w/0", ""), ("/w/0/7", record)):
            raw("put", "/vesta/wiped" + path, body)
        caller.ask("swap 7 1 20", "MOVED")
        assert caller.ask("ns", "OK")["incarnation"] != was
        caller.ask("swap 7 1 20", "OK")


@claim("what its client notes and then cannot send: the call ends, and what becomes of it later hurts nobody")
def _():
    told = zk.path("unsent")
    env = dict(LD_PRELOAD=os.path.join(os.path.dirname(os.path.abspath(CALL)), "..", "..", "unsent.so"), UNSENT=told,
               ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
    with fresh("unsent", **env) as caller:
        def is_written():
            """What it was told of as not sent may still be done meanwhile."""
            return caller.ask("swap 7 %d 20" % caller.settle("read 7")["ver"], "OK", "CONFLICT")["outcome"] == "OK"

        for what, order, outcomes in (("get", "read 7", ("DOWN",)), ("get", "swap 7 1 20", ("DOWN",)), ("multi", "swap 7 %d 20", ("UNKNOWN", "DOWN"))) * 3:
            order = order % caller.settle("read 7")["ver"] if "%" in order else order
            with open(told, "w") as file:
                file.write(what)
            caller.ask(order, *outcomes)
            os.remove(told)
            caller.settle("ns")
            until(is_written, "a write")


@claim("URIs that cannot be are said when it is opened")
def _():
    for bad, part in (("zk:h/x", "no '//'"), ("zk://h", "does not name a node under /"), ("zk://h/", "does not name a node under /"),
                      ("zk://h/a//b", "does not name a node under /"), ("zk://h/a/../b", "does not name a node under /"),
                      ("zk://u@h/x", "only a user or only a password"), ("zk://h:x/x", "not a HOST:PORT"), ("zk://h:1,/x", "not a HOST:PORT"),
                      ("zk://h:1,,h:2/x", "not a HOST:PORT"), ("zk://h/x?acl=closed", "acl in the store's URI must be open"), ("zk://h/x?tls=verify", "has no zookeeper_init_ssl"), ("zk://h/x?TLS=off", "unknown key"),
                      ("zk://" + ",".join("host%d:2181" % i for i in range(60)) + "/x", "longer than"),
                      ("zk://h/x?secret_file=/no/such", "No such file")):
        done = subprocess.run([CALL, bad, "orders"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and part in done.stderr, (bad, part, done.stderr)


@claim("what is no ZooKeeper, or nothing at all, is said to be that, and not what its client makes of it")
def _():
    silent = socket.create_server(("127.0.0.1", 0))
    port = silent.getsockname()[1]
    silent.close()
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
    threading.Thread(target=web.serve_forever, daemon=True).start()

    def five(at):
        with Caller(CALL, uri(port=at), "nobody") as caller:
            # the first calls and the later ones meet different states of the client
            return [caller.ask("ns", "DOWN")["text"] for _ in range(5)]

    with ThreadPoolExecutor() as pool:  # each waits for its deadline
        for text in sum(pool.map(five, (port, web.server_port)), []):
            assert any(part in text for part in ("no server", "no reply", "was not open")), text
    web.shutdown()
    with Caller(CALL, "zk://me:x@no.such.host.invalid/x", "nobody") as caller:
        has(caller.ask("ns", "DOWN")["text"], "its host names cannot be resolved")


@claim("a slash behind the path names the same node")
def _():
    with Caller(CALL, uri(root="/vesta/"), "slash") as caller:
        caller.ask("make 5 77", "OK")
    with Caller(CALL, uri(), "slash") as caller:
        assert caller.ask("ns", "OK")["ns_ver"] == 1


@claim("the secret may stand in a file")
def _():
    path = zk.path("secret")
    with open(path, "w") as file:
        file.write("me:se/cret\n")
    with Caller(CALL, uri("", more="?secret_file=" + path), "secret") as caller:
        caller.ask("make 5 77", "OK")
    with Caller(CALL, uri(), "secret") as caller:
        assert caller.ask("ns", "OK")["ns_ver"] == 1


@claim("several servers: one that is not there is passed over")
def _():
    with Caller(CALL, uri().replace("127.0.0.1:", "127.0.0.1:1,127.0.0.1:"), "several") as caller:
        caller.settle("ns")
        caller.ask("make 5 77", "OK")
    many = ",".join(["0"] * 150 + ["127.0.0.1:%d" % zk.port])  # each gets the port that the URI does not say
    with Caller(CALL, "zk://me:se%2Fcret@" + many + "/vesta", "several") as caller:
        caller.settle("ns")


part = sys.argv[5] if len(sys.argv) > 5 else ""
if part:  # what the first claims leave behind
    with Caller(CALL, uri()) as first:
        first.ask("init", "OK")
main(part)
