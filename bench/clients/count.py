"""count.py ADDRESS NAME SAMPLES -- ids per second from examples/clients/vesta.py, and from a counter under a lock."""
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "clients"))
import vesta  # noqa: E402

PIECE = 20_000 if os.environ.get("BENCH_TINY") else 400_000


class Counter:
    def __init__(self):
        self._lock, self._last = threading.Lock(), 0

    def next(self):
        with self._lock:
            self._last += 1
            return self._last


def per_second(next):
    begun = time.perf_counter()
    for _ in range(PIECE):
        next()
    return PIECE / (time.perf_counter() - begun)


address, name, samples = sys.argv[1:]
client, counter = vesta.Client([address], name, size=100_000, ttl=600, wait=30), Counter()
per_second(client.next), per_second(counter.next)
for _ in range(int(samples)):
    print(json.dumps({"ours": per_second(client.next), "yard": per_second(counter.next)}))
ids = [client.next() for _ in range(PIECE)]
print(json.dumps({"ids": PIECE, "duplicates": PIECE - len(set(ids))}))
