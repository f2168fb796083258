"""check.py -- `vesta check`. Hostile configs are in check_hostile.py."""
import json
import os
import re

from harness import claim, fails, like, main, same

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "config")


def check(w, text, *flags, env=None, name="c.lua"):
    with open(w.path(name), "w") as file:
        file.write(text)
    return w.run("check", name, *flags, env=env)


def refused(w, text, want, **kw):
    """Asserts the whole message after the names of the command and the file."""
    result = check(w, text, **kw)
    same((result.code, result.out, result.err), (1, "", "vesta check: c.lua" + want + "\n"))


def forms(w):
    """Returns the forms of a store's URI, from the help of the commands that take --store."""
    text = w.run("workers", "--help").out.split("  --store URI", 1)[1].split("\n  -", 1)[0]
    told = " ".join(text.split())
    assert told.startswith("file:/DIR, sqlite:/FILE, mysql://USER@HOST/DB"), told
    return told


def effective(w, text, env=None):
    result = check(w, text, "--effective", "--json", env=env)
    same((result.code, result.err), (0, ""))
    return {line["key"]: line for line in map(json.loads, result.lines())}


def secrets(w, mode=0o600):
    for name, text in (("zk.auth", "vesta:s3cret\n"), ("resp.pass", "s3cret\r\n"), ("db.pass", "s3cret")):
        with open(w.path(name), "w") as file:
            file.write(text)
        os.chmod(w.path(name), mode)
    return {"VESTA_SECRETS": w.folder}


def example(w, name, *flags):
    return w.run("check", os.path.join(EXAMPLES, name + ".lua"), *flags, env=secrets(w))


@claim("each example config passes, and its summary is printed")
def _(w):
    like(example(w, "laptop").out, "...laptop.lua: ok\n  namespaces      default: vesta-second, 1,048,576 ids/s until 2049\n"
         "  HTTP            127.0.0.1:8088\n  Redis protocol  127.0.0.1:8089\n  admin           off\n")
    like(example(w, "namespaces").out, "...: ok\n  namespaces      default: vesta-second, 1,048,576 ids/s until 2049, worker 7\n...orders: vesta-milli, 1,024,000 ids/s until 2049, worker 7, "
         "policy borrow\n...users: snowflake epoch=2024-01-01T00:00:00Z, 4,096,000 ids/s until 2093, worker 7\n...")
    like(example(w, "zookeeper").out, "...: ok\n  namespaces      orders: vesta-milli, 1,024,000 ids/s until 2049, store zk, policy vesta\n...0.0.0.0:8088, "
         "unix:/run/vesta/http.sock\n...")
    like(example(w, "segments").out, "...: ok\n  segments        *: leaf_alloc of a\n                  orders: tiny_id_info of a, b\n...")
    for name in ("laptop", "namespaces", "zookeeper", "segments"):
        same((example(w, name).code, example(w, name).err), (0, ""))


@claim("a note does not fail the check, and is part of the JSON")
def _(w):
    notes = json.loads(check(w, "return { namespaces = { a = { group = 'no-such-group' } } }", "--json").out)
    same(notes, {"ok": True, "namespaces": ["a"], "notes": [{"text": "namespaces.a.group: there is no group no-such-group on this machine"}]})


@claim("an unknown key is reported with its path, its line and the likely intended key")
def _(w):
    refused(w, 'return {\n  namespaces = {\n    orders = {\n      wait_ms = 100 } } }',
            ":4: namespaces.orders.wait_ms is not a key, did you mean wait_ms_max?")
    refused(w, "return { thraeds = 2 }", ":1: thraeds is not a key, did you mean threads?")
    refused(w, "return { log = { levle = 'info' } }", ":1: log.levle is not a key, did you mean level?")
    refused(w, "\nreturn { layout = 'snowflake' }", ":2: layout is not a key: it belongs in namespaces.NAME")
    refused(w, "return { state = '/var/lib/ids' }", ":1: state is not a key: set the environment variable VESTA_STATE to the folder, or namespaces.NAME.path to the generator file")
    refused(w, "return { stores = { zk = { secret_file = 'f' } } }", ":1: stores.zk.secret_file is not a key: add it to the store's uri: ?secret_file=FILE")
    refused(w, "return { table = 't' }", ":1: table is not a key: it belongs in each of segments")
    refused(w, "return { level = 'info' }", ":1: level is not a key: it belongs in log")
    refused(w, "return { log = { colour = true } }", ":1: log.colour is not a key: keys here are level, format, file, access")
    refused(w, "return { zz = 1, aa = 2 }", ":1: aa is not a key: keys here are namespaces, stores, segments, http, resp, admin, tls, "
            "clients, open, threads, connections_max, leases, proxies, address_connections_max, shares, memory_mib_max, log, user, group, single_host, start_wait_ms_max, leaf_any_key, tinyid")


@claim("the line number is printed if the key occurs once, and omitted if it occurs twice")
def _(w):
    twice = "return { namespaces = {\n a = { layout = 'uid x' },\n b = { layout = 'uid' } } }"
    assert check(w, twice).err.startswith("vesta check: c.lua: namespaces.a.layout is a bad layout: 'x'")
    once = "-- layout = 'uid x'\n--[[ layout = 1 ]] local s = 'layout = 2' local t = [[\nlayout = 3]]\n" \
           "return { namespaces = { a = {\n [ 'layout' ] = 'uid x' } } }"
    assert check(w, once).err.startswith("vesta check: c.lua:5: namespaces.a.layout is a bad layout: 'x'")


@claim("a wrong type or range is reported with the expected and the given value")
def _(w):
    whole = "which must be a whole number from 1 to 64"
    refused(w, "return { threads = 65 }", ":1: threads is 65, " + whole)
    refused(w, "return { threads = 0 }", ":1: threads is 0, " + whole)
    refused(w, "return { threads = -1 }", ":1: threads is -1, " + whole)
    refused(w, "return { threads = 1.5 }", ":1: threads is 1.5, " + whole)
    refused(w, "return { threads = 0/0 }", ":1: threads is nan, " + whole)
    refused(w, "return { threads = 1/0 }", ":1: threads is inf, " + whole)
    refused(w, "return { threads = 2^63 }", ":1: threads is 9.2233720368548e+18, " + whole)
    refused(w, "return { threads = '4' }", ":1: threads is the text '4', %s, without quotes" % whole)
    refused(w, "return { threads = true }", ":1: threads is true, " + whole)
    refused(w, "return { threads = { 4 } }", ":1: threads is a table, " + whole)
    refused(w, "return { threads = function() end }", ":1: threads is a function, " + whole)
    refused(w, "return { leaf_any_key = 'true' }", ":1: leaf_any_key is the text 'true', which must be true or false, without quotes")
    refused(w, "return { leaf_any_key = 1 }", ":1: leaf_any_key is 1, which must be true or false")
    refused(w, "return { log = { level = 'loud' } }", ":1: log.level is 'loud', which must be one of \"debug\", \"info\", \"warn\", \"error\"")
    refused(w, "return { log = 'info' }", ":1: log is the text 'info', which must be a table such as { level = \"warn\" }")
    refused(w, "return { http = '127.0.0.1:8088' }", ":1: http is the text '127.0.0.1:8088', which must be a table such as { listen = \"127.0.0.1:8088\" }")
    refused(w, "return { resp = false }", ":1: resp is false, which must be a table such as { listen = \"off\" }")
    refused(w, "return { resp = true }", ":1: resp is true, which must be a table such as { listen = \"127.0.0.1:8089\" }")
    refused(w, "return { stores = { a = 7 } }", ":1: stores.a is 7, which must be a table such as { uri = \"sqlite:/var/lib/vesta/v.db\" }")
    refused(w, "return { user = 7 }", ":1: user is 7, which must be a text")
    refused(w, "return { user = 'a b' }", ":1: user is 'a b', which must consist of A-Z a-z 0-9 _ -")
    refused(w, "return { log = { file = 'vesta.log' } }", ":1: log.file is 'vesta.log', which must be the path of a file that begins with /")


@claim("invalid settings of a namespace are rejected")
def _(w):
    def space(text, want):
        refused(w, "return { namespaces = { a = { %s } } }" % text, ":1: namespaces.a." + want)

    space("worker = 1024, layout = 'snowflake'", "worker does not fit the layout: worker cannot be 1024: its maximum is 1023 (10 bits)")
    space("worker = 1, layout = 'time:42 seq:20 x:2 unit=1ms epoch=0'", "worker does not fit the layout: the layout has no worker field, so worker 1 is out of range: only 0")
    space("fields = { method = 4 }, layout = 'vesta-second'", "fields does not fit the layout: method cannot be 4: its maximum is 3 (2 bits)")
    space("fields = { method = -1 }", "fields has 'method' = -1, which must be a whole number of 0 or more")
    space("fields = { method = '1' }", "fields has 'method' = the text '1', which must be a whole number of 0 or more")
    space("fields = { [1] = 1 }", "fields has an entry without a name, [1]: write entries as NAME = VALUE")
    space("fields = {}", "fields is an empty table: leave the key out instead")
    space("fields = 'method=1'", "fields is the text 'method=1', which must be a table such as { version = 1 }")
    space("store = 'zk'", "store is 'zk', which is not a store: there are none under stores")
    space("store = 'ftp:/x'", "store is 'ftp:/x', which must be " + forms(w))
    space("lease = 'long'", "lease is 'long', which must be one of \"local\", \"strict\", \"balanced\", \"autonomous\"")
    space("lease = 'local', store = 'zk://h/v'", "lease is local, which is for a store on this machine: use strict or balanced")
    space("identity = 'a\\nb'", "identity has the control character \\x0a at byte 2: it must be one line")
    space("identity = ''", "identity is empty: leave the key out instead")
    space("store = 'zk://h'", "store cannot be used: the store's URI does not name a node under /: write zk://h/vesta")
    space("store = 'mysql://u:s3cr?et@h/d'", "store cannot be used: the store's URI has an '@' after its '?': write a '?' in a password as %3F, and an '@' in an option as %40")
    space("lease = 'autonomous'", "lease is autonomous, which needs history pacing: ids that follow the clock would use up its window in minutes")
    space("lease = 'local', ahead_ms_max = 360001", "ahead_ms_max 360001 is more than the 360000 ms that a local lease has room for: "
          "if its store were lost, `vesta store advance` would not pass such ids. Use at most that")
    space("path = '/x/'", "path is '/x/', which must be the path of a file that begins with /")
    space("ahead_ms_max = 86400001", "ahead_ms_max is 86400001, which must be a whole number from 0 to 86400000")
    space("wait_ms_max = 60001", "wait_ms_max is 60001, which must be a whole number from 0 to 60000")
    space("group = ''", "group is empty: leave the key out instead")
    space("layout = 'uid'", "layout cannot issue ids: the layout's time ended at 2024-11-20T13:24:16Z: its ids can be read, not issued. Use a later epoch or more time bits, under a new namespace")
    refused(w, "return { namespaces = {} }", ":1: namespaces is an empty table: leave the key out instead")
    refused(w, "return { namespaces = { 'a' } }", ":1: namespaces has an entry without a name, [1]: write entries as NAME = VALUE")
    refused(w, "return { namespaces = { a = 'uid' } }", ":1: namespaces.a is the text 'uid', which must be a table")
    refused(w, "return { namespaces = { ['a b'] = {} } }", ":1: namespaces: 'a b' is not a namespace: use 1 to 64 of A-Z a-z 0-9 _ . : - and no dot in front")
    refused(w, "return { namespaces = { a = { path = '/x' }, b = { path = '/x' } } }",
            ": namespaces.b.path is also the file of namespaces.a: use another file")


@claim("a policy is given by name, by a file next to the config, or with options, and an unusable one is rejected "
       "with the reason")
def _(w):
    def space(policy, want):
        refused(w, "return { namespaces = { a = { policy = %s } } }" % policy, ":1: namespaces.a.policy " + want)

    with open(w.path("rules.lua"), "w") as file:
        file.write("return { api = 1, on_clock_back = function(ctx) return 'refuse' end }")
    with open(w.path("broken.lua"), "w") as file:
        file.write("return { api = 1,, }")
    os.mkdir(w.path("sub"))
    for policy in ("'borrow'", "{ 'borrow', borrow_ms_max = 500 }", "'./rules.lua'", "'rules.lua'", "{ 'rules.lua', a = { 1, 2.5, { b = true } } }"):
        same(check(w, "return { namespaces = { a = { policy = %s } } }" % policy).err, "")
    with open(w.path("sub", "c.lua"), "w") as file:
        file.write("return { namespaces = { a = { policy = '../rules.lua' } } }")
    same(w.run("check", w.path("sub", "c.lua")).err, "")
    space("'borow'", "cannot be used: there is no policy 'borow': use one of any, borrow, butterfly, butterfly_db, ip_bits, ip_list, leaf, ordinal, refuse, switch, twitter, uid, vesta, wait, or a file (./NAME.lua). Did you mean borrow?")
    space("'./none.lua'", "cannot be used: cannot open the policy ./none.lua: No such file or directory")
    space("{}", "does not begin with a policy's name: { \"borrow\", borrow_ms_max = 500 }")
    space("{ borrow_ms_max = 5 }", "does not begin with a policy's name: { \"borrow\", borrow_ms_max = 500 }")
    space("_ENV", "does not begin with a policy's name: { \"borrow\", borrow_ms_max = 500 }")
    space("{ 'borrow', 500 }", "has an option without a name, [2]: write options as NAME = VALUE")
    space("{ 'borrow', f = env }", "has an option that is a function, which must be a text, a number, true, false or a table")
    space("{ 'borrow', x = 0/0 }", "has an option that is nan, which must be a finite number")
    space("''", "is empty: leave the key out instead")
    space("'a\\0b'", "has the control character \\x00 at byte 2")
    space("'%s'" % ("a" * 300), "has 300 bytes, but at most 250 are allowed")
    space("5", "is 5, which must be a policy's name or file, or a table such as { \"borrow\", borrow_ms_max = 500 }")
    with open(w.path("fails.lua"), "w") as file:
        file.write("return { api = 1, choose_worker = function(ctx)\n  return ctx.records[1].worker end }")
    result = check(w, "return { namespaces = { a = { policy = './fails.lua' } } }")
    fails(result, 1, "namespaces.a.policy cannot be used: choose_worker fails when it is tried with no records (error): ", "fails.lua:2: ")
    result = check(w, "return { namespaces = { a = { policy = './broken.lua' } } }")
    fails(result, 1, "namespaces.a.policy cannot be used: ", "broken.lua:1: unexpected symbol near ','")


@claim("addresses must differ, and an address that other machines can reach needs a password or an open setting")
def _(w):
    refused(w, "return { resp = { listen = '0.0.0.0:8089' } }", ":1: resp.listen has 0.0.0.0:8089, which other machines can reach, but there is no password: set resp.password, or listen on 127.0.0.1 or unix:PATH")
    refused(w, "return { http = { listen = '[::]:8088' } }", ":1: http.listen has [::]:8088: other machines can reach it, but "
            "'default' draws its worker id from this machine's own store, so another machine may draw the same worker id. Lease from a store that all machines share (store = mysql:, postgresql: or zk:), "
            "assign each machine its own worker id (namespaces.default.worker), or declare that this is the only machine (single_host = true)")
    refused(w, "return { admin = { listen = '127.0.0.1:9000' } }", ":1: admin.listen has 127.0.0.1:9000, but there is no token: set admin.token, or listen on unix:PATH, whose file mode decides which users can connect")
    refused(w, "return { http = { listen = '127.0.0.1:8089' } }", ":1: resp.listen has 127.0.0.1:8089, which http.listen also has: use another address")
    refused(w, "return { http = { listen = { 'unix:/a', 'unix:/a' } } }", ":1: http.listen has 'unix:/a' twice")
    refused(w, "return { http = { listen = 'unix:a' } }", ":1: http.listen has 'unix:a': after unix: the path must begin with /")
    refused(w, "return { http = { listen = '127.0.0.1' } }", ":1: http.listen has a wrong address: '127.0.0.1' is not an address: HOST:PORT, "
            "[IPv6]:PORT or unix:PATH")
    refused(w, "return { http = { listen = '127.0.0.1:0' } }", ":1: http.listen has a wrong address: '127.0.0.1:0': the port '0' is not a number from 1 to 65535")
    refused(w, "return { http = { listen = {} } }", ":1: http.listen is an empty list")
    refused(w, "return { http = { listen = { 'off', 'unix:/a' } } }", ":1: http.listen has \"off\" among addresses")
    refused(w, "return { http = { listen = 8088 } }", ":1: http.listen is 8088, which must be a text, or a list of texts")
    refused(w, "return { http = { listen = { 8088 } } }", ":1: http.listen has 8088 at place 1, which must be a text")
    refused(w, "return { http = { listen = 'off' }, resp = { listen = 'off' } }", ": http.listen and resp.listen are off, so nothing would be served: turn one of them on")
    fails(check(w, "return { resp = { listen = '0.0.0.0:8089', password = 'x' } }"), 1, ":1: resp.listen has 0.0.0.0:8089: other machines can reach it, but 'default' draws its worker id ", "(namespaces.default.worker)")
    fails(check(w, "return { http = { listen = '0.0.0.0:8088' }, namespaces = { a = { store = 'file:/var/lib/vesta' } } }"), 1, "'a' draws its worker id", "single_host")
    fails(check(w, "return { http = { listen = '0.0.0.0:8088' }, namespaces = { a = { store = 'sqlite:/var/lib/vesta.db' } } }"), 1, "'a' draws its worker id")
    fails(check(w, "return { stores = { s = { uri = 'file:/var/lib/vesta' } }, http = { listen = '0.0.0.0:8088' }, namespaces = { a = { store = 's' } } }"), 1, "'a' draws its worker id")
    for good in ("resp = { listen = '0.0.0.0:8089', password = 'x' }, namespaces = { a = { worker = 0 } }",
                 "open = true, http = { listen = '0.0.0.0:8088' }, namespaces = { a = { worker = 0 } }",
                 "open = true, http = { listen = '0.0.0.0:8088' }, namespaces = { a = { store = 'file:/var/lib/vesta' } }, single_host = true",
                 "open = true, http = { listen = '0.0.0.0:8088' }, namespaces = { a = { store = 'zk://127.0.0.1:2181/vesta' } }",
                 "admin = { listen = 'unix:/a' }", "admin = { listen = '0.0.0.0:1', token = 'x' }",
                 "http = { listen = { '127.0.0.1:1', '[::1]:1', 'unix:/a' } }, resp = { listen = 'off' }"):
        same((good, check(w, "return { %s }" % good).err), (good, ""))


@claim("stores and segments with missing settings or conflicting names are rejected")
def _(w):
    stores = "stores = { a = { uri = 'mysql://u@h/d', tls = 'off' } }, "

    def segment(text, want):
        refused(w, "return { %s segments = { { %s } } }" % (stores, text), ":1: segments[1]." + want)

    refused(w, "return { segments = { { table = 't', tags = '*' } } }", ": segments[1].store is missing: set it, or stores")
    segment("store = 'a', stores = { 'a' }, table = 't', tags = '*'", "store and stores are both set: remove one of them")
    segment("store = 'b', table = 't', tags = '*'", "store has 'b', which is not a store: stores are a")
    refused(w, "return { %s segments = { { stores = { 'a', 'b' }, table = 't', tags = '*' } } }" % stores,
            ": segments[1].stores has 'b', which is not a store: stores are a")
    segment("store = 'a', table = 't; drop', tags = '*'", "table is 't; drop', which must consist of A-Z a-z 0-9 _ -")
    segment("store = 'a', table = 't', tags = { 'x/y' }", "tags has 'x/y', which is not a tag: use \"*\" for all, or 1 to 64 of A-Z a-z 0-9 _ . : -")
    segment("store = 'a', table = 't', tags = 'x,y'", "tags has 'x,y', which is not a tag: use \"*\" for all, or 1 to 64 of A-Z a-z 0-9 _ . : -: write several tags as { \"a\", \"b\" }")
    segment("store = 'a', table = 't', tags = '*', order = 'total'", "order is 'total', which must be one of \"trend\", \"strict\", \"dense\"")
    refused(w, "return { stores = { s = { uri = 'sqlite:/x' }, t = { uri = 'sqlite:/y' } }, segments = { { stores = { 's', 't' }, tags = '*', "
            "order = 'strict' } } }", ": segments[1].stores has several stores, but order strict needs one store, because two databases have no common order")
    same(check(w, "return { stores = { s = { uri = 'sqlite:/x' } }, segments = { { store = 's', tags = '*', order = 'dense' } } }").code, 0)
    refused(w, "return { stores = { s = { uri = 'sqlite:/x' }, t = { uri = 'sqlite:/y' } }, segments = { { stores = { 's', 't' }, tags = '*', "
            "order = 'dense' } } }", ": segments[1].stores has several stores, but order dense needs one store, because several would leave gaps")
    refused(w, "return { %s segments = { { store = 'a', table = 't' } } }" % stores, ": segments[1].tags is missing: tags that the "
            "server serves, or \"*\" for all tags of the table")
    done = check(w, "return { %s namespaces = { t = {} }, segments = { { store = 'a', table = 't', tags = { 't' } } } }" % stores)
    same((done.code, "segments[1].tags has 't', which is also a namespace: GET t uses the namespace, and INCR t uses the tag" in done.out + done.err),
         (0, True))
    two = "return { %s segments = { { store = 'a', tags = %s }, { store = 'a', table = 't', tags = %s } } }"
    refused(w, two % (stores, "{ 'x', 'y' }", "{ 'z', 'y' }"), ": segments[2].tags has 'y', which segments[1].tags also has: a tag can have only one table")
    same(check(w, two % (stores, "{ 'x' }", "'*'")).code, 0)
    segment("store = 'a', tags = { 'x', '*' }", "tags has '*' and other tags: remove the other tags, because '*' includes them")
    for step in ("0", "-1", "4294967297", "9223372036854775807"):
        segment("store = 'a', tags = '*', step = " + step, "step is %s, which must be a whole number from 1 to 4294967296" % step)
    segment("store = 'a', tags = '*', step = '10'", "step is the text '10', which must be a whole number from 1 to 4294967296, without quotes")
    segment("store = 'a', tags = '*', step = 2000000", "step is 2000000, which must be at most step_max, 1000000")
    def begins(text, want):
        done = check(w, "return { %s segments = { { %s } } }" % (stores, text))
        assert (done.code, done.out) == (1, "") and done.err.startswith("vesta check: c.lua:1: segments[1]." + want) and done.err.count("\n") == 1, done.err

    strict = "store = 'a', tags = 'x', order = 'strict', "
    for form in ("", "{number", "{number:13}", "{day:%Y}-{number}", "{number}\\n", "{number}" * 2, "x" * 64 + "{number}", "{number}\\255", "x" * 200):
        begins(strict + "form = '%s'" % form, "form ")
    begins(strict + "form = '{day:%Y}-{number}'", "form is a bad form '{day:%Y}-{number}': column 1: the counter restarts each day")
    begins(strict + "form = 5", "form is 5, which must be a text")
    day = "form = '{day:%Y%m%d}-{number}', "
    for zone in ("", "/etc/passwd", "../../etc/passwd", "Europe", "Europe/Berlin\\0", "Mars/Phobos", "x" * 64, "europe/berlin ", "'"):
        begins(strict + day + 'zone = "%s"' % zone, "zone ")
    begins(strict + day + "zone = 'Mars/Phobos'", "zone cannot be used: there is no time zone Mars/Phobos: /usr/share/zoneinfo has their names")
    begins(strict + "zone = 'UTC'", "zone is set, but there is no form with a day, month or year")
    begins(strict + "form = 'R{number}', zone = 'UTC'", "zone is set, but there is no form with a day, month or year")
    begins("store = 'a', tags = 'x', order = 'dense', form = 'R{number}'", "form cannot be used with order dense, whose numbers are plain digits")
    begins("store = 'a', tags = 'x', " + day, "form has a day, month or year, and needs order = \"strict\": with trend a range is taken long before its")
    begins("store = 'a', tags = '*', order = 'strict', form = '{year:%Y}-{number}'", "form has a day, month or year, and needs tags by name:")
    shown = check(w, "return { %s segments = { { %s zone = 'Europe/Berlin' } } }" % (stores, strict + day), "--effective").out
    assert re.search(r"(?m)^file +segments\[1\]\.form +\{day:%Y%m%d\}-\{number\}$", shown), shown
    assert re.search(r"(?m)^file +segments\[1\]\.zone +Europe/Berlin$", shown), shown
    for text in ("tags = '*', form = 'R{number:6}'", "tags = 'x', order = 'strict', form = 'R{number:6}'"):
        same(check(w, "return { %s segments = { { store = 'a', %s } } }" % (stores, text)).code, 0)
    segment("store = 'a', tags = '*', wait_ms_max = 60001", "wait_ms_max is 60001, which must be a whole number from 0 to 60000")
    refused(w, "return { stores = { %s }, segments = { { stores = { %s }, tags = '*' } } }" % (
            ", ".join("s%d = { uri = 'sqlite:/x%d' }" % (i, i) for i in range(9)), ", ".join("'s%d'" % i for i in range(9))),
            ": segments[1].stores has 9 entries, but at most 8 are allowed")
    refused(w, "return { stores = { a = {} } }", ": stores.a.uri is missing: " + forms(w))
    refused(w, "return { stores = { a = { uri = 'file:x' } } }", ":1: stores.a.uri is 'file:x', which must be " + forms(w))
    refused(w, "return { stores = { ['a/b'] = {} } }", ":1: stores: 'a/b' is not a store's name: use 1 to 63 of A-Z a-z 0-9 _ -")
    assert "note            stores.a is not used\n" in check(w, "return { %s }" % stores).out


@claim("--effective shows whether a value is from a flag, the environment, the file or the default, and shows no "
       "secret")
def _(w):
    text = "return { threads = 2, resp = { password = 's3cret' }, admin = { token = 's3cret', listen = '127.0.0.1:9' }, stores = " \
           "{ s = { uri = 'mysql://u:s3cret@h/d', password = 's3cret', auth = 's3cret' } } }"
    got = effective(w, text, env={"VESTA_THREADS": "3", "VESTA_LOG_LEVEL": "warn"})
    same(got["threads"], {"key": "threads", "value": 3, "origin": "env", "variable": "VESTA_THREADS", "by": "VESTA_THREADS"})
    same(got["log.level"], {"key": "log.level", "value": "warn", "origin": "env", "variable": "VESTA_LOG_LEVEL", "by": "VESTA_LOG_LEVEL"})
    same(got["resp.password"], {"key": "resp.password", "value": "(set)", "origin": "file"})
    same(got["admin.listen"], {"key": "admin.listen", "value": ["127.0.0.1:9"], "origin": "file"})
    same(got["http.listen"], {"key": "http.listen", "value": ["127.0.0.1:8088"], "origin": "default"})
    same(got["stores.s.uri"]["value"], "mysql://u:***@h/d")
    same(got["namespaces.default.worker"], {"key": "namespaces.default.worker", "value": None, "origin": "default"})
    same(got["<state>"]["variable"], "VESTA_STATE")
    uri = "return { stores = { s = { uri = '%s' } }, namespaces = { a = { store = 's' }, b = { store = 'mysql://u:s3cret@h/d' } } }"
    shown = check(w, uri % "mysql://u:p@s3cret@h/d", "--effective").out + check(w, uri % "mysql://u:s3cret@h/d").out
    assert "s3cret" not in shown, shown
    refused(w, "return { stores = { s = { uri = 'mysq://u:s3cret@h/d' } } }", ":1: stores.s.uri is 'mysq:', which must be " + forms(w) + ". Did you mean mysql:?")
    shown = check(w, text, "--effective", env={"VESTA_THREADS": "3"}).out
    assert "env      threads                           3  by VESTA_THREADS\n" in shown, shown
    assert "s3cret" not in shown + json.dumps(got)


@claim("every variable is read, overrides the file, and is named in the message if its value is invalid")
def _(w):
    keys = [json.loads(line) for line in w.run("check", "--keys", "--json").lines()]
    values = {"threads": "5", "log.level": "debug", "log.format": "json", "log.file": "/l", "log.access": "/r", "http.listen": "127.0.0.1:1,unix:/h",
              "resp.listen": "unix:/r", "resp.password": "p", "admin.listen": "unix:/a", "admin.token": "t"}
    variables = {key["key"]: key["variable"] for key in keys if "variable" in key}
    same(set(variables), set(values))
    got = effective(w, "return {}", env={variables[key]: values[key] for key in values})
    for key in values:
        same((got[key]["origin"], got[key]["variable"]), ("env", variables[key]))
    same(got["http.listen"]["value"], ["127.0.0.1:1", "unix:/h"])
    same(got["log.file"]["value"], "/l")
    same(effective(w, "return { threads = 2 }", env={"VESTA_THREADS": ""})["threads"]["origin"], "file")
    for name, value, want in (("VESTA_THREADS", "many", "VESTA_THREADS is 'many', which must be a whole number from 1 to 64"),
                              ("VESTA_THREADS", "-1", "VESTA_THREADS is '-1', which must be a whole number from 1 to 64"),
                              ("VESTA_THREADS", "65", "VESTA_THREADS is 65, which must be a whole number from 1 to 64"),
                              ("VESTA_LOG_FORMAT", "xml", "VESTA_LOG_FORMAT is 'xml', which must be one of \"logfmt\", \"json\""),
                              ("VESTA_HTTP", "unix:/a,,unix:/b", "VESTA_HTTP is empty: leave the key out instead"),
                              ("VESTA_RESP", "0.0.0.0:1", "VESTA_RESP has 0.0.0.0:1, which other machines can reach"),
                              ("VESTA_ADMIN_TOKEN", "a\nb", "VESTA_ADMIN_TOKEN has the control character \\x0a at byte 2")):
        fails(check(w, "return {}", env={name: value}), 1, "vesta check: " + want)


@claim("--keys lists every key with its meaning and its variable")
def _(w):
    shown = w.run("check", "--keys").out
    for key in map(json.loads, w.run("check", "--keys", "--json").lines()):
        assert "%s\n    %s\n    %s (default: " % (key["key"], key["help"], key["value"]) in shown, key
        assert "variable" not in key or "in the environment: %s\n" % key["variable"] in shown, key


main()
