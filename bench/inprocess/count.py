"""count.py OPTIONS SAMPLES EMPTY -- ns per id of examples/inprocess/vesta_ids.py, of an empty call through ctypes (the library
EMPTY), and of a generator in pure Python."""
import ctypes
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "inprocess"))
import vesta_ids  # noqa: E402

PIECES, PIECE = 5, 1000 if os.environ.get("BENCH_TINY") else 40_000
options, samples, library = sys.argv[1:4]
ids = vesta_ids.open(options)
empty = ctypes.PyDLL(library).empty
empty.restype, empty.argtypes = ctypes.c_uint64, [ctypes.c_void_p]
object = ctypes.c_void_p(1 << 40)


class Snowflake:
    """Twitter's algorithm."""

    def __init__(self, worker):
        self._lock, self._worker, self._last, self._sequence = threading.Lock(), worker << 12, 0, 0

    def next(self):
        with self._lock:
            now = time.time_ns() // 1_000_000
            if now < self._last:
                raise RuntimeError("the clock went back")
            self._sequence = (self._sequence + 1) & 4095 if now == self._last else 0
            if now == self._last and self._sequence == 0:
                while now <= self._last:
                    now = time.time_ns() // 1_000_000
            self._last = now
            return (now - 1288834974657) << 22 | self._worker | self._sequence


own = Snowflake(7)


def ours():
    for _ in range(PIECE):
        ids.next()


def bare():
    for _ in range(PIECE):
        empty(object)


def pure():
    for _ in range(PIECE):
        own.next()


def cost(run):
    begun = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - begun) / PIECE


cost(ours), cost(bare), cost(pure)
for _ in range(int(samples)):
    turns = [(cost(ours), cost(bare), cost(pure)) for _ in range(PIECES)]
    print(json.dumps(dict(zip(("ours", "empty", "own"), (min(turn) for turn in zip(*turns))))))
counted = [ids.next() for _ in range(PIECE)]
print(json.dumps({"ids": PIECE, "duplicates": PIECE - len(set(counted))}))
