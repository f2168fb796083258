"""driver.py -- runs a language's driver by the commands in README."""
import os
import select
import signal
import subprocess
import threading
import time
from urllib.parse import quote

from harness import SLOW, environment
from servers import until

PATIENCE_S = 90 * SLOW  # after that time a command counts as unanswered


class Ledger:
    """All ids issued in the run, in all languages, and the cell of each."""

    def __init__(self):
        self.lock, self.given = threading.Lock(), {}

    def enter(self, cell, name, ids):
        with self.lock:
            for id in ids:
                before = self.given.setdefault((name, id), cell)
                assert before is cell, "%d of %r was issued twice: here and in %s" % (id, name, before)

    def __len__(self):
        return len(self.given)


class Said:
    def __init__(self, line):
        head, _, self.error = line.partition("error ")
        words = head.split()
        self.word = words[0] if words else "error"
        self.ids = [int(text) for text in words[1:]] if self.word == "ids" else []
        self.line = line


class Driver:
    """A process with one client at a time.  Its ids are entered into the ledger under `cell`, unless `counted` is false."""

    def __init__(self, cell, column, build, ledger, env=None):
        self.cell, self.ledger = cell, ledger
        self.log = open(os.path.join(cell.folder, "%s.log" % column.name), "a+")
        self.process = subprocess.Popen(column.argv(build), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        cwd=cell.folder, env=environment(cell.folder, **{**column.env, **(env or {})}))
        self.name, self.counted, self.rest = None, True, b""

    def say(self, line, patience_s=PATIENCE_S):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + patience_s
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            assert ready, "no answer to %r within %d s%s" % (line, patience_s, self.last_words())
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, "it ended at %r with %r%s" % (line, self.process.wait(5), self.last_words())
            self.rest += data
        answer, _, self.rest = self.rest.partition(b"\n")
        return Said(answer.decode())

    def last_words(self):
        self.log.seek(0)
        return "\n" + self.log.read()[-2000:]

    def try_open(self, servers, name="ids", **options):
        self.name, self.seen = name, set()
        options = {"servers": ",".join(servers), "name": name, **options}
        return self.say("open " + " ".join("%s=%s" % (key, quote(str(value), safe=":,.-_[]")) for key, value in options.items()))

    def open(self, servers, name="ids", **options):
        said = self.try_open(servers, name, **options)
        assert said.line == "ok", said.line

    def ids(self, line):
        """Sends a command for ids, and checks that none of them was issued before."""
        said = self.say(line)
        assert said.word == "ids" or said.line == "none", said.line
        if self.counted:
            assert len(set(said.ids)) == len(said.ids) and not self.seen & set(said.ids), "issued twice: " + said.line[:500]
            self.seen.update(said.ids)
            self.ledger.enter(self.cell, self.name, said.ids)
        return said

    def try_next(self, count):
        return self.ids("next %d" % count)

    def next(self, count):
        """Returns that many ids, or fails."""
        said = self.try_next(count)
        assert len(said.ids) == count and not said.error, "%d of %d ids: %s" % (len(said.ids), count, said.error)
        return said.ids

    def fails(self, *parts, count=1):
        """Checks that a call fails with an error that contains these parts."""
        said = self.try_next(count)
        assert said.error and not said.ids, "an error was expected: " + said.line[:500]
        for part in parts:
            assert part in said.error, "%r is not in %r" % (part, said.error)
        return said.error

    def info(self):
        """Returns blocks, requests, drops, and errors by server."""
        said = self.say("info").line.split()
        told = dict(pair.split("=", 1) for pair in said[1:])
        errors = dict(pair.rsplit(":", 1) for pair in told.pop("errors").split(",") if pair)
        return {**{key: int(value) for key, value in told.items()}, "errors": {key: int(value) for key, value in errors.items()}}

    def settle(self, blocks=1):
        """Waits until that many blocks have arrived and no request is in progress."""
        def is_settled():
            info = self.info()
            return blocks <= info["blocks"] == info["requests"] - sum(info["errors"].values()) or time.sleep(0.01)
        until(is_settled, "the client has %d blocks and no request in progress" % blocks)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """Closes the driver's stdin, and returns its exit code."""
        try:
            self.process.stdin.close()
            code = self.process.wait(PATIENCE_S)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.kill()
            code = None
        self.process.stdout.close()
        self.log.close()
        return code
