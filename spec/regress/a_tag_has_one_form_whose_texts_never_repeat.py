"""Regression: a form that restarts monthly was changed to a daily one and back, and INV-202611-0002 was issued twice.
Two hosts with different forms during a deployment also duplicated numbers."""
import os
import sqlite3

from served import mariadb, postgresql, stores
from serving import Configured, claim, main, same

YEARS, DAYS = "INV-{year:%Y}-{number:4}", "INV-{day:%Y%m%d}-{number:4}"
ANOTHER = "tag 'invoices' has issued numbers in a different form"
MIDST = "is in a period of another form"


def made(world, tag):
    for kind, uri in stores(world).items():
        if kind in ("mysql", "postgresql", "zk"):
            done = world.run("store", "init", "--segments", "--store", uri, "--namespace", "any", "--layout", "snowflake")
            same((kind, done.code, done.err), (kind, 0, ""))
        done = world.run("segments", "add", tag, "--store", uri)
        same((kind, done.code, done.err), (kind, 0, ""))
        yield kind, uri


def take(world, uri, form, n=1):
    return world.run("segments", "take", "invoices", "-n", str(n), "--form", form, "--store", uri)


def refused(world, uri, form, why):
    done = take(world, uri, form)
    same((done.code, done.out), (1, ""))
    assert why in done.err and "vesta segments add" in done.err, done.err


def forget(world, kind):
    """Removes the remembered form, as if an older vesta had issued the numbers."""
    if kind == "file":
        os.remove(world.path("files/~counters/form-invoices"))
    elif kind == "sqlite":
        with sqlite3.connect(world.path("v.db")) as db:
            db.execute("DELETE FROM vesta_segment_share")
    elif kind == "mysql":
        mariadb().sql("DELETE FROM vesta.vesta_segment_share")
    elif kind == "postgresql":
        postgresql().sql("DELETE FROM vesta_segment_share", "vesta")


def years_days_years(world, kind, uri):
    texts = take(world, uri, YEARS, 3).out.split()
    same(len(texts), 3)
    refused(world, uri, DAYS, ANOTHER)
    texts += take(world, uri, YEARS).out.split()  # The rejected command cost no text, and its number was returned.
    same(texts[-1][-4:], "0004")
    if kind == "zk":
        return
    forget(world, kind)
    texts += take(world, uri, DAYS, 2).out.split()
    refused(world, uri, YEARS, ANOTHER)
    forget(world, kind)
    refused(world, uri, YEARS, MIDST)  # Today is not January 1.
    same(len(set(texts)), 6)


@claim("after yearly numbers, a daily form is rejected by name in each store, and no text is duplicated even if the "
       "form is forgotten")
def _(world):
    for kind, uri in made(world, "invoices"):
        years_days_years(world, kind, uri)


@claim("of two servers with different forms on one tag during a deployment, the second issues nothing, and the first "
       "continues")
def _(world):
    text = ("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = { 'orders' }, order = 'strict', wait_ms_max = 2000, "
            "form = '%s' } } }")
    for kind, uri in made(world, "orders"):
        with Configured(world, text % (uri, YEARS)) as old:
            first = old.redis("GET", "orders")
            assert first.startswith(b"$13\r\nINV-"), first
        with Configured(world, text % (uri, DAYS)) as new:
            answer = new.redis("GET", "orders")
            assert answer.startswith(b"-TRYAGAIN ") and b"different form" in answer, (kind, answer)
        with Configured(world, text % (uri, YEARS)) as old:
            assert old.redis("GET", "orders").endswith(b"-0002\r\n"), kind


main()
