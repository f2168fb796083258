"""lease.py -- `vesta lease run` with real processes: what the program gets, how it ends, and which worker ids are held."""
import contextlib
import datetime
import fcntl
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time

from harness import SLOW, VESTA, claim, fails, like, main, same, set_clock, shifted

# Writes each signal that it gets to a file, and ends with 40 after the last of `ends`.
LISTENER = """
import os, signal, sys, time
path, ends = sys.argv[1], int(sys.argv[2])
def on(number, _):
    with open(path, "a") as file: file.write(signal.Signals(number).name + "\\n")
    if number == ends: sys.exit(40)
for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "WINCH"): signal.signal(getattr(signal, "SIG" + name), on)
with open(path, "a") as file: file.write("ready\\n")
while True: time.sleep(60)
"""


def until(what, condition, seconds=30):
    end = time.monotonic() + seconds * SLOW
    while not condition():
        assert time.monotonic() < end, "waited in vain: " + what
        time.sleep(0.01)


def read(path):
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def workers(w, *options):
    return json.loads(w.run("workers", "--json", *options).out)["workers"]


def held(w, *options):
    return sorted(row["worker"] for row in workers(w, *options) if row["state"] == "held")


def is_alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class Run:
    """A running `vesta lease run`.  The program is a shell script, which writes its pid to w.path(name)."""

    def __init__(self, w, name, script, *options, env=None, **kw):
        self.pids = w.path(name)
        self.begun = time.monotonic()
        self.program = w.start("lease", "run", *options, "--", "sh", "-c", "echo $$ $VESTA_WORKER >> %s\n%s" % (name, script),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, **kw)
        w.ends.callback(self.clean)
        until("start of " + name, lambda: read(self.pids).endswith("\n") or self.program.poll() is not None)
        assert self.program.poll() is None, self.program.communicate()
        self.child, self.worker = map(int, read(self.pids).splitlines()[0].split())
        self.keeper = int(read("/proc/%d/task/%d/children" % (self.program.pid, self.program.pid)).split()[0])

    def all_pids(self):
        return [int(line.split()[0]) for line in read(self.pids).splitlines()]

    def end(self):
        """Returns the exit code, and what it printed to stderr."""
        _, err = self.program.communicate(timeout=60 * SLOW)
        return self.program.returncode, err

    def clean(self):
        for pid in [self.program.pid, self.keeper, *self.all_pids()] if self.program.poll() is None else self.all_pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.program.wait()


# ---------------------------------------------------------------- what the program gets

@claim("the program gets the worker id, the end of the lease, and the variables of --env")
def _(w):
    got = w.run("lease", "run", "--layout", "snowflake", "--worker", "677", "--datacenter-bits", "5", "--env", "NODE", "--env",
                "OPTS=-Dd={datacenter} -Dm={machine} {x}", "--", "env")
    same((got.code, got.err), (0, ""))
    env = dict(line.split("=", 1) for line in got.lines())
    same([env[name] for name in ("VESTA_WORKER", "NODE", "VESTA_DATACENTER_PART", "VESTA_MACHINE_PART", "OPTS")],
         ["677", "677", "21", "5", "-Dd=21 -Dm=5 {x}"])
    left = datetime.datetime.fromisoformat(env["VESTA_LEASE_EXPIRES"].replace("Z", "+00:00")).timestamp() - time.time()
    assert 20 * (SLOW == 1) < left <= 30, left


@claim("options that cannot work are rejected with the remedy, before a worker id is leased")
def _(w):
    for options, part in ((["--env", "5X"], "does not begin with a digit"), (["--env", "X=5"], "has no {worker}"),
                          (["--env", "X={machine}"], "needs --datacenter-bits"), (["--ttl", "6", "--kill-after", "3"], "a third"),
                          (["--ttl", "0"], "--ttl"), (["--json"], "--once")):
        fails(w.run("lease", "run", *options, "--", "true"), 2, part)
    fails(w.run("lease", "run"), 2, "COMMAND is missing")
    fails(w.run("lease", "run", "--once", "true"), 2, "leave out")
    fails(w.run("lease", "run", "sh", "-c", "true"), 2, '-- is missing before "sh"')
    fails(w.run("lease", "--ttl", "9", "run", "sh"), 2, '-- is missing before "sh"')
    fails(w.run("lease", "run", "--datacenter-bits", "10", "--", "true"), 125, "use at most 9")
    fails(w.run("lease", "run", "--store", "file:" + w.path("sub"), "--worker", "1024", "--", "true"), 125, "use at most 1023")
    fails(w.run("workers"), 1, "no process has leased a worker id")


@claim("the program has no signal, descriptor or process of vesta's, and its output ends when it closes it")
def _(w):
    show = "ls -l /proc/self/fd | grep -c vesta; ls /proc/self/fd | wc -l; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
    bare, run = (w.run(*words) if words[0] == "lease" else w.shell(words[-1]) for words in
                 (["bare", show], ["lease", "run", "--", "bash", "-c", show]))
    same(run.out, bare.out)
    begun = time.monotonic()
    w.shell("$vesta lease run -- sh -c 'exec sleep 5 >&- 2>&-' | cat; kill %1", timeout=20)
    run = Run(w, "closer", "exec sleep 60 >&- 2>&- <&-")
    assert run.program.stdout.read() == "" and run.program.poll() is None
    run.program.terminate()
    same(run.end()[0], 143)
    assert time.monotonic() - begun < 20 * SLOW


# ---------------------------------------------------------------- how it ends

@claim("the exit code is the program's, 128 and its signal, 126 or 127, and the worker id is released at once")
def _(w):
    for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
        same(w.run("lease", "run", "--", "sh", "-c", script).code, code)
    fails(w.run("lease", "run", "--", "/none"), 127, "/none cannot be run", "No such file")
    fails(w.run("lease", "run", "--", "/etc/passwd"), 126, "Permission denied")
    same([row["state"] for row in workers(w)], ["free"] * 6)


@claim("a signal reaches the program once, also if the whole group gets it, and the program decides when it ends")
def _(w):
    path = w.path("signals")
    program = w.start("lease", "run", "--ttl", "5", "--", sys.executable, "-c", LISTENER, path, str(int(signal.SIGTERM)),
                      process_group=0, stderr=subprocess.PIPE)
    names = ["SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTERM"]
    for i, name in enumerate(names):
        until("signal", lambda: read(path).count("\n") == 1 + i)
        (os.killpg if name == "SIGINT" else os.kill)(program.pid, getattr(signal, name))
        if name == "SIGHUP":
            time.sleep(2.5 * SLOW)  # longer than the lease: a forwarded signal starts no timer
            same(len(held(w)), 1)
    same(program.wait(timeout=60), 40)
    same(read(path).split(), ["ready", *names])
    same((held(w), program.stderr.read()), ([], b""))


@claim("Ctrl-C at a terminal reaches the program once, Ctrl-Z stops it, and the lease is renewed meanwhile")
def _(w):
    path = w.path("signals")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(w.folder)
        os.environ["VESTA_STATE"] = w.path("state")
        shell = "set -m; \"$@\"; echo stopped $?; fg; echo ended $?"
        os.execvp("bash", ["bash", "-c", shell, "-", VESTA, "lease", "run", "--ttl", "5", "--", sys.executable, "-c", LISTENER, path,
                           str(int(signal.SIGINT))])
    said = b""
    until("program", lambda: read(path) == "ready\n")
    os.write(terminal, b"\x1a")
    os.set_blocking(terminal, False)

    def has(text):
        nonlocal said
        with contextlib.suppress(BlockingIOError, OSError):
            said += os.read(terminal, 4096)
        return text in said
    until("stop", lambda: has(b"stopped 148"))
    until("fg", lambda: has(b'"$@"'))
    time.sleep(7)
    same(len(held(w)), 1)
    os.write(terminal, b"\x03")
    until("end", lambda: has(b"ended "))
    assert b"ended 40" in said, said
    same(read(path).split(), ["ready", "SIGINT"])
    os.close(terminal)
    os.waitpid(pid, 0)


@claim("Ctrl-C at a terminal ends the wait for a worker id, and a signal that is ignored does not")
def _(w):
    words = ["lease", "run", "--worker", "5", "--wait", "60", "--", "true"]
    first = Run(w, "first", "exec sleep 60", "--worker", "5")
    ignoring = w.start(*words, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), stderr=subprocess.PIPE)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(w.folder)
        os.environ["VESTA_STATE"] = w.path("state")
        os.execv(VESTA, [VESTA, *words])
    until("front", lambda: len(read("/proc/%d/task/%d/children" % (pid, pid)).split()) == 1)
    time.sleep(0.5)
    os.kill(ignoring.pid, signal.SIGHUP)
    os.write(terminal, b"\x03")
    status = []
    until("end", lambda: status or status.extend(os.waitpid(pid, os.WNOHANG)[1:] if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) else ()))
    os.close(terminal)
    same((os.waitstatus_to_exitcode(status[0]), ignoring.poll()), (-signal.SIGINT, None))
    first.program.terminate()
    same(ignoring.wait(timeout=60 * SLOW), 0)


@claim("a message that no process reads delays nothing")
def _(w):
    unread, full = os.pipe()
    os.set_blocking(full, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(full, bytes(4096))
    os.set_blocking(full, True)
    program = w.start("lease", "run", "--verbose", "--", "sh", "-c", "exit 7", stderr=full)
    same(program.wait(timeout=20 * SLOW), 7)
    os.close(unread), os.close(full)


@claim("a daemon that COMMAND forked keeps the lease until it ends, and TERM ends it")
def _(w):
    run = Run(w, "daemon", "setsid sh -c 'echo $$ >> daemon; exec sleep 60 <&- >&- 2>&-' & sleep 0.3; exit 0", "--ttl", "2")
    until("daemon", lambda: len(run.all_pids()) == 2)
    until("parent's end", lambda: not is_alive(run.child))
    time.sleep(2.5 * SLOW)
    same((held(w), is_alive(run.all_pids()[1])), ([run.worker], True))
    run.program.terminate()
    same(run.end()[0], 0)
    same((held(w), [pid for pid in run.all_pids() if is_alive(pid)]), ([], []))


@claim("processes that a failed program leaves are ended, even if they ignore TERM")
def _(w):
    run = Run(w, "left", "(trap '' TERM; sh -c 'echo $PPID >> left'; while :; do sleep 1; done) & sleep 0.5; exit 3", "--ttl", "6")
    same(run.end()[0], 3)
    same((held(w), [pid for pid in run.all_pids() if is_alive(pid)]), ([], []))


@claim("a process whose first thread has ended is ended like any other")
def _(w):
    with open(w.path("leader"), "w") as file:
        file.write("import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nctypes.CDLL(None).pthread_exit(None)\n")
    run = Run(w, "first", "%s leader & echo $! >> first; exec sleep 60" % sys.executable)
    until("pid", lambda: len(run.all_pids()) == 2)
    pid = run.all_pids()[1]
    until("end of its first thread", lambda: not is_alive(pid))
    assert len(os.listdir("/proc/%d/task" % pid)) == 2
    run.program.terminate()
    same(run.end()[0], 143)
    same((held(w), os.path.exists("/proc/%d" % pid)), ([], False))


# ---------------------------------------------------------------- kills and stops

@claim("a wrapper killed with -9 takes the program with it, by TERM and then KILL, and the worker id is released")
def _(w):
    polite = Run(w, "polite", "trap 'echo end >> told; exit' TERM; while :; do sleep 0.1; done", "--ttl", "30")
    stubborn = Run(w, "stubborn", "trap '' TERM; while :; do sleep 0.1; done", "--ttl", "30", "--kill-after", "1")
    same(held(w), sorted([polite.worker, stubborn.worker]))
    holders = sorted(row["holder"].split(" pid ")[1] for row in workers(w))
    same(holders, sorted("%d: sh" % run.program.pid for run in (polite, stubborn)))  # a process that a person may end
    polite.program.kill(), stubborn.program.kill()
    until("ends", lambda: not is_alive(polite.child) and not is_alive(stubborn.child))
    until("release", lambda: held(w) == [])
    assert time.monotonic() - polite.begun < 20 * SLOW
    same(read(w.path("told")), "end\n")


@claim("a keeper killed with -9 takes every process of the program with it at once")
def _(w):
    run = Run(w, "all", "setsid sh -c 'echo $$ >> all; exec sleep 60' & sh -c 'echo $$ >> all; exec sleep 60' & exec sleep 60")
    until("all", lambda: len(run.all_pids()) == 3)
    os.kill(run.keeper, signal.SIGKILL)
    code, err = run.end()
    same((code, [pid for pid in run.all_pids() if is_alive(pid)]), (124, []))
    like(err, "vesta lease run: sending KILL to the program: process %d, which renews its lease, was killed...\n"
         % run.keeper)


@claim("if the keeper is stopped, the wrapper ends the program before the lease ends")
def _(w):
    run = Run(w, "stopped", "trap '' TERM; while :; do sleep 0.1; done", "--ttl", "3")
    last = next(row for row in workers(w) if row["worker"] == run.worker)
    os.kill(run.keeper, signal.SIGSTOP)
    until("end", lambda: not is_alive(run.child))
    ended_ms = time.time() * 1000
    if SLOW == 1:
        assert ended_ms < last["written_ms"] + 1.3 * last["lease_ms"], (ended_ms, last)  # it may have been renewed before it stopped
    code, err = run.end()
    same(code, 124)
    assert "process %d, which renews its lease, was stopped" % run.keeper in err, err
    same(held(w), [])


@claim("if the wrapper is stopped, the program goes on and its lease is renewed")
def _(w):
    run = Run(w, "on", "until [ -e end ]; do sleep 0.1; done; echo > ended; exit 9", "--ttl", "2", "--layout", "sign:1=0 time:41 worker:1 seq:21 unit=1ms epoch=2026-01-01T00:00:00Z")
    os.kill(run.program.pid, signal.SIGSTOP)
    time.sleep(2.5 * SLOW)
    other = Run(w, "other", "sleep 60", "--ttl", "2")
    fails(w.run("lease", "run", "--", "true"), 125, "no worker id was leased")
    open(w.path("end"), "w").close()
    until("end", lambda: os.path.exists(w.path("ended")))
    until("release", lambda: held(w) == [other.worker])
    run.program.send_signal(signal.SIGCONT)
    same(run.end()[0], 9)


# ---------------------------------------------------------------- the store, the clock, other holders

@claim("without the store, the program gets TERM and then KILL before another process can claim its worker id")
def _(w):
    run = Run(w, "lost", "trap 'date +%s.%N > termed' TERM; while :; do sleep 0.05; done", "--ttl", "4", "--kill-after", "1")
    last = next(row for row in workers(w) if row["worker"] == run.worker)
    os.rename(w.path("state"), w.path("away"))
    until("end", lambda: not is_alive(run.child))
    ended_ms = time.time() * 1000
    os.rename(w.path("away"), w.path("state"))
    code, err = run.end()
    same(code, 124)
    like(err, "vesta lease run: the lease of worker id %d was not renewed: ...sending TERM to the program...sending KILL...\n" % run.worker)
    if SLOW == 1:
        assert ended_ms < last["written_ms"] + 1.3 * last["lease_ms"], (ended_ms, last)
        assert float(read(w.path("termed"))) * 1000 < ended_ms - 500


@claim("a program starts only when all ids of the worker id's last holder are in the past, plus the skew")
def _(w):
    once = w.run("lease", "run", "--once", "--ttl", "3", "--worker", "5", "--skew-ms", "0", "--json")
    same(json.loads(once.out)["worker"], 5)
    assert "does not renew the lease" in once.err, once.err
    expires = datetime.datetime.fromisoformat(json.loads(once.out)["expires"].replace("Z", "+00:00")).timestamp()
    fails(w.run("lease", "run", "--worker", "5", "--", "true"), 125, "worker id 5 is held by")
    got = w.run("lease", "run", "--worker", "5", "--wait", "30", "--skew-ms", "4000", "--", "date", "+%s.%N")
    same(got.code, 0)
    assert float(got.out) >= expires + 4, (got.out, expires)
    like(got.err, "vesta lease run: worker id 5: waiting ... s until ..., because its last holder may have issued ids until then\n")


@claim("two wrappers with one identity get two worker ids, and a later one gets the last one back")
def _(w):
    first = Run(w, "first", "exec sleep 60", "--identity", "orders")
    second = Run(w, "second", "exec sleep 60", "--identity", "orders")
    assert first.worker != second.worker
    for run in (first, second):
        run.program.terminate()
        run.end()
    third = Run(w, "third", "exec sleep 60", "--identity", "orders", "--skew-ms", "0")
    same(third.worker, second.worker)


@claim("if every worker id is held, the message says so, and --wait waits for one")
def _(w):
    runs = [Run(w, name, "exec sleep 60", "--layout", "sign:1=0 time:41 worker:1 seq:21 unit=1ms epoch=2026-01-01T00:00:00Z") for name in ("a", "b")]
    fails(w.run("lease", "run", "--", "true"), 125, "no worker id was leased", "--wait SECONDS")
    fails(w.run("lease", "run", "--layout", "snowflake", "--", "true"), 125, "another layout")
    waiting = w.start("lease", "run", "--wait", "60", "--", "true", stderr=subprocess.PIPE)
    time.sleep(0.5)
    same(waiting.poll(), None)
    runs[0].program.terminate()
    same(waiting.wait(timeout=60), 0)


@claim("a clock that is set ahead beyond the lease, or back to an earlier holder, ends the program at once")
def _(w):
    for number, (by, part) in enumerate((("+3600", "the clock reached the end"), ("-3600", "the clock went back to the ids"))):
        path = w.path("clock%d" % number)
        set_clock(path, "+0")
        w.run("lease", "run", "--worker", str(number), "--", "true")
        run = Run(w, "jump%d" % number, "trap '' TERM; while :; do sleep 0.1; done", "--worker", str(number), "--wait", "20", env=shifted(path))
        set_clock(path, by)
        begun = time.monotonic()
        code, err = run.end()
        assert time.monotonic() - begun < 5 * SLOW  # less than --kill-after
        same((code, is_alive(run.child)), (124, False))
        assert part in err, err


@claim("with too few file descriptors, no program starts, and the reason is printed")
def _(w):
    needs_none = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}  # LeakSanitizer opens files
    for most in 6, 7, 8, 9:
        done = w.shell('ulimit -n %d; exec "$vesta" lease run -- true' % most, env=needs_none)
        same((done.code, done.out), (125, ""))
        assert "Too many open files" in done.err, done.err


@claim("as process 1, vesta forwards TERM and leaves no zombies")
def _(w):
    if os.geteuid() != 0:
        return
    script = "(sh -c 'sleep 0.1 &' &); sleep 0.6; ps -eo stat= | grep -c Z; kill -TERM 1; sleep 60"
    got = w.run("lease", "run", "--", "true")
    done = subprocess.run(["unshare", "--fork", "--pid", "--mount-proc", VESTA, "lease", "run", "--", "sh", "-c",
                           script], env={**os.environ, "VESTA_STATE": w.path("state")}, capture_output=True, timeout=60, text=True)
    same((got.code, done.returncode, done.stdout), (0, 143, "0\n"))
    same(held(w), [])


main()
