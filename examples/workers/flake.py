"""flake.py -- a snowflake generator in Python, whose worker id comes from `vesta lease run`.  Debian packages no Python
library with such a generator.

    vesta lease run -- python3 flake.py 1000
"""
import os
import sys
import threading
import time

EPOCH_MS = 1288834974657


class Flake:
    def __init__(self, worker):
        assert 0 <= worker < 1024
        self.worker, self.last_ms, self.sequence, self.lock = worker, -1, 0, threading.Lock()

    def next(self):
        with self.lock:
            now = time.time_ns() // 1_000_000
            if now < self.last_ms:
                raise RuntimeError("the clock went back by %d ms" % (self.last_ms - now))
            self.sequence = (self.sequence + 1) % 4096 if now == self.last_ms else 0
            while now <= self.last_ms and self.sequence == 0:
                now = time.time_ns() // 1_000_000
            self.last_ms = now
            return now - EPOCH_MS << 22 | self.worker << 12 | self.sequence


if __name__ == "__main__":
    if "VESTA_WORKER" not in os.environ:
        sys.exit("flake.py: VESTA_WORKER is not set: start this program with vesta lease run")
    ids = Flake(int(os.environ["VESTA_WORKER"]))  # one generator per process
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        print(ids.next())
