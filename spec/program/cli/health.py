"""health.py -- `vesta health`."""
import socket
import threading

from certificates import make_certificates
from harness import claim, fails, main, same
from ports import free_port
from serving import Configured, Server


@claim("a healthy server is 0 and prints ok, --ready asks /readyz, and both work over a unix: address")
def _(world):
    with Server(world, "--admin", "unix:" + world.path("admin")) as server:
        address = "127.0.0.1:%d" % server.http
        same((lambda r: (r.code, r.out, r.err))(world.run("health", address)), (0, "ok\n", ""))
        for where in address, "localhost:%d" % server.http, "unix:" + world.path("admin"):
            done = world.run("health", "--ready", where)
            same((done.code, done.out[:17]), (0, '{"status":"ready"'))


@claim("a server with TLS is checked with its CA or its config, rejected with another certificate, and can require a "
       "client certificate")
def _(world):
    make_certificates(world.path("made"))
    made, port, admin = world.path("made", ""), free_port(), free_port()
    tls = "certificate = '%sserver.pem', key = '%sserver.key'" % (made, made)
    config = ("return { namespaces = { default = { worker = 5 } }, http = { listen = 'tls:127.0.0.1:%d' }, resp = { listen = 'off' },"
              " admin = { listen = 'tls:127.0.0.1:%d', token = 'sesame' }, tls = { %%s } }" % (port, admin))
    address = "tls:127.0.0.1:%d" % port
    right, other, strict = world.path("right.lua"), world.path("other.lua"), world.path("strict.lua")
    asks = ", client_certificates = 'required', client_ca = '%sca.pem'" % made
    for path, text in (right, config % tls), (other, config % tls.replace("server.", "other.")), (strict, config % (tls + asks)):
        with open(path, "w") as file:
            file.write(text)

    def health(*words):
        return world.run("health", "--wait-ms", "30000", *words)

    with Configured(world, right, faces=False):
        for words in [address, "--cacert", made + "ca.pem"], [address[4:], "--tls", "--insecure"], ["-c", right], ["--ready", "-c", right]:
            done = health(*words)
            same((words, done.code, done.err), (words, 0, ""))
        fails(health(address), 1, "certificate is rejected", "--cacert")
        fails(health(address, "--cacert", made + "other.pem"), 1, "certificate is rejected", "--cacert")
        fails(health("-c", other), 1, "certificate is rejected")
        fails(health(address[4:]), 1, "requires TLS", "add --tls")
        same(world.run("top", "--once", "-c", right).code, 0)
        fails(world.run("top", "--once", "-c", other), 1, "certificate is rejected")
        env = {"VESTA_ADMIN_TOKEN": "sesame"}
        top = ["top", "--once", "--admin", "tls:127.0.0.1:%d" % admin]
        same(world.run(*top, "--cacert", made + "ca.pem", env=env).code, 0)
        fails(world.run(*top, env=env), 1, "certificate is rejected", "--cacert")
    with Configured(world, strict, faces=False):
        shown = ["--cert", made + "server.pem", "--key", made + "server.key"]
        fails(health("-c", strict), 1)
        fails(world.run("top", "--once", "-c", strict), 1)
        same(health("-c", strict, *shown).code, 0)
        same(world.run("top", "--once", "-c", strict, *shown).code, 0)
    fails(health("-c", right), 1, "cannot connect")
    with open(right, "w") as file:
        file.write("return { http = { listen = 'off' } }")
    fails(health("-c", right), 1, "http.listen and admin.listen are off")


@claim("a server that requires a PROXY header from this machine receives one")
def _(world):
    port, config = free_port(), world.path("proxies.lua")
    with open(config, "w") as file:
        file.write("return { namespaces = { default = { worker = 5 } }, http = { listen = '127.0.0.1:%d' }, resp = { listen = 'off' },"
                   " proxies = { '127.0.0.1' } }" % port)
    with Configured(world, config, faces=False):
        for words in ["-c", config], ["--ready", "127.0.0.1:%d" % port]:
            done = world.run("health", *words)
            same((words, done.code, done.err), (words, 0, ""))


@claim("a server that waits for its store is healthy but not ready: 1, with the reason")
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
    """Starts a server on a free port that sends these bytes to every client. Returns the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        client.sendall(what)
        hold.wait(60)
        client.close()
        listener.close()
    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


@claim("a closed port, silence, half a line, another protocol, control characters and a megabyte end with 1, within "
       "the time limit")
def _(world):
    fails(world.run("health", "127.0.0.1:%d" % free_port()), 1, "cannot connect")
    hold = threading.Event()
    for what, part in ((b"", "did not answer within 300 ms"), (b"HTT", "is not an HTTP server"), (b"-ERR \x1b[2J\r\n", "\\x1b[2J"),
                       (b"x" * 1000000, "is not an HTTP server")):
        fails(world.run("health", "--wait-ms", "300", "127.0.0.1:%d" % says(what, hold), timeout=20), 1, part)
    done = world.run("health", "--wait-ms", "300", "127.0.0.1:%d" % says(b"HTTP/1.1 500 \x1b[2J\r\n\r\n\x1b[2J", hold), timeout=20)
    assert done.code == 1 and "\x1b" not in done.out + done.err, done.out + done.err
    hold.set()


@claim("invalid arguments end with 2 and name the value")
def _(world):
    for words, part in ((["nowhere"], "nowhere"), (["127.0.0.1:99999"], "99999"), ([""], ""), (["a:1", "b:2"], "b:2"), (["unix:" + "x" * 5000], "unix:"),
                        (["--wait-ms", "0", "a:1"], "0"), (["--wait-ms", "60001"], "60001"), (["--redy"], "--redy"), (["--hlep"], "did you mean --help?"),
                        (["http://127.0.0.1:8088/healthz"], "Leave out http://"), (["https://a:1"], "Write tls:HOST:PORT"),
                        (["--cacert", "x", "a:1"], "add --tls"), (["--tls", "unix:/s"], "leave out --tls"), (["--tls", "--key", "x", "a:1"], "--cert"),
                        (["-c", "x", "a:1"], "leave out one"), (["--tls", "--insecure", "--cacert", "x", "a:1"], "leave out one")):
        fails(world.run("health", *words), 2, part)
    for option in "--http", "--resp":
        assert "did you mean" not in world.run("health", option).err, option


main()
