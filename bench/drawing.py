"""drawing.py -- draw_rates: ids per second as six bars, for the README. draw: the table as a picture, with a bar from
the yardstick, at 1, to the ratio of each figure, and a mark at the target. The scale is logarithmic: half and twice are
equally far from 1. Colours exist for light and dark pages."""
import math
import statistics
from xml.sax.saxutils import escape

GROUPS = {"core": "In the process", "lua": "From Lua, and inside nginx", "http": "HTTP next to nginx", "resp": "Redis protocol next to redis-server",
          "latency": "Latency, open loop"}
SHOWN = tuple(GROUPS)
LEFT, SCALE, RIGHT, LINE, TOP = 540, 400, 60, 18, 64
LOW, HIGH = 0.1, 16.0
WIDTH = LEFT + SCALE + RIGHT
STYLE = """
text { font: 12px sans-serif; fill: #24292f } .small { font-size: 11px; fill: #57606a } .head { font-weight: bold }
.ok { fill: #2da44e } .short { fill: #d4721c } .plain { fill: #6e7781 } .grid { stroke: #d0d7de } .one { stroke: #24292f }
.wanted { stroke: #0550ae; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .ok { fill: #3fb950 } .short { fill: #f0883e } .plain { fill: #8b949e }
  .grid { stroke: #3d444d } .one { stroke: #e6edf3 } .wanted { stroke: #79c0ff }
}"""


def x_of(ratio):
    """Returns the position of a ratio. Ratios outside of the scale are at its edge."""
    part = math.log(min(max(ratio, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
    return LEFT + part * SCALE


def shown(figure):
    """Selects figures with a target, figures of the defaults, and p99, if they are ratios to a yardstick and not
    nanoseconds."""
    if not (figure["wanted"] or figure["setting"].startswith("defaults") or ", p99 at" in figure["what"]):
        return False
    both = figure["ours"][0] / figure["yard"][0] if figure["yard"][0] else 0
    ratio = figure["ratios"][0]
    return figure["group"] in SHOWN and both > 0 and ratio > 0 and any(math.isclose(ratio, r, rel_tol=1e-6) for r in (both, 1 / both))


def bar(figure, y, alone):
    ratio, start = figure["ratio"], x_of(1)
    end = x_of(ratio)
    kind = {True: "ok", False: "short", None: "plain"}[figure["ok"]]
    label = f"{figure['what'].strip()}, {figure['setting'] if alone else 'against ' + figure['against']}".rstrip(", ")
    yield f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(label)}</text>'
    yield f'<rect class="{kind}" x="{min(start, end):.1f}" y="{y + 3}" width="{abs(end - start):.1f}" height="{LINE - 7}"/>'
    if figure["wanted"]:
        at = x_of(float(figure["wanted"].split()[1]))
        yield f'<line class="wanted" x1="{at:.1f}" x2="{at:.1f}" y1="{y + 1}" y2="{y + LINE - 2}"/>'
    yield f'<text class="ratio" x="{max(start, end) + 5:.1f}" y="{y + 12}">{ratio:.3f}</text>'


def scale(height):
    for ratio in (0.1, 0.25, 0.5, 1, 2, 4, 8, 16):
        x, kind = x_of(ratio), "one" if ratio == 1 else "grid"
        yield f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 8}"/>'
        yield f'<text class="small" x="{x:.1f}" y="{TOP - 14}" text-anchor="middle">{ratio:g}</text>'


def draw(figures):
    body, y = [], TOP
    for group, title in GROUPS.items():
        part = [figure for figure in figures["rows"] if figure["group"] == group and shown(figure)]
        if part:
            body.append(f'<text class="head" x="8" y="{y + 13}">{escape(title)}</text>')
            y += LINE
        names = [(figure["what"], figure["setting"]) for figure in part]
        for figure, name in zip(part, names):
            body += bar(figure, y, names.count(name) == 1)
            y += LINE
    told = f"{figures['cpu']}, {figures['cores']} cores, {figures['date']}, commit {figures['commit']}"
    key = ("1 is the yardstick: an atomic add, nginx, redis-server. Rates: longer to the right is better; times: longer to the left. "
           "Green: as wanted. Blue: what is wanted.")
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y + 8}" viewBox="0 0 {WIDTH} {y + 8}">',
        f"<title>vesta beside its yardsticks, {escape(figures['date'])}</title>", f"<style>{STYLE}</style>",
        f'<text class="small" x="8" y="16">{escape(told)}</text>', f'<text class="small" x="8" y="32">{escape(key)}</text>',
        *scale(y), *body, "</svg>"]) + "\n"


# ---------------------------------------------------------------- rates

BAR, BAR_LEFT, BAR_SPAN = 22, 250, 640
RATES_STYLE = """
text { font: 14px sans-serif; fill: #24292f } .small { font-size: 12px; fill: #57606a } .head { font-size: 16px; font-weight: bold }
.ours { fill: #0969da } .yard { fill: #afb8c1 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .ours { fill: #4493f8 } .yard { fill: #656d76 }
}"""


def draw_rates(figures):
    rows = [figure for figure in figures["rows"] if figure["row"] == "rates"]
    bars = [(f"vesta, {row['what']}" if side == "ours" else row["against"], side, statistics.median(row[side])) for row in rows
            for side in ("ours", "yard")]
    most, y, body = max(value for _, _, value in bars), 56, []
    for label, side, value in bars:
        width = value / most * BAR_SPAN
        body.append(f'<text x="{BAR_LEFT - 10}" y="{y + 16}" text-anchor="end">{escape(label)}</text>')
        body.append(f'<rect class="{side}" x="{BAR_LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>')
        body.append(f'<text x="{BAR_LEFT + width + 8:.1f}" y="{y + 16}">{value:,.0f}</text>')
        y += BAR + (4 if side == "ours" else 14)
    facts = f"{figures['cpu']}, one core for the server and one for the client, {figures['date'][:10]}"
    width = BAR_LEFT + BAR_SPAN + 100
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 4}" viewBox="0 0 {width} {y + 4}">',
        "<title>Ids per second that one thread issues</title>", f"<style>{RATES_STYLE}</style>",
        '<text class="head" x="8" y="20">How many ids per second does one server thread issue, one per request?</text>',
        f'<text class="small" x="8" y="40">{escape(facts)}</text>', *body, "</svg>"]) + "\n"
