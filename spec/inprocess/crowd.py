"""crowd.py VESTA BUILD PROCESSES IDS [KILL_S] [private] -- that many processes of each language issue ids from one generator file, until it has
IDS ids.  Every KILL_S seconds (0.1) a process is killed with -9 and replaced.  `vesta audit` counts duplicates.
With `private`, the processes have one worker id but no common file, as with most other generators: the audit must find duplicates.

Each language writes to a pipe of its own.  The lines are counted here, and passed on to the audit.
"""
import json
import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

BUILD, PROCESSES, IDS = os.path.abspath(sys.argv[2]), int(sys.argv[3]), int(float(sys.argv[4]))
KILL_S = float(sys.argv[5]) if len(sys.argv) > 5 else 0.1
IS_PRIVATE = sys.argv[6:] == ["private"]
sys.argv[2:] = []
from harness import VESTA, environment  # noqa: E402
from languages import LANGUAGES  # noqa: E402

# 16 million ids per second, so that the layout does not limit the processes.
LAYOUT = "sign:1 time:31 seq:24 worker:8 unit=1s epoch=2020-01-01T00:00:00Z"
PATIENCE_S = 3600  # for 10^8 ids on a busy machine
IDS_PER_FORK = 201 * 190  # as the drivers fork


class Group:
    """The processes of a language."""

    def __init__(self, crowd, language):
        self.crowd, self.language, self.ids, self.kills, self.rest = crowd, language, 0, 0, b""
        self.out, into = os.pipe()
        self.into = os.fdopen(into, "wb")
        self.members, self.sessions = [self.start() for _ in range(PROCESSES)], []

    def start(self):
        """Starts a process in a session of its own, so that its forked children can be killed with it."""
        env = environment(self.crowd.folder, LD_LIBRARY_PATH=os.path.join(os.path.dirname(VESTA), "csrc"), **self.language.env)
        return subprocess.Popen([*self.language.argv(BUILD), "record", self.crowd.options], cwd=self.crowd.folder, stdin=subprocess.DEVNULL,
                                stdout=self.into, stderr=self.crowd.log, env=env, start_new_session=True)

    def check(self):
        for process in self.members:
            assert process.poll() is None, "%s ended with %d:\n%s" % (self.language.name, process.returncode, self.crowd.last_words())

    def kill_one(self):
        """Kills a process and replaces it.  Every second time its forked child survives."""
        place = random.randrange(len(self.members))
        process = self.members[place]
        self.sessions.append(process.pid)
        process.kill() if random.random() < 0.5 else os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.members[place] = self.start()
        self.kills += 1

    def end(self):
        for process in self.members:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self.into.close()


class Crowd:
    def __init__(self, folder):
        self.folder, self.log = folder, open(os.path.join(folder, "log"), "a+")
        self.options = "layout='%s' " % LAYOUT + ("unsafe_private=true worker=7" if IS_PRIVATE else "path=%s/ids.gen any_worker=true" % folder)
        self.missing = {language.name: language.missing(BUILD) for language in LANGUAGES}
        self.groups = [Group(self, language) for language in LANGUAGES if not self.missing[language.name]]
        self.audit = subprocess.Popen([VESTA, "audit", "--layout", LAYOUT, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      env=environment(folder))
        self.by_pipe = {group.out: group for group in self.groups}

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def drain(self, pipes, timeout):
        """Passes what can be read on to the audit.  A chunk is written as a whole, so each read has whole lines."""
        for pipe in select.select(pipes, [], [], timeout)[0]:
            lines = os.read(pipe, 1 << 20)
            if not lines:
                pipes.remove(pipe)
                continue
            self.by_pipe[pipe].ids += lines.count(b"\n")
            self.audit.stdin.write(lines)

    def run(self):
        pipes, begun, kill_at = list(self.by_pipe), time.monotonic(), 0
        while sum(group.ids for group in self.groups) < IDS or not all(group.ids and group.kills for group in self.groups):
            self.drain(pipes, min(KILL_S, 0.1))
            now = time.monotonic()
            assert now < begun + PATIENCE_S, "%d ids in %d s" % (sum(group.ids for group in self.groups), PATIENCE_S)
            if now > kill_at and all(group.ids for group in self.groups):
                for group in self.groups:
                    group.check()
                random.choice([group for group in self.groups if not group.kills] or self.groups).kill_one()
                kill_at = now + KILL_S
        for group in self.groups:
            group.end()
        while pipes:  # until the last forked child has ended
            self.drain(pipes, None)
        self.audit.stdin.close()
        return json.loads(self.audit.stdout.read()), time.monotonic() - begun


def main():
    with tempfile.TemporaryDirectory(prefix="vesta-languages-") as folder:
        crowd = Crowd(folder)
        found, seconds = crowd.run()
        for name, why in crowd.missing.items():
            if why:
                print("skipped: %s: %s" % (name, why))
        rows = [(group.language.name, PROCESSES, group.kills, group.ids // IDS_PER_FORK if group.language.forks else 0, group.ids)
                for group in crowd.groups]
        total = sum(group.ids for group in crowd.groups)
        print("%-10s %10s %8s %12s %14s" % ("", "processes", "kill -9", "about forks", "ids"))
        for name, *numbers in rows + [("all", *(sum(row[i] for row in rows) for i in range(1, 5)))]:
            print("%-10s %10d %8d %12d %14s" % (name, *numbers[:3], format(numbers[3], ",")))
        print("%.0f s" % seconds)
        print("audit: %s" % json.dumps(found))
        good = (found["total"], found["unreadable"], found["duplicates"] > 0) == (total, 0, IS_PRIVATE) and total >= IDS
        print("%s - processes of every language %s" % ("ok" if good else "not ok", "without a common file repeat ids, and the audit finds them"
                                                       if IS_PRIVATE else "share one generator file, and no id repeats"))
        print("%d passed, %d failed" % (good, not good))
        sys.exit(not good)


main()
