"""terminal.py -- a terminal of a given size in which a program runs."""
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
    """The visible text, without colours and other codes."""
    return CODES.sub("", text)


class Terminal:
    def __init__(self, world, *words, columns=80, rows=24, can_stop=False, **env):
        self.ours, self.theirs = os.openpty()
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.theirs)
        # a program in a session of its own has no parent that could continue it, so TSTP does not stop it
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
            self.program.send_signal(signal.SIGWINCH)  # as the controlling terminal of the program does

    def read(self):
        """Returns the output of the next tenth of a second."""
        while select.select([self.ours], [], [], 0.1)[0]:
            self.said += os.read(self.ours, 65536).decode(errors="replace").replace("\r\n", "\n")
            if len(self.said) > 1 << 20:
                self.said = self.said[-(1 << 19):]
        return self.said

    def until(self, pattern, frame=False):
        """Waits until the pattern is printed (`frame`: on the last screen).  Returns the text that was searched."""
        deadline = time.monotonic() + 60 * SLOW
        while True:
            seen = self.frame() if frame else self.said
            if re.search(pattern, plain(seen)):
                return seen
            assert self.program.poll() is None and time.monotonic() < deadline, (pattern, self.program.poll(), self.said[-4000:])
            self.read()

    def frame(self):
        """The last screen that was drawn, and the output after it."""
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
        """Whether the terminal is as it was before the program started."""
        return termios.tcgetattr(self.theirs) == self.before


def look(world, columns, *words, **env):
    """Returns all output of the program to a terminal of that width."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    program = world.start(*words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # the terminal's last user has closed it
        pass
    program.wait(timeout=60 * SLOW)
    os.close(ours)
    return said.decode().replace("\r\n", "\n")
