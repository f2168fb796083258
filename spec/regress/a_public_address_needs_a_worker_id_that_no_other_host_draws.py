"""Regression: behind a public address, a store on this machine is not a safe source of worker ids, because each host
draws its own and two may draw the same. Safe are a shared store, an assigned worker id, and --single-host."""
import os
import socket
import subprocess

from serving import claim, fails, free_port, main, same, write

PUBLIC = "0.0.0.0:%d"
ADVICE = "other machines can reach it", "'default' draws its worker id from this machine's own store", "mysql:, postgresql: or zk:", "--worker N", "--single-host"


def starts(world, *args):
    process = world.start(*args, stderr=subprocess.PIPE)
    try:
        line = process.stderr.readline().decode()
        while "serving HTTP" not in line:
            assert line, "it ended with %r" % process.wait()
            line = process.stderr.readline().decode()
    finally:
        process.terminate()
        process.stderr.read()
        process.wait(20)
        process.stderr.close()


@claim("flags: no store, file: and sqlite: stores are rejected with advice, but not --worker, a shared store or "
       "--single-host")
def _(world):
    port = free_port()
    public = ("serve", "--resp", "off", "--open", "--http", PUBLIC % port)
    for store in (), ("--store", "file:" + world.path("s")), ("--store", "sqlite:" + world.path("s.db")):
        fails(world.run(*public, *store), 2, *ADVICE)
    assert not os.path.exists(world.path("s"))
    for more in ("--worker", "5"), ("--store", "zk://127.0.0.1:1/vesta"), ("--single-host", "--store", "file:" + world.path("s")):
        starts(world, *public, *more, "--namespace", "n" + more[0].strip("-")[0])


@claim("config: vesta check applies the same rule, also to a store by name, and accepts single_host")
def _(world):
    text = "return { stores = { here = { uri = 'file:%s' } }, namespaces = { orders = { store = 'here' } }, http = { listen = '0.0.0.0:8088' }%%s }" % world.path("s")
    fails(world.run("check", write(world, text % "")), 1, "http.listen has 0.0.0.0:8088", "'orders' draws", "namespaces.orders.worker", "single_host = true")
    same(world.run("check", write(world, text % ", single_host = true, open = true")).code, 0)


@claim("the same rule applies to an inherited socket")
def _(world):
    with socket.create_server(("0.0.0.0", 0)) as public:
        os.dup2(public.fileno(), 3, True)
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$vesta" serve --resp off --store file:s'
        result = world.shell(script, pass_fds=(3,))
        os.close(3)
    fails(result, 2, *ADVICE)


main()
