"""Regression: two log events with the same first words became one line with `repeated=1`, and the rest of the second
one was lost."""
import re
import socket

from serving import SLOW, Server, claim, get, main, same

ROUTES = ("/admin/reload", "/admin/drain", "/admin/log")


@claim("after rejections on three routes at once, the log has each route once, and counts repetitions")
def _(world):
    path, log = world.path("admin.sock"), world.path("log")
    with Server(world, "--admin", "unix:" + path, "--log-file", log, env={"VESTA_ADMIN_TOKEN": "secret"}, quiet=True):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(20 * SLOW)
            sock.connect(path)
            sock.sendall(b"".join(get(route, "Content-Length: 0", method="POST") for route in ROUTES * 2))
            said = b""
            while said.count(b"HTTP/1.1 401 ") < 2 * len(ROUTES):
                part = sock.recv(65536)
                assert part, said
                said += part
    with open(log) as file:
        lines = [line for line in file if "the token is missing or wrong" in line]
    same([re.findall(r" route=(\S+)", line) for line in lines[:3]], [[route] for route in ROUTES])
    same(sum(int(count) for line in lines for count in re.findall(r" repeated=(\d+)", line)), len(ROUTES))


main()
