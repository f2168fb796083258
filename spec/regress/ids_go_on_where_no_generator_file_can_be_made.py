"""Rule 10 of the live map: if no generator file can be created (a read-only root, a unit with ProtectSystem=strict, a
user without a home), ids continue with a map that this user's processes find by their options. No id is duplicated, one
message is printed, and a mistyped path remains an error."""
import glob
import os
import shutil
import signal
import subprocess

from livefiles import ids, inside, may, unique
from harness import SLOW, claim, environment, fails, main, same, vesta_for_others

NOBODY, OTHER = 65534, 65533
ROOT = os.geteuid() == 0
DRAWN = ("--layout", "snowflake")
HAND = (*DRAWN, "--worker", "3")


def sealed(world):
    """Creates a folder of root next to a store of nobody. Returns false if the test does not run as root."""
    if not ROOT:
        return print("# not shown here: needs root")
    os.chmod(world.folder, 0o755)
    for name, owner in (("sealed", 0), ("store", NOBODY)):
        os.mkdir(world.path(name))
        os.chmod(world.path(name), 0o755)
        os.chown(world.path(name), owner, owner)
    return True


def words(world, *args):
    return (*args, "--path", world.path("sealed", "a.gen"), "--store", "file:" + world.path("store"), *HAND)


def gen(world, *args):
    return world.run(*words(world, "gen", *args), user=NOBODY, group=NOBODY, extra_groups=[])


def doctor(world, path, **there):
    """Runs doctor with a config, because it has no flags for most settings of a namespace."""
    config = world.path("vesta.lua")
    with open(config, "w") as file:
        file.write('return { http = { listen = "off" }, resp = { listen = "unix:%s" }, namespaces = { default = { %sstore = "file:%s", '
                   'layout = "snowflake", worker = 3 } } }' % (world.path("store", "s"), 'path = "%s", ' % path if path else "", world.path("store")))
    return world.run("doctor", "-c", config, **there)


def maps(world):
    """Returns the maps of this world's generators, recognised by a path or store in its folder."""
    folder = os.path.join(world.folder, "").encode()
    found = []
    for name in glob.glob("/dev/shm/vesta-*"):
        try:
            with open(name, "rb") as file:
                if folder in file.read(4096):
                    found.append(name)
        except OSError:
            pass
    return found


def clean(world):
    for name in maps(world):
        os.unlink(name)


@claim("in a read-only folder ids are issued at once, from one cursor for all processes, and one message explains the "
       "consequences")
def _(world):
    if not sealed(world):
        return
    first = gen(world, "-n", "100")
    same(first.err.count("cannot create"), 1)
    assert "Permission denied" in first.err and "Make the folder writable" in first.err, first.err
    second = gen(world, "-n", "100")
    same(len(maps(world)), 1)
    same(os.listdir(world.path("sealed")), [])
    pair = [subprocess.Popen([vesta_for_others(), *words(world, "gen", "-n", "20000")], env=environment(world.folder), cwd=world.folder,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, user=NOBODY, group=NOBODY,
                             extra_groups=[]) for _ in range(2)]
    both = [[int(line) for line in one.communicate(timeout=60 * SLOW)[0].split()] for one in pair]
    same([len(some) for some in both], [20000, 20000])  # An assigned worker id has one map, so they share it.
    unique(ids(first), ids(second), *both)
    clean(world)


@claim("after kill -9 the next process continues at once from the same cursor, and a copy of the map does not count")
def _(world):
    if not sealed(world):
        return
    every = []
    for _ in range(5):
        one = subprocess.Popen([vesta_for_others(), *words(world, "gen", "-n", "100000000")], env=environment(world.folder), cwd=world.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[])
        head = one.stdout.read(20000)
        one.send_signal(signal.SIGKILL)
        one.wait()
        every.append([int(line) for line in (head + one.stdout.read()).split(b"\n")[:-1]])
        one.stdout.close()
        # It would take 5 s without continuing the lease.
        every.append(ids(gen(world, "-n", "10", "--wait-ms", "1000")))
    name, = maps(world)
    shutil.copy(name, world.path("copy"))
    every.append(ids(gen(world, "-n", "1000")))
    os.unlink(name)
    shutil.copy(world.path("copy"), name)
    os.chown(name, NOBODY, NOBODY)
    os.chmod(name, 0o600)
    every.append(ids(gen(world, "-n", "1000", "--wait-ms", "20000")))
    unique(*every)
    clean(world)


@claim("another user has a separate map, and a name that another user took is skipped")
def _(world):
    if not sealed(world):
        return
    store = "file:" + world.path("store")
    first = gen(world, "-n", "10")
    name, = maps(world)
    os.unlink(name)
    with open(name, "wb") as file:
        os.fchown(file.fileno(), OTHER, OTHER)
    os.chmod(name, 0o666)
    second = gen(world, "-n", "10", "--wait-ms", "20000")  # Its memory is gone, so an assigned worker id waits.
    third = gen(world, "-n", "10")  # It finds the second one's map.
    os.unlink(name)
    root = world.run("gen", "-n", "10", "--path", world.path("root.gen"), "--store", store, "--layout", "snowflake")
    unique(ids(first), ids(second), ids(third), ids(root))
    clean(world)


@claim("without a home or a usable state folder, ids are issued if a store is named, else the message shows what is "
       "missing")
def _(world):
    if not sealed(world):
        return
    for env in ({"VESTA_STATE": "", "HOME": ""}, {"VESTA_STATE": "", "HOME": world.path("sealed", "home")}):
        there = dict(user=NOBODY, group=NOBODY, extra_groups=[], env=env)
        lists = [ids(world.run("gen", "-n", "10", "--store", "file:" + world.path("store"), *DRAWN, **there))
                 for _ in range(2)]
        unique(*lists)
        same(world.run("gen", *HAND, **there).code, 1)
    clean(world)


@claim("if the service is installed, a user without a home ignores the service's files")
def _(world):
    if not sealed(world) or not may("unshare", "-m"):
        return
    for mode in ("750", "755"):
        script = """
mount --make-rprivate /; mount -t tmpfs tmpfs /var/lib; mkdir -m %s /var/lib/vesta
"$vesta" gen -n 1 --path /var/lib/vesta/default.gen --store file:/var/lib/vesta --layout snowflake >service.id
chown -R 65530:65530 /var/lib/vesta
for i in 1 2; do
    setpriv --reuid 65534 --regid 65534 --clear-groups env -u HOME -u VESTA_STATE "$others" gen -n 10 --store "file:$PWD/store" --layout snowflake
done
""" % mode
        every = [int(line) for line in inside(world, ["-m"], script, dict(others=vesta_for_others())).split()]
        same(unique(every), 20)
    clean(world)


@claim("a folder given by --path or VESTA_STATE that does not exist and cannot be created is an error that names it")
def _(world):
    if not sealed(world):
        return
    typo = world.path("sealed", "typo")
    for env, path in (({}, os.path.join(typo, "a.gen")), ({"VESTA_STATE": typo}, "")):
        there = dict(user=NOBODY, group=NOBODY, extra_groups=[], env=env)
        asked = ("--store", "file:" + world.path("store"), *HAND, *(("--path", path) if path else ()))
        fails(world.run("gen", *asked, **there), 1, "cannot create the folder", typo, "Permission denied")
        found = doctor(world, path, **there)
        same(found.code, 1)
        assert "cannot create the folder " + typo in found.out, found.out


@claim("if a user's home is not writable, as for www-data, the message names the variable for another folder")
def _(world):
    if not sealed(world):
        return
    home = dict(user=NOBODY, group=NOBODY, extra_groups=[], env={"VESTA_STATE": "", "HOME": world.path("sealed")})
    fails(world.run("gen", "--namespace", "web", **home), 1, "cannot create the folder %s/.local/state/vesta: Permission denied. "
          "Set VESTA_STATE to a folder that this user can write" % world.path("sealed"))


@claim("doctor prints the same message, not as a fault if the store is named, and creates nothing")
def _(world):
    if not sealed(world):
        return
    told = doctor(world, world.path("sealed", "a.gen"), user=NOBODY, group=NOBODY, extra_groups=[])
    same(maps(world), [])
    sentence = gen(world, "-n", "1").err.strip()
    sentence = sentence[sentence.index("cannot create"):]
    assert sentence in told.out, (sentence, told.out)
    clean(world)


@claim("with everything read-only except the store, as in a container or under ProtectSystem=strict, gen and serve "
       "issue ids")
def _(world):
    if not ROOT or not may("unshare", "-m"):
        return
    os.mkdir(world.path("store"))
    script = """
mount --make-rprivate /; mount -t tmpfs tmpfs /dev/shm; mount --bind "$PWD" "$PWD"; mount --bind "$PWD/store" "$PWD/store"; mount -o remount,bind,ro "$PWD"
cd "$PWD"; ! touch x 2>/dev/null
for i in 1 2; do "$vesta" gen -n 100 --path "$PWD/no/a.gen" --store "file:$PWD/store" --layout snowflake --worker 3; done
"$vesta" gen -n 100 --store "file:$PWD/store" --layout snowflake
"$vesta" serve --http off --resp "unix:$PWD/store/s" --store "file:$PWD/store" --layout snowflake 2>store/log & server=$!
python3 - <<'P'
import socket, time
for _ in range(600):
    try:
        s = socket.socket(socket.AF_UNIX); s.connect("store/s"); break
    except OSError: time.sleep(0.05)
s.settimeout(30); f = s.makefile("rb")
for _ in range(100):
    while True:
        s.sendall(b"GET default\\r\\n"); line = f.readline()
        if line[:1] == b"$": break
        time.sleep(0.05)
    print(f.readline().decode().strip())
P
kill $server; wait $server
test $(grep -c "cannot create" store/log) = 1
"""
    unique([int(line) for line in inside(world, ["-m"], script, timeout=60 * SLOW).split()])


main()
