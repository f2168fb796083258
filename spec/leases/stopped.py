"""stopped.py -- stops or kills a program after its n-th system call, next to processes that must continue.

    stopped.py ISSUER VESTA STORE STOPPER sample|NAME[:STEP]    NAME: gen, serve, keeper: every n of one program, or every STEP-th

On the same store, namespace and generator file, one process runs before it in half of the runs, and one starts while it
is stopped.  There must be no duplicates, also after the stopped process continues.  No process may be without ids for
more than 3 s, except if a database's lock is held and no process had a worker id yet.  Then the message must name the
holder of the lock.  The longest wait of an unrelated process is caused by the machine, and is added for each step.
"""
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from ports import free_port

ISSUER, VESTA = (os.path.abspath(p) for p in sys.argv[1:3])
STORE, STOPPER, WHAT = sys.argv[3], os.path.abspath(sys.argv[4]), sys.argv[5]
GAP_MS = 3000
STILL_S = 9  # longer than the window of a worker id set by hand, and than the time limit without ids
LAYOUT = "snowflake"
AT_ONCE = 12
STEPS = 4  # steps of a take-over at which a busy machine may delay a process: silence, seat, store, ids
# calls that leave something half done: a name, a lock, a map, a write, a thread
LONGEST = []
TURNS = {1: "write", 9: "mmap", 18: "pwrite64", 26: "msync", 56: "clone", 72: "fcntl", 74: "fsync", 77: "ftruncate",
         82: "rename", 83: "mkdir", 86: "link", 87: "unlink", 257: "openat", 263: "unlinkat", 264: "renameat", 265: "linkat",
         285: "fallocate", 202: "futex", 435: "clone3"}

# A worker id set by hand has a window of 5 s, so a process that cannot renew is detected.  No process can break a lock
# of SQLite.  There, the window of a drawn worker id must outlast it, which is minutes long.
NUMBER = ["worker=7"] if STORE == "file" else []
NUMBER_FLAG = ["--worker", "7"] if STORE == "file" else []


def now_ms():
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


class Beside:
    """A process that issues ids, with the times and counts of its ids."""

    def __init__(self, box, name):
        self.out = os.path.join(box.folder, name + ".ids")
        self.begun_ms = now_ms()
        self.seen = []  # (ms, count)
        self.said = ""
        self.process = subprocess.Popen(
            [ISSUER, "run", self.out, "path=" + box.path, "store=" + box.store, "ns=a", "layout=" + LAYOUT, "rate=500",
             "round_us=20000"] + NUMBER, env=box.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            words = line.split(" ", 6)
            if words[0] in ("at", "end"):
                self.seen.append((float(words[1]), int(words[2])))
                self.said = words[6].strip() if len(words) > 6 else ""
            else:
                self.said = line.strip()

    def gap(self, until_ms):
        """Returns the longest time without an id: (ms, from)."""
        longest, since, before = (0, 0), self.begun_ms, 0
        for ms, given in self.seen + [(until_ms, None)]:
            if given == before and given is not None:
                continue
            longest = max(longest, (min(ms, until_ms) - since, since - self.begun_ms))
            since, before = ms, given
        return longest

    def wait_for_ids(self, seconds):
        end = now_ms() + seconds * 1000
        while not any(given for _, given in self.seen) and now_ms() < end and self.process.poll() is None:
            time.sleep(0.02)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.reader.join()


class Asker(threading.Thread):
    """Requests ids from a server as long as it runs."""

    def __init__(self, port, out):
        super().__init__()
        self.port, self.out, self.over = port, out, False
        self.start()

    def ask(self):
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            link.request("GET", "/v1/ids?ns=a&n=5")
            answer = link.getresponse()
            text = answer.read()
            return json.loads(text)["ids"] if answer.status == 200 else []
        except (OSError, http.client.HTTPException, ValueError):
            return []
        finally:
            link.close()

    def run(self):
        with open(self.out, "a") as out:
            while not self.over:
                for each in self.ask():
                    out.write("%020d\n" % int(each))
                time.sleep(0.03)


class Box:
    """A state folder, and the processes that use it."""

    def __init__(self):
        shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="vesta-stopped-", dir=shm)
        self.env = dict(os.environ, VESTA_STATE=self.folder)
        self.path = os.path.join(self.folder, "a.gen")
        self.store = "file:" + self.folder if STORE == "file" else "sqlite:" + os.path.join(self.folder, "vesta.db")
        self.beside = []
        self.asker = None

    def start(self, name):
        self.beside.append(Beside(self, name))
        return self.beside[-1]

    def command(self, what):
        common = ["--path", self.path, "--store", self.store, "--namespace", "a", "--layout", LAYOUT] + NUMBER_FLAG
        if what == "gen":
            return [VESTA, "gen", "-n", "3000"] + common
        if what == "keeper":  # most of its calls are the keeper's, because it issues one id in half a second
            return [ISSUER, "run", os.path.join(self.folder, "keeper.ids"), "path=" + self.path, "store=" + self.store, "ns=a",
                    "layout=" + LAYOUT, "rate=2", "round_us=500000", "ids=60"] + NUMBER
        port = free_port()
        self.asker = self.asker or Asker(port, os.path.join(self.folder, "asked.ids"))
        return [VESTA, "serve", "--http", "127.0.0.1:%d" % port, "--resp", "127.0.0.1:%d" % free_port()] + common

    def ids(self):
        """Returns the ids of all processes, complete lines only."""
        found = []
        for name in os.listdir(self.folder):
            if name.endswith((".ids", ".out")):
                with open(os.path.join(self.folder, name), errors="replace") as file:
                    lines = file.read().split("\n")[:-1]
                found += [int(line) for line in lines if line.isdigit() and int(line) > 1 << 40]
        return found

    def close(self):
        if self.asker:
            self.asker.over = True
            self.asker.join()
        shutil.rmtree(self.folder, ignore_errors=True)


class Control:
    """An unrelated process: the others may wait as long as this one."""

    def __init__(self):
        self.box = Box()
        self.beside = self.box.start("control")
        self.beside.wait_for_ids(60)

    def gap(self):
        return self.beside.gap(now_ms())[0]

    def close(self):
        self.beside.end()
        self.box.close()


def calls_of(what, seconds):
    """Returns the calls of one run, or of its start: n and the call's number."""
    box = Box()
    command = box.command(what)
    run = subprocess.Popen([STOPPER, "count", "0", box.folder + "/a.out"] + command, env=box.env, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    clock = threading.Timer(seconds, run.terminate)  # a server runs for long, and the tracer's end is its end
    clock.start()
    calls = [tuple(int(word) for word in line.split()) for line in run.stdout if line[0].isdigit()]
    run.wait()
    clock.cancel()
    box.close()
    return calls


def is_named(pid, early, why):
    """Whether no process had a worker id yet, the next one has the database locked, and the message names it."""
    return STORE == "sqlite" and not early and "process %s has locked" % pid in why


def one(what, n, how, early, control):
    """Makes one run.  Returns None if it passed, "" if the program ended before call n, else the failure."""
    box, stopper, said = Box(), None, []
    try:
        if early:
            box.start("early").wait_for_ids(60)
        stopper = subprocess.Popen([STOPPER, how, str(n), box.folder + "/a.out"] + box.command(what), env=box.env,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = stopper.stdout.readline().split()
        if not said or said[0] != "stopped":
            stopper.wait()
            return ""
        box.start("late")
        time.sleep(STILL_S)
        until = now_ms()
        gaps = [(beside.gap(until), beside, beside.said) for beside in box.beside]
        if how == "stop":
            stopper.stdin.write("\n")
            stopper.stdin.flush()
        time.sleep(1.5)  # it has continued, too
        for beside in box.beside:
            beside.end()
        stopper.stdin.close()
        if what != "gen" and how == "stop":
            os.kill(int(said[1]), signal.SIGTERM)
        try:
            stopper.wait(60)
        except subprocess.TimeoutExpired:
            return "%s, %s behind call %d: it does not end" % (what, how, n)
        if box.asker:
            box.asker.over = True
            box.asker.join()
        ids = box.ids()
        where = "%s, %s behind call %d (%s)%s" % (what, how, n, TURNS.get(int(said[2]), said[2]), ", another before it" if early else "")
        if len(ids) != len(set(ids)):
            return "%s: %d of %d ids are given twice" % (where, len(ids) - len(set(ids)), len(ids))
        slack = STEPS * control.gap()
        LONGEST.extend(gap for (gap, _), _, why in gaps if not is_named(said[1], early, why))
        for (gap, since), beside, why in gaps:
            if gap > GAP_MS + slack and not is_named(said[1], early, why):
                return "%s: %s without ids for %.1f s from %.1f s on (a process elsewhere %.1f s): %s" % (
                    where, os.path.basename(beside.out), gap / 1000, since / 1000, slack / STEPS / 1000, why)
        return None
    finally:
        if stopper and stopper.poll() is None:
            if said:
                os.kill(int(said[1]), signal.SIGKILL)
            stopper.kill()
        for beside in box.beside:
            beside.end()
        box.close()


def run_all(runs):
    control, bad, well, over = Control(), [], 0, 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for found in pool.map(lambda run: one(*run, control), runs):
            if found:
                bad.append(found)
                print("    " + found, flush=True)
            well += found is None
            over += found == ""
    control.close()
    print("    %d runs, %d well, %d over before; nobody without ids for more than %.1f s" % (
        len(runs), well, over, max(LONGEST, default=0) / 1000), flush=True)
    return bad, well


def sampled(what, count, first, seconds):
    """Selects some of the calls that leave something half done, spread over the program's life."""
    turns = [n for n, number in calls_of(what, seconds) if number in TURNS and n > first]
    picked = turns[::max(1, len(turns) // count)][:count]
    # the second process creates nothing, and makes half the calls
    return [(what, n // 2, "stop", True) if what == "gen" and i % 2 else (what, n, "stop", False) for i, n in enumerate(picked)]


def every(what, step):
    calls = len(calls_of(what, 20))
    return [(what, n, how, n // step % 2 == 1 and what != "keeper") for n in range(1, calls + 1, step) for how in ("stop", "kill")]


def main():
    if WHAT == "sample":
        with ThreadPoolExecutor(3) as pool:
            runs = sum(pool.map(lambda args: sampled(*args), (("gen", 6, 60, 20), ("keeper", 3, 60, 4), ("serve", 3, 200, 4))), [])
    else:
        what, _, step = WHAT.partition(":")
        runs = every(what, int(step or 1))
    bad, well = run_all(runs)
    good = not bad and well >= len(runs) // 2
    print("%s - a process is stopped at any of its system calls: no duplicates, and no other process is without ids for more than 3 s" %
          ("ok" if good else "not ok"))
    print("%d passed, %d failed" % (good, not good))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
