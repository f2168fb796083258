"""Regression: Unix sockets got their mode from the umask, so with umask 0 any user could POST /admin/log."""
import os
import stat

from serving import Configured, Server, claim, main, same, write

FACES = ("http", "resp", "admin")


def modes(world):
    return [oct(stat.S_IMODE(os.stat(world.path(face)).st_mode)) for face in FACES]


@claim("a Unix socket has the config's mode, by default 0660, and 0600 for the admin, with any umask")
def _(world):
    flags = [word for face in FACES for word in ("--" + face, "unix:" + world.path(face))]
    for umask in ("0", "077", "022"):
        with Server(world, *flags, wrap=["bash", "-c", 'umask %s; exec "$0" "$@"' % umask]) as server:
            same(modes(world), ["0o660", "0o660", "0o600"])
    config = "return { namespaces = { other = { worker = 5 } }, %s }" % ", ".join(
        '%s = { listen = "unix:%s", socket_mode = "%s" }' % (face, world.path(face), mode)
        for face, mode in zip(FACES, ("0666", "600", "0620")))
    with Configured(world, config, faces=False):
        same(modes(world), ["0o666", "0o600", "0o620"])
    for wrong in ("0888", "66", "1777", "rw", "", "07777"):
        done = world.run("check", write(world, 'return { admin = { socket_mode = "%s" } }' % wrong))
        assert done.code == 1 and "admin.socket_mode" in done.err, (wrong, done.err)


main()
