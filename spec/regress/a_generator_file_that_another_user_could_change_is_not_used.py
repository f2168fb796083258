"""Regression: vesta used generator files that another user could change. A file truncated under a server now stops it
with a message, and files that root creates for a service belong to the service."""
import os
import re
import subprocess
import sys
import time

from livefiles import ids, unique
from harness import SLOW, VESTA, claim, environment, fails, main, same

NOBODY = 65534
ROOT = os.geteuid() == 0


def as_nobody(world, *args):
    os.chmod(world.folder, 0o755)
    return world.run(*args, user=NOBODY, group=NOBODY, extra_groups=[])


def is_there(path):
    end = time.monotonic() + 30 * SLOW
    while not os.path.exists(path):
        assert time.monotonic() < end, path
        time.sleep(0.02)


def map_of(path):
    with open(path, "rb") as file:
        return "/dev/shm/vesta-" + file.read(40)[24:].hex()


@claim("a file that another user created in a folder like /tmp is rejected, even by root, and the message names the "
       "owner")
def _(world):
    if not ROOT:
        return
    os.mkdir(world.path("state"))
    os.chmod(world.path("state"), 0o1777)
    same(as_nobody(world, "gen", "--store", "file:" + world.path("state", "theirs"), "--worker", "3").code, 0)
    fails(world.run("gen"), 1, "default.gen belongs to user 65534")
    fails(world.run("serve", "--http", "off", "--resp", "unix:" + world.path("s")), 1, "default.gen belongs to user 65534")
    same(world.run("doctor", "--http", "off", "--resp", "off").code, 1)


@claim("a world-writable folder without the sticky bit is rejected with advice")
def _(world):
    os.mkdir(world.path("state"))
    os.chmod(world.path("state"), 0o777)
    fails(world.run("gen", "--store", "file:" + world.path("store"), "--worker", "3"), 1, "is writable by everyone", "chmod o-w")
    fails(world.run("gen"), 1, "chmod")


@claim("files that root creates in a service's folder belong to the service, and its program continues with them")
def _(world):
    if not ROOT:
        return
    os.mkdir(world.path("state"))
    os.chown(world.path("state"), NOBODY, NOBODY)
    first = ids(world.run("gen", "-n", "10"))
    same(world.run("store", "advance", "--store", "file:" + world.path("state"), "--namespace", "default", "--yes").code, 0)
    second = ids(as_nobody(world, "gen", "-n", "10", "--wait-ms", "60000"))
    third = ids(world.run("gen", "-n", "10", "--wait-ms", "60000"))
    unique(first, second, third)
    for folder, _, names in os.walk(world.path("state")):
        for name in names:
            same((name, os.stat(os.path.join(folder, name)).st_uid), (name, NOBODY))
    same(os.stat(map_of(world.path("state", "default.gen"))).st_uid, NOBODY)


def ask(sock):
    done = subprocess.run(["bash", "-c", 'exec python3 -c "$0" "$1"', """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1]); s.sendall(b"GET default\\r\\n")
print(s.makefile("rb").readline().decode().strip())""", sock], capture_output=True, text=True)
    return done.stdout.strip() or done.stderr


@claim("a map truncated under a server stops the server with a message, and the next start continues")
def _(world):
    sock, path = world.path("s"), world.path("state", "default.gen")
    log = open(world.path("log"), "wb")
    server = subprocess.Popen([VESTA, "serve", "--http", "off", "--resp", "unix:" + sock, "--layout", "snowflake", "--worker", "3"],
                              cwd=world.folder, env=environment(world.folder), stdout=log, stderr=log)
    try:
        is_there(sock)
        assert re.match(r"\$\d+", ask(sock)), ask(sock)
        at = map_of(path)
        os.truncate(at if os.path.exists(at) else path, 0)
        time.sleep(2.5)  # Wait until a thread notices: the keeper, the watchdog or the policy thread.
        assert server.poll() is None, "the server ended with %s" % server.returncode
        answer = ask(sock)
        assert server.poll() is None, "the server ended with %s" % server.returncode
        assert "an operator acts" in answer and "was truncated" in answer, answer
        assert server.poll() is None
        server.terminate()
        server.wait(30)
    finally:
        server.kill()
        server.wait()
    assert server.returncode >= 0, "ended by signal %d" % -server.returncode
    same(len(ids(world.run("gen", "-n", "10", "--wait-ms", "30000"))), 10)


main()
