"""rows_uuids.py -- UUIDs that a client makes from the ids of its blocks."""
import json
import subprocess
import time

from harness import VESTA
from rows import row
from rows_replies import WAIT

LAYOUT = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z"  # of `ids` in cell.py
PARTS = "sign:1 time:31 seq:8 worker:10 seq:14 unit=1s epoch=2020-01-01T00:00:00Z"


@row("UUIDs of version 7 have the time and the counter of consecutive ids, and a tag has none")
def _(cell):
    client = cell.client([cell.a.address], size=50, timeout=20000, wait=WAIT)
    if cell.column.name == "nginx":  # its requests get ids only
        return
    for name, layout in ("ids", LAYOUT), ("parts", PARTS):
        client.open([cell.a.address], name, size=50, timeout=20000, wait=WAIT)
        begun = time.time()
        got = client.say("uuids 120").line.split()
        assert got[0] == "uuids" and len(got) == 121 and got[1:] == sorted(set(got[1:])), got[:4]
        told = subprocess.run([VESTA, "explain", "--json", "--layout", layout, *got[1:]], capture_output=True, text=True, check=True)
        told = [json.loads(line) for line in told.stdout.splitlines()]
        ticks = [one["time"] << 22 | one["seq"] for one in told]
        assert all(one["kind"] == "uuid7" and one["variant"] == 2 for one in told), told[0]
        assert ticks == list(range(ticks[0], ticks[0] + 120)), ticks[:5]
        assert begun - 3600 < told[0]["unix_ms"] / 1000 < time.time() + 2, told[0]
        assert len({text[-8:] for text in got[1:]}) == 120, "the last bits are random"
    client.open([cell.a.address], "numbers", size=50, timeout=20000, wait=WAIT)
    said = client.say("uuids 1").line
    assert said.startswith("error ") and "namespace" in said, said
