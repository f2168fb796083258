"""audit.py -- millions of ids: `vesta gen` next to `seq`, and the search for duplicates by `vesta audit` next to `sort
-u`, in turn. BENCH_AUDIT_IDS sets the number of audited ids."""
import os
import subprocess

from rows import Folder, Made

IDS = int(os.environ.get("BENCH_AUDIT_IDS", "5000000"))
GEN_IDS = 2_000_000
WORKERS = 2  # Their lists are concatenated, so that the ids are not sorted.


def generate(turns, folder, worker, n):
    return [turns.build / "vesta", "gen", "--layout", "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", "--worker",
            worker, "--namespace", f"w{worker}", "-n", n], {**os.environ, "VESTA_STATE": str(folder), "LC_ALL": "C"}


def lists_of(turns, folder, n):
    lists = [folder / f"ids.{worker}" for worker in range(WORKERS)]
    for worker, path in enumerate(lists):
        command, env = generate(turns, folder, worker, n // WORKERS)
        with open(path, "wb") as file:
            subprocess.run([str(word) for word in command], stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=3000, env=env)
    return lists


def used(command, env=None):
    """Returns seconds of CPU time, and the maximum bytes of memory."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               env=env or {**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def audit(turns):
    n = turns.few(IDS, 20_000)
    with Folder() as folder:
        lists = lists_of(turns, folder, n)
        one = folder / "one"
        one.write_text("1\n")
        empty = used([turns.build / "vesta", "audit", one])[1]
        made = []
        for _ in range(turns.samples):
            seconds, most = used([turns.build / "vesta", "audit", *lists])
            sort, _ = used(["sort", "-u", "--parallel=1", "-S", "4G", *lists])
            made.append({"time": (seconds, sort), "id": (seconds * 1e9 / n, 50.0), "memory": ((most - empty) / n, 16.0)})
    return Made(made, notes={"": f"{n:,} ids from {WORKERS} workers, CPU time", "memory": "in addition to the memory for one id"})


def gen(turns):
    n = turns.few(GEN_IDS, 10_000)
    with Folder() as folder:
        command, env = generate(turns, folder, 0, n)
        seq = ["seq", "1000000000000000000", str(1000000000000000000 + n - 1)]
        made = [{"time": (used(command, env)[0] * 1e9 / n, used(seq)[0] * 1e9 / n)} for _ in range(turns.samples)]
    return Made(made, notes={"": "CPU time"})
