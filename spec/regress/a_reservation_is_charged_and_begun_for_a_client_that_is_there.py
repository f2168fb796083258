"""Regression: a client with rate=1 reserved 801 numbers in 6 s, each for a week, and reservations were made for clients
that had disconnected."""
import sqlite3
import time

from reserving import config, reserve
from serving import Configured, claim, command, main, same, SLOW

WEEK_MS = "604800000"


@claim("a reservation counts as an id: a client with rate=2 makes 2 at once and then 2 per second, over both protocols")
def _(world):
    done = world.run("client", "add", "orders", "--calls", "give", "--rate", "2", "--file", world.path("clients"))
    secret = done.out.strip()
    text = config(world).replace("return {", "return { clients = '%s'," % world.path("clients"), 1)
    with Configured(world, text) as server:
        began, count = time.monotonic(), 0
        with server.connect(server.resp) as sock:
            sock.settimeout(0.5)
            sock.sendall(command("AUTH", "orders", secret) + command("VESTA.RESERVE", "invoices", WEEK_MS) * 400)
            said = b""
            while time.monotonic() - began < 3:
                try:
                    said += sock.recv(65536)
                except TimeoutError:
                    pass
        for _ in range(50):
            reply = server.get("/v1/reservations?tag=invoices&hold_ms=%s" % WEEK_MS, "POST", headers={"Authorization": "Bearer " + secret})
            count += reply.status == 200
            if reply.status == 429:
                break
        made = said.count(b"\r\nnumber\r\n") + count
        assert 2 <= made <= 2 + 2 * (time.monotonic() - began) + 2, made


@claim("queued reservations and commits of a disconnected client are not started")
def _(world):
    path = world.path("v.db")
    with Configured(world, config(world)) as server:
        number, token = reserve(server)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        gone = []
        for _ in range(40):
            gone.append(server.connect(server.resp))
            gone[-1].sendall(command("VESTA.RESERVE", "invoices", WEEK_MS))
        gone.append(server.connect(server.resp))
        gone[-1].sendall(command("VESTA.COMMIT", "invoices", str(number), token))
        time.sleep(0.3 * SLOW)
        for sock in gone:
            sock.close()
        time.sleep(0.3 * SLOW)
        db.execute("ROLLBACK")
        following = reserve(server)[0]
        assert following <= 2 + 4, following  # A thread was already executing these.
        same(server.redis("VESTA.CANCEL", "invoices", str(number), token), b"+OK\r\n")


main()
