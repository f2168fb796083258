"""header.py LIBRARY HEADER -- vesta.h is the manual of the library: its first example is extracted, compiled as a user
would (C99, every warning an error), and run against the library that was built; as C++ the header is read, too."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from claims import claim, run

LIBRARY, HEADER = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()


def first_example():
    lines = HEADER.read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(" *     "))
    taken = []
    for line in lines[begin:]:
        if line.rstrip() != " *" and not line.startswith(" *     "):
            break
        taken.append(line[7:])
    return "\n".join(taken) + "\n"


def compiled(folder, name, source, *flags):
    path = folder / name
    path.write_text(source)
    compiler = os.environ.get("CXX", "c++") if name.endswith(".cc") else os.environ.get("CC", "cc")
    done = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-pedantic", "-I", str(HEADER.parent), *flags,
                           str(path), str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}", "-o", str(path.with_suffix(""))],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout
    return path.with_suffix("")


@claim("the first example of vesta.h compiles without a warning, and prints an id")
def _(folder):
    source = first_example()
    assert "int main(void)" in source, source
    program = compiled(folder, "first.c", source, "-std=c99")
    done = subprocess.run([str(program)], env=dict(os.environ, VESTA_STATE=str(folder / "state")), timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0 and re.fullmatch(r"\d{15,20}\n", done.stdout), (done.returncode, done.stdout)


@claim("vesta.h is C++, too, VESTA_OPTS_INIT with it")
def _(folder):
    source = "#include <vesta.h>\nint main() { vesta_opts opts = VESTA_OPTS_INIT; return opts.size != sizeof opts; }\n"
    assert subprocess.run([str(compiled(folder, "first.cc", source, "-std=c++20", "-Wno-missing-field-initializers"))], timeout=60).returncode == 0


def in_folder(test):
    with tempfile.TemporaryDirectory(prefix="vesta-header-") as folder:
        test(Path(folder))


sys.exit(run("", in_folder))
