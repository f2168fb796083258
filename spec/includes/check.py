#!/usr/bin/env python3
"""check.py [ROOT] -- checks the architecture: which folder may include which, and where a foreign header may appear.

    check.py ROOT            prints one line per violation, then `N passed, M failed`, with one claim per rule
    check.py --edges ROOT    prints the dependencies of folders, as CMake links them. `-` marks those implied by others.
    check.py --circles ROOT  prints groups of files in a folder that use each other's functions in a cycle
    check.py --self-test     plants one violation of each rule in a small tree, and checks that each is found

Reads source text only. The public headers are also compiled alone.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from claims import report  # noqa: E402

# A folder declares its dependencies in its CMakeLists.txt: vesta_folder(name KNOWS ...). These two are not archives.
FOLDER = re.compile(r"^vesta_folder\((\w+)\s+(?:KNOWS\s+([\w\s]+?)\s+)?SOURCES\b", re.M)
TOPS = {"rock": ["past", "number"], "main": ["serve", "modules", "number"]}

# The only header that joins two folders without a dependency on each other.
MEETING = "policy/policies.h"

# Foreign headers, and the only folders or files that may include them.
ONLY_IN = [
    (r"(lua|lauxlib|lualib|luajit)\.h", {"rock", "host", "policy", "config", "modules"}),
    (r"sqlite3\.h", {"store/sqlite"}),
    (r"(mysql|mariadb_com)\.h|(mysql|mariadb)/.*", {"store/mysql"}),
    (r"(libpq-fe|postgres_ext)\.h|libpq/.*", {"store/postgresql"}),
    (r"zookeeper\.h|zookeeper/.*", {"store/zk"}),
    (r"hiredis/.*", {"client", "main/fill"}),
    (r"llhttp\.h", {"proto"}),
    (r"openssl/.*", {"tls"}),
]

# The folders without I/O, which run in the simulator unchanged, and headers that they must not include.
PURE = {"base", "id", "generator", "lease", "segment", "proto"}
NOT_IN_PURE = r"(unistd|fcntl|pthread|time|dirent|signal|threads)\.h|sys/.*|linux/.*|arpa/.*|netinet/.*"

# The maximum number of files of a folder that use each other's functions in a cycle.
CIRCLE_MAX = 5

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
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
    """Yields every include of csrc as (where, own folder, header). `where` begins with the file's path. A system header
    with the name of one of our folders (net/if.h) begins with `<`."""
    csrc = os.path.join(root, "csrc")
    for path in walk(root, ["csrc"], (".c", ".h")):
        folder = os.path.relpath(path, csrc).split(os.sep)[0]
        for number, line in enumerate(lines_of(path), 1):
            match = INCLUDE.match(line)
            if match:
                clash = match[1] == "<" and os.path.isdir(os.path.join(csrc, match[2].split("/")[0]))
                yield f"{os.path.relpath(path, root)}:{number}", folder, "<" * clash + match[2]


def folders(root):
    csrc = os.path.join(root, "csrc")
    return [name for name in sorted(os.listdir(csrc)) if os.path.isdir(os.path.join(csrc, name)) and name != "include"]


def edges(root):
    found = dict(TOPS)
    for folder in folders(root):
        path = os.path.join(root, "csrc", folder, "CMakeLists.txt")
        text = "\n".join(lines_of(path)) if os.path.exists(path) else ""
        found.update((name, (knows or "").split()) for name, knows in FOLDER.findall(text))
    return found


def below(graph, folder):
    """Returns everything that a folder depends on, including itself in a cycle."""
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
            yield f"csrc/{folder}: no vesta_folder({folder} KNOWS ... SOURCES ...) declares its dependencies"
        elif folder in below(graph, folder):
            yield f"csrc/{folder}: it depends on itself"


def folders_explained(root):
    for folder in folders(root):
        if not os.path.exists(os.path.join(root, "csrc", folder, "README")):
            yield f"csrc/{folder}/README is missing: write what the folder contains, what it may include, and its entry points"


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
            yield f"{where}: {folder} includes {header}, but does not declare {other}"


def folder_named(root):
    """An include by a bare or relative path would hide its folder from the rule above."""
    for where, folder, header in includes(root):
        own, room = os.path.join(root, "csrc", folder), os.path.join(root, os.path.dirname(where))
        beside = any(os.path.exists(os.path.join(place, header)) for place in (own, room))
        if ".." in header.split("/") or (folder != "include" and beside):
            yield f"{where}: {header} is included without its folder's name. Write {folder}/..."


def foreign_at_home(root):
    for where, _, header in includes(root):
        for pattern, homes in ONLY_IN:
            if re.fullmatch(pattern, header) and not any(where.startswith(f"csrc/{home}/") for home in homes):
                yield f"{where}: {header} may only be included by {' and '.join(sorted(homes))}"


def pure_without_io(root):
    for where, folder, header in includes(root):
        if folder in PURE and re.fullmatch(NOT_IN_PURE, header):
            yield f"{where}: {folder} does no I/O and includes {header}"


def header_alone(root):
    for name in ("vesta.h", "vesta_client.h"):
        if name == "vesta.h" or os.path.exists(os.path.join(root, "csrc", "include", name)):
            yield from compiles_alone(os.path.join(root, "csrc", "include", name))


def compiles_alone(header):
    flags = ["-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    for language, compiler in (("c", ["gcc", "-std=c99"]), ("c++", ["g++", "-std=c++11"])):
        if not shutil.which(compiler[0]):
            yield f"{compiler[0]} is not installed (Debian: {compiler[0]})"
            continue
        # Compiled from stdin, because a header named on the command line causes a warning about itself.
        run = subprocess.run(compiler + flags + ["-x", language, "-"], input=f'#include "{header}"\n', text=True,
                             capture_output=True, check=False)
        if run.returncode != 0:
            yield f"csrc/include/{os.path.basename(header)} does not compile alone with {' '.join(compiler)}: {run.stderr.strip()}"


def ok_in_one_place(root):
    """A store's outcome becomes OK only by vs_done, so that an outcome without a reply is never OK."""
    for path in walk(root, [os.path.join("csrc", "store")], (".c", ".h")):
        for number, line in enumerate(lines_of(path), 1):
            if re.search(r"outcome\s*=\s*VS_STORE_OK\b", line) and os.path.basename(path) != "reply.c":
                yield f"{os.path.relpath(path, root)}:{number}: set an outcome to OK only by vs_done"


def environment_by_one_door(root):
    homes = ("csrc/os/env.c", "csrc/number/load.c")  # number/ may not use os/, and TZ is a variable of the C library.
    for path in walk(root, ["csrc"], (".c", ".h")):
        for number, line in enumerate(lines_of(path), 1):
            where = os.path.relpath(path, root)
            if re.search(r"(?<![\w.])getenv\(", line) and where not in homes:
                yield f"{where}:{number}: read variables by vs_environment, which treats an empty one as unset"


def pages_true(root):
    """Functions named on pages must exist, because readers search for them."""
    ours = re.compile(r"\bvs_[a-z0-9_]+\b")
    there = {name for path in walk(root, ["csrc", "lua", "spec"], SUFFIXES) for name in ours.findall("\n".join(lines_of(path)))}
    for path in walk(root, ["csrc", "docs", "spec"], ("README", ".md")):
        for number, line in enumerate(lines_of(path), 1):
            yield from (f"{os.path.relpath(path, root)}:{number}: nothing is called {name}" for name in ours.findall(line)
                        if name not in there)


COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
FUNCTION = re.compile(r"^(?!static\b)[a-zA-Z_][\w\s*]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
INLINE = re.compile(r"^static inline\b[\w\s*]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.M | re.S)
ROW = re.compile(r"^[A-Z_]+\(.*", re.M)  # of a table that is included more than once
WORD = re.compile(r"\b[a-z_]\w*\b")


def uses(root, folder):
    """Returns each source file of a folder, with the other files whose functions it uses, directly, by an inline
    function, or by a row of a table that it includes."""
    csrc = os.path.join(root, "csrc")
    texts = {os.path.relpath(path, csrc): COMMENT_OR_TEXT.sub(lambda found: '""' if found[0][0] == '"' else "", "\n".join(lines_of(path)))
             for path in walk(root, [os.path.join("csrc", folder)], (".c", ".h"))}
    home = {name: file for file, text in texts.items() if file.endswith(".c") for name in FUNCTION.findall(text)}
    inline = {name: set(WORD.findall(body)) for text in texts.values() for name, body in INLINE.findall(text)}
    rows = {file: set(WORD.findall(" ".join(ROW.findall(text)))) for file, text in texts.items() if file.endswith(".h")}
    found = {}
    for file in (file for file in texts if file.endswith(".c")):
        words, ahead = set(), set(WORD.findall(texts[file]))
        for line in lines_of(os.path.join(csrc, file)):
            match = INCLUDE.match(line)
            ahead |= rows.get(match[2], set()) if match else set()
        while ahead:
            word = ahead.pop()
            words.add(word)
            ahead |= inline.get(word, set()) - words
        found[file] = sorted({home[word] for word in words if word in home} - {file})
    return found


def circles(root, folder):
    graph, groups = uses(root, folder), set()
    reached = {file: below(graph, file) for file in graph}
    for file in graph:
        groups.add(tuple(sorted({file} | {other for other in reached[file] if file in reached[other]})))
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def circles_small(root):
    for folder in folders(root):
        for group in circles(root, folder):
            if len(group) > CIRCLE_MAX:
                yield f"csrc/{folder}: {len(group)} files use each other in a cycle: {' '.join(group)}"


# The definition of a function, static or not, or of a struct, union or enum with a tag.
DEFINED = re.compile(r"^[a-zA-Z_][\w\s*]*?\b([a-z_]\w*)\([^;{}]*\)\s*\{", re.M)
TAGGED = re.compile(r"\b(?:struct|union|enum)\s+(\w+)\s*\{")
ATTRIBUTE = re.compile(r"__attribute__\(\(.*?\)\)(?!\))\s*", re.S)
SHARED = {"main"}  # a name that each program has


def names_unique(root):
    """Names are unique, so that a profile, a backtrace or a search leads to one function, and a tag has one meaning."""
    places = {}
    for path in walk(root, ["csrc"], (".c", ".h")):
        file = os.path.relpath(path, root)
        text = ATTRIBUTE.sub("", COMMENT_OR_TEXT.sub(" ", "\n".join(lines_of(path))))
        for what, pattern in (("function", DEFINED), ("tag", TAGGED)):
            for name in pattern.findall(text):
                places.setdefault((what, name), set()).add(file)
    for (what, name), files in sorted(places.items()):
        if len(files) > 1 and name not in SHARED:
            yield f"{' '.join(sorted(files))}: each has a {what} called {name}; begin it with the file's or the folder's prefix"


RULES = [
    ("every folder of csrc declares its dependencies", folders_known),
    ("every folder of csrc has its README", folders_explained),
    ("includes point downward", points_downward),
    ("an include names its folder", folder_named),
    ("foreign headers stay in their folders", foreign_at_home),
    ("the folders without I/O include no header for I/O", pure_without_io),
    ("the public headers compile alone as C99 and C++11", header_alone),
    ("a store's outcome becomes OK in one place", ok_in_one_place),
    ("the environment is read in one place", environment_by_one_door),
    ("pages name functions that exist", pages_true),
    ("few files of a folder use each other in a cycle", circles_small),
    ("each function and each tag has a unique name", names_unique),
]


def draw(root):
    graph = edges(root)
    for folder in sorted(graph, key=lambda name: (len(below(graph, name)), name)):
        known = (("-" if any(one in below(graph, other) for other in graph[folder]) else "") + one for one in graph[folder])
        print(f"{folder:<10} > {' '.join(known)}".rstrip(" >"))
    return 0


def draw_circles(root):
    for folder in folders(root):
        for group in circles(root, folder):
            print(f"{folder:<10} {len(group):>3}  {' '.join(group)}")
    return 0


# One planted file per rule, which breaks that rule and no other.
PLANTS = {
    ok_in_one_place: ("csrc/store/mine.c",
                      "void f(struct vs_reply *reply) {\n    assert(reply);\n    reply->outcome = VS_STORE_OK;\n}\n"),
    environment_by_one_door: ("csrc/keeper/home.c", '    return getenv("HOME");\n'),
    folders_known: ("csrc/attic/README", "a\n" * 5),
    folders_explained: ("csrc/attic/CMakeLists.txt", "vesta_folder(attic SOURCES attic.c)\n"),
    points_downward: ("csrc/store/up.c", '#include "keeper/keeper.h"\n'),
    folder_named: ("csrc/id/bare.c", '#include "id.h"\n'),
    foreign_at_home: ("csrc/server/script.c", "#include <lauxlib.h>\n"),
    pure_without_io: ("csrc/lease/clock.c", "#include <time.h>\n"),
    header_alone: ("csrc/include/vesta.h", "int f(size_t n);\n"),
    pages_true: ("docs/design.md", "`vs_gone` was renamed.\n"),
    names_unique: ("csrc/lease/find.c", "__attribute__((noinline)) static struct slot *find(int a,\n    void (*f)(int)) {\n}\n"),
    circles_small: ("csrc/server/ring5.c", "void ring5(void) {\n    ring0();\n}\n"),
}

# Must not be reported as violations.
SOUND = {
    **{f"csrc/{name}/README": "a line\n" * 5 for name in ("id", "keeper", "lease", "server", "store", "main")},
    **{f"csrc/server/ring{i}.c": f"void ring{i}(void) {{\n    ring{i + 1}(); /* ring{i + 2}() */\n}}\n" for i in range(4)},
    "csrc/server/ring4.c": "int ring4(int n) {\n    ring0();\n    return ring5() || \"ring6()\";\n}\n",
    "csrc/id/CMakeLists.txt": "vesta_folder(id SOURCES id.c)\n",
    "csrc/lease/CMakeLists.txt": "vesta_folder(lease KNOWS id SOURCES lease.c)\n",
    "csrc/store/CMakeLists.txt": "vesta_folder(store KNOWS lease\n  SOURCES store.c)\n",
    "csrc/keeper/CMakeLists.txt": "vesta_folder(keeper KNOWS store SOURCES keeper.c)\n",
    "csrc/server/CMakeLists.txt": "vesta_folder(server KNOWS keeper SOURCES server.c)\n",
    "csrc/include/vesta.h": "#ifndef V\n#define V\nint v(void);\n#endif\n",
    "csrc/id/id.h": '#include "vesta.h"\n#include <string.h>\n',
    "csrc/keeper/keeper.h": '#include "store/store.h"\n#include <pthread.h>\n',
    "csrc/store/sqlite/sqlite.c": '#include "id/id.h"\n#include <sqlite3.h>\n',
    "csrc/id/find.c": "static int find(void) {\n}\n",
    "csrc/id/slot.c": "struct slot;\nint take(struct slot *slot);\n/* int find(void) { */\n",
}


def house(folder, planted=None):
    for path, text in list(SOUND.items()) + ([planted] if planted else []):
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return folder


def self_test():
    claims = []
    with tempfile.TemporaryDirectory() as folder:
        wrong = [line for _, rule in RULES for line in rule(house(folder))]
        claims.append(("valid sources have no violation", wrong))
    for name, rule in RULES:
        with tempfile.TemporaryDirectory() as folder:
            house(folder, PLANTS[rule])
            found = {other: list(other(folder)) for _, other in RULES}
            wrong = [] if found.pop(rule) else ["the planted violation was not found"]
            wrong += [line for lines in found.values() for line in lines]
            claims.append((f"a planted violation is found: {name}", wrong))
    return report(claims)


def main(arguments):
    if arguments[:1] == ["--edges"] and len(arguments) == 2:
        return draw(arguments[1])
    if arguments[:1] == ["--circles"] and len(arguments) == 2:
        return draw_circles(arguments[1])
    if len(arguments) != 1:
        sys.exit(__doc__)
    if arguments[0] == "--self-test":
        return self_test()
    return report([(claim, list(rule(arguments[0]))) for claim, rule in RULES])


sys.exit(main(sys.argv[1:]))
