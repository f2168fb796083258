"""prove.py -- `vesta layout prove`."""
import json

from harness import claim, fails, main, same


def proved(w, *words, code=0):
    done = w.run("layout", "prove", "--json", *words)
    same((done.code, done.err), (code, ""))
    return json.loads(done.out)


@claim("a constant that differs in one bit is a proof, in either order")
def _(w):
    got = proved(w, "vesta-second", "vesta-milli")
    same((got["equal"], got["by"], got["bit"], got["first"]["field"], got["second"]["value"]), ("never", "bits", 62, "type", 1))
    same(proved(w, "vesta-milli", "vesta-second")["second"]["value"], 0)
    same(w.run("layout", "prove", "vesta-milli version:1=1", "vesta-milli version:1=0").out,
         "never equal: bit 63 is 1 in ids of the first (version=1), 0 in the second (version=0)\n")
    # Wide constants that differ only in their lowest bit.
    same(proved(w, "a:4=6 time:40 seq:20 unit=1ms epoch=0", "b:3=3 c:1=1 time:40 seq:20 unit=1ms epoch=0")["bit"], 60)


@claim("an id that is reported as possible in both layouts is valid in both")
def _(w):
    for pair in (("vesta-milli", "vesta-milli"), ("snowflake", "leaf"), ("uid", "sonyflake"), ("vesta-second", "snowflake")):
        got = proved(w, *pair, code=1)
        same(got["equal"], "possible")
        for layout in pair:
            same(w.run("explain", "--layout", layout, got["id"]).code, 0)


@claim("times prove that ids differ until an instant, to the millisecond")
def _(w):
    pair, from_ = ("snowflake", "vesta-milli version:1=0"), "2026-11-23T00:00:00Z"
    got = proved(w, *pair, "--from", from_, code=1)
    same(got["not_before"], "2048-08-27T23:36:42.433Z")
    same(proved(w, *pair, "--from", from_, "--until", got["not_before"])["by"], "times")
    proved(w, *pair, "--from", from_, "--until", "2048-08-27T23:36:42.434Z", code=1)


@claim("invalid, empty and hostile arguments are rejected")
def _(w):
    for words, part in ((("prove",), "two layouts"), (("prove", "uid"), "two layouts"), (("prove", "a:1", "uid"), "bad layout"),
                        (("prove", "uid", ""), "empty"), (("prove", "uid", "uid", "uid"), "two layouts"),
                        (("prove", "uid", "x" * 100000), "bad layout"), (("prove", "uid", "a\x1b[2J"), "bad layout"),
                        (("prove", "uid", "js53", "--until", "soon"), "soon"), (("prove", "uid", "js53", "--from", "9" * 300), "time"),
                        (("prove", "uid", "js53", "--until", "-1h"), "--until must be later than"),
                        (("prove", "uid", "js53", "--layout", "uid"), "leave out --layout"), (("uid", "--from", "now"), "are for prove")):
        fails(w.run("layout", *words), 2, part)


main()
