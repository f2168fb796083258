"""days.py -- tests faults of processes that hold leases, on one kind of store: killed, stopped, paused, copied.

    days.py ISSUER VESTA sqlite|mysql|postgresql|zk [PART]
"""
import shutil
import sys
import time

from world import PLACES, Schedule, now_ms, told
from servers import claim, main

place = PLACES[sys.argv[3]]().begin()
LEASE_S = 15   # preset strict
AGAIN_S = 7    # limit for a worker id set by hand after kill -9
IDLE_S = 15


@claim("three identities get three worker ids, and after a kill, a stop, and a pause past the lease there are no duplicates")
def _():
    with Schedule(place) as s:
        bound = s.start("dan", identity="dan", worker=700)
        paused = s.start("eve", identity="eve", worker=701)
        assert bound.issues() and paused.issues()  # before another process can draw their worker ids
        killed, stopped, drawn = (s.start(name, identity=name) for name in ("ada", "bob", "cyd"))
        numbers = [issuer.worker() for issuer in (killed, stopped, drawn, bound, paused)]
        assert len(set(numbers)) == 5 and numbers[3:] == [700, 701], numbers

        paused.pause()
        paused_ms = now_ms()
        other = s.start("fay", identity="fay", worker=701)

        killed.kill()
        again = s.start("ada", identity="ada")
        assert again.worker() == numbers[0]
        told("killed -9, same file: issuing after %.2f s", (again.issues().ms - again.begun_ms) / 1000)

        bound.kill()
        shutil.rmtree(s.path("dan"))
        again = s.start("dan", identity="dan", worker=700)
        again_s = (again.issues().ms - again.begun_ms) / 1000
        assert again.worker() == 700
        told("killed -9, its file gone, same number: issuing after %.2f s (at most %d)", again_s, AGAIN_S)

        stopped.stop()
        next_one = s.start("gus", identity="gus", worker=numbers[1])
        next_s = (next_one.issues().ms - next_one.begun_ms) / 1000
        told("stopped: another has its number after %.2f s", next_s)

        taken = other.issues(LEASE_S + 30)
        assert taken.worker == 701
        told("paused: another has its number after %.2f s", (taken.ms - paused_ms) / 1000)
        assert taken.ms - paused_ms > LEASE_S * 900, "its number was taken while it was held"
        written, went_on_ms = paused.ids(), now_ms()
        paused.go_on()
        lost = paused.when(lambda line: "701" in line.text and line.refused, "the paused process detects that another one holds its worker id",
                           since_ms=went_on_ms)
        told("continued: %d ids more of its own, then: %s", paused.ids() - written, lost.text)
        for number, row in sorted(s.workers().items()):
            told("vesta workers: %4d %-8s %s", number, row["state"], row["identity"])
        assert s.workers()[701]["identity"] == "fay"
        assert drawn.refused_between(drawn.issues().ms, now_ms()) == 0


@claim("under balanced, a holder that issues no ids writes to the store at most once in five seconds")
def _():
    with Schedule(place, lease="balanced") as s:
        idle = s.start("ada", ids=10, rest=1)
        number = idle.worker()
        time.sleep(6)  # time for a renewal of those ten
        seen = [s.workers()[number]["written_ms"]]
        for _ in range(IDLE_S):
            time.sleep(1)
            seen.append(s.workers()[number]["written_ms"])
        told("idle under balanced: %d writes in %d s", len(set(seen)) - 1, IDLE_S)
        assert len(set(seen)) - 1 <= IDLE_S / 5


main(sys.argv[4] if len(sys.argv) > 4 else "")
