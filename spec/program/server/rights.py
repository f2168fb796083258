"""rights.py -- `vesta serve --user`: root binds the addresses, another user serves, and the process cannot regain root.
Most tests need root. Without root the skipped ones are printed."""
import grp
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess

from serving import VESTA, Configured, Server, claim, command, environment, fails, get, main, same, until_closed
from threads import of_threads

ROOT = os.geteuid() == 0
NOBODY = pwd.getpwnam("nobody")


def as_root(text):
    if ROOT:
        return claim(text)
    print("skipped, needs root: " + text)
    return lambda function: function


def rights(status):
    return dict(line.split(":\t", 1) for line in status.split("\n") if ":\t" in line)


def open_to_all(world):
    os.chmod(world.folder, 0o755)


@as_root("the server binds as root, then serves as the user with that user's groups, and cannot regain root")
def _(world):
    open_to_all(world)
    port = free_port_below_1024()
    with Server(world, "--user", "nobody", "--threads", "2", "--http", "127.0.0.1:%d" % port) as server:
        for has in map(rights, of_threads(server.process.pid, "status")):
            same((has["Uid"].split(), has["Gid"].split()), ([str(NOBODY.pw_uid)] * 4, [str(NOBODY.pw_gid)] * 4))
            same([int(group) for group in has["Groups"].split()], os.getgrouplist("nobody", NOBODY.pw_gid))
            same((has["NoNewPrivs"], int(has["CapEff"], 16), int(has["CapPrm"], 16)), ("1", 0, 0))
        # The process is not dumpable, so the user's other processes cannot inspect it.
        same(os.stat("/proc/%d/fd" % server.process.pid).st_uid, 0)
        assert server.say(port, get("/genid", "Connection: close")).startswith(b"HTTP/1.1 200 ")
        assert "switched to an unprivileged user" in server.said and "running as root" not in server.said, server.said
    state = world.path("state")
    for path in (state, *(os.path.join(folder, name) for folder, _, names in os.walk(state) for name in names)):
        same(os.stat(path).st_uid, NOBODY.pw_uid)
    same(stat.S_IMODE(os.stat(state).st_mode), 0o700)


def free_port_below_1024():
    for port in range(1023, 600, -1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise RuntimeError("no free port below 1024")


@as_root("--user accepts a group, numeric ids, and root")
def _(world):
    open_to_all(world)
    daemon = grp.getgrnam("daemon").gr_gid
    for number, (who, uid, gid) in enumerate((("nobody:daemon", NOBODY.pw_uid, daemon), ("nobody:%d" % daemon, NOBODY.pw_uid, daemon),
                                              ("%d" % NOBODY.pw_uid, NOBODY.pw_uid, NOBODY.pw_gid), ("nobody:", NOBODY.pw_uid, NOBODY.pw_gid),
                                              ("root", 0, 0))):
        with Server(world, "--user", who, "--namespace", "n%d" % number, env={"VESTA_STATE": world.path("s%d" % number)}) as server:
            has = rights(next(of_threads(server.process.pid, "status")))
            same((has["Uid"].split()[1], has["Gid"].split()[1]), (str(uid), str(gid)))


@as_root("new socket files and state folders belong to the user, and existing ones keep their owner")
def _(world):
    open_to_all(world)
    os.mkdir(world.path("run"))
    os.chown(world.path("run"), NOBODY.pw_uid, NOBODY.pw_gid)
    sock = world.path("run", "h.sock")
    flags = ("--http", "unix:" + sock, "--path", world.path("made", "here", "o.gen"), "--store", "file:" + world.path("store"))
    with Server(world, "--user", "nobody", *flags):
        same(os.stat(sock).st_uid, NOBODY.pw_uid)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(sock)
            client.sendall(get("/genid", "Connection: close"))
            assert until_closed(client).startswith(b"HTTP/1.1 200 ")
        for name in ("made/here", "made/here/o.gen", "store"):
            same(os.stat(world.path(name)).st_uid, NOBODY.pw_uid)
    assert not os.path.exists(sock)
    os.mkdir(world.path("roots"), 0o755)
    done = world.run("serve", "--user", "nobody", "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1",
                     env={"VESTA_STATE": world.path("roots")})
    fails(done, 1, "Permission denied", "roots")
    same(os.stat(world.path("roots")).st_uid, 0)


@as_root("under umask 077 the user can enter the folders created for the generator file, the store and the state")
def _(world):
    open_to_all(world)
    narrow = ["bash", "-c", 'umask 077; exec "$0" "$@"']
    for number, (store, folder) in enumerate((("file:%s", "f/iles/store"), ("sqlite:%s", "data/base/s.db"))):
        made = world.path("made%d" % number, "deep", "here", "o.gen")
        flags = ("--path", made, "--store", store % world.path(folder))
        with Server(world, "--user", "nobody", *flags, env={"VESTA_STATE": world.path("st", "a", "te%d" % number)}, wrap=narrow) as server:
            assert server.get("/genid").body.isdigit()
        for path, mode in ((world.path("made%d" % number), 0o755), (world.path("made%d" % number, "deep"), 0o755),
                           (os.path.dirname(made), 0o700), (world.path("st"), 0o755)):
            same((path, stat.S_IMODE(os.stat(path).st_mode)), (path, mode))
        same(os.stat(made).st_uid, NOBODY.pw_uid)
        same(stat.S_IMODE(os.stat(made).st_mode) & 0o077, 0)  # Created files respect the umask.
    counters = world.path("counters", "of", "tags.db")
    config = "return { user = 'nobody', stores = { c = { uri = 'sqlite:%s' } }, segments = { { store = 'c', tags = 'orders' } } }" % counters
    server = Configured(world, config)
    server.args[:0] = narrow
    with server:
        same(os.stat(os.path.dirname(counters)).st_uid, NOBODY.pw_uid)


@as_root("under umask 077 a member of the group can enter the folders created for a shared generator file")
def _(world):
    open_to_all(world)
    group = grp.getgrgid(NOBODY.pw_gid).gr_name
    made, store = world.path("made", "here", "o.gen"), "file:" + world.path("f", "iles", "store")
    words = ("gen", "--group", group, "--path", made, "--store", store)
    for user in ({"umask": 0o077}, {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid, "extra_groups": []}):
        done = world.run(*words, **user)
        assert done.code == 0 and done.out.strip().isdigit(), done.err


@as_root("the log file belongs to the user, so that the server can reopen it")
def _(world):
    open_to_all(world)
    os.mkdir(world.path("log"))
    os.chown(world.path("log"), NOBODY.pw_uid, NOBODY.pw_gid)
    log = world.path("log", "v.log")
    with Server(world, "--user", "nobody", "--log-file", log, quiet=True) as server:
        server.tick()
        same(os.stat(log).st_uid, NOBODY.pw_uid)
        os.rename(log, log + ".1")
        server.process.send_signal(signal.SIGUSR1)
        server.process.send_signal(signal.SIGTERM)
        same(server.process.wait(), 0)
        same(os.stat(log).st_uid, NOBODY.pw_uid)


@as_root("a password does not reach a core file or another process of the user")
def _(world):
    with open(world.path("secret"), "w") as file:
        file.write("hunter2\n")
    open_to_all(world)
    for flags, owner in (["--resp-password-file", world.path("secret")], 0), ([], NOBODY.pw_uid):
        with run_as_nobody(world, "serve", "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1", *flags) as server:
            await_ready(server)
            # owned by root, because the process is not dumpable
            same(os.stat("/proc/%d/fd" % server.pid).st_uid, owner)
            server.terminate()
            same(server.wait(), 0)


@as_root("running as root without --user is a warning if other machines can connect")
def _(world):
    # In its own network namespace, so that no other machine can connect.
    with subprocess.Popen(["unshare", "--net", VESTA, "serve", "--http", "0.0.0.0:8088", "--open", "--resp", "off", "--worker", "1"],
                          env=environment(world.folder), stderr=subprocess.PIPE, text=True) as server:
        log = []
        while not log or "msg=ready" not in log[-1]:
            log.append(server.stderr.readline())
            assert log[-1], log
        server.terminate()
        assert any('level=warn msg="running as root' in line for line in log), log


@as_root("a server on loopback logs no warning about root")
def _(world):
    with Server(world) as server:
        assert "level=warn" not in server.said, server.said


@claim("unknown users and groups are rejected before the server starts")
def _(world):
    for who in ("no-such-user", "nobody:no-such-group", "x" * 300, ":", ":daemon", "nobody:" + "y" * 100, "4294967295", "-1",
                "99999999999999", "no\nbody", "nobody:-1", "nobody:4294967295"):
        done = world.run("serve", "--user", who, "--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1")
        fails(done, 2, "user" if ":" not in who[1:] else "")
        assert not os.path.exists(world.path("s")), who
    assert not os.path.exists(world.path("state"))
    fails(world.run("serve", "--user", ""), 2, "needs a value")


def run_as_nobody(world, *args):
    """Runs a copy of the program, because the build folder may be closed to other users."""
    shutil.copy(VESTA, world.path("vesta"))
    os.chmod(world.path("vesta"), 0o755)
    os.chown(world.folder, NOBODY.pw_uid, NOBODY.pw_gid) if ROOT else None
    who = {"user": NOBODY.pw_uid, "group": NOBODY.pw_gid, "extra_groups": []} if ROOT else {}
    return subprocess.Popen([world.path("vesta"), *args], cwd=world.folder, env=environment(world.folder), text=True,
                            stderr=subprocess.PIPE, **who)


def await_ready(server):
    said = ""
    while "msg=ready" not in said:
        line = server.stderr.readline()
        assert line, said
        said += line


@claim("a process that is not root can only keep its user")
def _(world):
    open_to_all(world)
    flags = ("--http", "off", "--resp", "unix:" + world.path("s"), "--worker", "1")
    with run_as_nobody(world, "serve", "--user", "root", *flags) as refused:
        assert "only root can become user 'root'" in refused.stderr.read()
        same(refused.wait(), 2)
    own = "nobody" if ROOT else pwd.getpwuid(os.geteuid()).pw_name
    with run_as_nobody(world, "serve", "--user", own, *flags) as server:
        await_ready(server)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(world.path("s"))
            client.sendall(command("GET", "default"))
            assert re.match(rb"\$\d+\r\n\d+", client.recv(100))
        server.terminate()
        same(server.wait(), 0)


main()
