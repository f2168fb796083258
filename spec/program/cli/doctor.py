"""doctor.py -- `vesta doctor` on a healthy machine, and on machines with one fault each."""
import json
import os
import pwd
import re
import resource
import signal
import socket

from ports import free_port
from harness import claim, fails, main, same, shifted

ROOT = os.geteuid() == 0
SMALL = "sign:1 time:31 seq:22 worker:10 unit=1s epoch="


def off(world):
    """Flags that leave addresses out of the examination."""
    return "--http", "off", "--resp", "unix:" + world.path("r.sock")


def examine(world, *args, code=0, **kw):
    """Returns the findings as JSON objects, after checking that the lines for people match them."""
    text = world.run("doctor", *args, **kw)
    done = world.run("doctor", "--json", *args, **kw)
    same((text.code, done.code, done.err, text.err), (code, code, "", ""))
    found = [json.loads(line) for line in done.lines()]
    same(len(text.lines()), len(found))
    for line, finding in zip(text.lines(), found):
        assert set(finding) <= {"state", "what", "says", "do"} and finding["state"] in ("ok", "warn", "fail"), finding
        assert re.match(r"(ok  |warn|fail)  \S+ +\S", line) and line.split()[:2] == [finding["state"], finding["what"]], line
        assert len(line) < 1000 and line.isprintable(), line
    same(any(finding["state"] == "fail" for finding in found), code == 1)
    return found


def only(found, what, state):
    """Returns the sentence and the advice of the only such finding."""
    matching = [finding["says"] + " | " + finding.get("do", "") for finding in found if (finding["what"], finding["state"]) == (what, state)]
    same(len(matching), 1)
    return matching[0]


def says(found, what, state, *parts):
    text = only(found, what, state)
    for part in parts:
        assert part in text, "%r is not in %r" % (part, text)


def write(world, name, text):
    with open(world.path(name), "w") as file:
        file.write(text)
    return world.path(name)


def generated(world, *args):
    """Returns a generator file that has issued an id."""
    same(world.run("gen", "--worker", "5", *args).code, 0)
    return world.path("state", "default.gen")


@claim("a new machine has no faults, and doctor changes nothing")
def _(world):
    found = examine(world, "--http", "127.0.0.1:%d" % free_port(), "--resp", "off")
    says(found, "state", "ok", world.path("state"), "will be created")
    assert only(found, "http", "ok").endswith("is free | ")
    same([finding["what"] for finding in found], ["clock", "files", "http", "state", "default", "default"])
    same(os.listdir(world.folder), [])


@claim("doctor shows a generator file's worker id, its lease, the leases used, and the end of the layout")
def _(world):
    generated(world)
    found = examine(world, *off(world))
    text = " ".join(finding["says"] for finding in found if finding["what"] == "default")
    assert re.search(r"1 of the 100 leases", text) and "lasts until 2049" in text, text
    says(found, "state", "ok", "is writable")


@claim("doctor shows that the addresses of a running server answer, and the time left of its lease")
def _(world):
    sock, port = world.path("r.sock"), free_port()
    server = world.start("serve", "--worker", "5", "--http", "127.0.0.1:%d" % port, "--resp", "unix:" + sock, stderr=-1, text=True)
    try:
        while "msg=ready" not in server.stderr.readline():
            assert server.poll() is None
        found = examine(world, "--http", "127.0.0.1:%d" % port, "--resp", "unix:" + sock)
        says(found, "http", "ok", "answers")
        says(found, "resp", "ok", "answers")
        text = " ".join(finding["says"] for finding in found if finding["what"] == "default")
        assert re.search(r"worker 5, its lease ends in [1-9]\d* s unless renewed", text), text
        assert os.path.exists(sock)
        later = examine(world, *off(world), env=shifted("3600"))
        text = " ".join(finding["says"] for finding in later if finding["what"] == "default")
        assert re.search(r"worker 5, its lease ended \d+ s ago", text), text
    finally:
        server.send_signal(signal.SIGTERM)
        same(server.wait(), 0)
        server.stderr.close()


@claim("an address that another program uses, or that is invalid, fails")
def _(world):
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = "127.0.0.1:%d" % other.getsockname()[1]
        says(examine(world, "--http", address, "--resp", "off", code=1), "http", "fail", address + " is in use")
    says(examine(world, "--http", "192.0.2.1:80", "--resp", "off", code=1), "config", "fail", "192.0.2.1:80", "other machines")


@claim("an unusable state folder fails, and one with the mode of /tmp is a warning")
def _(world):
    os.mkdir(world.path("state"))
    os.chmod(world.path("state"), 0o777)
    says(examine(world, *off(world), code=1), "state", "fail", "everyone", "chmod")
    os.chmod(world.path("state"), 0o1777)
    says(examine(world, *off(world)), "state", "warn", "everyone", "chmod")
    os.chmod(world.path("state"), 0o755)
    write(world, "file", "")
    says(examine(world, *off(world), "--path", world.path("file", "x.gen"), code=1), "state", "fail", "Not a directory")
    if ROOT:
        config = write(world, "vesta.lua", 'return { user = "nobody", namespaces = { default = {} }, http = { listen = "off" },'
                                           ' resp = { listen = "unix:%s" } }' % world.path("s"))
        os.chmod(world.folder, 0o755)
        says(examine(world, "-c", config, code=1), "state", "fail", "belongs to user 0 and has mode 755", "user nobody (the config's user) cannot write",
             "chown nobody")
        os.chown(world.path("state"), pwd.getpwnam("nobody").pw_uid, -1)
        says(examine(world, "-c", config), "state", "ok", "is writable")
    else:
        os.chmod(world.path("state"), 0o500)
        says(examine(world, *off(world), code=1), "state", "fail", "not writable")


@claim("a state folder on a file system shared between machines fails")
def _(world):
    with open("/proc/self/mountinfo") as mounts:
        shared = [line.split()[4] for line in mounts if re.match(r"(9p|nfs4?|cifs|fuse(\..*)?)$", line.split(" - ")[1].split()[0])]
    shared = [path for path in shared if os.path.isdir(path) and os.access(path, os.R_OK)]
    if not shared:
        print("# no such file system is mounted here; spec/unit/anchor.c makes one up")
        return
    found = examine(world, *off(world), "--path", os.path.join(shared[0], "vesta-doctor-test.gen"), code=1)
    assert any("local file system" in finding["says"] for finding in found), found


@claim("a generator file that is truncated, corrupt, a link, or of another namespace fails and stays unchanged")
def _(world):
    path = generated(world)
    with open(path, "rb") as file:
        whole = file.read()
    for name, content in (("cut", whole[:len(whole) // 2]), ("short", whole[:100]), ("empty", b""), ("garbage", os.urandom(len(whole))),
                          ("magic", b"X" + whole[1:]), ("layout", whole.replace(b" time:", b" time;", 1))):
        wrong = world.path(name + ".gen")
        with open(wrong, "wb") as file:
            file.write(content)
        found = examine(world, *off(world), "--path", wrong, code=1)
        says(found, "default", "fail", wrong)
        with open(wrong, "rb") as file:
            same(file.read(), content)
    os.symlink(path, world.path("link.gen"))
    says(examine(world, *off(world), "--path", world.path("link.gen"), code=1), "default", "fail", "symbolic link")
    says(examine(world, *off(world), "--path", path, "--namespace", "orders", code=1), "orders", "fail", "created with namespace default, not orders")
    with open(world.path("copy.gen"), "wb") as file:
        file.write(whole)
    found = examine(world, *off(world), "--path", world.path("copy.gen"))  # The link names the same generator.
    assert any("worker 5" in finding["says"] for finding in found), found


@claim("a layout that differs from the file's, has ended, ends soon, or is invalid fails or warns")
def _(world):
    generated(world)
    found = examine(world, *off(world), "--layout", "vesta-milli", code=1)
    says(found, "default", "fail", "was created with layout vesta-second, not vesta-milli.", "a namespace of its own")
    for layout, state, part in (("sign:1 time:20 seq:33 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", "fail", "time ended at 2020-01"),
                                (SMALL + "2100-01-01T00:00:00Z", "fail", "epoch")):
        found = examine(world, *off(world), "--namespace", "other", "--layout", layout, code=1)
        assert any(finding["state"] == state and part in finding["says"] for finding in found), found
    says(examine(world, *off(world), "--layout", "time:99", code=1), "default", "fail", "time:99")


@claim("a clock behind the newest id fails, with the difference")
def _(world):
    generated(world)
    found = examine(world, *off(world), code=1, env=shifted("-3600"))
    text = only(found, "default", "fail")
    assert re.search(r"the clock is (35[89]\d|3600)\.\d+ s behind", text), text


@claim("a low limit of file descriptors is a warning")
def _(world):
    found = examine(world, *off(world), preexec_fn=limit(256))
    says(found, "files", "warn", "256 file descriptors", "LimitNOFILE=")


def limit(files):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def limits_told(world, config, files):
    """Returns the descriptor limits that the server logs, by name, or {} and its last line if it rejects the limit."""
    server = world.start("serve", "-c", config, stderr=-1, text=True, preexec_fn=limit(files))
    try:
        for line in server.stderr:
            if 'msg="client limits"' in line:
                return {name: int(number) for name, number in re.findall(r" (\w+)=(\d+)", line)}, ""
        same(server.wait(), 1)
        return {}, re.search(r'msg="(.*)"', line)[1]
    finally:
        server.terminate()
        server.communicate()


@claim("doctor computes the same need of descriptors as serve, from the config's connections, threads, addresses and "
       "namespaces")
def _(world):
    http = world.path("h.sock")
    small = ('return { namespaces = { default = { worker = 5 } }, http = { listen = "unix:%s" }, resp = { listen = "off" }, ' % http)
    large = ('return { namespaces = { a = { worker = 5, policy = "borrow" }, b = { worker = 6 }, c = { worker = 7 } }, http = { listen = { "unix:%s", '
             '"unix:%s" } }, resp = { listen = "unix:%s" }, admin = { listen = "unix:%s" }, log = { file = "/dev/stderr" }, '
             % (http, http + "2", world.path("r.sock"), world.path("a.sock")))
    for text, files, state in ((small + "connections_max = 100 }", 256, "ok"), (small + "connections_max = 300 }", 256, "warn"),
                               (small + "connections_max = 18000 }", 12000, "warn"), (small + "}", 12000, "ok"),
                               (small + "threads = 16, connections_max = 100 }", 256, "warn"), (small + "threads = 32 }", 256, "fail"),
                               (large + "connections_max = 100 }", 300, "ok"), (large + "threads = 8, connections_max = 100 }", 300, "warn")):
        config = write(world, "vesta.lua", text)
        found = only(examine(world, "-c", config, code=state == "fail", preexec_fn=limit(files)), "files", state)
        told, refused = limits_told(world, config, files)
        if refused:
            same(found, refused.removesuffix(" (io)") + " | ")
            continue
        for part in ("%d file descriptors" % told["descriptors"], "%d of them reserved " % told["reserved"], "room for %d connections" % told["connections"]):
            assert part in found, (text, part, found)
        assert ("LimitNOFILE=" in found) == (state == "warn"), found


@claim("an invalid config fails with its line, and a policy that does not load fails with the policy's line")
def _(world):
    head = 'return { http = { listen = "off" }, resp = { listen = "unix:%s" }, namespaces = { default = { ' % world.path("s")
    wrong = write(world, "wrong.lua", head + "\nwait_ms = 5 } } }")
    found = examine(world, "-c", wrong, code=1)
    says(found, "config", "fail", "wrong.lua:2", "wait_ms")
    same([finding["what"] for finding in found], ["clock", "config"])
    says(examine(world, "-c", world.path("none.lua"), code=1), "config", "fail", "none.lua")
    for name, text, part in (("bad.lua", "return { api = 1, on_exhausted = 5 }", "on_exhausted"), ("syntax.lua", "return {", "syntax.lua"),
                             ("loop.lua", "while true do end", "loop.lua"), ("old.lua", "return {}", "api")):
        policy = write(world, name, text)
        config = write(world, "vesta.lua", head + 'policy = "%s" } } }' % policy)
        found = examine(world, "-c", config, code=1)
        says(found, "config", "fail", "namespaces.default.policy", part)
    config = write(world, "vesta.lua", head + 'policy = { "borrow", borrow_ms_max = 500 } } } }')
    found = examine(world, "-c", config)
    assert any("its policy borrow loads" in finding["says"] for finding in found), found


@claim("invalid arguments end with 2")
def _(world):
    fails(world.run("doctor", "extra"), 2, "extra")
    fails(world.run("doctor", "-c"), 2, "needs a value")
    fails(world.run("doctor", "-c", "x", "--namespace", "y"), 2, "--namespace")
    fails(world.run("doctor", "--nothing"), 2, "--nothing")
    for flags, part in ((("--namespace", "a b"), "a b"), (("--http", "x" * 300), "300 bytes"), (("--path", "\n"), "\\x0a")):
        done = world.run("doctor", *off(world), *flags)
        assert done.code in (1, 2) and "\x1b" not in done.out and part in done.out + done.err, (flags, done.out, done.err)


main()
