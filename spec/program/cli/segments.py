"""segments.py -- `vesta segments` on each kind of store."""
import datetime
import json
import re
import subprocess
import threading
import time

import served
from harness import claim, fails, main, same, shifted

TINYID = ("CREATE TABLE %s (id BIGINT AUTO_INCREMENT PRIMARY KEY, biz_type VARCHAR(63) NOT NULL UNIQUE, begin_id BIGINT NOT NULL DEFAULT 0,"
          " max_id BIGINT NOT NULL DEFAULT 0, step INT DEFAULT 0, delta INT NOT NULL DEFAULT 1, remainder INT NOT NULL DEFAULT 0,"
          " create_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,"
          " version BIGINT NOT NULL DEFAULT 0)")


def look(world, uri, *more):
    done = world.run("segments", "--store", uri, "--json", *more)
    same((done.code, done.err), (0, ""))
    return {row["tag"]: row for row in json.loads(done.out)["tags"]}


def ok(world, *words):
    done = world.run("segments", *words)
    same((done.code, done.err), (0, ""))
    return done.out


def database(name):
    served.mariadb().sql("CREATE DATABASE %s" % name)
    return served.mysql_uri(name=name)


def prepared(world):
    for uri in (served.mysql_uri(), served.postgresql_uri(), served.zk_uri()):
        same(world.run("store", "init", "--segments", "--namespace", "any", "--layout", "snowflake", "--store", uri).code, 0)
    return served.stores(world)


@claim("on each kind of store, a counter is added once, listed, and given another step")
def _(world):
    for kind, uri in prepared(world).items():
        same(ok(world, "--store", uri).splitlines()[-1].startswith("0 tags in "), True)
        same(ok(world, "add", "orders", "--from", "1000", "--step", "500", "--store", uri), "orders begins with 1,000, in steps of 500\n")
        fails(world.run("segments", "add", "orders", "--store", uri), 1, "orders", "exists already")
        same(ok(world, "add", "a.b:c-d_E", "--store", uri), "a.b:c-d_E begins with 1, in steps of 1,000\n")
        same(ok(world, "step", "orders", "9", "--store", uri), "orders has steps of 9\n")
        fails(world.run("segments", "step", "none", "9", "--store", uri), 1, "tag 'none' does not exist", "vesta segments add none")
        rows = look(world, uri)
        same(list(rows), ["a.b:c-d_E", "orders"])
        orders = rows["orders"]
        same((orders["max"], orders["step"], orders["delta"], orders["remainder"]), ("1000", 9, 1, 0))
        assert abs(orders["updated_ms"] / 1000 - time.time()) < 600, (kind, orders)
        lines = ok(world, "--store", uri).splitlines()
        assert re.fullmatch(r"orders +1,000 +9 +- +20\d\d-\S+Z", lines[2]), lines
        assert lines[3].startswith("2 tags in " + kind) and "own%2Fer" not in lines[3] and "se%2Fcret" not in lines[3], lines


@claim("a config can name several tables and databases, and a change of a tag applies to each database of its row")
def _(world):
    first, second = ("sqlite:" + world.path(name) for name in ("a/v.db", "b/v.db"))
    with open(world.path("c.lua"), "w") as file:
        file.write('return { stores = { a = { uri = "%s" }, b = { uri = "%s" } }, namespaces = { default = {} }, segments = {'
                   '{ store = "a", tags = "*" }, { stores = { "a", "b" }, table = "two", tags = { "orders" } } } }' % (first, second))
    config = world.path("c.lua")
    same(ok(world, "add", "orders", "-c", config), "orders begins with 1, in steps of 1,000\n")
    ok(world, "add", "else", "-c", config, "--from", "0")
    ok(world, "step", "orders", "77", "-c", config)
    same((look(world, first), look(world, second)), ({"else": look(world, first)["else"]}, {}))
    same([look(world, uri, "--table", "two")["orders"]["step"] for uri in (first, second)], [77, 77])
    done = world.run("segments", "-c", config, "--json")
    same([len(json.loads(line)["tags"]) for line in done.lines()], [1, 1, 1])
    fails(world.run("segments", "-c", config, "--store", first), 2, "--config names the stores")
    fails(world.run("segments", "-c", world.path("none.lua")), 1, "none.lua")
    with open(config, "w") as file:
        file.write('return { stores = { a = { uri = "%s" } }, namespaces = { default = {} }, segments = { { store = "a", tags = { "x" } } } }' % first)
    fails(world.run("segments", "add", "orders", "-c", config), 2, "no row of segments has the tag 'orders'")
    with open(config, "w") as file:
        file.write('return { stores = { f = { uri = "file:%s" } }, namespaces = { default = {} }, segments = { { store = "f", tags = "*" } } }'
                   % world.path("files"))
    ok(world, "add", "orders", "-c", config)
    same(list(look(world, "file:" + world.path("files"))), ["orders"])


@claim("if a config takes all tags of two tables, an existing tag is found in its table, and --table chooses for a "
       "new one")
def _(world):
    first, second = ("sqlite:" + world.path(name) for name in ("a/v.db", "b/v.db"))
    ok(world, "add", "orders", "--from", "10", "--store", first)
    ok(world, "add", "tickets", "--from", "20", "--store", second, "--table", "two")
    ok(world, "add", "users", "--from", "30", "--store", second, "--table", "two")
    config = world.path("c.lua")
    with open(config, "w") as file:
        file.write('return { stores = { a = { uri = "%s" }, b = { uri = "%s" } }, namespaces = { default = {} }, segments = {'
                   '{ store = "a", tags = "*" }, { store = "b", table = "two", tags = "*" } } }' % (first, second))
    same([ok(world, "take", tag, "-c", config) for tag in ("orders", "tickets")], ["10\n", "20\n"])
    ok(world, "step", "tickets", "77", "-c", config)
    same((look(world, second, "--table", "two")["tickets"]["step"], list(look(world, first))), (77, ["orders"]))
    fails(world.run("segments", "resume", "tickets", "-c", config), 1, "was not stopped")
    fails(world.run("segments", "step", "nosuch", "9", "-c", config), 1, "no table of the config has the tag nosuch")
    fails(world.run("segments", "add", "new", "-c", config), 2, "several tables for the new tag new (leaf_alloc, two)", "--table")
    ok(world, "add", "new", "-c", config, "--table", "two")
    ok(world, "add", "tickets", "-c", config, "--table", "leaf_alloc")
    fails(world.run("segments", "take", "tickets", "-c", config), 2, "tickets is in several tables of the config (leaf_alloc, two)", "--table")
    same(ok(world, "take", "tickets", "-c", config, "--table", "two"), "21\n")
    same([line.split()[0] for line in ok(world, "-c", config, "--table", "two").splitlines()[1:4]], ["new", "tickets", "users"])
    fails(world.run("segments", "-c", config, "--table", "three"), 2, '--table is "three"', "leaf_alloc, two")


INVOICE = "INV-{day:%Y%m%d}-{number:4}-{luhn}"


@claim("take prints numbers and takes one step per call, business numbers restart each day, and an exhausted day is "
       "an error")
def _(world):
    for uri in prepared(world).values():
        ok(world, "add", "plain", "--from", "7", "--store", uri)
        same(ok(world, "take", "plain", "--store", uri), "7\n")
        same(ok(world, "take", "plain", "-n", "3", "--store", uri), "8\n9\n10\n")
        same(ok(world, "take", "plain", "--form", "R{number:5}", "--store", uri), "R00011\n")
        fails(world.run("segments", "take", "plain", "--form", INVOICE, "--store", uri), 1, "has issued numbers in a different form")
        # The failed call neither raised the counter nor lost a number.
        same(ok(world, "take", "plain", "--store", uri), "12\n")
        ok(world, "add", "digits", "--from", "11", "--store", uri)
        same(ok(world, "take", "digits", "--store", uri), "11\n")
        done = world.run("segments", "take", "digits", "--form", INVOICE, "--store", uri)
        assert done.code == 1 and "up to 11 without a date," in done.err, done.err
        # The rejected form has left no trace.
        same(ok(world, "take", "digits", "--form", "R{number:5}", "--store", uri), "R00012\n")
        ok(world, "add", "invoices", "--store", uri)
        first = ok(world, "take", "invoices", "-n", "2", "--form", INVOICE, "--zone", "Europe/Berlin", "--store", uri).split()
        same([text[13:17] for text in first], ["0001", "0002"])
        got = world.run("explain", "--json", "--form", INVOICE, *first).lines()
        same([json.loads(line)["number"] for line in got], ["1", "2"])
        ahead = world.run("segments", "take", "invoices", "--form", INVOICE, "--store", uri, env=shifted("+2592000"))
        same((ahead.code, len(ahead.out)), (0, 20))
        if uri.startswith(("file:", "sqlite:")):  # The clock of these stores is the host's.
            same(ahead.out[13:17], "0001")
            assert ahead.out[4:12] > first[0][4:12], (first, ahead.out)
            # The store does not return to an earlier day.
            same(ok(world, "take", "invoices", "--form", INVOICE, "--store", uri)[4:17], ahead.out[4:12] + "-0002")
        else:  # The wrong clock of one host does not change the day.
            days = [datetime.datetime.strptime(text[4:12], "%Y%m%d") for text in (first[0], ahead.out)]
            assert days[1] - days[0] <= datetime.timedelta(days=1), (first, ahead.out)
        done = world.run("segments", "take", "invoices", "-n", "10000", "--form", INVOICE, "--store", uri)
        fails(done, 1, "the numbers of this day are used up")
        fails(world.run("segments", "take", "none", "--store", uri), 1, "tag 'none' does not exist")
    for words in (["take"], ["take", "a", "b"], ["take", "a b"], ["take", "x", "-n", "0"], ["take", "x", "-n", "65537"], ["take", "x", "--zone", "UTC"],
                  ["take", "x", "--form", "{"], ["take", "x", "--form", INVOICE, "--zone", "../etc/passwd"], ["take", "x", "--form", INVOICE, "--zone", ""]):
        fails(world.run("segments", *words, "--store", uri), 2)


@claim("at midnight, three hosts with clocks 2 s apart issue no duplicates, and no number of yesterday after today's "
       "first")
def _(world):
    def day_at(at):
        return world.run("make", "--form", "{day:%Y%m%d}-{number}", "--zone", "Europe/Berlin", "number=1", "time=%d" % (at * 1000)).out[:8]
    hour = int(time.time()) // 3600 * 3600
    midnight = next(at for at in range(hour + 3600, hour + 27 * 3600, 3600) if day_at(at) != day_at(at - 1))
    uri, taken, begin = "sqlite:" + world.path("midnight.db"), [], time.time() + 1

    def take(shift):
        begun = time.monotonic()
        done = world.run("segments", "take", "midnight", "-n", "2", "--form", INVOICE, "--zone", "Europe/Berlin", "--json", "--store", uri,
                         env=shifted("%+d" % shift))
        same((done.code, done.err), (0, ""))
        taken.extend((begun, time.monotonic(), json.loads(line)["text"]) for line in done.lines())

    def host(off):
        while time.time() < begin + 5:
            take(midnight - 3 - begin + off)
        take(midnight + 60 - begin + off)
    ok(world, "add", "midnight", "--store", uri)
    take(midnight - 60 - begin)
    hosts = [threading.Thread(target=host, args=(off,)) for off in (-2, 0, 2)]
    for thread in hosts:
        thread.start()
    for thread in hosts:
        thread.join()
    texts = [text for _, _, text in taken]
    same(len(set(texts)), len(texts))
    same(len(texts) % 2, 0)
    yesterday, today = sorted({text[4:12] for text in texts})
    same((yesterday, today), (day_at(midnight - 1), day_at(midnight)))
    first = min(ended for _, ended, text in taken if text[4:12] == today)
    same([text for begun, _, text in taken if begun > first and text[4:12] == yesterday], [])
    same(sorted(text[13:17] for text in texts if text[4:12] == today), ["%04d" % (n + 1) for n in range(sum(text[4:12] == today for text in texts))])


@claim("--watch prints the numbers granted per second, and SIGTERM ends it")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    ok(world, "add", "orders", "--store", uri)
    process = world.start("segments", "--watch", "--json", "--store", uri, stdout=subprocess.PIPE, text=True)
    first = json.loads(process.stdout.readline())
    same("granted_s" in first["tags"][0], False)
    ok(world, "import", "leaf_alloc", uri, "--ahead", "50000", "--yes", "--store", uri)
    while True:
        row = json.loads(process.stdout.readline())["tags"][0]
        if row["granted_s"] > 0:
            break
    assert row["max"] == "50001" and 0 < row["granted_s"] <= 100000, row
    process.terminate()
    process.stdout.read()
    process.stdout.close()
    same(process.wait(), 0)


@claim("import shows a tiny_id_info first, takes it over above every issued number, and does so once")
def _(world):
    source, target = database("tiny"), "sqlite:" + world.path("v.db")
    sql = served.mariadb().sql
    sql(TINYID % "tiny.tiny_id_info")
    sql("INSERT INTO tiny.tiny_id_info (biz_type, max_id, step) VALUES ('orders', 100000, 500), ('users', 7, 0), ('of others', 5, 1)")
    words = ("import", "tiny_id_info", source, "--store", target)
    done = world.run("segments", *words)
    same(done.code, 0)
    assert "1 rows are skipped" in done.err and "'of others'" in done.err, done.err
    assert "nothing was written" in done.out and re.search(r"orders +add +begins with 100,001, in steps of 500", done.out), done.out
    same(look(world, target), {})
    done = world.run("segments", *words, "--yes")
    assert done.code == 0 and "2 to add, 0 to raise, 0 already there: done" in done.out, done.out
    rows = look(world, target)
    same([(rows[tag]["max"], rows[tag]["step"]) for tag in ("orders", "users")], [("100001", 500), ("8", 1000)])
    assert "0 to add, 0 to raise, 2 already there" in world.run("segments", *words, "--yes").out
    sql("UPDATE tiny.tiny_id_info SET max_id = 300000 WHERE biz_type = 'orders'")
    done = world.run("segments", *words, "--yes", "--json")
    same([(line["tag"], line["deed"], line["from"]) for line in map(json.loads, done.lines())],
         [("orders", "raise", "300001"), ("users", "same", "8")])
    same(look(world, target)["orders"]["max"], "300001")
    same(world.run("segments", *words, "--yes", "--tag", "users", "--as", "people", "--step", "3").code, 0)
    same((look(world, target)["people"]["max"], look(world, target)["people"]["step"]), ("8", 3))
    fails(world.run("segments", *words, "--as", "people"), 2, "--as names one tag")
    fails(world.run("segments", *words, "--tag", "users", "--as", "not a tag"), 2, "which is not a valid tag")
    fails(world.run("segments", *words, "--tag", "nobody"), 1, "there is no tag to import")


@claim("import requires every database of a delta, and starts above all of them")
def _(world):
    sources, target = [database("odd"), database("even")], "sqlite:" + world.path("v.db")
    for place, (name, top) in enumerate((("odd", 1000), ("even", 90000))):
        served.mariadb().sql(TINYID % (name + ".tiny_id_info"))
        served.mariadb().sql("INSERT INTO %s.tiny_id_info (biz_type, max_id, step, delta, remainder) VALUES ('orders', %d, 100, 2, %d)"
                             % (name, top, place))
    fails(world.run("segments", "import", "tiny_id_info", sources[0], "--store", target, "--yes"), 1, "delta of 2", "so name all 2 databases")
    same(look(world, target), {})
    same(world.run("segments", "import", "tiny_id_info", *sources, "--store", target, "--yes").code, 0)
    same(look(world, target)["orders"]["max"], "90001")
    for column, value in (("delta", 0), ("remainder", 2), ("max_id", -5), ("max_id", 2 ** 63 - 1)):
        served.mariadb().sql("UPDATE even.tiny_id_info SET delta = 2, remainder = 1, max_id = 90000")
        served.mariadb().sql("UPDATE even.tiny_id_info SET %s = %d" % (column, value))
        done = world.run("segments", "import", "tiny_id_info", *sources, "--store", target, "--yes")
        assert done.code == 1 and "orders" in done.err, (column, done.err)
    same(look(world, target)["orders"]["max"], "90001")
    # so that orders remains unusable
    served.mariadb().sql("INSERT INTO even.tiny_id_info (biz_type, max_id, step, delta) VALUES ('users', 7, 100, 1)")
    done = world.run("segments", "import", "tiny_id_info", *sources, "--store", target, "--yes")
    assert done.code == 1 and "the row of tag 'orders' cannot be used" in done.err and "import it by --tag orders" in done.err, done.err
    same({tag: row["max"] for tag, row in look(world, target).items()}, {"orders": "90001", "users": "8"})


@claim("import rejects a source that is still in use, unless it starts far enough above")
def _(world):
    source, target = database("moves"), "sqlite:" + world.path("v.db")
    served.mariadb().sql(TINYID % "moves.tiny_id_info")
    served.mariadb().sql("INSERT INTO moves.tiny_id_info (biz_type, max_id, step) VALUES ('orders', 1000, 100)")
    writer = served.mariadb().session()
    writer.stdin.write("".join("UPDATE moves.tiny_id_info SET max_id = max_id + 100; SELECT SLEEP(0.05);\n" for _ in range(600)))
    writer.stdin.flush()
    try:
        fails(world.run("segments", "import", "tiny_id_info", source, "--store", target, "--yes"), 1, "orders still increases", "--ahead N")
        same(look(world, target), {})
        same(world.run("segments", "import", "tiny_id_info", source, "--store", target, "--yes", "--ahead", "1000000").code, 0)
        assert int(look(world, target)["orders"]["max"]) > 1001000
    finally:
        writer.kill()
        writer.communicate()


@claim("import takes over a ticket server's table above its deleted numbers")
def _(world):
    source, target = database("tickets"), "sqlite:" + world.path("v.db")
    served.mariadb().sql("CREATE TABLE tickets.Tickets64 (id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, stub CHAR(1) NOT NULL UNIQUE)")
    served.mariadb().sql("USE tickets; " + "REPLACE INTO Tickets64 (stub) VALUES ('a'); " * 20)
    same(world.run("segments", "import", "Tickets64", source, "--as", "orders", "--store", target, "--yes").code, 0)
    same(look(world, target)["orders"]["max"], "21")
    served.mariadb().sql("USE tickets; REPLACE INTO Tickets64 (stub) VALUES ('a'); DELETE FROM Tickets64")
    same(world.run("segments", "import", "Tickets64", source, "--as", "orders", "--store", target, "--yes").code, 0)
    same(look(world, target)["orders"]["max"], "22")


@claim("if the collation equates a tag with another one, take, add and step name the other tag")
def _(world):
    uri = database("folded")
    same(world.run("store", "init", "--segments", "--store", uri).code, 0)
    served.mariadb().sql("ALTER TABLE folded.leaf_alloc MODIFY biz_tag VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL")
    ok(world, "add", "orders", "--store", uri)
    for words in (["take", "Orders"], ["add", "Orders"], ["step", "Orders", "5"]):
        fails(world.run("segments", *words, "--store", uri), 1, "no tag 'Orders', but 'orders'", "use the tag 'orders'")


@claim("each command that writes reports a setting that can lose acknowledged numbers, and rejects an engine that is "
       "not durable")
def _(world):
    uri, db = database("lossy"), served.mariadb()
    db.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    try:
        for words in (["store", "init", "--segments"], ["segments", "add", "orders"], ["segments", "take", "orders"],
                      ["segments", "step", "orders", "5"]):
            done = world.run(*words, "--store", uri)
            same(done.code, 0)
            assert "innodb_flush_log_at_trx_commit is 2, so set innodb_flush_log_at_trx_commit=1" in done.err, done.err
    finally:
        db.sql("SET GLOBAL innodb_flush_log_at_trx_commit = 1; ALTER TABLE lossy.leaf_alloc ENGINE=MEMORY")
    for words in (["take", "orders"], ["add", "more"], ["import", "leaf_alloc", uri, "--as", "more", "--tag", "orders", "--ahead", "5", "--yes"]):
        fails(world.run("segments", *words, "--store", uri), 1, "leaf_alloc has the engine MEMORY")
    same(world.run("segments", "import", "leaf_alloc", uri, "--store", "sqlite:" + world.path("v.db"), "--yes").code, 0)


@claim("invalid arguments are rejected with 2, and an unusable store is reported with the reason")
def _(world):
    uri = "sqlite:" + world.path("v.db")
    for words in (["operand", "--store", uri], ["--store", ""], ["--store", "nowhere:/x"], ["--table", "x"], [], ["add", "--store", uri],
                  ["add", "a", "b", "--store", uri], ["add", "a b", "--store", uri], ["add", "", "--store", uri], ["add", "x" * 65, "--store", uri],
                  ["add", ".x", "--store", uri], ["add", "a'b", "--store", uri], ["add", "a\x1b[2J", "--store", uri], ["add", "ä", "--store", uri],
                  ["add", "x", "--from", "-1", "--store", uri], ["add", "x", "--from", str(2 ** 63 - 1), "--store", uri],
                  ["add", "x", "--step", "0", "--store", uri], ["add", "x", "--step", str(2 ** 32 + 1), "--store", uri],
                  ["step", "x", "--store", uri], ["step", "x", "0", "--store", uri], ["step", "x", "9" * 400, "--store", uri],
                  ["step", "x", "1.5", "--store", uri], ["step", "'; --", "1", "--store", uri], ["import", "--store", uri], ["import", "t", "--store", uri],
                  ["import", "t", uri], ["import", "t", uri, "--ahead", "0", "--store", uri], ["import", "t"] + [uri] * 17 + ["--store", uri],
                  ["import", "t", "nowhere:", "--store", uri], ["--watch=1", "--store", uri]):
        fails(world.run("segments", *words), 2)
    for words in (["--table", "a b"], ["--table", 'x"; DROP TABLE leaf_alloc; --'], ["--table", "x" * 65], ["--table", "../x"]):
        fails(world.run("segments", "--store", uri, *words), 1, "is not a valid table name")
    fails(world.run("segments", "--store", "file:" + world.path("f"), "--table", "x"), 1, "no tables")
    fails(world.run("segments", "--store", "mysql://a@127.0.0.1:1/b"), 1, "mysql://a@127.0.0.1:1/b")
    fails(world.run("segments", "--store", served.mysql_uri(), "--table", "no_such_table"), 1, "no_such_table")
    fails(world.run("segments", "import", "leaf_alloc", uri, "--store", uri), 1, "there is no tag to import")
    same(ok(world, "add", "x", "--from", str(2 ** 63 - 2), "--step", str(2 ** 32), "--store", uri)[:7], "x begin")


main()
