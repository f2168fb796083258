"""Regression: a store's secret was in the process list, and in the generator file that `group=` shares. Now it is in no
file, process list, log, message or page, however it was given."""
import glob
import os
import signal
import socket
import time

from servers import MariaDB
from serving import SLOW, Configured, Server, claim, main, same, write

SECRET = "hunter2+S3cr3t"
TABLE = "CREATE TABLE leaf_alloc (biz_tag VARCHAR(128) PRIMARY KEY, max_id BIGINT NOT NULL, step INT NOT NULL, description VARCHAR(256), update_time TIMESTAMP)"


def clean(what, text):
    text = text if isinstance(text, bytes) else text.encode()
    for form in SECRET, SECRET.replace("+", "%2B"):
        at = text.find(form.encode())
        assert at < 0, "%s shows it: ...%r" % (what, text[max(0, at - 120):at + 40])


def until(holds):
    end = time.monotonic() + 60 * SLOW
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def files(world, *but):
    """Returns all files except those that this test wrote itself."""
    for path in glob.glob(world.path("**"), recursive=True, include_hidden=True):
        if os.path.isfile(path) and path not in but:
            with open(path, "rb") as file:
                yield path, file.read()


def over_unix(path, request):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(30)
        sock.connect(path)
        sock.sendall(request)
        sock.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def ask_all(server, admin):
    for route in "/metrics", "/readyz", "/version", "/", "/v1/segments", "/v1/ids?n=1":
        clean(route, server.get(route).body)
    for route in "/admin/status", "/admin/workers", "/admin/history", "/", "/metrics", "/readyz":
        clean(route, over_unix(admin, b"GET %s HTTP/1.0\r\nAccept: text/html\r\n\r\n" % route.encode()))
    for words in ("INFO",), ("VESTA.INFO",), ("CLIENT", "LIST"), ("CONFIG", "GET", "*"), ("VESTA.BLOCK", "default", "2"):
        clean(words, server.redis(*words))


def look_at(server, admin, db):
    with open("/proc/%d/cmdline" % server.process.pid, "rb") as file:
        clean("the process list", file.read())
    ask_all(server, admin)
    for number in signal.SIGUSR2, signal.SIGHUP:
        server.process.send_signal(number)
    until(lambda: server.get("/genid").status == 200)
    db.sql("ALTER USER vesta@'127.0.0.1' IDENTIFIED BY 'another'")
    connections = "SELECT id FROM information_schema.processlist WHERE user = 'vesta'"
    for connection in db.sql(connections).split():
        db.client("KILL " + connection)
    server.redis("INCR", "orders")
    server.redis("INCRBY", "orders", "900")
    ask_all(server, admin)
    db.sql("ALTER USER vesta@'127.0.0.1' IDENTIFIED BY '%s'" % SECRET)


def commands(world, store, config):
    there = ("--store", store, "--namespace", "default")
    for words in (("store", "show", *there), ("workers", *there), ("doctor", *there), ("gen", "--effective", *there), ("explain", "1", *there),
                  ("store", "advance", *there), ("segments", "--store", store), ("serve", "--effective", "--store", store),
                  ("serve", "--effective", "--json", "--store", store), ("gen", "--bogus", *there), ("store", "init", "--store", store + "&x=1"),
                  ("workers", "--store", store.replace("127.0.0.1", "[", 1)), ("check", config), ("check", "--effective", config),
                  ("doctor", "-c", config), ("serve", "--effective", "-c", config), ("workers", "-c", config), ("store", "show", "-c", config)):
        done = world.run(*words)
        clean(words, done.out + done.err)


def served(world, db, how):
    admin, secret = world.path("admin"), world.path("pass")
    with open(secret, "w") as file:
        file.write(SECRET + "\n")
    os.chmod(secret, 0o600)
    plain = "mysql://vesta@127.0.0.1:%d/vesta?tls=off" % db.port
    uri = {"inline": plain.replace("@", ":" + SECRET.replace("+", "%2B") + "@"), "file": plain + "&secret_file=" + secret}.get(how)
    own = 'uri = "%s"' % uri if uri else 'uri = "%s", password = file "%s"' % (plain, secret)
    config = """return { stores = { s = { %s } }, segments = { { store = "s", tags = "orders" } },
      namespaces = { default = { store = "s", worker = 5, layout = "vesta-second", pacing = "clock" } } }""" % own
    flags = "--admin", "unix:" + admin, "--log-level", "debug"
    servers = [Configured(world, config, *flags)]
    if uri:
        servers.append(Server(world, *flags, "--store", uri, layout="vesta-second", pacing="clock"))
    for server in servers:
        os.chmod(world.path("vesta.lua"), 0o600)
        with server:
            look_at(server, admin, db)
            server.process.terminate()
            clean("the log", server.said + server.process.stderr.read())
    if uri:
        commands(world, uri, write(world, config))
    for path, text in files(world, secret, world.path("vesta.lua")):
        clean(path, text)


@claim("a store's secret is in no file, process list, log, reply or message, whether from a URI, a file or a config")
def _(world):
    db = MariaDB().start()
    try:
        db.sql("CREATE DATABASE vesta; CREATE USER vesta@'127.0.0.1' IDENTIFIED BY '%s'; GRANT ALL ON vesta.* TO vesta@'127.0.0.1'" % SECRET)
        db.sql("USE vesta; %s; INSERT INTO leaf_alloc VALUES ('orders', 1, 1000, '', NOW())" % TABLE)
        with open(world.path("init"), "w") as file:
            file.write(SECRET)
        uri = "mysql://vesta@127.0.0.1:%d/vesta?tls=off&secret_file=%s" % (db.port, world.path("init"))
        done = world.run("store", "init", "--store", uri, "--namespace", "default", "--layout", "vesta-second")
        assert done.code == 0, done.err
        os.unlink(world.path("init"))
        for how in "file", "config", "inline":
            served(world, db, how)
        inline = uri.split("?")[0].replace("@", ":%s@" % SECRET) + "?tls=off"
        done = world.run("gen", "--path", world.path("own.gen"), "--store", inline, "--namespace", "default")
        assert done.code == 0, done.err
        clean("what gen says", done.err)
        with open(world.path("own.gen"), "rb") as file:
            clean("the generator file", file.read())
        same(world.run("gen", "--path", world.path("own.gen")).code, 0)  # A process with a lease needs no store.
    finally:
        db.end()


@claim("a secret that other users can read is reported with its file, from a URI, a config, a clients file or the "
       "command line")
def _(world):
    secret, plain = world.path("pass"), "mysql://vesta@127.0.0.1:1/vesta"
    with open(secret, "w") as file:
        file.write(SECRET)
    named, own = plain + "?secret_file=" + secret, plain.replace("@", ":%s@" % SECRET)
    of_file, of_config = "others may read %s" % secret, "others may read %s, which contains a secret" % world.path("vesta.lua")
    rows = [('store = "%s"' % named, of_file), ('store = "%s"' % own, of_config), ('store = "%s"' % plain, None)]
    configs = [("return { namespaces = { a = { %s } } }" % text, says) for text, says in rows]
    configs += [('return { stores = { s = { uri = "%s", password = "%s" } }, namespaces = { a = { store = "s" } } }' % (plain, SECRET), of_config),
                ('return { namespaces = { a = {} }, resp = { password = "%s" } }' % SECRET, of_config),
                ('return { namespaces = { a = { store = env "STORE" } } }', None)]
    for text, says in configs:
        for mode in 0o644, 0o640:
            for path in secret, write(world, text):
                os.chmod(path, mode)
            done = world.run("check", world.path("vesta.lua"), env={"STORE": own})
            assert (says is not None and mode == 0o644) == ("others may" in done.out + done.err), (text, oct(mode), done.out + done.err)
            assert mode == 0o640 or says is None or says in done.out + done.err, (text, done.out + done.err)
            clean(text, done.out + done.err)
    for flags, says in ((("--store", own), "is on the command line"), (("--store", named), None),
                        (("--resp-password-file", secret), "other users may access the file of the Redis password")):
        for mode in 0o644, 0o640:
            os.chmod(secret, mode)
            done = world.run("serve", *flags, "--start-wait-ms", "1", "--http", "off", "--resp", "unix:" + world.path("resp"), "--http", "127.0.0.1:1")
            told = done.err.count("others may") + done.err.count("other users may")
            same((flags[0], says, told), (flags[0], says, 1 if mode == 0o644 or "command" in (says or "") else 0))
            assert says is None or not told or says in done.err, done.err
            clean(flags, done.err)


main()
