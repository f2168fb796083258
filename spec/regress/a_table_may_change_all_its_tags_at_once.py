"""Regression: renaming all 4,096 dense tags of a table ended the server, because an assertion in serve/tables.c assumed
that a tag no longer served has left its place."""
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


@claim("if all tags of a full table are replaced at once, the server continues and soon serves the new ones")
def _(world):
    text = config(world, ", wait_ms_max = 1000")
    rename_all(world, "old")
    with Configured(world, text) as server:
        rename_all(world, "new")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.redis("VESTA.RESERVE", "new7").startswith(b"*8"), "a tag that is new in the table is served")
        same(server.get("/healthz").status, 200)


main()
