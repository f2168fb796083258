"""blocks.py -- a client written from docs/blocks.md alone makes the ids from a server's replies. The vectors on that
page are those of spec/vectors/blocks.csv."""
import csv
import json
import os
import re

from serving import Configured, claim, command, main, same

REPO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
WIDE = ("base", "first")
WHERE = ("seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift")
LAYOUTS = ("vesta-second", "vesta-milli", "butterfly", "snowflake")


def text_of(*names):
    with open(os.path.join(REPO, *names)) as file:
        return file.read()


def compose(block, i):
    t, low = block["first"] + i, (1 << block["low_bits"]) - 1
    return (block["base"] | t >> block["seq_bits"] << block["time_shift"]
            | (t & (1 << block["seq_bits"]) - 1) >> block["low_bits"] << block["seq_shift"] | (t & low) << block["low_shift"])


def vectors():
    lines = [line for line in text_of("spec", "vectors", "blocks.csv").splitlines() if not line.startswith("# ") and line != "#"]
    names = re.search(r"(?m)^# (kind,.*)$", text_of("spec", "vectors", "blocks.csv"))[1].split(",")
    return [dict(zip(names, row)) for row in csv.reader(lines)]


def over_resp2(data):
    count, rest = re.match(rb"\*(\d+)\r\n", data), data[data.index(b"\n") + 1:]
    found = []
    while rest:
        head, rest = rest.split(b"\r\n", 1)
        if head[:1] == b":":
            found.append(int(head[1:]))
        else:
            found.append(rest[:int(head[1:])].decode())
            rest = rest[int(head[1:]) + 2:]
    same(len(found), int(count[1]))
    return dict(zip(found[::2], found[1::2]))


def wide(block):
    assert all(isinstance(block[name], str) for name in WIDE) and all(isinstance(block[name], int) for name in ("count", *WHERE)), block
    return {name: int(value) if name in WIDE else value for name, value in block.items()}


@claim("the vectors on the page equal the file's, and a few lines of code make each id from them")
def _(world):
    page, rows = text_of("docs", "blocks.md"), vectors()
    listed = re.findall(r"(?m)^(?:ticks|numbers),.*$", page)
    same(listed, [",".join(list(row.values())[:-1]) for row in rows])
    assert len(listed) > 15
    for row in rows:
        number = {name: int(value or 0) for name, value in row.items() if name not in ("kind", "layout")}
        if row["kind"] == "ticks":
            same(compose(number, number["i"]), number["id"])
        else:
            same(number["first"] + number["i"] * number["stride"], number["id"])


@claim("blocks over RESP2, RESP3 and HTTP yield the ids that GET would have returned, for all kinds of layouts")
def _(world):
    namespaces = ", ".join("['%s'] = { layout = '%s', worker = 9, pacing = 'history' }" % (name, name) for name in LAYOUTS)
    where = {row["layout"]: [int(row[name]) for name in WHERE] for row in vectors() if row["kind"] == "ticks"}
    with Configured(world, "return { namespaces = { %s } }" % namespaces) as server:
        for name in LAYOUTS:
            blocks = [wide(over_resp2(server.redis("VESTA.BLOCK", name, "700"))), wide(json.loads(server.get("/v1/blocks?ns=%s&n=700" % name).body))]
            assert server.say(server.resp, command("HELLO", "3") + command("VESTA.BLOCK", name, "2")).count(b"\r\n%11\r\n$2\r\nns\r\n") == 1
            for block in blocks:
                count = block["count"]  # The server grants as many as are available now, and at least one.
                same(([block[key] for key in WHERE], block["ns"], block["kind"], 1 <= count <= 700), (where[name], name, "ticks", True))
                told = world.run("explain", "--json", "--layout", block["layout"], *(str(compose(block, i)) for i in range(count)))
                ids = [json.loads(line) for line in told.lines()]
                times = [(id["time"] << block["seq_bits"]) + id["seq"] for id in ids]
                same((len(ids), times), (count, list(range(times[0], times[0] + count))))
                assert all(id["worker"] == 9 for id in ids)
            after = int(server.redis("GET", name).split(b"\r\n")[1])
            last = json.loads(world.run("explain", "--json", "--layout", blocks[1]["layout"], str(after)).out)
            assert (last["time"] << blocks[1]["seq_bits"]) + last["seq"] > blocks[1]["first"] + blocks[1]["count"], (last, blocks)
            assert blocks[1]["first"] >= blocks[0]["first"] + blocks[0]["count"], blocks


main()
