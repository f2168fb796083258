"""control.py -- the same holders without leases: each takes the hash of its host's name as its worker id, as programs do
that have no coordination.  The judge must find duplicates, or it would find none in churn.py either.

    control.py FLAKE JUDGE
"""
import os
import random
import sys
import zlib

from crew import Crew, Slot
from servers import SLOW, claim, main

FLAKE, JUDGE = map(os.path.abspath, sys.argv[1:3])
HOLDERS = int(os.environ.get("VESTA_CHURN_HOLDERS", 64))
SECONDS = float(os.environ.get("VESTA_CHURN_SECONDS", 2))


@claim("64 hosts with worker ids by hash of their names among 1,024: two generators with one id, and equal ids")
def _():
    dice = random.Random(1)
    pods = ["orders-6f7c9d5b84-" + "".join(dice.choices("bcdfghjklmnpqrstvwxz2456789", k=5)) for _ in range(HOLDERS)]
    slots = [Slot(n, dict(SNOWFLAKE_NODE=str(zlib.crc32(pod.encode()) % 1024)), ["wall"] if n % 2 else []) for n, pod in enumerate(pods)]
    crew = Crew(FLAKE, JUDGE, lambda slot: [], slots, 1, faults={("KILL", "front"): 1, ("", ""): 3})
    try:
        crew.run(10 ** 9, SECONDS * SLOW)
        crew.end()
        got, faults = crew.judged()
        print("    %d hosts, %d worker ids: %r" % (HOLDERS, len({slot.env["SNOWFLAKE_NODE"] for slot in slots}), got))
        for line in faults[:2]:
            print("    " + line)
        assert got["pairs"] > 0 and got["equal"] > 0, got
    finally:
        crew.close()


main(sys.argv[3] if len(sys.argv) > 3 else "")
