#!/usr/bin/env python3
"""pages.py -- checks of the documents as a whole.

    pages.py                      checks them
    pages.py --self-test          checks that wrong documents fail
    pages.py --reviewed PAGE...   writes the hash of its English page into the first line of each Chinese page

Each page is in an index, links to headings work, and the on-call page has every code and alert.

A Chinese page has the same commands and explains the same names as the English one, except for names in generated tables.  A
console, Lua or C block is identical in all languages and in the same order, except for its comments.  If the English page
changes, compare the Chinese page with it, and run `pages.py --reviewed`.
"""
import glob
import hashlib
import os
import re
import sys
import tempfile

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "spec", "support"))
from claims import report  # noqa: E402

BLOCK = re.compile(r"^```(\w[^\n]*)\n(.*?)^```$", re.M | re.S)
PAGES = "*.md", "docs/**/*.md", "examples/*/*.md"
GENERATED = re.compile(r"<!-- table: .*?<!-- end -->", re.S)
LINK = re.compile(r"\]\(([^)#:\s]+)")


def read(root, *names):
    with open(os.path.join(root, *names), encoding="utf-8") as file:
        return file.read()


def index(root):
    """Returns pages that no index names. Pages of docs/internals have their own index."""
    docs, inner = os.path.join(root, "docs"), os.path.join("internals", "README.md")
    pages = {os.path.relpath(path, docs) for path in glob.glob(os.path.join(docs, "**", "*.md"), recursive=True)}
    named = set(LINK.findall(read(root, "docs", "README.md"))) | {"README.md"}
    if os.path.exists(os.path.join(docs, inner)):
        named |= {os.path.join("internals", page) for page in LINK.findall(read(docs, inner))}
    return sorted("docs/README.md does not name " + page for page in pages - named
                  if page.split(os.sep)[0] not in ("zh-CN", "migrate"))


def on_call(root):
    """Returns codes and alerts that are not on the page."""
    page = read(root, "docs", "oncall.md")
    codes = re.findall(r"(?m)^FAULT\((\w+), \d{3}, ", read(root, "csrc", "server", "faults.h"))
    alerts = re.findall(r"- alert: (\w+)", read(root, "examples", "prometheus", "vesta.rules.yml"))
    if len(codes) < 30 or len(alerts) < 5:
        return ["only %d codes and %d alerts were found: have they moved?" % (len(codes), len(alerts))]
    return ["docs/oncall.md does not say what to do about " + name for name in codes + alerts if "`%s`" % name not in page]


def events(root):
    """Returns events that docs/deploy.md explains but the code does not log."""
    page = read(root, "docs", "deploy.md")
    rows = re.findall(r"(?m)^\| (`[^|]+) \| (?:info|warn|error)\b", page)
    sources = "".join(read(path) for path in glob.glob(os.path.join(root, "csrc", "**", "*.c"), recursive=True))
    named = [name for row in rows for name in re.findall("`([^`]+)`", row)]
    if not named:
        return ["docs/deploy.md has no table of events: has it moved?"]
    return ["docs/deploy.md has an event that is not in csrc: " + name for name in named if '"%s' % name not in sources]


def pages_named(root):
    """Returns pages that the program or the clients name but that do not exist."""
    wrong = set()
    for pattern in "lua/**/*.lua", "csrc/**/*.[ch]", "library/*.lua", "examples/**/*.*":
        for path in glob.glob(os.path.join(root, pattern), recursive=True):
            if os.path.isfile(path) and "__pycache__" not in path:
                for page in re.findall(r"\bdocs/[a-zA-Z/_-]+\.md", read(path)):
                    if not os.path.exists(os.path.join(root, page)):
                        wrong.add("%s names %s, which does not exist" % (os.path.relpath(path, root), page))
    return sorted(wrong)


def commands_named(root):
    """Returns commands of the program that the table of docs/cli.md does not contain."""
    files = glob.glob(os.path.join(root, "lua", "cli", "*.lua"))
    made = {os.path.basename(path)[:-len(".lua")] for path in files} | {"gen", "explain", "audit", "serve"}
    table = re.findall(r"(?m)^\| `vesta (\w+)` \|", read(root, "docs", "cli.md"))
    return ["the table of docs/cli.md does not name vesta " + name for name in sorted(made - set(table))]


def anchors(text):
    """Returns the anchors that GitHub makes of headings: lower case letters, digits, - and _, with - for each space."""
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", text), re.M)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower() for heading in headings]
    return {"".join(c for c in heading if c.isalnum() or c in " -_").replace(" ", "-") for heading in plain}


def dead_links(root):
    """Returns links to headings that do not exist."""
    wrong = []
    for path in (path for pattern in PAGES for path in sorted(glob.glob(os.path.join(root, pattern), recursive=True))):
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", read(path)):
            page = os.path.join(os.path.dirname(path), target) if target else path
            if page.endswith(".md") and not (os.path.exists(page) and anchor in anchors(read(page))):
                wrong.append("%s: %s has no heading #%s" % (os.path.relpath(path, root), target or "it", anchor))
    return wrong


def commands(text):
    return [(language, re.sub(r"^(.*?\S)??[ \t]*(#|--|//) .*$", r"\1", body, flags=re.M) if language == "sh" else body)
            for language, body in BLOCK.findall(text)]


def names(text):
    """Returns the names in the first columns of tables: options, keys, codes, events."""
    rows = re.findall(r"^\| *(`[^|]*?)(?<!\\)\|", BLOCK.sub("", text), re.M)
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def twins(root):
    for path in sorted(glob.glob(os.path.join(root, "README.*.md"))):
        yield os.path.basename(path), "README.md"
    for path in sorted(glob.glob(os.path.join(root, "docs", "zh-CN", "**", "*.md"), recursive=True)):
        yield os.path.relpath(path, root), os.path.join("docs", os.path.relpath(path, os.path.join(root, "docs", "zh-CN")))


def mark(root, page):
    """The first line of a Chinese page."""
    return "<!-- reviewed: %s %s -->" % (page, hashlib.sha256(read(root, page).encode()).hexdigest()[:12])


def reviewed(root, twin, page):
    first, _, rest = read(root, twin).partition("\n")
    with open(os.path.join(root, twin), "w", encoding="utf-8") as file:
        file.write(mark(root, page) + "\n" + (rest if first.startswith("<!-- reviewed:") else first + "\n" + rest))


def differences(root, twin, page):
    if not os.path.exists(os.path.join(root, page)):
        return ["there is no %s" % page]
    if read(root, twin).split("\n", 1)[0] != mark(root, page):
        return ["%s has changed: compare %s with it, then run spec/docs/pages.py --reviewed %s" % (page, twin, twin)]
    theirs, ours = commands(read(root, twin)), commands(read(root, page))
    for number, (a, b) in enumerate(zip(theirs, ours), 1):
        if a != b:
            lines = next(((x, y) for x, y in zip(a[1].split("\n"), b[1].split("\n")) if x != y), (a[0], b[0]))
            return ["block %d of %s is no longer that of %s:" % (number, twin, page), "    %s" % lines[0], "    %s" % lines[1]]
    if len(theirs) != len(ours):
        return ["%s has %d blocks, %s has %d" % (twin, len(theirs), page, len(ours))]
    text = read(root, twin)
    return ["%s has no `%s`, which a table of %s explains" % (twin, name, page)
            for name in names(GENERATED.sub("", read(root, page))) if "`%s`" % name not in text]


def house(root):
    yield "docs/README.md lists every page", index(root)
    yield "links to headings work", dead_links(root)
    yield "the table of docs/cli.md lists every command", commands_named(root)
    yield "pages that the sources name exist", pages_named(root)
    yield "docs/oncall.md has every error code of the server and every alert", on_call(root)
    yield "docs/deploy.md lists only events that the server logs", events(root)
    for twin, page in twins(root):
        yield "%s has the commands and the tables' names of %s" % (twin, page), differences(root, twin, page)


CODES = "".join('FAULT(code_%d, 503, "ERR", "x")\n' % i for i in range(30))
KNOWN = " ".join("`code_%d`" % i for i in range(30)) + " ".join(" `Alert%d`" % i for i in range(5))
CLI = "".join("| `vesta %s` | x |\n" % name for name in ("gen", "explain", "audit", "serve", "fit"))
RIGHT = {
    "docs/cli.md": CLI, "lua/cli/fit.lua": "",
    "docs/deploy.md": "| `ready` | info | x |\n", "csrc/serve/serve.c": 'say("ready");',
    "docs/README.md": "[a](a.md) [b](oncall.md) [c](metrics.md) [d](cli.md) [e](deploy.md)", "docs/a.md": "## Two `words`: v2_x\n| `n` | name |\n```console\n$ x\ny\n```\n```sh\nx  # in words\n```\n",
    "docs/zh-CN/a.md": "| `n` |\n```console\n$ x\ny\n```\n```sh\nx  # in other words\n```\n", "docs/oncall.md": KNOWN,
    "examples/prometheus/vesta.rules.yml": "".join("- alert: Alert%d\n" % i for i in range(5)), "csrc/server/faults.h": CODES,
    "README.md": "[x](docs/a.md#two-words-v2_x) [y](#here)\n# here\n```c\nx\n```\n", "README.xx.md": "```c\nx\n```\n",
}
WRONG = {
    "an event that the server does not log": {"docs/deploy.md": "| `steady` | info | x |\n"},
    "a table of events that has moved": {"docs/deploy.md": ""},
    "a page that is not in the index": {"docs/new.md": ""},
    "a command that is not in the table": {"lua/cli/new.lua": ""},
    "a help that names a page which does not exist": {"lua/cli/fit.lua": "More: docs/none.md."},
    "a code that is not on the page": {"csrc/server/faults.h": CODES + 'FAULT(new, 500, "ERR", "x")'},
    "an alert that is not on the page": {"examples/prometheus/vesta.rules.yml": RIGHT["examples/prometheus/vesta.rules.yml"] + "- alert: New\n"},
    "a table of codes that has moved": {"csrc/server/faults.h": ""},
    "another command": {"docs/a.md": RIGHT["docs/a.md"].replace("$ x", "$ z")},
    "another output": {"docs/a.md": RIGHT["docs/a.md"].replace("y\n", "z\n")},
    "another command beside a comment": {"docs/zh-CN/a.md": RIGHT["docs/zh-CN/a.md"].replace("x  #", "z  #")},
    "a name that is explained in one language only": {"docs/a.md": RIGHT["docs/a.md"] + "| `more` | x |\n"},
    "a block more": {"docs/a.md": RIGHT["docs/a.md"] + "```sh\n```\n"},
    "a link to a heading of another name": {"README.md": RIGHT["README.md"].replace("#two-words", "#three-words")},
    "a link to a line of a block": {"docs/zh-CN/a.md": RIGHT["docs/zh-CN/a.md"].replace("x  #", "# x  #") + "[x](#x)"},
    "a page that is in another language only": {"docs/zh-CN/b.md": ""},
    "a README that differs": {"README.xx.md": "```c\ny\n```\n"},
}


def outcome(changes, later={}):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**RIGHT, **changes}.items():
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        for twin, page in twins(root):
            if os.path.exists(os.path.join(root, page)):
                reviewed(root, twin, page)
        for name, text in later.items():
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        return [line for _, wrong in house(root) for line in wrong]


def self_test():
    yield "valid pages pass", outcome({})
    for claim, changes in WRONG.items():
        yield claim + " fails", [] if outcome(changes) else ["it passed"]
    changed = {"docs/a.md": RIGHT["docs/a.md"] + "One more sentence.\n"}
    yield "an English page that changes after its review fails", [] if outcome({}, changed) else ["it passed"]


def main(arguments):
    if arguments[:1] != ["--reviewed"]:
        return report(self_test() if "--self-test" in arguments else house(REPO))
    pages = dict(twins(REPO))
    for twin in (os.path.relpath(os.path.abspath(path), REPO) for path in arguments[1:]):
        if twin not in pages:
            sys.exit("%s is not a Chinese page: %s" % (twin, " ".join(sorted(pages))))
        reviewed(REPO, twin, pages[twin])
    return 0


sys.exit(main(sys.argv[1:]))
