"""crew.py -- holders that run a foreign generator again and again, the faults that end its lives, and the judgement of
all lives and ids.  Knows no store.

A slot is a host with a clock and a connection of its own.  It runs `vesta lease run ... -- flake`, which are three
processes: the front that was started, the keeper, and the generator.  When the generator is alive, the slot injects a
fault, waits until the front has ended, and starts again.
"""
import collections
import contextlib
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from servers import SLOW, Proxy, until

ARENA_HEAD, LIFE = 64, struct.Struct("=qqiiii")  # see arena.h


class Weather(Proxy):
    """A connection to the store that is cut, delayed, or whose replies come after the deadline."""

    KINDS = ("cut", "requests late", "replies lost", "replies late")

    def heal(self):
        super().heal()
        self.hold_answers = False

    def pump(self, source, sink, from_client):
        if from_client:
            return super().pump(source, sink, True)
        try:
            while data := source.recv(65536):
                with self.lock:
                    while self.hold_answers:
                        self.lock.wait()
                    if self.lose_answers:
                        break
                sink.sendall(data)
        except OSError:
            pass
        self.end(source, sink)

    def turn(self, kind):
        if kind == "cut":
            self.lose_answers = self.lose_requests = True
            self.cut()
        elif kind == "requests late":
            self.hold_requests = True
        elif kind == "replies lost":
            self.lose_answers = True
        else:
            self.hold_answers = True


class Slot:
    def __init__(self, number, env, words, clock=None):
        self.number, self.env, self.words, self.clock = number, env, words, clock
        self.process = self.fault = None
        self.pids = {}
        self.at = 0.0  # when the next step is due
        self.step = "start"


class Crew:
    """`command(slot)` returns the words that start the generator of that slot, without the generator's own."""

    # The signal, its targets, and how often.  No signal: the generator ends by itself, or goes on until it is ended.
    FAULTS = {
        ("", "generator"): 10, ("", ""): 8, ("TERM", "front"): 12,
        ("KILL", "front"): 12, ("KILL", "keeper"): 12, ("KILL", "generator"): 8, ("KILL", "front keeper"): 6,
        ("KILL", "front keeper generator"): 4,
        ("STOP", "front"): 6, ("STOP", "keeper"): 8, ("STOP", "generator"): 5, ("STOP", "front generator"): 5,
        ("STOP", "keeper generator"): 5}

    def __init__(self, flake, judge, command, slots, ttl_s, weathers=(), seed=1, faults=None):
        self.flake, self.judge, self.command, self.slots, self.ttl_s, self.weathers = flake, judge, command, slots, ttl_s, weathers
        self.dice = random.Random(seed)
        self.faults = faults or self.FAULTS
        self.folder = tempfile.mkdtemp(prefix="vesta-churn-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.arena_path = os.path.join(self.folder, "arena")
        subprocess.run([judge, "count", self.arena_path], check=True, stdout=subprocess.DEVNULL)  # creates it
        self.file = open(self.arena_path, "r+b")
        self.arena = mmap.mmap(self.file.fileno(), 0)
        self.watcher = subprocess.Popen([judge, "watch", self.arena_path])
        self.seen = 0
        self.injected, self.said, self.codes = collections.Counter(), collections.Counter(), collections.Counter()
        self.churns = 0
        self.foul = {}  # when each weather ends
        self.next_weather = time.monotonic() + 1

    # ---------------------------------------------------------------- lives

    def read_lives(self):
        """Finds the slots of generators that began since the last call."""
        count = struct.unpack_from("=i", self.arena, 0)[0]
        for number in range(self.seen, count):
            began, _, slot, _, pid, _ = LIFE.unpack_from(self.arena, ARENA_HEAD + number * LIFE.size)
            if not began:
                return
            self.seen = number + 1
            try:
                with open("/proc/%d/stat" % pid) as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):  # it has ended
                parent = 0
            self.slots[slot].pids = dict(generator=pid, keeper=parent if parent > 1 and parent != os.getpid() else 0)

    def start(self, slot):
        if slot.clock and slot.clock.is_far() and not any(number == slot.number for number, _ in self.alive()):
            slot.clock.correct()
        slot.fault = self.dice.choices(list(self.faults), list(self.faults.values()))[0]
        seconds = "%.2f" % self.dice.uniform(0.1, 1.0) if slot.fault == ("", "generator") else "0"
        words = [self.flake, self.arena_path, str(slot.number), seconds, *slot.words]
        slot.pids, slot.err = {}, tempfile.TemporaryFile(dir=self.folder)
        slot.process = subprocess.Popen([*self.command(slot), *words], stdin=subprocess.DEVNULL, stdout=slot.err,
                                        stderr=slot.err, env=dict(os.environ, **slot.env))
        slot.step, slot.due = "begin", time.monotonic() + 30 * self.ttl_s

    def signal(self, slot, number, *targets):
        """Sends a signal.  The generator first, so that it runs for the shortest time without those that watch it."""
        for target in sorted(targets, key=("generator", "keeper", "front").index):
            pid = slot.process.pid if target == "front" else slot.pids.get(target)
            try:
                if pid:
                    os.kill(pid, number)
            except ProcessLookupError:
                pass

    def inject(self, slot):
        (name, targets), now = slot.fault, time.monotonic()
        self.injected[" ".join(slot.fault).strip() or "none"] += 1
        slot.step, slot.at = "end", now + 4 * self.ttl_s
        if name:
            self.signal(slot, getattr(signal, "SIG" + name), *targets.split())
        if name == "STOP":
            slot.step, slot.at = "continue", now + self.dice.choice((0.3, 0.9, 1.2, 2.0)) * self.ttl_s
        elif not targets:
            slot.at = now + self.dice.uniform(0.5, 2.5) * self.ttl_s  # renewals and the weather have time

    def step(self, slot):
        now = time.monotonic()
        if slot.step == "start":
            if now >= slot.at:
                self.start(slot)
            return
        if slot.step != "continue" and slot.process.poll() is not None:
            self.ended(slot)
        elif slot.step == "begin" and slot.pids:
            slot.step, slot.at = "alive", now + self.dice.uniform(0.05, 0.5)
            if slot.clock:
                slot.clock(slot)
        elif slot.step == "begin" and now > slot.due:  # it waits for a worker id, or for a clock
            self.signal(slot, signal.SIGTERM, "front")
            slot.due = now + 10 * self.ttl_s
        elif now >= slot.at and slot.step == "alive":
            self.inject(slot)
        elif now >= slot.at and slot.step == "continue":
            self.signal(slot, signal.SIGCONT, *slot.fault[1].split())
            slot.step, slot.at = "end", now + 0.5
        elif now >= slot.at and slot.step == "end":
            self.signal(slot, signal.SIGTERM, "front")
            slot.step, slot.at = "end of a stubborn generator", now + 1
        elif now >= slot.at and slot.step.startswith("end of"):
            self.signal(slot, signal.SIGKILL, "generator")
            slot.at = now + 1

    def ended(self, slot):
        code = slot.process.returncode
        self.codes[code] += 1
        slot.err.seek(0)
        text = slot.err.read().decode(errors="replace").strip()
        slot.err.close()
        if text:
            self.said[re.sub(r"[0-9][0-9a-fT:.,Z-]*", "N", text.splitlines()[-1])[:240]] += 1
        if slot.pids:
            self.churns += 1
        slot.step, slot.at = "start", time.monotonic() + (0.02 if slot.pids else 0.3)

    # ---------------------------------------------------------------- weather

    def change_weather(self):
        now = time.monotonic()
        for weather, end in list(self.foul.items()):
            if now >= end:
                weather.heal()
                weather.cut()
                del self.foul[weather]
        if self.weathers and now >= self.next_weather:
            weather, kind = self.dice.choice(self.weathers), self.dice.choice(Weather.KINDS)
            if weather not in self.foul:
                weather.turn(kind)
                self.injected["partition: " + kind] += 1
                self.foul[weather] = now + self.dice.uniform(0.4, 2.5) * self.ttl_s
            self.next_weather = now + self.dice.uniform(0.3, 1.2) * self.ttl_s

    # ---------------------------------------------------------------- the run

    def run(self, churns, seconds, least=0, look_s=1e9):
        """Runs until there were so many churns, or for so long.  On a busy machine, longer for the least churns.  Ends early
        if the judge has found a fault, which is asked every look_s seconds."""
        begun = time.monotonic()
        next_look = begun + look_s
        while self.churns < churns and (time.monotonic() - begun < seconds or self.churns < least):
            assert time.monotonic() - begun < 10 * seconds + 10, (self.churns, self.said)
            if time.monotonic() >= next_look:
                got = self.judged()[0]
                if got["pairs"] or got["equal"]:
                    break
                next_look = time.monotonic() + look_s
            self.read_lives()
            for slot in self.slots:
                self.step(slot)
            self.change_weather()
            assert self.watcher.poll() is None, "the watcher ended"
            time.sleep(0.005)
        self.seconds = time.monotonic() - begun
        return self

    def end(self):
        """Ends all processes.  A generator whose front or keeper was killed must end by itself."""
        for weather in self.weathers:
            weather.heal()
        for slot in self.slots:
            if slot.process and slot.process.poll() is None:
                self.signal(slot, signal.SIGCONT, "front", *slot.pids)
                self.signal(slot, signal.SIGTERM, "front")
        with contextlib.suppress(AssertionError):
            until(lambda: not self.alive(), "all generators end", 2 * self.ttl_s)
        for slot in self.slots:  # a signal from the user starts no timer, so a stubborn generator goes on
            if "stubborn" in slot.words and slot.process and slot.process.poll() is None:
                self.read_lives()
                self.signal(slot, signal.SIGKILL, "generator")
        until(lambda: not self.alive(), lambda: "all generators end; left are %r" % self.alive(), 10 * self.ttl_s)
        for slot in self.slots:
            if slot.process:
                slot.process.wait(10 * self.ttl_s * SLOW)

    def alive(self):
        """Returns the slots and pids of lives that are not over."""
        count = struct.unpack_from("=i", self.arena, 0)[0]
        lives = (LIFE.unpack_from(self.arena, ARENA_HEAD + number * LIFE.size) for number in range(count))
        return [(slot, pid) for began, _, slot, _, pid, is_over in lives if began and not is_over]

    def judged(self):
        """Returns the totals of the judge, and its lines about faults."""
        done = subprocess.run([self.judge, "count", self.arena_path], capture_output=True, text=True, check=True)
        *faults, last = done.stdout.splitlines()
        words = last.split()
        return dict(zip(words[::2], map(int, words[1::2]))), faults

    def close(self):
        self.watcher.kill()
        self.watcher.wait()
        for slot in self.slots:
            if slot.process and slot.process.poll() is None:
                slot.process.kill()
                slot.process.wait()
        for _, pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.arena.close()
        self.file.close()
        shutil.rmtree(self.folder, ignore_errors=True)
