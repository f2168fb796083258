#!/usr/bin/env python3
"""run.py --build FOLDER [FILE.md...] -- runs the examples in the documents (README.md and docs/*.md, in each language)
and compares their output.

    ```console             Lines that begin with `$ ` are commands. A trailing backslash continues them, and
                           <<'END' continues them up to the line END. The lines below a command are exactly its
                           output, with stdout and stderr together.
    ```lua                 Runs under each interpreter if its first line is `-- run: lua5.1 lua5.4 luajit`. The
                           output is the text after `-->` in its lines, in order. A tab is shown as a space.
    ```lua                 Is saved for later blocks if its first line is `-- file: NAME`.
    ```c                   Is compiled and run if its first line is `// run`, with `// -->` as in Lua.
    any other block        Is not run.

In expected output, `...` matches any text within a line, and any lines if it is the whole line. If the language is
followed by ` ids` (```console ids), a number of 13 or more digits is an example: it matches any such number, which then
replaces it further down in the document. The ports 8088 and 8089 are replaced by two free ones, in commands and in
output.

A command that ends in `&` runs in the background until its block ends. The next command waits for its ports, or its
config's, and up to 10 s for the server to be ready. Each document has its own folder with an empty VESTA_STATE, in
which all its blocks run. `scripts/run` there serves with the program under test. spec/scripts runs the real one.

Links to files of the repository must exist.

    run.py --self-test     documents with planted errors must fail
"""
import argparse
import contextlib
import glob
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402
from ports import free_port, give_back  # noqa: E402

SECONDS_BLOCK_MAX = 60
SECONDS_BACKGROUND_MAX = 10
EXAMPLE = re.compile(r"(?<![\w.])\d{13,20}(?![\w.]*\w)")
PORTS = ("8088", "8089")

WAIT = """wait_port() { for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null && return; sleep 0.1; done
  echo "nothing listens on port $1 after 10 s"; }
wait_ready() { for _ in $(seq 100); do codes=
  for port; do codes="$codes $(curl -s -o /dev/null -m 2 -w '%{http_code}' http://127.0.0.1:$port/readyz)"; done
  case "$codes" in *[45]0*) sleep 0.1 ;; *) return ;; esac; done; }
"""


def is_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(port))) == 0


class Wrong(Exception):
    """A document does not match the program."""


def blocks(text):
    begun, language, inside = 0, None, []
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if language is None:
                begun, language, inside = number, line[3:].strip(), []
            else:
                yield begun, language, inside
                language = None
        elif language is not None:
            inside.append(line)
    if language is not None:
        raise Wrong(f"the block that begins in line {begun} does not end")


def is_open(command):
    return "<<'END'" in command and not command.endswith("\nEND")


def sessions(lines):
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append([line[2:], []])
        elif found and not found[-1][1] and (found[-1][0].endswith("\\") or is_open(found[-1][0])):
            found[-1][0] += "\n" + line
        elif found:
            found[-1][1].append(line)
        else:
            raise Wrong(f"a console block begins with a command (`$ `), not with: {line}")
    return found


class Document:
    """The folder, the ports and the example numbers that the blocks of one document share."""

    def __init__(self, folder, build):
        self.folder, self.build = folder, os.path.abspath(build)
        self.numbers, self.binds = {}, False
        self.ports = {port: str(free_port()) for port in PORTS}
        self.env = {"PATH": f"{self.build}:{os.environ.get('PATH', '')}", "HOME": folder, "TZ": "UTC",
                    "LC_ALL": "C.UTF-8", "VESTA_STATE": os.path.join(folder, "state"), "TERM": "dumb"}
        self.env.update({name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")})
        os.mkdir(os.path.join(folder, "scripts"))
        self.write("scripts/run", ["#!/bin/sh", "exec vesta serve --http 127.0.0.1:%s --resp 127.0.0.1:%s" %
                                   tuple(self.ports[port] for port in PORTS)])
        os.chmod(os.path.join(folder, "scripts", "run"), 0o755)

    def close(self):
        for port in self.ports.values():
            give_back(int(port))

    def await_ports(self):
        """Waits until ended background commands have released their ports, which the next block needs."""
        until = time.monotonic() + SECONDS_BACKGROUND_MAX
        while any(is_taken(port) for port in self.ports.values()) and time.monotonic() < until:
            time.sleep(0.05)

    def real(self, text):
        """Replaces examples in the text by their actual values."""
        text = EXAMPLE.sub(lambda match: self.numbers.get(match[0], match[0]), text)
        return re.sub(r"\b(?:8088|8089)\b", lambda match: self.ports[match[0]], text)

    def line_matches(self, expected, got):
        """Returns whether the line matches. If so, binds example numbers that it contains for the first time."""
        pattern, fresh, at = "", [], 0
        expected = self.real(expected)
        for match in EXAMPLE.finditer(expected):
            pattern += any_text(expected[at:match.start()])
            if match[0] in self.numbers.values() or not self.binds:
                pattern += match[0]
            else:
                pattern += r"(\d{13,20})"
                fresh.append(match[0])
            at = match.end()
        found = re.fullmatch(pattern + any_text(expected[at:]), got)
        if found:
            self.numbers.update(zip(fresh, found.groups()))
        return bool(found)

    def compare(self, expected, got):
        at = 0
        for number, line in enumerate(expected):
            if line.strip() == "...":
                after = expected[number + 1:]
                if not after:
                    return
                while at < len(got) and not self.line_matches(after[0], got[at]):
                    at += 1
            elif at >= len(got) or not self.line_matches(line, got[at]):
                raise Wrong(f"want: {self.real(line)}\ngot:  {got[at] if at < len(got) else '(nothing more)'}")
            else:
                at += 1
        if at < len(got):
            raise Wrong(f"got more than what is said:\n{chr(10).join(got[at:])}")

    def run(self, command):
        """Runs the command in its own process group, and ends the group."""
        process = subprocess.Popen(command, cwd=self.folder, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            return process.communicate(timeout=SECONDS_BLOCK_MAX)[0]
        except subprocess.TimeoutExpired:
            raise Wrong(f"does not end within {SECONDS_BLOCK_MAX} s") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def console(self, lines):
        """Feeds the commands to one shell per block, because a shell per command would lose variables and jobs."""
        shell = subprocess.Popen(["bash"], cwd=self.folder, env=self.env, text=True, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(shell.pid, signal.SIGKILL))
        signal.alarm(SECONDS_BLOCK_MAX)
        try:
            self.feed(shell, WAIT)
            for command, expected in sessions(lines):
                said, out = self.feed(shell, self.real(command))
                try:
                    self.compare_soon(expected, said, out, patient=command.rstrip().endswith("&"))
                except Wrong as wrong:
                    raise Wrong(f"$ {self.real(command)}\n{wrong}") from None
        finally:
            signal.alarm(0)
            shell.stdin.close()
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()
            self.await_ports()

    def listens_on(self, command):
        """Returns the ports of a background command: its own, and those of its config."""
        if not command.rstrip().endswith("&"):
            return []
        config = re.search(r" -c (\S+)", command)
        path = os.path.join(self.folder, config[1]) if config else os.devnull
        with open(path, encoding="utf-8") as file:
            return re.findall(r"(?::|--port )(\d{4,5})\b", command + file.read())

    def feed(self, shell, command):
        """Runs one command and returns its output, which goes to a file, so that background output is not mixed in."""
        ports = list(self.ports.values()) if command.startswith("scripts/run") else self.listens_on(command)
        waits = "".join(f"wait_port {port}\n" for port in ports)
        if command.startswith(("vesta serve", "scripts/run")) and ports:
            waits += "wait_ready %s\n" % " ".join(ports)  # A reader also takes this long to type the next line.
        mark = f"--- end of command {id(command)}"
        out = tempfile.NamedTemporaryFile(dir=self.folder, prefix=".out", delete=False).name
        shell.stdin.write(f"{{ {command}\n}} >{shlex.quote(out)} 2>&1 </dev/null\n{waits}echo '{mark}'\n")
        shell.stdin.flush()
        said = []
        for line in shell.stdout:
            if line.rstrip("\n") == mark:
                break
            said.append(line.rstrip("\n"))
        else:
            raise Wrong(f"$ {command}\nthe shell ended, or the block took more than {SECONDS_BLOCK_MAX} s")
        return said, out

    def compare_soon(self, expected, said, out, patient):
        """Compares repeatedly, because a background command may need a moment to print its lines."""
        until = time.monotonic() + (SECONDS_BACKGROUND_MAX if patient else 0)
        while True:
            with open(out, encoding="utf-8", errors="replace") as file:
                got = said + file.read().splitlines()
            try:
                return self.compare(expected, got)
            except Wrong:
                if time.monotonic() >= until:
                    raise
            time.sleep(0.1)

    def lua(self, lines):
        before = dict(self.numbers)
        for lua in lines[0].split(":", 1)[1].split():
            self.numbers = dict(before) # Each interpreter gets other ids.
            version = "5.1" if lua == "luajit" else lua.removeprefix("lua")
            self.env["LUA_PATH"] = f"{REPO}/lua/?.lua;{REPO}/lua/?/init.lua;;"
            self.env["LUA_CPATH"] = f"{self.build}/lua/{version}/?.so;;"
            path = self.write("example.lua", lines)
            try:
                self.compare(promised(lines, "-->"), self.run([lua, path]).replace("\t", " ").splitlines())
            except Wrong as wrong:
                raise Wrong(f"under {lua}\n{wrong}") from None

    def saved(self, lines):
        self.write(lines[0].removeprefix("-- file: ").strip(), lines)

    def c(self, lines):
        path, program = self.write("example.c", lines), os.path.join(self.folder, "example")
        said = self.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{REPO}/csrc/include", path, "-o", program,
                         f"{self.build}/csrc/libvesta.a", "-pthread", "-lm"])
        if said:
            raise Wrong(f"does not compile:\n{said}")
        self.compare(promised(lines, "// -->"), self.run([program]).splitlines())

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return path


def any_text(text):
    return ".*".join(re.escape(part) for part in text.split("..."))


def promised(lines, mark):
    return [line.split(mark, 1)[1].strip() for line in lines if mark in line]


def kind(language, lines):
    language = language.removesuffix(" ids")
    if language == "console":
        return "console"
    first = lines[0] if lines else ""
    if language == "lua" and first.startswith("-- run:"):
        return "lua"
    if language == "lua" and first.startswith("-- file: "):
        return "saved"
    if language == "c" and first.strip() == "// run":
        return "c"
    return None


LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def broken_links(path, text):
    here = os.path.dirname(path)
    return [target for target in LINK.findall(text) if not os.path.exists(os.path.join(here, target))]


def lines_of(wrong):
    return str(wrong).splitlines() or ["wrong"]


def check(path, build):
    """Yields (claim, lines that describe the error) for each block of the document that runs."""
    with open(path, encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder, \
            contextlib.closing(Document(folder, build)) as document:
        name = os.path.relpath(path, REPO) if path.startswith(REPO) else os.path.basename(path)
        text = file.read()
        broken = broken_links(path, text)
        yield f"{name}: its links refer to existing files", [f"there is no {target}" for target in broken]
        try:
            for number, language, lines in blocks(text):
                way = kind(language, lines)
                if way is None:
                    continue
                document.binds = language.endswith(" ids")
                try:
                    getattr(document, way)(lines)
                    yield f"{name}:{number} {way}", []
                except Wrong as wrong:
                    yield f"{name}:{number} {way}", lines_of(wrong)
        except Wrong as wrong:
            yield name, lines_of(wrong)


LINKS_BROKEN = "a link to a file that is not there fails"

# (description, whether it must pass, block)
SAMPLES = [
    ("the same output passes", True, "```console\n$ echo a; echo b >&2\na\nb\n$ true\n```"),
    ("a here-document is a part of its command", True, "```console\n$ cat <<'END'\na\nEND\na\n```"),
    ("another line fails", False, "```console\n$ echo a\nb\n```"),
    ("a missing line fails", False, "```console\n$ echo a\na\nb\n```"),
    ("an extra line fails", False, "```console\n$ echo a; echo b\na\n```"),
    ("dots match within a line", True, "```console\n$ echo begin 17 end\nbegin ... end\n```"),
    ("dots match within a line only", False, "```console\n$ echo begin; echo end\nbegin...end\n```"),
    ("dots alone match any lines", True, "```console\n$ seq 9\n1\n...\n8\n9\n```"),
    ("dots alone do not match what follows", False, "```console\n$ seq 9\n1\n...\n9\n10\n```"),
    ("an example number matches another", True,
     "```console ids\n$ echo 12345678901234\n99999999999999\n$ echo 99999999999999\n99999999999999\n```"),
    ("an example number matches only one", False,
     "```console ids\n$ echo 12345678901234\n99999999999999\n$ echo 12345678901235\n99999999999999\n```"),
    ("a long number is literal in other blocks", False, "```console\n$ echo 12345678901234\n99999999999999\n```"),
    ("an example number is replaced in later blocks", True, "```console ids\n$ echo 12345678901234\n99999999999999\n```\n"
     "```console\n$ echo 99999999999999\n12345678901234\n```"),
    ("a shorter number is literal", False, "```console\n$ echo 123\n124\n```"),
    ("variables keep their values within a block", True, "```console\n$ a=1\n$ echo $a\n1\n```"),
    ("a command may have several lines", True, "```console\n$ echo a \\\n    b\na b\n```"),
    ("a job in the background ends with its block", True, "```console\n$ sleep 100 &\n$ jobs %1\n[1]+...sleep 100 &\n```"),
    ("a job in the background may be slow", True, "```console\n$ (sleep 0.3; echo late) &\nlate\n```"),
    ("a job in the background with other output fails", False, "```console\n$ echo a &\nb\n```"),
    ("a block that exits fails", False, "```console\n$ exit 0\n```"),
    ("an unfinished block fails", False, "```console\n$ true\n"),
    ("an unknown command fails", False, "```console\n$ no-such-command\n```"),
    ("Lua prints what its comments say", True, "```lua\n-- run: lua5.4 lua5.1\nprint(1 + 1) --> 2\n```"),
    ("Lua that prints something else fails", False, "```lua\n-- run: lua5.4\nprint(1 + 1) --> 3\n```"),
    ("Lua that raises fails", False, "```lua\n-- run: lua5.4\nerror 'x'\n```"),
    (LINKS_BROKEN, False, "[x](no-such-file.md)"),
    ("C that does not compile fails", False, "```c\n// run\nint main(void) { return x; }\n```"),
]


def self_test(build):
    for claim, right, text in SAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sample.md")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            results = list(check(path, build))
            good = len(results) >= 1 + (claim != LINKS_BROKEN) and any(wrong for _, wrong in results) != right
            yield claim, [] if good else [f"{results}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if options.self_test:
        return report(self_test(options.build))
    files = options.files or [path for pattern in ("README.md", "README.*.md", "docs/**/*.md")
                              for path in sorted(glob.glob(os.path.join(REPO, pattern), recursive=True))]
    return report(claim for path in files for claim in check(os.path.abspath(path), options.build))


sys.exit(main())
