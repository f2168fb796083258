"""A namespace that cannot be served harms no other, at the start and later: its layout has ended or not begun, its
generator file is unusable, or its store's module is missing."""
import json
import os
import shutil
import subprocess
import tempfile
import time

from serving import SLOW, VESTA, Configured, claim, environment, fails, main, same, write

ENDED = "sign:1 time:28 worker:22 seq:13 unit=1s epoch=2016-05-20T00:00:00Z"
FUTURE = "sign:1 time:41 worker:10 seq:12 unit=1ms epoch=2040-01-01T00:00:00Z"
GOOD = "good = { worker = 5 }"


def served(world, bad, more="", **kw):
    return Half(world, "return { namespaces = { %s, bad = { %s } }, %s }" % (GOOD, bad, more), **kw)


class Half(Configured):
    """A server that counts as started when it issues ids of the good namespace."""

    def __enter__(self):
        self.process = subprocess.Popen(self.args, cwd=self.world.folder, env=self.env, stderr=subprocess.PIPE, text=True)
        self.said = ""
        self.listen("namespace=good")
        return self

    def __exit__(self, kind, *rest):
        self.process.terminate()
        same(self.process.wait(15 * SLOW), 0)
        self.process.stderr.close()


def good_is_served(server):
    for _ in range(3):
        same(server.get("/api/snowflake/get/good").status, 200)
    assert server.redis("GET", "good").startswith(b"$"), server.redis("GET", "good")


@claim("a namespace with an ended layout answers epoch_end and explains its ids, the others are served, and the "
       "server is ready")
def _(world):
    with served(world, "layout = '%s'" % ENDED) as server:
        good_is_served(server)
        for target in "/api/snowflake/get/bad", "/v1/ids?ns=bad", "/v1/ids?ns=bad&n=5":
            refused = server.get(target)
            same((target, refused.status), (target, 500))
            assert "epoch_end" in refused.body or "ended at 2024-11-20" in refused.body, refused.body
        assert server.redis("GET", "bad").startswith(b"-ERR 'bad': the layout's time ended at 2024-11-20"), server.redis("GET", "bad")
        assert server.redis("VESTA.NEXT", "bad", "3").startswith(b"-ERR "), "none in a batch"
        explained = server.get("/expid?ns=bad&id=180363646902239241")
        same(explained.status, 200)
        assert b"2016-07-19" in server.redis("VESTA.EXPLAIN", "bad", "180363646902239241"), server.redis("VESTA.EXPLAIN", "bad", "180363646902239241")
        ready = server.get("/readyz")
        same(ready.status, 200)
        warned, = [w for w in json.loads(ready.body)["warnings"] if w["namespace"] == "bad"]
        assert "ended at 2024-11-20" in warned["detail"], warned
        assert b"ended at 2024" in server.redis("VESTA.INFO"), server.redis("VESTA.INFO")
        same(server.get("/metrics").status, 200)
    done = world.run("check", world.path("vesta.lua"))
    same(done.code, 0)
    assert "namespaces.bad.layout" in done.out + done.err and "ended at 2024-11-20" in done.out + done.err, (done.out, done.err)


@claim("a namespace whose layout ends at run time answers epoch_end and explains its ids, and the server stays ready")
def _(world):
    epoch = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(time.time()) + 5 - 2**28))
    bad = "layout = 'sign:1 time:28 worker:22 seq:13 unit=1s epoch=%s'" % epoch
    with Half(world, "return { namespaces = { %s, bad = { %s } } }" % (GOOD, bad)) as server:
        server.heard("namespace=bad worker=")
        last = int(server.get("/api/snowflake/get/bad").body)
        while server.get("/v1/ids?ns=bad").status == 200:
            time.sleep(0.2)
        good_is_served(server)
        refused, ready = server.get("/v1/ids?ns=bad"), server.get("/readyz")
        same((refused.status, ready.status), (500, 200))
        assert [w for w in json.loads(ready.body)["warnings"] if w["namespace"] == "bad"], ready.body
        same(server.get("/expid?ns=bad&id=%d" % last).status, 200)


@claim("a server whose only namespace has ended does not start")
def _(world):
    config = write(world, "return { namespaces = { bad = { layout = '%s' } } }" % ENDED)
    fails(world.run("serve", "-c", config), 1, "namespaces.bad.layout cannot issue ids: the layout's time ended")


@claim("a namespace with an epoch in the future waits for the clock, and the others are served")
def _(world):
    with served(world, "layout = '%s'" % FUTURE) as server:
        good_is_served(server)
        refused = server.get("/api/snowflake/get/bad")
        same(refused.status, 503)
        assert "correct the clock" in refused.body, refused.body


def unusable(world, form):
    path = world.path("bad.gen")
    if form == "another layout":
        same(world.run("gen", "--path", path, "--namespace", "bad", "--layout", "snowflake", "--store", "file:" + world.path("other"), "-n", "1").code, 0)
    elif form == "damaged":
        with open(path, "wb") as file:
            file.write(b"x" * 400)
    elif form == "writable by all":
        same(world.run("gen", "--path", path, "--namespace", "bad", "--layout", "vesta-milli", "-n", "1").code, 0)
        os.chmod(path, 0o666)
    elif form == "symbolic link":
        os.symlink("/nowhere", path)
    else:
        os.mkdir(path)
    return path


@claim("a namespace with an unusable generator file is rejected with the reason, and the others are served from the "
       "start")
def _(world):
    for form in "another layout", "damaged", "writable by all", "symbolic link", "folder":
        path = unusable(world, form)
        with Half(world, "return { namespaces = { %s, bad = { path = '%s', layout = 'vesta-milli' } } }" % (GOOD, path)) as server:
            good_is_served(server)
            refused = server.get("/api/snowflake/get/bad")
            same((form, refused.status), (form, 503))
            assert "bad.gen" in refused.body, refused.body
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)


def program_without(world, module):
    """Creates a copy of the program without the module of a store, or with a module of another version."""
    folder = tempfile.mkdtemp(dir=world.folder)
    os.mkdir(os.path.join(folder, "store"))
    shutil.copy(VESTA, folder)
    for name in os.listdir(os.path.join(os.path.dirname(VESTA), "store")):
        if name.endswith(".so"):
            shutil.copy(os.path.join(os.path.dirname(VESTA), "store", name), os.path.join(folder, "store"))
    at = os.path.join(folder, "store", "sqlite.so")
    os.unlink(at)
    if module:
        shutil.copy(module, at)
    return os.path.join(folder, "vesta")


@claim("a missing or outdated module stops only the namespaces of its store, and the reason names the package to "
       "install")
def _(world):
    config = ("return { stores = { db = { uri = 'sqlite:%s' } }, namespaces = { %s, bad = { store = 'db', layout = 'vesta-milli' } } }"
              % (world.path("v.db"), GOOD))
    other = world.path("other.so")
    with open(world.path("other.c"), "w") as file:
        file.write("const struct { unsigned abi, bytes; void *ops; } vs_store_module = { 99, 0, 0 };")
    subprocess.run(["cc", "-shared", "-o", other, world.path("other.c")], check=True)
    for module, part in (None, "there is no sqlite: store here"), (other, "the sqlite: store belongs to another version of vesta"):
        server = Half(world, config)
        server.args[0] = program_without(world, module)
        with server:
            good_is_served(server)
            refused = server.get("/api/snowflake/get/bad")
            same(refused.status, 503)
            assert part in refused.body and "apt-get install" in refused.body, refused.body
        config_alone = write(world, config.replace(GOOD + ", ", ""))
        done = subprocess.run([server.args[0], "serve", "-c", config_alone, "--http", "off", "--resp", "unix:" + world.path("s")],
                              cwd=world.folder, env=environment(world.folder), capture_output=True, text=True, timeout=30)
        assert done.returncode == 1 and part in done.stderr and "apt-get install" in done.stderr, (done.returncode, done.stderr)


main()
