"""start.py -- what it takes to begin: `vesta gen` in a folder that has its generator file, beside /bin/true, in turn."""
import os
import statistics
import subprocess

RUNS = 100  # of each, a sample


def milliseconds(env, *command):
    """Of processor time: others may have the cores meanwhile."""
    out = (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)
    pid = os.posix_spawn(command[0], command, env, file_actions=[out])
    _, status, used = os.wait4(pid, 0)
    assert status == 0, command
    return (used.ru_utime + used.ru_stime) * 1000


def samples_of(vesta, folder, samples):
    """[(ours, /bin/true's)], each the median of its runs."""
    env = {**os.environ, "VESTA_STATE": str(folder)}
    subprocess.run([str(vesta), "gen"], env=env, check=True, capture_output=True, timeout=60)  # which leases the number
    made = []
    for _ in range(samples):
        pairs = [(milliseconds(env, str(vesta), "gen"), milliseconds(env, "/bin/true")) for _ in range(RUNS)]
        made.append([statistics.median(side) for side in zip(*pairs)])
    return made
