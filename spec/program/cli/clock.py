"""clock.py -- `vesta gen` while the clock goes back or jumps forward. clock_shift.c shifts the clock."""
import calendar
import json
import os
import subprocess
import time

from harness import claim, fails, like, main, same, set_clock, shifted

def unique(w, ids):
    same(w.run("audit", stdin="\n".join(ids)).code, 0)


def snow(w):
    result = w.run("gen", "--layout", "snowflake", "--worker", "7", "--ahead-ms", "0")
    same(result.code, 0)
    return result.out.strip()


def hours(count):
    return "%+d" % (count * 3600)


def at(year):
    """Returns the shift, in seconds, to January 2 of a year."""
    return "%+d" % (calendar.timegm((year, 1, 2, 0, 0, 0)) - time.time())


@claim("clock_shift.c shifts the clock but not the uptime")
def _(w):
    made = w.run("gen", "--worker", "1", env=shifted(hours(-24000)))
    got = json.loads(w.run("explain", "--json", made.out.strip()).out)
    assert abs(got["unix_ms"] / 1000 - (time.time() - 1000 * 86400)) < 10, got


@claim("after the clock went back 3 s, gen waits, prints why and continues, and every id is new and larger")
def _(w):
    before = snow(w)
    start = time.monotonic()
    during = w.run("gen", env=shifted("-3"))
    waited = time.monotonic() - start
    same(during.code, 0)
    if waited > 2.2:  # Otherwise the machine is so busy that most of the 3 s passed before gen read the clock.
        like(during.err, "vesta gen: waiting: the clock is 2... s behind the latest time seen, and ids resume in 2... s (clock_back)\n"
             "vesta gen: resumed after ... s\n")
    after = snow(w)
    assert int(before) < int(during.out) < int(after), (before, during.out, after)


@claim("after the clock went back 1 s, gen waits without a message")
def _(w):
    before = snow(w)
    during = w.run("gen", env=shifted("-1"))
    same((during.code, during.err), (0, ""))
    assert int(before) < int(during.out)


@claim("if the clock went back further than --wait-ms, gen ends with 1, the reason and the code, and works again "
       "afterwards")
def _(w):
    before = snow(w)
    fails(w.run("gen", "--wait-ms", "500", env=shifted(hours(-1))), 1, "the clock is 35", "behind the latest time seen", "(clock_back)",
          "gave up after waiting 0.5 s", "--wait-ms")
    assert int(before) < int(snow(w))


@claim("after a jump of 10 minutes, gen issues no id until the jump is confirmed, and the future time is not recorded")
def _(w):
    before = snow(w)
    time.sleep(1.1)  # The jump check compares times only if the last id is more than a second old.
    fails(w.run("gen", "--wait-ms", "500", env=shifted("+600")), 1,
          "waiting: the clock jumped forward against the machine's uptime. This is accepted after a minute, in", "(clock_ahead)", "gave up after waiting 0.5 s")
    after = w.run("gen", "-n", "100")
    same((after.code, after.err), (0, ""))
    unique(w, [before, *after.lines()])
    got = json.loads(w.run("explain", "--json", "--layout", "snowflake", after.lines()[-1]).out)
    assert abs(got["unix_ms"] / 1000 - time.time()) < 10, got


@claim("if the clock jumps by 288 s repeatedly, gen issues ids only at the right time, without duplicates or future "
       "ids")
def _(w):
    ids = [snow(w)]
    time.sleep(1.1)
    for shift in ("+288", "-288", "+0", "-1", "+288", "+0", "-288", "+0"):
        result = w.run("gen", "-n", "1000", "--wait-ms", "1500", env=shifted(shift))
        assert result.code == (1 if "288" in shift else 0), (shift, result.err)
        ids += result.lines()
    same(len(ids), 4001)
    unique(w, ids)
    assert [int(i) for i in ids] == sorted(int(i) for i in ids)


@claim("a clock in 1970 or in 2106 issues no ids, on a new machine and on one with earlier ids")
def _(w):
    fails(w.run("gen", env=shifted(at(1970))), 2, "2014-12-31T16:00:00Z", "correct the clock")
    fails(w.run("gen", env=shifted(at(2106))), 1, "2049-01-09T05:37:04Z", "epoch_end")
    assert not os.path.exists(w.path("state/default.gen"))
    before = w.run("gen").out
    time.sleep(1.1)
    same(w.run("gen", "--wait-ms", "200", env=shifted(at(1970))).code, 2)
    same(w.run("gen", "--wait-ms", "200", env=shifted(at(2040))).code, 1)
    same(w.run("gen", "--wait-ms", "200", env=shifted(at(2106))).code, 1)
    after = w.run("gen")
    same((after.code, after.err), (0, ""))
    assert int(before) < int(after.out) < int(before) + (3600 << 30)


@claim("if the clock changes while gen runs, gen stops, prints why and continues, without duplicates, in ascending "
       "order")
def _(w):
    snow(w)
    clock = w.path("clock")
    set_clock(clock, "+0")
    process = w.start("gen", "-n", "1000000000", "--wait-ms", "60000", env=shifted(clock), stdout=open(w.path("ids"), "wb"), stderr=subprocess.PIPE)
    size = lambda: os.path.getsize(w.path("ids"))
    grows = lambda since: any(size() > since or time.sleep(0.01) for _ in range(3000))
    try:
        for shift, why in (("-120", "clock_back"), ("+600", "clock_ahead")):
            assert grows(size()), "it gives no ids"
            set_clock(clock, shift)
            like(process.stderr.readline().decode(), "vesta gen: waiting: the clock ... (%s)\n" % why)
            stopped = size()
            time.sleep(0.5)
            same(size(), stopped)
            set_clock(clock, "+0")
            like(process.stderr.readline().decode(), "vesta gen: resumed after ... s\n")
            assert grows(stopped), "after %s it does not go on" % shift
    finally:
        process.kill()
        process.wait()
    same(w.shell("sed '$d' ids >whole").code, 0)  # The kill may have cut the last line.
    got = json.loads(w.run("audit", "--json", "--layout", "snowflake", "whole").out)
    same((got["duplicates"], got["inversions"], got["future"], got["unreadable"]), (0, 0, 0, 0))


main()
