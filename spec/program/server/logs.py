"""logs.py -- the log of `vesta serve`."""
import json
import os
import re
import signal
import socket
import threading
import time

from serving import SLOW, Server, claim, fails, main, same, set_clock, shifted

PAIR = re.compile(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"=]+)(?: |$)')
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def logfmt(line):
    pairs = PAIR.findall(line)
    same("".join(match.group(0) for match in PAIR.finditer(line)), line)
    return {name: json.loads(value) if value.startswith('"') else value for name, value in pairs}


def events(text, read):
    return [read(line) for line in text.splitlines()]


def await_text(path, part):
    for _ in range(1000):
        with open(path) as file:
            text = file.read()
        if part in text:
            return text
        time.sleep(0.01)
    raise AssertionError("%r is not in %r" % (part, text))


@claim("every line is logfmt or JSON with time, level and message, and the first lines show what is served and how to "
       "try it")
def _(world):
    for number, (form, read) in enumerate((("logfmt", logfmt), ("json", json.loads))):
        with Server(world, "--log-format", form, "--namespace", "n%d" % number) as server:
            server.process.send_signal(signal.SIGUSR2)
            server.listen("state")
            server.process.send_signal(signal.SIGTERM)
            server.listen("are released")
            server.process.wait()
        told = events(server.said, read)
        for event in told:
            assert re.fullmatch(STAMP, event["ts"]) and event["level"] in ("info", "warn"), event
        sentences = [event["msg"] for event in told if event["level"] == "info"]
        same(sentences, ["client limits", "serving HTTP", "serving the Redis protocol", "serving ids", "ready", "state",
                         "stopping after the requests in flight", "stopped: all worker ids are released"])
        found = {event["msg"]: event for event in told}
        same((found["serving ids"]["namespace"], found["serving ids"]["worker"]), ("n%d" % number, "5"))
        same(found["serving ids"]["ids_per_second"], str(2 ** 22))  # The layout has 22 bits of sequence per second.
        assert re.fullmatch(r"20\d\d-.*Z", found["serving ids"]["until"]), found
        same(found["serving HTTP"]["try"], "curl -s http://127.0.0.1:%d/genid" % server.http)


@claim("variables that only other commands read are logged once if set, unless a flag has the same purpose")
def _(world):
    env = {"VESTA_STORE": "zk://127.0.0.1:1/none", "VESTA_CONFIG": "/none.lua", "VESTA_NAMESPACE": "none"}
    with Server(world, "--namespace", "own", env=env) as server:
        pass
    told = [event for event in events(server.said, logfmt) if event["msg"].startswith("a server does not read")]
    same(sorted(event["variable"] for event in told), ["VESTA_CONFIG", "VESTA_STORE"])


@claim("a level hides the levels below it")
def _(world):
    with Server(world, "--log-level", "error", quiet=True) as server:
        assert re.fullmatch(r"\d+", server.get("/genid").body)
        server.process.send_signal(signal.SIGUSR2)
        server.process.send_signal(signal.SIGTERM)
        same((server.process.stderr.read(), server.process.wait()), ("", 0))


@claim("SIGUSR2 logs the state of each namespace in one line")
def _(world):
    with Server(world, "--namespace", "orders") as server:
        server.get("/genid")
        server.process.send_signal(signal.SIGUSR2)
        event = logfmt(server.listen("msg=state").rstrip("\n"))
        same((event["namespace"], event["leased"], event["worker"]), ("orders", "yes", "5"))
        assert int(event["lease_ms_left"]) > 0 and os.path.exists(event["path"]), event


@claim("the log reports when and why issuing stops, and when it resumes")
def _(world):
    clock = world.path("clock")
    set_clock(clock, "+0")
    with Server(world, "--wait-ms", "10", layout="vesta-milli", pacing="clock", env=shifted(clock)) as server:
        server.get("/genid")
        set_clock(clock, "-3600")
        event = logfmt(server.listen("no ids can be issued now").rstrip("\n"))
        same((event["level"], event["namespace"], event["code"]), ("warn", "default", "clock_back"))
        assert re.match(r"the clock is 3[56]\d\d\.\d+ s behind", event["why"]), event
        same(server.get("/genid").status, 503)
        set_clock(clock, "+0")
        server.listen("ids are available again")
        same(server.get("/genid").status, 200)


@claim("the log is written to a file, and SIGUSR1 reopens it after a rotation")
def _(world):
    log, old = world.path("v.log"), world.path("v.log.1")
    with Server(world, "--log-file", log, quiet=True) as server:
        await_text(log, "msg=ready")
        os.rename(log, old)
        server.process.send_signal(signal.SIGUSR1)
        for _ in range(1000):
            if os.path.exists(log):
                break
            time.sleep(0.01)
        same([event["msg"] for event in events(await_text(log, "reopened\"\n"), logfmt)], ["the log was reopened"])
        assert "anew" not in await_text(old, "msg=ready")
        os.rename(log, old)
        os.mkdir(log)
        server.process.send_signal(signal.SIGUSR1)
        await_text(old, "the log could not be reopened and continues in the old file")
        assert re.fullmatch(r"\d+", server.get("/genid").body)
        os.rmdir(log)
    assert "are released" in await_text(old, "stopping")


@claim("SIGUSR1 and SIGHUP are harmless without a file and without a policy")
def _(world):
    with Server(world) as server:
        server.process.send_signal(signal.SIGUSR1)
        server.listen("the log was reopened")
        server.process.send_signal(signal.SIGHUP)
        server.listen("nothing to reload")
        assert re.fullmatch(r"\d+", server.get("/genid").body)


@claim("SIGUSR1 during the start is handled as soon as the server serves")
def _(world):
    log = world.path("early.log")  # The log file exists before the first signal is handled.
    server = Server(world, "--log-file", log, quiet=True)
    rotator = threading.Thread(target=rotate, args=(server, log))
    rotator.start()
    with server:
        rotator.join()
        for _ in range(1000 * SLOW):
            if os.path.exists(log):
                break
            time.sleep(0.01)
        assert os.path.exists(log), "USR1 was lost"


def rotate(server, log):
    """Renames the log as soon as it exists, which may be before the server's process is known here."""
    for _ in range(20000 * SLOW):
        if os.path.exists(log) and hasattr(server, "process"):
            break
        time.sleep(0.001)
    os.rename(log, log + ".1")
    server.process.send_signal(signal.SIGUSR1)


@claim("SIGHUP, SIGUSR1 and SIGUSR2 do not end a server that is starting")
def _(world):
    port = Server(world).http
    with socket.create_server(("127.0.0.1", port)), Server(world, "--namespace", "one") as first:
        path = world.path("state", "one.gen")
        second = world.start("serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "5", "--namespace",
                             "other", "--store", "file:" + world.path("state"), "--path", path + "2", stderr=-1, text=True)
        try:
            second.stderr.readline()
            for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
                second.send_signal(number)
            same(second.poll(), None)
        finally:
            second.terminate()
            second.wait()
            second.stderr.close()
        assert first.tick()


@claim("text from outside cannot break a line of the log")
def _(world):
    # A line separator that is not a control character, because control characters are rejected.
    name = world.path('a\u2028ts=1 level=info msg=forged "')
    open(name, "w").close()  # The file prevents the creation of a folder.
    done = world.run("serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1", "--path", name + "/gen")
    same((done.code, done.out), (1, ""))
    told = events(done.err, logfmt)
    assert told and all(event["msg"] != "forged" for event in told), done.err
    assert name in told[-1]["msg"], told


@claim("invalid values and files are rejected")
def _(world):
    for flags, code, part in ((["--log-level", "loud"], 2, '"debug", "info", "warn", "error"'), (["--log-level", ""], 2, "log-level"),
                              (["--log-format", "xml"], 2, '"logfmt", "json"'), (["--log-format"], 2, "needs a value"),
                              (["--log-file", ""], 2, "needs a value"), (["--log-file", "/no/such/folder/x"], 1, "log file"),
                              (["--log-file", "/"], 1, "log file"), (["--log-file", "/" * 600], 2, "600 bytes")):
        fails(world.run("serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1", *flags), code, part)


@claim("for the journal, lines begin with a priority and have no time")
def _(world):
    ours, its = socket.socketpair()
    at = os.fstat(its.fileno())
    with ours, its, world.start("serve", "--worker", "5", "--http", "off", "--resp", "unix:" + world.path("s"), stderr=its,
                                env={"JOURNAL_STREAM": "%d:%d" % (at.st_dev, at.st_ino)}) as server:
        its.close()
        with ours.makefile() as lines:
            told = [next(lines)]
            while "msg=ready" not in told[-1]:
                told.append(next(lines))
            server.send_signal(signal.SIGTERM)
            told += lines
        same(server.wait(), 0)
    for line in told:
        priority, rest = re.fullmatch(r"<([0-7])>(.*)\n", line).groups()
        event = logfmt(rest)
        same(({"info": "6", "warn": "4"}[event["level"]], "ts" in event), (priority, False))


@claim("the server continues if the reader of its log closes the pipe or never reads")
def _(world):
    with Server(world) as server:
        server.process.stderr.close()
        for _ in range(3):
            server.process.send_signal(signal.SIGUSR2)
            assert re.fullmatch(r"\d+", server.get("/genid").body)
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(20), 0)
        server.process.stderr = open(os.devnull)


@claim("the server continues with a closed stderr and on a full disk")
def _(world):
    for number, (wrap, flags) in enumerate(((["bash", "-c", 'exec "$@" 2>&-', "-"], ()), ((), ("--log-file", "/dev/full")))):
        with Server(world, *flags, "--namespace", "n%d" % number, wrap=wrap, quiet=True) as server:
            server.process.send_signal(signal.SIGUSR2)
            assert re.fullmatch(r"\d+", server.get("/genid").body)
            if flags:
                server.listen("the log file '/dev/full' accepts no lines (No space left on device): ts=")


main()
