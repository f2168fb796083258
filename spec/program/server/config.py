"""config.py -- `vesta serve -c FILE`: several namespaces in one server, and precedence of settings."""
import ctypes
import json
import os
import signal
import socket
import struct

from serving import VESTA, Configured, bulks, claim, command, environment, fails, get, main, same, until_closed, write

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "config")

TWO = """return { namespaces = {
  orders = { layout = "vesta-milli", worker = 7, fields = { version = 1 } },
  users = { layout = "snowflake epoch=2024-01-01T00:00:00Z", worker = 9, pacing = "history" } } }"""


def explain(world, layout, id_):
    return json.loads(world.run("explain", "--json", "--layout", layout, str(id_)).out)


@claim("each namespace issues ids of its own layout and worker id, over HTTP and the Redis protocol")
def _(world):
    with Configured(world, TWO) as server:
        for name, layout, worker in (("orders", "vesta-milli", 7), ("users", "snowflake epoch=2024-01-01T00:00:00Z", 9)):
            ids = [int(text) for text in json.loads(server.get("/v1/ids?n=3&ns=" + name).body)["ids"]]
            ids += bulks(server.redis("GET", name)) + bulks(server.redis("VESTA.NEXT", name, "2"))
            same(len(set(ids)), 6)
            assert {explain(world, layout, one)["worker"] for one in ids} == {worker}, ids
        same(explain(world, "vesta-milli", bulks(server.redis("GET", "orders"))[0])["version"], 1)
        same(explain(world, "vesta-milli", server.get("/genid").body)["worker"], 7)
        same(server.get("/v1/ids?ns=nobody").status, 404)
        assert server.redis("GET", "nobody").startswith(b"-ERR"), server.redis("GET", "nobody")
        assert "namespace=orders worker=7" in server.said and "namespace=users worker=9" in server.said, server.said
    same(sorted(name for name in os.listdir(world.path("state")) if name.endswith(".gen")), ["orders.gen", "users.gen"])


@claim("`default` is the first namespace, even if another name sorts before it")
def _(world):
    text = "return { namespaces = { a = { worker = 1 }, default = { worker = 2 } } }"
    with Configured(world, text) as server:
        same(explain(world, "vesta-second", server.get("/genid").body)["worker"], 2)


@claim("the example configs that need no other server are served")
def _(world):
    for name, spaces in (("laptop", ["default"]), ("namespaces", ["default", "orders", "users"])):
        with Configured(world, os.path.join(EXAMPLES, name + ".lua"), env={"VESTA_STATE": world.path(name)}) as server:
            for space in spaces:
                same(len(bulks(server.redis("GET", space))), 1)


@claim("a flag overrides the environment, which overrides the file")
def _(world):
    unix = {name: world.path(name + ".sock") for name in ("file", "env", "flag")}
    text = "return { http = { listen = 'unix:%(file)s' }, resp = { listen = 'unix:%(file)s.r' } }" % unix

    def answers(path):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(path)
            sock.sendall(get("/healthz", "Connection: close"))
            return until_closed(sock).endswith(b"ok\n")

    for env, flags, used in (({}, (), "file"), ({"VESTA_HTTP": "unix:" + unix["env"]}, (), "env"),
                             ({"VESTA_HTTP": "unix:" + unix["env"]}, ("--http", "unix:" + unix["flag"]), "flag")):
        with Configured(world, text, *flags, env=env, faces=False):
            assert answers(unix[used])
            same([name for name in unix if os.path.exists(unix[name])], [used])
    with Configured(world, "return { http = { listen = { 'unix:%(file)s', 'unix:%(env)s' } }, resp = { listen = 'off' } }" % unix,
                    faces=False):
        assert answers(unix["file"]) and answers(unix["env"])


@claim("flags for one namespace are rejected with a config, and the message names the key")
def _(world):
    path = write(world, "return {}")
    for flag, value, key in (("--layout", "uid", "NAME.layout"), ("--worker", "0", "NAME.worker"), ("--path", "/x", "NAME.path"),
                             ("--store", "file:/x", "NAME.store"), ("--namespace", "x", "namespaces.NAME"),
                             ("--fields", "a=1", "NAME.fields"), ("--pacing", "clock", "NAME.pacing"),
                             ("--ahead-ms", "0", "NAME.ahead_ms_max"), ("--wait-ms", "1", "NAME.wait_ms_max"),
                             ("--policy", "wait", "NAME.policy"), ("--policy-env", "X", "NAME.policy_env"), ("--shadow-policy", "wait", "NAME.shadow_policy")):
        fails(world.run("serve", "-c", path, flag, value), 2, flag + " and --config cannot be combined", key)


@claim("an invalid config ends with 1 and the message of vesta check, and an invalid flag next to it ends with 2")
def _(world):
    path = write(world, "return {\n threads = 0 }")
    fails(world.run("serve", "--config", path), 1, "vesta serve: %s:2: threads is 0, which must be a whole number from 1 to 64\n" % path)
    fails(world.run("serve", "-c", world.path("none.lua")), 1, "cannot open the config", "none.lua: No such file or directory")
    fails(world.run("serve", "-c", world.folder), 1, "the config", "is not a regular file")
    fails(world.run("serve", "-c", write(world, "return {}"), "--threads", "0"), 2, "--threads is 0, which must be")
    fails(world.run("serve", "-c"), 2, "needs a value")
    fails(world.run("serve", "--policy", "borow", "--worker", "1"), 2, "--policy cannot be used: there is no policy 'borow'")
    fails(world.run("serve", "--admin", "127.0.0.1:1", "--worker", "1"), 2, "--admin has 127.0.0.1:1, but there is no token")
    fails(world.run("serve", env={"VESTA_THREADS": "x"}), 2, "VESTA_THREADS is 'x', which must be a whole number")
    assert not os.path.exists(world.path("state"))


@claim("check shows the shadow policy, rejects an invalid one, and allows only one per namespace")
def _(world):
    def checked(namespace):
        return world.run("check", write(world, "return { namespaces = { a = { worker = 1, %s } } }" % namespace))
    for namespace, said in (("policy = { 'borrow', shadow = true, borrow_ms_max = 5 }", "worker 1, in shadow borrow"),
                            ("policy = 'wait', shadow_policy = 'borrow'", "worker 1, policy wait, in shadow borrow"),
                            ("policy = { 'wait', shadow = false }", "worker 1, policy wait"), ("shadow_policy = { 'wait', shadow = true }", "worker 1, in shadow wait")):
        result = checked(namespace)
        same((result.code, [line.strip() for line in result.lines() if " a: " in line]), (0, ["namespaces      a: vesta-second, 1,048,576 ids/s until 2049, " + said]))
    for namespace, said in (("policy = { 'wait', shadow = 1 }", "shadow, which must be true or false"), ("policy = { 'wait', shadow = 'yes' }", "true or false"),
                            ("policy = { 'wait', shadow = true }, shadow_policy = 'borrow'", "shadow_policy is set, but policy has shadow = true"),
                            ("shadow_policy = { 'borrow', borow_ms_max = 5 }", "did you mean borrow_ms_max?"), ("shadow_policy = 'borow'", "shadow_policy cannot be used: there is no policy 'borow'"),
                            ("policy = { 'borow', shadow = true }", "there is no policy 'borow'"), ("shadow_policy = 5", "shadow_policy")):
        fails(checked(namespace), 1, said)


@claim("an empty variable counts as unset, in the config, for vesta itself, from the service manager and for policies")
def _(world):
    with open(os.path.join(os.path.dirname(__file__), *[".."] * 3, "examples", "kubernetes", "image.lua")) as file:
        path = write(world, file.read())
    names = ["VESTA_" + name for name in ("STORE", "WORKER", "NAMESPACE", "LAYOUT", "POLICY", "RESP_PASSWORD", "HTTP", "RESP", "ADMIN", "LOG_LEVEL")]
    env = dict.fromkeys(names + ["LISTEN_FDS", "NOTIFY_SOCKET"], "")
    same(world.run("check", path, env=dict(env, VESTA_SINGLE_HOST="true")).code, 0)
    fails(world.run("check", path, env=dict(env, VESTA_SINGLE_HOST="")), 1, "single_host")
    fails(world.run("check", write(world, "return { user = env 'NONE' }"), env={"NONE": ""}), 1, "NONE is not set or empty")
    with open(world.path("p.lua"), "w") as file:
        file.write("return { api = 1, choose_worker = function(ctx) log('role ' .. tostring(env 'ROLE')) return 7 end }")
    with Configured(world, "return { namespaces = { a = { policy = './p.lua', policy_env = 'ROLE' } } }", env={"ROLE": ""}) as server:
        assert 'text="role nil"' in server.said, server.said


@claim("a policy reads the variables that policy_env names, they are logged, and secrets are not among them")
def _(world):
    with open(world.path("p.lua"), "w") as file:
        file.write("local r = env 'REGION' return { api = 1, choose_worker = function(ctx)\n"
                   "log('region ' .. r .. ', role ' .. tostring(env 'ROLE')) return 7 end }")
    text = "return { namespaces = { a = { policy = './p.lua', policy_env = %s } }, resp = { password = env('PW', 'hidden') } }"
    with Configured(world, text % "{ 'REGION', 'ROLE' }", env={"REGION": "eu \"1\""}) as server:
        assert 'namespace=a policy=' in server.said and 'text="region eu \\"1\\", role nil"' in server.said, server.said
    for names, env, said in (("{ 'ROLE' }", {}, "env: policies may not read REGION: name it in policy_env"),
                             ("{ 'VESTA_RESP_PASSWORD' }", {}, "policy_env names VESTA_RESP_PASSWORD, which contains the secret resp.password"),
                             ("{ 'REGION', 'DBPW' }", {"PW": "p4ss", "DBPW": "p4ss"}, "policy_env names DBPW, which contains the secret resp.password"),
                             ("{ 'A=B' }", {}, "policy_env: 'A=B' is not a variable's name"), ("'*'", {}, "'*' is not a variable's name"),
                             ("{ '' }", {}, "policy_env"), ("{ '%s' }" % ("X" * 200), {}, "is not a variable's name"), ("{ 5 }", {}, "policy_env"), ("{}", {}, "empty list")):
        result = world.run("serve", "-c", write(world, text % names), env=dict(env, REGION="eu"))
        same(result.code, 1)
        assert said in result.err and "p4ss" not in result.err, (names, result.err)


@claim("the password is read from a file, and a warning is logged if other users can read that file")
def _(world):
    with open(world.path("pass"), "w") as file:
        file.write("s3cret\n")
    os.chmod(world.path("pass"), 0o644)
    with Configured(world, "return { resp = { password = file 'pass' }, namespaces = { a = { worker = 1 } } }") as server:
        assert 'level=warn msg="resp.password comes from' in server.said and "chmod o=" in server.said, server.said
        assert "s3cret" not in server.said
        assert server.redis("GET", "a").startswith(b"-NOAUTH"), server.redis("GET", "a")
        assert server.say(server.resp, command("AUTH", "s3cret") + command("GET", "a")).startswith(b"+OK\r\n$")
        assert server.say(server.resp, command("AUTH", "s3cret\n")).startswith(b"-WRONGPASS")


@claim("SIGHUP reloads the config: policies change, other changes are logged as ignored, and an invalid config "
       "changes nothing")
def _(world):
    text = "return { namespaces = { a = { worker = 1 }, b = { worker = 2, policy = 'wait' } } }"
    with Configured(world, text) as server:
        write(world, "return { threads = 3, namespaces = { a = { worker = 1, policy = { 'borrow', borrow_ms_max = 5 } }, c = {} } }")
        server.process.send_signal(signal.SIGHUP)
        event = server.listen("a reload only changes policies")
        assert 'keys="namespaces.b, namespaces.c, threads"' in event, event
        server.listen("reloaded")
        same(len(bulks(server.redis("GET", "a") + server.redis("GET", "b"))), 2)
        write(world, "return {\n threads = 0 }")
        server.process.send_signal(signal.SIGHUP)
        event = server.listen("reload failed")
        assert "vesta.lua:2: threads is 0, which must be a whole number from 1 to 64" in event, event
        same(len(bulks(server.redis("GET", "a") + server.redis("GET", "b"))), 2)


class Openings:
    """Counts how often files are opened, by inotify. It also watches closing, because inotify merges consecutive equal
    events."""
    OPEN, CLOSE_NOWRITE = 0x20, 0x10

    def __init__(self, *paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        self.paths = {libc.inotify_add_watch(self.fd, path.encode(), self.OPEN | self.CLOSE_NOWRITE): path for path in paths}
        assert self.fd >= 0 and -1 not in self.paths, os.strerror(ctypes.get_errno())

    def count(self):
        counts = dict.fromkeys(map(os.path.basename, self.paths.values()), 0)
        events = os.read(self.fd, 65536)
        # Events about a watched file have no name after the header.
        for at in range(0, len(events), struct.calcsize("iIII")):
            watch, mask = struct.unpack_from("iIII", events, at)[:2]
            counts[os.path.basename(self.paths[watch])] += mask & self.OPEN != 0
        return counts


@claim("a start and a reload read the config and each policy once, and use the text that was checked")
def _(world):
    policy = world.path("p.lua")
    with open(policy, "w") as file:
        file.write("return { api = 1, on_clock_back = function() return 'wait', 5 end }")
    config = write(world, "return { namespaces = { a = { worker = 1, policy = './p.lua' } } }")
    openings = Openings(config, policy)
    with Configured(world, config) as server:
        same(openings.count(), {"vesta.lua": 1, "p.lua": 1})
        server.process.send_signal(signal.SIGHUP)
        server.listen("reloaded")
        same(openings.count(), {"vesta.lua": 1, "p.lua": 1})
    os.close(openings.fd)


@claim("a server whose only namespace contradicts its generator file does not start")
def _(world):
    same(world.run("gen", "--namespace", "orders", "--layout", "snowflake", "--worker", "7").code, 0)
    one = "return { namespaces = { orders = { layout = 'vesta-milli', worker = 7 } } }"
    fails(world.run("serve", "-c", write(world, one), "--log-level", "error", "--http", "off", "--resp", "unix:" + world.path("s")), 1, "orders.gen was created with layout snowflake, not vesta-milli")


main()
