"""rows.py -- a row of the table: the measurement, its yardstick, setting and target.

A row's `measure` takes a Turns and returns a Made with samples, each {key: (vesta's, the yardstick's)}. A figure of the
table is computed from all samples of one key. It raises Missing if a program is not on this machine.
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
LASTING_S = 4.0  # at least three of them at the layout's limit
ADD_NS = 5.2  # the atomic add on the machine for which the targets in nanoseconds were set


class Missing(Exception):
    """A program that the row needs is not on this machine."""


@dataclass(frozen=True)
class Turns:
    """How often and how long a row measures."""
    build: Path
    samples: int = 7
    seconds: float = 0.4  # of a load over the network
    tiny: bool = False    # for a test, which ignores the figures

    @property
    def lasting(self):
        """Seconds of a load with default settings. A layout of seconds lets ids run ahead by one second, so a shorter
        load measures a rate that cannot be sustained."""
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
    notes: dict = field(default_factory=dict)  # by key, or "" for all


def of_values(ours, yard):
    return ours / yard


def of_speeds(ours, yard):
    """Both are times, and a larger result is better."""
    return yard / ours


def ours_alone(ours, _):
    return ours


def at_add(ours, yard):
    """Returns nanoseconds, scaled to an atomic add of ADD_NS."""
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
        """Returns a line of the table as JSON, or None if no sample has this key."""
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
    like: str = ""  # a row that measures the same with other parameters, which a test skips

    def lines(self, turns):
        made = self.measure(turns)
        lines = [line for line in (figure.line(self, made) for figure in self.figures) if line]
        for line in lines[1:]:  # The count belongs to the row, so only the first line has it.
            line.pop("ids", None), line.pop("duplicates", None)
        return lines


def pairs(key, made):
    return [{key: tuple(pair)} for pair in made]


# ---------------------------------------------------------------- helpers

def need(program, package):
    if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
        raise Missing(f"{program} is not here (Debian: {package})")


class Folder:
    """A temporary folder of a row, optionally with a generator file that has a day of spare ids."""

    def __init__(self, turns=None):
        self.turns = turns

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="vesta-bench."))
        if self.turns:
            subprocess.run([str(self.turns.program("day_old")), str(self.path)], check=True, stdout=subprocess.DEVNULL, timeout=60)
        for name in self.path.rglob("*"):  # nginx's worker runs as another user.
            name.chmod(0o755 if name.is_dir() else 0o644)
        self.path.chmod(0o755)
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
