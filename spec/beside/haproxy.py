"""haproxy.py VESTA [WORDS OF A CLAIM] -- examples/haproxy in a real HAProxy with two real servers: all ids are counted,
one server after the other is killed, and clients send ids of their own."""
import os
import re
import subprocess

from hosting import DOCS, EXAMPLES, HOSTILE, Host, adapted, example, found, ids_of, second
from serving import Server, claim, free_port, main, same

HAPROXY = found("haproxy")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def haproxy(world, a_http, a_resp, b_http, b_resp, threads=1, wait_ms=60000):
    """The example with long timeouts: on a busy machine an id may be late, and then a UUID would replace it."""
    port = free_port()
    with open(world.path("vesta.lua"), "w") as file:
        file.write(adapted(example("haproxy", "vesta.lua"), ("WAIT_MS_MAX = 50", "WAIT_MS_MAX = %d" % wait_ms),
                           ("TIMEOUT_S = 2", "TIMEOUT_S = 20"), ("TTL_S = 10", "TTL_S = 60")))
    text = adapted(example("haproxy", "haproxy.cfg"), ("/etc/haproxy/vesta.lua", world.path("vesta.lua")),
                   ("8087", str(free_port())), (":8080", ":%d" % port), (":8089", ":%d" % a_resp), (":8099", ":%d" % b_resp),
                   ("port 8088", "port %d" % a_http), ("port 8098", "port %d" % b_http), ("inter 1s", "inter 100ms"),
                   ("timeout connect 500ms", "timeout connect 10s\n    timeout check 10s"), ("timeout server 3s", "timeout server 60s"),
                   ("\nglobal\n", "\nglobal\n    nbthread %d\n" % threads))
    with open(world.path("haproxy.cfg"), "w") as file:
        file.write(text)
    return Host(world, [HAPROXY, "-db", "-f", world.path("haproxy.cfg")], port=port)


@claim("many concurrent requests get different ids, which are the second server's when the first is killed")
def _(world):
    with Server(world) as a, second(world) as b, haproxy(world, a.http, a.resp, b.http, b.resp, threads=2) as host:
        seen = ids_of(host.crowd(8, 100))
        same({int(name) % 1024 for name in seen}, {5})
        # the log may drop lines
        host.until(lambda: seen & set(re.findall(r'HTTP/1.1" (\d+)$', host.said(), re.M)), "ids in the log")
        a.kill()
        host.until(lambda: int(host.ask()[1]) % 1024 == 6, "an id of the second server")
        assert not seen & ids_of(host.crowd(4, 50))


@claim("without a server each request has a UUID, and the log reports the cause once")
def _(world):
    with haproxy(world, 1, 1, 1, 1, wait_ms=50) as host:
        answers = host.crowd(4, 5)
        assert all(status == 200 and UUID.fullmatch(name) and name == body for status, name, body in answers), answers
        host.until(lambda: "no ids of default from 127.0.0.1" in host.said(), "the reason")
        same(len(re.findall("no ids of default", host.said())), 2)  # HAProxy prints it in the log, and on stderr


@claim("a request's own id is kept if it is valid, and replaced if not")
def _(world):
    with Server(world) as a, haproxy(world, a.http, a.resp, a.http, a.resp) as host:
        for name in ("x", "a-1_.:+/=", "9" * 64):
            same(host.ask(headers={"X-Request-Id": name}), (200, name, name))
        for name in HOSTILE:
            ids_of([host.ask(headers={"X-Request-Id": name.encode("latin-1")})])


@claim("HAProxy accepts the configuration of docs/stores.md, with a CA of this machine")
def _(world):
    with open(os.path.join(DOCS, "stores.md")) as page:
        block = re.search("(?ms)^```haproxy\n(.*?)^```", page.read())[1]
    with open(world.path("zk.cfg"), "w") as file:
        file.write(adapted(block, ("/etc/ssl/zk-ca.pem", "/etc/ssl/certs/ca-certificates.crt"), ("zk1.example:2281", "127.0.0.1:2281"),
                           ("zk2.example:2281", "127.0.0.1:2282")))
    done = subprocess.run([HAPROXY, "-c", "-f", world.path("zk.cfg")], capture_output=True, text=True)
    same((done.returncode, "alert" in done.stderr.lower()), (0, False))


@claim("a missing or invalid setting ends the start with a sentence")
def _(world):
    for told in ("", "orders", "orders 8089", "orders 127.0.0.1:", "or\ders 127.0.0.1:8089", "orders 127.0.0.1:8089 x", "x" * 9000):
        with open(world.path("haproxy.cfg"), "w") as file:
            file.write("global\n    lua-load %s\n" % os.path.join(EXAMPLES, "haproxy", "vesta.lua"))
        done = subprocess.run([HAPROXY, "-c", "-f", world.path("haproxy.cfg")], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, VESTA_IDS=told))
        assert done.returncode != 0 and 'setenv VESTA_IDS "NAME HOST:PORT" is expected, not "' in done.stderr, (told, done.stderr)


main()
