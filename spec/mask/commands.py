"""commands.py -- masks in configs and in the commands gen, segments take and explain."""
import json
import os

from harness import claim, fails, main, same
from serving import write
from worlds import KEY, config, key


def check(world, mask, counter_mask=None, **more):
    return world.run("check", write(world, config(world, mask, counter_mask, **more)))


@claim("a mask that cannot work is rejected with the key of the config and the next step")
def _(world):
    a, b = key(world, "a.key"), key(world, "b.key", KEY[::-1])
    key(world, "open.key", mode=0o644), key(world, "short.key", KEY[:30]), key(world, "long.key", KEY * 3)
    key(world, "chosen.key", "a password of a person"), key(world, "two.key", KEY + "\n" + KEY)
    files = "secret_file = { '%s', '%s' }"
    for mask, *parts in (
            ("digits = 10, secret_file = '%s'" % a, "mask.digits can show numbers up to 9999999999", "the layout's ids need 19 decimal digits", "in the year 2010", "digits = 19, or 13 base32 characters"),
            ("digits = 18, secret_file = '%s'" % a, "exceed it in the year 2018"),
            ("digits = 19, max = 3000000000000000000, secret_file = '%s'" % a, "exceed it in the year 2033"),
            ("digits = 5, secret_file = '%s'" % a, "mask.digits has 5 decimal digits, which must be 6 to 20"),
            ("digits = 21, secret_file = '%s'" % a, "mask.digits is 21"),
            ("digits = 14, alphabet = 'base32', secret_file = '%s'" % a, "mask.digits has 14 base32 characters, which must be 4 to 13"),
            ("digits = 10, max = 99999999999, secret_file = '%s'" % a, "mask.max is 99999999999, which 10 decimal digits cannot show"),
            ("digits = 13, alphabet = 'base32', check = 'damm', secret_file = '%s'" % a, 'mask.check is for decimal digits only: use check = "iso7064"'),
            ("digits = 19, check = 'crc', secret_file = '%s'" % a, 'mask.check is \'crc\''),
            ("digits = 19", "needs the key mask.secret_file", "openssl rand -hex 32"),
            ("secret_file = '%s'" % a, "needs the key mask.digits"),
            ("check = 'luhn'", "mask.check is set, but mask.digits and mask.secret_file are missing"),
            ("digit = 19", "mask.digit is not a key, did you mean digits?"),
            ("digits = 19, secret_file = 'a.key'", "path of a file that begins with /"),
            ("digits = 19, secret_file = '0:%s'" % a, "a version from 1 to 9"),
            ("digits = 19, secret_file = '%s/no.key'" % world.folder, "mask.secret_file cannot be used: cannot read the key", "No such file"),
            ("digits = 19, secret_file = '%s'" % world.path("open.key"), "other users may read the key", "run chmod o= on it"),
            ("digits = 19, secret_file = '%s'" % world.path("short.key"), "must be 16, 24 or 32 bytes in hex or base64"),
            ("digits = 19, secret_file = '%s'" % world.path("long.key"), "must be 16, 24 or 32 bytes"),
            ("digits = 19, secret_file = '%s'" % world.path("chosen.key"), "must be 16, 24 or 32 bytes"),
            ("digits = 19, secret_file = '%s'" % world.path("two.key"), "the file must have only one line"),
            ("digits = 19, " + files % (a, b), "has two files without a version", 'write the newer one as "1:'),
            ("digits = 19, " + files % ("1:" + a, "1:" + b), "has version 1 twice")):
        fails(check(world, mask), 1, "vesta.lua:", "namespaces.orders.mask.", *parts)
    fails(world.run("check", write(world, "return { namespaces = { orders = { mask = 10 } } }")), 1, "mask is 10, which must be a table such as { secret_file")
    fails(world.run("check", write(world, "return { namespaces = { orders = { digits = 10 } } }")), 1, "it belongs in namespaces.NAME.mask")


@claim("a counter's mask is checked too, and cannot be combined with a form or gapless numbers")
def _(world):
    good = "digits = 19, secret_file = '%s'" % key(world, "a.key")
    fails(check(world, good, "digits = 3, secret_file = '%s'" % world.path("a.key")), 1, "segments[1].mask.digits is 3")
    fails(check(world, good, good + " }, form = '{number:6}', zone = nil, tags = { 'invoices'"), 1, "segments[1].mask.digits and form are both set")
    fails(check(world, good, good + " }, order = 'dense', tags = { 'invoices'"), 1, "segments[1].mask.digits cannot be used with order dense")
    same(check(world, good, good).code, 0)


@claim("gen and segments take mask ids, and explain --mask reads them")
def _(world):
    a = key(world, "a.key")
    same(world.run("segments", "add", "invoices", "--store", "sqlite:" + world.path("v.db")).code, 0)
    path = write(world, config(world, "digits = 13, alphabet = 'base32', check = 'iso7064', secret_file = '%s'" % a,
                               "digits = 6, secret_file = '3:%s'" % a))
    texts = world.run("gen", "-c", path, "-n", "300").lines()
    same((len(set(texts)), {len(text) for text in texts}), (300, {15}))
    found = [json.loads(line) for line in world.run("explain", "--mask", "--json", "-c", path, *texts).lines()]
    ids = [int(one["id"]) for one in found]
    same(([one["masked"] for one in found], ids, {one["worker"] for one in found}), (texts, sorted(set(ids)), {5}))
    typed = texts[0].lower().replace("1", "l").replace("0", "o")
    for operands in [], ["-"]:
        same(json.loads(world.run("explain", "--mask", "--json", "-c", path, *operands, stdin=typed + "\n").out)["id"], str(ids[0]))
    assert "masked with key version 0" in world.run("explain", "--mask", "-c", path, texts[0]).out
    same(world.run("gen", "-c", path, "--json").out.count('{"id":"'), 1)
    assert world.run("gen", "-c", path, "--namespace", "plain").out.strip().isdigit()
    numbers = world.run("segments", "take", "invoices", "-n", "3", "-c", path).lines()
    same({(len(text), text[0]) for text in numbers}, {(7, "3")})
    same([world.run("explain", "--mask", "-c", path, "--tag", "invoices", text).out for text in numbers],
         ["%s  number %d, key version 3\n" % (text, n) for n, text in enumerate(numbers, 1)])
    fails(world.run("explain", "--mask", "-c", path, texts[0][:-2] + "99"), 1, "has a wrong check digit")
    for text, part in (("1234567", "begins with key version 1, which mask.secret_file does not list"), ("123456", "needs the key without a version"),
                       ("0234567", "has 7 characters: a masked number has 6, or 7 if"), ("12345", "has 5 characters")):
        fails(world.run("explain", "--mask", "-c", path, "--tag", "invoices", text), 1, "'%s' %s" % (text, part))
    summary = world.run("check", path).out
    assert ", masked: 13 digits and iso7064\n" in summary and ", masked: 6 digits\n" in summary, summary
    fails(world.run("explain", "--mask", "-c", path, "--namespace", "plain", "1"), 2, "has no mask in the config")
    fails(world.run("explain", "--mask", "1"), 2, "--mask needs the config", "add -c FILE")
    fails(world.run("explain", "--tag", "invoices", "1"), 2, "--tag can only be combined with --mask")
    fails(world.run("gen", "-c", path, "--shape", "uuid7"), 2, "--shape uuid7 would show the plain ids of orders")
    fails(world.run("gen", "-c", path, "--format", "hex"), 2, "--format cannot be combined with the mask of orders")


@claim("gen shows UUIDs of version 7 as version 4, and explain --mask turns them back")
def _(world):
    u = "uuid_secret_file = '%s'" % key(world, "u.key")
    path = write(world, config(world, u))
    texts = world.run("gen", "-c", path, "--shape", "uuid7", "-n", "200").lines()
    same((len(set(texts)), {text[14] for text in texts}), (200, {"4"}))
    found = [json.loads(line) for line in world.run("explain", "--mask", "--json", "-c", path, *texts).lines()]
    same(({one["kind"] for one in found}, [one["uuid"] for one in found]), ({"uuid7"}, sorted(one["uuid"] for one in found)))
    same(world.run("explain", "--mask", "-c", path, texts[0]).out.splitlines()[:2],
         [texts[0] + "  masked", found[0]["uuid"] + "  UUID of version 7, read as uuid7 of snowflake"])
    (typed,) = world.run("gen", "-c", path, "--type-prefix", "order").lines()
    same(json.loads(world.run("explain", "--mask", "--json", "-c", path, typed).out)["version"], 7)
    fails(world.run("gen", "-c", path, "--shape", "ulid"), 2, "--shape ulid would show the plain ids of orders", "use --shape uuid7")
    fails(world.run("explain", "--mask", "-c", path, found[0]["uuid"]), 1, "is a UUID of version 7, but masked UUIDs have version 4")
    fails(world.run("explain", "--mask", "-c", path, "12"), 1, "12")
    key(world, "u.key", KEY * 2)
    fails(world.run("check", path), 1, "mask.uuid_secret_file cannot be used: the key", "has 32 bytes, which must be 16", "openssl rand -hex 16")
    key(world, "u.key", mode=0o644)
    fails(world.run("check", path), 1, "other users may read the key")


@claim("commands that need no key read a config with a key that they may not read")
def _(world):
    a = key(world, "a.key")
    path = write(world, config(world, "digits = 19, secret_file = '%s'" % a))
    os.unlink(a)
    same(world.run("explain", "-c", path, "2125983733360906240").code, 0)
    fails(world.run("gen", "-c", path), 1, "the mask of orders: cannot read the key")
    fails(world.run("check", path), 1, "cannot read the key")


main()
