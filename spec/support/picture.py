#!/usr/bin/env python3
"""picture.py -- draws what a program shows in a terminal, for the docs: runs it in a pty, and renders the result with
Chromium.

    picture.py OUT.png [--size 80x24] [--keys KEYS] [--wait SECONDS] -- PROGRAM WORD...

KEYS are separated by spaces (`\\t`, `\\x1b[B`) and typed one per second.  After further --wait seconds the screen is
drawn and the program is ended.  If the program ends by itself, the screen is drawn as the program left it.
"""
import argparse
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time

from chromium import Chromium
from glass import Glass


def drive(words, columns, rows, keys, wait_s):
    """Returns all output of the program until it ends or its time is over."""
    pid, fd = pty.fork()
    if pid == 0:
        time.sleep(0.2)  # until the size is set
        os.execvpe(words[0], words, dict(os.environ, TERM="xterm-256color"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    said, next_s = b"", time.monotonic() + 2.5
    while True:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                said += os.read(fd, 65536)
            except OSError:  # it has ended
                break
        if time.monotonic() > next_s and keys:
            os.write(fd, keys.pop(0).encode())
            next_s = time.monotonic() + (1 if keys else wait_s)
        elif time.monotonic() > next_s + (0 if keys else wait_s):
            break
    shown = said.decode(errors="replace")
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
    return shown.replace("\r\n", "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", 2)[2])
    parser.add_argument("out")
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--keys", default="")
    parser.add_argument("--wait", type=float, default=2)
    asked = parser.parse_args(sys.argv[1:sys.argv.index("--")])
    columns, rows = map(int, asked.size.split("x"))
    keys = [key.encode().decode("unicode_escape") for key in asked.keys.split()]
    glass = Glass(columns, rows).feed(drive(sys.argv[sys.argv.index("--") + 1:], columns, rows, keys, asked.wait))
    while len(glass.cells) > 1 and not glass.lines()[-1]:
        glass.cells.pop()  # empty lines at the end
    with tempfile.NamedTemporaryFile("w", suffix=".html") as page, Chromium() as browser:
        page.write(glass.html())
        page.flush()
        tab = browser.tab(width=100, height=100)
        tab.go("file://" + page.name)
        tab.until("!!document.querySelector('pre')")
        width, height = tab.run("(r => [r.width, r.height])(document.querySelector('pre').getBoundingClientRect())")
        tab.call("Emulation.setDeviceMetricsOverride", width=int(width + 0.99), height=int(height + 0.99), deviceScaleFactor=1, mobile=False)
        tab.picture(asked.out)
    print("\n".join(glass.lines()))
    print("faults: %s" % glass.faults if glass.faults else "no faults", file=sys.stderr)


main()
