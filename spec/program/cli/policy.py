"""policy.py -- `vesta policy check|run|test`."""
import json
import os
import re

from harness import claim, fails, like, main, same

SPECS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "policy")
SHIPPED = "borrow refuse switch wait".split()
CHOOSERS = "any butterfly butterfly_db ip_bits ip_list leaf ordinal twitter uid vesta".split()


def write(w, name, text):
    with open(w.path(name), "wb") as file:
        file.write(text.encode() if isinstance(text, str) else text)
    return "./" + name


def policy(w, body, hook="on_clock_back"):
    return write(w, "mine.lua", "return { api = 1, %s = function(ctx)\n%s\nend }\n" % (hook, body))


def answer(w, body, *given, hook="on_clock_back"):
    result = w.run("policy", "run", hook, policy(w, body, hook), *given)
    same((result.code, result.err), (0, ""))
    like(result.out, "...\n(%s answered within ... us)\n" % hook)
    return result.lines()[0]


@claim("an error in a policy's text or options begins with the file name, not with a line of the engine")
def _(w):
    with open(w.path("compiled.lua"), "wb") as file:
        file.write(b"\x1bLuaS")
    fails(w.run("policy", "check", "./compiled.lua"), 1, "vesta policy: ./compiled.lua: this is compiled Lua. Pass its source\n")
    options = "{ a = '" + "a" * 70000 + "' }"
    fails(w.run("policy", "check", "wait", "--options", options), 1, "vesta policy: options: more than 65536 bytes\n")
    with open(w.path("deep.lua"), "w") as file:
        file.write("return " + "{" * 300 + "}" * 300)
    fails(w.run("policy", "check", "./deep.lua"), 1, "vesta policy: ./deep.lua")


@claim("check lists the functions of a policy")
def _(w):
    result = w.run("policy", "check", *SHIPPED, policy(w, "return 'wait'"), write(w, "none.lua", "return { api = 1 }"))
    same([line for line in result.lines() if not line.startswith("  ")],
         ["borrow: on_clock_back, on_exhausted", "refuse: on_clock_back, on_exhausted", "switch: on_clock_back",
          "wait: on_clock_back, on_exhausted", "./mine.lua: on_clock_back",
          "./none.lua: no functions, so the fixed rules always apply"])
    same(result.code, 0)
    got = json.loads(w.run("policy", "check", "--json", "refuse").out)
    same(got, {"policy": "refuse", "functions": ["on_clock_back", "on_exhausted"], "options": []})


BORROWS = "how far an id's time may be ahead of the latest time that the generator has seen"
GIVEN = {"twitter": ["--options", "{ worker = 1 }"], "ip_list": ["--options", "{ ips = { '10.0.0.1' } }"]}


@claim("check shows a policy's declared options with default, unit, range and meaning")
def _(w):
    same(w.run("policy", "check", "borrow").lines()[1:], ["  borrow_ms_max: default 1000 ms, from 0 to 86400000: " + BORROWS])
    same(json.loads(w.run("policy", "check", "--json", "borrow").out)["options"],
         [{"name": "borrow_ms_max", "kind": "number", "needed": False, "default": 1000, "least": 0, "most": 86400000, "unit": "ms", "about": BORROWS}])
    mine = write(w, "mine.lua", """return { api = 1, options = { n = { -5, 7, unit = "s" }, role = { "a b", "c", default = "c", about = "whose" },
      list = { list = true }, must = { 1, 2, needed = true } } }""")
    same(w.run("policy", "check", mine, "--options", "{ must = 1 }").lines()[1:],
         ["  list: a list", "  must: required, from 1 to 2", "  n: from -5 to 7 s", '  role: default "c", "a b" or "c": whose'])
    same(json.loads(w.run("policy", "check", mine, "--json", "--options", "{ must = 1 }").out)["options"],
         [{"name": "list", "kind": "list", "needed": False}, {"name": "must", "kind": "number", "needed": True, "least": 1, "most": 2},
          {"name": "n", "kind": "number", "needed": False, "least": -5, "most": 7, "unit": "s"},
          {"name": "role", "kind": "word", "needed": False, "default": "c", "words": ["a b", "c"], "about": "whose"}])
    none = write(w, "none.lua", "return { api = 1 }")
    same((w.run("policy", "check", none, "refuse").out.count("\n"), json.loads(w.run("policy", "check", none, "--json").out)["options"]), (2, None))
    for name in SHIPPED + CHOOSERS:
        for option in json.loads(w.run("policy", "check", name, "--json", *GIVEN.get(name, [])).out)["options"]:
            assert option["about"] and (option.get("unit") == "ms") == ("_ms" in option["name"]), (name, option)


@claim("a policy's description of its options is escaped, shortened and printed on one line")
def _(w):
    hostile = write(w, "hostile.lua", """return { api = 1, options = { ["a\\27[31m\\n\\"\\255"] = { "x\\0y", "\\27\\"", default = "\\27\\"", unit = "\\n",
      about = "one\\ntwo\\27[2J " .. ("z"):rep(100000) }, m = { -1/0, 0/0, unit = "\\r" }, n = { 0.5, 1e300 } } }""")
    result = w.run("policy", "check", hostile)
    same((result.code, result.err, len(result.lines())), (0, "", 4))
    assert result.out.isprintable() or set(c for c in result.out if not c.isprintable()) == {"\n"}, result.out
    assert '  a\\x1b[31m\\x0a"\\xff: ' in result.out and '"x\\x00y" or ' in result.out and "zzz...\n" in result.out and len(result.out) < 800, result.out
    got = json.loads(w.run("policy", "check", hostile, "--json").out)["options"]
    same([(o["name"], o.get("words")) for o in got], [('a\\x1b[31m\\x0a"\\xff', ["x\\x00y", '\\x1b"']), ("m", None), ("n", None)])
    for options, said in (("for i = 1, 65 do t['o' .. i] = { 0, i } end", "options has more than 64 rules"), ("t.x = { 0, 1, about = 5 }", "the option x: about must be a string, not 5"),
                          ("t.x = { 0, 1, unit = {} }", "the option x: unit must be a string, not a table"), ("t.x = string", "string.list is not declared")):
        fails(w.run("policy", "check", write(w, "bad.lua", "local t = {} %s return { api = 1, options = t }" % options)), 1, said)
    later = "local t = { x = { 0, 1 } } return { api = 1, options = t, on_exhausted = function() t.x = 5 t.y = { nil, {}, about = {} } t[1] = t return 'wait' end }"
    same(w.run("policy", "check", write(w, "later.lua", later)).lines(), ["./later.lua: on_exhausted", "  x: from 0 to 1"])


@claim("a policy that cannot be compiled is rejected with its path, without a place in vesta's own files")
def _(w):
    for text, said in ((b"\x1bLua", "this is compiled Lua"), (" " * 65537, "more than 65536 bytes"), ("return " + "(" * 300, "it nests too deep")):
        fails(w.run("policy", "check", write(w, "no.lua", text)), 1, "vesta policy: ./no.lua: " + said)
    fails(w.run("policy", "run", "on_clock_back", "wait", "--options", "{ a = " * 250 + "}" * 250), 1, "vesta policy: options: it nests too deep")


@claim("run passes the variables that --env names to the policy, and prints what the policy logs")
def _(w):
    mine = policy(w, "log('in ' .. env 'REGION') log 'a\\nb' return 'refuse', tostring(env 'NONE')")
    result = w.run("policy", "run", "on_clock_back", mine, "--env", "REGION,NONE", env={"REGION": "eu"})
    same((result.code, result.lines()[0]), (0, "refuse: nil"))
    same(result.err, "vesta policy: ./mine.lua logs: in eu\nvesta policy: ./mine.lua logs: a\\x0ab\n")
    same(w.run("policy", "check", mine, "--env", "REGION,NONE", env={"REGION": "eu"}).out, "./mine.lua: on_clock_back\n")
    fails(w.run("policy", "run", "on_clock_back", mine), 1, "mine.lua:2: env: policies may not read REGION: name it in policy_env")
    for names in (",", "A,,B", "A B", "1A", "A=1", "*", "\xff", "A" * 129):
        fails(w.run("policy", "run", "on_clock_back", mine, "--env", names), 2, "is not a variable's name")
    fails(w.run("policy", "run", "on_clock_back", mine, "--env", ",".join("A%d" % i for i in range(33))), 2, "more than 32")
    fails(w.run("policy", "test", "--env", "A", mine), 2, "test takes no options")
    fails(w.run("policy", "check", policy(w, "print 'x'")), 1, "global print is not declared, and policies may not use it: use log(text)")


@claim("a spec finds its policy and its modules next to itself, from any working directory")
def _(w):
    os.makedirs(w.path("specs/deep"))
    write(w, "specs/deep/mine.lua", "return { api = 1, on_exhausted = function() return 'refuse', 'beside' end }")
    write(w, "specs/deep/words.lua", "return { word = 'beside' }")
    write(w, "mine.lua", "return { api = 1, on_exhausted = function() return 'refuse', 'elsewhere' end }")
    for name in ("./mine.lua", "mine.lua", "../deep/mine.lua"):
        write(w, "specs/deep/mine_spec.lua", """local testing = require "vesta.testing"
          it("is found", function() local world = testing.world { policy = { "%s" } }
            assert.equal(require "words".word, select(3, world:verdict "on_exhausted")) end)""" % name)
        for where in ("specs/deep", "specs/deep/mine_spec.lua", w.path("specs/deep"), "./specs/deep/mine_spec.lua"):
            result = w.run("policy", "test", where)
            same((result.code, result.out), (0, "ok - is found\n1 passed, 0 failed\n"))
    write(w, "specs/deep/mine_spec.lua", 'it("is not there", function() require "vesta.testing".world { policy = "./none.lua" } end)')
    result = w.run("policy", "test", "specs/deep")
    same(result.code, 1)
    assert "cannot open the policy specs/deep/none.lua" in result.out, result.out


@claim("the policies of known generators choose a worker id and handle the same cases as their originals")
def _(w):
    more = {"butterfly": ", on_clock_back, on_exhausted", "leaf": ", on_clock_back, on_start", "twitter": ", on_clock_back, on_start",
            "uid": ", on_clock_back, on_exhausted", "vesta": ", on_clock_back"}
    for name in CHOOSERS:
        result = w.run("policy", "check", name, *GIVEN.get(name, []))
        same((result.code, result.lines()[0]), (0, name + ": choose_worker" + more.get(name, "")))
    rows = write(w, "rows.lua", "return { { worker = 924, held = true, identity = 'x', holder = 'x', until_ms = 0, written_ms = 0 } }")
    same(w.run("policy", "run", "choose_worker", "vesta", "--options", "{ role = 'server' }", "records=" + rows).lines()[0], "925")
    same(w.run("policy", "run", "choose_worker", "ip_bits", "ip=10.0.3.7", "range=0-65535").lines()[0], "775")


@claim("check reports each error with its place, continues with the other policies, and ends with 1")
def _(w):
    for text, said in (("return {", "bad.lua:1: "), ("\n\nx = 1", "bad.lua:3: "), ("return 5", "a policy must return a table"),
                       ("return { api = 2 }", "api is 2, which must be 1"), ("return { api = 1, on_clockback = print }", "print"),
                       ("return { api = 1, on_clockback = error }", "did you mean 'on_clock_back'?"), ("\033Lua", "bad.lua"),
                       ("while true do end", "bad.lua:1: ended after"), ("return os.exit(0)", "bad.lua:1: "),
                       ("local s = 'x' for i = 1, 40 do s = s .. s end", "ended for using too much memory"), ("", "a policy must return a table"),
                       ("-" * 70000, "bad.lua"), (b"return '\xff\xfe\0'", "a policy must return a table")):
        result = w.run("policy", "check", write(w, "bad.lua", text), "refuse")
        same((result.code, result.out), (1, "refuse: on_clock_back, on_exhausted\n"))
        assert said in result.err and result.err.startswith("vesta policy: "), (text, result.err)
        assert len(result.err) < 700 and result.err.count("\n") == 1, result.err
    for body, said in (("error 'x'", "on_clock_back fails when it is tried with a clock that is 5 ms back (error): ./mine.lua:2: x"), ("return 'go'", "(garbage)"),
                       ("while true do end", "mine.lua:2: ended after")):
        fails(w.run("policy", "check", policy(w, body)), 1, said)  # check calls the functions as a server does.
    fails(w.run("policy", "check", "borrow", "--options", "{ borrow_ms_max = -5 }"), 1, "the option borrow_ms_max must be a whole number from 0 to 86400000, not -5")
    fails(w.run("policy", "check", "./nowhere.lua"), 1, "nowhere.lua", "No such file")
    fails(w.run("policy", "check", "./"), 1, "not a regular file")
    fails(w.run("policy", "check", "/dev/zero"), 1, "not a regular file")
    fails(w.run("policy", "check", "borow"), 1, "use one of " + ", ".join(sorted(SHIPPED + CHOOSERS)) + ", or a file (./NAME.lua)")
    fails(w.run("policy", "check", "helpers"), 1, "no policy 'helpers'")
    fails(w.run("policy", "check", "x" * 100000 + ".lua"), 1, "too long")
    fails(w.run("policy", "check", ""), 1, "no policy ''")


FREE = "for _, r in ipairs(ctx.records) do if not r.held or r.expired then return r.worker end end "


@claim("check calls each function in typical situations and names the one that failed, and `no worker` with a reason "
       "is valid")
def _(w):
    for hook, body, situation in (
            ("on_exhausted", "return 'switch'", "with an exhausted sequence (garbage): ./mine.lua:1:"),
            ("choose_worker", "return ctx.records[1].worker", "with no records (error): ./mine.lua:2:"),
            ("choose_worker", "if ctx.records[1] then error 'x' end return 7", "with worker ids that are held, expired and released (error): ./mine.lua:2:"),
            ("choose_worker", "if ctx.leaving then error('no way') end return 1", "with a worker id that must be left (error): ./mine.lua:2:"),
            ("choose_worker", FREE + "while ctx.records[1] do end", "with all worker ids held (instructions): ./mine.lua:2:"),
            ("on_start", "return ctx.last_ms > 0 and 'go'", "at a first start, alone (error): ./mine.lua:2:"),
            ("on_start", "return #ctx.peers == 0 and 'go'", "at another start, among peers (garbage): ./mine.lua:1:"),
            ("on_store_down", "return 'wait'", "with an unreachable store (garbage): ./mine.lua:1:"),
            ("on_lease_lost", "return ('x'):rep(2^24)", "with a lost worker id (memory): ")):
        fails(w.run("policy", "check", policy(w, body, hook)), 1, "%s fails when it is tried %s" % (hook, situation))
    for hook, body in (("choose_worker", FREE + "return nil, 'there is none'"), ("choose_worker", "return 1e6"), ("on_start", "return 'refuse'"),
                       ("on_store_down", "return 'refuse', 'after ' .. ctx.down_ms + ctx.left_ms"), ("on_lease_lost", "return 'stop', ctx.worker .. ''")):
        same(w.run("policy", "check", policy(w, body, hook)).out, "./mine.lua: %s\n" % hook)


@claim("check passes the fields that docs/policies-reference.md lists, with consistent values")
def _(w):
    same(w.run("policy", "check", policy(w, """
      local t = ctx.records
      assert(ctx.namespace == 'default' and ctx.now_ms > 1.7e12 and ctx.range.first == 0 and ctx.random >= 0 and ctx.attempt == 1)
      assert(ctx.host == 'host-0' and ip4(ctx.ip) and ctx.ordinal == 0 and ctx.identity == 'host-0' and next(ctx.options) == nil)
      for i, r in ipairs(t) do
        assert(r.worker == i - 1 and r.worker <= ctx.range.last and r.epoch == 1 and r.holder and (r.identity == ctx.identity) == (r.worker == ctx.leaving))
        assert(r.written_ms < ctx.now_ms and r.seen_ms <= ctx.now_ms and type(r.held) == 'boolean' and type(r.expired) == 'boolean')
      end
      local found = survey(ctx, ctx.range.first, ctx.range.last)
      if #t == 0 then assert(found.unused == 0 and ctx.range.last == 1023) return 0 end
      assert(#t == ctx.range.last + 1)
      if not found.oldest then assert(t[1].until_ms > ctx.now_ms and not is_free(ctx, t[4])) return nil, 'all are held' end
      assert(found.expired.worker == 1 and found.later.worker == 2 and found.released.worker == 3) return 3""", "choose_worker")).code, 0)
    same(w.run("policy", "check", policy(w, """
      if #ctx.peers == 0 then assert(ctx.last_ms == nil) return 'go' end
      assert(ctx.last_ms < ctx.now_ms and #ctx.peers > 1 and judge_peers(ctx, 10000) == 'go') return 'go'""", "on_start")).code, 0)


def offered():
    """Yields (library, names) that policies may use of Lua."""
    text = open(os.path.join(SPECS, "..", "..", "lua", "vesta", "engine.lua")).read()
    block = text[text.index("engine.WHITELIST = {"):]
    for library, names in re.findall(r"^  (\w+) = \{ (.*?) \}", block[:block.index("\n}")], re.M):
        yield library, re.findall(r'"(\w+)"', names)


@claim("the sandbox provides exactly what the engine lists, which is less than all of Lua")
def _(w):
    names = [name if library == "_G" else library + "." + name for library, list_ in offered() for name in list_]
    assert len(names) > 30, names
    body = "\n".join("if %s == nil then return 'refuse', '%s' end" % (name, name) for name in names + ["split", "hash32", "ip4", "read_options", "judge_option", "is_free", "survey", "judge_peers", "string.find"])
    same(answer(w, body + "\nreturn 'wait'"), "wait")
    for name in ("os", "io", "debug", "package", "require", "load", "loadstring", "dofile", "loadfile", "xpcall", "setmetatable",
                 "getmetatable", "rawset", "rawget", "collectgarbage", "coroutine", "print", "utf8", "bit", "jit", "ffi", "setfenv", "_G", "_ENV.os",
                 "string.gsub", "string.gmatch", "string.match", "string.dump", "table.move", "table.unpack", "math.random", "('').gsub"):
        fails(w.run("policy", "run", "on_clock_back", policy(w, "return type(%s)" % name)), 1, "(error)", name.split(".")[-1])


@claim("run prints the answer of a function, which receives only the given values")
def _(w):
    same(answer(w, "return 'wait'"), "wait")
    same(answer(w, "return 'wait', ctx.back_ms", "back_ms=70"), "wait 70 ms")
    same(answer(w, "return 'borrow', 5, 'a while'"), "borrow 5 ms: a while")
    same(answer(w, "return 'refuse', ctx.namespace .. ctx.worker .. ctx.ahead_ms_max", "worker=7", "namespace=a=b"), "refuse: a=b70")
    same(answer(w, "return 'refuse', tostring(ctx.back_ms)", "back_ms=-9223372036854775808"), "refuse: -9223372036854775808")
    same(answer(w, "return 'refuse', 'a\\27[31mb\\nc'"), "refuse: a\\x1b[31mb\\x0ac")
    same(answer(w, "return ctx.last_ms < ctx.now_ms and 'go' or 'refuse'", hook="on_start"), "go")
    same(answer(w, "return ctx.down_ms + ctx.left_ms == 5 and 'continue' or 'refuse'", "down_ms=2", "left_ms=3",
                hook="on_store_down"), "continue")
    same(answer(w, "return 'claim'", hook="on_lease_lost"), "claim")
    got = json.loads(w.run("policy", "run", "on_clock_back", "wait", "back_ms=9000", "--json").out)
    assert got.pop("took_us") > 0
    same(got, {"function": "on_clock_back", "verdict": "refuse",
               "reason": "the clock is back by 9000 ms, and the longest wait is 5000"})


@claim("run can omit values that a server may lack, and derives the ordinal from the host name as a server does")
def _(w):
    body = "return 'refuse', tostring(ctx.last_ms)"
    same(answer(w, body, "last_ms=nil", hook="on_start"), "refuse: nil")
    body = "return nil, ('%s %s %s %s %s'):format(ctx.host, ctx.ip, ctx.ordinal, ctx.identity, ctx.leaving)"
    for given, said in (((), "host-0 192.0.2.1 0 host-0 nil"), (("leaving=7",), "host-0 192.0.2.1 0 host-0 7"),
                        (("host=nil", "ip=nil", "ordinal=nil", "identity=nil", "leaving=nil"), "nil nil nil nil nil"),
                        (("ordinal=nil",), "host 192.0.2.1 nil host-0 nil"), (("host=orders-7.svc.local",), "orders-7.svc.local 192.0.2.1 7 host-0 nil"),
                        (("host=web",), "web 192.0.2.1 nil host-0 nil"), (("ordinal=3", "host=orders-7"), "orders-7 192.0.2.1 3 host-0 nil")):
        same(answer(w, body, *given, hook="choose_worker"), "no worker: " + said)
    fails(w.run("policy", "run", "choose_worker", "any", "attempt=nil"), 2, 'attempt must be a whole number, not "nil"')
    fails(w.run("policy", "run", "choose_worker", "any", "ordinal=x"), 2, 'ordinal must be a whole number, or nil for a server that has none, not "x"')
    fails(w.run("policy", "run", "choose_worker", "any", "ip=a", "ip=b"), 2, "ip is set twice")
    fails(w.run("policy", "run", "choose_worker", "any", "label=x"), 2, 'has no input "label": its inputs are namespace, now_ms, records')
    fails(w.run("policy", "run", "ordinal", "choose_worker"), 2, "put the function before the policy: vesta policy run choose_worker ordinal")


@claim("check and run report a field of ctx that does not exist, and run reports a worker id outside the layout")
def _(w):
    warned = "vesta policy: ./mine.lua: choose_worker reads ctx.ordinl, which is never set, did you mean ordinal?\n"
    mine = policy(w, "return ctx.ordinl or ctx.leaving or ctx.range.last + (ctx.attempt - 1)", "choose_worker")
    result = w.run("policy", "run", "choose_worker", mine)
    same((result.code, result.lines()[0], result.err), (0, "1023", warned))
    result = w.run("policy", "check", mine)
    same((result.code, result.out, result.err), (0, "./mine.lua: choose_worker\n", warned))
    result = w.run("policy", "check", "--strict", mine, "any")
    same((result.code, result.out, result.err), (1, "./mine.lua: choose_worker\nany: choose_worker\n", warned))
    same(w.run("policy", "check", "--strict", "any").code, 0)
    fails(w.run("policy", "run", "choose_worker", mine, "--strict"), 2, "--strict is an option of check")
    fails(w.run("policy", "check", policy(w, "if ctx.back_m <= 5 then return 'wait' end return 'refuse'")), 1,
          "on_clock_back reads ctx.back_m, which is never set, did you mean back_ms?", "attempt to compare")
    fails(w.run("policy", "run", "choose_worker", policy(w, "return 1023 + ctx.attempt", "choose_worker")), 1,
          "choose_worker returned 1024, but the worker ids of this layout are 0 to 1023")
    result = w.run("policy", "check", *SHIPPED, "any", "butterfly", "butterfly_db", "ip_bits", "leaf", "ordinal", "uid", "vesta")
    same((result.code, result.err), (0, ""))
    fails(w.run("policy", "run", "choose_worker", policy(w, "for _ in ipairs(ctx.options.list) do end return 1", "choose_worker")), 1,
          "./mine.lua:2: bad argument #1 to 'ipairs' (table expected, got nil)")
    fails(w.run("policy", "check", write(w, "none.lua", "local p = { api = 1 }")), 1, "this one returns nothing")
    body = "return 'refuse', tostring(ctx.now_ms)"
    same(answer(w, body, "now_ms=2026-01-01T12:00:00Z"), "refuse: 1767268800000")
    fails(w.run("policy", "run", "on_clock_back", "wait", "now_ms=noon"), 2, "'noon' is not a time")


@claim("run takes the policy's options as Lua")
def _(w):
    result = w.run("policy", "run", "on_clock_back", "borrow", "--options", "{ borrow_ms_max = 3 * 7 }")
    same(result.lines()[0], "borrow 21 ms")
    for wrong in ("{", "5", "nil", "{}}", "while true do end", "os.exit()", "x" * 70000, "{ x = y }"):
        fails(w.run("policy", "run", "on_clock_back", "borrow", "--options", wrong), 1, "options")


@claim("choose_worker receives records from a file, and returns a worker id or a reason")
def _(w):
    body = "for i, r in ipairs(ctx.records) do if not r.held or r.expired then return r.worker end end\n" \
           "return nil, #ctx.records .. ' of ' .. ctx.range.last + 1 .. ' held, on ' .. ctx.host"
    same(answer(w, body, "host=h", hook="choose_worker"), "no worker: 0 of 1024 held, on h")
    same(answer(w, body, "host=h", "range=3-7", hook="choose_worker"), "no worker: 0 of 8 held, on h")
    write(w, "rows.lua", "return { { worker = 3, held = true, holder = 'x', identity = 'y', epoch = 1, until_ms = -1,\n"
          "written_ms = 5, seen_ms = 5 }, { worker = 9, held = true, expired = true } }")
    same(answer(w, body, "records=rows.lua", hook="choose_worker"), "9")
    same(answer(w, "return #ctx.peers == 2 and ctx.peers[2].worker == 9 and 'go' or 'refuse'", "peers=rows.lua", hook="on_start"), "go")
    got = json.loads(w.run("policy", "run", "choose_worker", policy(w, body, "choose_worker"), "records=rows.lua", "--json").out)
    same((got["verdict"], got["worker"]), ("worker", 9))
    for rows, said in (("return 5", "a list of records is expected, not a number"), ("return { 5 }", "row 1: a table is expected"),
                       ("return { {}, { worker = -1 } }", "row 2: worker must be a whole number of 0 or more"),
                       ("return { { worker = 0.5 } }", "row 1: worker"), ("return { { worker = 2^63 } }", "row 1: worker"),
                       ("return { { worker = {} } }", "not a table"), ("return { { held = 1 } }", "row 1: held must be true or false"),
                       ("return { { holder = 5 } }", "row 1: holder must be a text"),
                       ("return { { wroker = 1 } }", "no 'wroker', did you mean 'worker'?"), ("return { { [1] = 1 } }", "a record has no"),
                       ("while true do end", "ended after"), ("return {", "rows.lua:1:"), ("\033Lua", "rows.lua"),
                       ("local t = {} for i = 1, 10001 do t[i] = {} end return t", "more than 10000 records")):
        write(w, "rows.lua", rows)
        fails(w.run("policy", "run", "choose_worker", "./mine.lua", "records=rows.lua"), 1, said)
    fails(w.run("policy", "run", "choose_worker", "./mine.lua", "records=nowhere"), 1, "nowhere")
    fails(w.run("policy", "run", "choose_worker", "./mine.lua", "records="), 1, "cannot open")


@claim("a function that fails ends run with 1, the kind of failure and its place")
def _(w):
    for body, how, said in (("error 'out of order'", "error", "mine.lua:2: out of order"), ("error {}", "error", "table"), ("error('x', 2)", "error", "(error): x\n"),
                            ("while true do end", "instructions", "mine.lua:2: ended after 10000000 instructions"),
                            ("pcall(function() while true do end end) return 'wait'", "instructions", "mine.lua:2: ended after 10000000 instructions"),
                            ("return", "garbage", "'wait', 'borrow', 'switch' or 'refuse'"), ("return 'go'", "garbage", "'go'"),
                            ("return 5", "garbage", "5"), ("return {}", "garbage", "table"), ("return 'wait', 0/0", "garbage", "nan"),
                            ("return 'wait', 1/0", "garbage", "inf"), ("return 'borrow', -1", "garbage", "-1"),
                            ("return 'borrow', 2^63", "garbage", "milliseconds"), ("return 'refuse', {}", "garbage", "table"),
                            ("return ('x'):rep(2^24)", "memory", "ended for using too much memory"),
                            ("return coroutine.yield()", "error", "coroutine"), ("return ('x'):find('.-.-.-b')", "error", "patterns")):
        fails(w.run("policy", "run", "on_clock_back", policy(w, body)), 1, "on_clock_back failed (%s" % (how and how + "): "), said)
    for number in ("-1", "0.5", "0/0", "1/0", "2^63", "'7'", "{}", "true"):
        fails(w.run("policy", "run", "choose_worker", policy(w, "return " + number, "choose_worker")), 1, "(garbage)", "a worker id")
    fails(w.run("policy", "run", "on_start", "borrow"), 1, "borrow has no on_start, so the fixed rules apply")


@claim("invalid arguments end with 2 and a suggestion")
def _(w):
    fails(w.run("policy"), 2, "check, run or test")
    fails(w.run("policy", "chekc", "x"), 2, 'there is no subcommand "chekc"', "did you mean check?")
    fails(w.run("policy", ""), 2, "use check, run or test")
    fails(w.run("policy", "check"), 2, "at least one FILE or NAME")
    fails(w.run("policy", "run"), 2, "a function and a FILE or NAME")
    fails(w.run("policy", "run", "on_start"), 2, "a function and a FILE or NAME")
    fails(w.run("policy", "run", "on_clockback", "wait"), 2, "did you mean on_clock_back?")
    fails(w.run("policy", "run", "x" * 9999, "wait"), 2, "use one of choose_worker, on_clock_back")
    fails(w.run("policy", "run", "on_clock_back", "wait", "back=5"), 2, 'has no input "back", did you mean back_ms?')
    fails(w.run("policy", "run", "on_clock_back", "wait", "options=5"), 2, 'has no input "options"')
    fails(w.run("policy", "run", "on_clock_back", "wait", "back_ms"), 2, "name=value")
    for number in ("", "x", "1e3", "0x10", " 5", "5 ", "9223372036854775808", "--5", "-", "1.5", "9" * 5000):
        fails(w.run("policy", "run", "on_clock_back", "wait", "back_ms=" + number), 2, "back_ms must be a whole number")
    for numbers in ("", "x", "5", "-5", "0-", "-5-3", "7-3", "0-1e3", "0-9223372036854775808", "0" * 30 + "-5", "1-2-3"):
        fails(w.run("policy", "run", "choose_worker", "wait", "range=" + numbers), 2, "range must be two whole numbers such as 0-923")
    fails(w.run("policy", "test"), 2, "at least one FILE or FOLDER")
    fails(w.run("policy", "test", "--json", "x"), 2, "test takes no options")
    fails(w.run("policy", "check", "wait", "--option", "{}"), 2, "did you mean --options?")


@claim("the specs of the example policies pass")
def _(w):
    examples = os.path.join(SPECS, "..", "..", "examples", "policies")
    result = w.run("policy", "test", examples)
    same((result.code, result.err), (0, ""))
    for name in os.listdir(examples):
        assert "ok - " + name[:-len("_spec.lua")] in result.out or not name.endswith("_spec.lua"), name
    assert result.lines()[-1] == "11 passed, 0 failed", result.out


@claim("the specs of the built-in policies pass")
def _(w):
    result = w.run("policy", "test", SPECS)
    same((result.code, result.err), (0, ""))
    assert result.lines()[-1] == "%d passed, 0 failed" % (len(result.lines()) - 1), result.out
    for name in SHIPPED:
        assert "ok - %s " % name in result.out, name


SPEC = """local testing = require "vesta.testing"
describe("mine", function()
  local world
  before_each(function() world = testing.world { policy = { "./mine.lua", bound = 7 } } end)
  %s
end)
"""


def spec(w, body, name="mine_spec.lua"):
    return write(w, name, SPEC % body)


@claim("failed claims of a spec are reported with file and line, and the exit code is 1")
def _(w):
    policy(w, "if ctx.back_ms > 5 then error 'too much' end return 'borrow', ctx.options.bound")
    result = w.run("policy", "test", spec(w, """
  it("is right", function() assert.equal(7, (select(2, world:verdict "on_clock_back"))) end)
  it("is wrong", function() assert.equal("wait", (world:verdict "on_clock_back")) end)
  it("differs", function() assert.same({ 1, { 2 } }, { 1, { 3 } }) end)
  it("fails", function() world:step_clock(-6) world:verdict "on_clock_back" end)
  it("has errors", function()
    world:step_clock(-6)
    assert.has_error(function() world:verdict "on_clock_back" end, "mine.lua:2: too much")
    assert.is_true(pcall(assert.is_nil, nil)) assert.is_false(pcall(assert.is_nil, 1)) assert.is_not_nil(1)
    assert.has_error(function() assert.has_error(function() end) end)
    print("said", 1, nil)
  end)
  it("asks for what is not there", function() assert.close(1, 1) end)"""))
    same((result.code, result.err), (1, ""))
    like(result.out, "ok - mine is right\nnot ok - mine is wrong\n  ./mine_spec.lua:7: expected \"wait\", got \"borrow\"\n"
         "not ok - mine differs\n  ./mine_spec.lua:8: the tables differ at 2: expected table: ..., got table: ...\n"
         "not ok - mine fails\n  ./mine_spec.lua:9: ./mine.lua:2: too much\n"
         "said\t1\tnil\nok - mine has errors\n"
         "not ok - mine asks for what is not there\n  ./mine_spec.lua:17: there is no assert.close: equal, ...\n2 passed, 4 failed\n")


@claim("a spec that needs the rock, or more of busted than vesta has, is reported as such")
def _(w):
    result = w.run("policy", "test", write(w, "a_spec.lua", 'it("makes ids", function() require "vesta.testing".generator() end)\n'
                                           'it("spies", function() spy.new(print) end)\nit("is plain", function() assert.is_nil(spie) end)\nafter_each(print)'))
    same((result.code, result.err), (1, ""))
    like(result.out, "not ok - makes ids\n  ./a_spec.lua:1: testing.generator needs the rock, which `vesta policy test` does not load: use busted: module 'vesta' not found:\n"
         "not ok - spies\n  ./a_spec.lua:2: vesta policy test has no spy: it has describe, it, before_each and assert. Run this file with busted\n"
         "ok - is plain\nnot ok - ./a_spec.lua\n  ./a_spec.lua:4: vesta policy test has no after_each: ...\n1 passed, 3 failed\n")


@claim("the policy under test runs in the sandbox, so that an endless loop ends and os is missing")
def _(w):
    policy(w, "if ctx.back_ms == 0 then while true do end end return os.time()")
    result = w.run("policy", "test", spec(w, """
  it("ends", function() assert.has_error(function() world:verdict "on_clock_back" end, "ended after") end)
  it("has no os", function() world:step_clock(-1) assert.has_error(function() world:verdict "on_clock_back" end, "os") end)
  it("is loaded anew each time", function() for _ = 1, 200 do testing.world { policy = "./mine.lua" } end end)
  it("may be functions of the spec", function()
    local own = testing.world { policy = { api = 1, on_clock_back = function() return "wait", 1 end } }
    assert.equal("wait", (own:verdict "on_clock_back"))
  end)
  it("gives options of every kind", function()
    for _, value in ipairs { 1, 1.5, -1, 1 / 0, "a\\nb\\0'\\"", true, { 1, { x = "y" } } } do
      testing.world { policy = { "./mine.lua", option = value } }
    end
    assert.has_error(function() testing.world { policy = { "./mine.lua", option = print } } end, "not a function")
  end)"""))
    same((result.code, result.err), (0, ""))
    like(result.out, "...5 passed, 0 failed\n")


@claim("a test that never returns is ended with its line after 5 s of CPU time, and the other tests run")
def _(w):
    result = w.run("policy", "test", write(w, "a_spec.lua", """describe("a", function()
  it("loops", function() while true do pcall(function() while true do end end) end end)
  it("is well", function() for _ = 1, 20 do pcall(error, "x") end end)
end)"""), write(w, "b_spec.lua", 'it("hides", function() coroutine.wrap(function() while true do end end)() end)'), timeout=180)  # two tests of 5 s of CPU time
    same((result.code, result.out), (1, "not ok - a loops\n  ./a_spec.lua:2: stopped after 5 s of processor time, the limit of a test\nok - a is well\n"))
    same(result.err, "not ok - hides\n  stopped after 5 s of processor time, in a C function or a coroutine\n")


@claim("a spec fails if it has a syntax error, an error outside of a test, no file or no test")
def _(w):
    result = w.run("policy", "test", write(w, "a_spec.lua", "it("), write(w, "b_spec.lua", "error 'early'"),
                   write(w, "c_spec.lua", "describe('x', function() error {} end)"), write(w, "d_spec.lua", "\033Lua"),
                   write(w, "e_spec.lua", "it('ends', function() os.exit(0) end)"), write(w, "f_spec.lua", "it('good', function() end)"))
    same((result.code, result.err), (1, ""))
    like(result.out, "not ok - ./a_spec.lua\n  ./a_spec.lua:1: ...not ok - ./b_spec.lua\n  ./b_spec.lua:1: early\nnot ok - x\n..."
         "not ok - ./d_spec.lua\n...not ok - ends\n...a spec does not end the program\nok - good\n1 passed, 5 failed\n")
    fails(w.run("policy", "test", "nowhere_spec.lua"), 1, "cannot open", "No such file")
    fails(w.run("policy", "test", "/dev/zero"), 1, "must be a file or a folder")
    os.mkfifo(w.path("fifo"))
    fails(w.run("policy", "test", "fifo"), 1, "must be a file or a folder")
    os.mkdir(w.path("empty"))
    none = w.run("policy", "test", "empty")
    same((none.code, none.out), (1, "0 passed, 0 failed\n"))
    assert "no tests were found" in none.err, none.err


@claim("a folder selects its files that end in _spec.lua, in order")
def _(w):
    os.mkdir(w.path("specs"))
    for name in ("b_spec.lua", "a_spec.lua", "c.lua"):
        write(w, "specs/" + name, "it('%s', function() end)" % name)
    same(w.run("policy", "test", "specs").out, "ok - a_spec.lua\nok - b_spec.lua\n2 passed, 0 failed\n")


main()
