"""conformance.py VESTA BUILD LANGUAGE [WORDS OF A CLAIM] -- the claims that each class of examples/inprocess must pass."""
import glob
import os
import re
import subprocess
import sys
import time
from urllib.parse import quote, unquote

BUILD, NAME = os.path.abspath(sys.argv[2]), sys.argv[3]
sys.argv[2:4] = []
from harness import VESTA, claim, main, same, set_clock, shifted  # noqa: E402
from languages import HERE, LANGUAGES  # noqa: E402
from driver import Driver, Ledger  # noqa: E402
from servers import until  # noqa: E402

LANGUAGE = next(language for language in LANGUAGES if language.name == NAME)
LIBRARY = os.path.join(os.path.dirname(VESTA), "csrc", "libvesta.so.0")
WIDE = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"
HIGH = "top:1=1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"  # all ids are above 2^63
SKIPPED = 77
ROOT = os.path.join(HERE, "..", "..")


def claim_unless(is_so, text):
    return (lambda function: function) if is_so else claim(text)


class Ids(Driver):
    """A driver, and the generator file FOLDER/ids.gen that it opens."""

    def __init__(self, world, env=None):
        super().__init__(world, LANGUAGE, BUILD, world.__dict__.setdefault("ledger", Ledger()),
                         {"LD_LIBRARY_PATH": os.path.dirname(LIBRARY), **(env or {})})
        self.name, self.seen = "ids", set()
        world.ends.callback(self.stop)

    def stop(self):
        if self.process.poll() is None:
            same(self.end(), 0)

    def options(self, text):
        return self.say("open %s %s" % (self.wait_ms, quote(text, safe="")))

    def opens(self, more="any_worker=true", layout=WIDE, wait_ms=10_000):
        self.wait_ms = wait_ms
        same(self.options("path=%s/ids.gen layout='%s' %s" % (self.cell.folder, layout, more)).line, "ok")
        return self

    def rejects(self, line, code, *parts):
        """Checks that a command fails with this code, and that its text has these parts."""
        said = self.say(line)
        assert said.error.split(" ")[0] == code, "%s: want %s, got %s" % (line, code, said.line[:300])
        for part in parts:
            assert part in said.error, "%s: %r is not in %r" % (line, part, said.error)

    def fields(self, line):
        said = self.say(line).line
        assert said.startswith("fields "), said
        return {name: unquote(value) for name, value in (pair.split("=", 1) for pair in said.split()[1:])}

    def worker(self):
        return int(self.fields("info")["worker"])


@claim("ids ascend, and can be read back, made again, and written and parsed in each base")
def _(w):
    ids = Ids(w).opens()
    numbers = ids.next(200) + ids.ids("batch 10000").ids + ids.next(1)
    assert numbers == sorted(numbers) and len(numbers) == 10201
    fields, info = ids.fields("explain %d" % numbers[0]), ids.fields("info")
    same(({id & 1023 for id in numbers}, fields["worker"]), ({int(info["worker"])}, info["worker"]))
    assert abs(int(fields.pop("unix_ms")) - time.time() * 1000) < 60_000
    same(ids.say("make " + " ".join("%s=%s" % pair for pair in fields.items())).ids, numbers[:1])
    same((info["path"], info["layout"], info["holds_lease"]), (w.path("ids.gen"), WIDE, "true"))
    for base, digits in ("decimal", len(str(numbers[0]))), ("hex", 16), ("base32", 13), ("base62", 11):
        text = ids.say("format %d %s" % (numbers[0], base)).line.split(" ")[1]
        same((len(text), ids.say("parse %s %s" % (base, text)).ids), (digits, numbers[:1]))


@claim("an id above 2^63 is an unsigned number")
def _(w):
    ids = Ids(w).opens(layout=HIGH)
    numbers = ids.next(20) + ids.ids("batch 20").ids + ids.ids("at_once 2 20").ids
    assert all(2**63 < id < 2**64 for id in numbers), numbers
    same(ids.fields("explain %d" % numbers[0])["top"], "1")
    same(ids.say("make time=5 seq=1 worker=3").ids, [1 << 63 | 5 << 32 | 1 << 10 | 3])
    for id in numbers[0], 2**64 - 1:
        for base in "decimal", "hex", "base32", "base62":
            same(ids.say("parse %s %s" % (base, ids.say("format %d %s" % (id, base)).line.split(" ")[1])).ids, [id])


@claim("an id below 2^53, which an FFI may return as another type, is like all others")
def _(w):
    ids = Ids(w).opens(layout="sign:10 time:31 seq:13 worker:10 unit=1s epoch=2020-01-01T00:00:00Z")
    numbers = ids.next(100) + ids.ids("batch 100").ids
    assert numbers == sorted(numbers) and max(numbers) < 2**53, numbers[:3]
    for id in 1, 2**53 - 1, 2**53 + 1:
        same(ids.say("parse decimal %d" % id).ids, [id])


@claim("wrong options are rejected with a code and a text that has the value, and the driver's object stays usable")
def _(w):
    ids = Ids(w).opens()
    for options, code, *parts in (("wroker=7", "bad_option", "did you mean worker?"), ("worker=-1", "bad_option", "-1"),
                                  ("worker=99999999999999999999", "bad_option", "99999999999999999999"),
                                  ("layout=snowfluke any_worker=true", "bad_layout", "snowfluke"), ("layout='", "bad_option", "quote"),
                                  ("path=%s layout=snowflake" % w.path("ids.gen"), "mismatch"),
                                  ("path=%s" % w.path("none.gen"), "no_generator", "any_worker"),
                                  ("path=%s any_worker=true" % w.path("ids.gen", "below.gen"), "io", "below.gen"),
                                  ("namespace=\u00e4 any_worker=true path=%s" % w.path("x.gen"), "bad_option", "namespace")):
        said = ids.options(options)
        assert said.error.split(" ")[0] == code, "%s: want %s, got %s" % (options, code, said.line)
        assert all(part in said.error for part in parts), said.line
    ids.next(1)


@claim("a batch has 1 to 10,000 ids, and any other number is rejected without an allocation or a lost id")
def _(w):
    ids = Ids(w).opens("any_worker=true pacing=history")
    before = ids.next(1)[0]
    for count in 0, -1, -(2**31), 10_001, 2**31 - 1:
        ids.rejects("batch %d" % count, "bad_option", "a batch of %d ids was requested. Request 1 to 10000" % count)
    same(ids.ids("batch 10000").ids, [before + 1024 * (i + 1) for i in range(10_000)])


@claim("texts that are not ids, ids of another layout, and wrong fields are rejected")
def _(w):
    ids = Ids(w).opens(layout=WIDE.replace("sign:1", "sign:1=0"))
    for base, text in (("decimal", ""), ("decimal", "x"), ("decimal", "12\0"), ("decimal", "-1"), ("decimal", str(2**64)), ("decimal", "9" * 5000),
                       ("hex", "0x1"), ("base32", "U"), ("base62", "LygHa16AHYG"), ("decimal", "1\u00e4")):
        ids.rejects("parse %s %s" % (base, quote(text, safe="")), "bad_id", base)
    ids.rejects("parse base61 1", "bad_option", "base61")
    ids.rejects("format 1 base61", "bad_option", "base61")
    ids.rejects("explain %d" % (1 << 63), "bad_id", "sign")
    ids.rejects("make time=5 seq=1", "bad_field", "worker")
    ids.rejects("make time=5 seq=1 worker=1024", "bad_field", "1024")
    ids.rejects("make time=5 seq=1 worker=1 colour=3", "bad_field", "colour")


@claim("after close each call is rejected with the code closed, closing again does nothing, and the next open works")
def _(w):
    ids = Ids(w).opens()
    ids.next(1)
    same([ids.say("close").line, ids.say("close").line], ["ok", "ok"])
    for line in "next 1", "batch 5", "explain 1", "make time=1 seq=1 worker=1", "info", "at_once 2 1":
        ids.rejects(line, "closed", "Open it again")
    ids.opens().next(1)


@claim("UUIDs of each shape ascend, and a shape that cannot be had is rejected")
def _(w):
    ids = Ids(w).opens()
    for shape, pattern in (("uuid7", r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
                           ("uuid8", r"[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
                           ("ulid", r"[0-7][0-9A-HJKMNP-TV-Z]{25}"), ("hex32", r"[0-9a-f]{32}")):
        texts = ids.say("uuid %s 100" % shape).line.split(" ")[1:]
        assert len(texts) == 100 and texts == sorted(set(texts)) and all(re.fullmatch(pattern, text) for text in texts), texts[:3]
    ids.rejects("uuid uuid9 1", "bad_option", "shape is 'uuid9', which must be uuid7, uuid8, ulid or hex32")
    ids.opens(layout="time:30 worker:9 seq:25 unit=1s epoch=2020-01-01T00:00:00Z", more="any_worker=true namespace=wide path=%s" % w.path("wide.gen")) \
        .rejects("uuid hex32 1", "bad_option", "24 bits")
    ids.say("close")
    ids.rejects("uuid uuid7 1", "closed")


@claim("threads share one object")
def _(w):
    ids = Ids(w).opens()
    said = ids.ids("at_once 8 500")
    same((len(said.ids), said.error), (4000, ""))


@claim_unless(not LANGUAGE.forks, "a forked child and its parent continue with one object, before and after the first id, and after a close")
def _(w):
    ids = Ids(w).opens()
    for _ in range(5):
        same(len(ids.ids("fork 307").ids), 307)  # with a buffer of ids, the child would inherit some
        ids.next(1)
        ids.ids("fork 1")
        ids.next(301)
    ids.say("close")
    ids.rejects("fork 1", "closed")


@claim("a process that is killed with -9 is replaced by one with its worker id, and no id repeats")
def _(w):
    for _ in range(3):
        ids = Ids(w).opens()
        worker = w.__dict__.setdefault("worker", ids.next(1) and ids.worker())
        ids.process.stdin.write(b"next 1000000\n")
        ids.process.stdin.flush()
        other = Ids(w).opens()
        other.next(500)
        ids.kill()
        other.next(500)
        same(other.worker(), worker)
        other.kill()


@claim("at a reload old and new processes issue ids with one worker id, and the new ones continue when the old ones end")
def _(w):
    old = [Ids(w).opens() for _ in range(2)]
    worker = old[0].next(50) and old[0].worker()
    new = [Ids(w).opens() for _ in range(2)]
    for ids in old + new:
        ids.next(200)
    for ids in old:
        same(ids.end(), 0)
    for ids in new:
        ids.next(200)
        same(ids.worker(), worker)


def paused(w, wait_ms=0):
    """A driver whose clock went back by 30 s."""
    clock = w.path("clock")
    set_clock(clock, "+0")
    env = shifted(clock)
    if NAME == "php":  # it loads libraries with RTLD_DEEPBIND, which would ignore the preloaded clock
        env["LD_PRELOAD"] += ":" + LIBRARY
    ids = Ids(w, env).opens()
    ids.next(10)
    ids.opens(wait_ms=wait_ms)
    set_clock(clock, "-30")
    until(lambda: ids.try_next(1).error, "the clock of the driver went back")
    return ids, clock


@claim("a pause is an error with its reason and the time to wait, and ids continue when it ends")
def _(w):
    ids, clock = paused(w)
    for line in "next 1", "batch 10":
        said = ids.say(line)
        _, reason, wait_ms, text = (said.error.split(" ", 3) + [""] * 4)[:4]
        assert (said.error.split(" ")[0], reason) == ("pause", "clock_back") and 20_000 < int(wait_ms) <= 31_000, said.line
        assert "the clock is" in text, text
    set_clock(clock, "+0")
    until(lambda: ids.try_next(1).ids, "ids continue")


@claim("a call waits for an id as long as its object says")
def _(w):
    ids = Ids(w).opens(layout="sign:1 time:40 seq:3 worker:20 unit=100ms epoch=2020-01-01T00:00:00Z")
    begun = time.monotonic()
    ids.next(80)  # ten time units
    assert time.monotonic() - begun > 0.5
    said = Ids(w).opens(layout="sign:1 time:40 seq:3 worker:20 unit=100ms epoch=2020-01-01T00:00:00Z", wait_ms=0).say("next 100")
    assert said.error.startswith("pause full "), said.line


@claim("when another process switches the worker id, calls continue with the new one")
def _(w):
    ids, clock = paused(w)
    before = ids.worker()
    subprocess.run([sys.executable, os.path.join(HERE, "switch.py"), LIBRARY, w.path("ids.gen")], check=True, timeout=60,
                   env={**os.environ, **shifted(clock), "VESTA_STATE": w.path("state")})
    until(lambda: ids.try_next(1).ids, "ids continue")
    assert ids.worker() != before
    assert {id & 1023 for id in ids.next(100)} == {ids.worker()}


INSTALLED = glob.glob("/usr/lib/*/libvesta.so.0") + glob.glob("/usr/local/lib/**/libvesta.so.0", recursive=True)


@claim_unless(NAME == "go" or INSTALLED, "without libvesta the error names the package and the variable")
def _(w):
    done = subprocess.run([*LANGUAGE.argv(BUILD), "record", "worker=1"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={"PATH": os.environ["PATH"], "HOME": w.folder, **LANGUAGE.env})
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "libvesta0" in said and "LD_LIBRARY_PATH" in said, said


@claim("the lines of docs/languages.md run")
def _(w):
    with open(os.path.join(ROOT, "docs", "languages.md")) as file:
        section = file.read().split("\n## " + LANGUAGE.title + "\n")[1]
    tag, lines = re.search(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S).groups()
    for name, text in (("use." + tag, ("<?php\n" if tag == "php" else "") + lines), (LANGUAGE.file, None)):
        path = w.path("vestaids", name) if name.endswith(".go") and text is None else w.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text if text else open(os.path.join(ROOT, "examples", "inprocess", name)).read())
    env = {**os.environ, **LANGUAGE.env, "VESTA_STATE": w.path("state"), "LD_LIBRARY_PATH": os.path.dirname(LIBRARY), "ROOT": ROOT, "BUILD": BUILD,
           "LIBRARY": os.path.dirname(LIBRARY)}
    done = subprocess.run(["sh", "-ec", LANGUAGE.run], cwd=w.folder, env=env, capture_output=True, text=True, timeout=120)
    assert re.fullmatch(r"\d{9,} (\d+ )?\w{11}( 500)?\n", done.stdout), (done.stdout, done.stderr)


why = LANGUAGE.missing(BUILD)
if why:
    print("skipped: %s: %s" % (NAME, why))
    sys.exit(SKIPPED)
main()
