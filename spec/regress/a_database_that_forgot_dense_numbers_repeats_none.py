"""Regression: numbers were committed, the database was restored from an older backup, and the same server reserved and
committed the same numbers again."""
import json
import shutil
import sqlite3
import time

from reserving import ask, config, reserve
from served import mariadb, mysql_uri
from serving import Configured, claim, main, same

BACK = b"-ERR the counter 'invoices' of %s went back: it grants %d again, and this host was granted all below %d"
MYSQL = "return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*', order = 'dense', wait_ms_max = 5000 } } }"


def commit(server, number, token):
    same((number, ask(server, "VESTA.COMMIT", "invoices", str(number), token)), (number, b"+OK\r\n"))


def take(server, want):
    number, token = reserve(server)
    same(number, want)
    commit(server, number, token)


class Sqlite:
    def __init__(self, world):
        self.path, self.text, self.shown = world.path("v.db"), config(world), "sqlite:" + world.path("v.db")
        self.uri = self.shown

    def dump(self):
        shutil.copyfile(self.path, self.path + ".old")

    def restore(self):
        shutil.copyfile(self.path + ".old", self.path + ".new")
        shutil.move(self.path + ".new", self.path)

    def counter(self, value=None):
        with sqlite3.connect(self.path) as db:
            if value is not None:
                db.execute("UPDATE leaf_alloc SET max_id = ?", (value,))
            return db.execute("SELECT max_id FROM leaf_alloc").fetchone()[0]


class Maria:
    TABLES = ("leaf_alloc", "vesta_reservation")

    def __init__(self, world):
        self.uri = mysql_uri()
        for words in (("store", "init", "--segments"), ("segments", "add", "invoices")):
            done = world.run(*words, "--store", self.uri)
            same((done.code, done.err), (0, ""))
        self.text = MYSQL % self.uri
        self.shown = self.uri.replace("own%2Fer", "***")

    def dump(self):
        for table in self.TABLES:
            mariadb().sql("CREATE TABLE vesta.%s_old LIKE vesta.%s; INSERT INTO vesta.%s_old SELECT * FROM vesta.%s" % ((table,) * 4))

    def restore(self):
        for table in self.TABLES:
            mariadb().sql("DELETE FROM vesta.%s; INSERT INTO vesta.%s SELECT * FROM vesta.%s_old; DROP TABLE vesta.%s_old" % ((table,) * 4))

    def counter(self, value=None):
        if value is not None:
            mariadb().sql("UPDATE vesta.leaf_alloc SET max_id = %d" % value)
        return int(mariadb().sql("SELECT max_id FROM vesta.leaf_alloc"))


def forgets(world, store):
    with Configured(world, store.text) as server:
        take(server, 1)
        take(server, 2)
        store.dump()
        take(server, 3)
        late, late_token = reserve(server)
        store.restore()
        answer = ask(server, "VESTA.COMMIT", "invoices", str(late), late_token)
        assert answer.startswith(BACK % (store.shown.encode()[:120], 3, 5)), answer
        assert b"vesta segments resume invoices" in answer, answer
        same(store.counter(), 5)  # No other host gets them.
        for _ in range(2):
            store.counter(3)  # The counter is lowered once more, for example by a second restore.
            assert ask(server, "VESTA.RESERVE", "invoices").startswith(b"-ERR the counter 'invoices' of"), "it stopped"
            same(store.counter(), 5)
        reply = server.get("/v1/reservations?tag=invoices", "POST")
        same((reply.status, json.loads(reply.body)["code"]), (500, "failstop"))
        event = server.heard("a counter in a database went back")
        assert " grants=3 granted=5 " in event, event
    with Configured(world, store.text) as server:
        assert ask(server, "VESTA.RESERVE", "invoices").startswith(b"-ERR the counter 'invoices' of"), "it stopped"
        same(world.run("segments", "resume", "invoices", "--store", store.uri).out, "invoices was resumed\n")
        take(server, 5)


@claim("numbers of a SQLite file restored from a backup are not reserved again, even after a restart")
def _(world):
    forgets(world, Sqlite(world))


@claim("numbers of a MariaDB restored from a backup are not reserved again, even after a restart")
def _(world):
    forgets(world, Maria(world))


@claim("a server that was down during the restore detects it by the grants of its previous run")
def _(world):
    store = Sqlite(world)
    with Configured(world, store.text) as server:
        take(server, 1)
        store.dump()
        take(server, 2)
        take(server, 3)
    store.restore()
    with Configured(world, store.text) as server:
        answer = ask(server, "VESTA.RESERVE", "invoices")
        assert answer.startswith(BACK % (store.shown.encode()[:120], 2, 4)), answer
        same(world.run("segments", "resume", "invoices", "--even-lower", "--store", store.uri).code, 0)
        take(server, 4)  # The server raised the counter when it detected the restore.
        with sqlite3.connect(store.path) as db:
            same(db.execute("SELECT COUNT(*) FROM vesta_reservation WHERE number IN (2, 3)").fetchone()[0], 0)


@claim("a number reserved before the backup, whose commit the database forgot, is issued to no other client")
def _(world):
    store = Sqlite(world)
    with Configured(world, store.text) as server:
        number, token = reserve(server, "1000")
        store.dump()
        commit(server, number, token)
        store.restore()
        time.sleep(1.1)
        answer = ask(server, "VESTA.RESERVE", "invoices")
        assert answer.startswith(BACK % (store.shown.encode()[:120], 1, 2)), answer
        with sqlite3.connect(store.path) as db:
            same(db.execute("SELECT free_ms FROM vesta_reservation WHERE number = 1").fetchone(), (None,))
        same(world.run("segments", "resume", "invoices", "--store", store.uri).code, 0)
        take(server, 2)


@claim("a reservation that expired, was cancelled or never existed is not treated as a restore")
def _(world):
    store = Sqlite(world)
    with Configured(world, store.text) as server:
        numbers = [reserve(server, "1000") for _ in range(3)]
        same(ask(server, "VESTA.CANCEL", "invoices", "2", numbers[1][1]), b"+OK\r\n")
        assert b"never reserved" in ask(server, "VESTA.COMMIT", "invoices", "9", numbers[0][1])
        time.sleep(1.1)
        same([reserve(server)[0] for _ in range(4)], [1, 2, 3, 4])
        same(server.get("/readyz").status, 200)


main()
