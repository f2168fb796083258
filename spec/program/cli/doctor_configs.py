"""doctor_configs.py -- `vesta doctor -c FILE` on configs with one fault each: doctor names the cause and the remedy.
Servers and files are real, and access is checked for the user of an installed unit, not for root."""
import getpass
import grp
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys

import served
from harness import VESTA, claim, environment, main, same, shifted
from ports import free_port

ROOT = os.geteuid() == 0
SERVICE = "nobody" if ROOT else getpass.getuser()
TAGS = '{ { store = "db", table = %s, tags = { "orders" } } }'


def write(world, name, text, mode=0o644):
    with open(world.path(name), "w") as file:
        file.write(text)
    os.chmod(world.path(name), mode)
    return world.path(name)


def config(world, **more):
    os.chmod(world.folder, 0o755)
    os.makedirs(world.path("state"), exist_ok=True)
    os.chmod(world.path("state"), 0o755)
    if ROOT:
        shutil.chown(world.path("state"), SERVICE)
    keys = dict(http='{ listen = "off" }', resp='{ listen = "unix:%s" }' % world.path("state", "r.sock"), namespaces="{ default = { worker = 5 } }")
    keys.update(more)
    path = write(world, "vesta.lua", "return { %s }\n" % ", ".join("%s = %s" % pair for pair in keys.items()), 0o640)
    if ROOT:
        shutil.chown(path, group=grp.getgrgid(pwd.getpwnam(SERVICE).pw_gid).gr_name)
    return path


def examine(world, path, code=1, env=None):
    """Returns doctor's findings as (state, what, sentence, remedy)."""
    unit = write(world, "vesta.service", "[Service]\nUser=%s\nExecStart=/usr/bin/vesta serve -c %s\n" % (SERVICE, path))
    env = {"SYSTEMD_UNIT_PATH": os.path.dirname(unit), **(env or {})}
    done = world.run("doctor", "--json", "-c", path, env=env)
    same((done.code, done.err), (code, ""))
    if "--show" in sys.argv:
        print(world.run("doctor", "-c", path, env=env).out)
    found = [json.loads(line) for line in done.lines()]
    return [(one["state"], one["what"], one["says"], one.get("do", "")) for one in found]


def names(found, what, cause, remedy, state="fail"):
    """Asserts that one finding has that cause and remedy, and that nothing else fails."""
    assert any((one[0], one[1]) == (state, what) and cause in one[2] and remedy in one[2] + one[3] for one in found), found
    others = [one for one in found if one[0] == "fail" and (one[1] != what or cause not in one[2])]
    same(others, [])


def counters(user, table="leaf_alloc"):
    """Creates a database with Leaf's table, the tag `orders`, and a user with the rights for it."""
    db, name = served.mariadb(), user
    db.sql("CREATE DATABASE IF NOT EXISTS %s; " % name + served.LEAF.replace("%s.leaf_alloc", "%s.%s" % (name, table)))
    db.sql("INSERT INTO %s.%s (biz_tag, max_id, step) VALUES ('orders', 1, 1000)" % (name, table))
    db.sql("CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'pw'; GRANT SELECT, INSERT, UPDATE ON %s.* TO %s@'127.0.0.1'" % (user, name, user))
    return served.mysql_uri(user + ":pw", name)


def segments(world, uri, table="nil"):
    return config(world, stores='{ db = { uri = "%s" } }' % uri, segments=TAGS % table)


def certificate(world, days, name="tls"):
    key, pem = world.path(name + ".key"), world.path(name + ".pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", str(days), "-subj", "/CN=ids", "-keyout", key,
                    "-out", pem], check=True, capture_output=True, timeout=60)
    for path in key, pem:
        os.chmod(path, 0o644)


def tls(world, **more):
    return config(world, http='{ listen = "tls:127.0.0.1:%d" }' % free_port(), open="true",
                  tls='{ certificate = "%s", key = "%s" }' % (world.path("tls.pem"), world.path("tls.key")), **more)


def wait_ready(server):
    while "msg=ready" not in server.stderr.readline():
        assert server.poll() is None


def end(server):
    server.send_signal(signal.SIGTERM)
    same(server.wait(), 0)
    server.stderr.close()


@claim("a healthy config has no failure")
def _(world):
    found = examine(world, segments(world, counters("well")), code=0)
    names(found, "segments", "it can be read and written, with 1 tag", "", "ok")
    same({one[0] for one in found if one[1] not in ("clock", "config")}, {"ok"})


@claim("1: an unreachable database")
def _(world):
    path = segments(world, "mysql://u:pw@127.0.0.1:%d/v" % free_port())
    names(examine(world, path), "segments", "Can't connect to server", "start")


@claim("2: a wrong user name for the database")
def _(world):
    counters("user_of_two")
    path = segments(world, served.mysql_uri("another:pw", "user_of_two"))
    names(examine(world, path), "segments", "Access denied for user 'another'", "user")


@claim("3: a database user without the right to UPDATE the table of counters")
def _(world):
    uri = counters("looker_only")
    served.mariadb().sql("REVOKE UPDATE ON looker_only.* FROM looker_only@'127.0.0.1'")
    names(examine(world, segments(world, uri)), "segments", "UPDATE command denied to user 'looker_only'", "docs/stores.md")


@claim("4: a misspelt table name")
def _(world):
    path = segments(world, counters("misspelt"), '"leaf_aloc"')
    names(examine(world, path), "segments", "has no table leaf_aloc", "correct segments[1].table, or run `vesta store init")


@claim("4b: rows that cannot issue numbers, if all tags of a table are served or if a tag is served by name")
def _(world):
    uri = counters("faulty")
    served.mariadb().sql("INSERT INTO faulty.leaf_alloc (biz_tag, max_id, step) VALUES ('a', -5, 10), ('still', 1, 0)")
    path = config(world, stores='{ db = { uri = "%s" } }' % uri, segments='{ { store = "db", tags = "*" } }')
    found = examine(world, path, code=0)
    names(found, "segments", "tag a cannot be used: its counter is -5", "set the counter above every number", "warn")
    names(found, "segments", "tag still cannot be used: its step is 0", "vesta segments step still N", "warn")
    names(found, "segments", "it can be read and written, with 3 tags", "", "ok")
    served.mariadb().sql("UPDATE faulty.leaf_alloc SET step = 0 WHERE biz_tag = 'orders'")
    found = examine(world, segments(world, uri))
    assert any(one[0] == "fail" and "tag orders cannot be used: its step is 0" in one[2] for one in found), found
    path = config(world, stores='{ db = { uri = "%s" } }' % uri, segments='{ { store = "db", tags = { "orders" }, step = 10 } }')
    examine(world, path, code=0)


@claim("5: a table that is not durable, and a database server that can lose commits in a power failure")
def _(world):
    db, uri = served.mariadb(), counters("memory")
    for engine in "MyISAM", "MEMORY":
        db.sql("ALTER TABLE memory.leaf_alloc ENGINE=%s" % engine)
        names(examine(world, segments(world, uri)), "segments", "leaf_alloc has the engine " + engine, "ENGINE=InnoDB")
    db.sql("ALTER TABLE memory.leaf_alloc ENGINE=InnoDB; SET GLOBAL innodb_flush_log_at_trx_commit = 0")
    try:
        names(examine(world, segments(world, uri)), "segments", "innodb_flush_log_at_trx_commit is 0", "set innodb_flush_log_at_trx_commit=1")
    finally:
        db.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


@claim("6: a certificate that has expired or expires soon")
def _(world):
    certificate(world, 2)
    path = tls(world)
    names(examine(world, path, code=0), "tls", "expires at", "replace it: the server reads the new certificate", "warn")
    names(examine(world, path, env=shifted("+259200")), "tls", "expired at", "replace it: the server reads the new certificate")
    checked = world.run("check", path, env=shifted("+259200"))
    assert checked.code == 0 and "tls.certificate expired at" in checked.out, checked.out


@claim("7: a key that root can read but the server's user cannot, because of its mode, its folder or the unit")
def _(world):
    certificate(world, 90)
    path = tls(world)
    os.chmod(world.path("tls.key"), 0o600 if ROOT else 0)
    names(examine(world, path), "tls.key", "user %s (the user of %s) cannot read" % (SERVICE, world.path("vesta.service")), "chmod 640")
    if not ROOT:
        return
    os.mkdir(world.path("keys"), 0o700)
    os.rename(world.path("tls.key"), world.path("keys", "tls.key"))
    with open(path) as file:
        text = file.read()
    moved = write(world, "vesta.lua", text.replace(world.path("tls.key"), world.path("keys", "tls.key")))
    names(examine(world, moved), "tls.key", "cannot enter %s" % world.path("keys"), "chmod g+x")
    checked = world.run("check", moved, env={"SYSTEMD_UNIT_PATH": world.folder})
    assert checked.code == 1 and "tls.key" in checked.err and "cannot enter" in checked.err, checked.err


@claim("8: a port that another program uses, also one with the same protocol")
def _(world):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "127.0.0.1:%d" % other.getsockname()[1]
        found = examine(world, config(world, resp='{ listen = "%s" }' % address))
        names(found, "resp", address + " is in use by python", "stop that program, or choose another address for resp.listen")
        names(found, "resp", "(process %d of user %s)" % (os.getpid(), getpass.getuser()), "stop that program")


@claim("9: a port used by the server of this config is fine, but not one used by a server of another config or version")
def _(world):
    certificate(world, 90)
    port = free_port()
    path = tls(world, resp='{ listen = "127.0.0.1:%d" }' % port)
    server = world.start("serve", "-c", path, stderr=subprocess.PIPE, text=True)
    try:
        wait_ready(server)
        found = examine(world, path, code=0)
        for what in ("resp", "http"):
            names(found, what, "is in use by the server of this config, which answers", "(process %d" % server.pid, "ok")
        names(found, "http", "over TLS", "", "ok")
        certificate(world, 90, "next")
        with open(path) as file:
            text = file.read()
        write(world, "vesta.lua", text.replace("/tls.", "/next."))
        names(examine(world, path, code=0), "http", "presents another certificate than " + world.path("next.pem"), "restart it", "warn")
        other = write(world, "other.lua", 'return { namespaces = { default = { worker = 6, path = "%s" } }, http = { listen = "off" }, '
                      'resp = { listen = "127.0.0.1:%d" } }' % (world.path("state", "other.gen"), port))
        names(examine(world, other), "resp", "in use by another server: vesta (process %d" % server.pid, "stop it, or choose another")
    finally:
        end(server)


@claim("9b: a port used by a server without a config is reported as another server's")
def _(world):
    port = free_port()
    path = config(world, resp='{ listen = "127.0.0.1:%d" }' % port)
    words = ["serve", "--resp", "127.0.0.1:%d" % port, "--http", "off", "--worker", "6", "--path", world.path("state", "other.gen")]
    server = world.start(*words, stderr=subprocess.PIPE, text=True)
    try:
        wait_ready(server)
        names(examine(world, path), "resp", "in use by another server: vesta (process %d" % server.pid, "started without a config")
    finally:
        end(server)


@claim("9c: doctor shows a fault that only the running server reports: a counter that went back")
def _(world):
    db, uri, port = served.mariadb(), counters("lagging"), free_port()
    path = config(world, stores='{ db = { uri = "%s" } }' % uri, segments='{ { store = "db", tags = "*", step = 10, step_max = 10 } }',
                  http='{ listen = "127.0.0.1:%d" }' % port)
    db.sql("UPDATE lagging.leaf_alloc SET step = 10")
    server = world.start("serve", "-c", path, stderr=subprocess.PIPE, text=True)
    try:
        wait_ready(server)
        def take():
            with socket.create_connection(("127.0.0.1", port)) as sock:
                sock.sendall(b"GET /api/segment/get/orders HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                return sock.makefile("rb").read()
        assert b" 200 " in take()[:16]
        db.sql("UPDATE lagging.leaf_alloc SET max_id = 1")
        assert any(b"went back" in take() for _ in range(100))
        found = examine(world, path)
        names(found, "orders", "the running server reports: no range of 'orders'", "the counter went back")
    finally:
        end(server)


@claim("a server is recognised if it requires a client certificate, a password or a PROXY header")
def _(world):
    certificate(world, 90)
    for more, note in ((dict(http='{ listen = "tls:127.0.0.1:%d" }', open="true", tls='{ certificate = "%s", key = "%s", client_ca = "%s", '
                             'client_certificates = "required" }' % (world.path("tls.pem"), world.path("tls.key"), world.path("tls.pem"))),
                        "over TLS and asks for a client certificate"),
                       (dict(resp='{ listen = "127.0.0.1:%d", password = "a-long-password" }'), "answers and asks for credentials"),
                       (dict(http='{ listen = "127.0.0.1:%d" }', resp='{ listen = "off" }', proxies='{ "127.0.0.1" }'), "answers: vesta")):
        what = "http" if "http" in more else "resp"
        path = config(world, **{**more, what: more[what] % free_port()})
        server = world.start("serve", "-c", path, stderr=subprocess.PIPE, text=True)
        try:
            wait_ready(server)
            names(examine(world, path, code=0), what, note, "", "ok")
        finally:
            end(server)


@claim("a server of another version is reported as such")
def _(world):
    path = config(world, resp='{ listen = "127.0.0.1:%d" }' % free_port())
    with open(VESTA, "rb") as file:
        program = file.read()
    version = re.search(r"\d+\.\d+\.\d+", world.run("--version").out)[0]
    with open(world.path("vesta"), "wb") as file:
        file.write(program.replace(version.encode(), b"9" + version[1:].encode()))
    os.chmod(world.path("vesta"), 0o755)
    server = subprocess.Popen([world.path("vesta"), "serve", "-c", path], env=environment(world.folder), stderr=subprocess.PIPE, text=True)
    try:
        wait_ready(server)
        names(examine(world, path, code=0), "resp", "of version 9%s, and this doctor is of version %s" % (version[1:], version),
              "restart the server", "warn")
    finally:
        end(server)


@claim("an address that root can use but the unit's user cannot")
def _(world):
    if not ROOT:
        return
    for address, cause, remedy in (("127.0.0.1:81", "ports below 1024 are for root", "CAP_NET_BIND_SERVICE"),
                                   ("unix:%s" % world.path("r.sock"), "user nobody (the user of %s) cannot write" % world.path("vesta.service"), "chown nobody")):
        names(examine(world, config(world, resp='{ listen = "%s" }' % address)), "resp", cause, remedy)


@claim("10: a clock that differs from the store's clock, or is behind the issued ids")
def _(world):
    uri = served.mysql_uri()
    same(world.run("store", "init", "--store", uri, "--namespace", "off", "--layout", "snowflake").code, 0)
    path = config(world, stores='{ db = { uri = "%s" } }' % uri, namespaces='{ off = { store = "db", layout = "snowflake" } }')
    names(examine(world, path, env=shifted("+60")), "store", "s ahead of the store's", "correct the one that is wrong")
    same(world.run("gen", "--worker", "5").code, 0)
    os.chmod(world.path("state", "default.gen"), 0o644)
    found = examine(world, config(world), env=shifted("-3600"))
    names(found, "default", "s behind the time of ids already issued", "correct the clock")


@claim("11: a full disk under the state folder or under a log file")
def _(world):
    os.mkdir(world.path("disk"))
    mounted = ROOT and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs", world.path("disk")], check=False,
                                      capture_output=True).returncode == 0
    if not mounted:
        print("# no tmpfs can be mounted here")
        return
    try:
        os.mkdir(world.path("disk", "state"))
        shutil.chown(world.path("disk", "state"), SERVICE)
        path = config(world, log='{ file = "%s" }' % world.path("disk", "log"))
        with open(world.path("disk", "all"), "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
        names(examine(world, path), "log", world.path("disk") + " is full", "free some space")
        found = examine(world, config(world), env={"VESTA_STATE": world.path("disk", "state")})
        names(found, "state", world.path("disk", "state") + " is full", "free some space")
    finally:
        subprocess.run(["umount", world.path("disk")], check=True)


@claim("12: a clients file that the server's user cannot read")
def _(world):
    path = config(world, clients='"%s"' % world.path("clients"))
    write(world, "clients", "default names=* calls=give,read\n", 0o600)
    if not ROOT:
        os.chmod(world.path("clients"), 0)
        names(examine(world, path), "config", "Permission denied", "chmod")
        return
    names(examine(world, path), "clients", "user nobody (the user of %s) cannot read" % world.path("vesta.service"), "chgrp nogroup")
    checked = world.run("check", path, env={"SYSTEMD_UNIT_PATH": world.folder})
    assert checked.code == 1 and "user nobody" in checked.err and "chgrp nogroup" in checked.err, checked.err
    checked = world.run("check", path, user=SERVICE, group=pwd.getpwnam(SERVICE).pw_gid, extra_groups=[])
    assert checked.code == 1 and "Permission denied: let the server's user read it" in checked.err, checked.err
    added = world.run("client", "add", "shop", "--file", world.path("clients"), env={"SYSTEMD_UNIT_PATH": world.folder})
    same(added.code, 0)
    assert "user nobody (the user of" in added.err and "chgrp nogroup" in added.err, added.err
    added = world.run("client", "add", "shop", "--file", world.path("fresh"), env={"SYSTEMD_UNIT_PATH": world.folder})
    same((added.code, os.stat(world.path("fresh")).st_mode & 0o777), (0, 0o640))


main()
