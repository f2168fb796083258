"""Regression: after an upgrade, a MariaDB user with only the documented rights, SELECT and UPDATE on leaf_alloc, got no
numbers of a tag with a form, because it could not record the form."""
import json

from served import LEAF, mariadb
from serving import Configured, claim, main, same

WARNING = "the database cannot store the form of the numbers"


def made(name):
    db = mariadb()
    db.sql("CREATE DATABASE {0}; {1}; INSERT INTO {0}.leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 100); "
           "CREATE USER {0}@'127.0.0.1' IDENTIFIED BY 'n'; GRANT SELECT, UPDATE ON {0}.leaf_alloc TO {0}@'127.0.0.1'"
           .format(name, LEAF % name))
    return db, "mysql://%s@127.0.0.1:%d/%s" % (name, db.port, name)


def config(uri, form, order, wait_ms=20000):
    return ("return { stores = { a = { uri = '%s', password = 'n' } }, segments = { { store = 'a', tags = { 'orders' }, order = '%s', "
            "form = '%s', wait_ms_max = %d } } }" % (uri, order, form, wait_ms))


def stays(world, name, order):
    db, uri = made(name)
    with Configured(world, config(uri, "N{number}", order)) as server:
        same(server.redis("GET", "orders"), b"$2\r\nN1\r\n")
        event = server.heard(WARNING)
        assert "level=warn" in event and "tag=orders" in event and "vesta_segment_share" in event, event
        assert WARNING in json.loads(server.get("/v1/segments").body)["segments"][0]["warning"]
        same(server.redis("GET", "orders"), b"$2\r\nN2\r\n")
    with Configured(world, config(uri, "N1{number}", order, wait_ms=2000)) as server: # It replies after the wait.
        answer = server.redis("GET", "orders")
        assert answer.startswith(b"-TRYAGAIN ") and b"has issued numbers in a different form" in answer, answer
    return db, uri


@claim("order trend: numbers continue with a warning, and the host's own record rejects a changed form")
def _(world):
    stays(world, "narrow", "trend")


@claim("order strict: the same, and once the user has the rights, the database records the form")
def _(world):
    db, uri = stays(world, "tight", "strict")
    db.sql("CREATE TABLE tight.vesta_segment_share (counters VARBINARY(64) NOT NULL, tag VARBINARY(64) NOT NULL, delta BIGINT NOT "
           "NULL, remainder BIGINT NOT NULL, PRIMARY KEY (counters, tag)) ENGINE=InnoDB; "
           "GRANT SELECT ON tight.vesta_segment_share TO tight@'127.0.0.1'")
    with Configured(world, config(uri, "N{number}", "strict")) as server:
        same(server.redis("GET", "orders"), b"$2\r\nN3\r\n")
        server.heard(WARNING)  # The user may read the table but not write it.
        db.sql("GRANT INSERT, UPDATE ON tight.vesta_segment_share TO tight@'127.0.0.1'; FLUSH PRIVILEGES")
        same(server.redis("GET", "orders"), b"$2\r\nN4\r\n")
        assert "warning" not in json.loads(server.get("/v1/segments").body)["segments"][0]
    same(db.sql("SELECT COUNT(*) FROM tight.vesta_segment_share WHERE counters = '~leaf_alloc'").strip(), "1")


@claim("`vesta segments take --form`, which keeps no record itself, names the rights that it needs")
def _(world):
    _, uri = made("bare")
    uri = uri.replace("bare@", "bare:n@")
    same(world.run("segments", "take", "orders", "--store", uri).out, "1\n")
    done = world.run("segments", "take", "orders", "--form", "N{number}", "--store", uri)
    same((done.code, done.out), (1, ""))
    assert "vesta_segment_share" in done.err and "grant SELECT, INSERT and UPDATE" in done.err, done.err


main()
