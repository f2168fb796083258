#!/usr/bin/env python3
"""subjects.py [--self-test] -- the subjects of the newest commits: imperative, at most 72 characters, plain English."""
import os
import re
import subprocess
import sys

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402

NEWEST = 50
LENGTH_MAX = 72
RULES = [
    ("is longer than %d characters" % LENGTH_MAX, ".{%d}" % (LENGTH_MAX + 1)),
    ("does not begin with a capital letter", "[^A-Z]"),
    ("does not begin with a verb in the imperative",
     r"(?:The|An?|It|This|That|These|No|Each|Every|All|More|What|Who|Where|When|If|\w+ed|\w+ing|\w+(?<!s)s|[A-Za-z]+:)\s"),
    ("ends with a full stop", r".*\.$"),
    ("names no actor", r".*\b(?:[Ww]ho(?:ever|se|m)?|[Nn]obody|[Ss]omebody|what (?:is|was|has))\b"),
]
IMPERATIVES = r"(?:Embed|Feed|Need|Seed|Speed|Shed|Proceed|Bring|Ring|String)\b"


def faults(subject):
    return ["'%s' %s" % (subject, fault) for fault, pattern in RULES
            if re.match(pattern, subject) and not (re.match(IMPERATIVES, subject) and "imperative" in fault)]


def subjects():
    """Returns [] outside of a clone, for example in an unpacked archive."""
    log = subprocess.run(["git", "-C", REPO, "log", "--no-merges", "-%d" % NEWEST, "--format=%s"], capture_output=True, text=True)
    return log.stdout.splitlines() if log.returncode == 0 else []


def self_test():
    right = "Reject a worker id that exceeds the field", "Embed the page's pictures", "Pass the count to the store"
    wrong = "Rejects a worker id", "The store is asked once", "Fixed a hang", "Reject " + "x" * 70, "Reject a worker id.", \
        "Name the client who asks", "reject a worker id", "docs: Split the page"
    for subject in right:
        yield "'%s' passes" % subject, faults(subject)
    for subject in wrong:
        yield "'%s' fails" % subject[:72], [] if faults(subject) else ["it passed"]


def main():
    if "--self-test" in sys.argv:
        return report(self_test())
    return report((subject[:72], faults(subject)) for subject in subjects() or ["Pass if there is no history"])


sys.exit(main())
