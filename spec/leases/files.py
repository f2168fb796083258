"""files.py -- as many generator files as one host may have, on a ZooKeeper with default limits: 60 connections from one
address, messages of 1 MiB.  files.py ISSUER VESTA zk FILES

Each file has its own process.  That is the worst case for the number of connections."""
import collections
import json
import os
import shutil
import subprocess
import sys
import time

from world import ISSUER, LINE, PLACES, Schedule, VESTA, told
from servers import claim, main, until
from liar import ZkLiar

FILES = int(sys.argv[4])
IDS = 50
NUMBERS = "sign:1 time:40 worker:13 seq:10 unit=1ms epoch=2020-01-01T00:00:00Z"
MESSAGE_MAX = 1 << 20  # the default jute.maxbuffer, minus a byte
place = PLACES["zk"]().begin()


class Host:
    """Processes without control connections: their ids are in their files."""

    def __init__(self, schedule, count):
        self.outs = [schedule.path("h%d.ids" % n) for n in range(count)]
        self.all = []
        for n, out in enumerate(self.outs):
            words = dict(path=schedule.path("h%d.gen" % n), store=place.uri(port=place.port), ns=schedule.ns, lease="balanced",
                         identity="h%d" % n, layout=NUMBERS, ids=IDS, rate=100, round_us=500000, rest=1)
            with open(out + ".said", "wb") as said:
                self.all.append(subprocess.Popen([ISSUER, "run", out, *("%s=%s" % pair for pair in words.items())],
                                                 stdin=subprocess.DEVNULL, stdout=said, stderr=said))

    def with_ids(self):
        assert all(process.poll() is None for process in self.all), "one of them ended"
        return sum(os.path.exists(out) and os.path.getsize(out) >= IDS * LINE for out in self.outs)

    def last_words(self):
        for out in self.outs:
            with open(out + ".said") as said:
                yield (said.readlines() or [""])[-1].split(" ", 6)

    def end(self):
        for process in self.all:
            process.kill()
        for process in self.all:
            process.wait()


@claim("each of %d files of one host gets its own worker id, and keeps it" % FILES)
def _():
    with open(place.path("zoo.cfg")) as file:
        said = file.read()
    assert "maxClientCnxns" not in said and "jute" not in said
    with Schedule(place, lease="balanced", layout=NUMBERS) as s:
        begun = time.monotonic()
        host = Host(s, FILES)
        s.out_files += host.outs  # checked for duplicates at the end
        try:
            until(lambda: host.with_ids() == FILES, "all have ids", 60 + FILES // 4)
            told("the last of %d files had its ids after %.1f s", FILES, time.monotonic() - begun)
            time.sleep(12)  # time for renewals of all
            words = list(host.last_words())
            states = collections.Counter(word[4] for word in words)
            assert len({word[5] for word in words} - {"-1"}) == FILES, states
            assert set(states) <= {"active", "renewing"}, states
        finally:
            host.end()


class Meter(ZkLiar):
    """Passes all messages unchanged, and notes their lengths in both directions."""
    longest = total = 0

    def frame(self, end):
        frame = super().frame(end)
        self.longest, self.total = max(self.longest, len(frame)), self.total + len(frame)
        return frame


@claim("4096 records, more than one message can hold: a list is complete, and no message comes near the limit")
def _():
    s = Schedule(place, layout=NUMBERS)
    s.make()
    s.fill(4096)
    meter = Meter(place.port)
    words = ["workers", "--json", "--store", place.uri(port=meter.port), "--namespace", s.ns]
    done = subprocess.run([VESTA, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    shutil.rmtree(s.folder)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["workers"]) == 4096
    told("%.1f MiB in all, %d bytes the longest message", meter.total / MESSAGE_MAX, meter.longest)
    assert meter.total > MESSAGE_MAX and meter.longest < MESSAGE_MAX // 16, (meter.total, meter.longest)


main()
