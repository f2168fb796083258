"""peers.py -- other generators and servers packaged by Debian or npm, measured at the same time: a generator next to an
atomic add, like our own `next`, and a server with a constant reply, next to ours on one core."""
import json
import os
import subprocess
from contextlib import ExitStack

import net
import daemons
from inside import environment, printed
from languages import made, npm_folder
from rows import ROOT, Folder, Made, Missing, need

HERE = ROOT / "bench" / "peers"
NPM = ("@sapphire/snowflake@3.5.5", "simple-flakeid@0.0.5", "nodejs-snowflake@2.0.1", "flake-idgen@1.4.0", "ulid@3.0.2", "uuid@14.0.3")
GO = {"google": "golang-github-google-uuid-dev", "oklog": "golang-github-oklog-ulid-dev", "rs": "golang-github-rs-xid-dev",
      "segmentio": "golang-github-segmentio-ksuid-dev"}
SERVERS = {"evhttp": "libevent", "h2o": "libh2o-evloop", "microhttpd": "libmicrohttpd"}
PACKAGES = {"uuid": "uuid-dev", "libevent": "libevent-dev", "libh2o-evloop": "libh2o-evloop-dev", "libmicrohttpd": "libmicrohttpd-dev"}


# ---------------------------------------------------------------- building

def compiled(turns, name, library):
    need("cc", "gcc"), need("pkg-config", "pkg-config")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", library], capture_output=True, text=True)
    if flags.returncode:
        raise Missing(f"{library} is not here (Debian: {PACKAGES[library]})")
    path = turns.build / "peers" / name
    path.parent.mkdir(exist_ok=True)
    made("cc", "-O2", HERE / f"{name}.c", "-o", path, *flags.stdout.split())
    return [path]


def compiled_go(turns, name="peers", needed=GO):
    need("go", "golang-go")
    sources = "/usr/share/gocode"
    missing = [owner for owner in needed if not os.path.isdir(f"{sources}/src/github.com/{owner}")]
    if missing:
        raise Missing(f"Go's packages of {', '.join(missing)} are not here (Debian: {', '.join(GO[owner] for owner in missing)})")
    folder = turns.build / "peers"
    folder.mkdir(exist_ok=True)
    made("env", "GO111MODULE=off", f"GOPATH={sources}", f"GOCACHE={folder / 'cache'}", "go", "build", "-o", folder / f"go_{name}",
         HERE / f"{name}.go")
    return [folder / f"go_{name}"]


def of_npm(turns):
    need("node", "nodejs"), need("npm", "npm")
    if turns.tiny:
        raise Missing("what npm has is not fetched for a test")
    folder, why = npm_folder(turns.build, *NPM)
    if not folder:
        raise Missing(why)
    return ["node", HERE / "peers.js", folder]


# ---------------------------------------------------------------- rows

def generators(command_of):
    """For each input line the program makes a turn. An atomic add is timed between two turns. The program counts
    duplicates at the end."""
    def measure(turns):
        command = [str(word) for word in command_of(turns)]
        yard = [str(turns.program("core")), "yard"]
        samples = []
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(turns)) as peer:
            for _ in range(turns.samples):
                add = float(subprocess.run(yard, capture_output=True, text=True, timeout=60, check=True).stdout)
                peer.stdin.write("\n")
                peer.stdin.flush()
                samples.append({name: (ns, add) for name, ns in json.loads(peer.stdout.readline()).items()})
            peer.stdin.close()
            counted = json.loads(peer.stdout.readline())
        ids = counted.pop("ids")
        return Made(samples, notes={name: f"duplicates: {twice:,} of {ids:,}" for name, twice in counted.items()})
    return measure


uuid = generators(lambda turns: compiled(turns, "uuid", "uuid"))
go = generators(compiled_go)
node = generators(of_npm)


def uuid7(turns):
    """vesta_next_uuid next to libraries: npm's has version 7, and Debian's libuuid and google/uuid do not, so their
    random UUIDs count. A program prints the nanoseconds of a turn for each input line, and its fastest way counts."""
    peers, notes, samples = {}, {}, []
    with ExitStack() as stack:
        for name, key, command_of in (("node", "uuid7", of_npm), ("libuuid", "random", lambda t: compiled(t, "uuid", "uuid")),
                                      ("go", "random", lambda t: compiled_go(t, "google_uuid", ["google"]))):
            try:
                command = [str(word) for word in command_of(turns)]
            except Missing as why:
                notes[""] = "; ".join(filter(None, [notes.get("", ""), str(why)]))
                continue
            program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(turns))
            peers[name] = key, stack.enter_context(program)
        for _ in range(turns.samples):
            ours, counted = printed(turns, turns.program("core"), "uuid7", 1)
            sample = {}
            for name, (key, program) in peers.items():
                program.stdin.write("\n")
                program.stdin.flush()
                told = json.loads(program.stdout.readline())
                sample[name] = ours["ours"], min(ns for way, ns in told.items() if way.startswith(key))
            samples.append(sample)
        for _, program in peers.values():
            program.stdin.close()
            program.stdout.read()
    if not peers:
        raise Missing(notes[""])
    return Made(samples, counted, notes)


def servers_of_constants(turns):
    place, notes = daemons.one_core(), []
    with Folder(turns) as folder, ExitStack() as stack:
        running = {"best": stack.enter_context(daemons.vesta(turns, folder, "http", place))}
        for name, library in SERVERS.items():
            try:
                command, address = compiled(turns, name, library), daemons.tcp()
            except Missing as why:
                notes.append(str(why))
                continue
            running[name] = stack.enter_context(daemons.Server(address, [*place.server, *command, address.split(":")[1]],
                                                               folder / f"{name}.log"))
        loads = {name: (lambda s=server: net.wrk(s, place, "/genid", turns.seconds)) for name, server in running.items()}
        turns_made = net.turns_of(loads, turns.samples)
    return Made([{name: (turn["best"]["cpu"], turn[name]["cpu"]) for name in turn if name != "best"} for turn in turns_made],
                notes={"": "; ".join(notes)})
