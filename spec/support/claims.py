"""claims.py -- the harness of specs in Python: prints a line per claim, `ok - ...` or `not ok - ...` with the reason,
and the totals.

A test is a function decorated with @claim("what holds").  It fails by an exception.
"""
import os
import signal
import sys
import traceback

SLOW = 3 if os.environ.get("VESTA_SLOW") else 1  # with sanitizers: smaller sizes, longer timeouts
LINE_MAX = 4000  # of a failure's text: two lists that differ may have a hundred thousand elements
os.umask(0o022)  # tests run programs as other users, who must be able to open the files
_tests = []


def claim(text):
    def keep(function):
        _tests.append((text, function))
        return function
    return keep


def report(claims):
    """Prints each (claim, lines of a failure, which are empty if it holds) as it comes.  Returns the exit code."""
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
    """Runs the tests with this part in their claims, with call(function).  Returns the exit code."""
    def outcomes():
        for text, function in _tests:
            if part in text:
                try:
                    call(function)
                    yield text, []
                except Exception:
                    yield text, traceback.format_exc().splitlines()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that folders and processes are cleaned up
    return report(outcomes())
