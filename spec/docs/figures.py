#!/usr/bin/env python3
"""figures.py [--self-test] -- the published benchmark figures agree on the page, in the picture and in the JSON."""
import json
import os
import sys
import xml.etree.ElementTree as xml

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "bench"))
sys.path.append(os.path.join(REPO, "spec", "support"))
import drawing  # noqa: E402
import report  # noqa: E402
from claims import report as told  # noqa: E402

LINKED = {"README.md": "docs/pictures/rates.svg", "README.zh-CN.md": "docs/pictures/rates.svg", "docs/benchmarks.md": "pictures/bench.svg"}


def read(name):
    with open(os.path.join(REPO, name), encoding="utf-8") as file:
        return file.read()


def picture(svg, figures):
    try:
        root = xml.fromstring(svg)
    except xml.ParseError as why:
        return ["bench.svg is no XML: %s" % why]
    drawn = [text.text for text in root.iter() if text.get("class") == "ratio"]
    wanted = ["%.3f" % figure["ratio"] for group in drawing.SHOWN for figure in figures["rows"]
              if figure["group"] == group and drawing.shown(figure)]
    if not drawn or drawn != wanted:
        return ["bench.svg has %d ratios, and the JSON %d; the first that differs: %s" % (
            len(drawn), len(wanted), next(((a, b) for a, b in zip(drawn, wanted) if a != b), None))]
    return [] if any(figures["date"] in (text.text or "") for text in root.iter()) else ["bench.svg is not of " + figures["date"]]


def rates(svg, figures):
    return [] if drawing.draw_rates(figures) == svg else ["rates.svg does not show rates.json: bench/run rates --publish"]


def page(text, figures):
    try:
        return [] if report.filled(text, figures) == text else ["the tables of docs/benchmarks.md are not those of bench.json: "
                                                                "bench/run --from docs/pictures/bench.json --publish"]
    except ValueError as why:
        return [str(why)]


def linked(texts):
    return ["%s does not show %s" % (name, link) for name, link in LINKED.items() if "](%s)" % link not in texts[name]]


def house(svg, text, texts, figures):
    yield "docs/pictures/rates.svg shows the figures of rates.json", rates(*RATES)
    yield "docs/pictures/bench.svg is well-formed and has the ratios of bench.json", picture(svg, figures)
    yield "the tables of docs/benchmarks.md match bench.json", page(text, figures)
    yield "README.md, its Chinese page and docs/benchmarks.md show the picture", linked(texts)


RATES = read("docs/pictures/rates.svg"), json.loads(read("docs/pictures/rates.json"))


def main():
    figures, svg, text = json.loads(read("docs/pictures/bench.json")), read("docs/pictures/bench.svg"), read("docs/benchmarks.md")
    texts = {name: read(name) for name in LINKED}
    if sys.argv[1:] != ["--self-test"]:
        return told(house(svg, text, texts, figures))
    ratio = next("%.3f" % f["ratio"] for f in figures["rows"] if drawing.shown(f))
    planted = {
        "another ratio in the picture": picture(svg.replace(">%s<" % ratio, ">9.999<", 1), figures),
        "a picture that breaks off": picture(svg[:-8], figures),
        "a picture of another day": picture(svg.replace(figures["date"], "yesterday"), figures),
        "another ratio on the page": page(text.replace(" %s (" % ratio, " 9.999 (", 1), figures),
        "a mark that is gone": page(text.replace("<!-- bench: defaults -->", ""), figures),
        "another bar in the README's picture": rates(RATES[0].replace("vesta, HTTP", "vesta, FTP"), RATES[1]),
        "a page without the picture": linked({**texts, "README.md": ""}),
    }
    return told([("%s is found" % what, [] if wrong else ["it is not"]) for what, wrong in planted.items()])


sys.exit(main())
