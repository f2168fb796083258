#!/usr/bin/env python3
"""rows.py BUILD -- runs each row of bench/run once, with sizes too small for real figures, and checks its report."""
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import claim, run  # noqa: E402

BUILD = sys.argv[1]
INSIDE = {"history", "threads", "processes", "clock", "batch", "lease", "segment", "format", "growth", "gen", "audit", "start",
          "balance", "refused"}  # These rows need only the build.
FOLDER = tempfile.TemporaryDirectory(prefix="vesta-bench.")
FIGURES = os.path.join(FOLDER.name, "bench.json")


def bench(*words):
    done = subprocess.run([os.path.join(REPO, "bench", "run"), *words], capture_output=True, text=True, timeout=280)
    return done.returncode, done.stdout, done.stderr


def figures():
    with open(FIGURES, encoding="utf-8") as file:
        return json.load(file)


@claim("each row runs, estimates the remaining time, and contains no duplicate ids")
def _():
    code, out, err = bench("--smoke", "--build", BUILD, "--json", FIGURES)
    assert code == 0, out[-2000:] + err[-1000:]
    got = figures()
    assert not got["failed"], got["failed"]
    assert INSIDE <= {line["row"] for line in got["rows"]}, sorted(INSIDE - {line["row"] for line in got["rows"]})
    assert "left" in err and not any(line.get("duplicates") for line in got["rows"]), err
    print("    %d figures; not here: %s" % (len(got["rows"]), ", ".join(got["skipped"]) or "nothing"))


@claim("a skipped row names what is missing")
def _():
    assert all("is not here" in why or "are not here" in why or "test" in why or "needed" in why or "one processor" in why
               or "not built" in why for why in figures()["skipped"].values()), figures()["skipped"]


@claim("a row with default settings measures a sustained rate: its load lasts at least three seconds at the layout's "
       "rate")
def _():
    sys.path.insert(0, os.path.join(REPO, "bench"))
    import net
    from rows import Turns
    layout = subprocess.run([os.path.join(BUILD, "vesta"), "layout", "vesta-second"], capture_output=True, text=True).stdout
    assert "%d" % net.DEFAULTS_PER_SECOND in layout.replace(",", ""), layout
    assert Turns(BUILD).lasting - 1 >= 3  # Ids may run ahead by one second.


@claim("measured figures can be drawn without measuring again")
def _():
    drawn = os.path.join(FOLDER.name, "bench.svg")
    code, out, err = bench("--from", FIGURES, "--svg", drawn)
    assert code == 0, out + err
    assert xml.parse(drawn).getroot().tag.endswith("svg")


@claim("--list prints each row and its target, --help prints the groups, and an unknown row is rejected")
def _():
    listed, helped, refused = bench("--list")[1], bench("--help")[1], bench("nonsense")
    assert ">= 0.87  [W, history]" in listed and all("\n  %s " % name in listed for name in INSIDE), listed
    assert "--quick" in helped and "latency" in helped, helped
    assert refused[0] == 2 and "nonsense" in refused[2], refused


sys.exit(run("", lambda function: function()))
