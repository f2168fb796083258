"""taking.py -- clients of a served tag, and a tally of all numbers that they received.

The first argument of a script here is the program, and the others are its sizes.  Tests use small sizes, and
scripts/prove uses the sizes of the claim.  Times are printed but not judged.
"""
import atexit
import json
import os
import socket
import sys
import threading
import time

SIZES = [float(word) for word in sys.argv[2:]]
del sys.argv[2:]  # the harness would take them for a part of a claim

from served import LEAF  # noqa: E402
from servers import MariaDB, PostgreSQL  # noqa: E402
from serving import SLOW, command  # noqa: E402

PATIENCE_S = 120 * SLOW


def size(place, otherwise):
    return type(otherwise)(SIZES[place]) if place < len(SIZES) else otherwise


def told(text, *values):
    print("    " + text % values, flush=True)


class Refused(Exception):
    """The server's error instead of a number."""


class Connection:
    """A client of the Redis protocol that stays connected."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb")

    def ask(self, *words):
        self.sock.sendall(command(*map(str, words)))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        assert line.endswith(b"\r\n"), "the server ended in the midst of an answer: %r" % line
        kind, text = line[:1], line[1:-2].decode()
        if kind == b"$":
            return self.file.read(int(text) + 2)[:-2].decode()
        if kind == b"*":
            return [self.reply() for _ in range(int(text))]
        if kind == b"-":
            raise Refused(text)
        return int(text) if kind == b":" else text

    def numbers(self, tag, count):
        return [int(digits) for digits in self.ask("VESTA.NEXT", tag, count)]

    def fields(self, *words):
        """Returns a reply of names and values as a table."""
        said = self.ask(*words)
        return dict(zip(said[::2], said[1::2]))

    def close(self):
        self.file.close()
        self.sock.close()


class Tally:
    """The received numbers, and how many were received twice."""

    def __init__(self):
        self.lock, self.seen, self.given, self.twice = threading.Lock(), bytearray(), 0, 0

    def reach(self, end):
        if len(self.seen) < end:
            self.seen.extend(bytes(max(end - len(self.seen), len(self.seen))))

    def add(self, numbers):
        with self.lock:
            self.reach(max(numbers) + 1)
            for number in numbers:
                self.twice += self.seen[number]
                self.seen[number] = 1
            self.given += len(numbers)

    def add_range(self, first, count, stride=1):
        with self.lock:
            self.reach(first + count * stride)
            part = slice(first, first + count * stride, stride)
            self.twice += self.seen[part].count(1)
            self.seen[part] = b"\1" * count
            self.given += count

    def missing(self, first, end):
        self.reach(end)
        return self.seen[first:end].count(0)


class Takers:
    """Threads that each call step(connection) again and again until the end.  A refused step is counted.

            with Takers([(port, step), ...]) as takers: ...
    """

    def __init__(self, rows):
        self.lock, self.is_over, self.wrong, self.slowest_s = threading.Lock(), False, [], 0.0
        self.refusals = []
        self.threads = [threading.Thread(target=self.run, args=row, daemon=True) for row in rows]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.is_over = True
        for thread in self.threads:
            thread.join(PATIENCE_S)
        if kind is None:
            self.look()
            assert not any(thread.is_alive() for thread in self.threads), "a client did not end"

    def run(self, port, step):
        try:
            connection = Connection(port)
            while not self.is_over:
                begun = time.monotonic()
                try:
                    step(connection)
                except Refused as refusal:
                    self.refusals.append(str(refusal))
                    time.sleep(0.01)
                self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
            connection.close()
        except Exception as error:
            self.wrong.append("%s: %s" % (type(error).__name__, error))

    def look(self):
        """Checks that all of them continue."""
        assert not self.wrong, self.wrong[0]
        return True

    def refused(self):
        return len(self.refusals)


def leaf_postgresql(db):
    """The schema is `leaf`, so that statements are the same as for MariaDB."""
    db.start()
    db.sql("CREATE ROLE leaf LOGIN PASSWORD 'l'; CREATE SCHEMA leaf AUTHORIZATION leaf; SET ROLE leaf;"
           "CREATE TABLE leaf.leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1,"
           " step integer NOT NULL, description varchar(256), update_time timestamp NOT NULL DEFAULT now())")
    return "postgresql://leaf:l@127.0.0.1:%d/postgres?schema=leaf" % db.port


def leaf_mariadb(db):
    db.start()
    db.sql("CREATE DATABASE leaf; " + LEAF % "leaf")
    return "mysql://root@127.0.0.1:%d/leaf" % db.port


KINDS = {"mysql": (MariaDB, leaf_mariadb), "postgresql": (PostgreSQL, leaf_postgresql)}


def leaf_database(kind=None, **steps):
    """Starts a database of the kind, or of $VESTA_SPEC_STORE, with Leaf's table and these steps for the tags.  Returns
    it and its URI."""
    make, prepare = KINDS[kind or os.environ.get("VESTA_SPEC_STORE", "mysql")]
    db = make()
    atexit.register(db.end)
    uri = prepare(db)
    for row in steps.items():
        db.sql("INSERT INTO leaf.leaf_alloc (biz_tag, max_id, step) VALUES ('%s', 1, %d)" % row)
    return db, uri


def config(*rows, wait_ms_max=60000, **stores):
    """Returns a config with these rows of segments.  Requests wait long enough that a busy machine's speed does not
    decide a verdict."""
    places = ", ".join("%s = { uri = '%s' }" % place for place in stores.items())
    return "return { stores = { %s }, segments = { %s } }" % (
        places, ", ".join("{ %s, wait_ms_max = %d }" % (row, wait_ms_max) for row in rows))


def standing(server, tag):
    """Returns the state of the tag as in /v1/segments."""
    (one,) = json.loads(server.get("/v1/segments?tag=" + tag).body)["segments"]
    return one
