"""audit.py -- ids that are looked through for equal ones: `vesta audit` beside `sort -u`, in turn."""
import os
import subprocess
from pathlib import Path

IDS = int(os.environ.get("BENCH_AUDIT_IDS", "5000000"))
WORKERS = 2  # whose lists stand one behind the other, so that they are not in order


def make(vesta, folder):
    """Lists of ids, one for each worker."""
    lists = [Path(folder) / f"ids.{worker}" for worker in range(WORKERS)]
    for worker, path in enumerate(lists):
        with open(path, "wb") as file:
            subprocess.run([vesta, "gen", "--layout", "snowflake", "--worker", str(worker), "--namespace", f"w{worker}",
                            "-n", str(IDS // WORKERS)], stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=3000,
                           env={**os.environ, "VESTA_STATE": str(folder)})
    return lists


def used(*command):
    """Seconds of processor time, and bytes of memory at most."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def samples_of(vesta, folder, samples):
    """[(our seconds, sort's, our bytes an id)]."""
    lists = make(vesta, folder)
    made = []
    for _ in range(samples):
        seconds, most = used(vesta, "audit", *lists)
        made.append((seconds, used("sort", "-u", "--parallel=1", "-S", "4G", *lists)[0], most / IDS))
    return made
