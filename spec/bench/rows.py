#!/usr/bin/env python3
"""rows.py BUILD -- bench/run: each row goes its way once, in pieces too small to tell anything; and what it says of itself."""
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
          "balance", "refused"}  # need nothing but the build
FOLDER = tempfile.TemporaryDirectory(prefix="vesta-bench.")
FIGURES = os.path.join(FOLDER.name, "bench.json")


def bench(*words):
    done = subprocess.run([os.path.join(REPO, "bench", "run"), *words], capture_output=True, text=True, timeout=280)
    return done.returncode, done.stdout, done.stderr


def figures():
    with open(FIGURES, encoding="utf-8") as file:
        return json.load(file)


@claim("each row goes its way, says how long the rest may take, and no id comes twice")
def _():
    code, out, err = bench("--smoke", "--build", BUILD, "--json", FIGURES)
    assert code == 0, out[-2000:] + err[-1000:]
    got = figures()
    assert not got["failed"], got["failed"]
    assert INSIDE <= {line["row"] for line in got["rows"]}, sorted(INSIDE - {line["row"] for line in got["rows"]})
    assert "left" in err and not any(line.get("duplicates") for line in got["rows"]), err
    print("    %d figures; not here: %s" % (len(got["rows"]), ", ".join(got["skipped"]) or "nothing"))


@claim("a row that is left out says what is missing")
def _():
    assert all("is not here" in why or "are not here" in why or "test" in why or "needed" in why or "one processor" in why
               or "not built" in why for why in figures()["skipped"].values()), figures()["skipped"]


@claim("a row of the defaults measures a rate that can be sustained: its load lasts for at least three seconds at the layout's rate")
def _():
    sys.path.insert(0, os.path.join(REPO, "bench"))
    import net
    from rows import Turns
    layout = subprocess.run([os.path.join(BUILD, "vesta"), "layout", "vesta-second"], capture_output=True, text=True).stdout
    assert "%d" % net.DEFAULTS_PER_SECOND in layout.replace(",", ""), layout
    assert Turns(BUILD).lasting - 1 >= 3  # ids run ahead by one second


@claim("figures that were measured are drawn without measuring again")
def _():
    drawn = os.path.join(FOLDER.name, "bench.svg")
    code, out, err = bench("--from", FIGURES, "--svg", drawn)
    assert code == 0, out + err
    assert xml.parse(drawn).getroot().tag.endswith("svg")


@claim("--list names each row and what is wanted, --help the groups; a row that is not there is refused")
def _():
    listed, helped, refused = bench("--list")[1], bench("--help")[1], bench("nonsense")
    assert ">= 0.87  [W, history]" in listed and all("\n  %s " % name in listed for name in INSIDE), listed
    assert "--quick" in helped and "latency" in helped, helped
    assert refused[0] == 2 and "nonsense" in refused[2], refused


sys.exit(run("", lambda function: function()))
