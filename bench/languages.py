"""languages.py -- the clients of examples/clients beside a counter in their own language: builds them, runs them."""
import json
import shutil
import subprocess
from pathlib import Path

import net

ROOT = Path(__file__).resolve().parent.parent
HERE = ROOT / "bench" / "clients"
NPM = "@sapphire/snowflake@3.5.5"  # the generator of 64-bit ids that most programs on npm use


def made(*command, **kw):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **kw)
    if done.returncode:
        raise RuntimeError("%s: %s" % (command[0], (done.stderr or done.stdout)[-400:]))


def c(build):
    if not (build / "bench" / "bench_client").exists():
        raise net.Missing("the client is not built (Debian: libhiredis-dev)")
    return [build / "bench" / "bench_client"]


def python(build):
    return ["python3", HERE / "count.py"]


def go(build):
    net.need("go", "golang-go")
    folder = build / "clients" / "go"
    (folder / "vesta").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "examples/clients/vesta.go", folder / "vesta")
    shutil.copy(HERE / "count.go", folder / "main.go")
    (folder / "go.mod").write_text("module count\n\ngo 1.19\n")
    made("env", "GOCACHE=%s" % (folder / "cache"), "GOPATH=%s" % (folder / "path"), "GOFLAGS=-mod=mod", "GOPROXY=off",
         "go", "build", "-o", "count", ".", cwd=folder)
    return [folder / "count"]


def java(build):
    net.need("javac", "default-jdk-headless")
    folder = build / "clients" / "java"
    made("javac", "-d", folder, ROOT / "examples/clients/Vesta.java", HERE / "Count.java")
    return ["java", "-cp", folder, "Count"]


def node(build):
    net.need("node", "nodejs")
    return ["node", HERE / "count.js"]


def npm_folder(build):
    """Where npm's generator is; or None, and why it is not there."""
    folder = build / "clients" / "npm"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made("npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", NPM)
        return folder, ""
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return None, "%s could not be fetched: %s" % (NPM, " ".join(str(error).split())[:120])


COMMANDS = {"C": c, "python": python, "go": go, "java": java, "node": node}


def samples_of(language, build, generator, port, samples, *more):
    """What its program prints, asking a server for ids from that generator's file."""
    folder = generator.parent
    with net.Server(port, [build / "vesta", "serve", "--path", generator, "--resp", "127.0.0.1:%d" % port,
                           "--http", "unix:%s" % (folder / "http.sock")], folder / "server.log"):
        command = [*COMMANDS[language](build), "127.0.0.1:%d" % port, "default", samples, *more]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError("%s: %s" % (command[0], done.stderr[-400:]))
    *lines, counted = [json.loads(line) for line in done.stdout.splitlines()]
    return lines, counted
