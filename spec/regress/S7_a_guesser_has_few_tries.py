"""S7: secrets could be guessed at any speed: 184,000 passwords a second on one connection, 21,000 admin tokens, no word of it
in the log.  Now they cost time, by address and in all, and nobody else's time."""
import os
import re
import selectors
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from ports import free_port, give_back  # noqa: E402
from serving import Configured, Server, claim, command, get, main, same  # noqa: E402

SHORT, OTHER = "sesame", "a long enough secret of one"
WRONG = b"-WRONGPASS"


def write(world, name, text):
    with open(world.path(name), "w") as file:
        file.write(text)
    return world.path(name)


def guess(server, addresses, connections, seconds, words):
    """How many wrong secrets are looked at: each address has so many connections at any time, and asks without rest."""
    chooser, count, end = selectors.DefaultSelector(), 0, time.monotonic() + seconds
    places = [address for address in addresses for _ in range(connections)]

    def dial(address):
        sock = socket.socket()
        sock.bind((address, 0))
        sock.connect(("127.0.0.1", server.resp))
        sock.sendall(words)
        sock.setblocking(False)
        chooser.register(sock, selectors.EVENT_READ, address)
    for place in places:
        dial(place)
    while time.monotonic() < end:
        for key, _ in chooser.select(0.05):
            try:
                said = key.fileobj.recv(4096)
            except OSError:
                said = b""
            count += said.count(WRONG)
            if said:
                key.fileobj.sendall(words)
                continue
            chooser.unregister(key.fileobj)
            key.fileobj.close()
            dial(key.data)
    for key in list(chooser.get_map().values()):
        key.fileobj.close()
    return count


def with_clients(world):
    lines = []
    for name, secret in (("web", OTHER), ("ops", "another long secret")):
        done = world.run("client", "add", name, "--names", "*", "--secret-file", write(world, "secret", secret + "\n"), "--file", world.path("clients"))
        same(done.code, 0)
    lines.append(world.run("client", "add", "orders", "--file", world.path("clients")).out.strip())
    return lines[0]


@claim("one address has at most 5 guesses a second, over however many connections; others wait for none of them")
def _(world):
    with Server(world, "--resp-password-file", write(world, "password", SHORT + "\n")) as server:
        count = guess(server, ["127.0.0.9"], 20, 4, command("AUTH", "guess"))
        assert 4 <= count <= 5 * 4, count
        began = time.monotonic()
        same(server.redis("AUTH", SHORT), b"+OK\r\n")  # from 127.0.0.1
        print("    one address: %.1f guesses a second; the right secret of another took %.1f ms" % (count / 4, 1000 * (time.monotonic() - began)))
        event = server.heard("a wrong secret")
        assert "address=127.0.0.9" in event and "proto=resp" in event and "guess" not in event, event
        told = re.search(r'vesta_secrets_total\{result="wrong"\} (\d+)', server.get("/metrics").body)
        assert int(told[1]) >= count, (told[1], count)


@claim("a thousand addresses have at most 500 guesses a second together, and a secret that is right is let in meanwhile")
def _(world):
    random = with_clients(world)
    addresses = ["127.0.%d.%d" % (i // 250 + 1, i % 250 + 1) for i in range(1000)]
    with Server(world, "--clients", world.path("clients")) as server:
        first = guess(server, addresses, 1, 1, command("AUTH", "nobody", "guess"))
        count = first + guess(server, addresses, 1, 5, command("AUTH", "nobody", "guess"))
        assert first <= 500 and 300 <= count <= 500 * 6, (first, count)
        began = time.monotonic()
        same(server.redis("AUTH", "orders", random), b"+OK\r\n")
        same(server.redis("AUTH", "web", OTHER), b"+OK\r\n")
        print("    1,000 addresses: %.0f guesses a second; two right secrets took %.1f ms" % (count / 6, 1000 * (time.monotonic() - began)))


@claim("a connection is closed after five wrong secrets, over both protocols and the admin's")
def _(world):
    with_clients(world)
    port = free_port()
    with Server(world, "--clients", world.path("clients"), "--admin", "127.0.0.1:%d" % port) as server:
        same(server.say(server.resp, command("AUTH", "x") * 9, end=False).count(b"-"), 5 + 5)  # "username-password"
        said = server.say(server.http, get("/genid", "Authorization: Bearer x") * 9, end=False)
        same((said.count(b"HTTP/1.1 401"), said.count(b"Connection: close")), (5, 1))
        same(server.say(port, get("/admin/status", "Authorization: Bearer x") * 9, end=False).count(b"HTTP/1.1 401"), 5)
    give_back(port)


@claim("while an address guesses, a random secret from the same one is never put off, and a chosen one has its turn")
def _(world):
    random = with_clients(world)
    with Server(world, "--clients", world.path("clients")) as server:
        socks = [server.connect(server.resp) for _ in range(6)]
        for sock in socks:
            sock.sendall(command("AUTH", "web", "guess") * 2)
        began = time.monotonic()
        same(server.redis("AUTH", "orders", random), b"+OK\r\n")
        assert time.monotonic() - began < 1, "a random secret waited"
        same(server.redis("AUTH", "web", OTHER), b"+OK\r\n")
        for sock in socks:
            sock.close()


@claim("while an address guesses other names, a chosen secret that was right from there before waits for none of the guesses")
def _(world):
    with_clients(world)
    with Server(world, "--clients", world.path("clients")) as server:
        same(server.redis("AUTH", "web", OTHER), b"+OK\r\n")
        socks = [server.connect(server.resp) for _ in range(60)]
        for sock in socks:
            sock.sendall(command("AUTH", "ops", "guess") + command("AUTH", "nobody", "guess"))
        while b"-TRYAGAIN" not in server.redis("AUTH", "ops", "guess"):
            pass  # until there are more than may wait
        began = time.monotonic()
        for _ in range(20):
            same(server.redis("AUTH", "web", OTHER), b"+OK\r\n")
        print("    20 right secrets beside 60 guessers took %.1f ms" % (1000 * (time.monotonic() - began)))
        assert time.monotonic() - began < 4, "it waited for the guessers"
        for sock in socks:
            sock.close()


@claim("who says no secret has ten seconds, or what resp.auth_ms_max says, over HTTP too; who has said one may rest")
def _(world):
    with_clients(world)
    with open(world.path("clients"), "a") as file:
        file.write("default names=* calls=give secret=random:2026-11-23T15:30:00Z:%s\n" % ("ab" * 32))
    with Configured(world, "return { clients = 'clients', resp = { auth_ms_max = 300 } }") as server:
        with server.connect(server.http) as web, server.connect(server.resp) as redis, server.connect(server.resp) as known:
            known.sendall(command("AUTH", "web", OTHER))
            same(known.recv(100), b"+OK\r\n")
            web.sendall(get("/healthz"))
            assert web.recv(4096).startswith(b"HTTP/1.1 200")
            same((web.recv(1), redis.recv(1)), (b"", b""))
            known.sendall(command("PING"))
            same(known.recv(100), b"+PONG\r\n")


main()
