"""tags_hard.py -- tags under failures: more tags than descriptors, MariaDB killed during a write, ZooKeeper killed, and
their return."""
import re
import resource
import signal
import threading
import time

from served import LEAF, mariadb, mysql_uri, zk_uri, zookeeper
from serving import Configured, bulks, claim, command, fails, main, same
from tables import Table, config, until


class Scarce(Configured):
    def __init__(self, world, text, files, *flags):
        super().__init__(world, text, "--threads", "1", *flags)
        self.args = ["prlimit", "--nofile=%d:%d" % (files, files), *self.args]


def limits(server):
    return {name: int(number) for name, number in re.findall(r" (\w+)=(\d+)", server.heard('msg="client limits"'))}


def fill(server):
    socks = []
    while True:
        sock = server.connect(server.resp)
        sock.sendall(b"PING\r\n")
        if sock.recv(100) != b"+PONG\r\n":
            sock.close()
            return socks
        socks.append(sock)


def serves_all(server, tags, add):
    """Clients take all places, then tags are added, and each gets its first range from its database."""
    socks = fill(server)
    same(len(socks), limits(server)["resp"])
    add()

    def first_of(tag):
        socks[0].sendall(b"INCR %s\r\n" % tag.encode())
        return socks[0].recv(1000)

    until(lambda: not first_of(tags[-1]).startswith(b"-ERR unknown name"))
    for tag in tags[:-1]:
        same((tag, first_of(tag)), (tag, b":1\r\n"))
    for sock in socks:
        sock.close()
    assert "Too many open files" not in server.said, server.said


ALL_RESP = "http = { connections_max = 1 }, address_connections_max = 10000,"
ALL = ["t%03d" % i for i in range(200)]


@claim("each tag has a reserved descriptor, and tags without one are rejected by name, with the next step")
def _(world):
    table = Table(world, **{tag: 10 for tag in ALL})
    with Scarce(world, config(table, more=ALL_RESP), 256) as server:
        told = limits(server)
        assert 20 < told["tags"] < 100 and told["descriptors"] == 256, told
        served = [tag for tag in ALL if server.redis("INCR", tag) == b":1\r\n"]
        same(len(served), told["tags"])
        line = server.heard("a tag is not served")
        assert " tag=t" in line and "no file descriptor is left for its map" in line and "LimitNOFILE=" in line, line

    def add():
        for tag in served[1:]:
            table.add(tag, 10)
        server.process.send_signal(signal.SIGHUP)

    table = Table(world, "second.db", **{served[0]: 10})
    with Scarce(world, config(table, more=ALL_RESP), 256) as server:
        serves_all(server, served, add)


@claim("tags listed in the config are served at the cost of client connections, or the server reports that it cannot")
def _(world):
    row = "tags = { %s }" % ", ".join("'%s'" % tag for tag in ALL[:100])
    table = Table(world, **{tag: 10 for tag in ALL})
    with Scarce(world, config(table, row, ALL_RESP), 256) as server:
        same(limits(server)["tags"], 100)
        serves_all(server, ALL[:100], add=lambda: None)
    row = "tags = { %s }" % ", ".join("'%s'" % tag for tag in ALL)
    refused = Scarce(world, config(table, row), 220)
    done = world.run(*refused.args[refused.args.index("serve"):], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (220, 220)))
    fails(done, 1, "220 file descriptors are too few", "200 of them for tags", "LimitNOFILE=")


# ------------------------------------------------------------------ real stores that are killed

class Takers:
    def __init__(self, take, count=3):
        self.calls, self.failed, self.over = [], [], threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(take,)) for _ in range(count)]

    def run(self, take):
        try:
            while not self.over.is_set():
                began = time.monotonic()
                numbers = take()
                self.calls.append((began, time.monotonic(), numbers))
        except BaseException as error:  # The main thread reports it.
            self.failed.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()

    def numbers(self):
        return [number for _, _, numbers in list(self.calls) for number in numbers]

    def more(self, count):
        goal = len(self.calls) + count
        until(lambda: len(self.calls) >= goal or self.failed)
        same(self.failed, [])


def leaf_on_mariadb(row):
    db = mariadb()
    db.sql("CREATE DATABASE IF NOT EXISTS leaf; DROP TABLE IF EXISTS leaf.leaf_alloc; " + LEAF % "leaf" +
           "; INSERT INTO leaf.leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 1, 10)")
    return db, ("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*', step_max = 10, wait_ms_max = 60000, %s } } }"
                % (mysql_uri(name="leaf"), row))


def kill_in_its_write(db, table):
    """Kills MariaDB between the server's write and its commit, and restarts it."""
    column = {"leaf_alloc": "step", "vesta_reservation": "number"}[table]
    # This setting ends with the process, so the restarted one has no sleeping session.
    db.sql("SET GLOBAL long_query_time = 99; "
           "CREATE TRIGGER leaf.slow BEFORE UPDATE ON leaf.%s FOR EACH ROW SET NEW.%s = NEW.%s + SLEEP(IF(@@global.long_query_time > 50, 60, 0))"
           % (table, column, column))
    until(lambda: db.sql("SELECT id FROM information_schema.processlist WHERE state = 'User sleep'"))
    db.stop(signal.SIGKILL)
    db.start()
    db.sql("DROP TRIGGER leaf.slow")


def number_of_reply(data):
    assert data.startswith(b":"), data
    return [int(data[1:])]


def grows_over_mariadbs_end(world, row):
    db, text = leaf_on_mariadb(row)
    with Configured(world, text) as server:
        with Takers(lambda: number_of_reply(server.redis("INCR", "orders"))) as takers:
            takers.more(40)
            kill_in_its_write(db, "leaf_alloc")
            takers.more(40)
    same(takers.failed, [])
    numbers = takers.numbers()
    same(len(set(numbers)), len(numbers))
    assert max(numbers) < int(db.sql("SELECT max_id FROM leaf.leaf_alloc WHERE biz_tag = 'orders'"))
    return takers.calls


@claim("MariaDB is killed between the UPDATE of a range and its commit: no request is rejected and no number "
       "duplicated")
def _(world):
    grows_over_mariadbs_end(world, "order = 'trend'")


@claim("the same in strict order: numbers also increase from call to call")
def _(world):
    calls = sorted(grows_over_mariadbs_end(world, "order = 'strict'"))
    for began, _, numbers in calls:
        assert all(other < numbers[0] for _, ended, (other,) in calls if ended < began), numbers


@claim("MariaDB is killed between a reservation's UPDATE and its commit: the committed numbers are 1 to n, each once")
def _(world):
    db, text = leaf_on_mariadb("order = 'dense'")
    done = world.run("store", "init", "--segments", "--store", mysql_uri(name="leaf"))
    same((done.code, done.err), (0, ""))
    db.sql("DELETE FROM leaf.vesta_reservation")

    def invoice():
        data = server.redis("VESTA.RESERVE", "orders", "1000")
        found = re.fullmatch(rb"(?s).*number\r\n\$\d+\r\n(\d+)\r\n.*token\r\n\$32\r\n(\w+)\r\n.*", data)
        assert found or data.startswith(b"-TRYAGAIN"), data
        if not found:
            return []
        while True:
            data = server.redis("VESTA.COMMIT", "orders", found[1].decode(), found[2].decode())
            if data == b"+OK\r\n":
                return [int(found[1])]
            # The reservation expired and another client has the number, whose commit counts.
            if data.startswith(b"-ERR"):
                assert b"orders" in data, data
                return []
            assert data.startswith(b"-TRYAGAIN"), data

    with Configured(world, text) as server:
        with Takers(invoice, 4) as takers:
            takers.more(20)
            kill_in_its_write(db, "vesta_reservation")
            takers.more(20)
        same(takers.failed, [])
        time.sleep(1.1)  # Unsettled reservations expire.
        committed = takers.numbers()
        for _ in range(50):
            if sorted(committed) == list(range(1, len(committed) + 1)):
                break
            committed += invoice()
        same(sorted(committed), list(range(1, len(committed) + 1)))


def reserved(sock):
    sock.sendall(command("VESTA.RESERVE", "line"))
    reply = b""
    while reply.count(b"\r\n") < 16:
        reply += sock.recv(1000)
    found = re.search(rb"number\r\n\$\d+\r\n(\d+)\r\n\$5\r\ntoken\r\n\$32\r\n(\w+)", reply)
    return found[1].decode(), found[2].decode()


@claim("a commit that waits for a lock of the database does not delay another commit of its tag")
def _(world):
    world.own_maps()
    for words in (("store", "init", "--segments"), ("segments", "add", "line", "--step", "1")):
        same(world.run(*words, "--store", mysql_uri()).code, 0)
    text = "return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = { 'line' }, order = 'dense', wait_ms_max = 60000 } } }"
    with Configured(world, text % mysql_uri(), "--threads", "1") as server:
        slow, quick = server.connect(server.resp), server.connect(server.resp)
        (first, token), (second, other) = reserved(slow), reserved(quick)
        where = "FROM vesta.vesta_reservation WHERE tag = 'line' AND number = %s" % first
        key = mariadb().sql("SELECT HEX(counters), HEX(token) %s" % where).split()
        holder = mariadb().session()
        holder.stdin.write("START TRANSACTION; SELECT number FROM vesta.vesta_reservation WHERE counters = UNHEX('%s') AND tag = 'line'"
                           " AND token = UNHEX('%s') FOR UPDATE;\n" % tuple(key))
        same(holder.stdout.readline(), first + "\n")
        slow.sendall(command("VESTA.COMMIT", "line", first, token))
        time.sleep(0.2)  # It is first in the queue.
        quick.sendall(command("VESTA.COMMIT", "line", second, other))
        same(quick.recv(100), b"+OK\r\n")
        holder.communicate("COMMIT;\n")
        same(slow.recv(100), b"+OK\r\n")
        slow.close()
        quick.close()


@claim("ZooKeeper is killed and restarted: requests wait, and no number is duplicated")
def _(world):
    zk = zookeeper()
    for words in (("store", "init", "--namespace", "unused", "--layout", "snowflake"), ("segments", "add", "orders", "--step", "10")):
        done = world.run(*words, "--store", zk_uri())
        same((done.code, done.err), (0, ""))
    text = ("return { stores = { a = { uri = '%s' } }, segments = { { store = 'a', tags = '*', step_max = 10, wait_ms_max = 60000 } } }" % zk_uri())
    with Configured(world, text) as server:
        with Takers(lambda: bulks(server.redis("VESTA.NEXT", "orders", "5"))) as takers:
            takers.more(40)
            zk.stop(signal.SIGKILL)
            time.sleep(0.5)
            zk.start().ready()
            takers.more(40)
    same(takers.failed, [])
    numbers = takers.numbers()
    same(len(set(numbers)), len(numbers))
    assert len(numbers) >= 400, len(numbers)


main()
