"""A store's secret is protected like any other. A URI without a host, or with a wrong key, reveals no secret, and a
namespace with the name of a generator file blocks no other."""
import os
import signal
import subprocess

from serving import Server, claim, environment, fails, main, same, write, VESTA

SECRET = "root:$6$hunter2"


@claim("a server whose only secret is a store's does not write its memory to a core file")
def _(world):
    config = write(world, """return { stores = { s = { uri = "mysql://vesta@127.0.0.1:1/v", password = "s3cret" } },
      namespaces = { default = { store = "s" } }, http = { listen = "off" }, resp = { listen = "unix:%s" } }""" % world.path("r"))
    for args in (("-c", config), ("--http", "off", "--resp", "unix:" + world.path("q"), "--store", "zk://me:s3cret@127.0.0.1:1/v")):
        process = subprocess.Popen([VESTA, "serve", *args], cwd=world.folder, env=environment(world.folder), stderr=subprocess.PIPE, text=True)
        while "serving the Redis protocol" not in process.stderr.readline():
            assert process.poll() is None, process.stderr.read()
        with open("/proc/%d/status" % process.pid) as status:
            assert status.read()
        # The file of an undumpable process belongs to root, and the limit is 0.
        owner = os.stat("/proc/%d/environ" % process.pid)
        with open("/proc/%d/limits" % process.pid) as limits:
            core = next(line for line in limits if line.startswith("Max core"))
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        process.wait(20)
        process.stderr.close()
        same((owner.st_uid, core.split()[4]), (0, "0"))


@claim("if a URI lacks its host, messages show nothing after the colon")
def _(world):
    for uri in "mysql://u:hunter2", "mysql://u:hunter2/db", "zk://u:hunter2", "zk://u:hunter2/x", "mysql://[u:hunter2":
        for command in (("gen",), ("workers", "--namespace", "x"), ("store", "show", "--namespace", "x"),
                        ("serve", "--http", "off", "--resp", "unix:" + world.path("r"))):
            result = world.run(*command, "--store", uri)
            assert result.code != 0 and "hunter2" not in result.out + result.err, (command, result.err)
    for text in "mysql://u:hunter2", "mysql:u:hunter2", "mysql//u:hunter2":
        result = world.run("check", write(world, "return { stores = { s = { uri = '%s' } }, namespaces = { a = { store = 's' } } }" % text))
        assert result.code == 1 and "hunter2" not in result.err, result.err


@claim("no message shows the contents that file() read, whatever key used it")
def _(world):
    with open(world.path("shadow"), "w") as file:
        file.write(SECRET + ":19000:0:99999:7:::\n")
    os.chmod(world.path("shadow"), 0o600)
    read = "file('%s')" % world.path("shadow")
    for config in ("threads = " + read, "http = { listen = %s }" % read, "http = { listen = { %s } }" % read, "log = { level = %s }" % read,
                   "user = " + read, "namespaces = { a = { layout = %s } }" % read, "namespaces = { a = { store = %s } }" % read,
                   "namespaces = { a = { policy = %s } }" % read, "namespaces = { a = { policy = { %s } } }" % read,
                   "namespaces = { a = { fields = { x = %s } } }" % read, "namespaces = { [%s] = {} }" % read, "[%s] = 1" % read,
                   "leaf_any_key = " + read, "namespaces = { a = { path = %s } }" % read, "stores = { s = { uri = %s } }" % read,
                   "stores = { s = { uri = 'mysql:' .. %s } }" % read, "http = { listen = 'unix:' .. %s }" % read):
        result = world.run("check", write(world, "return { %s }" % config))
        same(result.code, 1)
        assert "$6$" not in result.err and "root:" not in result.err, (config, result.err)
    result = world.run("check", write(world, "error(%s)" % read))
    assert result.code == 1 and "root:" not in result.err, result.err


@claim("a file: store rejects the namespace default.gen, and default is served")
def _(world):
    for command in (("gen", "--namespace", "default.gen", "--worker", "1"),
                    ("store", "init", "--store", "file:" + world.path("state"), "--namespace", "default.gen", "--layout", "snowflake")):
        fails(world.run(*command), 2, "must not end in .gen")
    with Server(world) as server:
        same(server.get("/genid").status, 200)


main()
