"""A generator file whose file system was lost and mounted again during one boot has the same device, inode and birth
time as before. So has an older version that was restored on a file system without birth times. Its cursor must not go
back."""
import os
import shutil
import subprocess
import threading
import time

from livefiles import Disk, ids, unique
from harness import SLOW, claim, main


def gen(world, path, count):
    return ids(world.run("gen", "-n", str(count), "--path", path, "--store", "file:" + world.path("store"), "--worker", "3",
                         "--layout", "snowflake", "--pacing", "history"))


@claim("a file system that is lost and mounted again during one boot leads to no duplicates")
def _(world):
    with Disk(world) as disk:
        if os.geteuid() != 0 or not disk.mount():
            return
        path = os.path.join(disk.at, "a.gen")
        before = gen(world, path, 1000)
        os.sync()
        lost = gen(world, path, 5000)
        disk.lose()
        disk.umount()
        disk.mount()
        unique(before, lost, gen(world, path, 5000))


@claim("a frozen disk delays no process within its lease, because issuing an id writes nothing to disk")
def _(world):
    with Disk(world) as disk:
        if os.geteuid() != 0 or not disk.mount():
            return
        path = os.path.join(disk.at, "a.gen")
        before = gen(world, path, 1000)
        os.sync()
        subprocess.run(["fsfreeze", "-f", disk.at], check=True)
        # The disk must thaw even if the test fails.
        thaw = threading.Timer(8 * SLOW, subprocess.run, (["fsfreeze", "-u", disk.at],))
        thaw.start()
        began = time.monotonic()
        try:
            during = gen(world, path, 5000)
            assert time.monotonic() - began < 6 * SLOW, "it waited until the disk was thawed"
        finally:
            thaw.cancel()
            subprocess.run(["fsfreeze", "-u", disk.at], capture_output=True)
        unique(before, during, gen(world, path, 1000))


@claim("a backup restored on a file system without birth times leads to no duplicates")
def _(world):
    with Disk(world, "-I", "128") as disk:
        if os.geteuid() != 0 or not disk.mount():
            return
        path = os.path.join(disk.at, "a.gen")
        before = gen(world, path, 1000)
        shutil.copy2(path, world.path("backup"))
        since = gen(world, path, 5000)
        os.unlink(path)  # The next file gets its inode number.
        shutil.copy2(world.path("backup"), path)
        unique(before, since, gen(world, path, 5000))


@claim("older contents written into the same file, with its inode and birth time, lead to no duplicates")
def _(world):
    path = world.path("a.gen")
    before = gen(world, path, 1000)
    with open(path, "rb") as file:
        older = file.read()
    since = gen(world, path, 5000)
    with open(path, "r+b") as file:
        file.write(older)
    unique(before, since, gen(world, path, 5000))


@claim("a container rolled back on a running host, with its store elsewhere, continues without duplicates")
def _(world):
    os.mkdir(world.path("root"))
    path = world.path("root", "a.gen")
    before = gen(world, path, 1000)
    shutil.copytree(world.path("root"), world.path("snapshot"))
    since = gen(world, path, 5000)
    for name in os.listdir(world.path("root")):  # Like a snapshot, which is restored file by file.
        shutil.copyfile(world.path("snapshot", name), world.path("root", name)) if name in os.listdir(world.path("snapshot")) else \
            os.unlink(world.path("root", name))
    unique(before, since, gen(world, path, 5000))


@claim("another generator file copied over one that is in use (cp a.gen b.gen) leads to no duplicates")
def _(world):
    a, b = world.path("a.gen"), world.path("b.gen")
    of_a = ids(world.run("gen", "-n", "1000", "--path", a))
    of_b = ids(world.run("gen", "-n", "1000", "--path", b))
    running = world.start("gen", "-n", "400000", "--path", b, stdout=open(world.path("running"), "wb"))
    while not os.path.getsize(world.path("running")):  # Wait until it has opened its file.
        assert running.poll() is None
        time.sleep(0.01)
    shutil.copyfile(a, b)
    more = ids(world.run("gen", "-n", "200000", "--path", b)) + ids(world.run("gen", "-n", "200000", "--path", a))
    assert running.wait(60) == 0
    with open(world.path("running")) as file:
        unique(of_a, of_b, more, [int(line) for line in file])


main()
