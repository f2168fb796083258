"""harness.py -- runs the program as a user or a script would.  Knows no command of it.  Every test has its own folder
for state, and cannot reach another one."""
import atexit
import contextlib
import functools
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

from claims import SLOW, claim, run  # noqa: F401

VESTA = os.path.abspath(sys.argv[1])
CLOCK_SHIFT = os.path.join(os.path.dirname(VESTA), "clock_shift.so")


@functools.lru_cache(maxsize=None)
def vesta_for_others():
    """The path of the program for another user, because a clone may be in a home that only its owner can enter."""
    folder = tempfile.mkdtemp(prefix="vesta-cli-")
    atexit.register(shutil.rmtree, folder)
    os.chmod(folder, 0o755)
    program = shutil.copy(VESTA, folder)
    os.chmod(program, 0o755)
    return program


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def lines(self):
        return self.out.splitlines()


def environment(state, **more):
    env = {"PATH": os.environ["PATH"], "HOME": state, "VESTA_STATE": os.path.join(state, "state"), "TZ": "UTC", "LC_ALL": "C"}
    for name in os.environ:
        if name.endswith("SAN_OPTIONS"):
            env[name] = os.environ[name]
    if os.path.exists(os.path.join(state, "maps")):
        env["VESTA_MAPS"] = os.path.realpath(os.path.join(state, "maps"))
    env.update(more)
    return env


def shifted(by):
    """An environment in which the clock is set by `by` (or by the value in that file, see clock_shift.c), but the uptime
    is not, so that the program can notice it."""
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return dict(LD_PRELOAD=CLOCK_SHIFT, CLOCK_SHIFT=by, ASAN_OPTIONS=asan)


def set_clock(path, by):
    """Sets the clock of programs that run with `shifted(path)`, for all their threads at once."""
    with open(path + ".new", "w") as file:
        file.write(by)
    os.rename(path + ".new", path)


class World:
    """The folder of one test, and the program run in it."""

    def __init__(self, folder):
        self.folder = folder
        self.ends = contextlib.ExitStack()

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def own_maps(self):
        """From here on maps are kept apart from those of other specs.  A counter's map is found by its store's address,
        whose port another spec may have used, and so this host may remember a larger number for that counter."""
        if not os.path.exists(self.path("maps")) and os.access("/dev/shm", os.W_OK):
            folder = tempfile.mkdtemp(prefix="vesta-maps-", dir="/dev/shm")
            os.chmod(folder, 0o1777)
            os.symlink(folder, self.path("maps"))
            self.ends.callback(shutil.rmtree, folder, ignore_errors=True)

    def run(self, *args, stdin=b"", timeout=60, env=None, **kw):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        program = vesta_for_others() if "user" in kw else VESTA
        done = subprocess.run([program, *args], input=stdin, capture_output=True, timeout=timeout * SLOW, cwd=self.folder,
                              env=environment(self.folder, **(env or {})), **kw)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def shell(self, script, timeout=60, env=None, **kw):
        done = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout * SLOW,
                              cwd=self.folder, env=environment(self.folder, vesta=VESTA, **(env or {})), **kw)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args, env=None, **kw):
        program = vesta_for_others() if "user" in kw else VESTA
        return subprocess.Popen([program, *args], cwd=self.folder, env=environment(self.folder, **(env or {})), **kw)


def cpu_s():
    """CPU time of ended children, in seconds.  Limits on it also hold on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def like(got, want):
    """`...` in want matches any text.  Everything else must be equal."""
    pattern = ".*".join(re.escape(part) for part in want.split("..."))
    assert re.fullmatch(pattern, got, re.DOTALL), "got:\n%s\nwant:\n%s" % (got, want)


def same(got, want):
    """Compares two values.  For dictionaries and sets, a failure shows only the differences."""
    if isinstance(got, dict) and isinstance(want, dict):
        got, want = [{key: a[key] for key in a if key not in b or a[key] != b[key]} for a, b in ((got, want), (want, got))]
    elif isinstance(got, set) and isinstance(want, set):
        got, want = got - want, want - got
    assert got == want, "got %r, want %r" % (got, want)


def fails(result, code, *parts):
    """Checks the exit code, that stdout is empty, that the message contains every part, and that it is short."""
    assert (result.code, result.out) == (code, ""), "got %r, want %r" % ((result.code, result.out, result.err), (code, ""))
    for part in parts:
        assert part in result.err, "%r is not in %r" % (part, result.err)
    assert len(result.err) < 1200, result.err
    assert all(c >= " " or c == "\n" for c in result.err), "control characters in %r" % result.err


def in_a_world(function):
    with tempfile.TemporaryDirectory(prefix="vesta-cli-") as folder:
        world = World(folder)
        with world.ends:
            function(world)


def main():
    sys.exit(run(sys.argv[2] if len(sys.argv) > 2 else "", in_a_world))
