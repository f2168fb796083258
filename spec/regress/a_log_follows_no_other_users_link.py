"""Regression: `--log-file` followed a symbolic link of another user, so the server appended its lines to any file that
its own user may write."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from serving import Server, claim, main, same  # noqa: E402

NOBODY = 65534
if os.geteuid() != 0:
    print("    skipped: only root can make another user's link")
    sys.exit(0)


def rejected(world, flag, path):
    done = world.run("serve", flag, path, "--http", "unix:" + world.path("http"), "--resp", "off")
    assert done.code != 0 and "user %d" % NOBODY in done.err and path in done.err, (flag, done.code, done.err)


def shared(world):
    folder = world.path("tmp")
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    return folder


@claim("another user's symbolic link is rejected for the log and the access log, and nothing is written through it")
def _(world):
    folder, target = shared(world), world.path("target")
    for flag in "--log-file", "--access-log":
        link = os.path.join(folder, "link" + flag)
        os.symlink(target, link)
        os.lchown(link, NOBODY, NOBODY)
        rejected(world, flag, link)
        assert not os.path.exists(target)


@claim("another user's file is rejected in a folder where anyone may create files, and used elsewhere")
def _(world):
    folder = shared(world)
    taken = os.path.join(folder, "vesta.log")
    for path in taken, world.path("vesta.log"):
        open(path, "w").close()
        os.chown(path, NOBODY, NOBODY)
    rejected(world, "--log-file", taken)
    same(os.path.getsize(taken), 0)
    with Server(world, "--access-log", world.path("vesta.log")):
        pass


@claim("the server's own symbolic link is followed")
def _(world):
    os.symlink(world.path("target"), world.path("link"))
    with Server(world, "--access-log", world.path("link")) as server:
        same(server.get("/genid").status, 200)
    assert os.path.getsize(world.path("target")) > 0


main()
