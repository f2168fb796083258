"""gateways.py VESTA [WORDS OF A CLAIM] -- the plugins of examples/apisix and examples/kong.  Debian has neither gateway,
so a stand-in of their interface (stand_in) checks their configuration and calls their phases, in a real nginx with a
real server."""
import http.client
import os
import re
import signal

from hosting import EXAMPLES, HOSTILE, Host, found, ids_of
from serving import Server, claim, free_port, main, same

NGINX = found("nginx")
HERE = os.path.dirname(os.path.abspath(__file__))
WHICH = ("apisix", "kong")


def gateways(world, *ports, wait=2000):
    prefix, port = world.path("nginx"), free_port()
    os.makedirs(prefix)
    for which in WHICH:  # the folders in which the gateways find plugins
        os.makedirs(os.path.join(prefix, which))
        os.symlink(os.path.join(os.path.abspath(EXAMPLES), which, "plugins"), os.path.join(prefix, which, "plugins"))
    with open(os.path.join(HERE, "gateways.conf")) as file:
        conf = file.read()
    for old, new in (("PREFIX", prefix), ("HERE", HERE), ("EXAMPLES", prefix), ("LUA", os.path.join(EXAMPLES, "..", "lua")),
                     ("APPLICATION", str(free_port())), ("PORT", str(port))):
        conf = conf.replace(old, new)
    with open(prefix + "/nginx.conf", "w") as file:
        file.write(conf.replace("worker_processes", "env PLUGIN_CONF;\nworker_processes"))
    servers = ", ".join('"127.0.0.1:%d"' % p for p in ports)
    args = [NGINX, "-p", prefix, "-c", prefix + "/nginx.conf", "-g", "daemon off;", "-e", "stderr"]
    return Host(world, args, signal.SIGQUIT, port, {"PLUGIN_CONF": "{ servers = { %s }, wait = %d }" % (servers, wait)})


@claim("by a stand-in: both plugins add an id to each request, for the application and the client")
def _(world):
    with Server(world) as server, gateways(world, server.resp) as host:
        seen = set()
        for which in WHICH:
            ids = ids_of(host.crowd(4, 50, "/" + which))
            assert not seen & ids
            seen |= ids


@claim("by a stand-in: a request's own id is kept if it is valid, and replaced if not")
def _(world):
    with Server(world) as server, gateways(world, server.resp) as host:
        for which in WHICH:
            same(host.ask("/" + which, {"X-Request-Id": "a-1_.:+/="}), (200, "a-1_.:+/=", "a-1_.:+/="))
            for name in HOSTILE:
                ids_of([host.ask("/" + which, {"X-Request-Id": name.encode("latin-1")})])


@claim("by a stand-in: without servers requests continue without an id, and the log has the reason")
def _(world):
    with gateways(world, 1, wait=50) as host:
        for which in WHICH:
            same(host.ask("/" + which), (200, None, ""))
            same(host.ask("/" + which, {"X-Request-Id": "a b"}), (200, None, ""))
            same(host.ask("/" + which, {"X-Request-Id": "good"}), (200, "good", "good"))
        same(len(re.findall(r"vesta-id: .*127\.0\.0\.1:1: ", host.said())), 4)


WRONG = ["{}", "{ servers = {} }", '{ servers = "a:1" }', '{ servers = { "nowhere" } }', '{ servers = { "a:99999" } }',
         '{ servers = { "a:1" }, name = "" }', '{ servers = { "a:1" }, name = "a b" }', '{ servers = { "a:1" }, wait = -1 }',
         '{ servers = { "a:1" }, wait = 1e9 }', '{ servers = { "a:1" }, header_name = 5 }', '{ servers = { "a:1" }, server = 1 }',
         '{ servers = { %s } }' % ", ".join(['"a:1"'] * 17)]


@claim("by a stand-in: invalid configurations are rejected with a reason, and valid ones are accepted")
def _(world):
    with gateways(world, 1) as host:
        def checked(which, conf):
            connection = http.client.HTTPConnection("127.0.0.1", host.port, timeout=20)
            connection.request("POST", "/checked?which=" + which, conf)
            reply = connection.getresponse()
            text = reply.read().decode().strip()
            connection.close()
            same(reply.status, 200)
            return text
        for which in WHICH:
            same(checked(which, '{ servers = { "a:1", "[::1]:2" }, name = "orders", password = "x" }'), "accepted")
            for conf in WRONG:
                said = checked(which, conf)
                assert said != "accepted" and len(said) > 5, (which, conf, said)


main()
