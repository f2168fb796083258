#!/usr/bin/env python3
"""atomics.py [ROOT | --list ROOT | --self-test ROOT] -- checks every explicit memory order of csrc and its partner
against a list.

No test on x86 detects an order that is too weak: every load acquires and every store releases there, whatever the
source says, and ThreadSanitizer and counting tests see what the machine does. Therefore atomics.txt lists each access
of csrc with an explicit order, by variable, with the function that it pairs with. This program compares the list with
the source.

    atomics.py ROOT              reports accesses that differ from the list, and partners that do not pair
    atomics.py --list ROOT       prints the accesses in the source, for the list
    atomics.py --self-test ROOT  weakens each order of csrc in turn to relaxed, and checks that it is detected

An access without an explicit order is sequentially consistent, the strongest order, and needs no line.
"""
import collections
import functools
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from claims import report  # noqa: E402

TABLE = "spec/includes/atomics.txt"
CALL = re.compile(r"\batomic_(load|store|exchange|compare_exchange_weak|compare_exchange_strong|fetch_\w+?)(_explicit)?\s*\("
                  r"|\bvs_raise_[ui]64\s*\(")
STRAY = re.compile(r"\b(memory_order_\w+|__atomic_\w+|__sync_\w+|atomic_thread_fence|atomic_flag\w*|asm)\b")
TAKES = {"acquire", "acq_rel", "seq_cst"}
GIVES = {"release", "acq_rel", "seq_cst"}

Access = collections.namedtuple("Access", "word file function operation order")
Line = collections.namedtuple("Line", "access partners why number")


# ------------------------------------------------------------------ the source

def blanked(text):
    comment, string, letter = r"/\*.*?\*/|//[^\n]*", r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
    line = r"^[ \t]*#(?:\\\n|[^\n])*"
    pattern = re.compile("|".join((comment, string, letter, line)), re.S | re.M)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def arguments(text, at):
    """Returns the arguments of the call whose parenthesis opens before `at`, and its end."""
    depth, begun, found = 1, at, []
    while depth:
        letter = text[at]
        depth += letter in "([{"
        depth -= letter in ")]}"
        if depth == 0 or (depth == 1 and letter == ","):
            found.append(text[begun:at].strip())
            begun = at + 1
        at += 1
    return found, at


def word_of(pointer):
    """Returns the member or variable that a pointer points to: &map->slot[i].tick is tick."""
    while "[" in pointer:
        pointer = re.sub(r"\[[^\[\]]*\]", "", pointer)
    names = re.findall(r"\w+", re.sub(r"\([^()]*\*+\)", "", pointer))
    return names[-1] if names else pointer


def blocks(text):
    """Yields (begin, end, name) of each outermost block that is a function's body."""
    depth, head, begun = 0, 0, 0
    for at, letter in enumerate(text):
        if letter == "{":
            if depth == 0:
                begun = at
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                name = re.search(r"\b(?!__attribute__)(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*$", text[head:begun])
                yield begun, at, name[1] if name else "-"
                head = at + 1
        elif letter == ";" and depth == 0:
            head = at + 1


@functools.lru_cache(maxsize=None)
def accesses_of(file, source):
    """Returns (access or None, offset, sentence) for each access with an order, and for code that hides one."""
    return list(read_accesses(file, blanked(source)))


def read_accesses(file, text):
    functions, seen = list(blocks(text)), []
    for match in CALL.finditer(text):
        args, end = arguments(text, match.end())
        name = next((name for begun, until, name in functions if begun < match.start() < until), None)
        if name is None:
            continue # a declaration or the helper's own head
        raises = match[0].startswith("vs_raise")
        seen.append((match.start(), end))
        orders = re.findall(r"memory_order_(\w+)", " ".join(args[1:]))
        if raises:
            yield Access(word_of(args[0]), file, name, "raise", "acq_rel"), match.start(), ""
        elif match[2]:
            operation = match[1].replace("compare_exchange_weak", "cas").replace("compare_exchange_strong", "cas")
            yield Access(word_of(args[0]), file, name, operation, "/".join(orders)), match.start(), ""
        if bool(match[2]) != bool(orders):
            yield None, match.start(), f"{match[0].strip('(')} names no order, or an order that it does not take"
    for match in STRAY.finditer(text):
        if not any(begun <= match.start() < end for begun, end in seen):
            yield None, match.start(), f"{match[0]} stands outside an atomic access that this can read"


def sources(root):
    csrc = os.path.join(root, "csrc")
    for folder, folders, files in os.walk(csrc):
        folders.sort()
        for name in sorted(files):
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, csrc), file.read()


# ------------------------------------------------------------------ the list

def read_table(root):
    """Reads lines of: function  file  operation  order  partners: why. A line of one word begins the section of that
    variable."""
    lines, word = [], ""
    with open(os.path.join(root, TABLE), encoding="utf-8") as file:
        for number, text in enumerate(file, 1):
            text = text.split("#")[0].rstrip()
            if not text:
                continue
            if not text.startswith(" "):
                word = text
                continue
            function, path, operation, order, rest = (text.split(None, 4) + [""] * 5)[:5]
            partners, _, why = rest.rpartition(":") if order != "relaxed" else ("", "", rest)
            access = Access(word, path, function, operation, order)
            lines.append(Line(access, re.split(r",\s*", partners.strip()), why.strip(), number))
    return lines


def show(access):
    return f"csrc/{access.file}: {access.function}: {access.operation} of {access.word}, {access.order}"


def unlisted(lines, found):
    listed = collections.Counter(line.access for line in lines)
    for access, count in sorted((found - listed).items()):
        yield f"{show(access)}: not in {TABLE}" + (f" often enough ({count} more)" if count > 1 else "")
    for access, count in sorted((listed - found).items()):
        yield f"{TABLE} lists an access that does not exist: {show(access)}" + (f" ({count} times)" if count > 1 else "")


def partners_of(line, lines, texts):
    """Returns the orders with which each partner accesses the variable. A partner without an order is sequentially
    consistent."""
    for partner in line.partners:
        name, _, word = partner.partition("@")
        word = word or line.access.word
        orders = {other.access.order.split("/")[0] for other in lines
                  if other.access.function == name and other.access.word == word}
        if not orders and is_plain(name, word, texts):
            orders = {"seq_cst"}
        yield partner, orders


def is_plain(function, word, texts):
    access = re.compile(r"\batomic_\w+\s*\([^;]*\b" + re.escape(word) + r"\b")
    return any(name == function and access.search(text[begun:until])
               for text in texts for begun, until, name in blocks(text))


def unpaired(lines, texts):
    for line in lines:
        order = line.access.order.split("/")[0]
        where = f"{TABLE}:{line.number}: {line.access.function}"
        if not line.why:
            yield f"{where} has no reason for {order}"
        if order == "relaxed":
            continue
        wanted = GIVES if order == "acquire" else TAKES if order == "release" else TAKES | GIVES
        for name, orders in partners_of(line, lines, texts):
            if not orders & wanted:
                yield f"{where}: {order} of {line.access.word}, and {name or 'no partner'} has no order that pairs with it"


def judge(root, files):
    """Returns every error in these files, given as {path: source}."""
    lines, found, wrong = read_table(root), collections.Counter(), []
    for file, source in files.items():
        for access, at, sentence in accesses_of(file, source):
            if access is None:
                wrong.append(f"csrc/{file}:{source.count(chr(10), 0, at) + 1}: {sentence}")
            else:
                found[access] += 1
    return wrong + list(unlisted(lines, found)), lines, found


# ------------------------------------------------------------------ the commands

def check(root):
    files = dict(sources(root))
    wrong, lines, found = judge(root, files)
    pairs = list(unpaired(lines, [blanked(text) for text in files.values()]))
    claims = [(f"each of {sum(found.values())} accesses with an order is listed in {TABLE} as it is in the source", wrong),
              ("each listed order pairs with its partner's, and has a reason", pairs)]
    return report(claims)


def weakened(files):
    """Yields (place, files) with one order weakened to relaxed, for each stronger order. Only the list can detect such
    a change."""
    for path, source in files.items():
        for match in re.finditer(r"memory_order_(acquire|release|acq_rel)\b", source):
            changed = source[:match.start()] + "memory_order_relaxed" + source[match.end():]
            yield f"csrc/{path}:{source.count(chr(10), 0, match.start()) + 1}: {match[1]}", dict(files, **{path: changed})


def self_test(root):
    files, missed, tried = dict(sources(root)), [], 0
    sound = judge(root, files)[0]
    for where, changed in weakened(files):
        tried += 1
        if judge(root, changed)[0] == sound:
            missed.append(where + " made relaxed is not found")
    plants = [(what, dict(files, **{"generator/odd.c": f"void f(void) {{ {code}; }}\n"})) for what, code in (
        ("a compiler's builtin", "__atomic_store_n(&w, 1, __ATOMIC_RELAXED)"),
        ("an order outside an access", "order = memory_order_relaxed"),
        ("a new access", "atomic_store_explicit(&s->tick, 1, memory_order_release)"))]
    plants.append(("an access less", {path: text for path, text in files.items() if path != "generator/slot.c"}))
    claims = [(f"each of {tried} orders made relaxed is found", missed if tried else ["there is none"])]
    claims += [(f"{name} is found", [] if len(judge(root, changed)[0]) > len(sound) else ["it is not"]) for name, changed in plants]
    return report(claims)


def show_all(root):
    found = collections.Counter()
    for file, source in sources(root):
        found.update(access for access, _, _ in accesses_of(file, source) if access)
    word = None
    for access in sorted(found.elements()):
        if access.word != word:
            word = access.word
            print(f"\n{word}")
        print(f"    {access.function:<20} {access.file:<18} {access.operation:<9} {access.order}")
    return 0


def main(args):
    if len(args) == 1:
        return check(args[0])
    if len(args) == 2 and args[0] in ("--list", "--self-test"):
        return (show_all if args[0] == "--list" else self_test)(args[1])
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
