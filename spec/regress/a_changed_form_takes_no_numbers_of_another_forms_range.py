"""Regression: a server with the form N{number} was killed and restarted with N1{number}. It issued N116 from the range
that the first form had left in the map, and a server with the first form issued N116 again. Two processes of one host
with different forms also shared such a range."""
import sqlite3

from serving import Configured, claim, main, same

OLD, NEW = "N{number}", "N1{number}"
ANOTHER = b"has issued numbers in a different form"


def config(world, form, order="trend"):
    uri = "sqlite:" + world.path("v.db")
    if not hasattr(world, "is_made"):
        same(world.run("segments", "add", "orders", "--step", "100", "--store", uri).code, 0)
        world.is_made = True
    return ("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = { 'orders' }, order = '%s', form = '%s', "
            "wait_ms_max = 2000 } } }" % (uri, order, form))


def text_of(server):
    for _ in range(10):  # On a busy machine, a database can be slower than wait_ms_max. Clients also retry.
        answer = server.redis("GET", "orders").split(b"\r\n")
        if not answer[0].startswith(b"-TRYAGAIN no range"):
            break
    assert answer[0].startswith(b"$"), answer
    return answer[1].decode()


def refused(server):
    answer = server.redis("GET", "orders")
    assert answer.startswith(b"-TRYAGAIN ") and ANOTHER in answer and b"Create a tag for each form" in answer, answer
    same(server.get("/healthz").status, 200)


@claim("a server restarted with another form issues nothing from the remaining range, and the first form continues")
def _(world):
    with Configured(world, config(world, OLD)) as server:
        same([text_of(server) for _ in range(15)], ["N%d" % n for n in range(1, 16)])
        server.kill()
    with Configured(world, config(world, NEW)) as server:
        refused(server)
        refused(server)
    with Configured(world, config(world, OLD)) as server:
        same(text_of(server), "N16")


@claim("two servers of one host with different forms share no range, in either order of numbers")
def _(world):
    for order in "trend", "strict":
        with Configured(world, config(world, OLD, order)) as old:
            first = text_of(old)
            with Configured(world, config(world, NEW, order)) as new:
                refused(new)
                assert text_of(old) != first
                refused(new)


@claim("a host rejects a changed form even if the database has forgotten the first one")
def _(world):
    with Configured(world, config(world, OLD)) as server:
        same(text_of(server), "N1")
    with sqlite3.connect(world.path("v.db")) as db:
        db.execute("DELETE FROM vesta_segment_share WHERE counters LIKE '~%'")
    with Configured(world, config(world, NEW)) as server:
        refused(server)


@claim("a form that issued no number does not block another form")
def _(world):
    with Configured(world, config(world, OLD)) as server:
        same(server.get("/readyz").status, 200)
    with Configured(world, config(world, NEW)) as server:
        same(text_of(server), "N11")
    with Configured(world, config(world, OLD)) as server:
        refused(server)


@claim("a running server whose form issued no number is rejected once another form has, even if the database forgot "
       "that form")
def _(world):
    for order in "trend", "strict":
        with Configured(world, config(world, OLD, order)) as old:
            with Configured(world, config(world, NEW, order)) as new:
                assert text_of(new).startswith("N1")
                with sqlite3.connect(world.path("v.db")) as db:
                    db.execute("DELETE FROM vesta_segment_share WHERE counters LIKE '~%'")
                answer = old.redis("GET", "orders")
                assert answer.startswith(b"-TRYAGAIN "), answer
                assert text_of(new).startswith("N1")


@claim("`vesta segments resume` works after a change of form, because it finds the map of the tag without the form")
def _(world):
    with Configured(world, config(world, OLD, "strict")) as server:
        same([text_of(server) for _ in range(3)], ["N1", "N2", "N3"])
        with sqlite3.connect(world.path("v.db")) as db:
            db.execute("UPDATE leaf_alloc SET max_id = 2")
        assert b"went back" in server.redis("GET", "orders")
        done = world.run("segments", "resume", "orders", "--store", "sqlite:" + world.path("v.db"))
        same((done.code, done.out), (0, "orders was resumed\n"))


main()
