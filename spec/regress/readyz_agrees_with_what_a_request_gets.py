"""Regression: `/readyz` was ready while each request got 503, and nothing was logged, with a hanging or failing disk, a
stopped keeper, or a clock that had been corrected.

A server with an assigned worker id (its window is 5 s) runs on a disk that a library makes hang, fail or slow down.
Readiness and an id are requested at the same moment, and must agree.
"""
import os
import re
import select
import signal
import time

from serving import SLOW, VESTA, Server, claim, main, same, set_clock, shifted

WINDOW_S = 5
LINE_S_MAX = 1 + 1 * SLOW  # from the first rejected id to its line in the log: a second, plus this script's own steps
STORES = ("file:%s/store", "sqlite:%s/vesta.db")


def preloaded(world):
    asan = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    return dict(LD_PRELOAD=os.path.join(os.path.dirname(VESTA), "slow_disk.so"), SLOW_DISK=world.path("disk"), ASAN_OPTIONS=asan)


def disk(world, how):
    with open(world.path("disk.new"), "w") as file:
        file.write(how)
    os.rename(world.path("disk.new"), world.path("disk"))


def heard(server, part, seconds):
    """Returns the next event in the log with this part, or fails after that time."""
    end, at = time.monotonic() + seconds * SLOW, len(server.said)
    log = server.process.stderr.fileno()
    while select.select([log], [], [], max(0, end - time.monotonic()))[0]:
        server.said += os.read(log, 65536).decode()
        found = [line for line in server.said[at:].splitlines() if part in line]
        if found:
            return found[0]
    raise AssertionError("the log has no word of %r" % part)


class Watch:
    def __init__(self, server):
        self.server = server
        self.refused_at = None
        self.apart_s = 0  # how long the two have disagreed

    def look(self):
        before = time.monotonic()
        gets, ready = self.server.get("/genid").status == 200, self.server.get("/readyz").status == 200
        if gets != self.server_gets():
            return gets  # The state changed between the two requests.
        self.apart_s = self.apart_s + 0.1 + time.monotonic() - before if gets != ready else 0
        assert self.apart_s < 1 + SLOW, "for more than a second requests get %s and /readyz says %s" % (
            "ids" if gets else "503", "ready" if ready else "not ready: " + self.server.get("/readyz").body)
        if not gets and self.refused_at is None:
            self.refused_at = time.time()
        return gets

    def server_gets(self):
        return self.server.get("/genid").status == 200

    def until(self, gets, seconds):
        end = time.monotonic() + seconds * SLOW
        while self.look() != gets:
            assert time.monotonic() < end, "ids are %s for %d s" % ("refused" if gets else "given", seconds * SLOW)
            time.sleep(0.1)

    def check_line(self):
        line = heard(self.server, "no ids can be issued now", 5)
        said_at = time.mktime(time.strptime(line[3:22], "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(line[22:26])
        late_s = said_at - self.refused_at
        print("    %.2f s after the first refusal: %s" % (late_s, line.strip()[25:]))
        assert late_s <= LINE_S_MAX, "the line came %.1f s after the first refused id" % late_s
        for part in ("namespace=default", "why=", "until=", "do="):
            assert part in line, "%s is not in %r" % (part, line)
        return line


def on_a_disk(world, store, how, flags=()):
    disk(world, "0")
    with Server(world, "--store", store % world.folder, "--wait-ms", "100", *flags, layout="snowflake", pacing="clock",
                env=preloaded(world)) as server:
        watch = Watch(server)
        watch.until(True, 5)
        disk(world, how)
        try:
            watch.until(False, WINDOW_S + 4)
            for _ in range(30):
                assert not watch.look()
                time.sleep(0.1)
            line = watch.check_line()
        finally:
            disk(world, "0")
        watch.until(True, 10)
        heard(server, "ids are available again", 10)
        return line


@claim("with a hanging disk, the server is not ready from the first rejected id on, logs it within a second, and then "
       "issues ids again")
def _(world):
    for store in STORES:
        os.mkdir(world.path(store[:4]))
        line = on_a_disk(type(world)(world.path(store[:4])), store, "600000")
        assert "hangs" in line, line


@claim("with a disk that fails each write, the server is not ready from the first rejected id on, logs it and recovers")
def _(world):
    on_a_disk(world, STORES[1], "EIO")


@claim("with a disk that takes a second for each sync, issuing never stops")
def _(world):
    disk(world, "0")
    with Server(world, "--store", STORES[0] % world.folder, "--wait-ms", "100", layout="snowflake", pacing="clock",
                env=preloaded(world)) as server:
        watch = Watch(server)
        watch.until(True, 5)
        disk(world, "1000")
        for _ in range(100):
            assert watch.look(), server.get("/genid").body
            time.sleep(0.1)
        disk(world, "0")


@claim("with a rejected clock, the server is not ready from the first rejected id on, logs it and recovers")
def _(world):
    clock = world.path("clock")
    set_clock(clock, "+0")
    with Server(world, "--wait-ms", "100", layout="snowflake", pacing="clock", env=shifted(clock)) as server:
        watch = Watch(server)
        watch.until(True, 5)
        set_clock(clock, "+3600")
        watch.until(False, 5)
        set_clock(clock, "+0")  # The line has the time of the wrong clock.
        assert "clock_ahead" in heard(server, "no ids can be issued now", 5)
        watch.until(True, 5)


@claim("if the keeper of a file is stopped, another process of the file agrees with its requests and continues to "
       "issue ids")
def _(world):
    path = ("--path", world.path("a.gen"))
    with Server(world, *path, "--wait-ms", "100", layout="snowflake", pacing="clock") as keeper:
        same(keeper.get("/genid").status, 200)
        with Server(world, *path, "--wait-ms", "100", layout="snowflake", pacing="clock") as other:
            watch = Watch(other)
            keeper.process.send_signal(signal.SIGSTOP)
            try:
                begun = time.monotonic()
                while time.monotonic() - begun < WINDOW_S + 3:
                    assert watch.look(), other.get("/genid").body
                    time.sleep(0.1)
            finally:
                keeper.process.send_signal(signal.SIGCONT)


main()
