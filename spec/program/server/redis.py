"""redis.py -- the Redis protocol of `vesta serve`."""
import json
import os
import re
import shutil
import threading

from serving import Configured, Server, bulks, claim, command, main, same, until_closed


@claim("GET returns ids as bulk strings, and MGET returns all ids or an error")
def _(world):
    with Server(world) as server:
        data = server.redis("GET", "default")
        assert re.fullmatch(rb"\$\d\d\r\n\d{15,20}\r\n", data), data
        data = server.redis("mget", *["default"] * 1000)
        assert data.startswith(b"*1000\r\n")
        same(len(set(bulks(data))), 1000)
        before = server.tick()
        same(server.redis("MGET", "default", "orders"), b"-ERR unknown name 'orders': this server has 'default'\r\n")
        same(server.tick(), before + 1)


@claim("ids from 2^63 on are unsigned digits over every protocol, and strings in JSON")
def _(world):
    with Server(world, layout="vesta-milli version:1=1") as server:
        data = server.redis("GET", "default")
        assert re.fullmatch(rb"\$20\r\n1\d{19}\r\n", data), data
        ids = bulks(data) + bulks(server.redis("VESTA.NEXT", "default", "3"))
        body = json.loads(server.get("/v1/ids?n=3").body)
        same([type(text) for text in body["ids"]], [str] * 3)
        ids += [int(text) for text in body["ids"] + [server.get("/genid").body, server.get("/api/snowflake/get/default").body]]
        same((min(ids) >= 2**63, max(ids) < 2**64, len(set(ids))), (True, True, 9))
        said = json.loads(server.get("/v1/ids/%d" % ids[0]).body)
        same((said["id"], said["version"], said["worker"]), (str(ids[0]), 1, json.loads(server.get("/expid?id=%d" % ids[0]).body)["machine"]))
        block = json.loads(server.get("/v1/blocks?n=10", method="POST").body)
        same((type(block["base"]), int(block["base"]) >> 62), (str, 3))
        negative = "%d" % (ids[0] - 2**64)
        same((server.get("/v1/ids/" + negative).status, server.get("/expid?id=" + negative).status), (400, 400))
        assert server.redis("VESTA.EXPLAIN", "default", negative).startswith(b"-ERR"), negative


@claim("the commands that clients send on connecting are answered")
def _(world):
    with Server(world) as server:
        def says(want, *words):
            same((words, server.redis(*words)), (words, want))
        says(b"+PONG\r\n", "PING")
        says(b"$2\r\nhi\r\n", "PING", "hi")
        says(b"$2\r\n\r\n\r\n", "ECHO", "\r\n")
        says(b"+OK\r\n", "QUIT")
        says(b"+OK\r\n", "SELECT", "0")
        says(b"-ERR DB index is out of range\r\n", "SELECT", "16")
        says(b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n", "CONFIG", "GET", "save")
        says(b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+fast\r\n+write\r\n:1\r\n:1\r\n:1\r\n" + b"*0\r\n" * 4,
             "COMMAND", "INFO", "GET")
        says(b"+OK\r\n", "CLIENT", "SETINFO", "LIB-NAME", "x")
        says(b"$-1\r\n", "CLIENT", "GETNAME")
        says(b"-NOPROTO unsupported protocol version\r\n", "HELLO", "4")
        says(b"-ERR vesta does not store data\r\n", "SET", "a", "b")
        says(b"-ERR vesta does not store data\r\n", "DEL", "a")
        assert server.redis("HELLO", "2").startswith(b"*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n")
        assert b"\r\nrole:master\r\n" in server.redis("INFO") and b"loading:0" in server.redis("INFO", "persistence")
        assert re.fullmatch(rb":\d+\r\n", server.redis("CLIENT", "ID"))
        assert server.redis("FOO", "bar").startswith(b"-ERR unknown command 'FOO', with args beginning with: 'bar'")
        assert server.redis("GET").startswith(b"-ERR wrong number of arguments for 'GET'")
        assert server.redis("GET", "a", "b").startswith(b"-ERR wrong number of arguments for 'GET'")
        data = server.say(server.resp, command("CLIENT", "SETNAME", "me") + command("CLIENT", "GETNAME") + b"PING\r\n")
        same(data, b"+OK\r\n$2\r\nme\r\n+PONG\r\n")
        same(server.say(server.resp, command("QUIT") + command("GET", "default"), end=False), b"+OK\r\n")


@claim("an unknown name is an error on one line, costs no id, and keeps the connection open")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for name in ("' OR 1=1 --", "a`b", "../x", "Default", "default ", "x" * 65, b"x" * 65536, b"\xff\xfe", "\u0661\u0662",
                     "\U0001f600", "\r\nSET x", b"\0", b"default\0", "", "%00"):
            data = server.say(server.resp, command("GET", name) + command("PING"))
            assert re.fullmatch(rb"-ERR unknown name '[ -~]*': this server has 'default'\r\n\+PONG\r\n", data), (name, data)
        same(server.tick(), before + 1)


@claim("invalid and hostile requests are rejected, cost no id, and the next one is served")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for data in (b"*1000000000\r\n", b"*1\r\n$2147483648\r\n", b"*-1\r\n", b"*-2\r\n", b"*1\r\n$-2\r\n", b"*1\r\n$-1\r\n",
                     b"*2\r\n$3\r\nGET\r\n$7\r\ndefaultXX", b"*1\n$4\nPING\n", b"x" * (1 << 20), b"*1\r\n*1\r\n$4\r\nPING\r\n",
                     b"*01\r\n", b"*1\r\n$65537\r\n", b"*1025\r\n", b"*2\r\n$3\r\nGET\r\n$10485760\r\n",
                     b"*1\r\n$4\r\nPINGPONG", b"*2147483648\r\n", b"*1\r\n$99999999999999999999\r\n"):
            reply = server.say(server.resp, data, end=False)
            assert re.fullmatch(rb"-ERR Protocol error: [ -~]+\r\n", reply), (data[:40], reply)
            same(server.redis("PING"), b"+PONG\r\n")
        for data in (b"", b"*2\r\n$3\r\nGET\r\n$7\r\ndefa", b"GET default"):
            same(server.say(server.resp, data), b"")
        same(server.say(server.resp, b"\x16\x03\x01\x02\x00"), b"-ERR Protocol error: this address speaks no TLS\r\n")
        same(server.tick(), before + 1)


COUNTS = ("0", "-1", "+1", "2147483648", "4294967296", "9223372036854775808", "18446744073709551616", "1;2", "1.5", "1e3", "",
          "0x10", "\u0661\u0662", "1 ", b"1\0", "9" * 400)


@claim("each command rejects an invalid count, which costs no id, and the next command is served")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for name, most in (("VESTA.NEXT", 10000), ("VESTA.BLOCK", 100000)):
            for count in COUNTS + (str(most + 1),):
                data = server.say(server.resp, command(name, "default", count) + command("PING"))
                assert re.fullmatch(rb"-ERR n '[ -~]*' must be a number from 1 to %d\r\n\+PONG\r\n" % most, data), (name, count, data)
        for count in COUNTS:
            for name in ("INCRBY", "DECRBY"):
                data = server.say(server.resp, command(name, "default", count) + command("PING"))
                assert re.fullmatch(rb"-ERR 'default' is a namespace, not a counter: take an id with GET default[ -~]+\r\n\+PONG\r\n", data), data
        for words in (["VESTA.NEXT"], ["VESTA.BLOCK"], ["VESTA.BLOCK", "default"], ["VESTA.NEXT", "a", "1", "UUID7", "b", "c"], ["INCRBY", "a"],
                      ["MGET"], ["INCR"]):
            assert server.redis(*words).startswith(b"-ERR wrong number of arguments for '%s'" % words[0].encode()), words
        same(server.redis("INCR", "nowhere"), b"-ERR unknown name 'nowhere': this server has no tags. To serve tags, add a table to segments in its config\r\n")
        same(server.tick(), before + 1)


@claim("several ids or a block come in one reply, and a block consists of the ids that would have followed")
def _(world):
    with Server(world) as server:
        ids = bulks(server.redis("VESTA.NEXT", "default", "10000"))
        assert len(ids) == 10000 and all(b - a == 1024 for a, b in zip(ids, ids[1:])), ids[:3]
        same(len(bulks(server.redis("VESTA.NEXT", "default"))), 1)
        block = json.loads(server.get("/v1/blocks?n=100000").body)
        same((block["ns"], block["layout"], block["count"]), ("default", server_layout(server), 100000))
        same(int(block["first"]), (ids[-1] >> 10) + 2)
        same(server.tick(), int(block["first"]) + 100000)
        same([block[name] for name in ("kind", "seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift")], ["ticks", 22, 32, 10, 0, 0])
        replied = re.fullmatch(rb"\*22\r\n\$2\r\nns\r\n\$7\r\ndefault\r\n\$4\r\nkind\r\n\$5\r\nticks\r\n\$6\r\nlayout\r\n\$\d+\r\n(.*)\r\n\$4\r\nbase\r\n\$1\r\n5\r\n"
                               rb"\$5\r\nfirst\r\n\$\d+\r\n(\d+)\r\n\$5\r\ncount\r\n:3\r\n"
                               rb"\$8\r\nseq_bits\r\n:22\r\n\$10\r\ntime_shift\r\n:32\r\n\$9\r\nseq_shift\r\n:10\r\n"
                               rb"\$8\r\nlow_bits\r\n:0\r\n\$9\r\nlow_shift\r\n:0\r\n", server.redis("VESTA.BLOCK", "default", "3"))
        same((replied[1].decode(), int(replied[2])), (block["layout"], int(block["first"]) + 100001))
        same(server.get("/v1/blocks?n=0").status, 400)
        same(server.get("/v1/blocks?ns=nowhere&n=1").status, 404)


def server_layout(server):
    return re.search(rb"\$6\r\nlayout\r\n\$\d+\r\n(.*?)\r\n", server.redis("VESTA.INFO"))[1].decode()


@claim("an id is explained and rebuilt by hand, and invalid ids are rejected")
def _(world):
    with Server(world, layout="vesta-second", pacing="clock") as server:
        (id,) = bulks(server.redis("GET", "default"))
        for words in (["VESTA.EXPLAIN", str(id)], ["VESTA.EXPLAIN", "default", str(id)]):
            texts = re.split(rb"\r\n", server.redis(*words))
            assert texts[0] == b"*20" and b"machine" in texts and texts[texts.index(b"machine") + 1] == b":5", texts
            assert texts[texts.index(b"method") + 1] == b":2" and texts[2:5] == [b"id", b"$%d" % len(str(id)), b"%d" % id], texts
        same(server.redis("VESTA.MAKE", "default", "genMethod", "2", "machine", "1022", "seq", "0", "time", "12758739"),
             b"$19\r\n2319542600899494910\r\n")
        (made,) = bulks(server.redis("VESTA.MAKE", "default", "seq", "7", "time", "12758739"))
        # The worker appears as `machine` and as `worker`.
        assert server.redis("VESTA.EXPLAIN", str(made)).count(b"\r\n:5\r\n") == 2
        same(made >> 60 & 3, 2)
        for text in ("", "-1", "+1", "0x10", "1e3", "18446744073709551616", "9" * 400, "\u0661\u0662", "12 34", b"12\x0034",
                     "4611686018427387904"):  # The last one has another type than this layout.
            data = server.say(server.resp, command("VESTA.EXPLAIN", text) + command("PING"))
            assert re.fullmatch(rb"-ERR [ -~]+\r\n\+PONG\r\n", data), (text, data)
        for fields in ([], ["time", "1"], ["time"], ["time", "1", "seq"], ["time", "1", "seq", "1", "colour", "2"], ["time", "1", "seq", "-1"],
                       ["time", "1", "seq", "1048576"], ["time", "1", "seq", "1", "time", "2"], ["time", "1"] * 20, ["", ""],
                       ["time", "1", "seq", "1", "x" * 65536, "1"], ["time", "1", "seq", "1", "a\0", "1"], ["x", "1"] * 500):
            data = server.say(server.resp, command("VESTA.MAKE", "default", *fields) + command("PING"))
            assert re.fullmatch(rb"-ERR [ -~]+\r\n\+PONG\r\n", data), (fields[:4], data)
        for words in (["VESTA.MAKE", "nowhere", "time", "1"], ["VESTA.EXPLAIN", "nowhere", "1"], ["VESTA.NEXT", "nowhere"]):
            assert server.redis(*words).startswith(b"-ERR unknown name 'nowhere'"), words


@claim("the server describes its commands, sections, layouts and time")
def _(world):
    with Server(world) as server:
        names = re.findall(rb"\$\d+\r\n([a-z.]+)\r\n", server.redis("COMMAND", "LIST"))
        same(server.redis("COMMAND", "COUNT"), b":%d\r\n" % len(names))
        assert len(set(names)) == len(names) > 30 and b"get" in names and b"vesta.block" in names, names
        for name in names:
            assert server.redis("COMMAND", "INFO", name).startswith(b"*1\r\n*10\r\n$%d\r\n%s\r\n" % (len(name), name)), name
            assert re.match(rb"\*2\r\n\$%d\r\n%s\r\n\*4\r\n\$7\r\nsummary\r\n\$\d+\r\n[A-Za-z0-9]" % (len(name), name), server.redis("COMMAND", "DOCS", name)), name
        assert b"\r\nthe next id\r\n" in server.redis("COMMAND", "DOCS", "get")
        assert server.redis("COMMAND").startswith(b"*%d\r\n*10\r\n" % len(names))
        same(server.redis("COMMAND", "DOCS", "nosuch"), b"*0\r\n")
        assert server.redis("COMMAND", "NOSUCH").startswith(b"-ERR unknown subcommand 'NOSUCH'")
        info = server.redis("INFO")
        for key in (b"redis_version:7.0.0", b"redis_mode:standalone", b"vesta_version:", b"uptime_in_seconds:", b"connected_clients:1\r\n",
                    b"loading:0", b"role:master", b"total_commands_processed:%d\r\n" % (2 * len(names) + 6), b"vesta_ids_default:0"):
            assert key in info, (key, info)
        same(info.count(b"# "), 12)
        for words, count in ((["server"], 1), (["CLIENTS", "stats"], 2), (["all"], 12), (["everything"], 12), (["commandstats"], 1), (["nosuch"], 0)):
            same(server.redis("INFO", *words).count(b"# "), count)
        presets = world.run("layout", "--json").lines()
        assert server.redis("VESTA.LAYOUTS").startswith(b"*%d\r\n$12\r\nvesta-second\r\n" % (2 * len(presets)))
        assert re.fullmatch(rb"\*2\r\n\$10\r\n\d{10}\r\n\$\d\r\n\d{1,6}\r\n", server.redis("TIME"))
        for words, want in ((["DBSIZE"], b":0\r\n"), (["WAIT", "1", "0"], b":0\r\n"), (["READONLY"], b"+OK\r\n"), (["READWRITE"], b"+OK\r\n"),
                            (["WATCH", "a"], b"+OK\r\n"), (["UNWATCH"], b"+OK\r\n"), (["CLIENT", "NO-EVICT", "on"], b"+OK\r\n"),
                            (["SUBSCRIBE", "a"], b"-ERR vesta has no channels\r\n"), (["PUBLISH", "a", "b"], b"-ERR vesta has no channels\r\n"),
                            (["MONITOR"], b"-ERR vesta does not report the requests of other clients.  CLIENT LIST has the last command of each\r\n")):
            same((words, server.redis(*words)), (words, want))
        for words in (["CLIENT", "TRACKING", "maybe"], ["CLIENT", "MAINT_NOTIFICATIONS", "on"], ["CLIENT", "KILL"], ["CLIENT", "ID", "1"]):
            assert server.redis(*words).startswith(b"-ERR unknown subcommand '" + words[1].encode()), words
        assert re.fullmatch(rb"\$\d+\r\nid=\d+ addr=127.0.0.1:\d+ laddr=127.0.0.1:\d+ fd=\d+ name= age=0 idle=0 flags=N db=0 .* multi=-1 .* omem=0 .* resp=2\n\r\n", server.redis("CLIENT", "LIST"))


@claim("docs/redis.md lists every command")
def _(world):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "docs", "redis.md")) as file:
        told = set(re.findall(r"[A-Z.]{3,}", "".join(re.findall(r"`[^`]*`", file.read()))))
    with Server(world) as server:
        names = re.findall(rb"\$\d+\r\n([a-z.]+)\r\n", server.redis("COMMAND", "LIST"))
    same([name for name in names if name.decode().upper() not in told], [])


@claim("one command or transaction can use several namespaces, and returns all ids or an error")
def _(world):
    wide = '{ layout = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", pacing = "history", worker = %d }'
    with Configured(world, "return { namespaces = { default = %s, orders = %s } }" % (wide % 5, wide % 6)) as server:
        ids = bulks(server.redis("MGET", "default", "orders", "orders", "default"))
        same([id & 1023 for id in ids], [5, 6, 6, 5])
        same((ids[2] - ids[1], ids[3] - ids[0]), (1024, 1024))
        same(server.redis("MGET", "default", "nowhere", "orders"),
             b"-ERR unknown name 'nowhere': this server has 'default' and 1 more\r\n")
        data = server.say(server.resp, b"MULTI\r\nGET orders\r\nVESTA.NEXT default 2\r\nGET nowhere\r\nMGET orders default\r\nEXEC\r\n")
        more = bulks(data)
        same([id & 1023 for id in more], [6, 5, 5, 6, 5])
        same((more[0], more[1], more[3]), (ids[2] + 1024, ids[3] + 1024, more[0] + 1024))
        assert b"-ERR unknown name 'nowhere'" in data, data
        info = server.redis("INFO", "vesta")
        assert b"vesta_namespaces:2\r\nvesta_ids_default:5\r\nvesta_ids_orders:4\r\n" in info, info
        same(server.redis("VESTA.BLOCK", "orders", "2").count(b"$1\r\n6\r\n"), 1)
        same(server.redis("VESTA.INFO").count(b"worker:10"), 2)
        assert server.redis("VESTA.EXPLAIN", "orders", str(ids[1])).startswith(b"*14\r\n")


@claim("a browser's POST to this port is disconnected before its body is read")
def _(world):
    with Server(world) as server:
        before = server.tick()
        body = b"Content-Length: 13\r\n\r\nGET default\r\n"
        same(server.say(server.resp, b"POST / HTTP/1.1\r\nHost: x\r\n" + body, end=False), b"")
        reply = server.say(server.resp, b"GET / HTTP/1.1\r\nHost: x\r\n" + body, end=False)
        same(reply, b"-ERR Protocol error: this address speaks the Redis protocol, not HTTP\r\n")
        same(server.tick(), before + 1)


@claim("a million pipelined commands are answered in order")
def _(world):
    with Server(world) as server:
        with server.connect(server.resp) as sock:
            got = []
            reader = threading.Thread(target=lambda: got.append(until_closed(sock)))
            reader.start()
            for _ in range(10):
                sock.sendall(b"PING\r\n" * 99999 + b"GET default\r\n")
            sock.sendall(b"QUIT\r\n")
            reader.join()
        (data,) = got
        same(data.count(b"+PONG\r\n"), 999990)
        ids = bulks(data)
        assert len(ids) == 10 and all(b - a == 1024 for a, b in zip(ids, ids[1:])), ids
        assert data.endswith(b"\r\n+OK\r\n")


SLOW_SECOND = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"  # 4 ids per second


@claim("a row of equal commands is answered like single commands, with the same order, errors and metrics")
def _(world):
    get, other, many = command("GET", "default"), command("get", "default"), command("VESTA.NEXT", "default", "3")
    wrong, ping, inline = command("GET", "nowhere"), command("PING"), b"GET default\r\n"
    batch = (get * 1500 + other * 2 + many + get * 2 + wrong * 3 + inline * 3 + ping + get
             + command("MULTI") + get * 3 + command("EXEC") + get * 2 + get[:-3])
    with Server(world) as server:
        with server.connect(server.resp) as sock:
            sock.sendall(batch)
            sock.sendall(get[-3:] + command("QUIT"))
            data = until_closed(sock)
        ids = bulks(data)
        same(len(ids), 1500 + 2 + 3 + 2 + 3 + 1 + 3 + 2 + 1)
        assert all(b - a == 1024 for a, b in zip(ids, ids[1:])), "an id is missing, or out of order"
        shape = re.sub(rb"(\$\d+\r\n\d+\r\n)+", lambda found: b"<%d>" % found[0].count(b"$"), data)
        same(re.sub(rb"-ERR unknown name[^\r]+", b"-ERR", shape),
             b"<1502>*3\r\n<5>" + b"-ERR\r\n" * 3 + b"<3>+PONG\r\n<1>+OK\r\n" + b"+QUEUED\r\n" * 3 + b"*3\r\n<6>+OK\r\n")
        metrics = server.get("/metrics").body
        assert 'vesta_requests_total{proto="resp",code="ok"} 1519\n' in metrics
        assert re.search(r'vesta_ids_issued_total\{[^}]*proto="resp"[^}]*\} 1517\n', metrics), \
            re.findall("vesta_ids_issued.*", metrics)


@claim("if the layout has too few ids for a row of equal commands, the available ids are returned, and each other "
       "command is rejected")
def _(world):
    with Server(world, "--wait-ms", "0", layout=SLOW_SECOND, pacing="clock") as server:
        for _ in range(3):
            data = server.say(server.resp, command("GET", "default") * 9 + command("PING"))
            got, refused = len(bulks(data)), data.count(b"-TRYAGAIN ")
            same((got + refused, data[-7:]), (9, b"+PONG\r\n"))
            assert got <= 8 and (got == 0 or data.index(b"$") == 0), data


@claim("redis-cli and redis-benchmark work unchanged")
def _(world):
    assert shutil.which("redis-cli"), "apt-get install redis-tools"
    with Server(world) as server:
        done = world.shell("redis-cli -p %d MGET default default; redis-cli -p %d -3 GET default; "
                           "printf 'GET default\\nPING\\n' | redis-cli -p %d; redis-benchmark -p %d -q -n 2000 -P 16 GET default"
                           % ((server.resp,) * 4))
        same(done.code, 0)
        same(len(re.findall(r"(?m)^\d{15,19}$", done.out)), 4)
        assert "PONG" in done.out and "requests per second" in done.out, done.out
        assert "fetch server CONFIG" not in done.out + done.err, done.err


main()
