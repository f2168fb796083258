#!/usr/bin/env python3
"""drawn.py VESTA [FOLDER] -- draws how a client that takes all it can get affects nineteen clients that want little.

Six runs, in the default layout and in vesta-milli, with blocks, batches and pipelined GETs: the nineteen begin alone,
and after a second the other one comes with 24 connections, and later leaves.  What each of the nineteen received per
tenth of a second is drawn to FOLDER/shares.svg, next to the same with VESTA_BEFORE, a program without shares, if that
is set.  If the machine has no other work, each of the nineteen gets nine tenths of what it got alone, and none is
rejected.
"""
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from greedy import Client, apart, run  # noqa: E402
from ports import free_port  # noqa: E402

ALONE_S, BESIDE_S, STEP_S, OTHERS, ASKED_S = 1.0, 3.0, 0.1, 19, 100
KINDS = (("blocks of 100,000", lambda http, resp: Client("greedy", http, request("/v1/blocks?n=100000"), connections=24)),
         ("10,000 ids", lambda http, resp: Client("greedy", http, request("/v1/ids?n=10000&format=text"), connections=24, ids=10000)),
         ("GET, 64 in a pipeline", lambda http, resp: Client("greedy", resp, b"GET default\r\n", connections=24, pipeline=64)))


def request(path):
    return b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()


def serve(vesta, layout, folder):
    http, resp = free_port(), free_port()
    process = subprocess.Popen([vesta, "serve", "--http", "127.0.0.1:%d" % http, "--resp", "127.0.0.1:%d" % resp, "--layout", layout],
                               env={**os.environ, "VESTA_STATE": folder}, stderr=subprocess.DEVNULL)
    until_s = time.monotonic() + 10
    while subprocess.run(["curl", "-sf", "http://127.0.0.1:%d/readyz" % http], stdout=subprocess.DEVNULL).returncode != 0:
        assert time.monotonic() < until_s, "the server is not ready"
        time.sleep(0.05)
    return process, http, resp


def measure(vesta, layout, make):
    with tempfile.TemporaryDirectory() as folder:
        process, http, resp = serve(vesta, layout, folder)
        try:
            others = [Client("other", (http, resp)[i % 2], (request("/genid"), b"GET default\r\n")[i % 2], every_s=1 / ASKED_S)
                      for i in range(OTHERS)]
            run(others, 0.3)
            run(others, ALONE_S, STEP_S)
            alone, samples = [one.got for one in others], [one.sample for one in others]
            told = apart(lambda: [make(http, resp)], BESIDE_S, STEP_S)
            run(others, BESIDE_S, STEP_S)
            samples = [samples[i] + one.sample for i, one in enumerate(others)]
            greedy = told()[0]
            return {"samples": samples, "refused": sum(one.refused for one in others), "greedy": greedy["sample"],
                    "had": greedy["got"] / BESIDE_S, "least": min(one.got / BESIDE_S / (alone[i] / ALONE_S or 1) for i, one in enumerate(others))}
        finally:
            process.terminate()
            process.wait(10)


# ------------------------------------------------------------------ the picture

WIDE, HIGH, LEFT, TOP = 460, 80, 16, 76
STYLE = """text { font: 12px sans-serif; fill: #24292f } .small { font-size: 11px; fill: #57606a } .head { font-weight: bold }
.one { fill: none; stroke: #0550ae; stroke-width: 1; opacity: .35 } .all { fill: none; stroke: #0550ae; stroke-width: 2 }
.greedy { fill: #d4721c; opacity: .25 } .axis { stroke: #d0d7de } .wanted { stroke: #2da44e; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .small { fill: #9198a1 } .one, .all { stroke: #79c0ff }
.greedy { fill: #f0883e } .axis { stroke: #3d444d } .wanted { stroke: #3fb950 } }"""


def points(x, y, values, most):
    return " ".join("%.1f,%.1f" % (x + i * WIDE / (len(values) - 1), y + HIGH - min(1, value / most) * HIGH) for i, value in enumerate(values))


def panel(x, y, of, title):
    want = ASKED_S * STEP_S
    steps = len(of["samples"][0])
    came = x + ALONE_S / STEP_S * WIDE / (steps - 1)
    greedy = [0] * int(ALONE_S / STEP_S) + of["greedy"]
    greedy = (greedy + [0] * steps)[:steps]
    most = max(max(greedy), 1)
    mean = [sum(one[i] for one in of["samples"]) / OTHERS for i in range(steps)]
    lines = ['<polygon class="greedy" points="%.1f,%.1f %s %.1f,%.1f"/>' % (x, y + HIGH, points(x, y, greedy, 1.2 * most), x + WIDE, y + HIGH)]
    lines += ['<polyline class="one" points="%s"/>' % points(x, y, one, 1.4 * want) for one in of["samples"]]
    lines += ['<polyline class="all" points="%s"/>' % points(x, y, mean, 1.4 * want)]
    lines += ['<line class="wanted" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>' % (x, x + WIDE, *(y + HIGH - HIGH / 1.4,) * 2)]
    lines += ['<line class="axis" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/>' % (came, came, y, y + HIGH),
              '<line class="axis" x1="%d" x2="%d" y1="%d" y2="%d"/>' % (x, x + WIDE, y + HIGH, y + HIGH)]
    said = "the least of the 19 had %.2f of its part, %d refused; the other one %s ids/s" % (
        min(of["least"], 1), of["refused"], format(round(of["had"], -3), ",.0f"))
    return lines + ['<text x="%d" y="%d">%s</text><text class="small" x="%d" y="%d">%s</text>' % (x, y - 19, title, x, y - 5, said)]


def draw(rows, path):
    columns = [name for name in ("before", "after") if name in rows[0][1]]
    width, height = LEFT + len(columns) * (WIDE + 30), TOP + len(rows) * (HIGH + 42)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">' % (width, height, width, height),
           "<title>one that takes all it can beside nineteen</title>", "<style>%s</style>" % STYLE,
           '<text class="small" x="8" y="16">19 clients ask 100 times a second each (blue: each, and their mean; green: what they ask). '
           "After 1 s another one comes, with 24 connections (orange: its ids).</text>"]
    for c, name in enumerate(columns):
        out.append('<text class="head" x="%d" y="38">%s</text>' % (LEFT + c * (WIDE + 30), {"before": "without shares", "after": "with shares"}[name]))
    for r, (title, of) in enumerate(rows):
        for c, name in enumerate(columns):
            out += panel(LEFT + c * (WIDE + 30), TOP + r * (HIGH + 42), of[name], title)
    with open(path, "w") as file:
        file.write("\n".join(out + ["</svg>"]) + "\n")


def main():
    vesta, folder = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="vesta-shares-")
    programs = {"after": vesta}
    if os.environ.get("VESTA_BEFORE"):
        programs = {"before": os.environ["VESTA_BEFORE"], "after": vesta}
    rows, failed = [], 0
    for layout in ("vesta-second", "vesta-milli"):
        for kind, make in KINDS:
            of = {name: measure(program, layout, make) for name, program in programs.items()}
            rows.append(("%s, %s" % (layout, kind), of))
            for name, one in of.items():
                print("%-6s %-40s the least of the 19: %.2f of its part, %d refused; the other one: %d ids/s"
                      % (name, rows[-1][0], one["least"], one["refused"], one["had"]), flush=True)
            failed += of["after"]["least"] < 0.9 or of["after"]["refused"] > 0
    os.makedirs(folder, exist_ok=True)
    draw(rows, os.path.join(folder, "shares.svg"))
    print("drawn: %s" % os.path.join(folder, "shares.svg"))
    print("%d passed, %d failed" % (len(rows) - failed, failed))
    sys.exit(failed > 0)


main()
