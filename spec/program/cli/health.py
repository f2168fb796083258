"""vesta health: what a running server says of itself is its exit code; whatever else is there is said, in time."""
import socket
import threading

from harness import claim, fails, main, same
from ports import free_port
from serving import Server


@claim("a server that is well is 0 and prints ok; --ready is /readyz; a unix: address too")
def _(world):
    with Server(world, "--admin", "unix:" + world.path("admin")) as server:
        address = "127.0.0.1:%d" % server.http
        same((lambda r: (r.code, r.out, r.err))(world.run("health", address)), (0, "ok\n", ""))
        for where in address, "localhost:%d" % server.http, "unix:" + world.path("admin"):
            done = world.run("health", "--ready", where)
            same((done.code, done.out[:17]), (0, '{"status":"ready"'))


@claim("one that waits for a store is well and not ready: 1, with the reason")
def _(world):
    port, gone = free_port(), free_port()
    process = world.start("serve", "--resp", "off", "--http", "127.0.0.1:%d" % port, "--store", "zk://127.0.0.1:%d/vesta" % gone,
                          "--log-file", world.path("log"))
    try:
        while world.run("health", "127.0.0.1:%d" % port).code != 0:
            assert process.poll() is None
        done = world.run("health", "--ready", "127.0.0.1:%d" % port)
        same(done.code, 1)
        assert '"namespace":"default"' in done.out and "503" in done.err and "/readyz" in done.err, (done.out, done.err)
    finally:
        process.terminate()
        process.wait(20)


def says(what, hold):
    """A server on a free port that says this to whoever comes; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        client.sendall(what)
        hold.wait(60)
        client.close()
        listener.close()
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@claim("nobody there, silence, half a line, another protocol, control characters and a megabyte are 1, within the time")
def _(world):
    fails(world.run("health", "127.0.0.1:%d" % free_port()), 1, "cannot connect")
    hold = threading.Event()
    for what, part in ((b"", "did not answer within 300 ms"), (b"HTT", "does not speak HTTP"), (b"-ERR \x1b[2J\r\n", "\\x1b[2J"),
                       (b"x" * 1000000, "does not speak HTTP")):
        fails(world.run("health", "--wait-ms", "300", "127.0.0.1:%d" % says(what, hold), timeout=20), 1, part)
    done = world.run("health", "--wait-ms", "300", "127.0.0.1:%d" % says(b"HTTP/1.1 500 \x1b[2J\r\n\r\n\x1b[2J", hold), timeout=20)
    assert done.code == 1 and "\x1b" not in done.out + done.err, done.out + done.err
    hold.set()


@claim("wrong words are 2, and name the value")
def _(world):
    for words, part in ((["nowhere"], "nowhere"), (["127.0.0.1:99999"], "99999"), ([""], ""), (["a:1", "b:2"], "b:2"), (["unix:" + "x" * 5000], "unix:"),
                        (["--wait-ms", "0", "a:1"], "0"), (["--wait-ms", "60001"], "60001"), (["--redy"], "--redy")):
        fails(world.run("health", *words), 2, part)


main()
