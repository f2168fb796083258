"""postgresql.py -- tests the postgresql: store on a real PostgreSQL: the contract, and faults.  postgresql.py
STORE_CONTRACT STORE_CALL
"""
import sys

from servers import Caller, PostgreSQL, claim, contract, has, main

CONTRACT, CALL = sys.argv[1:3]
db = PostgreSQL().start()
db.sql("CREATE ROLE owner LOGIN PASSWORD 'own/er'; CREATE ROLE vesta LOGIN PASSWORD 's3cret'")
db.sql("CREATE DATABASE vesta OWNER owner")
db.sql("ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE ON TABLES TO vesta", "vesta")


def uri(user="vesta:s3cret", port=None, name="vesta", more=""):
    return "postgresql://%s@127.0.0.1:%d/%s%s" % (user, port or db.port, name, more)


OWNER = uri("owner:own%2Fer")


@claim("without tables, the store is refused with the command that creates them, and creates none")
def _():
    with Caller(CALL, OWNER) as caller:
        for order in ("ns", "read 7", "list", "make 5 77", "swap 7 0 10"):
            has(caller.ask(order, "REFUSED")["text"], "vesta store init")
    assert db.sql("SELECT COUNT(*) FROM pg_class WHERE relname LIKE 'vesta%'", "vesta") == "0"


@claim("init needs the right to create tables, and work needs SELECT, INSERT and UPDATE")
def _():
    with Caller(CALL, uri()) as caller:
        has(caller.ask("init", "REFUSED")["text"], "permission denied for schema public", "GRANT")
    with Caller(CALL, OWNER) as caller:
        caller.ask("init", "OK")
        caller.ask("init", "OK")  # a second time, it changes nothing
    with Caller(CALL, uri(), "rights") as caller:
        caller.ask("make 5 77", "OK")
        caller.ask("swap 7 0 10", "OK")
        caller.ask("advance 99", "OK")
        caller.ask("ns", "OK")
        caller.ask("swap 7 1 20", "OK")
        assert caller.ask("list", "OK")["count"] == 1


@claim("the contract holds with these rights")
def _():
    contract(CONTRACT, OWNER, 17)


main()
