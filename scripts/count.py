#!/usr/bin/env python3
"""count.py FILE.xml -- counts the tests in a JUnit file of ctest, and shows the output of failed ones.

A program that reports its own claims, as `N passed, M failed` (our C harness) or `N successes / M failures / K errors`
(busted), counts as that many tests, and any other as one. A failed program counts as at least one failure. A long
output is reduced to the failures and the end, followed by a line `failed: TEST: CLAIM` for each failure. The last line
is `PASSED FAILED SKIPPED`.
"""
import re
import sys
import xml.etree.ElementTree

OURS = re.compile(r"^(\d+) passed, (\d+) failed", re.M)
BUSTED = re.compile(r"(\d+) success(?:es)? / (\d+) failures? / (\d+) errors?")
NOT_OK = re.compile(r"^not ok - (.*)")
COLOUR = re.compile(r"(?:\x1b|\[NON-XML-CHAR-0x1B\])\[[0-9;]*m")


def claims(output):
    """Returns passed and failed from the program's own summary, or (0, 0) without one."""
    output = COLOUR.sub("", output)
    passed = failed = 0
    for match in OURS.finditer(output):
        passed, failed = passed + int(match[1]), failed + int(match[2])
    for match in BUSTED.finditer(output):
        passed, failed = passed + int(match[1]), failed + int(match[2]) + int(match[3])
    return passed, failed


def is_skipped(case):
    """Returns whether the test itself reported a skip. A missing program is a failure, although ctest reports it as
    skipped."""
    skipped = case.find("skipped")
    return skipped is not None and skipped.get("message", "").startswith("SKIP_")


def count(cases):
    passed = failed = 0
    skipped, broken = [], []
    for case in cases:
        status, output = case.get("status"), case.findtext("system-out") or ""
        if status == "disabled" or is_skipped(case):
            skipped.append(case.get("name"))
            continue
        own_passed, own_failed = claims(output)
        if status == "run":
            passed += own_passed if own_passed or own_failed else 1
            failed += own_failed
        else:
            passed += own_passed
            failed += own_failed or 1
        if status != "run" or own_failed:
            broken.append((case.get("name"), output))
    return passed, failed, skipped, broken


# lines of output, lines after each `not ok`, lines at the end, characters per line
LINES_MAX, AFTER, LAST, WIDTH = 120, 30, 40, 2000


def shown(output):
    """Returns the output, reduced for readers of a log of all tests."""
    lines = [line if len(line) <= WIDTH else line[:WIDTH] + "..." for line in output.rstrip().splitlines()]
    if len(lines) <= LINES_MAX:
        return lines
    kept = set(range(len(lines) - LAST, len(lines)))
    for at, line in enumerate(lines):
        if NOT_OK.match(line):
            kept.update(range(at, min(at + AFTER, len(lines))))
    found, before = [], -1
    for at in sorted(kept):
        if at > before + 1:
            found.append("... (%d lines)" % (at - before - 1))
        found.append(lines[at])
        before = at
    return found


def failures(name, output):
    """Returns a line for each failed claim, or the test's name if it reports none."""
    claims = [match[1][:200] for match in map(NOT_OK.match, output.splitlines()) if match]
    return [f"failed: {name}: {claim}" for claim in claims] or [f"failed: {name}"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase")
    passed, failed, skipped, broken = count(cases)
    for name, output in broken:
        print(f"--- {name}", *shown(output), sep="\n")
    for name in skipped:
        print(f"skipped: {name}")
    for name, output in broken:
        print(*failures(name, output), sep="\n")
    print(passed, failed, len(skipped))


main()
