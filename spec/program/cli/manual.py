"""manual.py -- pages of the manual."""
import os
import re
import subprocess

from harness import claim, fails, main, same
from topics import commands, option_rows, topics


def shown(page, width=80):
    env = dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH=str(width), MANROFFSEQ="", MAN_KEEP_FORMATTING="")
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-Tutf8", "-l", "-"], input=page, capture_output=True,
                          text=True, env=env, timeout=60)
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout)
    return text, done.stderr + ("" if done.returncode == 0 else "exit %d" % done.returncode)


def linted(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=page, capture_output=True, text=True, timeout=60)
    # The page has no date, so that builds are reproducible.
    return [line for line in done.stdout.splitlines() if "missing date" not in line]


@claim("there is a page for each command and for vesta, and man and mandoc find no fault")
def _(w):
    for command in [None] + commands(w):
        page = w.run(*["help", "--man"] + [command] * (command is not None))
        same((page.code, page.err), (0, ""))
        text, complaint = shown(page.out)
        same((command, complaint), (command, ""))
        same((command, linted(page.out)), (command, []))
        title = "VESTA" + ("-" + command.upper() if command else "")
        assert text.lstrip().startswith(title + "(1)"), text[:100]
    same(shown(".TH X 1\n.nosuchmacro\n")[1] != "", True)  # The linters do detect errors.
    assert linted(".TH X 1\n.nosuchmacro\n")


@claim("each option and subcommand of --help is on the page, with its description")
def _(w):
    seen = 0
    for topic in topics(w):
        text = shown(w.run("help", "--man", topic[0]).out, 1000)[0]
        if len(topic) > 1:
            assert re.search(r"\b%s\b" % topic[1], text), (topic, text)
        for option, about in option_rows(w, topic):
            assert option in text, (topic, option)
            assert " ".join(about.split()[:3]) in " ".join(text.split()), (topic, about)
            seen += 1
    assert seen > 200, seen


@claim("the sections of a page are in the usual order of manual pages")
def _(w):
    for command in commands(w):
        sections = re.findall(r"(?m)^\.SH (.*)$", w.run("help", "--man", command).out)
        same((command, sections), (command, ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]))


@claim("vesta(1) names every command's page, and the exit codes")
def _(w):
    text = shown(w.run("help", "--man").out)[0]
    for command in commands(w):
        assert "vesta-%s(1)" % command in text, text
    assert "EXIT STATUS" in text and "2 usage error" in text


@claim("quotes, backslashes and leading dots are displayed as typed")
def _(w):
    text = " ".join(shown(w.run("help", "--man", "policy").out, 1000)[0].split())
    assert "./mine.lua: on_clock_back" in text and "--options '{ wait_ms_max = 1000 }'" in text, text
    page = w.run("help", "--man", "help").out
    assert "\n$ vesta help \\-\\-completion bash \\e\n  > \\(ti/.local" in page, page


@claim("help rejects unknown commands and invalid combinations")
def _(w):
    fails(w.run("help", "--man", "nothing"), 2, 'no command "nothing"', "Try: vesta help help")
    fails(w.run("help", "--man", "gen", "make"), 2, '"make"')
    fails(w.run("help", "--man", "--completion", "bash"), 2, "cannot be combined")
    fails(w.run("help", "--completion", "tcsh"), 2, "bash|zsh|fish")
    fails(w.run("help", "--completion"), 2, "needs a value")
    fails(w.run("help", "--completion", "bash", "gen"), 2, '"gen"')
    fails(w.run("help", "segments", "N"), 2, '"N"')
    fails(w.run("help", "segments", "A" * 100000), 2, '"AAAA')


main()
