#!/usr/bin/env python3
"""drawn.py VESTA [--write] -- checks that the pictures in docs/pictures show the bits and numbers of this program.

    uuids.svg   the bits of UUIDs, for the layout snowflake
    masks.svg   order numbers, plain and masked with the key 0001..0f

With --write it draws them."""
import os
import re
import subprocess
import sys
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402

STYLE = """text { font: 13px sans-serif; fill: #24292f } .small { font-size: 12px; fill: #57606a } .in { text-anchor: middle }
rect { stroke: #ffffff; stroke-width: 2 } .time { fill: #9ec5fe } .fixed { fill: #d0d7de } .counter { fill: #a6e9b5 } .random { fill: #fdd8a5 }
.fields { fill: #d8c4f5 } .dot { fill: #0969da } .axis { stroke: #8c959f; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } rect { stroke: #0d1117 } .time { fill: #1f4b8e } .fixed { fill: #3d444d }
  .counter { fill: #1a6334 } .random { fill: #7d4e1d } .fields { fill: #553098 } .dot { fill: #4493f8 } .axis { stroke: #656d76 }
}"""


def svg(width, height, title, body):
    return "\n".join(['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d">' % (width, height, width, height),
                      "<title>%s</title>" % title, "<style>%s</style>" % STYLE, *body, "</svg>"]) + "\n"


# ------------------------------------------------------------------ the bits of UUIDs

BIT, LEFT, HIGH = 6.6, 70, 30
ROWS = [
    ("uuid7", [(48, "time", "Unix milliseconds"), (4, "fixed", "7"), (12, "counter", "counter"), (2, "fixed", ""), (62, "random", "random")]),
    ("uuid8", [(48, "time", "Unix milliseconds"), (4, "fixed", "8"), (12, "counter", "counter"), (2, "fixed", ""), (11, "fields", "worker id"),
               (51, "fixed", "fingerprint of the layout")]),
    ("ulid", [(48, "time", "Unix milliseconds"), (12, "counter", "counter"), (68, "random", "random")]),
    ("hex32", [(48, "time", "Unix milliseconds"), (12, "counter", "counter"), (68, "random", "random")]),
]


def uuids(_):
    body = []
    for row, (shape, parts) in enumerate(ROWS):
        assert sum(bits for bits, _, _ in parts) == 128
        x, y = LEFT, 24 + row * (HIGH + 10)
        body.append('<text x="8" y="%d">%s</text>' % (y + 20, shape))
        for bits, kind, text in parts:
            body.append('<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d"/>' % (kind, x, y, bits * BIT, HIGH))
            body.append('<text class="in" x="%.1f" y="%d">%s</text>' % (x + bits * BIT / 2, y + 20, text))
            x += bits * BIT
    body += ['<text class="small" x="%.1f" y="16"%s>%s</text>' % (LEFT + bit * BIT, anchor, text) for bit, anchor, text in
             ((0, "", "bit 0"), (48, "", "48"), (64, "", "64"), (128, ' text-anchor="end"', "128"))]
    return svg(LEFT + 128 * BIT + 8, 24 + len(ROWS) * (HIGH + 10), "The bits of each shape, for the layout snowflake", body)


def cut(uuid, parts):
    """Returns the fields of a UUID or trace id that the picture shows, by their kinds."""
    value, left, fields = int(uuid.replace("-", ""), 16), 128, {}
    for width, kind, _ in parts:
        left -= width
        fields.setdefault(kind, value >> left & (1 << width) - 1)
    return fields


def run(vesta, folder, *words):
    done = subprocess.run([vesta, *words], capture_output=True, text=True, timeout=60, env=dict(os.environ, VESTA_STATE=folder))
    assert done.returncode == 0, done
    return done.stdout


def bits_are_shown(vesta):
    """Compares the bits of issued ids with those of the picture.  Returns the differences."""
    wrong = []
    with tempfile.TemporaryDirectory(prefix="vesta-drawn-") as folder:
        for shape, parts in ROWS:
            words = "--namespace", "drawn", "--layout", "snowflake"
            text = run(vesta, folder, "gen", *words, "--worker", "7", "--shape", shape, "-n", "5").split()[4]
            said = run(vesta, folder, "explain", "--layout", "snowflake", text)
            shown = cut(re.search(r"  hex  (\w+)", said)[1], parts)
            counter = re.search(r"  counter  (\d+), of (\d+) bits", said)
            random = re.search(r"  random   (\d+) bits", said)
            want = {"time": int(re.search(r"  time +(\d+)", said)[1]), "counter": int(counter[1])}
            if shape == "uuid8":
                want["fields"] = 7
            if {kind: shown[kind] for kind in want} != want:
                wrong.append("%s: the picture has %r, explain has %r" % (text, shown, want))
            widths = [sum(width for width, kind, _ in parts if kind == of) for of in ("counter", "random")]
            if widths != [int(counter[2]), int(random[1]) if random else 0]:
                wrong.append("%s: the picture has %r bits: %s" % (shape, widths, said))
    return wrong


# ------------------------------------------------------------------ masked numbers

COUNT, WIDE, TALL = 400, 400, 180


def taken(vesta, folder, mask):
    with open(os.path.join(folder, "key"), "w") as file:
        file.write("000102030405060708090a0b0c0d0e0f\n")
    os.chmod(file.name, 0o600)
    uri = "sqlite:" + os.path.join(folder, "plain.db" if not mask else "masked.db")
    with open(os.path.join(folder, "vesta.lua"), "w") as file:
        file.write("return { stores = { db = { uri = '%s' } }, segments = { { store = 'db', tags = 'orders' %s } } }" % (uri, mask.format(folder)))
    run(vesta, folder, "segments", "add", "orders", "--store", uri)
    return [int(line) for line in run(vesta, folder, "segments", "take", "orders", "-n", str(COUNT), "-c", file.name).split()]


def panel(x, numbers, most, title):
    body = ['<text x="%d" y="18">%s</text>' % (x, title), '<path class="axis" d="M%d 30v%dh%d"/>' % (x, TALL, WIDE)]
    body += ['<circle class="dot" cx="%.1f" cy="%.1f" r="1.6"/>' % (x + 4 + i * (WIDE - 8) / COUNT, 30 + TALL - number / most * (TALL - 6))
             for i, number in enumerate(numbers)]
    return body + ['<text class="small" x="%d" y="%d">in the order of issue</text>' % (x, 30 + TALL + 18)]


def masks(vesta):
    with tempfile.TemporaryDirectory(prefix="vesta-drawn-") as folder:
        plain, masked = taken(vesta, folder, ""), taken(vesta, folder, ", mask = {{ digits = 6, secret_file = '{0}/key' }}")
    assert plain == list(range(1, COUNT + 1)) and max(masked) < 10 ** 6, (plain[:3], masked[:3])
    body = panel(8, plain, COUNT, "plain: 1, 2, 3 ... %d" % COUNT)
    body += panel(WIDE + 48, masked, 10 ** 6, "masked, 6 digits: %s ..." % ", ".join("%06d" % number for number in masked[:3]))
    return svg(2 * WIDE + 64, 30 + TALL + 28, "%d order numbers, plain and masked" % COUNT, body)


PICTURES = {"uuids.svg": uuids, "masks.svg": masks}


def outcomes(vesta, writes):
    for name, draw in PICTURES.items():
        path, want = os.path.join(REPO, "docs", "pictures", name), draw(vesta)
        if writes:
            with open(path, "w") as file:
                file.write(want)
        with open(path) as file:
            is_same = file.read() == want
        yield "docs/pictures/%s is what this program draws" % name, [] if is_same else ["run spec/docs/drawn.py VESTA --write"]
    yield "issued ids have the bits of the picture", bits_are_shown(vesta)


if __name__ == "__main__":
    sys.exit(report(outcomes(os.path.abspath(sys.argv[1]), "--write" in sys.argv)))
