"""a_table_may_change_all_its_tags_at_once.py -- a table of 4,096 dense tags whose rows were all renamed ended the server:
an assertion in serve/tables.c took it that a tag which is no longer served has left its place."""
import signal
import sqlite3

from reserving import config
from servers import until
from serving import Configured, claim, main, same

COUNT = 4096


def rename_all(world, prefix):
    with sqlite3.connect(world.path("v.db")) as db:
        db.execute("DELETE FROM leaf_alloc")
        db.executemany("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES (?, 1, 1)",
                       [("%s%d" % (prefix, i),) for i in range(COUNT)])


@claim("a table with as many tags as can be served gets other tags, all at once: the server goes on, and serves them soon")
def _(world):
    text = config(world, ", wait_ms_max = 1000")
    rename_all(world, "old")
    with Configured(world, text) as server:
        rename_all(world, "new")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.redis("VESTA.RESERVE", "new7").startswith(b"*8"), "a tag that is new in the table is served")
        same(server.get("/healthz").status, 200)


main()
