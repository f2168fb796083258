"""box.py -- becomes process 1 of a container: new namespaces for processes, mounts, network, names, memory and users, a
read-only root, and then the program. It knows no manifests. The first line of stdin is a JSON object with all settings:

    {"root": FOLDER, "name": HOST, "uid": N, "gid": N, "args": [...], "env": {...}, "binds": {INSIDE: OUTSIDE},
     "tmpfs": [INSIDE], "read_only": true}

It prints its own pid when its network can be set up, and the pid of process 1 after a second line on stdin. It exits
with the status of process 1.
"""
import ctypes
import json
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
DETACH = 2


def call(name, *args):
    given = [a.encode() if isinstance(a, str) else a for a in args]
    if getattr(LIBC, name)(*given) != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s%r: %s" % (name, args, os.strerror(number)))


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def leave(box):
    """Returns false if root may not create a user namespace, as in a chroot, and therefore acts as the user itself."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        call("unshare", NEWUSER)
    except OSError:
        if uid != 0:
            raise
        call("unshare", NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET)
        return False
    write("/proc/self/setgroups", "deny")
    write("/proc/self/gid_map", "%d %d 1" % (box["gid"], gid))
    write("/proc/self/uid_map", "%d %d 1" % (box["uid"], uid))
    call("unshare", NEWNS | NEWUTS | NEWIPC | NEWPID | NEWNET)
    return True


def bind(source, target, flags=0):
    call("mount", source, target, None, BIND | REC, None)
    if flags:
        # flags that this user namespace may not remove
        had = os.statvfs(target).f_flag & (RDONLY | NOSUID | NODEV | NOEXEC)
        call("mount", None, target, None, REMOUNT | BIND | had | flags, None)


def tmpfs(target, mode):
    call("mount", "tmpfs", target, "tmpfs", NOSUID, "mode=%o,size=64m" % mode)


def mount_all(box):
    root = box["root"]
    call("mount", None, "/", None, REC | PRIVATE, None)
    bind(root, root, RDONLY if box["read_only"] else 0)
    tmpfs(root + "/dev", 0o755)
    for device in "null", "zero", "full", "random", "urandom":
        write(root + "/dev/" + device, "")
        bind("/dev/" + device, root + "/dev/" + device)
    os.mkdir(root + "/dev/shm")
    tmpfs(root + "/dev/shm", 0o1777)
    for inside in box["tmpfs"]:
        tmpfs(root + inside, 0o1777)
    for inside, outside in box["binds"].items():
        bind(outside, root + inside)
    call("mount", "proc", root + "/proc", "proc", NOSUID | NODEV | NOEXEC, None)
    os.chdir(root)
    if LIBC.syscall(PIVOT_ROOT, b".", b".") != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    call("umount2", ".", DETACH)
    os.chdir("/")


def main():
    box = json.loads(sys.stdin.readline())
    mapped = leave(box)
    print(os.getpid(), flush=True)
    if not sys.stdin.readline():
        sys.exit(1)
    child = os.fork()
    if child == 0:
        try:
            call("unshare", NEWNS)
            mount_all(box)
            call("sethostname", box["name"], len(box["name"]))
            if not mapped:
                os.setgroups([])
                os.setgid(box["gid"])
                os.setuid(box["uid"])
            os.execve(box["args"][0], box["args"], box["env"])
        except BaseException as error:
            print("box: %s" % error, file=sys.stderr, flush=True)
        os._exit(126)
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    os._exit(min(255, 128 + os.WTERMSIG(status)) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))


main()
