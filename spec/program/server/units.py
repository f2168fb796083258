"""units.py -- the unit files of examples/systemd."""
import configparser
import os
import re
import signal
import subprocess

from serving import SLOW, VESTA, Server, claim, main, same

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "systemd")


def text_of(name):
    with open(os.path.join(UNITS, name)) as file:
        return file.read()


def plain_build(text):
    """Only for builds without sanitizers, which make their own system calls, and whose leak detection fails under
    strace."""
    return claim(text) if SLOW == 1 else lambda function: function


def unit(name):
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str
    parser.read_string(text_of(name))
    return parser


def verify(world, service):
    """Returns systemd's complaints about the units, with the path of this program."""
    for name, text in (("vesta.service", service.replace("/usr/local/bin/vesta", VESTA)), ("vesta.socket", text_of("vesta.socket"))):
        with open(world.path(name), "w") as file:
            file.write(text)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", world.path("vesta.service"), world.path("vesta.socket")],
                          capture_output=True, text=True, timeout=60)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else "exit code %d" % done.returncode)


@claim("systemd accepts every line of the units, and reports an invalid one")
def _(world):
    same(verify(world, text_of("vesta.service")), "")
    assert "sometimes" in verify(world, text_of("vesta.service").replace("Restart=on-failure", "Restart=sometimes"))


@claim("the sysusers file creates the user of the unit")
def _(world):
    done = subprocess.run(["systemd-sysusers", "--dry-run", "--root=" + world.folder, os.path.abspath(os.path.join(UNITS, "vesta.sysusers"))],
                          capture_output=True, text=True, timeout=60)
    same(done.returncode, 0)
    assert "Creating user 'vesta'" in done.stdout + done.stderr, done.stdout + done.stderr
    same(unit("vesta.service")["Service"]["User"], "vesta")


@plain_build("under the unit's limits, the server makes only system calls that the unit's filter allows")
def _(world):
    service = unit("vesta.service")["Service"]
    same(service["SystemCallFilter"], "@system-service")
    groups = {}
    for line in subprocess.run(["systemd-analyze", "syscall-filter"], capture_output=True, text=True, timeout=60).stdout.splitlines():
        if re.match(r"@[\w-]+", line):
            groups[line.strip()] = group = []
        elif re.fullmatch(r"    [@\w-]+", line):
            group.append(line.strip())

    def members(name):
        return set().union(*map(members, groups[name])) if name.startswith("@") else {name}

    allowed, trace = members("@system-service"), world.path("trace")
    with Server(world, "--threads", "2", wrap=["strace", "-D", "-f", "-qq", "-o", trace], env={"NOTIFY_SOCKET": "/none"}) as server:
        server.tick()
        server.redis("MGET", "default", "default")
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            server.process.send_signal(number)
        server.listen("msg=state")
    with open(trace) as file:
        made = set(re.findall(r"(?m)^\d+ +(\w+)\(", file.read()))
    assert {"socket", "mmap", "epoll_ctl"} <= made, made
    same(sorted(made - allowed), [])


@claim("the unit's sockets are the default addresses, in the order in which the server assigns them")
def _(world):
    listens = re.findall(r"(?m)^ListenStream=(.*)$", text_of("vesta.socket"))
    usage = " ".join(world.run("serve", "--help").out.split())
    assert re.search(r"--http .*default: %s" % re.escape(listens[0]), usage), usage
    assert re.search(r"--resp .*default: %s" % re.escape(listens[1]), usage), usage


main()
