"""reload.py -- `vesta reload` on real servers."""
import json
import os

from certificates import make_certificates
from harness import claim, fails, main, same
from ports import free_port
from serving import Configured, Server

CONFIG = """return {
  namespaces = { orders = { worker = 3, policy = "own.lua" }, web = { worker = 7, policy = "wait" } },
  http = { listen = "unix:%s" }, resp = { listen = "off" },
  admin = { listen = "%s"%s },
  %s
}
"""
POLICY = "return { api = 1, on_clock_back = function() return %s end }\n"


def write(w, name, text):
    with open(w.path(name), "w") as file:
        file.write(text)
    return w.path(name)


def served(w, address=None, token="", more=""):
    write(w, "own.lua", POLICY % "'wait'")
    return Configured(w, write(w, "v.lua", CONFIG % (w.path("h"), address or "unix:" + w.path("a"), token, more)), faces=False)


@claim("an applied reload ends with 0, and names the namespaces whose policies changed")
def _(w):
    with served(w):
        done = w.run("reload", "-c", "v.lua")
        same((done.code, done.out, done.err), (0, "reloaded: no policy has changed since\n", ""))
        write(w, "own.lua", POLICY % "'refuse'")
        done = w.run("reload", "--admin", "unix:" + w.path("a"))
        same((done.code, done.out, done.err), (0, "reloaded: the new policies are in use: orders\n", ""))
        write(w, "own.lua", POLICY % "'borrow'")
        write(w, "v.lua", open(w.path("v.lua")).read().replace('"wait"', '"borrow"'))
        done = w.run("reload", "--json", env={"VESTA_CONFIG": "v.lua"})
        same((done.code, json.loads(done.out)), (0, {"applied": True, "result": "reloaded: the new policies are in use: orders, web", "generation": 4}))


@claim("a rejected policy or config ends with 1, its file and its line, and is applied after it is corrected")
def _(w):
    with served(w) as server:
        address, good = "unix:" + w.path("a"), open(w.path("v.lua")).read()
        write(w, "own.lua", "return {\n  api = 1,\n  on_clock_back = 5 5\n}\n")
        fails(w.run("reload", "--admin", address), 1, "the reload was rejected, and the old policies stay in use: ", "own.lua:3:")
        for more, env in ((["-c", "v.lua"], {}), ([], {"VESTA_CONFIG": "v.lua"}), (["-c", "v.lua", "--admin", address], {})):
            fails(w.run("reload", *more, env=env), 1, "v.lua: namespaces.orders.policy cannot be used: own.lua:3:")
        fails(w.run("reload", "-c", "v.lua", "--admin", "nonsense"), 2, "nonsense")
        done = w.run("reload", "--json", "--admin", address)
        same((done.code, json.loads(done.out)["applied"], "own.lua:3:" in json.loads(done.out)["result"]), (1, False, True))
        write(w, "own.lua", POLICY % "'borrow'")
        write(w, "v.lua", good.replace("http = ", "htp = "))
        fails(w.run("reload", "--admin", address), 1, "the reload was rejected", "v.lua", "htp", "did you mean")
        write(w, "v.lua", good.replace("http = ", "5 5"))
        fails(w.run("reload", "--admin", address), 1, "the reload was rejected", "v.lua:3:")
        write(w, "v.lua", good)
        same(w.run("reload", "-c", "v.lua").out, "reloaded: the new policies are in use: orders\n")
        server.kill()  # Server.__exit__ fails on errors in the log, and this server has logged some.


@claim("many changed namespaces are named as far as they fit in one line, and the others are counted")
def _(w):
    names = ["n%02d" % i + "x" * 40 for i in range(30)]
    text = "return { namespaces = { %s }, http = { listen = 'unix:%s' }, resp = { listen = 'off' }, admin = { listen = 'unix:%s' } }"
    rows = ", ".join("%s = { worker = %d, policy = 'wait' }" % (name, i) for i, name in enumerate(names))
    with Configured(w, write(w, "v.lua", text % (rows, w.path("h"), w.path("a"))), faces=False):
        write(w, "v.lua", text % (rows.replace("wait", "borrow"), w.path("h"), w.path("a")))
        done = w.run("reload", "-c", "v.lua")
        named = [name for name in names if name in done.out]
        assert done.code == 0 and 5 < len(named) < 30 and len(done.out) < 512, done.out
        same(done.out, "reloaded: the new policies are in use: %s and %d more\n" % (", ".join(named), 30 - len(named)))


@claim("a missing server, a listener for ids, and a server without a config end with 1, and invalid arguments with 2")
def _(w):
    fails(w.run("reload", "--admin", "unix:" + w.path("none")), 1, "none: cannot connect")
    fails(w.run("reload"), 2, "no admin listener is named: --admin ADDR, VESTA_ADMIN, or -c FILE")
    fails(w.run("reload", "x"), 2, 'unexpected operand "x": name the server with --admin or -c')
    fails(w.run("reload", "--admin", "nonsense"), 2, "--admin has a wrong address")
    fails(w.run("reload", "--wait-ms", "0"), 2, "--wait-ms")
    with Server(w, "--admin", "unix:" + w.path("a")) as server:
        fails(w.run("reload", "--admin", "127.0.0.1:%d" % server.http, env={"VESTA_ADMIN_TOKEN": "x"}), 1, "this is not the admin listener of a vesta server")
        fails(w.run("reload", "--admin", "unix:" + w.path("a")), 1, "there is nothing to reload: this server has no policies and no config file")


@claim("an admin listener with TLS and a token is reached by its config, or by a token and a CA, but not without the "
       "right or the CA")
def _(w):
    make_certificates(w.path("made"))
    made, port = w.path("made", ""), free_port()
    address = "tls:127.0.0.1:%d" % port
    same(w.run("client", "add", "ops", "--calls", "give,operate", "--file", "clients").code, 0)
    secret = w.run("client", "add", "shop", "--calls", "give", "--file", "clients").out.split("\n")[0].split()[-1]
    tls = "tls = { certificate = '%sserver.pem', key = '%sserver.key' }, clients = '%s'," % (made, made, w.path("clients"))
    with served(w, address, ", token = 'sesame'", tls) as server:
        same(w.run("reload", "-c", "v.lua").out, "reloaded: no policy has changed since\n")
        ask = ["reload", "--admin", address]
        write(w, "token", "sesame\n")
        os.chmod(w.path("token"), 0o600)
        same(w.run(*ask, "--cacert", made + "ca.pem", "--token-file", "token").code, 0)
        fails(w.run(*ask, "--token-file", "token"), 1, "certificate is rejected", "--cacert")
        for token, why in ("wrong", "this route requires the admin token"), (secret, "client 'shop' may not operate this server"):
            fails(w.run(*ask, "--cacert", made + "ca.pem", env={"VESTA_ADMIN_TOKEN": token}), 1, address + ": " + why)
        fails(w.run(*ask, "--insecure", "--cacert", "x", "--token-file", "token"), 2, "leave out one")
        write(w, "clients", "ops calls=everything\n")
        fails(w.run(*ask, "--cacert", made + "ca.pem", "--token-file", "token"), 1, "the reload was rejected", "clients:1:")
        server.kill()


main()
