"""languages.py -- builds and runs the clients of examples/clients, next to a counter in their own language, and the classes of
examples/inprocess, next to an empty call through their FFI and a generator in their own language."""
import os
import shutil
import subprocess

import daemons
from inside import printed
from rows import ROOT, Folder, Made, Missing, need

HERE = ROOT / "bench" / "clients"
NPM = "@sapphire/snowflake@3.5.5"  # the generator of 64-bit ids with the most users on npm


def made(*command, **kw):
    """Builds at a user's priority, because the threads of Go's tools busy-wait for each other."""
    done = subprocess.run(["chrt", "--other", "0", *(str(part) for part in command)], capture_output=True, text=True, timeout=300, **kw)
    if done.returncode:
        raise RuntimeError("%s: %s" % (command[0], (done.stderr or done.stdout)[-400:]))


def c(build):
    if not (build / "bench" / "bench_client").exists():
        raise Missing("the client is not built (Debian: libhiredis-dev)")
    return [build / "bench" / "bench_client"]


def python(build):
    return ["python3", HERE / "count.py"]


def go(build):
    need("go", "golang-go")
    folder = build / "clients" / "go"
    (folder / "vesta").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "examples/clients/vesta.go", folder / "vesta")
    shutil.copy(HERE / "count.go", folder / "main.go")
    (folder / "go.mod").write_text("module count\n\ngo 1.19\n")
    made("env", "GOCACHE=%s" % (folder / "cache"), "GOPATH=%s" % (folder / "path"), "GOFLAGS=-mod=mod", "GOPROXY=off",
         "go", "build", "-o", "count", ".", cwd=folder)
    return [folder / "count"]


def java(build):
    need("javac", "default-jdk-headless")
    folder = build / "clients" / "java"
    made("javac", "-d", folder, ROOT / "examples/clients/Vesta.java", HERE / "Count.java")
    return ["java", "-cp", folder, "Count"]


def node(build):
    need("node", "nodejs")
    return ["node", HERE / "count.js"]


def npm_folder(build, *packages):
    """Returns the folder of npm's generators, or None and the reason why it is missing."""
    folder = build / "clients" / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made("npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", *packages)
        return folder, ""
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return None, "%s could not be fetched: %s" % (" ".join(packages), " ".join(str(error).split())[:120])


COMMANDS = {"C": c, "python": python, "go": go, "java": java, "node": node}


def samples_of(language, turns, *more):
    command = COMMANDS[language](turns.build)
    with Folder(turns) as folder, daemons.vesta(turns, folder, "resp") as server:
        *made, counted = printed(turns, *command, server.address, "default", turns.samples, *more)
    return made, counted


def client(language):
    def measure(turns):
        made, counted = samples_of(language, turns)
        note = "{requests} requests for {blocks} blocks".format(**counted) if "requests" in counted else ""
        return Made([{"rate": (s["ours"], s["yard"])} for s in made], counted, {"": note})
    return measure


def client_node(turns):
    folder, why = (None, "not fetched for a test") if turns.tiny else npm_folder(turns.build, NPM)
    made, counted = samples_of("node", turns, *([folder] if folder else []))
    return Made([{"rate": (s["ours"], s["yard"]), "take": (s["take"], s["take_yard"]),
                  **({"npm": (s["take"], s["npm"])} if folder else {})} for s in made], counted, {"rate": why})


# ---------------------------------------------------------------- the classes of examples/inprocess

CLASSES, COUNTS = ROOT / "examples" / "inprocess", ROOT / "bench" / "inprocess"
JNA = "/usr/share/java/jna.jar"
KOFFI = "koffi@3.3.4"
WIDE = "sign:1 time:31 seq:24 worker:8 unit=1s epoch=2020-01-01T00:00:00Z"  # 16 million ids per second, so that no call waits


def script(program, package, name):
    def command(_turns):
        need(program, package)
        return [program, COUNTS / name], {}
    return command


def class_in_node(turns):
    need("node", "nodejs")
    folder, why = (None, "koffi is not fetched for a test") if turns.tiny else npm_folder(turns.build, KOFFI, NPM)
    if not folder:
        raise Missing(why)
    return ["node", COUNTS / "count.js"], {"NODE_PATH": str(folder / "node_modules")}


def class_in_go(turns):
    need("go", "golang-go")
    folder = turns.build / "inprocess" / "go"
    (folder / "vestaids").mkdir(parents=True, exist_ok=True)
    shutil.copy(CLASSES / "vesta_ids.go", folder / "vestaids")
    shutil.copy(COUNTS / "count.go", folder / "main.go")
    (folder / "go.mod").write_text("module count\n\ngo 1.19\n")
    made("env", "GOCACHE=%s" % (turns.build / "clients" / "go" / "cache"), "GOPATH=%s" % (folder / "path"), "GOFLAGS=-mod=mod", "GOPROXY=off",
         "CGO_CFLAGS=-O2 -I%s" % (ROOT / "csrc" / "include"), "CGO_LDFLAGS=-L%s" % (turns.build / "csrc"), "go", "build", "-o", "count", ".", cwd=folder)
    return [folder / "count"], {}


def class_in_java(turns):
    need("javac", "default-jdk-headless")
    if not os.path.exists(JNA):
        raise Missing("JNA is not here (Debian: libjna-java)")
    folder = turns.build / "inprocess" / "java"
    made("javac", "-cp", JNA, "-d", folder, CLASSES / "VestaIds.java", COUNTS / "Count.java")
    return ["java", "-cp", "%s:%s" % (folder, JNA), "Count"], {}


CLASS_IN = {"python": script("python3", "python3", "count.py"), "php": script("php", "php-cli", "count.php"),
            "ruby": script("ruby", "ruby", "count.rb"), "node": class_in_node, "go": class_in_go, "java": class_in_java}


def inprocess(language):
    def measure(turns):
        empty = turns.build / "bench" / "bench_empty.so"
        if not empty.exists():
            raise Missing("bench_empty.so is not built")
        command, env = CLASS_IN[language](turns)
        with Folder() as folder:
            *samples, counted = printed(turns, *command, "path=%s/ids.gen any_worker=true layout='%s'" % (folder, WIDE), turns.samples, empty,
                                        env={**env, "VESTA_STATE": str(folder), "LD_LIBRARY_PATH": str(turns.build / "csrc")})
        return Made([{"empty": (s["ours"], s["empty"]), "own": (s["ours"], s["own"])} for s in samples], counted)
    return measure
