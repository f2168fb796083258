#!/usr/bin/env python3
"""check.py [ROOT] -- holds the house in order: who may include whom, how long a function or file may get.

    check.py ROOT          one line a violation, then `N passed, M failed`, a claim for each rule
    check.py --edges ROOT  which folder knows which, as CMake links them; `-` stands before one that is reached anyway
    check.py --measures ROOT  one table: the widest headers, the fullest folders, long lists of parameters, assertions
    check.py --self-test   plants one violation of each rule in a small house, and asks that each is found

Reads source text only: a C file is scanned for its braces, not parsed.  The public header is also compiled alone.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from claims import report  # noqa: E402

LINES_FILE_MAX = 500
LINES_FUNCTION_MAX = 60
FILES_MAX = 25  # in one folder of csrc: what is more has subjects, which are rooms of the same target
# Where an assertion stands for every two functions at least: a wrong step here would cost ids.
ASSERTED = ("generator", "lease", "keeper", "store", "segment")
ASSERTIONS_MIN = 0.5
PARAMETERS_MAX = 5  # those behind a format are not counted
# OpenSSL has six for ALPN and for tickets, libmicrohttpd eight for a request, and no struct.
CALLED_BY_OTHERS = {"on_protocols", "on_ticket", "answer_microhttpd"}

# Whom a folder knows stands in its CMakeLists.txt: vesta_folder(name KNOWS ...).  These two are no archives.
FOLDER = re.compile(r"^vesta_folder\((\w+)\s+(?:KNOWS\s+([\w\s]+?)\s+)?SOURCES\b", re.M)
TOPS = {"lua": ["keeper", "number"], "cli": ["serve", "number"]}
README_LINES = (5, 15)

# The one header in which two folders meet that do not know each other.
MEETING = "policy/policies.h"

# Foreign headers and the only folders or rooms that may know them.
ONLY_IN = [
    (r"(lua|lauxlib|lualib|luajit)\.h", {"lua", "policy", "config"}),
    (r"sqlite3\.h", {"store/sqlite"}),
    (r"(mysql|mariadb_com)\.h|(mysql|mariadb)/.*", {"store/mysql"}),
    (r"zookeeper\.h|zookeeper/.*", {"store/zk"}),
    (r"uv\.h", {"server/net"}),
    (r"hiredis/.*", {"client", "cli/fill"}),
    (r"llhttp\.h", {"server/http"}),
    (r"openssl/.*", {"tls"}),
]

# The folders without I/O, which run in the simulator as they are, and what they have no use for.
PURE = {"base", "id", "generator", "lease", "segment"}
NOT_IN_PURE = r"(unistd|fcntl|pthread|time|dirent|signal|threads)\.h|sys/.*|linux/.*|arpa/.*|netinet/.*"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SOURCES = ("csrc", "spec", "bench", "examples", "lua", "scripts")
SUFFIXES = (".c", ".h", ".lua", ".py", ".sh")


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n")


def walk(root, tops, suffixes):
    for top in tops:
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(files):
                if name.endswith(suffixes):
                    yield os.path.join(folder, name)


def includes(root):
    """Every include of csrc as (where, own folder, header); `where` begins with the file's path."""
    csrc = os.path.join(root, "csrc")
    for path in walk(root, ["csrc"], (".c", ".h")):
        folder = os.path.relpath(path, csrc).split(os.sep)[0]
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            if match:
                yield f"{os.path.relpath(path, root)}:{number}", folder, match[1]


def folders(root):
    csrc = os.path.join(root, "csrc")
    return [name for name in sorted(os.listdir(csrc)) if os.path.isdir(os.path.join(csrc, name)) and name != "include"]


def edges(root):
    """Each folder with those that it links, as its CMakeLists.txt has them."""
    found = dict(TOPS)
    for folder in folders(root):
        path = os.path.join(root, "csrc", folder, "CMakeLists.txt")
        text = "\n".join(lines_of(path)) if os.path.exists(path) else ""
        found.update((name, (knows or "").split()) for name, knows in FOLDER.findall(text))
    return found


def below(graph, folder):
    """All that a folder reaches, itself where it goes in a circle."""
    found, ahead = set(), list(graph.get(folder, []))
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += graph.get(one, [])
    return found


def folders_known(root):
    graph = edges(root)
    for folder in folders(root):
        if folder not in graph:
            yield f"csrc/{folder}: no vesta_folder({folder} KNOWS ... SOURCES ...) says what it knows"
        elif folder in below(graph, folder):
            yield f"csrc/{folder}: it knows itself in a circle"


def folders_explained(root):
    least, most = README_LINES
    for folder in folders(root):
        path = os.path.join(root, "csrc", folder, "README")
        count = len(lines_of(path)) - 1 if os.path.exists(path) else 0
        if not least <= count <= most:
            yield f"csrc/{folder}/README: {count} lines; what lives here, what it may know, its door: {least} to {most}"


def folders_small(root):
    for folder, _, files in os.walk(os.path.join(root, "csrc")):
        if len(files) > FILES_MAX:
            yield f"{os.path.relpath(folder, root)}: {len(files)} files, at most {FILES_MAX}: find its subjects"


def points_downward(root):
    graph = edges(root)
    for where, folder, header in includes(root):
        other = header.split("/")[0]
        if folder == "include":
            if other in graph:
                yield f"{where}: the public header includes {header}"
        elif header == MEETING and folder == "server":
            pass
        elif "/" in header and other in graph and other != folder and other not in below(graph, folder):
            yield f"{where}: {folder} includes {header}, and does not know {other}"


def folder_named(root):
    """An include by a bare or relative path would hide its folder from the rule above."""
    for where, folder, header in includes(root):
        own, room = os.path.join(root, "csrc", folder), os.path.join(root, os.path.dirname(where))
        beside = any(os.path.exists(os.path.join(place, header)) for place in (own, room))
        if ".." in header.split("/") or (folder != "include" and beside):
            yield f"{where}: {header} is included without its folder's name; write {folder}/..."


def foreign_at_home(root):
    for where, _, header in includes(root):
        for pattern, homes in ONLY_IN:
            if re.fullmatch(pattern, header) and not any(where.startswith(f"csrc/{home}/") for home in homes):
                yield f"{where}: {header} belongs in {' and '.join(sorted(homes))} only"


def pure_without_io(root):
    for where, folder, header in includes(root):
        if folder in PURE and re.fullmatch(NOT_IN_PURE, header):
            yield f"{where}: {folder} does no I/O and includes {header}"


def files_short(root):
    for path in walk(root, SOURCES, SUFFIXES):
        count = len(lines_of(path)) - 1
        if count > LINES_FILE_MAX:
            yield f"{os.path.relpath(path, root)}: {count} lines, at most {LINES_FILE_MAX}"


def code_only(lines):
    """The lines with strings, characters, comments and preprocessor lines blanked."""
    text = "\n".join(lines)
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def functions(path):
    """(first line, length, head) of every block at the outermost level that follows a `)`: a function's body."""
    text = code_only(lines_of(path))
    text = re.sub(r"\bextern\s*\{", lambda match: match[0].replace("{", ";"), text)
    depth, number, head, begun = 0, 1, "", 0
    for letter in text:
        if letter == "\n":
            number += 1
        if letter == "{":
            if depth == 0:
                begun = number if head.rstrip().endswith(")") else 0
            depth += 1
        elif letter == "}":
            depth = max(depth - 1, 0)
            if depth == 0 and begun:
                yield begun, number - begun + 1, " ".join(head.split())
        if depth == 0:
            head = "" if letter in ";}" else head + letter


def parameters(head):
    """How many a function's head lists, `...` aside: the commas of its last pair of brackets."""
    depth, commas = 0, 0
    for place in range(len(head.rstrip()) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(head[place], 0)
        commas += head[place] == "," and depth == 1
        if depth == 0:
            listed = head[place + 1:].strip(" )")
            return 0 if listed in ("", "void") else commas + (not listed.endswith("..."))
    return 0


def functions_short(root):
    for path in walk(root, SOURCES, (".c", ".h")):
        for first, length, head in functions(path):
            if length > LINES_FUNCTION_MAX:
                name = re.findall(r"(\w+)\s*\(", head)
                yield f"{os.path.relpath(path, root)}:{first}: {name[0] if name else '?'} has {length} lines, at most {LINES_FUNCTION_MAX}"


def name_of(head):
    return re.findall(r"(\w+)\s*\(", head)[0]


def parameters_few(root):
    for path in walk(root, ["csrc", "bench", "examples"], (".c", ".h")):
        for first, _, head in functions(path):
            if parameters(head) > PARAMETERS_MAX and name_of(head) not in CALLED_BY_OTHERS:
                yield f"{os.path.relpath(path, root)}:{first}: {parameters(head)} parameters, at most {PARAMETERS_MAX}"


def header_alone(root):
    for name in ("vesta.h", "vesta_client.h"):
        if name == "vesta.h" or os.path.exists(os.path.join(root, "csrc", "include", name)):
            yield from compiles_alone(os.path.join(root, "csrc", "include", name))


def compiles_alone(header):
    flags = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    for language, compiler in (("c", ["gcc", "-std=c99"]), ("c++", ["g++", "-std=c++11"])):
        if not shutil.which(compiler[0]):
            yield f"{compiler[0]} is not here (Debian: {compiler[0]})"
            continue
        # from standard input: a header named on the command line is warned about for itself
        run = subprocess.run(compiler + flags + ["-x", language, "-"], input=f'#include "{header}"\n', text=True,
                             capture_output=True, check=False)
        if run.returncode != 0:
            yield f"csrc/include/{os.path.basename(header)} does not compile alone with {' '.join(compiler)}: {run.stderr.strip()}"


def ok_in_one_place(root):
    """A store's outcome becomes OK by vs_done alone: one that nobody set is never OK."""
    for path in walk(root, [os.path.join("csrc", "store")], (".c", ".h")):
        for number, line in enumerate(lines_of(path), 1):
            if re.search(r"outcome\s*=\s*VS_STORE_OK\b", line) and os.path.basename(path) != "reply.c":
                yield f"{os.path.relpath(path, root)}:{number}: an outcome becomes OK by vs_done only"


def assertions(path):
    return len(re.findall(r"\b(?:_Static_assert|assert)\s*\(", code_only(lines_of(path))))


def asserted_in(root, folder):
    """How many assertions a folder has, and how many functions."""
    files = list(walk(root, [os.path.join("csrc", folder)], (".c", ".h")))
    return sum(assertions(path) for path in files), sum(1 for path in files for _ in functions(path))


def asserted(root):
    for folder in ASSERTED:
        found, count = asserted_in(root, folder)
        if found < ASSERTIONS_MIN * count:
            yield (f"csrc/{folder}: {found} assertions in {count} functions, at least {ASSERTIONS_MIN} a function: "
                   f"assert what only our own code can break, and nothing that the line above says")


def pages_true(root):
    """A page names functions that its reader will look for."""
    ours = re.compile(r"\bvs_[a-z0-9_]+\b")
    there = {name for path in walk(root, ["csrc", "lua", "spec"], SUFFIXES) for name in ours.findall("\n".join(lines_of(path)))}
    for path in walk(root, ["csrc", "docs", "spec"], ("README", ".md")):
        for number, line in enumerate(lines_of(path), 1):
            yield from (f"{os.path.relpath(path, root)}:{number}: nothing is called {name}" for name in ours.findall(line)
                        if name not in there)


RULES = [
    ("every folder of csrc says what it knows", folders_known),
    ("every folder of csrc has its README", folders_explained),
    (f"no folder of csrc holds more than {FILES_MAX} files", folders_small),
    ("includes point downward", points_downward),
    ("an include names its folder", folder_named),
    ("foreign headers stay in their folders", foreign_at_home),
    ("the folders that do no I/O include nothing that does", pure_without_io),
    (f"no file is longer than {LINES_FILE_MAX} lines", files_short),
    (f"no function is longer than {LINES_FUNCTION_MAX} lines", functions_short),
    (f"no function has more than {PARAMETERS_MAX} parameters", parameters_few),
    ("the public headers compile alone as C99 and C++11", header_alone),
    ("a store's outcome becomes OK in one place", ok_in_one_place),
    ("pages name functions that exist", pages_true),
    (f"at least {ASSERTIONS_MIN} assertions a function in {', '.join(ASSERTED)}", asserted),
]


def draw(root):
    graph = edges(root)
    for folder in sorted(graph, key=lambda name: (len(below(graph, name)), name)):
        known = (("-" if any(one in below(graph, other) for other in graph[folder]) else "") + one for one in graph[folder])
        print(f"{folder:<10} > {' '.join(known)}".rstrip(" >"))
    return 0


def measures(root):
    """(what, how many, of what) of csrc, a row a line."""
    fan_in = Counter(header for _, _, header in includes(root) if "/" in header or header == "vesta.h")
    files = list(walk(root, ["csrc"], (".c", ".h")))
    heads = [(path, length, head) for path in files for _, length, head in functions(path)]
    longest = max(((length, name_of(head)) for _, length, head in heads), default=(0, "-"))
    wide = [head for _, _, head in heads if parameters(head) > PARAMETERS_MAX]
    yield from (("files that include", count, header) for header, count in fan_in.most_common(5))
    yield f"folders over {FILES_MAX} files", len(list(folders_small(root))), ""
    yield ("files, the fullest folder", *max((len(files), os.path.relpath(folder, root))
                                             for folder, _, files in os.walk(os.path.join(root, "csrc"))))
    for what, count in (("across files", sum(not head.startswith("static") for head in wide)),
                        ("static", sum(head.startswith("static") for head in wide))):
        yield f"functions over {PARAMETERS_MAX} parameters", count, what
    yield ("lines, the longest function", *longest)
    yield ("lines, the longest file", *max((len(lines_of(path)) - 1, os.path.relpath(path, root)) for path in files))
    for folder in folders(root):
        asserted, count = asserted_in(root, folder)
        yield "assertions a function", f"{asserted / max(count, 1):.2f}", f"csrc/{folder} ({asserted} in {count})"


def measure(root):
    for what, count, whose in measures(root):
        print(f"{what:<28} {count:>6}  {whose}".rstrip())
    return 0


# One planted file a rule: what stands in it breaks that rule and no other.
PLANTS = {
    asserted: ("csrc/keeper/bare.c", "void f(void) {\n    /* assert(1) */\n}\n"),
    ok_in_one_place: ("csrc/store/mine.c",
                      "void f(struct vs_reply *reply) {\n    assert(reply);\n    reply->outcome = VS_STORE_OK;\n}\n"),
    folders_known: ("csrc/attic/README", "a\n" * 5),
    folders_explained: ("csrc/id/README", "id\n"),
    folders_small: ("csrc/id/many/one_more.h", ""),
    points_downward: ("csrc/store/up.c", '#include "keeper/keeper.h"\n'),
    folder_named: ("csrc/id/bare.c", '#include "id.h"\n'),
    foreign_at_home: ("csrc/server/script.c", "#include <lauxlib.h>\n"),
    pure_without_io: ("csrc/lease/clock.c", "#include <time.h>\n"),
    files_short: ("lua/long.lua", "-- a line\n" * (LINES_FILE_MAX + 1)),
    functions_short: ("bench/long.c", "int f(int a)\n{\n" + "    a++; /* } */\n" * (LINES_FUNCTION_MAX - 1) + "}\n"),
    parameters_few: ("bench/wide.c", "int f(int a, int b, int c, int d, int e, int g) {\n}\n"),
    header_alone: ("csrc/include/vesta.h", "int f(size_t n);\n"),
    pages_true: ("docs/design.md", "`vs_gone` was renamed.\n"),
}

# What must not be taken for a violation.
SOUND = {
    **{f"csrc/{name}/README": "a line\n" * 5 for name in ("id", "keeper", "lease", "server", "store", "cli")},
    **{f"csrc/id/many/{number}.h": "" for number in range(FILES_MAX)},
    "csrc/id/CMakeLists.txt": "vesta_folder(id SOURCES id.c)\n",
    "csrc/lease/CMakeLists.txt": "vesta_folder(lease KNOWS id SOURCES lease.c)\n",
    "csrc/store/CMakeLists.txt": "vesta_folder(store KNOWS lease\n  SOURCES store.c)\n",
    "csrc/keeper/CMakeLists.txt": "vesta_folder(keeper KNOWS store SOURCES keeper.c)\n",
    "csrc/server/CMakeLists.txt": "vesta_folder(server KNOWS keeper SOURCES server.c)\n",
    "csrc/include/vesta.h": "#ifndef V\n#define V\nint v(void);\n#endif\n",
    "csrc/id/id.h": '#include "vesta.h"\n#include <string.h>\n',
    "csrc/keeper/keeper.h": '#include "store/store.h"\n#include <pthread.h>\n',
    "csrc/store/sqlite/sqlite.c": '#include "id/id.h"\n#include <sqlite3.h>\n',
    "csrc/cli/told.c": "void f(int a, int b, int c, int d, const char *format, ...) {\n}\n",
    "csrc/cli/long_table.c": "static const int t[] = {\n" + "    1,\n" * 90 + "};\n"
                              + 'static int f(void) {\n    return \'{\' + "{"[0];\n}\n#define G(x) do { \\\n  x; } while (0)\n' * 30,
}


def house(folder, planted=None):
    for path, text in list(SOUND.items()) + ([planted] if planted else []):
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


# Six parameters, five (one of them a function of two), none; two assertions, and two words that are none.
MEASURED = ("csrc/keeper/wide.c", """static int f(int a, int b, int c, int d, int e, int f) {
    assert(a < b);
    return fail("assert(", c);
}
int g(int a, int (*b)(int, int), int c, int d, int e) {
    _Static_assert(1, "one"); /* assert(2) */
}
int h(void) {
}
""")


def self_test():
    claims = []
    with tempfile.TemporaryDirectory() as folder:
        found = list(measures(house(folder, MEASURED)))
        wanted = [("functions over 5 parameters", 0, "across files"), ("functions over 5 parameters", 1, "static"),
                  ("lines, the longest function", 4, "f"), ("assertions a function", "0.67", "csrc/keeper (2 in 3)"),
                  ("files that include", 1, "store/store.h")]
        wrong = [f"not found: {row}" for row in wanted if row not in found]
        claims.append(("what is measured is what stands there", wrong))
    with tempfile.TemporaryDirectory() as folder:
        wrong = [line for _, rule in RULES for line in rule(house(folder))]
        claims.append(("a sound house has no violation", wrong))
    for name, rule in RULES:
        with tempfile.TemporaryDirectory() as folder:
            house(folder, PLANTS[rule])
            found = {other: list(other(folder)) for _, other in RULES}
            wrong = [] if found.pop(rule) else ["the planted violation was not found"]
            wrong += [line for lines in found.values() for line in lines]
            claims.append((f"a house that breaks it fails: {name}", wrong))
    return report(claims)


def main(arguments):
    if arguments[:1] == ["--edges"] and len(arguments) == 2:
        return draw(arguments[1])
    if arguments[:1] == ["--measures"] and len(arguments) == 2:
        return measure(arguments[1])
    if len(arguments) != 1:
        sys.exit(__doc__)
    if arguments[0] == "--self-test":
        return self_test()
    return report([(claim, list(rule(arguments[0]))) for claim, rule in RULES])


sys.exit(main(sys.argv[1:]))
