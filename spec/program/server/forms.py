"""forms.py -- a tag with business numbers over every protocol of the server, over midnight, and when exhausted. The
databases are SQLite, with the clock of this machine, and MariaDB, with its own clock."""
import calendar
import contextlib
import json
import re
import threading
import time

import served
from harness import set_clock, shifted
from serving import SLOW, Configured, claim, command, main, same, write

INVOICE = "INV-{day:%Y%m%d}-{number:6}-{luhn}"
NOON = calendar.timegm((2026, 11, 22, 12, 0, 0))
MIDNIGHT = calendar.timegm((2026, 11, 22, 23, 0, 0))  # midnight in Berlin


def texts(data):
    return [text.decode() for text in re.findall(rb"\$\d+\r\n([^\r]+)\r\n", data)]


def config(uri, row, more=""):
    return ("return { %s stores = { a = { uri = '%s' } }, segments = { { store = 'a', wait_ms_max = 60000, %s } } }"
            % (more, uri, row))


def invoices(form=INVOICE, zone="Europe/Berlin"):
    return "tags = 'invoices', order = 'strict', form = '%s', zone = '%s'" % (form, zone)


def made(world, tag="invoices", step=1):
    uri = "sqlite:" + world.path("v.db")
    same(world.run("segments", "add", tag, "--step", str(step), "--store", uri).code, 0)
    return uri


def stands_at(world, uri, tag="invoices"):
    return {row["tag"]: int(row["max"]) for row in json.loads(world.run("segments", "--json", "--store", uri).out)["tags"]}[tag]


def clock_at(world, at, name="clock"):
    set_clock(world.path(name), "%+d" % (at - time.time()))
    return shifted(world.path(name))


def numbers(world, got, form=INVOICE):
    lines = world.run("explain", "--json", "--form", form, *got).lines()
    return [int(json.loads(line)["number"]) for line in lines]


# ------------------------------------------------------------------ protocols

@claim("all commands and routes share one counter, each number is issued once and formatted by the form")
def _(world):
    uri = made(world)
    with Configured(world, config(uri, invoices(), "namespaces = { ids = { worker = 5 } },"), env=clock_at(world, NOON)) as server:
        same(server.redis("GET", "invoices"), b"$21\r\nINV-20261122-000001-2\r\n")
        got = ["INV-20261122-000001-2"] + texts(server.redis("MGET", "invoices", "invoices"))
        mixed = texts(server.redis("MGET", "ids", "invoices", "ids"))
        assert mixed[0].isdigit() and mixed[2].isdigit(), mixed
        got += mixed[1:2] + texts(server.redis("VESTA.NEXT", "invoices", "3"))
        got.append(server.get("/genid?ns=invoices").body)
        got += json.loads(server.get("/v1/ids?ns=invoices&n=2").body)["ids"]
        got += server.get("/v1/ids?ns=invoices&n=2&format=text").body.split("\n")[:2]
        got.append(server.get("/api/segment/get/invoices").body)
        data = server.say(server.resp, b"MULTI\r\nGET invoices\r\nVESTA.NEXT invoices 2\r\nMGET ids invoices\r\nEXEC\r\n")
        got += [text for text in texts(data) if text.startswith("INV")]
        same(numbers(world, got), list(range(1, 18)))
        same({text[:13] for text in got}, {"INV-20261122-"})
        (one,) = json.loads(server.get("/v1/segments?tag=invoices").body)["segments"]
        same((one["order"], one["given"]), ("strict", "17"))
        metrics = server.get("/metrics").body
        assert 'vesta_tag_numbers_issued_total{tag="invoices",proto="resp"} 11\n' in metrics, metrics


@claim("arithmetic commands and excessive counts are rejected, and cost no number")
def _(world):
    uri = made(world)
    with Configured(world, config(uri, invoices("{day:%Y%j}-{number:3}"), "namespaces = { ids = { worker = 5 } },"), env=clock_at(world, NOON)) as server:
        text = b"-ERR the numbers of 'invoices' are text and cannot be added up: take one with GET invoices, or n with VESTA.NEXT invoices n\r\n"
        for words in (["INCR", "invoices"], ["INCRBY", "invoices", "5"], ["DECR", "invoices"], ["DECRBY", "invoices", "5"]):
            same((words, server.redis(*words)), (words, text))
        same(server.say(server.resp, b"MULTI\r\nINCR invoices\r\nEXEC\r\n"), b"+OK\r\n+QUEUED\r\n*1\r\n" + text)
        same(server.redis("VESTA.BLOCK", "invoices", "5"),
             b"-ERR the numbers of 'invoices' are text, which blocks cannot contain: take n with VESTA.NEXT invoices n\r\n")
        same(server.get("/v1/blocks?ns=invoices&n=5").status, 400)
        for path in ("nextId", "nextSegmentId"):
            reply = json.loads(server.get("/tinyid/id/%s?bizType=invoices" % path).body)
            same((path, reply["code"], reply["data"]), (path, 6, None))
            assert "are text and cannot be added up" in reply["message"], reply
            same(server.get("/tinyid/id/%sSimple?bizType=invoices" % path).body, "")
        assert server.redis("VESTA.RESERVE", "invoices").startswith(b"-ERR the numbers of 'invoices' "), server.redis("VESTA.RESERVE", "invoices")
        for n in ("0", "-1", "1000", "18446744073709551616", "", "1.5", "'"):
            same(server.redis("VESTA.NEXT", "invoices", n), b"-ERR n '%s' must be a number from 1 to 999\r\n" % n.encode())
        same(server.get("/v1/ids?ns=invoices&n=1000").status, 400)
        same(server.redis("GET", "invoices"), b"$11\r\n2026326-001\r\n")


@claim("a text may have 64 characters and characters that JSON escapes, and a form without a day works with any order "
       "and tags")
def _(world):
    uri, form = made(world, "parts", 5000), '\\"{{' + "\\" * 48 + "}}{number:12}"
    same(world.run("segments", "add", "other", "--store", uri).code, 0)
    text = config(uri, "tags = 'parts', form = [[%s]] }, { store = 'a', wait_ms_max = 60000, tags = '*', order = 'strict', form = 'R{number}'" % form)
    with Configured(world, text) as server:
        ids = json.loads(server.get("/v1/ids?ns=parts&n=2000").body)["ids"]
        same((len(ids), len(set(ids)), {len(one) for one in ids}), (2000, 2000, {64}))
        same((ids[0], ids[-1]), ('\\"{' + "\\" * 48 + "}000000000001", '\\"{' + "\\" * 48 + "}000000002000"))
        same(len(texts(server.redis("VESTA.NEXT", "parts", "2000"))), 2000)
        same(len(texts(server.redis("MGET", *["parts"] * 1023))), 1023)
        same(server.redis("GET", "other"), b"$2\r\nR1\r\n")
        assert server.redis("VESTA.BLOCK", "other", "5").startswith(b"-ERR the numbers of 'other' are text, which blocks cannot contain")
        assert server.redis("INCR", "other").startswith(b"-ERR the numbers of 'other' are text")


# ------------------------------------------------------------------ exhausted numbers

@claim("exhausted numbers are rejected with the tag's name until the next day, with at most one step of the database "
       "per second")
def _(world):
    uri = made(world)
    with Configured(world, config(uri, invoices("{day:%y%j}{number:1}")), env=clock_at(world, NOON)) as server:
        same(texts(server.redis("VESTA.NEXT", "invoices", "9")), ["26326%d" % n for n in range(1, 10)])
        began, before = time.monotonic(), stands_at(world, uri)
        refusal = b"-ERR 'invoices': 1%d has more than the form's 1 digits: the numbers of this day are used up\r\n"
        same(server.redis("GET", "invoices"), refusal % 0)
        for _ in range(200):
            data = server.redis("GET", "invoices")
            assert re.fullmatch((refusal % 0).replace(b"10", rb"\d+"), data), data
        reply = server.get("/v1/ids?ns=invoices")
        same((reply.status, json.loads(reply.body)["code"]), (409, "used_up"))
        assert stands_at(world, uri) - before <= 2 + (time.monotonic() - began), (before, stands_at(world, uri))
        data = server.say(server.resp, b"MULTI\r\nGET invoices\r\nPING\r\nEXEC\r\n")
        assert re.fullmatch(rb"\+OK\r\n\+QUEUED\r\n\+QUEUED\r\n\*2\r\n-ERR 'invoices': [^\r]+ are used up\r\n\+PONG\r\n", data), data
        clock_at(world, NOON + 86400)
        for _ in range(600 * SLOW):
            data = server.redis("GET", "invoices")
            if not data.startswith(b"-ERR"):
                break
            time.sleep(0.1)
        same(data, b"$6\r\n263271\r\n")


@claim("a clock outside the form's years issues no number and is reported, and the counter continues when the clock "
       "is right")
def _(world):
    uri, row = made(world), invoices("{day:%y%m%d}-{number}")
    with Configured(world, config(uri, row).replace("60000", "300"), env=clock_at(world, calendar.timegm((2100, 1, 2, 0, 0, 0)))) as server:
        data = server.redis("GET", "invoices")
        assert data.startswith(b"-TRYAGAIN ") and b"no number exists for the time of the store's clock" in data, data
    with Configured(world, config(uri, row), env=clock_at(world, NOON)) as server:
        same(server.redis("GET", "invoices"), b"$8\r\n261122-1\r\n")


# ------------------------------------------------------------------ midnight

class Taken:
    """The issued texts with the times of request and reply."""

    def __init__(self):
        self.seen = []

    def take(self, server, *words):
        began = time.monotonic()
        data = server.redis(*words)
        ended = time.monotonic()
        got = texts(data)
        assert got, data
        self.seen += [(began, ended, text) for text in got]
        return got

    def check(self, world):
        """Asserts that no number is repeated, that a request after another's reply has the larger number, and that the
        two days each start with 1."""
        seen = self.seen
        same(len({text for _, _, text in seen}), len(seen))
        ranks = {text: (text[4:12], int(text[13:19])) for _, _, text in seen}
        by_end, top = sorted(seen, key=lambda one: one[1]), 0
        for began, _, text in sorted(seen):
            while top < len(by_end) and by_end[top][1] < began:
                assert ranks[by_end[top][2]] < max(ranks[text], ranks[by_end[top][2]]) or by_end[top][2] == text, (by_end[top], text)
                assert ranks[by_end[top][2]] < ranks[text], (by_end[top], text)
                top += 1
        same(sorted({day for day, _ in ranks.values()}), ["20261122", "20261123"])
        same(min(number for day, number in ranks.values() if day == "20261123"), 1)
        numbers(world, [text for _, _, text in seen])


def over_midnight(world, uri, hosts, clock=None):
    """Runs three servers with separate clocks over midnight and kills the last one repeatedly."""
    taken, text = Taken(), config(uri, invoices())
    path = write(world, text)

    def is_over():
        return any(one[4:12] == "20261123" for _, _, one in taken.seen[-1:])

    def env(i):
        return {"VESTA_STATE": world.path("state%d" % i), **shifted(world.path("host%d" % i))}

    def set_all(at):
        if clock:
            clock(at)
        for i, off in enumerate(hosts):
            clock_at(world, at + off, "host%d" % i)

    def go_on(server):
        for _ in range(3000 * SLOW):
            if taken.take(server, "GET", "invoices")[0][4:12] == "20261123":
                break
            taken.take(server, "VESTA.NEXT", "invoices", "2")
        taken.take(server, "MGET", "invoices", "invoices")

    def be_killed():
        for _ in range(300 * SLOW):
            with Configured(world, path, env=env(2)) as server:
                ours = taken.take(server, "VESTA.NEXT", "invoices", "3")
                with server.connect(server.resp) as sock:
                    sock.sendall(command("GET", "invoices") * 5)
                    server.kill()
            if ours[0][4:12] == "20261123":
                return

    set_all(MIDNIGHT - 3600)
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Configured(world, path, env=env(i))) for i in range(2)]
        for server in servers:
            same(taken.take(server, "GET", "invoices")[0][4:12], "20261122")
        set_all(MIDNIGHT - 2)
        threads = [threading.Thread(target=go_on, args=(server,)) for server in servers] + [threading.Thread(target=be_killed)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert is_over(), taken.seen[-1]
    taken.check(world)


@claim("over midnight, three servers with clocks 2 s apart on SQLite issue no duplicate, and no number of yesterday "
       "after today's first")
def _(world):
    over_midnight(world, made(world), (-2, 0, 2))


@claim("midnight follows the database's clock, whatever the clocks of its servers show, even a year ahead")
def _(world):
    db = served.MariaDB()
    try:
        set_clock(world.path("db"), "%+d" % (MIDNIGHT - 7200 - time.time()))
        preload = shifted(world.path("db"))
        db.start(wrapper=["env", *("%s=%s" % one for one in preload.items())])
        db.sql("CREATE DATABASE vesta; CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'own'; GRANT ALL ON *.* TO owner@'127.0.0.1'")
        uri = "mysql://owner:own@127.0.0.1:%d/vesta?tls=off" % db.port
        same(world.run("store", "init", "--segments", "--store", uri).code, 0)
        same(world.run("segments", "add", "invoices", "--store", uri).code, 0)
        with Configured(world, config(uri, invoices()), env=clock_at(world, MIDNIGHT + 366 * 86400)) as server:
            same(server.redis("GET", "invoices")[5:18], b"INV-20261122-")
        over_midnight(world, uri, (-2, 0, 2), lambda at: clock_at(world, at, "db"))
        with Configured(world, config(uri, invoices()), env=clock_at(world, MIDNIGHT + 366 * 86400)) as server:
            same(server.redis("GET", "invoices")[5:18], b"INV-20261123-")
    finally:
        db.end()


main()
