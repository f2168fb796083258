"""gen.py -- `vesta gen`."""
import json
import os
import random
import re
import signal
import struct
import subprocess
import time

from harness import SLOW, VESTA, claim, cpu_s, environment, fails, like, main, same, vesta_for_others

GEN = "state/default.gen"


def unique(w, *paths):
    result = w.run("audit", "--json", *paths)
    got = json.loads(result.out)
    same((result.code, got["duplicates"], got["unreadable"]), (0, 0, 0))
    return got["total"]


def as_nobody(w, *args, env=None):
    """Runs vesta as an unprivileged user, or as the current user if the tests do not run as root."""
    os.chmod(w.folder, 0o755)
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*who, vesta_for_others(), *args], capture_output=True, timeout=60, cwd=w.folder, env=environment(w.folder, **(env or {})))
    return type("R", (), {"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()})


def patch(path, offset, data):
    with open(path, "r+b") as f:
        f.seek(offset)
        f.write(data)


@claim("the first gen on a machine draws a worker id, prints it once and keeps it")
def _(w):
    first = w.run("gen")
    same(first.code, 0)
    like(first.err, "vesta gen: drew worker id ... at random and stored it in file:%s\n" % w.path("state"))
    worker = int(first.err.split("worker id ")[1].split()[0])
    second = w.run("gen")
    same((second.code, second.err), (0, ""))
    for line in (first.out, second.out):
        got = json.loads(w.run("explain", "--json", line.strip()).out)
        same((got["machine"], got["method"]), (worker, 2))
        assert abs(got["unix_ms"] / 1000 - time.time()) < 10, got
    assert int(second.out) > int(first.out)


@claim("gen --worker claims exactly that worker id, and prints no message")
def _(w):
    result = w.run("gen", "--worker", "7", "--layout", "snowflake", "-n", "3")
    same((result.code, result.err, len(result.lines())), (0, "", 3))
    same({json.loads(line)["worker"] for line in w.run("explain", "--json", "--layout", "snowflake", *result.lines()).lines()}, {7})


@claim("ids in hex, base32, base62 and JSON can be read back")
def _(w):
    for form, length in (("hex", 16), ("base32", 13), ("base62", 11)):
        line = w.run("gen", "--format", form).out.strip()
        same(len(line), length)
        same(w.run("explain", "--format", form, line).code, 0)
    ids = [json.loads(line)["id"] for line in w.run("gen", "-n", "2", "--json").lines()]
    assert ids[0] < ids[1] and all(i.isdigit() for i in ids)


@claim("an invalid count is rejected with 2 and its value, and creates nothing")
def _(w):
    for n in ("0", "-1", "+1", "1.5", "1e3", "0x10", "1;2", "9223372036854775808", "18446744073709551616", "1000000000001", "١", "1 ", "all"):
        fails(w.run("gen", "-n", n), 2, '"%s"' % n if n.isascii() else "--count", "1 to 1000000000000")
    fails(w.run("gen", "-n", ""), 2, "--count is \"\"")
    fails(w.run("gen", "-n"), 2, "--count needs a value")
    fails(w.run("gen", "5"), 2, 'unexpected operand "5"', "-n N")
    fails(w.run("gen", "--wait-ms", "-1"), 2, '"-1"')
    assert not os.path.exists(w.path("state"))


@claim("invalid options are rejected with 2, and create nothing")
def _(w):
    fails(w.run("gen", "--layout", "nope"), 2, "no preset 'nope'")
    fails(w.run("gen", "--worker", "x"), 2, '"x"')
    fails(w.run("gen", "--worker", "1024"), 2, "1024", "1023")
    fails(w.run("gen", "--worker", "18446744073709551616"), 2, '"18446744073709551616"')
    fails(w.run("gen", "--namespace", "../x"), 2, "../x")
    fails(w.run("gen", "--namespace", "' OR 1=1 --"), 2, "OR")
    fails(w.run("gen", "--namespace", "n" * 65), 2, "n" * 40)
    fails(w.run("gen", "--store", "mysql://x"), 2, "mysql")
    fails(w.run("gen", "--fields", "method=4", "--worker", "1"), 2, "method", "4")
    fails(w.run("gen", "--fields", "color=4", "--worker", "1"), 2, "color")
    fails(w.run("gen", "--method", "4", "--worker", "1"), 2, "method cannot be 4: its maximum is 3")
    fails(w.run("gen", "--method", "rest", "--worker", "1"), 2, "method is 'rest', which must be a number or by_protocol")
    fails(w.run("gen", "--method", "1", "--worker", "1", "--layout", "snowflake"), 2, "no field 'method'")
    fails(w.run("gen", "--method", "1", "--worker", "1", "--layout", "vesta-second method:2=3"), 2, "method")
    fails(w.run("gen", "--method", "1", "--fields", "method=1", "--worker", "1"), 2, "method is given twice")
    fails(w.run("gen", "--pacing", "slow"), 2, '"slow"', "clock|history")
    fails(w.run("gen", "--ahead-ms", "x"), 2, '"x"')
    fails(w.run("gen", "--path", w.path("folder") + "/"), 2, "folder")
    fails(w.run("gen", "--layout", "uid", "--worker", "1"), 1, "2024-11-20T13:24:16Z", "epoch_end")
    made = [name for _, _, names in os.walk(w.folder) for name in names]
    same(made, [])


@claim("an idle generator issues odd and even ids if the preset's original spreads them, also with an older file")
def _(w):
    for preset in ("leaf", "shardingsphere", "tsid", "cosid", "discord"):
        same(w.run("gen", "--layout", preset + " seq_start=spread:1", "--namespace", preset).code, 0)
        ids = [int(w.run("gen", "--layout", preset, "--namespace", preset).out) for _ in range(30)]
        assert len(set(i % 2 for i in ids)) == 2, (preset, ids)
        assert ids == sorted(set(ids)), (preset, ids)


@claim("options that differ from the generator file end with 1, and the message names both values")
def _(w):
    same(w.run("gen", "--worker", "7").code, 0)
    fails(w.run("gen", "--worker", "8"), 1, "worker", "7", "8", "mismatch")
    fails(w.run("gen", "--layout", "snowflake", "--namespace", "default"), 1,
          "default.gen was created with layout vesta-second, not snowflake. To use both, give the second one a namespace of its own. ", "mismatch")
    fails(w.run("gen", "--layout", "vesta-milli seq_start=spread:1", "--path", w.path("state", "default.gen")), 1, "a namespace and a path of its own", "mismatch")
    fails(w.run("gen", "--pacing", "history"), 1, "clock", "history", "mismatch")
    same(w.run("gen", "--worker", "7", "--layout", "vesta-second", "--pacing", "clock").code, 0)


@claim("a layout that differs from the default namespace's gets its own namespace")
def _(w):
    def gen(*words):
        done = w.run("gen", *words)
        same((words, done.code), (words, 0))
        return done
    gen()
    first, second = gen("--layout", "snowflake"), gen("--layout", "snowflake", "-n", "2")
    note = "vesta gen: the namespace default has layout vesta-second, so this uses the namespace snowflake\n"
    assert first.err.startswith(note), first.err
    same(second.err, note)
    worker = lambda text: json.loads(w.run("explain", "--json", "--layout", "snowflake", text).out)["worker"]
    # Both calls use one lease.
    same({worker(line) for line in first.lines() + second.lines()}, {worker(first.lines()[0])})
    ids = [int(line) for done in (first, second) for line in done.lines()]
    same((ids, len(set(ids))), (sorted(ids), 3))
    leaf = gen("--layout", "leaf").err  # The sequence starts differently, so ids could collide with those of snowflake.
    same(leaf, note)
    own = gen("--layout", "sign:1=0 time:41 worker:8 seq:14 unit=1ms epoch=2026-01-01T00:00:00Z").err
    assert re.search(r"this uses the namespace layout-[0-9a-f]{16}\n", own), own
    same(gen("--layout", "vesta-second", "--pacing", "clock").err, "")
    same(gen("--layout", "vesta-second method:2=2").err, "")  # Its ids have the layout of the default namespace.
    fails(w.run("gen", "--layout", "vesta-second", "--pacing", "history"), 1, "was created with pacing clock, not history", "mismatch")
    shown = [json.loads(line) for line in gen("--layout", "snowflake", "--effective", "--json").lines()]
    same([row["value"] for row in shown if row["key"] == "namespace"], ["snowflake"])
    for preset in map(json.loads, w.run("layout", "--json").lines()):
        if preset["issue"] and preset["name"] != "uid":
            gen("--layout", preset["name"])


@claim("the default namespace keeps its layout without its generator file, and the first layout becomes the default's")
def _(w):
    same(w.run("gen", "--layout", "snowflake").err.count("namespace"), 0)
    os.unlink(w.path("state", "default.gen"))
    same(w.run("gen", "--layout", "leaf").err.count("the namespace default has"), 0)
    os.unlink(w.path("state", "default.gen"))
    assert w.run("gen", "--layout", "uid epoch=2026-01-01T00:00:00Z").err.startswith("vesta gen: the namespace default has layout snowflake, so this uses the namespace "), w
    fails(w.run("gen", "--layout", "uid epoch=2026-01-01T00:00:00Z", "--namespace", "default"), 1,
          "namespace default was created with layout snowflake, not sign:1=0 time:28", "Use another namespace", "mismatch")
    fails(w.run("gen", "--layout", "vesta-milli", "--store", "file:" + w.path("state")), 1, "namespace default was created with layout snowflake", "mismatch")
    fails(w.run("gen", "--layout", "vesta-milli", env={"VESTA_NAMESPACE": "default"}), 1, "snowflake", "mismatch")


@claim("a million ids contain no duplicates, and take at most two seconds of CPU including the audit")
def _(w):
    w.run("gen")
    start = cpu_s()
    result = w.shell('set -o pipefail; "$vesta" gen -n 1000000 | "$vesta" audit')
    same((result.code, result.out.split()), (0, ["total", "1,000,000", "distinct", "1,000,000", "duplicates", "0"]))
    assert cpu_s() - start < 2 * SLOW, cpu_s() - start


@claim("eight processes share a pipe without broken lines or duplicates")
def _(w):
    result = w.shell('for i in 1 2 3 4 5 6 7 8; do "$vesta" gen -n 100000 & done | "$vesta" audit --layout vesta-second')
    same(result.code, 0)
    assert result.out.startswith("total               800,000\ndistinct            800,000\nduplicates                0\nforeign                   0\n"), result.out
    same(result.err.count("drew"), 1)


@claim("a hundred processes in sequence take a second of CPU")
def _(w):
    w.run("gen")
    start = cpu_s()
    result = w.shell('for i in $(seq 100); do "$vesta" gen || exit; done >ids')
    same((result.code, result.err), (0, ""))
    assert cpu_s() - start < 1.5 * SLOW, cpu_s() - start
    same(unique(w, "ids"), 100)


@claim("the joined outputs of sixty processes, killed at random moments, contain whole lines and no duplicates")
def _(w):
    draw = random.Random(9)
    w.run("gen", "-n", "1")
    total = 0
    for batch in range(6):
        files = [w.path("%d-%d" % (batch, i)) for i in range(10)]
        forms = ('exec "$vesta" gen -n 1000000000 > >(cat >"$file")', 'exec "$vesta" gen -n 1000000000 >"$file"')
        running = [subprocess.Popen(["bash", "-c", forms[i % 2]], cwd=w.folder, stderr=subprocess.DEVNULL,
                                    env=environment(w.folder, vesta=VESTA, file=file)) for i, file in enumerate(files)]
        for process in draw.sample(running, len(running)):
            time.sleep(draw.random() * 0.03 * SLOW)
            process.send_signal(signal.SIGKILL)
        for process in running:
            process.wait()
    time.sleep(0.3)  # The readers of the pipes end by themselves.
    total = unique(w, *(name for name in os.listdir(w.folder) if "-" in name))
    assert total > 100000 // SLOW, total


@claim("a copied generator file is the same generator, with one worker id and no duplicates")
def _(w):
    w.run("gen", "-n", "1000")
    w.shell("cp %s copy.gen" % GEN)
    result = w.shell('"$vesta" gen -n 200000 >a & "$vesta" gen -n 200000 --path copy.gen >b; wait')
    same(result.code, 0)
    same(unique(w, "a", "b"), 400000)
    w.run("gen", "--namespace", "hand", "--worker", "3", "--path", "hand.gen")
    w.shell("cp hand.gen hand2.gen")
    result = w.shell('"$vesta" gen -n 200000 --path hand.gen >c & "$vesta" gen -n 200000 --path hand2.gen >d; wait')
    same(result.code, 0)
    same(unique(w, "c", "d"), 400000)


@claim("two namespaces have separate generators")
def _(w):
    for name in ("a", "b"):
        same(w.run("gen", "--namespace", name, "--worker", "1").code, 0)
    assert {"a.gen", "b.gen"} <= set(os.listdir(w.path("state")))


@claim("gen ends quietly with 0 when its reader closes the pipe")
def _(w):
    w.run("gen")
    result = w.shell('"$vesta" gen -n 1000000000 | head -1; exit ${PIPESTATUS[0]}')
    same((result.code, result.err, len(result.lines())), (0, "", 1))


@claim("gen ends with 1 and a message if the disk is full or stdout is closed")
def _(w):
    w.run("gen")
    fails(w.shell('"$vesta" gen -n 1000000000 >/dev/full'), 1, "cannot write the output: No space left on device")
    fails(w.shell('"$vesta" gen -n 1000000000 >&-'), 1, "cannot write the output: Bad file descriptor")
    fails(w.shell('"$vesta" gen --path new.gen --worker 5 --namespace new >&- <&-'), 1, "cannot write the output")
    same(w.run("gen", "--path", "new.gen").code, 0)


@claim("a relative VESTA_STATE is rejected if leases would be stored there")
def _(w):
    for command in (["gen"], ["serve", "--http", "unix:" + w.path("h"), "--resp", "off"]):
        fails(w.run(*command, env={"VESTA_STATE": "state"}), 2, "VESTA_STATE is 'state': set it to a path that begins with /")
    same(w.run("gen", "--store", "sqlite:" + w.path("v.db"), env={"VESTA_STATE": "state"}).code, 0)


@claim("a state folder on a full disk ends gen with 1 and a message")
def _(w):
    if os.geteuid() != 0:
        return
    os.mkdir(w.path("disk"))
    if w.shell("mount -t tmpfs -o size=64k none disk").code:
        return
    try:
        w.shell("cat /dev/zero >disk/all")
        fails(w.run("gen", env={"VESTA_STATE": w.path("disk/state")}), 1, "No space left on device")
    finally:
        w.shell("umount disk")


@claim("gen creates the state folder, or ends with 1 and the reason")
def _(w):
    same(w.run("gen", env={"VESTA_STATE": w.path("a/b/c")}).code, 0)
    assert os.path.isfile(w.path("a/b/c/default.gen"))
    open(w.path("file"), "w").close()
    fails(w.run("gen", env={"VESTA_STATE": w.path("file/state")}), 1, "file/state", "Not a directory")
    fails(w.run("gen", env={"VESTA_STATE": "/proc/none/state"}), 1, "/proc/none", "No such file")


@claim("a state folder without permission ends gen with 1 and its path")
def _(w):
    w.run("gen")
    os.chmod(w.path("state"), 0o500)
    fails(as_nobody(w, "gen", "--namespace", "other"), 1, "Permission denied", "state")


@claim("a generator file without permission ends gen with 1 and its path")
def _(w):
    w.run("gen")
    os.chmod(w.path("state"), 0o755)
    if os.geteuid() != 0:
        os.chmod(w.path(GEN), 0)
    fails(as_nobody(w, "gen"), 1, "Permission denied", "default.gen")


@claim("a generator file that is empty, truncated, foreign or of a newer version ends gen with 1, and is left "
       "unchanged")
def _(w):
    w.run("gen")
    whole = open(w.path(GEN), "rb").read()
    newer = bytearray(whole)
    newer[8:12] = struct.pack("I", struct.unpack("I", newer[8:12])[0] + 1)
    for name, data, part in (("empty", b"", "empty.gen"), ("short", whole[:100], "short.gen"), ("truncated", whole[:-4096], "truncated.gen"),
                             ("foreign", os.urandom(len(whole)), "foreign.gen"), ("newer", bytes(newer), "newer.gen"), ("text", b"hello\n", "text.gen")):
        path = w.path(name + ".gen")
        open(path, "wb").write(data)
        fails(w.run("gen", "--path", path), 1, part)
        same(open(path, "rb").read(), data)
    fails(w.run("gen", "--path", w.path("newer.gen")), 1, "a newer vesta made it")
    os.mkdir(w.path("folder.gen"))
    fails(w.run("gen", "--path", w.path("folder.gen")), 1, "folder.gen")
    fails(w.run("gen", "--path", "/dev/null"), 1, "/dev/null")
    os.mkfifo(w.path("fifo.gen"))
    fails(w.run("gen", "--path", w.path("fifo.gen"), timeout=10), 1, "fifo.gen")


@claim("if the generator file is deleted while open, its process continues, a new process gets another worker id, and "
       "no id is duplicated")
def _(w):
    w.run("gen")
    old = w.start("gen", "-n", "300000", stdout=open(w.path("old"), "wb"))
    time.sleep(0.05)
    os.unlink(w.path(GEN))
    new = w.run("gen", "-n", "300000")
    same((old.wait(), new.code), (0, 0))
    open(w.path("new"), "w").write(new.out)
    same(unique(w, "old", "new"), 600000)


@claim("on a terminal, a waiting gen shows its progress and the remaining time, but not in a pipe")
def _(w):
    # 16 ids per second
    words = '"$vesta" gen -n 80 --worker 1 --layout "time:41 worker:18 seq:4 unit=1s epoch=2026-01-01T00:00:00Z"'
    ours, terminal = os.openpty()
    same(w.shell("%s >/dev/null 2>/dev/fd/%d" % (words, terminal), pass_fds=[terminal]).code, 0)
    said = os.read(ours, 65536).decode()
    os.close(ours)
    os.close(terminal)
    assert re.match(r"vesta gen: \d+ % of 80 ids, \d+ \w+ left\r\x1b\[K", said) and said.endswith("\r\x1b[K"), said
    quiet = w.shell(words + " | tail -n 1")
    same((quiet.code, quiet.err), (0, ""))


@claim("a generator file that never got a lease, left over from a wrong store address, is reported with advice")
def _(w):
    path = w.path("orders.gen")
    fails(w.run("gen", "--path", path, "--store", "zk://127.0.0.1:1/vesta", "--wait-ms", "0"), 1, "lease")
    fails(w.run("gen", "--path", path, "--store", "zk://127.0.0.1:2/vesta?acl=open", "--wait-ms", "0"), 1,
          "no store has granted it a lease", "delete it, and start again")


main()
