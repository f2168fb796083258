"""back.py -- a clock goes back while a generator runs that adds the monotonic clock to the time of its start, as
bwmarrin's does.  Its ids do not go back, so they must not pass the end of the lease.

    back.py VESTA FLAKE JUDGE SHIFT [PART]
"""
import os
import subprocess
import sys
import tempfile
import time

from servers import SLOW, claim, main, until

VESTA, FLAKE, JUDGE, SHIFT = map(os.path.abspath, sys.argv[1:5])
TTL_S = 1 if SLOW == 1 else 2


@claim("a clock goes back: the next holder repeats no id of a generator that does not follow the clock")
def _():
    with tempfile.TemporaryDirectory(prefix="vesta-back-") as folder:
        arena, clock = os.path.join(folder, "arena"), os.path.join(folder, "clock")
        env = dict(os.environ, VESTA_STATE=os.path.join(folder, "state"), LD_PRELOAD=SHIFT, CLOCK_SHIFT=clock,
                   ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0")
        lease = [VESTA, "lease", "run", "--store", "file:" + os.path.join(folder, "store"), "--layout", "snowflake", "--worker", "7", "--ttl", str(TTL_S),
                 "--skew-ms", "0", "--wait", "30", "--env", "SNOWFLAKE_NODE", "--", FLAKE, arena]

        def set_clock(shift):
            with open(clock + ".new", "w") as file:
                file.write("%+d" % shift)
            os.rename(clock + ".new", clock)

        def judged():
            return subprocess.run([JUDGE, "count", arena], capture_output=True, text=True, check=True).stdout

        set_clock(0)
        first = subprocess.Popen([*lease, "1", str(4.2 * TTL_S)], stdin=subprocess.DEVNULL, env=env)
        until(lambda: "lives 1 " in judged(), "the first generator runs")
        time.sleep(2.2 * TTL_S)  # longer than the clock goes back, so that it does not reach the ids of earlier holders
        set_clock(-2 * TTL_S)
        first.wait(30 * SLOW)
        second = subprocess.run([*lease, "2", str(TTL_S)], stdin=subprocess.DEVNULL, env=env, timeout=60 * SLOW)
        print("    exit codes %d and %d: %s" % (first.returncode, second.returncode, judged().splitlines()[-1]))
        assert "lives 2 " in judged() and "pairs 0 equal 0" in judged(), judged()


main(sys.argv[5] if len(sys.argv) > 5 else "")
