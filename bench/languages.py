"""languages.py -- builds and runs the clients of examples/clients, next to a counter in their own language."""
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
