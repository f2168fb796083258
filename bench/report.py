"""report.py -- the table as text: a line per measurement, the tables of a page between marks, JSON."""
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
from pathlib import Path

import drawing
from rows import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
RATES = ROOT / "docs" / "pictures" / "rates.json", ROOT / "docs" / "pictures" / "rates.svg"
FIGURES, PICTURE = ROOT / "docs" / "pictures" / "bench.json", ROOT / "docs" / "pictures" / "bench.svg"
HEAD = "| what | against | setting | ours: median (min-max) | yardstick | ratio | wanted | | duplicates | |\n" + "|---" * 10 + "|"
HEAD_OF_PAGE = "| measured | yardstick | setting | result | yardstick's result | ratio (range) | target | | note |\n" + "|---" * 9 + "|"


def spread(values):
    digits = 0 if max(values) >= 1000 else 3 if max(values) < 1 else 2
    middle, low, high = statistics.median(values), min(values), max(values)
    return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"


def row_of(*cells):
    return "| " + " | ".join(cells) + " |"


def held(figure):
    ratios = figure["ratios"]
    return (f"{figure['ratio']:.3f} ({min(ratios):.3f}-{max(ratios):.3f})", figure["wanted"],
            {True: "ok", False: "short", None: ""}[figure["ok"]])


def line(figure):
    counted = f"{figure['duplicates']} of {figure['ids']:,}" if "ids" in figure else ""
    return row_of(figure["what"], figure["against"], figure["setting"], f"{spread(figure['ours'])} {figure['unit']}",
                  spread(figure["yard"]), *held(figure), counted, figure["note"])


def line_of_page(figure):
    """Medians only. The minimum, the maximum and the load of the cores are in the JSON."""
    def median(values):
        return spread(values).partition(" (")[0]
    return row_of(figure["what"], figure["against"], figure["setting"], f"{median(figure['ours'])} {figure['unit']}",
                  median(figure["yard"]), *held(figure), "" if figure["note"].startswith("cores busy") else figure["note"])


def about(priority, turns):
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    git = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
            "commit": git.stdout.strip() or "unknown", "kernel": platform.release().split("-")[0], "cores": os.cpu_count(),
            "cpu": cpu[1].strip() if cpu else platform.machine(), "priority": priority, "samples": turns.samples,
            "load_before": os.getloadavg()[0]}


def told(facts):
    return (f"{facts['cpu']}, {facts['cores']} cores, Linux {facts['kernel']}, {facts['date']}, commit {facts['commit']}, "
            f"load {facts['load_before']:.1f} before" + (f" and {facts['load_after']:.1f} after" if "load_after" in facts else "") +
            f", {facts['priority']} priority, {facts['samples']} pairs per row")


# ---------------------------------------------------------------- published

def is_default(figure):
    return figure["setting"].startswith("defaults")


def is_on_page(figure):
    return figure["wanted"] or ", p99 at" in figure["what"]


def tables(figures):
    rows = figures["rows"]
    rows = [r for r in rows if r["group"] != "rates"]
    parts = {"figures": [r for r in rows if not is_default(r) and r["group"] != "peers" and is_on_page(r)],
             "defaults": [r for r in rows if is_default(r)], "peers": [r for r in rows if r["group"] == "peers"]}
    texts = {name: "\n".join([HEAD_OF_PAGE, *map(line_of_page, part)]) for name, part in parts.items()}
    skipped = "".join(f"\n\n`{name}` was not measured: {why}" for name, why in figures["skipped"].items())
    counted = sum(r.get("ids", 0) for r in rows), sum(r.get("duplicates", 0) for r in rows)
    return {**texts, "machine": told(figures) + ". {:,} ids were counted, with {:,} duplicates.".format(*counted) + skipped}


def marks(name):
    return f"<!-- bench: {name} -->\n", f"\n<!-- end of bench: {name} -->"


def filled(page, figures):
    """Returns the page with these figures between its marks."""
    for name, text in tables(figures).items():
        begin, end = marks(name)
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"the page has no mark {begin.strip()}, or no end of it")
        page = before + begin + text + end + after
    return page


def text(figures):
    rows = ",\n".join("  " + json.dumps(row) for row in figures["rows"])
    return json.dumps({**figures, "rows": []}, indent=1).replace('"rows": []', '"rows": [\n%s\n ]' % rows) + "\n"


def publish_rates(figures):
    """Writes the README's picture and its figures."""
    figures = {**figures, "rows": [row for row in figures["rows"] if row["row"] == "rates"]}
    RATES[0].write_text(text(figures))
    RATES[1].write_text(drawing.draw_rates(figures))


def publish(figures):
    if any(row["row"] == "rates" for row in figures["rows"]):  # older figures can lack them
        publish_rates(figures)
    FIGURES.write_text(text(figures))
    PICTURE.write_text(drawing.draw(figures))
    PAGE.write_text(filled(PAGE.read_text(), figures))
