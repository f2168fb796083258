"""Regression: the clock was an hour ahead for four seconds, and issuing stopped for 57 more. The keeper slept until the
minute was over after which it accepts a jump, although the clock had been corrected."""
import time

from serving import SLOW, Server, claim, main, same, set_clock, shifted

WRONG_S = 4
WINDOW_S = 5  # the window of an assigned worker id
BACK_S_MAX = 3 * SLOW


@claim("a clock that was wrong for four seconds stops issuing for that time only")
def _(world):
    clock = world.path("clock")
    set_clock(clock, "+0")
    with Server(world, layout="snowflake", pacing="clock", env=shifted(clock)) as server:
        same(server.get("/genid").status, 200)
        set_clock(clock, "+3600")
        time.sleep(WRONG_S)
        wrong = server.get("/genid")
        assert wrong.status == 503 and "jumped forward" in wrong.body, wrong.body
        same(server.get("/readyz").status, 503)
        time.sleep(max(0, WINDOW_S - WRONG_S) + 1)  # The last window has ended.
        set_clock(clock, "+0")
        begun = time.monotonic()
        while server.get("/genid").status != 200:
            assert time.monotonic() - begun < BACK_S_MAX, "no id %.1f s after the clock was set right: %s" % (
                time.monotonic() - begun, server.get("/genid").body)
            time.sleep(0.02)
        print("    ids are back after %.2f s" % (time.monotonic() - begun))


main()
