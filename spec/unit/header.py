"""header.py LIBRARY HEADER -- vesta.h is the manual of the library: its first example is extracted, compiled as a user
would (C99, every warning is an error), and run with the built library.  The header is also compiled as C++."""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
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


@claim("vesta.h and VESTA_OPTS_INIT also compile as C++")
def _(folder):
    source = "#include <vesta.h>\nint main() { vesta_opts opts = VESTA_OPTS_INIT; return opts.size != sizeof opts; }\n"
    assert subprocess.run([str(compiled(folder, "first.cc", source, "-std=c++20", "-Wno-missing-field-initializers"))], timeout=60).returncode == 0


def python(folder, source, *args):
    path = folder / "said.py"
    path.write_text(source)
    return subprocess.run([sys.executable, str(path), str(LIBRARY), *args], timeout=60, text=True,
                          env=dict(os.environ, VESTA_STATE=str(folder / "state"), LD_LIBRARY_PATH=str(LIBRARY.parent)),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


EXAMPLES = HEADER.parents[2] / "examples" / "inprocess"  # spec/inprocess tests its classes


@claim("threads of a script have their own lanes, and a lane of another thread is rejected by name: examples/inprocess/lanes.py")
def _(folder):
    shutil.copy(EXAMPLES / "vesta_ids.py", folder)
    done = python(folder, (EXAMPLES / "lanes.py").read_text())
    assert done.stdout == ("ids         4000 by 4 threads, 4000 of them different\n"
                           "refused     this lane is another thread's\n"
                           "refused     a lane's run is 5000 ids, which must be 1 to 4096\n"), done.stdout


FFI_HEADER = LIBRARY.parent / "vesta_ffi.h"  # made by the build
php = shutil.which("php")
if php and "FFI" not in subprocess.run([php, "-m"], stdout=subprocess.PIPE, text=True).stdout:
    php = None


def claim_if(is_here, what):
    """A claim about a language that this machine has."""
    return claim(what) if is_here else lambda function: function


def script(folder, *command):
    return subprocess.run([str(word) for word in command], timeout=60, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, VESTA_STATE=str(folder / "state"), LD_LIBRARY_PATH=str(LIBRARY.parent))).stdout


@claim("vesta_ffi.h declares every function of vesta.h, is C without a preprocessor, and its structs have the same size")
def _(folder):
    text, structs = FFI_HEADER.read_text(), {"opts", "error", "layout", "parts", "pause", "info", "segment_opts"}
    for name in ("vesta.h", "vesta_plain.h", "vesta_segment.h"):
        for function in re.findall(r"^VESTA_API [^(;]*?(\w+)\(", (HEADER.parent / name).read_text(), re.M):
            assert re.search(r"\b%s\(" % function, text), function
    assert re.findall(r"^#.*", text, re.M) == ['#define FFI_SCOPE "vesta"', '#define FFI_LIB "libvesta.so.0"'], text[:200]
    assert "__attribute__" not in text and "VESTA_API" not in text
    sizes = "int main(void) { printf(\"%s\\n\", %s); return 0; }" % (" ".join(["%zu"] * len(structs)),
                                                              ", ".join("sizeof(struct vesta_%s)" % s for s in sorted(structs)))
    said = [subprocess.run([str(compiled(folder, name, "#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n#include \"%s\"\n%s\n" % (header, sizes), "-std=c99"))],
                           stdout=subprocess.PIPE, text=True).stdout for name, header in (("theirs.c", FFI_HEADER), ("ours.c", HEADER))]
    assert said[0] == said[1] and said[0].count(" ") == len(structs) - 1, said


@claim_if(php, "PHP's FFI::load reads vesta_ffi.h")
def _(folder):
    (folder / "load.php").write_text("<?php echo FFI::load('%s')->vesta_code_name(-1);" % FFI_HEADER)
    assert script(folder, php, folder / "load.php") == "pause"


@claim_if(php and os.path.exists("/etc/php") and "Zend OPcache" in script(Path("/nowhere"), php, "-v"), "a web server of PHP's permits FFI in the preloaded class")
def _(folder):
    (folder / "page.php").write_text('<?php $vesta = new VestaIds("namespace=web any_worker=true"); echo $vesta->next();')
    with socket.socket() as room:
        room.bind(("127.0.0.1", 0))
        port = room.getsockname()[1]
    settings = {"ffi.enable": "preload", "opcache.enable_cli": 1, "opcache.preload": EXAMPLES / "VestaIds.php",
                "opcache.preload_user": "root" if os.geteuid() == 0 else ""}
    server = subprocess.Popen([php, *(word for key, value in settings.items() for word in ("-d", "%s=%s" % (key, value))), "-S", "127.0.0.1:%d" % port,
                               str(folder / "page.php")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=dict(os.environ, VESTA_STATE=str(folder / "state"), LD_LIBRARY_PATH=str(LIBRARY.parent)))
    ids, until = [], time.monotonic() + 60
    try:
        while len(ids) < 3:
            try:
                ids.append(urllib.request.urlopen("http://127.0.0.1:%d/" % port, timeout=20).read().decode())
            except ConnectionError:
                assert time.monotonic() < until and server.poll() is None
                time.sleep(0.05)
            except urllib.error.URLError as error:
                assert isinstance(error.reason, ConnectionError) and time.monotonic() < until and server.poll() is None, error
                time.sleep(0.05)
    finally:
        server.terminate()
        server.wait(20)
    assert all(re.fullmatch(r"\d{15,20}", id_) for id_ in ids) and len(set(ids)) == 3, ids


@claim_if((LIBRARY.parents[1] / "store" / "sqlite.so").exists(), "a library that is built but not installed finds its stores")
def _(folder):
    shutil.copy(EXAMPLES / "vesta_ids.py", folder)
    path = folder / "stored.py"
    path.write_text("import vesta_ids\nprint(vesta_ids.open('store=sqlite:%s/ids.db').next())\n" % folder)
    assert re.fullmatch(r"\d{15,20}\n", script(folder, sys.executable, path))


@claim("vesta_lane.h is C and C++, and its example issues two million ids: examples/c/lanes.c")
def _(folder):
    source = (HEADER.parents[2] / "examples" / "c" / "lanes.c").read_text()
    program = compiled(folder, "lanes.c", source, "-std=c99", "-pthread")
    done = subprocess.run([str(program)], env=dict(os.environ, VESTA_STATE=str(folder / "state")), timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert (done.returncode, done.stdout) == (0, "2000000 ids by 2 threads, each thread's ascending\n"), done.stdout
    again = "#include <vesta_lane.h>\nint main() { return sizeof(&vesta_lane_next) == 0; }\n"
    assert subprocess.run([str(compiled(folder, "again.cc", again, "-std=c++11"))], timeout=60).returncode == 0


TEXTS = [  # options, and the error or None
    ("layout='snowflake epoch=2020-01-01T00:00:00Z' any_worker=true namespace=a", None),
    (' layout="snowflake"\n\tworker=3\tlease=local pacing=history group=\'\' ', "there is no group ''"),
    ("worker=7 unsafe_private=true fields='' namespace=b", None),
    ("worker", "'worker' is not an option: write NAME=VALUE"),
    ("=7", "is not an option: write NAME=VALUE"),
    ("layout='snowflake worker=1", "layout begins with a quote that does not end its value"),
    ("layout='snowflake'worker=1", "layout begins with a quote that does not end its value"),
    ("worker=x", "worker is 'x', which must be a whole number from 0 to 9007199254740991"),
    ("worker=9007199254740992", "worker is 9007199254740992, which must be a whole number from 0 to"),
    ("ahead_ms_max=86400001", "ahead_ms_max is 86400001, which must be"),
    ("pacing=fast", "pacing is 'fast', which must be one of clock|history"),
    ("any_worker=1", "any_worker is '1', which must be true or false"),
    ("lease=lax", "there is no lease 'lax'"),
    ("secret=hush pasword=hush", "pasword is not an option"),
    ("", "To create it, set worker, any_worker or store"),
]


@claim("a text of options is read, and errors in it do not contain its secret")
def _(folder):
    shutil.copy(EXAMPLES / "vesta_ids.py", folder)
    ask = """
import sys
import vesta_ids
for options in sys.argv[2:]:
    try:
        vesta_ids.open(options).close()
        print("opened")
    except vesta_ids.Error as error:
        print(error)
"""
    said = python(folder, ask, *(options for options, _ in TEXTS)).stdout.splitlines()
    assert len(said) == len(TEXTS), said
    for (options, refusal), line in zip(TEXTS, said):
        assert (refusal or "opened") in line and "hush" not in line, (options, line)


def in_folder(test):
    with tempfile.TemporaryDirectory(prefix="vesta-header-") as folder:
        test(Path(folder))


sys.exit(run("", in_folder))
