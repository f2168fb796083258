"""A generator file whose file system is lost and mounted again in the same boot, or an older state of which is put
back where files have no time of birth, has the same device, inode and birth as before.  Its cursor must not go back."""
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


@claim("a file system lost and mounted again in one boot: no id twice")
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


@claim("a disk that is frozen holds nobody up inside the lease: no word of an id lies on it")
def _(world):
    with Disk(world) as disk:
        if os.geteuid() != 0 or not disk.mount():
            return
        path = os.path.join(disk.at, "a.gen")
        before = gen(world, path, 1000)
        os.sync()
        subprocess.run(["fsfreeze", "-f", disk.at], check=True)
        thaw = threading.Timer(8 * SLOW, subprocess.run, (["fsfreeze", "-u", disk.at],))  # whatever happens
        thaw.start()
        began = time.monotonic()
        try:
            during = gen(world, path, 5000)
            assert time.monotonic() - began < 6 * SLOW, "it waited until the disk was thawed"
        finally:
            thaw.cancel()
            subprocess.run(["fsfreeze", "-u", disk.at], capture_output=True)
        unique(before, during, gen(world, path, 1000))


@claim("a backup put back on a file system without times of birth: no id twice")
def _(world):
    with Disk(world, "-I", "128") as disk:
        if os.geteuid() != 0 or not disk.mount():
            return
        path = os.path.join(disk.at, "a.gen")
        before = gen(world, path, 1000)
        shutil.copy2(path, world.path("backup"))
        since = gen(world, path, 5000)
        os.unlink(path)  # its inode's number is given to the next file
        shutil.copy2(world.path("backup"), path)
        unique(before, since, gen(world, path, 5000))


@claim("older bytes of the file put back in their place, its inode and birth kept: no id twice")
def _(world):
    path = world.path("a.gen")
    before = gen(world, path, 1000)
    with open(path, "rb") as file:
        older = file.read()
    since = gen(world, path, 5000)
    with open(path, "r+b") as file:
        file.write(older)
    unique(before, since, gen(world, path, 5000))


@claim("a container rolled back on a running host, its store elsewhere: no id twice, and ids go on")
def _(world):
    os.mkdir(world.path("root"))
    path = world.path("root", "a.gen")
    before = gen(world, path, 1000)
    shutil.copytree(world.path("root"), world.path("snapshot"))
    since = gen(world, path, 5000)
    for name in os.listdir(world.path("root")):  # as a snapshot is: file by file, in their place
        shutil.copyfile(world.path("snapshot", name), world.path("root", name)) if name in os.listdir(world.path("snapshot")) else \
            os.unlink(world.path("root", name))
    unique(before, since, gen(world, path, 5000))


@claim("another generator file copied over one that is in use (cp a.gen b.gen): no id twice")
def _(world):
    a, b = world.path("a.gen"), world.path("b.gen")
    of_a = ids(world.run("gen", "-n", "1000", "--path", a))
    of_b = ids(world.run("gen", "-n", "1000", "--path", b))
    running = world.start("gen", "-n", "400000", "--path", b, stdout=open(world.path("running"), "wb"))
    while not os.path.getsize(world.path("running")):  # it has opened its file
        assert running.poll() is None
        time.sleep(0.01)
    shutil.copyfile(a, b)
    more = ids(world.run("gen", "-n", "200000", "--path", b)) + ids(world.run("gen", "-n", "200000", "--path", a))
    assert running.wait(60) == 0
    with open(world.path("running")) as file:
        unique(of_a, of_b, more, [int(line) for line in file])


main()
