"""Regression: all users of a machine see the name of a map, and after a reboot another user can create a file of any
kind with that name. Programs must start nevertheless, share one map, and duplicate no id. This holds for maps of
generator files, of generators without a file, and of segments."""
import glob
import os
import socket

from livefiles import ids, unique
from serving import Configured, bulks
from harness import claim, main, same

NOBODY, OTHER = 65534, 65533


def file_closed(name):
    os.close(os.open(name, os.O_CREAT | os.O_EXCL, 0o600))


def file_open(name):
    file_closed(name)
    os.chmod(name, 0o666)


def unix_socket(name):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(name)


def dangling(name):
    os.symlink("/nowhere", name)


FORMS = {"closed file": file_closed, "open file": file_open, "folder": os.mkdir, "symbolic link": dangling,
         "pipe": os.mkfifo, "socket": unix_socket}
if os.geteuid() != 0:
    del FORMS["closed file"]  # If the caller owns such a file, the program may use it.


def take(name, form):
    """Creates the file as another user if the test runs as root."""
    FORMS[form](name)
    if os.geteuid() == 0:
        os.chown(name, OTHER, OTHER, follow_symlinks=False)


def free(name):
    os.rmdir(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)


def the_map(world):
    name, = glob.glob(world.path("maps", "vesta-" + "[0-9a-f]" * 32))
    return name


def reboot(world, form):
    """Simulates a reboot: the map is gone, and a file of another user has its name."""
    name = the_map(world)
    os.unlink(name)
    take(name, form)
    return name


def goes_on(world, gen):
    world.own_maps()
    every = [gen()]
    for form in FORMS:
        name = reboot(world, form)
        every += [gen(), gen()]
        beside = [other for other in glob.glob(world.path("maps", "vesta-[0-9a-f]*")) if other != name]
        same((form, beside), (form, [name + "~1"]))
        os.unlink(beside[0])
        free(name)
        every += [gen()]
    unique(*every)


@claim("ids of a generator file continue with any foreign file at the name of its map")
def _(world):
    goes_on(world, lambda: ids(world.run("gen", "-n", "100", "--layout", "snowflake", "--path", world.path("a.gen"))))


@claim("ids of a generator without a file continue with any foreign file at the name of its map")
def _(world):
    if os.geteuid() != 0:
        return print("# not shown here: needs root")
    os.chmod(world.folder, 0o755)
    for name, owner in (("sealed", 0), ("store", NOBODY)):
        os.mkdir(world.path(name), 0o755)
        os.chown(world.path(name), owner, owner)
    words = ("gen", "-n", "100", "--path", world.path("sealed", "a.gen"), "--store", "file:" + world.path("store"), "--layout", "snowflake")
    goes_on(world, lambda: ids(world.run(*words, user=NOBODY, group=NOBODY, extra_groups=[])))


@claim("numbers of a segment continue with any foreign file at the name of its map")
def _(world):
    world.own_maps()
    store = "file:" + world.path("store")
    same(world.run("segments", "add", "orders", "--store", store).code, 0)
    config = 'return { stores = { s = { uri = "%s" } }, segments = { { store = "s", tags = { "orders" } } } }' % store
    every, name = [], None

    def serve():
        with Configured(world, config) as server:
            every.append([])
            while len(every[-1]) < 10:  # A GET fails while the first range is on its way.
                every[-1] += bulks(server.redis("GET", "orders"))
            server.kill()

    serve()
    for form in FORMS:
        name = reboot(world, form)
        serve()
        same((form, os.path.exists(name + "~1")), (form, True))
        os.unlink(name + "~1")
        free(name)
        serve()
    same(unique(*every), 10 * len(every))


@claim("if another user has taken all names of a map, each process has its own lease and reports it")
def _(world):
    world.own_maps()
    words = ("gen", "-n", "100", "--layout", "snowflake", "--path", world.path("a.gen"))
    every = [ids(world.run(*words))]
    first = the_map(world)
    os.unlink(first)
    for name in [first] + ["%s~%d" % (first, n) for n in range(1, 8)]:
        take(name, "folder")
    for _ in range(3):
        done = world.run(*words)
        every.append(ids(done))
        assert "remove it: this process has a lease of its own" in done.err, done.err
    unique(*every)


@claim("doctor names the foreign file at the name of a map")
def _(world):
    world.own_maps()
    words = ("--layout", "snowflake", "--path", world.path("a.gen"))
    world.run("gen", "-n", "1", *words)
    name = reboot(world, "folder")
    world.run("gen", "-n", "1", *words)
    config = world.path("vesta.lua")
    with open(config, "w") as file:
        file.write('return { http = { listen = "off" }, resp = { listen = "unix:%s" }, namespaces = { default = { path = "%s" } } }'
                   % (world.path("s"), world.path("a.gen")))
    done = world.run("doctor", "-c", config)
    assert "%s is a directory, not our map: remove it, and the map has a different name now" % os.path.realpath(name) in done.out, done.out
    same(done.code, 0)


main()
