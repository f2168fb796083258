"""terminal.py -- a terminal of a size, in which a program runs, as a person has one."""
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time

from harness import SLOW

CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plain(text):
    """What is seen of it: without colours and the like."""
    return CODES.sub("", text)


class Terminal:
    def __init__(self, world, *words, columns=80, rows=24, can_stop=False, **env):
        self.ours, self.theirs = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.theirs)
        # a program in a session of its own has no parent in it that could continue it, so TSTP does not stop it
        group = {"process_group": 0} if can_stop else {"start_new_session": True}
        self.program = world.start(*words, stdin=self.theirs, stdout=self.theirs, stderr=self.theirs, env=env, **group)
        self.said = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.program.poll() is None:
            self.program.kill()
        self.program.wait()
        os.close(self.ours)
        os.close(self.theirs)

    def resize(self, columns, rows):
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        if hasattr(self, "program"):
            self.program.send_signal(signal.SIGWINCH)  # as a terminal does that is the program's own

    def read(self):
        """What comes within a tenth of a second."""
        while select.select([self.ours], [], [], 0.1)[0]:
            self.said += os.read(self.ours, 65536).decode(errors="replace").replace("\r\n", "\n")
            if len(self.said) > 1 << 20:
                self.said = self.said[-(1 << 19):]
        return self.said

    def until(self, pattern, frame=False):
        """Waits until that is said; in the last screen, if `frame`.  Returns what was looked at."""
        deadline = time.monotonic() + 60 * SLOW
        while True:
            seen = self.frame() if frame else self.said
            if re.search(pattern, plain(seen)):
                return seen
            assert self.program.poll() is None and time.monotonic() < deadline, (pattern, self.program.poll(), self.said[-4000:])
            self.read()

    def frame(self):
        """The screen that was drawn last, and what came behind it."""
        return self.said.rsplit("\x1b[H", 1)[-1]

    def type(self, text):
        os.write(self.ours, text.encode())

    def end(self, number=None):
        if number is not None:
            self.program.send_signal(number)
        code = self.program.wait(timeout=60 * SLOW)
        self.read()
        return code

    def is_restored(self):
        """The terminal is as it was before the program came."""
        return termios.tcgetattr(self.theirs) == self.before


def look(world, columns, *words, **env):
    """All that a program says to a terminal of so many columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = world.start(*words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # the terminal's last user has gone
        pass
    program.wait(timeout=60 * SLOW)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")
