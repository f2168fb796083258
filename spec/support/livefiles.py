"""livefiles.py -- for specs of generator files and their maps: places with file systems of their own, and the count of
ids.  Has no claims of its own."""
import ctypes
import fcntl
import os
import subprocess
import time

from harness import VESTA, environment

EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2


class Disk:
    """An ext4 of its own on a loop device.  None if this process may not mount."""

    def __init__(self, world, *mkfs):
        self.image, self.at = world.path("disk.img"), world.path("disk")
        os.mkdir(self.at)
        with open(self.image, "wb") as file:
            file.truncate(16 << 20)
        subprocess.run(["mkfs.ext4", "-q", *mkfs, self.image], check=True, capture_output=True)
        self.mounted = False

    def mount(self):
        done = subprocess.run(["mount", "-o", "loop", self.image, self.at], capture_output=True, text=True)
        self.mounted = done.returncode == 0
        return self.mounted or print("# not shown here: %s" % done.stderr.strip())

    def umount(self):
        """Waits until nothing holds the mount.  A mount namespace that another spec makes in the meantime has a copy of
        it, and as long as it does, the next mount of the image is the same file system as before."""
        if not self.mounted:
            return
        for _ in range(600):
            self.mounted = self.mounted and subprocess.run(["umount", self.at], capture_output=True).returncode != 0
            if not self.mounted and not subprocess.run(["losetup", "-j", self.image], capture_output=True, check=True).stdout:
                return
            time.sleep(0.05)
        raise AssertionError("%s cannot be unmounted, or a namespace of another process still has it" % self.at)

    def lose(self):
        """Loses all data that was not written back so far.  The machine continues."""
        fd = os.open(self.at, os.O_RDONLY)
        fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, ctypes.c_uint32(NO_LOG_FLUSH))
        os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.umount()


def may(*words):
    """Returns whether this machine permits it.  Prints a line if not."""
    done = subprocess.run([*words, "true"], capture_output=True, text=True)
    return done.returncode == 0 or print("# not shown here: %s: %s" % (" ".join(words), done.stderr.strip()))


def ids(result):
    assert result.code == 0, result.err
    return [int(line) for line in result.lines()]


def unique(*lists):
    every = [number for some in lists for number in some]
    assert len(set(every)) == len(every), "%d of %d ids are given twice" % (len(every) - len(set(every)), len(every))
    return len(every)


def inside(world, unshared, script, env=None, timeout=60):
    """Runs a script in namespaces of its own.  $vesta is the program."""
    done = subprocess.run(["unshare", *unshared, "bash", "-ec", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          cwd=world.folder, timeout=timeout, env=environment(world.folder, vesta=VESTA, **(env or {})))
    assert done.returncode == 0, done.stderr
    return done.stdout
