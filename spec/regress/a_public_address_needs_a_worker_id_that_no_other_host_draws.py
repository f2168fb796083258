"""Behind an address that others can reach a store of this machine alone is no source of numbers: each host would draw
its own, and two the same.  A shared store is, a number given by hand, or the word that there is one host."""
import os
import socket
import subprocess

from serving import claim, fails, free_port, main, same, write

PUBLIC = "0.0.0.0:%d"
ADVICE = "other machines can reach it", "'default' draws its worker id from this machine's own store", "mysql: or zk:", "--worker N", "--single-host"


def starts(world, *args):
    """It listens; then it is ended."""
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


@claim("flags: no store, a file: store and a sqlite: store are refused, with what to do; worker, a shared store and --single-host are not")
def _(world):
    port = free_port()
    public = ("serve", "--resp", "off", "--open", "--http", PUBLIC % port)
    for store in (), ("--store", "file:" + world.path("s")), ("--store", "sqlite:" + world.path("s.db")):
        fails(world.run(*public, *store), 2, *ADVICE)
    assert not os.path.exists(world.path("s"))
    for more in ("--worker", "5"), ("--store", "zk://127.0.0.1:1/vesta"), ("--single-host", "--store", "file:" + world.path("s")):
        starts(world, *public, *more, "--namespace", "n" + more[0].strip("-")[0])


@claim("a config: vesta check finds it, by a store's name too, and takes single_host")
def _(world):
    text = "return { stores = { here = { uri = 'file:%s' } }, namespaces = { orders = { store = 'here' } }, http = { listen = '0.0.0.0:8088' }%%s }" % world.path("s")
    fails(world.run("check", write(world, text % "")), 1, "http.listen has 0.0.0.0:8088", "'orders' draws", "namespaces.orders.worker", "single_host = true")
    same(world.run("check", write(world, text % ", single_host = true, open = true")).code, 0)


@claim("a socket that was handed over is judged by the same rule")
def _(world):
    with socket.create_server(("0.0.0.0", 0)) as public:
        os.dup2(public.fileno(), 3, True)
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec "$vesta" serve --resp off --store file:s'
        result = world.shell(script, pass_fds=(3,))
        os.close(3)
    fails(result, 2, *ADVICE)


main()
