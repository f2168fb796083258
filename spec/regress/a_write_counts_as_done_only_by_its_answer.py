"""Regression: replies of MariaDB without a row (from a proxy, or with sql_select_limit = 0 on a new connection) counted
as success. A holder renewed a lease that was never written, and another process got its worker id."""
import os
import sys

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
from liar import MysqlLiar
from servers import Caller, MariaDB, claim, main, until

CALL = os.path.join(BUILD, "spec", "stores", "store_call")
if not os.path.exists("/usr/sbin/mariadbd") or b"mysql" not in open(CALL, "rb").read():
    print("1 passed, 0 failed # no MariaDB here")
    sys.exit(0)
db = MariaDB().start()
db.sql("CREATE DATABASE vesta")
ORDERS = ("ns", "read 7", "swap 7 1 20", "swap 9 0 20", "list", "advance 99")


def uri(port=None):
    return "mysql://root@127.0.0.1:%d/vesta" % (port or db.port)


def fresh(ns, port=None):
    with Caller(CALL, uri(), ns) as caller:
        caller.ask("init", "OK")
        caller.ask("make 5 77", "OK")
        caller.ask("swap 7 0 10", "OK")
    return Caller(CALL, uri(port), ns, 2000)


def stands(ns):
    return db.sql("SELECT worker, ver FROM vesta.vesta_lease WHERE ns = '%s' ORDER BY worker" % ns).split()


def others():
    """Returns the ids of the connections to the database, by SHOW, which ignores the limit."""
    rows = [line.split("\t") for line in db.sql("SHOW PROCESSLIST").split("\n")]
    return [row[0] for row in rows if len(row) > 3 and row[3] == "vesta"]


def cut_all():
    for thread in others():
        db.sql("KILL " + thread)
    until(lambda: not others(), "they are gone")


@claim("with sql_select_limit = 0 and cut connections, all calls continue, because sessions set their own limit")
def _():
    with fresh("limit") as caller:
        caller.ask("ns", "OK")
        db.sql("SET GLOBAL sql_select_limit = 0")
        try:
            cut_all()
            for order in ORDERS[:4]:
                caller.settle(order)
        finally:
            db.sql("SET GLOBAL sql_select_limit = DEFAULT")
        assert stands("limit") == ["7", "2", "9", "1"], stands("limit")


@claim("replies without rows, from the first or any later one on, acknowledge nothing")
def _():
    liar = MysqlLiar(db.port)
    for at in range(1, 8):
        for order in ORDERS:
            with fresh("empty%d%s" % (at, order.replace(" ", "")), liar.port) as caller:
                liar.lie("empty", at, every=True)
                caller.ask(order, *(("DOWN", "UNKNOWN") if liar.lied or at < 6 else ("OK", "DOWN", "UNKNOWN")))
                liar.tell_truth()


main()
