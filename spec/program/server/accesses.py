"""accesses.py -- the access log."""
import json
import os
import re
import signal
import subprocess
import time

from serving import SLOW, Configured, Server, claim, command, environment, get, main, same, until_closed, VESTA


def fields(line):
    parts = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|[^ "]*)(?: |$)', line)
    same(" ".join("%s=%s" % part for part in parts), line)
    return {name: value[1:-1] if value[:1] == '"' else value for name, value in parts}


def lines(path, count):
    until = time.monotonic() + 20 * SLOW
    while True:
        text = open(path).read() if os.path.exists(path) else ""
        if text.count("\n") >= count and text.endswith("\n"):
            same(text.count("\n"), count)
            return text.splitlines()
        assert time.monotonic() < until, (count, text[-2000:])
        time.sleep(0.01)


def logged(world, *flags, **kw):
    return Server(world, "--access-log", world.path("access"), *flags, **kw)


@claim("each request over both protocols is logged with time, client, request, result, ids, bytes and microseconds")
def _(world):
    with logged(world) as server:
        replies = [server.say(server.http, get(path, "Connection: close")) for path in
                   ("/v1/ids?n=7&ns=default", "/v1/ids/12345?ns=default", "/nowhere?x=1", "/v1/ids?n=0")]
        with server.connect(server.resp) as sock:
            asked = [["GET", "default"], ["VESTA.NEXT", "default", "9"], ["MULTI"], ["GET", "default"], ["GET", "default"], ["EXEC"],
                     ["CLIENT", "SETNAME", "me"], ["GET", "none"], ["FLY", "away"]]
            sock.sendall(b"".join(command(*words) for words in asked) + command("QUIT"))
            said = until_closed(sock)
        seen = [fields(line) for line in lines(world.path("access"), 14)]
        same([tuple(line.get(name) for name in ("proto", "method", "target", "name", "code", "status", "ids")) for line in seen],
             [("http", "GET", "/v1/ids", "default", "ok", "200", "7"), ("http", "GET", "/v1/ids/12345", "default", "ok", "200", "0"),
              ("http", "GET", "/nowhere", None, "not_found", "404", "0"), ("http", "GET", "/v1/ids", "default", "bad_count", "400", "0"),
              ("resp", "GET", "default", None, "ok", None, "1"), ("resp", "VESTA.NEXT", "default", None, "ok", None, "9"),
              ("resp", "MULTI", None, None, "ok", None, "0"), ("resp", "GET", "default", None, "ok", None, "0"),
              ("resp", "GET", "default", None, "ok", None, "0"), ("resp", "EXEC", None, None, "ok", None, "2"),
              ("resp", "CLIENT", None, None, "ok", None, "0"), ("resp", "GET", "none", None, "unknown_name", None, "0"),
              ("resp", "(unknown)", None, None, "bad_command", None, "0"), ("resp", "QUIT", None, None, "ok", None, "0")])
        same([int(line["bytes"]) for line in seen[:4]], [len(reply) for reply in replies])
        same(sum(int(line["bytes"]) for line in seen[4:]), len(said))
        for line in seen:
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["ts"]) and re.fullmatch(r"127\.0\.0\.1:\d+", line["address"]), line
            assert 0 <= int(line["us"]) < 60e6 and "client" not in line, line
        same(len({line["conn"] for line in seen}), 5)


@claim("each of several equal commands in one write is logged, and a request that waited is logged with its duration")
def _(world):
    slow = "sign:1 time:41 seq:2 worker:20 unit=1ms epoch=2020-01-01T00:00:00Z"  # 4 ids per millisecond
    with logged(world, "--log-format", "json", "--wait-ms", "4000", layout=slow, pacing="clock") as server:
        with server.connect(server.resp) as sock:
            sock.sendall(command("GET", "default") * 3 + command("VESTA.NEXT", "default", "400") + command("QUIT"))
            said = until_closed(sock)
        seen = [json.loads(line) for line in lines(world.path("access"), 5)]
        same([(line["method"], line.get("target"), line["ids"]) for line in seen],
             [("GET", "default", 1)] * 3 + [("VESTA.NEXT", "default", 400), ("QUIT", None, 0)])
        same(sum(line["bytes"] for line in seen), len(said))
        assert 10000 < seen[3]["us"] < 60e6, seen


@claim("the access log contains no secret, and text from clients cannot end or hide a line")
def _(world):
    secrets = ["p4ssw0rd", "t0ken", "b3arer", "s3cond", "n1dd3n"]
    with open(world.path("password"), "w") as file:
        file.write("p4ssw0rd\n")
    with logged(world, "--resp-password-file", world.path("password"), "--log-format", "json") as server:
        asked = [["AUTH", "n1dd3n"], ["HELLO", "3", "AUTH", "default", "s3cond"], ["AUTH", "default", "p4ssw0rd"], ["p4ssw0rd"],
                 ["CLIENT", "SETNAME", "p4ssw0rd"], ["ECHO", "p4ssw0rd"], ["GET", 'a"b\\\r\nts=1 \x1b[2J\u202e'], ["GET", b"\0\xff" * 9], ["GET", "k" * 4000]]
        for words in asked:
            server.say(server.resp, command("AUTH", "p4ssw0rd") + command(*words))
        for path in ("/tinyid/id/nextId?bizType=x&token=t0ken", "/genid?token=t0ken", "/a%0ab?token=t0ken", "/genid?%74oken=t0ken"):
            server.say(server.http, get(path, "Connection: close", "Authorization: Bearer b3arer"))
        server.say(server.http, b"GET /x\x01y HTTP/1.1\r\nHost: t\r\n\r\n")
        # The line has no key of the previous request.
        server.say(server.http, get("/v1/ids/12345", "Connection: close", method="PATCH"))
        body = b"bizType=x&token=t0ken"
        server.say(server.http, get("/tinyid/id/nextId", "Connection: close", "Content-Type: application/x-www-form-urlencoded",
                                    "Content-Length: %d" % len(body), method="POST") + body)
        text = "\n".join(lines(world.path("access"), 2 * len(asked) + 7))
        for secret in secrets:
            assert secret not in text, (secret, text)
        seen = [json.loads(line) for line in text.splitlines()]
        targets = [line.get("target", "") for line in seen]
        assert 'a"b\\\r\nts=1 \x1b[2J\u202e' in targets and "k" * 255 in targets and "/a%0ab" in targets, targets
        assert all(" " <= letter <= "~" for letter in text if letter != "\n"), text
        same([(line["method"], line.get("target"), line["code"]) for line in seen if line["method"] == "(other)"][-1:],
             [("(other)", "/v1/ids/", "bad_method")])


@claim("the access log names the client, is set by a config or a flag, is reopened on SIGUSR1, and must be writable "
       "at the start")
def _(world):
    access = world.path("access")
    config = 'return { log = { access = "%s", format = "json" }, clients = "%s", namespaces = { default = {} } }' % (access, world.path("clients"))
    added = subprocess.run([VESTA, "client", "add", "shop", "--file", world.path("clients"), "--calls", "give"], env=environment(world.folder),
                           capture_output=True, text=True)
    secret = added.stdout.split()[-1]
    with Configured(world, config) as server:
        server.say(server.resp, command("AUTH", "shop", secret) + command("GET", "default"))
        seen = [json.loads(line) for line in lines(access, 2)]
        same([(line["client"], line["method"]) for line in seen], [("shop", "AUTH"), ("shop", "GET")])
        os.rename(access, access + ".1")
        server.process.send_signal(signal.SIGUSR1)
        server.listen("the access log was reopened")
        server.say(server.resp, command("PING"))
        same([json.loads(line)["client"] for line in lines(access, 1)], ["default"])
        same(len(lines(access + ".1", 2)), 2)
    refused = subprocess.run([VESTA, "serve", "--access-log", world.path("no/such"), "--http", "off", "--resp", "unix:" + world.path("r")],
                             env=environment(world.folder), capture_output=True, text=True, timeout=20 * SLOW)
    assert refused.returncode == 1 and "access log '" in refused.stderr, refused


@claim("if a full disk or a reader that hangs takes no lines, they are counted and reported, and requests continue")
def _(world):
    with Server(world, "--access-log", "/dev/full") as server:
        same(len(server.redis("MGET", *["default"] * 3)) > 0, True)
        line = server.listen("lines of the access log were lost")
        assert "lost=1 file=/dev/full" in line, line
        lost = re.search(r"(?m)^vesta_access_log_lost_total (\d+)$", server.get("/metrics").body)
        assert int(lost[1]) >= 1, lost
    pipe = world.path("pipe")
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with Server(world, "--access-log", pipe) as server:
        many = 40000
        with server.connect(server.resp) as sock:
            sock.sendall(command("PING") * many + command("QUIT"))
            same(len(until_closed(sock)), 7 * many + 5)
        server.listen("lines of the access log were lost")
        head = os.read(reader, 1 << 20).decode()
        assert head.count(" method=PING ") > 100, head[:400]
    os.close(reader)


main()
