#!/usr/bin/env python3
"""facts.py [--self-test] -- figures that several pages state are equal everywhere, and equal to the code if it has
them.

A fact is a name, its value in the code or None, and patterns with the figure as their group. Each page is searched as
one line. Each pattern must match somewhere, so that no pattern is outdated when a sentence changes.
"""
import glob
import os
import re
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402

PAGES = "README.md", "CONTRIBUTING.md", "docs/*.md", "docs/migrate/*.md"


def read(path):
    with open(os.path.join(REPO, path), encoding="utf-8") as file:
        return file.read()


def in_code(path, pattern):
    found = re.search(pattern, read(path), re.S)
    if not found:
        sys.exit("%s: the pattern %s matches no longer" % (path, pattern))
    return int(eval(found[1], {"__builtins__": {}}))  # "64", "1 << 20"


def default_of(key):
    return in_code("lua/config/schema.lua", r'key = "%s".*?default = "(\d+)"' % re.escape(key))


FACTS = [
    ("ids per second of the default layout, per worker id", 1 << in_code("csrc/id/preset.c", r'"vesta-second".*?seq:(\d+)'),
     [r"Up to ([\d,]+) ids per second per worker id in the default layout", r"the default: ([\d,]+) ids in each second per worker id"]),
    ("worker ids of the default layout", 1 << in_code("csrc/id/preset.c", r'"vesta-second".*?machine:(\d+)'),
     [r"the default: [\d,]+ ids in each second per worker id, ([\d,]+) worker ids"]),
    ("minutes that ids continue without a store", None,
     [r"ids continue for \[([\d.]+) minutes by default\]", r"ids continue without the store for \| [^|]* \| [^|]* \| ([\d.]+) min \|"]),
    ("milliseconds that a request waits for an id", default_of("segments.#.wait_ms_max"),
     [r"([\d.]+ s) for which a server lets a request wait", r"up to ([\d.]+ s) by default, or 100 ms",
      r"`wait_ms_max` of the namespace, (\d+) ms by default"]),
    ("milliseconds until an idle HTTP connection is closed", default_of("http.idle_ms_max"),
     [r"vesta's limits are \[([\d.]+ s) for HTTP"]),
    ("milliseconds until an idle Redis connection is closed", default_of("resp.idle_ms_max"), [r"for HTTP and ([\d.]+ s) for"]),
    ("namespaces of a server", in_code("csrc/server/server.h", r"VS_NAMESPACES_MAX (\d+)"),
     [r"A loop can create up to ([\d,]+) namespaces", r"namespaces as its config names, at most ([\d,]+)", r"\| namespaces of a server \| ([\d,]+) \|"]),
    ("namespaces that are described one by one", in_code("csrc/server/server.h", r"VS_NAMESPACES_TOLD (\d+)"),
     [r"describes the first (\d+) namespaces", r"of this namespace or the first (\d+) \|", r"\| the first (\d+): `default`"]),
    ("ids of one request", in_code("csrc/server/table.h", r"VESTA\.NEXT.*?n \(1\.\.(\d+)\) ids"), [r"one id or up to ([\d,]+) ids"]),
    ("ids of one block", in_code("csrc/server/table.h", r"VESTA\.BLOCK name n \[from until\] -- up to n \(1\.\.(\d+)\)"),
     [r"up to ([\d,]+) ids as a range"]),
    ("numbers of the largest range of a counter", default_of("segments.#.step_max"),
     [r"up to `step_max` \(([\d,]+)\)", r"ranges last for less than 15 minutes \| (\d+) \|"]),
    ("minutes that a range of a counter should last", None,
     [r"doubles while a range lasts less than (\d+) minutes", r"if ranges last for less than (\d+) minutes",
      r"one range in about (\d+) minutes"]),
    ("milliseconds that a client skips a failed server at most", None,
     [r"doubles with each failure, up to ([\d.]+ s)", r"skips the server for ([\d.]+ s)", r"doubled with each failure up to ([\d.]+ s)"]),
    ("milliseconds of a client's request to a server", None, [r"lets a request wait \| ([\d.]+ s) \|", r"lets a request wait \| (\d+) \|"]),
    ("milliseconds until an assigned worker id is available again", None,
     [r"assigned (?:worker id|one) is available again after at most ([\d.]+ s)", r"assigned one issues ids again within ([\d.]+ s)",
      r"has only ([\d.]+ s) granted in advance"]),
    ("KB of shared memory of a generator", None, [r"`/dev/shm/vesta-<key>`, (\d+) KB", r"`/dev/shm` \| host and namespace \| (\d+) KB"]),
    ("ids counted by scripts/prove lanes", None, [r"repeats\.\*\* ([\d,]+) ids", r"`scripts/prove lanes`, [\d-]+ \| ([\d,]+)"]),
    ("minutes of scripts/test", None, [r"runs all tests, (\d+) minutes", r"everything, (\d+) minutes"]),
]


def figure(text):
    """Returns a number without commas, with seconds converted to milliseconds."""
    number = float(text.replace(",", "").removesuffix(" s"))
    return number * 1000 if text.endswith(" s") else number


def searched(text):
    return re.sub(r"\s+", " ", text)


def differences(pages, fact):
    name, value, patterns = fact
    stated = {}
    for pattern in patterns:
        found = [(page, next(group for group in match.groups() if group)) for page, text in pages.items()
                 for match in re.finditer(pattern, text)]
        if not found:
            return ["no page has this sentence any more: %s" % pattern]
        for page, text in found:
            stated.setdefault(figure(text), []).append("%s: %s" % (page, text))
    wrong = sorted(stated) if value is None and len(stated) > 1 else [n for n in stated if value is not None and n != value]
    return ["%s (the code has %s)" % (place, value) for n in wrong for place in stated[n]]


def self_test(pages):
    for name, value, patterns in FACTS:
        page, match = next((page, match) for page, text in pages.items() if (match := re.search(patterns[0], text)))
        group = next(i for i in range(1, match.re.groups + 1) if match[i])
        changed = pages[page][:match.start(group)] + "9" + pages[page][match.start(group):]
        only = value is None and sum(len(re.findall(p, text)) for p in patterns for text in pages.values()) < 2
        found = differences({**pages, page: changed}, (name, value, patterns))
        yield "another figure fails: %s" % name, [] if found and not only else ["no pattern compares it"]


def main():
    pages = {os.path.relpath(path, REPO): searched(read(path)) for pattern in PAGES
             for path in sorted(glob.glob(os.path.join(REPO, pattern)))}
    if "--self-test" in sys.argv:
        return report(self_test(pages))
    return report(("pages agree: %s" % fact[0], differences(pages, fact)) for fact in FACTS)


sys.exit(main())
