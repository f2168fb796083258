"""Regression: a tinyid request waited for a number while a reload lowered its client's limit. Each retry cut its batch
again, until an assertion ended the server."""
import json
import re
import signal
import sqlite3
import threading
import time

from serving import Configured, claim, command, main, same, SLOW

TWO_TAGS = """return { clients = '%s', stores = { a = { uri = 'sqlite:%s' } }, segments = {
  { store = 'a', tags = { 'strictly' }, order = 'strict', wait_ms_max = 30000 },
  { store = 'a', tags = { 'ranges' }, step = 20, step_max = 20, wait_ms_max = 30000 } } }"""


def run(world, *words):
    done = world.run(*words)
    same((words, done.code), (words, 0))
    return done.out.strip()


def limit_to(world, n):
    with open(world.path("clients")) as file:
        text = file.read()
    with open(world.path("clients"), "w") as file:
        file.write(re.sub(r"\bn=\d+", "n=%d" % n, text))


class Asking:
    """Requests sent while the database is locked, each in its own thread."""
    def __init__(self, server, secret):
        self.server, self.secret, self.threads, self.bodies = server, secret, [], {}

    def http(self, path):
        def ask():
            self.bodies[path] = self.server.get(path, headers={"Authorization": "Bearer " + self.secret}).body
        self.start(ask)

    def redis(self, *words):
        def ask():
            said = self.server.say(self.server.resp, command("AUTH", "orders", self.secret) + command(*words))
            self.bodies[words] = said
        self.start(ask)

    def start(self, ask):
        self.threads.append(threading.Thread(target=ask))
        self.threads[-1].start()

    def end(self):
        for thread in self.threads:
            thread.join()


@claim("a request keeps the limit that applied on its arrival, even if a reload lowers it while the request waits")
def _(world):
    path = world.path("v.db")
    for tag in ("strictly", "ranges"):
        run(world, "segments", "add", tag, "--step", "20", "--store", "sqlite:" + path)
    secret = run(world, "client", "add", "orders", "--calls", "give,block", "--n", "50", "--file", world.path("clients"))
    with Configured(world, TWO_TAGS % (world.path("clients"), path)) as server:
        asking, db = Asking(server, secret), sqlite3.connect(path, isolation_level=None)
        asking.redis("INCR", "ranges")  # The first range has been granted.
        asking.end()
        db.execute("BEGIN IMMEDIATE")
        for tag in ("strictly", "ranges"):
            asking.http("/tinyid/id/nextId?bizType=%s&batchSize=70" % tag)
            asking.redis("VESTA.NEXT", tag, "50")
        time.sleep(0.3 * SLOW)
        limit_to(world, 3)
        server.process.send_signal(signal.SIGHUP)
        server.heard('msg="the file of clients was reloaded"')
        db.execute("ROLLBACK")
        asking.end()
        for tag in ("strictly", "ranges"):
            same(len(json.loads(asking.bodies["/tinyid/id/nextId?bizType=%s&batchSize=70" % tag])["data"]), 50)
            said = asking.bodies["VESTA.NEXT", tag, "50"]
            assert said.startswith(b"+OK\r\n*50\r\n"), said
        reply = server.get("/v1/ids?ns=ranges&n=4", headers={"Authorization": "Bearer " + secret})
        same((reply.status, json.loads(reply.body)["code"]), (400, "bad_count"))


main()
