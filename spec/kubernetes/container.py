"""container.py PROGRAM -- the image of scripts/image, run as containers are: with a read-only root, any user, an
arbitrary host name, and as process 1."""
import hashlib
import os
import signal
import subprocess
import sys

from cluster import REPO, Image, Box, enter

if not enter():
    sys.exit(0)

from claims import claim, run  # noqa: E402
from servers import until  # noqa: E402

PROGRAM = os.path.abspath(sys.argv[1])
image = Image(PROGRAM)


def container(env=None, name="3f1c9a", state=True, **kw):
    args = image.config["Entrypoint"] + image.config["Cmd"]
    return Box(image, name, args, env, tmpfs=("/tmp", *(["/var/lib/vesta"] if state else [])), **kw)


def is_ready(box):
    assert box.process.poll() is None, box.log()
    return box.get("/readyz")[0] == 200


def refused(env, *parts, **kw):
    box = container(env, **kw)
    try:
        code = box.wait(200)
        said = box.log()
        assert code in (1, 2) and all(part in said for part in parts), (code, said)
    finally:
        box.kill()


@claim("every blob matches its name and size, the image has one program and no shell, and equal programs give equal "
       "bytes")
def _():
    of = [image.index["manifests"][0], image.manifest["config"], *image.manifest["layers"]]
    for said, path in zip(of, image.blobs):
        with open(path, "rb") as file:
            content = file.read()
        assert (said["size"], said["digest"]) == (len(content), "sha256:" + hashlib.sha256(content).hexdigest()), said
    assert os.listdir(image.root + "/usr/bin") == ["vesta"]
    again = image.tar + ".again"
    subprocess.run([os.path.join(REPO, "scripts", "image"), "--program", PROGRAM, again], check=True, capture_output=True, timeout=500)
    assert subprocess.run(["cmp", image.tar, again]).returncode == 0


@claim("as any user, ids are issued at once, the health check is 0, SIGTERM and SIGINT end it with 0, and writes to "
       "the root fail")
def _():
    boxes = [(container({"VESTA_WORKER": "5"}, uid=uid, gid=uid), number)
             for uid, number in ((65532, signal.SIGTERM), (12345, signal.SIGINT), (0, signal.SIGTERM))]
    try:
        for box, number in boxes:
            until(lambda: is_ready(box), box.log, 200)
            assert box.get("/genid")[1].isdigit()
            checked = box.execute(*image.config["Healthcheck"]["Test"][1:])
            assert (checked.returncode, checked.stdout) == (0, "ok\n"), checked
            assert box.execute("/usr/bin/vesta", "health", "127.0.0.1:1").returncode == 1
            assert os.readlink("/proc/%d/exe" % box.pid).endswith("/usr/bin/vesta")
            made = box.execute("/usr/bin/vesta", "gen", "--path", "/etc/vesta/x.gen")
            assert made.returncode == 1 and "ead-only" in made.stderr, made
            box.send(number)
            assert box.wait(200) == 0, box.log()
    finally:
        for box, _ in boxes:
            box.kill()


@claim("processes left by exec do not remain as zombies of process 1")
def _():
    box = container({"VESTA_WORKER": "5"})
    try:
        until(lambda: is_ready(box), box.log, 200)
        left = subprocess.run(["nsenter", "--target", str(box.pid), "--pid", "sh", "-c", "sleep 0.2 & sleep 0.2 & exit 0"], timeout=200)
        assert left.returncode == 0

        def children():
            with open("/proc/%d/task/%d/children" % (box.pid, box.pid)) as file:
                return file.read().split()
        until(lambda: not children(), lambda: "no children: %s" % children(), 200)
    finally:
        box.kill()


@claim("with an unreachable store, the server is healthy but not ready, and SIGTERM ends it with 0")
def _():
    box = container({"VESTA_STORE": "zk://127.0.0.1:1/vesta", "VESTA_RESP_PASSWORD": "0123456789abcdef"}, state=False)
    try:
        until(lambda: box.get("/healthz")[0] == 200, box.log, 200)
        assert box.get("/readyz")[0] == 503
        box.send(signal.SIGTERM)
        assert box.wait(200) == 0, box.log()
    finally:
        box.kill()


@claim("without a source of worker ids, or a writable state folder, it ends, and the message names the settings")
def _():
    refused({}, "worker", "store", "single_host")
    refused({"VESTA_WORKER": "x"}, "VESTA_WORKER")
    refused({"VESTA_WORKER": "5"}, "/var/lib/vesta", state=False)


NIGHT = """local function on_clock_back(ctx)
  local at = localtime(ctx.now_ms, "Asia/Shanghai")
  return "refuse", ("it is %d:%02d in Shanghai"):format(at.hour, at.min)
end
return { api = 1, on_clock_back = on_clock_back }
"""


@claim("time zones, which policies can read, and certificates are Debian's, and another config can be mounted over "
       "the image's")
def _():
    for path in "/usr/share/zoneinfo/Asia/Shanghai", "/etc/ssl/certs/ca-certificates.crt", "/usr/lib/ssl/cert.pem":
        assert os.path.exists(image.root + path) or os.path.islink(image.root + path), path
    folder = image.folder + "/config"
    os.mkdir(folder)
    os.chmod(folder, 0o755)
    with open(folder + "/vesta.lua", "w") as file:
        file.write('return { namespaces = { orders = { layout = "snowflake", worker = 7 } }, open = true, http = { listen = "0.0.0.0:8088" },'
                   ' resp = { listen = "off" } }')
    with open(folder + "/night.lua", "w") as file:
        file.write(NIGHT)
    box = container(binds={"/etc/vesta": folder})
    try:
        until(lambda: is_ready(box), box.log, 200)
        number = int(box.get("/genid")[1])
        assert number >> 12 & 1023 == 7, number
        asked = box.execute("/usr/bin/vesta", "policy", "run", "on_clock_back", "/etc/vesta/night.lua", "now_ms=1795370400000", "back_ms=200")
        assert "it is 2:00 in Shanghai" in asked.stdout, asked
    finally:
        box.kill()


try:
    code = run("", lambda function: function())
finally:
    image.end()
sys.exit(code)
