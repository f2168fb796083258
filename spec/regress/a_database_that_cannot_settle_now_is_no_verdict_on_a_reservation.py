"""Regression: a commit while the database was briefly read-only, or without its table, was rejected with 409 and code
settled. The client then gave up the number."""
import json
import sqlite3

from reserving import config, reserve
from served import mariadb, mysql_uri
from serving import Configured, claim, main, same

MYSQL = "return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*', order = 'dense', wait_ms_max = 3000 } } }"


def cannot(server, number, token, why):
    """Asserts that commit and cancel over both protocols fail with a request to retry."""
    for verb in ("commit", "cancel"):
        answer = server.redis("VESTA." + verb.upper(), "invoices", str(number), token)
        assert answer.startswith(b"-TRYAGAIN nothing was done: ") and why in answer, answer
        reply = server.get("/v1/reservations/%s?tag=invoices&number=%d&token=%s" % (verb, number, token), "POST")
        same((reply.status, reply.headers["retry-after"], json.loads(reply.body)["code"]), (503, "1", "range"))
    answer = server.redis("VESTA.RESERVE", "invoices")
    assert answer.startswith(b"-TRYAGAIN nothing was done: ") and why in answer, answer


@claim("while MariaDB is read-only or lacks its table, reservations stay open, and can be committed later")
def _(world):
    for words in (("store", "init", "--segments"), ("segments", "add", "invoices")):
        done = world.run(*words, "--store", mysql_uri())
        same((done.code, done.err), (0, ""))
    with Configured(world, MYSQL % mysql_uri("vesta:s3cret")) as server:
        number, token = reserve(server)
        mariadb().sql("SET GLOBAL read_only = ON")
        cannot(server, number, token, b"read-only")
        mariadb().sql("SET GLOBAL read_only = OFF; RENAME TABLE vesta.vesta_reservation TO vesta.elsewhere")
        cannot(server, number, token, b"no table vesta_reservation")
        mariadb().sql("RENAME TABLE vesta.elsewhere TO vesta.vesta_reservation")
        same(server.redis("VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")


@claim("while a SQLite file rejects writes or lacks its table, reservations stay open, and can be committed later")
def _(world):
    def run(sql):
        with sqlite3.connect(world.path("v.db")) as db:
            db.executescript(sql)

    with Configured(world, config(world)) as server:
        number, token = reserve(server)
        run("CREATE TRIGGER no BEFORE INSERT ON vesta_reservation BEGIN SELECT RAISE(ABORT, 'not now'); END")
        cannot(server, number, token, b"not now")
        run("DROP TRIGGER no; ALTER TABLE vesta_reservation RENAME TO elsewhere")
        answer = server.redis("VESTA.COMMIT", "invoices", str(number), token)
        assert answer.startswith(b"-TRYAGAIN nothing was done: ") and b"no table vesta_reservation" in answer, answer
        run("ALTER TABLE elsewhere RENAME TO vesta_reservation")
        same(server.redis("VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")
        answer = server.redis("VESTA.CANCEL", "invoices", str(number), token)
        # This reply is final.
        assert answer.startswith(b"-ERR ") and b"is committed and cannot be cancelled" in answer, answer


main()
