"""listed.py -- vesta finds the processes of a program without a list of all processes of the host, which takes long on a
busy host.

    listed.py VESTA [PART]
"""
import os
import signal
import subprocess
import sys
import tempfile

from servers import SLOW, claim, main, until

VESTA = os.path.abspath(sys.argv[1])


@claim("a program gets TERM and KILL in time: not all processes of the host are listed before")
def _():
    with tempfile.TemporaryDirectory(prefix="vesta-first-") as folder:
        calls = os.path.join(folder, "calls")
        traced = subprocess.Popen(["strace", "-f", "-e", "trace=pidfd_send_signal,openat,execve", "-o", calls, VESTA, "lease", "run", "--ttl", "2", "--",
                                   "sh", "-c", "trap '' TERM; exec sleep 100"], stdin=subprocess.DEVNULL,
                                  env=dict(os.environ, VESTA_STATE=os.path.join(folder, "state")))

        def read():
            with open(calls) as file:
                return file.read()
        until(lambda: os.path.exists(calls) and '"sleep", "100"' in read(), "the program runs")
        front = int(read().split()[0])
        os.kill(front, signal.SIGKILL)  # the keeper sends TERM, and then KILL
        traced.wait(60 * SLOW)
        assert " SIGTERM, " in read() and " SIGKILL, " in read(), read()
        assert '"/proc", ' not in read(), read()


main(sys.argv[2] if len(sys.argv) > 2 else "")
