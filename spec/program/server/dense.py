"""dense.py -- numbers without gaps: clients reserve, commit and cancel, while servers and clients end."""
import json
import threading
import time

from reserving import ask, config, reserve
from serving import Configured, claim, command, main, same


@claim("a number is reserved, committed or cancelled over both protocols, and a repeated request gets the same reply")
def _(world):
    with Configured(world, config(world)) as server:
        number, token = reserve(server)
        same(number, 1)
        for _ in range(2):
            same(server.redis("VESTA.COMMIT", "invoices", "1", token), b"+OK\r\n")
        same(server.redis("VESTA.CANCEL", "invoices", "1", token), b"-ERR number 1 of tag 'invoices' is committed and cannot be cancelled\r\n")
        reply = server.get("/v1/reservations?tag=invoices&hold_ms=5000", "POST")
        second = json.loads(reply.body)
        same((reply.status, sorted(second), second["number"]), (200, ["held_until_ms", "number", "tag", "token"], "2"))
        same(reserve(server)[0], 3)
        settle = "tag=invoices&number=2&token=" + second["token"]
        reply = server.get("/v1/reservations/cancel?" + settle, "POST")
        same((reply.status, reply.body), (200, '{"status":"cancelled"}\n'))
        reply = server.get("/v1/reservations/commit?" + settle, "POST")
        same((reply.status, json.loads(reply.body)["code"]), (409, "settled"))
        number, token = reserve(server)
        same(number, 2)
        reply = server.get("/v1/reservations/commit?tag=invoices&number=2&token=" + token, "POST")
        same((reply.status, reply.body), (200, '{"status":"committed"}\n'))
        (one,) = json.loads(server.get("/v1/segments").body)["segments"]
        same((one["tag"], one["order"], one["databases"]), ("invoices", "dense", []))


@claim("other requests for such a tag, and invalid tokens and holds, are rejected and cost no number")
def _(world):
    with Configured(world, config(world)) as server:
        for words in (["GET", "invoices"], ["INCR", "invoices"], ["INCRBY", "invoices", "5"], ["MGET", "invoices"],
                      ["VESTA.NEXT", "invoices"], ["VESTA.BLOCK", "invoices", "5"]):
            same(server.redis(*words), b"-ERR the numbers of 'invoices' are gapless: reserve one with VESTA.RESERVE invoices\r\n")
        for path in ("/genid?ns=invoices", "/v1/blocks?ns=invoices&n=1", "/api/segment/get/invoices"):
            same((path, server.get(path).status), (path, 400))
        assert server.say(server.resp, b"MULTI\r\nVESTA.RESERVE invoices\r\n").endswith(b"-ERR VESTA.RESERVE is not allowed in a transaction\r\n")
        for hold in ("0", "999", "-1", "604800001", "x", "", "1e9", "9" * 400):
            assert server.redis("VESTA.RESERVE", "invoices", hold).startswith(b"-ERR hold_ms '"), hold
        for token in ("", "x", "0" * 31, "0" * 33, "G" * 32, "A" * 32, "0" * 60000, "'; --"):
            assert server.redis("VESTA.COMMIT", "invoices", "1", token).startswith(b"-ERR the token is malformed"), token
        for number in ("", "-1", "x", "9223372036854775808", "1.0"):
            assert server.redis("VESTA.CANCEL", "invoices", number, "0" * 32).startswith(b"-ERR number '"), number
        # The same holds if the file was replaced.
        assert b"no table vesta_reservation" in server.redis("VESTA.COMMIT", "invoices", "1", "0" * 32)
        for name in ("nobody", "'", "x" * 65):
            assert server.redis("VESTA.RESERVE", name).startswith(b"-ERR unknown name"), name
        same(server.get("/v1/reservations?tag=invoices").status, 405)
        same(server.get("/v1/reservations", "POST").status, 404)
        same(reserve(server)[0], 1)
    world.run("segments", "add", "orders", "--store", "sqlite:" + world.path("v.db"))
    with Configured(world, config(world).replace("'dense'", "'trend'")) as server:
        same(server.redis("VESTA.RESERVE", "orders"), b"-ERR the numbers of 'orders' may have gaps and cannot be reserved: take the next one with INCR orders\r\n")


@claim("clients that disappear and a killed server leave no gap: the committed numbers are 1 to n, each once")
def _(world):
    committed, lock = [], threading.Lock()

    def work(server, seed):
        for i in range(12):
            number, token = reserve(server, "1000")
            if (i + seed) % 3 == 0:
                continue  # The client disappears with its number.
            same(ask(server, "VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")
            with lock:
                committed.append(number)

    with Configured(world, config(world)) as server:
        threads = [threading.Thread(target=work, args=(server, seed)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in range(5):  # A client sends the request and disappears before the reply.
            with server.connect(server.resp) as sock:
                sock.sendall(command("VESTA.RESERVE", "invoices", "1000"))
        last, token = reserve(server, "60000")
        server.kill()
    with Configured(world, config(world)) as server:
        same(ask(server, "VESTA.COMMIT", "invoices", str(last), token), b"+OK\r\n")
        committed.append(last)
        time.sleep(1.1)
        while sorted(committed) != list(range(1, len(committed) + 1)):
            number, token = reserve(server)
            same(ask(server, "VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")
            committed.append(number)
            assert len(committed) < 100, sorted(committed)
        same(len(set(committed)), len(committed))


@claim("if the database does not answer, a request waits up to its limit, and the reply states what is known")
def _(world):
    import sqlite3
    with Configured(world, config(world, ", wait_ms_max = 300")) as server:
        same(reserve(server)[0], 1)
        db = sqlite3.connect(world.path("v.db"), isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        data = server.redis("VESTA.RESERVE", "invoices")
        assert data.startswith(b"-TRYAGAIN ") and time.monotonic() - began >= 0.3, data
        same(server.get("/healthz").status, 200)
        db.execute("ROLLBACK")
        db.close()
        for _ in range(100):
            data = ask(server, "VESTA.RESERVE", "invoices")
            if data.startswith(b"*8"):
                break
            time.sleep(0.05)
        assert data.startswith(b"*8"), data


main()
