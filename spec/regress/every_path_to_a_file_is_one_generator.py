"""Rules of the live map: a generator file is one generator by every path, and processes that cannot share its memory
have their own leases. No id is duplicated, and issuing continues."""
import os
import socket
import subprocess
import sys
import threading
import time

from livefiles import ids, inside, may, unique
from harness import SLOW, claim, main, same

HAND = ("--worker", "3", "--layout", "snowflake")


def gen(world, path, *args, **kw):
    return ids(world.run("gen", "--path", path, "--store", "file:" + world.path("store"), *args, **kw))


def map_of(path):
    with open(path, "rb") as file:
        return "/dev/shm/vesta-" + file.read(40)[24:40].hex()


@claim("a.gen.retired is an ordinary name")
def _(world):
    first = gen(world, world.path("a.gen.retired"), "-n", "10")
    unique(first, gen(world, world.path("a.gen.retired"), "-n", "10", timeout=20))


@claim("a hard link and a bind mount are the same generator, at the same cursor")
def _(world):
    path = world.path("a.gen")
    first = gen(world, path, *HAND, "-n", "100")
    os.link(path, world.path("b.gen"))
    second = gen(world, world.path("b.gen"), "-n", "100")
    if os.geteuid() == 0 and may("unshare", "-m"):
        script = 'touch c.gen; mount --bind a.gen c.gen; "$vesta" gen -n 100 --path c.gen'
        third = [int(line) for line in inside(world, ["-m"], script).split()]
    else:
        third = gen(world, path, "-n", "100")
    unique(first, second, third, gen(world, path, "-n", "100"))


@claim("processes in another time namespace issue ids without duplicates")
def _(world):
    if os.geteuid() != 0 or not may("unshare", "-T", "--boottime", "100000"):
        return
    path = world.path("a.gen")
    first = gen(world, path, "-n", "100", "--layout", "snowflake")
    there = inside(world, ["-T", "--boottime", "100000", "--fork"], '"$vesta" gen -n 100 --path a.gen --wait-ms 20000')
    unique(first, [int(line) for line in there.split()], gen(world, path, "-n", "100"))


@claim("two containers that share the file but not /dev/shm draw one worker id each, without duplicates")
def _(world):
    if os.geteuid() != 0 or not may("unshare", "-m"):
        return
    path = world.path("a.gen")
    gen(world, path, "-n", "1", "--layout", "snowflake")
    with open(path, "rb") as file:
        anchor = file.read()
    script = 'mount -t tmpfs tmpfs /dev/shm; for i in 1 2 3; do "$vesta" gen -n 2000 --path a.gen; sleep 0.2; done; ls /dev/shm | grep -v swept'
    pair = [subprocess.Popen(["unshare", "-m", "bash", "-ec", script], cwd=world.folder, stdout=subprocess.PIPE, text=True,
                             env=dict(os.environ, vesta=os.path.abspath(sys.argv[1]))) for _ in range(2)]
    out = [one.communicate(timeout=60 * SLOW)[0].split() for one in pair]
    same([one.returncode for one in pair], [0, 0])
    same(out[0][-1], out[1][-1])  # Both containers use one key.
    unique([int(word) for words in out for word in words[:-1]], gen(world, path, "-n", "2000"))
    with open(path, "rb") as file:
        same(file.read(), anchor)  # No process rewrites the file because a map is missing.


def ask_until(over, path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        while not over.wait(0.05):
            sock.sendall(b"GET default\r\n")
            sock.recv(4096)


@claim("of two containers that share the file and an assigned worker id, one holds it, the other reports that, "
       "without duplicates")
def _(world):
    if os.geteuid() != 0 or not may("unshare", "-m"):
        return
    path = world.path("a.gen")
    server = world.start("serve", "--path", path, "--store", "file:" + world.path("store"), *HAND, "--http", "off", "--resp",
                         "unix:" + world.path("s"), stderr=subprocess.DEVNULL)
    over = threading.Event()
    asker = threading.Thread(target=ask_until, args=(over, world.path("s")))
    try:
        deadline = time.monotonic() + 20 * SLOW
        # The server binds its socket first.  Without the file, the processes below would create the namespace, with
        # another layout.
        while not (os.path.exists(world.path("s")) and os.path.exists(path)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        # Otherwise the lease ends while no request arrives, and a slow machine takes longer than the lease.
        asker.start()
        for _ in range(3):
            gen(world, path, "-n", "100")
            script = 'mount -t tmpfs tmpfs /dev/shm; ! "$vesta" gen --path a.gen --wait-ms 300 2>&1'
            assert "number 3" in inside(world, ["-m"], script) or "last lease" in inside(world, ["-m"], script)
    finally:
        over.set()
        if asker.ident:
            asker.join()
        server.terminate()
        same(server.wait(30), 0)


KEEPER_OF_ITS_OWN = """
import fcntl, os, sys, time
end = time.monotonic() + 60
while True:  # the first byte of the map is its keeper's
    assert time.monotonic() < end, "nobody keeps " + sys.argv[1]
    try:
        fd = os.open(sys.argv[1], os.O_RDWR)
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        os.close(fd)
    except FileNotFoundError:
        pass
    except BlockingIOError:
        break
    time.sleep(0.02)
print(os.stat(sys.argv[1]).st_ino, flush=True)
sys.stdin.read()
"""


@claim("two containers whose maps have the same inode number each have a keeper, and nothing is left next to the file")
def _(world):
    if os.geteuid() != 0 or not may("unshare", "-m"):
        return
    path = world.path("a.gen")
    os.mkdir(world.path("alone"))
    gen(world, path, "-n", "1", "--layout", "snowflake")
    os.rename(path, world.path("alone", "a.gen"))
    path = world.path("alone", "a.gen")
    script = 'mount -t tmpfs tmpfs /dev/shm; "$vesta" serve --http off --resp "unix:$sock" --path "$path" 2>/dev/null & server=$!; ' \
             'python3 -c "$look" "$map" || code=1; kill $server; wait $server; exit ${code:-0}'
    env = dict(os.environ, vesta=os.path.abspath(sys.argv[1]), path=path, map=map_of(path), look=KEEPER_OF_ITS_OWN)
    pair = [subprocess.Popen(["unshare", "-m", "bash", "-c", script], cwd=world.folder, env=dict(env, sock=world.path("s%d" % at)),
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for at in range(2)]
    inodes = [one.stdout.readline() for one in pair]
    left = os.listdir(world.path("alone"))
    for one in pair:
        one.stdin.close()
        one.stdout.close()
    same([one.wait(60 * SLOW) for one in pair], [0, 0])
    assert inodes[0] == inodes[1] != "", inodes
    same(left, ["a.gen"])


@claim("without memory for maps, ids are issued from a separate lease, and a warning shows the reason")
def _(world):
    if os.geteuid() != 0 or not may("unshare", "-m"):
        return
    path = world.path("a.gen")
    first = gen(world, path, *HAND, "-n", "100")
    for mount, why in (("mount -t ramfs ramfs /dev/shm", "is not in memory (tmpfs)"),
                       ("mount -t tmpfs -o size=16k tmpfs /dev/shm", "No space left on device")):
        script = mount + '; for i in 1 2; do "$vesta" gen -n 100 --path a.gen --wait-ms 20000; done 2>err; grep -q "%s" err; ls /dev/shm' % why
        first += [int(line) for line in inside(world, ["-m"], script).split()]
    unique(first, gen(world, path, "-n", "100", "--wait-ms", "20000"))


@claim("a taken map name is skipped, and issuing continues")
def _(world):
    path = world.path("a.gen")
    first = gen(world, path, "-n", "100")
    name = map_of(path)
    os.unlink(name)
    os.symlink("/etc/hostname", name)
    every = [first, gen(world, path, "-n", "100"), gen(world, path, "-n", "100")]
    os.unlink(name)
    unique(*every, gen(world, path, "-n", "100"))
    os.unlink(name + "~1")


main()
