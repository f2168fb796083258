"""rows_secrets.py -- credentials and TLS of clients, and that no secret is shown."""
import os
import shutil
import signal
import socket
import subprocess
import time
from urllib.parse import quote

from cell import Vesta
from harness import VESTA
from ports import free_port, give_back
from rows import row
from rows_replies import WAIT
from servers import until

ODD = "p@ss:w/rd?#[x]% \u00e9\"'\\"  # of the client `odd`: characters with a meaning in addresses

# an address, and whether it is valid; "hunter" must never be shown
ADDRESSES = [
    ("redis://127.0.0.1:8089", True), ("redis://127.0.0.1:8089/", True), ("redis://127.0.0.1:8089/0", True), ("rediss://[::1]:8089", True),
    ("redis://ids:hunter@127.0.0.1:8089", True), ("redis://:hunter@127.0.0.1:8089", True), ("rediss://i%20ds:hun:ter@[2001:db8::1]:8089", True),
    ("redis://ids:hunter%C3%A9@ids.example.com:8089/0", True), ("redis://ids:hunter%41%zz@127.0.0.1:8089", False),
    ("redis://ids:hunter%4@127.0.0.1:8089", False), ("redis://ids:hunter%00@127.0.0.1:8089", False), ("redis://ids:hunter%0d%0a@127.0.0.1:8089", False),
    ("redis://ids:hunter%ff@127.0.0.1:8089", False), ("redis://ids:hunzo@zoter@127.0.0.1:8089", False), ("redis://ids:hunzo/zoter@127.0.0.1:8089", False),
    ("redis://ids:hunzo?zoter@127.0.0.1:8089", False), ("redis://ids:hunzo#zoter@127.0.0.1:8089", False), ("redis://ids:hunzo zoter@127.0.0.1:8089", False),
    ("redis://ids:hunter\u00e9@127.0.0.1:8089", False), ("redis://ids:hunter@127.0.0.1", False), ("redis://ids:hunter@:8089", False),
    ("redis://ids:hunter@127.0.0.1:0", False), ("redis://ids:hunter@127.0.0.1:65536", False), ("redis://ids:hunter@127.0.0.1:100000", False),
    ("redis://ids:hunter@127.0.0.1:8089/1", False), ("redis://ids:hunter@127.0.0.1:8089?a=b", False), ("redis://ids:hunter", False),
    ("redis://ids:hunter@[::1:8089", False), ("redis://ids:@127.0.0.1:8089", False), ("redis://@127.0.0.1:8089", False), ("redis://", False),
    ("redis://:@127.0.0.1:8089", False), ("redis:ids:hunter@127.0.0.1:8089", False), ("ids:hunter@127.0.0.1:8089", False),
    ("http://ids:hunter@127.0.0.1:8089", False), ("REDIS://ids:hunter@127.0.0.1:8089", False), ("redis://ids:hunter@unix:/tmp/x", False),
    ("redis://ids:hunter@127.0.0.1:8089redis://", False), ("127.0.0.1:8089/0", False), ("redis://ids:%s@127.0.0.1:8089" % ("hunter" * 1000), False),
]


@row("redis:// and rediss:// addresses are read, and invalid ones are rejected without showing a secret")
def _(cell):
    client = cell.driver()
    for text, is_one in ADDRESSES:
        said = client.try_open([text])
        assert (said.line == "ok") == is_one, "%r: %s" % (text[:100], said.line[:500])
        assert not any(part in said.line for part in ("hunter", "hunzo", "zoter")), said.line[:500]
    for wrong in ({"user": "ids"}, {"password": "hunter", "secret_file": "x"}, {"tls_unverified": "yes"}):
        said = client.try_open([cell.a.address], **wrong)
        assert said.word == "error" and "hunter" not in said.line, "%r: %s" % (wrong, said.line)
    if cell.column.name in ("python", "node"):  # languages in which any text is true
        assert client.try_open(["rediss://127.0.0.1:8089"], tls_unverified="false").word == "error", "the text turned verification off"
    assert cell.watch.connections == 0, "open asks no server"


@row("no secret is shown if a server quotes the unknown command AUTH")
def _(cell):
    """Redis quotes only the start of arguments in its error."""
    program, port = shutil.which("redis-server"), free_port()
    assert program, "redis-server is not here: apt-get install redis-server"
    redis = subprocess.Popen([program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--rename-command", "AUTH", ""],
                             cwd=cell.path("."), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0 or time.sleep(0.02), "Redis listens")
        client = cell.driver()
        for secret in "hunter", "hunter" * 50:
            client.open(["redis://ids:%s@127.0.0.1:%d" % (secret, port)], timeout=5000, wait=600000)
            assert "hun" not in client.fails("127.0.0.1:%d" % port, "not shown")
    finally:
        redis.kill()
        redis.wait()
        give_back(port)


@row("a name and its secret: in the address, in options, or in a file that is read for each connection")
def _(cell):
    server, secrets = cell.suite.with_clients()
    at, path = server.address, cell.path("secret")
    write(path, secrets["ids"])
    client, rest = cell.driver(), {"size": 50, "timeout": 5000, "wait": WAIT}
    for servers, who in ((["redis://ids:%s@%s" % (secrets["ids"], at)], {}), (["redis://odd:%s@%s" % (quote(ODD, safe=""), at)], {}),
                         (["redis://:%s@%s/" % (secrets["ids"], at)], {}), ([at], {"user": "odd", "password": ODD}),
                         (["redis://ids@" + at], {"secret_file": path}), ([at], {"user": "ids", "secret_file": path})):
        client.open(servers, **rest, **who)
        client.next(60)
        assert list(client.info()["errors"]) == [at], "info has the address without its secret"
    client.open(["redis://odd:hunter@" + at], size=50, timeout=5000, wait=600000)
    assert "hunter" not in client.fails(at, "WRONGPASS")
    os.remove(path)
    client.open(["redis://ids@" + at], size=50, timeout=5000, wait=300, secret_file=path)
    client.fails(at)
    for text in secrets["ids"], "\ufeff" + secrets["ids"] + "\r":  # as a Windows editor writes it
        write(path, text)
        client.open(["redis://ids@" + at], size=50, timeout=5000, wait=WAIT, secret_file=path)
        client.next(60)


def write(path, secret):
    with open(path + ".new", "w") as file:
        file.write(secret + "\n")
    os.rename(path + ".new", path)


def trusting(cell, ca):
    """Starts a driver whose clients trust that authority.  In nginx this is an option of nginx, not of the client."""
    path = os.path.join(cell.suite.certificates(), ca + ".pem")
    driver = cell.driver({"TLS_CA": path})
    driver.tls = {"tls_ca": path, "size": 50, "timeout": 5000, **cell.column.tls}
    return driver


@row("TLS with a name works, and fails with another authority or name, an expired certificate, no TLS, or a wrong secret")
def _(cell):
    address, secrets = cell.suite.with_tls()
    client = trusting(cell, "ca")
    of = lambda name, secret=secrets["ids"]: ["rediss://ids:%s@%s" % (secret, address[name])]  # noqa: E731
    client.open(of("server"), wait=WAIT, **client.tls)
    client.next(120)
    if not cell.column.tls:
        client.open(["rediss://ids:%s@localhost:%s" % (secrets["ids"], address["server"].split(":")[1])], wait=WAIT, **client.tls)
        client.next(60)
    for name in "elsewhere", "old":
        client.open(of(name), wait=600000, **client.tls)
        client.fails(address[name], "certificate")  # at once, before the wait is over
    client.open(of("elsewhere"), wait=WAIT, tls_unverified="yes", **client.tls)
    client.next(60)
    client.open(of("server", "guess"), wait=600000, **client.tls)
    client.fails(address["server"], "WRONGPASS")
    plain = cell.suite.with_clients()[0].address
    client.open(["rediss://ids:%s@%s" % (secrets["ids"], plain)], wait=300, **client.tls)
    client.fails(plain)
    stranger = trusting(cell, "other")
    stranger.open(of("server"), wait=600000, **stranger.tls)
    stranger.fails(address["server"], "certificate")


def show(cell, certificate):
    """Replaces the certificate and key of the cell's own server."""
    for kind in "key", "pem":
        shutil.copy(os.path.join(cell.suite.certificates(), "%s.%s" % (certificate, kind)), cell.path("shown." + kind))


def rotate(cell, *flags):
    done = subprocess.run([VESTA, "client", "rotate", "ids", "--file", cell.path("clients"), *flags], check=True, capture_output=True,
                          text=True)
    return done.stdout.strip()


def reread(server):
    """Sends HUP, and waits for the log line."""
    said = server.everything().count("the file of clients was reloaded")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: server.everything().count("the file of clients was reloaded") > said, server.log)


@row("over TLS a secret, the certificate and the server are replaced while the client works")
def _(cell):
    show(cell, "server")
    cell.suite.secrets_in(cell.folder, cell_secrets := {})
    write(cell.path("secret"), cell_secrets["ids"])
    server = Vesta(cell.path("server"), 40 + cell.site.number, "--clients", cell.path("clients"), "--tls-certificate",
                   cell.path("shown.pem"), "--tls-key", cell.path("shown.key"), tls="tls:")
    try:
        client = trusting(cell, "ca")
        client.open(["rediss://ids@" + server.address], wait=WAIT, secret_file=cell.path("secret"), **client.tls)
        client.next(60)
        second = rotate(cell)
        reread(server)
        write(cell.path("secret"), second)
        client.next(120)
        rotate(cell, "--drop-old")
        show(cell, "next")
        reread(server)
        client.next(240)
        assert client.info()["errors"] == {server.address: 0}, client.say("info").line
        server.kill()
        server.start()
        client.next(240)
    finally:
        server.end()
