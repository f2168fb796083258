"""effective.py -- `--effective` of each command."""
import json
import re

from harness import claim, fails, main, same
from topics import option_rows, topics

CONFIG = """return { threads = 2, stores = { db = { uri = "sqlite:%s", password = "hunter2" } },
  namespaces = { orders = { layout = "snowflake", store = "sqlite:%s", lease = "strict" } },
  segments = { { store = "db", tags = "*" } }, clients = "%s", admin = { listen = "unix:/tmp/vesta-none.sock" } }"""

# Other arguments that a command requires.
MORE = {"fill": ["--list", "x"], "segments add": ["t"], "segments step": ["t", "9"], "segments take": ["t"], "segments resume": ["t"],
        "segments import": ["leaf_alloc", "sqlite:FOLDER/none.db"], "workers import": ["--from", "uid", "--source", "mysql://u@h/x"],
        "store": ["show"], "lease": ["run"], "check": [], "range lease": ["--from", "2019-01-01", "--until", "2019-02-01"],
        "range release": ["--unused", "x"]}


def config(w):
    with open(w.path("vesta.lua"), "w") as file:
        file.write(CONFIG % (w.path("c.db"), w.path("l.db"), w.path("clients")))
    same(w.run("client", "add", "shop", "--file", "clients").code, 0)
    same(w.run("store", "init", "--store", "sqlite:" + w.path("l.db"), "--namespace", "orders", "--layout", "snowflake").code, 0)
    return w.path("vesta.lua")


def asked(w, topic, *more, env=None):
    more_words = [word.replace("FOLDER", w.folder) for word in MORE.get(" ".join(topic), [])]
    return w.run(*topic, *more_words, "--effective", *more, env=env)


def places(w):
    for topic in topics(w):
        names = {re.match(r"(?:-\w, )?--([\w-]+)", option)[1] for option, _ in option_rows(w, topic)}
        if names & {"config", "store"} - ({"config"} if topic[0] == "help" else set()):
            yield topic, names


@claim("every command with -c or --store has --effective, which shows the settings and their sources")
def _(w):
    path = config(w)
    seen = 0
    for topic, names in places(w):
        assert "effective" in names, topic
        if "config" not in names or topic in (["store", "init"],):
            continue
        for more, env, by in ((["-c", path], None, "--config"), ([], {"VESTA_CONFIG": path}, "VESTA_CONFIG")):
            if topic[0] == "serve" and env:  # `serve` takes its config only from a flag, not from the environment.
                continue
            shown = asked(w, topic, *more, env=env)
            same((topic, shown.code, shown.err), (topic, 0, ""))
            assert "hunter2" not in shown.out, shown.out
            rows = shown.lines()
            assert all(re.match(r"(default|file|env|flag|map|store) +\S+  +\S", row) for row in rows), rows
            if topic[0] not in ("check", "serve", "doctor"):
                assert re.search(r"(?m)^%s +config +%s  by %s$" % ("flag" if more else "env", re.escape(path), by), shown.out), shown.out
            assert re.search(r"(?m)^file +\S+ ", shown.out), (topic, shown.out)
            seen += 1
    assert seen >= 20, seen


# Arguments of each command for a config without a store. No server listens on these addresses.
ASKED = {"gen": [], "explain": ["1"], "make": ["time=1", "seq=1", "machine=1"], "range": ["today"], "guess": ["1"], "audit": [], "check": [],
         "doctor": ["--effective"], "workers": [], "store": ["show"], "store show": [], "store init": [], "client": [], "client set": ["o", "--rate", "5"], "client rotate": ["o"],
         "client add": ["p"], "client remove": ["o"], "client list": [], "serve": ["--effective"], "fill": ["--list", "x", "--effective"], "segments": [],
         "segments add": ["v"], "segments step": ["v", "9"], "segments take": ["v"], "top": ["--effective"], "reload": ["--effective"], "health": ["--effective"],
         "lease": ["run", "--effective"], "lease run": ["--effective"], "store advance": ["--yes"], "watermark": ["--effective"]}
# They resolve the config as `store advance` and `workers` do, but need more arguments.
OTHERS = ("store lower", "store relayout", "segments import", "segments resume", "workers import", "range lease", "range release")


@claim("if a config names no store, every command with -c uses the store that its server would create")
def _(w):
    with open(w.path("none.lua"), "w") as file:
        file.write('return { clients = "%s", segments = { { store = "c", tags = "v" } }, stores = { c = { uri = "sqlite:%s" } },'
                   ' namespaces = { orders = {} }, admin = { listen = "unix:%s" } }' % (w.path("clients"), w.path("c.db"), w.path("a.sock")))
    same(w.run("client", "add", "o", "-c", "none.lua").code, 0)
    same(w.run("gen", "-c", "none.lua").code, 0)
    for topic, names in places(w):
        if "config" in names and " ".join(topic) not in OTHERS:
            done = w.run(*topic, "-c", "none.lua", *ASKED[" ".join(topic)])
            assert done.code == 0, (topic, done.code, done.out, done.err)
    same([row["identity"] for row in json.loads(w.run("workers", "-c", "none.lua", "--json").out)["workers"]], [w.path("state", "orders.gen")])
    assert re.search(r"(?m)^default +store +file:%s$" % w.path("state"), w.run("workers", "-c", "none.lua", "--effective").out)
    unused = {"VESTA_STATE": w.path("unused")}
    fails(w.run("workers", "-c", "none.lua", env=unused), 1, "no process has leased a worker id of namespace orders", "name the store by --store")
    fails(w.run("workers", env=unused), 1, "of namespace default in file:" + w.path("unused"))
    fails(w.shell("ls unused"), 2)


@claim("each row names its source: the flag, the variable, the config, the generator file, the store or the default")
def _(w):
    path = config(w)
    out = asked(w, ["gen"], "--worker", "7", "--ahead-ms", "5", env={"VESTA_NAMESPACE": "web"}).out
    assert re.search(r"(?m)^env +namespace +web  by VESTA_NAMESPACE$", out), out
    assert re.search(r"(?m)^flag +worker +7  by --worker$", out) and re.search(r"(?m)^flag +ahead_ms_max +5  by --ahead-ms$", out), out
    assert re.search(r"(?m)^default +path +\S+/web.gen$", out) and re.search(r"(?m)^default +lease +\(local if", out), out
    same(w.run("gen", "--namespace", "web", "--layout", "snowflake", "--worker", "0").code, 0)
    out = asked(w, ["gen"], "--namespace", "web").out
    assert re.search(r"(?m)^map +layout +sign:1=0 .*  by the generator file$", out), out
    rows = {row["key"]: row for row in map(json.loads, asked(w, ["gen"], "-c", path, "--json").lines())}
    same((rows["lease"]["value"], rows["lease"]["origin"], rows["namespace"]["value"]), ("strict", "file", "orders"))
    rows = [json.loads(row) for row in asked(w, ["range"], "--store", "sqlite:" + w.path("l.db"), "--namespace", "orders", "--json").lines()]
    same([row["origin"] for row in rows if row["key"] == "layout"], ["store"])
    out = asked(w, ["serve"], "--worker", "0", "--http", "off", "--policy", "borrow", env={"VESTA_THREADS": "3"}).out
    for row in ("flag +namespaces.default.worker +0  by --worker", "flag +http.listen +\\(off\\)  by --http",
                "flag +namespaces.default.policy +borrow  by --policy", "env +threads +3  by VESTA_THREADS", "env +<state> +.*  by VESTA_STATE"):
        assert re.search("(?m)^%s$" % row, out), (row, out)
    out = asked(w, ["doctor"], env={"VESTA_STORE": "file:/tmp/none"}).out
    assert re.search(r"(?m)^env +namespaces.default.store +file:/tmp/none  by VESTA_STORE$", out), out


@claim("--effective opens, creates and claims nothing, and conflicting options are rejected as without it")
def _(w):
    path = config(w)
    asked(w, ["gen"])
    asked(w, ["segments", "add"], "--store", "sqlite:" + w.path("new.db"))
    fails(w.shell("ls *.gen new.db"), 2)
    fails(asked(w, ["gen"], "-c", path, "--worker", "7"), 2, "--config determines the options of its namespaces")
    fails(asked(w, ["workers"], "-c", path, "--store", "sqlite:/x"), 2, "leave out --store or --config")
    fails(asked(w, ["gen"], "-c", w.path("none.lua")), 1, "none.lua")
    fails(w.run("serve", "--json"), 2, "--json goes with --effective")
    fails(w.run("segments", "--table", "t", env={"VESTA_CONFIG": path}), 2, "unset it, or also name the store")
    assert "default  store                             (none: name one" in asked(w, ["store", "init"]).out
    assert "(none: only duplicates are found)" in asked(w, ["audit"]).out


main()
