"""client_test.py VESTA [WORDS OF A CLAIM] -- tests lua/vesta/resty/client.lua in a real nginx, with real servers and with
failing servers and connections.  Every id is counted.

nginx runs examples/openresty/client.conf with other ports and folders, and with the location /run, which runs Lua code from
the request.  Of the rock, nginx finds only that file.
"""
import glob
import os
import re
import signal
import subprocess
import threading
import time

from blocks import REPO, WAYS, BlackHole, Fake, Load, Nginx, Proxy, block, count, log_with, second
from serving import Server, claim, main, same

VECTORS = os.path.join(REPO, "spec", "vectors", "blocks.csv")

NEW = """local function new(servers, more)
  local options = { servers = servers, name = "default", size = 10, timeout = 300, wait = 2000 }
  for key, value in pairs(more or {}) do options[key] = value end
  return require "vesta.resty.client".new(options)
end
local function address(port) return "127.0.0.1:" .. port end
"""


# ------------------------------------------------------------------ normal operation

@claim("under wrk no id repeats, a block costs one request, and a reload during the load fails no request")
def _(world):
    with Server(world) as a, second(world) as b, Nginx(world, [a.resp, b.resp], workers=2) as nginx:
        load, seen = Load(world, nginx, 3), set()
        old = nginx.workers()
        for _ in range(2):
            time.sleep(0.9)
            nginx.process.send_signal(signal.SIGHUP)
        same(count(load.lines(), seen), [])
        assert not set(old) & set(nginx.workers()), "no worker is new"
        asked = sum(int(re.search(r"vesta_ids_issued_total\{[^}]*resp[^}]*\} (\d+)", s.get("/metrics").body)[1]) for s in (a, b))
        assert asked <= len(seen) + 6 * 3 * 1000, "%d ids for %d requests" % (asked, len(seen))
        ids = [line for _ in range(20) for line in nginx.ask("/genids?n=2500").text.split()]
        same((count(ids, seen), len(ids)), ([], 50000))
        assert re.search(r"\d+ ids left, \d+ blocks in \d+ requests, 0 of them dropped\n127", nginx.ask("/info").text)


@claim("a request that outlives a reload gets its ids in the worker that exits")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        got = []
        slow = threading.Thread(target=lambda: got.extend(nginx.run(NEW + """
            local ids = new({ address(%d) })
            ngx.sleep(1.5)
            return table.concat(assert(ids:batch(35)), " ")""" % server.resp)))
        slow.start()
        time.sleep(0.5)
        nginx.process.send_signal(signal.SIGHUP)
        slow.join()
        same(len(set(got[0].split())), 35)


@claim("ids equal the vectors of docs/blocks.md, for ticks and numbers")
def _(world):
    rows = [line.rstrip("\n").split(",") for line in open(VECTORS) if line.strip() and not line.startswith(("#", "kind,"))]
    assert {row[0] for row in rows} >= {"ticks"} and len(rows) >= 15
    fake = Fake()
    with Nginx(world, [fake.port]) as nginx:
        for row in rows:
            kind, shifts, base, first, size, stride, i, wanted = row[0], row[1:6], *row[6:12]
            fake.reply = block(kind, shifts, base, first, size, stride)
            ids = nginx.run(NEW + "return unpack(new({ address(%d) }, { size = %s, ttl = 86400000 }):batch(%d))" % (
                fake.port, size, int(i) + 1))
            same(ids[-1], wanted)
        for first, stride, size in ((1, 1, 5), (9007199254740993, 3, 4), (2**64 - 5, 2, 3)):
            fake.reply = block("numbers", None, None, first, size, stride)
            ids = nginx.run(NEW + "return unpack(new({ address(%d) }, { size = %d }):batch(%d))" % (fake.port, size, size))
            same(ids, [str(first + n * stride) for n in range(size)])


@claim("a hundred requests at once on blocks of one id each get an id each")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp], options="size = 1,") as nginx:
        got = []
        crowd = [threading.Thread(target=lambda: got.append(nginx.ask("/genid").text)) for _ in range(100)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        same(count(got, set(), 100), [])


@claim("a block is used no longer than its ttl, and a steady caller has the next one before that")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        waited, dropped, blocks = nginx.run(NEW + """
            local ids = new({ address(%d) }, { size = 1000, ttl = 1000 })
            local before, waited = assert(ids:next()), 0
            for _ = 1, 30 do
              ngx.sleep(0.1)
              ids.wait_s_max = 0
              local id = ids:next()
              if not id then waited = waited + 1 end
            end
            return waited, ids:info().drops, ids:info().blocks""" % server.resp)
        assert int(dropped) >= 2 and int(blocks) >= 3, (dropped, blocks)
        assert int(waited) <= 10, "a machine that is busy may miss some: %s" % waited


@claim("phases that cannot wait use the blocks, or return a pause with the time to retry")
def _(world):
    init = """package.loaded.cold = require "vesta.resty.client".new { servers = { "127.0.0.1:1" }, name = "default" }
        package.loaded.told = { package.loaded.cold:next() }"""
    with Server(world) as server, Nginx(world, [server.resp], init=init) as nginx:
        said = nginx.run("return package.loaded.told[2], unpack(package.loaded.told, 3, 4)")
        assert said[0].startswith("no timer to fetch a block of 'default': "), said
        same(said[1:], ["no_block", "0.1"])
        same(nginx.ask("/cold").getheader("cold"), "nil no_block 0.1")
        assert nginx.ask("/genid").text.isdigit()
        answer = nginx.ask("/phases")
        logged = re.search(r"logged (\d+)", log_with(nginx, "logged "))
        same(count([answer.getheader("early"), answer.getheader("late"), logged[1]], set(), 3), [])


# ------------------------------------------------------------------ failures

@claim("a server is killed with -9 and restarted under load: no duplicate, and with a second server no request fails")
def _(world):
    with Server(world) as a, second(world) as b, Nginx(world, [a.resp, b.resp], workers=2) as nginx:
        load, seen = Load(world, nginx, 4), set()
        for server in (a, b):
            time.sleep(0.7)
            server.kill()
            server.process.wait()
            time.sleep(0.3)
            server.__enter__()
        same(count(load.lines(), seen), [])
        a.was_killed = b.was_killed = True


@claim("without servers, a pause with the failure of each; after a restart, ids without duplicates")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp], options="size = 20,") as nginx:
        seen = set()
        count(nginx.ask("/genids?n=50").text.split(), seen, 50)
        server.kill()
        server.process.wait()
        last = nginx.run("""
            local ids, kept = require "ids", {}
            ids.wait_s_max = 0.3
            while true do
              local id, message, code, wait_s = ids:next()
              if not id then return table.concat(kept, " "), message, code, wait_s end
              kept[#kept + 1] = id
            end""")
        count(last[0].split(), seen, 10)
        assert re.fullmatch(r"no block of 'default': 127.0.0.1:\d+: connection refused", last[1]), last
        same(last[2], "no_block")
        assert 0 <= float(last[3]) <= 0.2, last
        answer = nginx.ask("/genid")
        same((answer.status, answer.getheader("Retry-After")), (503, "1"))
        server.__enter__()
        nginx.run("require 'ids'.wait_s_max = 20 return 1")
        count(nginx.ask("/genids?n=100").text.split(), seen, 100)


@claim("a black hole first in the list, and a server that accepts and never replies, cost only one deadline")
def _(world):
    hole, mute = BlackHole(), Fake()
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        for port in (hole.port, mute.port):
            ids, requests, errors, message, asked_at_once = nginx.run(NEW + """
                local ids = new({ address(%d), address(%d) })
                local many = assert(ids:batch(95))
                local info = ids:info()
                return table.concat(many, " "), info.requests, info.servers[1].errors, info.servers[1].message,
                  info.servers[2].errors""" % (port, server.resp))
            same(count(ids.split(), set(), 95), [])
            same((errors, message, asked_at_once), ("1", "timeout", "0"))
            assert 10 <= int(requests) <= 12, requests


@claim("no cut, late, doubled, foreign or missing reply makes an id, and its connection is not used again")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        seen = set()
        for way in WAYS:
            proxy = Proxy(server.resp)
            slow = way in ("half and nothing more", "late", "a byte at a time")
            nginx.run(NEW + "package.loaded.spoilt = new({ address(%d) }, { wait = 20000, timeout = %d }) "
                      "return package.loaded.spoilt:next()" % (proxy.port, 300 if slow else 10000))
            connected = proxy.met_count
            proxy.fail(way, 1)
            ids, errors, message = nginx.run("""
                local ids = require "spoilt"
                local many = assert(ids:batch(60))
                local server = ids:info().servers[1]
                return table.concat(many, " "), server.errors, server.message""")
            same(count(ids.split(), seen, 60), [])
            if way == "nothing" or way == "half":
                assert proxy.met_count > connected, way  # retried over a new connection, or counted
            else:  # on a slow machine another deadline may pass
                assert errors == "1" or slow and int(errors) > 1, (way, errors)
                assert message != "nil" and proxy.met_count == connected + int(errors), (way, message, proxy.met_count)


@claim("an invalid block is rejected with the reason: too many, none, beyond 64 bits, unknown, already used")
def _(world):
    shifts, fake = [10, 20, 10, 0, 0], Fake()
    with Nginx(world, [fake.port]) as nginx:
        def told(*block_of, size=10):
            fake.reply = block(*block_of)
            return nginx.run(NEW + """
                local ids = new({ address(%d) }, { wait = 50, size = %d })
                local id, message
                repeat id, message = ids:next() until not id and not message:find("not asked yet", 1, true)
                return message""" % (fake.port, size))[0]
        for wrong, part in ((("ticks", shifts, "5", 77, 11, 0), "no count from 1 to 10"),
                            (("ticks", shifts, "5", 77, 0, 0), "no count"), (("ticks", shifts, "5", 77, -3, 0), "no count"),
                            (("ticks", shifts, "x", 77, 3, 0), "no base"), (("ticks", shifts, "", 77, 3, 0), "no base"),
                            (("ticks", shifts, str(2**64), 77, 3, 0), "no base"), (("ticks", shifts, "5", -1, 3, 0), "no first"),
                            (("ticks", shifts, "5", 2**64, 3, 0), "no first"), (("ticks", shifts, "5", 1 << 60, 3, 0), "64 bits"),
                            (("ticks", shifts, "5", 2**64 - 2, 3, 0), "64 bits"),
                            (("ticks", [64, 20, 10, 0, 0], "5", 77, 3, 0), "no seq_bits"),
                            (("ticks", [10, -1, 10, 0, 0], "5", 77, 3, 0), "no time_shift"),
                            (("ticks", [10, 20, 60, 0, 0], "5", 77, 3, 0), "64 bits"),
                            (("ticks", [10, 20, 10, 11, 0], "5", 77, 3, 0), "64 bits"),
                            (("numbers", None, None, 2**64 - 5, 3, 3), "64 bits"), (("numbers", None, None, 7, 3, 0), "no stride"),
                            (("numbers", None, None, 7, 3, -1), "no stride"),
                            (("numbers", None, None, 7, 3, 1), "issued before"),
                            (("ticks", shifts, "5", 77, 3, 0), "issued before")):
            message = told(*wrong)
            assert part in message and message.startswith("no block of 'default': 127.0.0.1:%d: " % fake.port), (wrong, message)


@claim("an unknown option is rejected, and the error lists the options")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        message = nginx.run(NEW + "return select(2, pcall(new, { address(%d) }, { fallback = 1 }))" % server.resp)[0]
    assert "unknown option fallback: use one of name, password, secret_file, servers, size, timeout" in message, message


@claim("if a server's next block is late, the error does not report that the server was never asked")
def _(world):
    class Once(Fake):
        def serve(self, client):
            client.recv(65536)
            client.sendall(self.reply)
            while client.recv(65536):
                pass

    fake = Once(block("ticks", [10, 20, 10, 0, 0], "5", 77, 1, 0))
    with Nginx(world, [fake.port]) as nginx:
        message, code = nginx.run(NEW + """
            local ids = new({ address(%d) }, { wait = 100, size = 1 })
            assert(ids:next())
            local _, message, code = ids:next()
            return message, code""" % fake.port)
    same((message, code), ("no block of 'default': 127.0.0.1:%d: replied, but its next block has not arrived yet" % fake.port,
                           "no_block"))


@claim("a server's error is returned at once with its text: unknown name, no password, a wrong password")
def _(world):
    with open(world.path("password"), "w") as file:
        file.write("open sesame\n")
    with Server(world, "--resp-password-file", world.path("password")) as server, Nginx(world, [server.resp]) as nginx:
        def asked(more):
            return nginx.run(NEW + "local ids = new({ address(%d) }, { wait = 60000, %s }) "
                             "return select(2, ids:next())" % (server.resp, more))
        for more, part in (("", "NOAUTH "), ("password = 'wrong'", "WRONGPASS "),
                           ("password = 'open sesame', name = 'nobody'", "ERR unknown name 'nobody'")):
            message, code, wait_s = asked(more)
            assert code == "refused" and ": %s" % part in message and 0 < float(wait_s) <= 0.1, (message, code, wait_s)
        ids = nginx.run(NEW + "return unpack(new({ address(%d) }, { password = 'open sesame' }):batch(50))" % server.resp)
        same(count(ids, set(), 50), [])


@claim("a server that replies -TRYAGAIN or -LOADING is skipped, and asked again later")
def _(world):
    fake = Fake()
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        for said in ("TRYAGAIN more ids than this unit has", "LOADING no worker number", "OOM no room \x1b[31m"):
            fake.reply = b"-%s\r\n" % said.encode()
            got = nginx.run(NEW + """
                local ids = new({ address(%d), address(%d) })
                local id = assert(ids:next())
                return id, ids:info().servers[1].message, ids:info().servers[1].rests_s <= 0.1
                """ % (fake.port, server.resp))
            same(got[1:], [said.replace("\x1b", "?"), "true"])
        asked, seconds = nginx.run(NEW + """
            local ids, begun = new({ address(%d), address(%d) }, { wait = 0 }), ngx.now()
            repeat ids:next() ngx.sleep(0.01) until ngx.now() - begun > 2
            return ids:info().requests, ngx.now() - begun""" % (fake.port, Fake(fake.reply).port))
        assert 10 <= int(asked) <= 10 * float(seconds) + 8, "%s requests in %s s" % (asked, seconds)


@claim("without a timer, or if it never runs, the client pauses and recovers")
def _(world):
    said = "timers are not|failed to run timer"
    with Server(world) as server, Nginx(world, [server.resp], http="lua_max_running_timers 1;", said=said) as nginx:
        said = nginx.run(NEW + """
            local done, runs
            repeat -- the timer of this worker's start may still run
              assert(ngx.timer.at(0, function() runs = true while not done do ngx.sleep(0.01) end end))
              ngx.sleep(0.1)
            until runs
            local ids = new({ address(%d) }, { wait = 200 })
            local id, message, code = ids:next()
            done = true
            ids.wait_s_max = 20
            return tostring(id), code, message, assert(ids:next())""" % server.resp)
        same(said[:3], ["nil", "no_block", "no block of 'default': 127.0.0.1:%d: not asked yet" % server.resp])
        assert said[3].isdigit()


@claim("a closed client issues no ids, even of a block that was requested")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        same(nginx.run(NEW + """
            local ids = new({ address(%d) }, { wait = 0 })
            ids:next()
            ids:close()
            ids:close()
            ngx.sleep(0.3)
            local id, message, code, wait_s = ids:next()
            return tostring(id), message, code, tostring(wait_s), select(3, ids:batch(3)), ids:info().left""" % server.resp),
             ["nil", "the client is closed", "closed", "nil", "closed", "0"])


# ------------------------------------------------------------------ wrong use

HOSTILE = {
    "servers": ["nil", "{}", "'127.0.0.1:8089'", "{ 5 }", "{ '' }", "{ 'h' }", "{ 'h:' }", "{ 'h:0' }", "{ 'h:65536' }", "{ ':8089' }",
                "{ 'h:8089', false }", "{ 'a b:8089' }", "{ 'h:8089\\r\\nQUIT' }", "{ ('h'):rep(300) .. ':1' }", "{ 'h:123456' }",
                "{ '[::1:8089' }", "{ 'unix:' }", "{ 'h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1','h:1',"
                "'h:1','h:1','h:1','h:1' }"],
    "name": ["nil", "''", "5", "('x'):rep(65)", "'a b'", "'a\\r\\nb'", "\"a'b\"", "'a\\0b'", "{}"],
    "size": ["0", "-1", "1.5", "100001", "0/0", "1/0", "'1000'", "true"],
    "ttl": ["0", "-1", "0/0", "1/0", "'10'", "86400001"],
    "timeout": ["0", "-5", "0/0", "86400001", "{}"],
    "wait": ["-1", "0/0", "1/0", "'x'", "86400001"],
    "password": ["''", "5", "('x'):rep(513)", "'a\\nb'", "true"],
    "colour": ["'red'"],
}


@claim("a wrong, huge, empty or hostile option raises at the caller's line with its name, and no password is shown")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        for name, values in HOSTILE.items():
            for value in values:
                options = {"servers": "{ 'h:1' }", "name": "'n'", name: value}
                said = nginx.run("local ok, message = pcall(function()\n local c = require 'vesta.resty.client'.new { %s }\n return c end)\n"
                                 "return ok, message" % ", ".join("%s = %s" % option for option in options.items()))
                assert said[0] == "false" and re.search(r":2: client.new: .*\b%s\b" % name, said[1]), (name, value, said)
                assert name != "password" or "xxx" not in said[1], said
        for value in ("nil", "5", "'x'"):
            said = nginx.run("return pcall(require 'vesta.resty.client'.new, %s)" % value)
            assert said[0] == "false" and "a table of options is expected" in said[1], said
        for n in ("0", "-1", "1.5", "10001", "nil", "'5'", "0/0"):
            said = nginx.run("local ids = require 'ids' return pcall(ids.batch, ids, %s)" % n)
            assert said[0] == "false" and "from 1 to 10000" in said[1], said
        same([nginx.ask("/genids" + query).status for query in ("", "?n=0", "?n=x", "?n=1e9", "?n=-5")], [400] * 5)


@claim("with lua_code_cache off every request has its own client and block, and a Lua without the FFI gets an error")
def _(world):
    with Server(world) as server, Nginx(world, [server.resp], options="size = 3,", http="lua_code_cache off;", said="code_cache") as nginx:
        same(count([nginx.ask("/genid").text for _ in range(12)], set(), 12), [])
    plain = subprocess.run(["lua5.1", "-e", "require 'vesta.resty.client'"], capture_output=True, text=True,
                           env={"PATH": os.environ["PATH"], "LUA_PATH": REPO + "/lua/?.lua"})
    assert plain.returncode == 1 and "vesta.resty.client needs LuaJIT with its FFI" in plain.stderr, plain.stderr


@claim("the file has the project's version and loads nothing of the rock, and opm's package is that file and access.lua")
def _(world):
    version = re.search(r"project\(vesta VERSION ([\d.]+)", open(os.path.join(REPO, "CMakeLists.txt")).read())[1]
    with Server(world) as server, Nginx(world, [server.resp]) as nginx:
        same(nginx.run("return require 'vesta.resty.client'._VERSION, tostring(package.loaded['vesta.core'])"), [version, "nil"])
    dist = dict(re.findall(r"(?m)^(\w+) = (.*)$", open(os.path.join(REPO, "dist.ini")).read()))
    same(set(dist), {"name", "abstract", "author", "is_original", "license", "lib_dir", "doc_dir", "exclude_files",
                     "main_module", "requires"})
    every = set(glob.glob("lua/**/*.lua", recursive=True, root_dir=REPO))
    for pattern in dist["exclude_files"].split(", "):
        every -= set(glob.glob(pattern, root_dir=REPO))
    same(every, {dist["main_module"], "lua/vesta/resty/access.lua"})


if __name__ == "__main__":
    main()
