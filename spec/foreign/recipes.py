"""recipes.py -- the programs of examples/workers, eight processes of each under `vesta lease run`, one of which is killed.
All ids are counted.

    recipes.py VESTA FOLDER [PART]     the folder keeps what is built and installed
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import node_modules
from servers import SLOW, claim, main, until

VESTA, FOLDER = map(os.path.abspath, sys.argv[1:3])
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "workers")
PROCESSES, IDS = 8, 20000


def done(*words, **kw):
    ended = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300 * SLOW, **kw)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def counted(options, command, **env):
    """Runs the processes, kills the wrapper of one, and counts the ids of all."""
    with tempfile.TemporaryDirectory(prefix="vesta-recipe-") as folder:
        env = dict(os.environ, VESTA_STATE=os.path.join(folder, "state"), **env)
        outs, errs = ([os.path.join(folder, "%s-%d" % (name, n)) for n in range(PROCESSES)] for name in ("ids", "err"))
        lease = [VESTA, "lease", "run", "--store", "file:" + os.path.join(folder, "store"), "--namespace", "orders", "--layout", "snowflake", *options, "--"]
        processes = []
        for n in range(PROCESSES):  # the first issues ids without end
            with open(outs[n], "wb") as out, open(errs[n], "wb") as err:
                processes.append(subprocess.Popen([*lease, *command, str(IDS if n else 10 ** 9)], stdin=subprocess.DEVNULL,
                                                  stdout=out, stderr=err, cwd=folder, env=env))
        try:
            until(lambda: os.path.getsize(outs[0]) > 0, lambda: "the first process issues ids: " + open(errs[0]).read())
            processes[0].kill()
            for process, err in zip(processes[1:], errs[1:]):
                code = process.wait(120 * SLOW)
                assert code == 0, "exit code %d: %s" % (code, open(err).read())
        finally:
            for process in processes:
                process.kill()
                process.wait()

        def stands_still():
            size = os.path.getsize(outs[0])
            time.sleep(0.2)
            return os.path.getsize(outs[0]) == size
        until(stands_still, "the program whose wrapper was killed has ended", 20)
        with open(outs[0], "rb+") as out:  # the last line may be cut
            text = out.read()
            out.truncate(text.rfind(b"\n") + 1)
        found = json.loads(done(VESTA, "audit", "--json", *outs))
        print("    %d ids, duplicates %d" % (found["total"], found["duplicates"]))
        assert found["duplicates"] == found["unreadable"] == 0 and found["total"] >= (PROCESSES - 1) * IDS, found


def the_go_package():
    """Returns a GOPATH with InfluxDB's package.  Its Debian package needs 90 others, which this folder of it does not."""
    inside = "usr/share/gocode/src/github.com/influxdata/influxdb/pkg/snowflake/gen.go"
    if os.path.exists("/" + inside):
        return "/usr/share/gocode"
    folder = os.path.join(FOLDER, "influxdb")
    if not os.path.exists(os.path.join(folder, inside)):
        os.makedirs(folder, exist_ok=True)
        download = ["apt-get", "download", "-q", "golang-github-influxdb-influxdb-dev"]
        if subprocess.run(download, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=120).returncode != 0:
            done("apt-get", "update", "-q")  # the lists are missing or old
            done(*download, cwd=folder)
        done("dpkg-deb", "-x", glob.glob(os.path.join(folder, "*.deb"))[0], folder)
    return os.path.join(folder, "usr/share/gocode")


@claim("Go: InfluxDB's snowflake package")
def _():
    go = dict(os.environ, GO111MODULE="off", GOFLAGS="", GOPATH=the_go_package(), GOTOOLCHAIN="local")
    go.setdefault("GOCACHE", os.path.join(FOLDER, "gocache"))
    program = os.path.join(FOLDER, "flake-go")
    done("go", "build", "-o", program, os.path.join(EXAMPLES, "flake.go"), env=go)
    counted(["--env", "MACHINE_ID"], [program])


@claim("Node.js: the npm package flake-idgen")
def _():
    folder = os.path.join(FOLDER, "node")
    why = node_modules.install(EXAMPLES, folder)
    assert not why, why
    shutil.copy(os.path.join(EXAMPLES, "flake.js"), folder)
    counted([], ["node", os.path.join(folder, "flake.js")])


@claim("Java: Twitter's algorithm with a datacenter and a worker")
def _():
    classes = os.path.join(FOLDER, "java")
    done("javac", "-Xlint:all", "-Werror", "-d", classes, os.path.join(EXAMPLES, "Flake.java"))
    counted(["--datacenter-bits", "5"], ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classes, "Flake"])


@claim("Python")
def _():
    counted([], [sys.executable, os.path.join(EXAMPLES, "flake.py")])


@claim("PHP")
def _():
    counted(["--env", "SNOWFLAKE_NODE"], ["php", os.path.join(EXAMPLES, "flake.php")])


os.makedirs(FOLDER, exist_ok=True)
main(sys.argv[3] if len(sys.argv) > 3 else "")
