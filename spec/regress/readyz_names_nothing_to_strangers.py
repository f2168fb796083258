"""Regression: `/readyz` showed the names of namespaces, databases and paths to clients without credentials. The status
is public, but the reasons are for the admin listener and for clients that may read all names."""
import base64
import json
import socket

from ports import free_port, give_back
from servers import until
from serving import Configured, claim, command, get, main, same, until_closed

NAMES = ("payroll", "salaries", "tally", "127.0.0.1:", "/vesta-cli-")


def client(world, *words):
    done = world.run("client", *words, "--file", world.path("clients"))
    assert done.code == 0, done.err
    return done.out.strip()


def gone_stores(world):
    gone = free_port()
    config = """return { namespaces = { payroll = { store = "mysql://u@127.0.0.1:%d/salaries", wait_ms_max = 0 } },
      clients = "%s", admin = { listen = "unix:%s" } }""" % (gone, world.path("clients"), world.path("admin.sock"))
    server = Configured(world, config)
    server.quiet = True
    give_back(gone)
    return server


def shown(text):
    return [name for name in NAMES if name in text]


def admin(world, path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(20)
        sock.connect(world.path("admin.sock"))
        sock.sendall(get(path, "Connection: close"))
        return until_closed(sock).decode()


def by(secret):
    return {"Authorization": "Bearer " + secret}


@claim("a client without credentials gets only the status of /readyz, and the admin and clients that may read all "
       "names get the reasons")
def _(world):
    ops = client(world, "add", "ops", "--calls", "give,read")
    operator = client(world, "add", "operator", "--names", "none", "--calls", "operate")
    one = client(world, "add", "one", "--names", "payroll", "--calls", "give,read")
    client(world, "add", "default", "--names", "none", "--calls", "give")
    with gone_stores(world) as server:
        for headers in ({}, by(one), by("wrong"), {"Authorization": "Basic " + base64.b64encode(b"one:wrong").decode()}):
            reply = server.get("/readyz", headers=headers)
            same((headers, reply.status, shown(reply.body)), (headers, 503, []))
            said = json.loads(reply.body)
            same((said["code"], "reasons" in said), ("not_ready", False))
        for secret in ops, operator:
            said = json.loads(server.get("/readyz", headers=by(secret)).body)
            same([reason["namespace"] for reason in said["reasons"]], ["payroll"])
        assert shown(admin(world, "/readyz")), "the admin hears the reasons"
        same(server.get("/healthz", headers=by("wrong")).status, 200)


@claim("an error shows no database and no path to a client that may not read all names")
def _(world):
    ops = client(world, "add", "ops", "--calls", "give,read")
    one = client(world, "add", "one", "--names", "payroll", "--calls", "give,read")
    with gone_stores(world) as server:
        until(lambda: "127.0.0.1:" in server.get("/genid?ns=payroll", headers=by(ops)).body, "who may read all names hears why")
        for path in "/genid?ns=payroll", "/v1/ids?ns=payroll", "/v1/blocks?n=1&ns=payroll", "/api/snowflake/get/payroll":
            reply = server.get(path, headers=by(one))
            assert reply.status == (403 if "blocks" in path else 503) and "salaries" not in reply.body and "127.0.0.1:" not in reply.body, (path, reply.body)
        for words in ["GET", "payroll"], ["VESTA.INFO"], ["INFO"], ["MGET", "payroll"]:
            said = server.say(server.resp, command("AUTH", one) + command(*words)).decode()
            assert said.startswith("+OK") and "salaries" not in said and "127.0.0.1:" not in said, (words, said)


@claim("a ready server shows no warnings to a client without credentials, and answers 200 to a wrong secret")
def _(world):
    ops = client(world, "add", "ops", "--calls", "give,read")
    client(world, "add", "default", "--names", "none", "--calls", "give")
    config = 'return { namespaces = { payroll = { worker = 5 } }, clients = "%s" }' % world.path("clients")
    with Configured(world, config) as server:
        same((server.get("/readyz").status, server.get("/readyz").body), (200, '{"status":"ready"}\n'))
        same(server.get("/readyz", headers=by("wrong")).body, '{"status":"ready"}\n')
        assert "warnings" in server.get("/readyz", headers=by(ops)).body
        head = server.say(server.http, get("/readyz", "Connection: close", method="HEAD")).decode()
        assert head.startswith("HTTP/1.1 200 ") and head.endswith("\r\n\r\n"), head


main()
