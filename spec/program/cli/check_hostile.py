"""check_hostile.py -- hostile configs, and files that are not configs. Each is rejected with a sentence and exit code
1, within bounded time and memory."""
import os
import subprocess

from harness import VESTA, claim, cpu_s, fails, main, same


def check(w, data, *flags, env=None):
    if isinstance(data, str):
        data = data.encode()
    with open(w.path("c.lua"), "wb") as file:
        file.write(data)
    return w.run("check", "c.lua", *flags, env=env)


def refused(w, data, *parts, **kw):
    fails(check(w, data, **kw), 1, "vesta check: c.lua", *parts)


def passes(w, data, **kw):
    result = check(w, data, **kw)
    same((result.code, result.err), (0, ""))


@claim("a config can use only env() and file(), and the message about any other name lists both")
def _(w):
    for name in "_G _VERSION assert collectgarbage coroutine debug dofile error getmetatable io ipairs load loadfile math next " \
                "os package pairs pcall print rawget rawset require select setmetatable string table tonumber tostring type " \
                "utf8 vesta xpcall".split():
        refused(w, "return { threads = %s }" % name, ":1: '%s' is not known here" % name, "env(name, default) and file(path)")
    refused(w, "return { user = os.getenv('HOME') }", "Instead of os.getenv(\"X\") write env(\"X\")")
    refused(w, "local f = io.open('x')", "To read a file write file(path)")
    refused(w, "return { user = ('x'):rep(5) }", ":1: attempt to index a string value")
    refused(w, "return { user = (''):dump() }", "attempt to index a string value")
    refused(w, "return { threads = '1' + 1 }", "attempt to perform arithmetic on a string value")
    refused(w, "threads = 2", ":1: 'threads' would become a global", "return { threads = ... }")
    refused(w, "function f() end", "'f' would become a global")
    refused(w, "return _ENV", "env is not a key")
    passes(w, "local t = {} for i = 1, 3 do t[i] = 'unix:/' .. i end return { http = { listen = t } }")
    passes(w, "local function twice(n) return n * 2 end return { threads = twice(2) }")


@claim("a config that runs too long or takes too much memory is ended")
def _(w):
    before = cpu_s()
    for text in ("while true do end", "goto a ::a:: goto a", "repeat until false", "local function f() return f() end f()",
                 "for i = 1, 1e18 do end", "local t = {} while true do t = { t } if false then return t end end"):
        result = check(w, text)
        fails(result, 1, "vesta check: c.lua")
        assert "runs too long" in result.err or "too much memory" in result.err, result.err
    refused(w, "local s = 'x' while true do s = s .. s end", "too much memory")
    refused(w, "local t = {} for i = 1, 1e9 do t[i] = i end", "too much memory")
    refused(w, "local t = {} for i = 1, 1e9 do t['k' .. i] = i end return t", "too much memory")
    refused(w, "local function f() local a = f() return a end f()", "")
    # Seconds of CPU for ten such configs. CPU time does not depend on the load of the machine.
    assert cpu_s() - before < 120, cpu_s() - before


@claim("endless nesting of brackets, tables, functions and options, and cycles, are rejected")
def _(w):
    refused(w, "return " + "{" * 10000 + "}" * 10000, "overflow")
    refused(w, "return " + "(" * 10000 + "1" + ")" * 10000, "overflow")
    refused(w, "return " + "function() return " * 3000 + "end " * 3000)
    refused(w, "return " + "-" * 60000 + "1")
    refused(w, "local t = {} t.t = t return t", "t is not a key")
    refused(w, "local t = {} t.log = t return t", "log.log is not a key")
    refused(w, "local t = {} t.namespaces = t return t", "namespaces.namespaces.namespaces is not a key")
    refused(w, "local t = {} t.segments = { t } return t", "segments[1].segments is not a key")
    refused(w, "local p = { 'wait' } p.p = p return { namespaces = { a = { policy = p } } }", "has too many options")
    refused(w, "local t = {} t[1] = t return { http = { listen = t } }", "http.listen has a table at place 1")
    refused(w, "local t = {} for i = 1, 1100 do t['k' .. i] = i end t[1] = 'wait' return { namespaces = { a = { policy = t } } }",
            "policy has more than 1024 entries")
    shared = "local t = 1 for d = 1, 7 do local n = {} for i = 1, 1000 do n[i] = t end t = n end "
    refused(w, shared + "return { namespaces = { a = { policy = { 'wait', x = t } } } }", "options of more than 600000 bytes, but at most 60000")
    refused(w, "return { namespaces = { a = { policy = { 'wait', x = '%s' } } } }" % ("\\0" * 16000), "options of 64011 bytes, but at most 60000")


@claim("keys that are not names, and odd names, are reported in one line")
def _(w):
    refused(w, "return { 1 }", "the config has an entry without a name, [1]: write entries as NAME = VALUE")
    refused(w, "return { [true] = 1 }", "an entry without a name, [true]")
    refused(w, "return { [1.5] = 1 }", "an entry without a name, [1.5]")
    refused(w, "return { [1e308 * 10] = 1 }", "an entry without a name, [inf]")
    refused(w, "return { [env] = 1 }", "an entry without a name, [a function]")
    refused(w, "return { [0/0] = 1 }", "index is NaN")
    refused(w, "return { [nil] = 1 }", "index is nil")
    refused(w, "return { ['a\\nb\\27[31m'] = 1 }", "a\\x0ab\\x1b[31m is not a key")
    refused(w, "return { ['threads\\0'] = 1 }", "the config has a name with a NUL byte in it")
    refused(w, "return { ['%s'] = 1 }" % ("k" * 50000), "kkk... is not a key")
    refused(w, "return { [''] = 1 }", " is not a key")
    refused(w, "return { ['http.listen'] = 'off' }", "http.listen is not a key")
    refused(w, "return { ['*'] = 1 }", "* is not a key")
    refused(w, "return { namespaces = { ['*'] = {} } }", "'*' is not a namespace")
    refused(w, "return { namespaces = { [''] = {} } }", "'' is not a namespace")
    refused(w, "return { namespaces = { ['%s'] = {} } }" % ("n" * 65), "is not a namespace")
    refused(w, "return { namespaces = { ['../x'] = {} } }", "'../x' is not a namespace")
    refused(w, "return { namespaces = { ['a\\0b'] = {} } }", "namespaces has a name with a NUL byte in it")
    passes(w, "return { namespaces = { ['%s'] = {}, ['a.b:c-d_e'] = {} } }" % ("n" * 64))


@claim("texts that are empty, too long, or contain NUL, control characters or line breaks are rejected")
def _(w):
    for path in ("user", "group", "log.file", "resp.password", "admin.token", "namespaces.a.layout", "namespaces.a.path", "stores.s.uri"):
        *tables, last = path.split(".")

        def put(value):
            text = "%s = %s" % (last, value)
            for table in reversed(tables):
                text = "%s = { %s }" % (table, text)
            return "return { %s }" % text

        refused(w, put("''"), path + " is empty")
        refused(w, put("'a\\0b'"), path + " has the control character \\x00 at byte 2")
        refused(w, put("'a\\nb'"), path + " has the control character \\x0a at byte 2: it must be one line")
        refused(w, put("'a\\127b'"), path + " has the control character \\x7f at byte 2")
        refused(w, put("'/%s'" % ("x" * 2000)), path + " has 2001 bytes, but at most ")
        refused(w, put("{}"), path + " is ")
    refused(w, "return { http = { listen = '%s' } }" % ("x" * 300), "http.listen has an entry of 300 bytes, but at most 250")
    refused(w, "return { log = { level = '%s' } }" % ("x" * 30000), "xxx...', which must be one of")
    passes(w, "return { log = { file = '/tmp/\u00fcber.log' } }")


@claim("too many namespaces, stores, segments, addresses or tags are rejected")
def _(w):
    loop = "local t = {} for i = 1, %d do t[%s] = %s end return { %s }"
    passes(w, loop % (16384, "'n' .. i", "{}", "namespaces = t"))
    refused(w, loop % (16385, "'n' .. i", "{}", "namespaces = t"), "namespaces has more than 16384 entries")
    refused(w, loop % (20000, "'n' .. i", "{}", "namespaces = t"), "namespaces has more than 16384 entries")
    refused(w, loop % (100000, "'n' .. i", "{}", "namespaces = t"), "this needs too much memory")
    refused(w, loop % (17, "'n' .. i", "{ uri = 'file:/x' }", "stores = t"), "stores has more than 16 entries")
    refused(w, loop % (17, "i", "{}", "segments = t"), "segments has 17 entries, but at most 16")
    passes(w, loop % (8, "i", "'unix:/' .. i", "http = { listen = t }"))
    refused(w, loop % (9, "i", "'unix:/' .. i", "http = { listen = t }"), "http.listen has 9 entries, but at most 8")
    refused(w, loop % (60000, "i", "'unix:/' .. i", "http = { listen = t }"), "http.listen has 60000 entries, but at most 8")
    refused(w, loop % (257, "i", "'t' .. i", "stores = { s = { uri = 'file:/x' } }, segments = { { store = 's', table = 't', tags = t } }"),
            "segments[1].tags has 257 entries, but at most 256")
    refused(w, loop % (20, "'f' .. i", "1", "namespaces = { a = { fields = t } }"), "fields has more than 16 entries")


@claim("the number of notes is limited")
def _(w):
    shown = check(w, "local t = {} for i = 1, 64 do t['n' .. i] = { group = 'no-such-group' } end return { namespaces = t, user = 'no-such-user' }").out
    same(shown.count("note            "), 64)


@claim("lists with holes, with named entries or with invalid indexes are rejected")
def _(w):
    for text in ("{ 'unix:/a', nil, 'unix:/b' }", "{ [2] = 'unix:/a' }", "{ 'unix:/a', x = 'unix:/b' }", "{ [0] = 'unix:/a', 'unix:/b' }",
                 "{ [1.5] = 'unix:/a' }", "{ [-1] = 'unix:/a' }", "{ ['1'] = 'unix:/a' }", "{ [2^53] = 'unix:/a' }"):
        refused(w, "return { http = { listen = %s } }" % text, "http.listen is not a list")
    refused(w, "return { segments = { a = {} } }", "segments is not a list")
    refused(w, "return { segments = {} }", "segments is an empty list")
    refused(w, "return { segments = { 5 } }", "segments[1] is 5, which must be a table")
    refused(w, "return { segments = { {}, { storr = 'x' } } }", "segments[2].storr is not a key, did you mean store?")


@claim("files that are empty, compiled, binary, too long, not regular or in another language are rejected")
def _(w):
    for text in ("", "\n\n", "-- nothing\n", "local x = 1\n"):
        refused(w, text, "returns nothing: a config ends with return { ... }")
    refused(w, "return", "returns nothing")
    for value, word in (("1", "1"), ("'x'", "the text 'x'"), ("nil", "nil"), ("env", "a function")):
        refused(w, "return " + value, "the config is %s, which must be a table" % word)
    refused(w, "return {}, {}", "returns 2 values, which must be one table")
    for text, part in (('{ "threads": 2 }', "looks like JSON"), ('[1, 2]', "looks like JSON"), ("{}", "looks like JSON"),
                       ("threads: 2\n", "looks like YAML"), ("# vesta\nhttp:\n  listen: x\n", "looks like YAML"), ("- a: 1\n", "looks like YAML"),
                       ("[http]\nlisten = 1\n", "looks like TOML or INI"), ("<config/>", "looks like XML"),
                       ("{ threads = 2 }", "write return in front of the table"),
                       ("# a comment\nreturn {}", "Lua comments start with --"), ("return {\n  threads = 2, // two\n}", "Lua comments start with --"),
                       ("- a comment\nreturn {}", "Lua comments start with --")):
        refused(w, text, part)
    compiled = subprocess.run(["luac5.4", "-o", "-", "-"], input=b"return {}", capture_output=True).stdout if _luac() else b"\x1bLuaT\x00\x19\x93"
    refused(w, compiled, "is compiled Lua, but a config must be text")
    refused(w, b"return { threads = 2 }\0", "has a NUL byte at byte 23")
    refused(w, b"\xff\xfer\0e\0t\0", "has a NUL byte at byte 4")
    refused(w, b"return { \xff\xfe = 1 }", ":1: ")
    refused(w, b"\x7fELF\x02\x01\x01", ":1: ")
    refused(w, os.urandom(200).replace(b"\0", b"x").replace(b"\x1b", b"x").replace(b"\n", b"x"))
    refused(w, "-- " + "x" * 65536 + "\nreturn {}", "is longer than 65536 bytes")
    passes(w, "-- " + "x" * 65000 + "\nreturn {}")
    passes(w, b"\xef\xbb\xbfreturn {}")
    passes(w, "return {\r\n  threads = 2,\r\n}\r\n")
    os.mkfifo(w.path("fifo"))
    for path, why in ((w.path("none"), "No such file or directory"), (w.folder, "is not a regular file"), (w.path("fifo"), "is not a regular file"),
                      ("/dev/zero", "is not a regular file"), ("/dev/stdin", "is not a regular file"), (w.path("c.lua", "x"), "Not a directory"),
                      ("x" * 5000, "File name too long")):
        fails(w.run("check", path), 1, "the config ", why)


def _luac():
    return any(os.path.exists(os.path.join(folder, "luac5.4")) for folder in os.environ["PATH"].split(":"))


@claim("file() reads only the named file, and reports each file that it cannot read")
def _(w):
    os.mkfifo(w.path("fifo"))
    for name, data in (("big", b"x" * 65537), ("empty", b""), ("line", b"s3cret\n"), ("two", b"a\nb\n"), ("nul", b"a\0b")):
        with open(w.path(name), "wb") as file:
            file.write(data)
        os.chmod(w.path(name), 0o600)
    for path, why in (("none", "cannot open the file none: No such file or directory"), ("fifo", "the file fifo is not a regular file"),
                      (".", "the file . is not a regular file"), ("/dev/urandom", "is not a regular file"), ("big", "is longer than the 65536 bytes"),
                      ("", "file: '' is not a path"), ("a\\0b", "file: 'a\\x00b' is not a path"), ("x" * 5000, "File name too long"),
                      ("empty", "resp.password is empty"), ("two", "resp.password has the control character \\x0a at byte 2"),
                      ("nul", "resp.password has the control character \\x00 at byte 2")):
        refused(w, "return { resp = { password = file('%s') } }" % path, why)
    for call in ("file()", "file(nil)", "file({})", "file(env)"):
        refused(w, "return { user = %s }" % call, "bad argument #1 to 'file'")
    passes(w, "return { resp = { password = file 'line' } }")
    passes(w, "return { user = file 'line' }")


@claim("env() checks names, defaults and types")
def _(w):
    refused(w, "return { user = env('NOPE') }", ":1: env: NOPE is not set or empty, and has no default: write env(\"NOPE\", DEFAULT)")
    passes(w, "return { user = env('NOPE', nil) }")
    passes(w, "return { threads = env('NOPE', 2), leaf_any_key = env('NOPE', true) }")
    passes(w, "return { threads = env('N', 2), leaf_any_key = env('B', false) }", env={"N": "4", "B": "true"})
    refused(w, "return { threads = env('N', 2) }", "env: N is 'four', which must be a number, as its default is", env={"N": "four"})
    same(check(w, "return { threads = env('N', 2) }", env={"N": ""}).code, 0)
    refused(w, "return { threads = env('N', 2) }", "threads is 1e+100", env={"N": "1e100"})
    refused(w, "return { threads = env('N') }", "threads is the text '4', which must be a whole number from 1 to 64, without quotes", env={"N": "4"})
    refused(w, "return { leaf_any_key = env('B', true) }", "env: B is '1', which must be true or false", env={"B": "1"})
    refused(w, "return { user = env('U') }", "user has the control character \\x0a at byte 2", env={"U": "a\nb"})
    for call in ("env()", "env(nil)", "env({})"):
        refused(w, "return { user = %s }" % call, "bad argument #1 to 'env'")
    for name in ("", "a=b", "a\\0b"):
        refused(w, "return { user = env('%s') }" % name, "is not a variable's name")


@claim("check takes one file, and flags that fit together")
def _(w):
    fails(w.run("check"), 2, "the config is missing: vesta check FILE")
    fails(w.run("check", "a", "b"), 2, "vesta check takes one config")
    fails(w.run("check", "-c", "a", "b"), 2, 'unexpected operand "b": vesta check takes one config')
    fails(w.run("check", "--config"), 2, "--config")
    fails(w.run("check", "-c", "none.lua"), 1, "none.lua")
    fails(w.run("check", "-c", ""), 2, "config")
    fails(w.run("check", "--keys", "-c", "a"), 2, "--keys can be combined only with --json")
    fails(w.run("check", "--keys", "a"), 2, "--keys can be combined only with --json")
    fails(w.run("check", "--keys", "--effective"), 2, "--keys can be combined only with --json")
    fails(w.run("check", "--effectiv", "a"), 2, "did you mean --effective?")
    fails(w.run("check", ""), 1, "cannot open the config")
    wrong = check(w, "return { threads = 0 }", "--json")
    same((wrong.code, wrong.err, wrong.out), (1, "", '{"ok":false,"error":"c.lua:1: threads is 0, which must be a whole number from 1 to 64",'
                                             '"code":"bad_option"}\n'))
    by_flag = w.run("check", "-c", "c.lua")
    same((by_flag.code, by_flag.out), (1, ""))
    assert by_flag.err.endswith("c.lua:1: threads is 0, which must be a whole number from 1 to 64\n"), by_flag.err
    name = w.path('a\nb"c.lua')
    with open(name, "w") as file:
        file.write("return { threads = 0 }")
    done = subprocess.run([VESTA, "check", name], capture_output=True, text=True)
    same((done.returncode, done.stderr.count("\n")), (1, 1))


main()
