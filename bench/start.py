"""start.py -- start times: `vesta gen` in a folder with its generator file, next to /bin/true, and a server until its
first reply, next to redis-server, in turn."""
import os
import statistics
import subprocess
import time

import daemons
from rows import Folder, Made, pairs

RUNS = 100  # of each per sample


def milliseconds(env, *command):
    """Returns CPU time, because other processes may use the cores."""
    out = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
    pid = os.posix_spawn(command[0], command, env, file_actions=[out])
    _, status, used = os.wait4(pid, 0)
    assert status == 0, command
    return (used.ru_utime + used.ru_stime) * 1000


def gen(turns):
    with Folder() as folder:
        vesta, env = str(turns.build / "vesta"), {**os.environ, "VESTA_STATE": str(folder)}
        subprocess.run([vesta, "gen"], env=env, check=True, capture_output=True, timeout=60)
        made = []
        for _ in range(turns.samples):
            runs = [(milliseconds(env, vesta, "gen"), milliseconds(env, "/bin/true")) for _ in range(turns.few(RUNS, 2))]
            made.append([statistics.median(side) for side in zip(*runs)])
    return Made(pairs("ms", made), notes={"": "CPU time"})


def first_moment(env, *command):
    """Returns milliseconds from the start of a command until `date`, which it runs, reads the clock."""
    begun = time.time_ns()
    done = subprocess.run([*command, "/bin/date", "+%s%N"], env=env, check=True, capture_output=True, timeout=60)
    return (int(done.stdout) - begun) / 1e6


def lease(turns):
    """A worker id that was never used, so that no earlier holder's ids delay the start."""
    made = []
    for _ in range(turns.samples):
        with Folder() as folder:
            vesta, env = str(turns.build / "vesta"), {**os.environ, "VESTA_STATE": str(folder)}
            runs = [(first_moment(env, vesta, "lease", "run", "--"), first_moment(env)) for _ in range(turns.few(RUNS, 2))]
            with_lease, bare = (statistics.median(side) for side in zip(*runs))
            made.append((with_lease - bare, 10))
    return Made(pairs("ms", made))


def first_answer(begin, request, good):
    """Returns milliseconds from a server's start to its first reply with an id."""
    begun = time.monotonic()
    with begin() as server, daemons.dial(server.address) as s:
        answer = b""
        while not answer.startswith(good):
            s.sendall(request)
            answer = s.recv(4096)
        return (time.monotonic() - begun) * 1000


def serve(turns):
    made = []
    with Folder(turns) as folder:
        for _ in range(turns.samples):
            made.append((first_answer(lambda: daemons.vesta(turns, folder, "resp"), b"GET default\r\n", b"$"),
                         first_answer(lambda: daemons.redis(folder), b"INCR counter\r\n", b":")))
    return Made(pairs("ms", made))
