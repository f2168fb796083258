"""complete.py -- shell completions, run in bash, zsh and fish."""
import os
import pty
import re
import select
import subprocess
import time

from harness import SLOW, claim, environment, main, same
from topics import options_of, topics

ASK_BASH = r'''
. "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { :; }
_vesta
printf '%s\n' "${COMPREPLY[@]}"
'''


def bash(w, *words):
    script(w, "bash")
    done = subprocess.run(["bash", "-c", ASK_BASH, "bash", w.path("bash"), "vesta", *words], cwd=w.folder,
                          capture_output=True, text=True, timeout=60, env=environment(w.folder))
    same(done.stderr, "")
    return set(done.stdout.split())


def fish(w, line):
    script(w, "fish")
    done = subprocess.run(["fish", "--no-config", "-c", 'source "$argv[1]"; complete -C "$argv[2]"', w.path("fish"), line],
                          cwd=w.folder, capture_output=True, text=True, timeout=60, env=environment(w.folder))
    same(done.stderr, "")
    return {row.split("\t")[0] for row in done.stdout.splitlines()}


def script(w, shell):
    if not os.path.exists(w.path(shell)):
        done = w.run("help", "--completion", shell)
        same((done.code, done.err), (0, ""))
        with open(w.path(shell), "w") as file:
            file.write(done.out)


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], ". '{script}'"),
    "zsh": (["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; . '{script}'"),
    "fish": (["fish", "--no-config", "-i"], "source '{script}'"),
}


class Terminal:
    def __init__(self, w, shell):
        command, load = SHELLS[shell]
        script(w, shell)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(w.folder)
            os.execvpe(command[0], command, environment(w.folder, TERM="dumb", PS1="$ "))
        self.seen = ""
        shown = "function vesta; echo GOT=(string join -- , $argv)=; end" if shell == "fish" else \
            "vesta() { local IFS=,; echo \"GOT=$*=\"; }"
        self.type(load.format(script=w.path(shell)) + "; " + shown + "; echo REA''DY\n")
        self.wait("READY")

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self, pattern):
        deadline = time.monotonic() + 240 * SLOW
        while not re.search(pattern, self.seen):
            assert time.monotonic() < deadline, self.seen
            if select.select([self.fd], [], [], 1)[0]:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
        found = re.search(pattern, self.seen)
        self.seen = self.seen[found.end():]
        return found

    def completes(self, text):
        """Returns the arguments of vesta after the tab key."""
        self.type("vesta " + text + "\t")
        self.type("\n")
        return self.wait(r"GOT=([^=\r\n]*)=")[1]

    def close(self):
        os.close(self.fd)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


@claim("the tab key completes commands, subcommands, options and values in all three shells")
def _(w):
    for shell in SHELLS:
        terminal = Terminal(w, shell)
        try:
            for typed, meant in (("exp", "explain"), ("gen --form", "gen,--format"), ("gen --format he", "gen,--format,hex"),
                                 ("workers imp", "workers,import"), ("workers import --dry", "workers,import,--dry-run"),
                                 ("layout vesta-mil", "layout,vesta-milli"), ("help seg", "help,segments")):
                same((shell, typed, terminal.completes(typed).rstrip(",").rstrip("=")), (shell, typed, meant))
        finally:
            terminal.close()


@claim("bash offers each option of each command and subcommand")
def _(w):
    for topic in topics(w):
        same((topic, options_of(w, topic) - bash(w, *topic, "--")), (topic, set()))
        same((topic, bash(w, *topic, "--") - options_of(w, topic)), (topic, set()))


@claim("fish offers the options of each command and subcommand, and no others")
def _(w):
    for topic in topics(w):
        offered = {row for row in fish(w, "vesta %s --" % " ".join(topic))}
        same((topic, options_of(w, topic) ^ {row.split("=")[0] for row in offered}), (topic, set()))


@claim("the zsh completion contains each option of each command and subcommand")
def _(w):
    script(w, "zsh")
    with open(w.path("zsh")) as file:
        text = file.read()
    for topic in topics(w):
        block = re.search(r"'%s'\)\n +_arguments((?:.*\\\n)*.*) ;;\n" % " ".join(topic), text)[1]
        same((topic, options_of(w, topic) ^ set(re.findall(r"^ +'(--[a-z-]+)=?\[", block, re.M))), (topic, set()))


@claim("known values are offered: choices, presets and policies, and files for options that take a file")
def _(w):
    for name in ("server.lua", "ids.txt"):
        with open(w.path(name), "w"):
            pass
    for ask in (bash, lambda w, *words: fish(w, "vesta " + " ".join(words))):
        same(ask(w, "gen", "--format", ""), {"dec", "hex", "base32", "base62"})
        assert {"vesta-milli", "leaf", "js53"} <= ask(w, "gen", "--layout", "")
        assert {"server.lua"} <= ask(w, "serve", "-c", "ser")
        assert {"borrow", "switch", "server.lua"} <= ask(w, "serve", "--policy", "")
        assert {"borrow", "server.lua"} <= ask(w, "policy", "check", "")
        assert {"ids.txt"} <= ask(w, "audit", "id")
        same(ask(w, "gen", "--worker", ""), set())
        assert {"init", "show", "advance", "lower"} <= ask(w, "store", "")
        assert {"explain", "serve"} <= ask(w, "")
    same(bash(w, "gen", "--format", "=", "b"), {"base32", "base62"})
    same(bash(w, "gen", "--format", "="), {"dec", "hex", "base32", "base62"})
    same(bash(w, "nonsense", ""), set())


main()
