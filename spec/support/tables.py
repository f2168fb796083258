"""tables.py -- Leaf's table in a database file of its own, and a config that serves its tags."""
import sqlite3
import time

from harness import SLOW, same


class Table:
    """A leaf_alloc in a file of its own."""

    def __init__(self, world, name="v.db", **tags):
        self.path = world.path(name)
        done = world.run("store", "init", "--store", "sqlite:" + self.path, "--namespace", "unused", "--layout", "snowflake")
        same((done.code, done.err), (0, ""))
        self.do("CREATE TABLE IF NOT EXISTS leaf_alloc (biz_tag TEXT NOT NULL PRIMARY KEY, max_id INTEGER NOT NULL, "
                "step INTEGER NOT NULL, update_time INTEGER)")
        for tag, step in tags.items():
            self.add(tag, step)

    def do(self, sql, *values):
        db = sqlite3.connect(self.path, timeout=10)
        with db:
            got = db.execute(sql, values).fetchall()
        db.close()
        return got

    def add(self, tag, step=1000, max_id=1):
        self.do("INSERT INTO leaf_alloc VALUES (?, ?, ?, NULL)", tag, max_id, step)

    def max_id(self, tag):
        return self.do("SELECT max_id FROM leaf_alloc WHERE biz_tag = ?", tag)[0][0]


def config(table, row="tags = '*'", more=""):
    if "wait_ms_max" not in row:
        row += ", wait_ms_max = 60000"  # so that no result depends on the speed of the machine
    return "return { %s stores = { a = { uri = 'sqlite:%s' } }, segments = { { store = 'a', %s } } }" % (more, table.path, row)


def until(what):
    for _ in range(6000 * SLOW):
        got = what()
        if got:
            return got
        time.sleep(0.01)
    raise AssertionError("it never came to be")
