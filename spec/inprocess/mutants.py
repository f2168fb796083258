"""mutants.py VESTA BUILD [sample] -- bugs that are planted into copies of the classes, and the claim that must then fail.  With
`sample`, one bug per language.  The classes in Go and Java have no bugs here, because they would have to be compiled."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FILES = {"python": "vesta_ids.py", "php": "VestaIds.php", "ruby": "vesta_ids.rb", "node": "vesta_ids.js"}

# language, words of the claim, bug, (text, replacement)...  The first bug of each language is the sample.
BUGS = [
    ("python", "a forked child", "ids are taken a hundred at a time", (
        "self.next = lambda: take() or wait()",
        "kept = []\n        self.next = lambda: kept.pop(0) if kept else (kept.extend(self.batch(100)), kept.pop(0))[1]")),
    ("python", "after close", "close keeps the handle", ("self._handle.value = self._handle.value, 0", "_ = self._handle.value, 0")),
    ("python", "as long as its object says", "next never waits", ("self._handle, self._wait_ms, answer)\n        if not id",
                                                                "self._handle, 0, answer)\n        if not id")),
    ("python", "not ids", "a text ends at a NUL", ("raw, len(raw))", "raw, len(raw.split(b'\\0')[0]))")),
    ("python", "a pause is", "a pause is an error like others", ('if told["code"] == "pause":', "if False:")),
    ("python", "UUIDs of each shape", "each UUID is a version 7", ("self._handle, shape.encode(), text", "self._handle, b'uuid7', text")),
    ("php", "above 2^63", "a large id of next is negative", ("$id > 0 ? $id : ($id < 0 ? sprintf('%u', $id) : throw", "$id ?: (throw")),
    ("php", "above 2^63", "a large id of a batch is negative", ("$id >= 0 ? $id : sprintf('%u', $id)", "$id")),
    ("php", "after close", "close keeps the handle", ("[$handle, $this->handle] = [$this->handle, 0];", "$handle = $this->handle;")),
    ("ruby", "above 2^63", "ids are signed", ("ID = -Fiddle::TYPE_LONG_LONG", "ID = Fiddle::TYPE_LONG_LONG")),
    ("ruby", "wrong options", "a failed open returns an object", ("raise VestaIds.failure(told) if @handle.zero?", "")),
    ("ruby", "a batch has", "a rejected batch returns ids", ("count.clamp(0, BATCH_MAX)", "[count, 0].max"), ("raise failure(told) unless", "told unless")),
    ("node", "ids ascend", "an id loses its lowest bits", ("return typeof id === 'bigint' ? id : this.#other(id);",
                                                          "return BigInt(Number(id)) || this.#other(id);")),
    ("node", "below 2^53", "a small id is a Number", ("    if (id) return BigInt(id);\n    const told = Buffer.alloc(ANSWER_MAX);\n    const later = takeWait(",
                                                     "    if (id) return id;\n    const told = Buffer.alloc(ANSWER_MAX);\n    const later = takeWait(")),
    ("node", "after close", "close keeps the handle", ("    this.#handle = 0;\n", "")),
    ("node", "a batch has", "a batch of any size is requested", ("if (!Number.isInteger(n) || n < 1 || n > BATCH_MAX) {", "if (false) {")),
]


def planted(language, what, edits):
    """Returns the text of the class with the bug."""
    with open(os.path.join(ROOT, "examples", "inprocess", FILES[language])) as file:
        text = file.read()
    for before, after in edits:
        assert text.count(before) == 1, "%s: %s: %r occurs %d times, not once" % (language, what, before, text.count(before))
        text = text.replace(before, after)
    return text


def survives(vesta, build, language, claim, what, edits):
    """Returns whether the claim passes in spite of the bug, or None if the language is not here."""
    with tempfile.TemporaryDirectory(prefix="vesta-mutant-") as folder:
        for part in ("examples/inprocess", "spec/inprocess", "spec/clients", "spec/support"):
            shutil.copytree(os.path.join(ROOT, part), os.path.join(folder, part), ignore=shutil.ignore_patterns("__pycache__"))
        with open(os.path.join(folder, "examples", "inprocess", FILES[language]), "w") as file:
            file.write(planted(language, what, edits))
        done = subprocess.run([sys.executable, os.path.join(folder, "spec/inprocess/conformance.py"), vesta, build, language, claim], timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "PYTHONPATH": os.path.join(folder, "spec/support")})
        assert done.returncode == 77 or "1 passed, 0 failed" in done.stdout or "0 passed, 1 failed" in done.stdout, done.stdout
        return None if done.returncode == 77 else done.returncode == 0


def main():
    vesta, build = map(os.path.abspath, sys.argv[1:3])
    seen, survivors = set(), 0
    for language, claim, what, *edits in BUGS:
        planted(language, what, edits)
        if sys.argv[3:] == ["sample"] and language in seen:
            continue
        seen.add(language)
        verdict = survives(vesta, build, language, claim, what, edits)
        survivors += bool(verdict)
        print("%s - %s: %s" % ({None: "ok # skip", True: "not ok", False: "ok"}[verdict], language, what), flush=True)
    sys.exit(survivors > 0)


main()
