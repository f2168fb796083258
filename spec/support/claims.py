"""claims.py -- what a spec in Python says: a line a claim, `ok - ...` or `not ok - ...` with why, and how many of each.

A test is a function decorated with @claim("what holds"); it fails by an exception.
"""
import os
import signal
import sys
import traceback

SLOW = 3 if os.environ.get("VESTA_SLOW") else 1  # sanitizers: smaller sizes, longer patience
LINE_MAX = 4000  # of what is said to be wrong: two lists that are not the same may have a hundred thousand
os.umask(0o022)  # tests run programs as other users, who must reach the files
_tests = []


def claim(text):
    def keep(function):
        _tests.append((text, function))
        return function
    return keep


def report(claims):
    """Of each (claim, lines that say what is wrong: none, if it holds), as they come; the exit code."""
    passed = failed = 0
    for text, wrong in claims:
        print(("not ok - " if wrong else "ok - ") + text)
        for line in wrong:
            print("    " + (line if len(line) <= LINE_MAX else "%s... (%d characters more)" % (line[:LINE_MAX], len(line) - LINE_MAX)))
        sys.stdout.flush()
        passed, failed = passed + (not wrong), failed + bool(wrong)
    if passed + failed == 0:
        print("no claim has these words")
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


def run(part, call):
    """Has each test that has this part in its claim called by call(function); the exit code."""
    def outcomes():
        for text, function in _tests:
            if part in text:
                try:
                    call(function)
                    yield text, []
                except Exception:
                    yield text, traceback.format_exc().splitlines()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # folders and processes are cleaned up on the way out
    return report(outcomes())
