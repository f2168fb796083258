"""rows.py -- what a row of the table is: what is measured beside which yardstick, under which setting, and what is wanted.

A row's `measure` is called with a Turns and gives a Made: samples, each of them {key: (ours, the yardstick's)}, and a
figure of the table is made from all samples of one key.  It raises Missing where a program is not on this machine.
"""
import os
import shutil
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parent.parent
LASTING_S = 4.0  # of which at least three are at the layout's rate
ADD_NS = 5.2  # the atomic add of the machine on which the wanted figures in nanoseconds were set


class Missing(Exception):
    """What a row needs is not on this machine."""


@dataclass(frozen=True)
class Turns:
    """How often and how long a row measures."""
    build: Path
    samples: int = 7
    seconds: float = 0.4  # of a load over the network
    tiny: bool = False    # for a test, which looks at no figure

    @property
    def lasting(self):
        """Seconds of a load on the defaults.  A layout of seconds lets ids run ahead by one second, so a shorter load measures
        a rate that cannot be sustained."""
        return self.seconds if self.tiny else LASTING_S

    def few(self, n, tiny):
        return tiny if self.tiny else n

    def program(self, name):
        path = self.build / "bench" / f"bench_{name}"
        if not path.exists():
            raise Missing(f"bench_{name} is not built")
        return path


@dataclass(frozen=True)
class Made:
    samples: list
    counted: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)  # of a key, or of all: ""


def of_values(ours, yard):
    return ours / yard


def of_speeds(ours, yard):
    """Both are times, and larger is better."""
    return yard / ours


def ours_alone(ours, _):
    return ours


def at_add(ours, yard):
    """Nanoseconds, had the atomic add taken what it took where the wanted figure was set."""
    return ours / yard * ADD_NS


@dataclass(frozen=True)
class Figure:
    key: str
    what: str
    yard: str
    unit: str
    wanted: str = ""  # ">= 0.5", "<= 0.9", or nothing
    setting: str = ""
    ratio: Callable = of_values

    def good(self, value):
        if not self.wanted:
            return None
        sign, figure = self.wanted.split()
        return value >= float(figure) if sign == ">=" else value <= float(figure)

    def line(self, row, made):
        """A line of the table, as JSON has it; None where no sample has this key."""
        pairs = [sample[self.key] for sample in made.samples if self.key in sample]
        if not pairs:
            return None
        ratios = [self.ratio(*pair) for pair in pairs]
        ratio = statistics.median(ratios)
        ours, yard = (list(side) for side in zip(*pairs))
        return {"row": row.name, "group": row.group, "what": self.what, "against": self.yard, "setting": self.setting,
                "unit": self.unit, "ours": ours, "yard": yard, "ratios": ratios, "ratio": ratio, "wanted": self.wanted,
                "ok": self.good(ratio), "note": made.notes.get(self.key, made.notes.get("", "")), **made.counted}


@dataclass(frozen=True)
class Row:
    name: str
    group: str
    measure: Callable
    figures: tuple
    like: str = ""  # a row that goes the same way with other numbers: a test goes it once

    def lines(self, turns):
        made = self.measure(turns)
        lines = [line for line in (figure.line(self, made) for figure in self.figures) if line]
        for line in lines[1:]:  # what was counted is of the row: told once
            line.pop("ids", None), line.pop("duplicates", None)
        return lines


def pairs(key, made):
    """Samples of one key."""
    return [{key: tuple(pair)} for pair in made]


# ---------------------------------------------------------------- what several rows need

def need(program, package):
    if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
        raise Missing(f"{program} is not here (Debian: {package})")


class Folder:
    """A folder of a row's own, removed afterwards; with a generator a day behind in it, if asked for."""

    def __init__(self, turns=None):
        self.turns = turns

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="vesta-bench."))
        if self.turns:
            subprocess.run([str(self.turns.program("day_old")), str(self.path)], check=True, stdout=subprocess.DEVNULL, timeout=60)
        for name in self.path.rglob("*"):  # nginx's worker is another user
            name.chmod(0o755 if name.is_dir() else 0o644)
        self.path.chmod(0o755)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
