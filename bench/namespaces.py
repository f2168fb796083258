"""namespaces.py -- the rows about a server with a thousand namespaces, and a process with ten thousand: the time to
open them, the memory of each, idle CPU time, and the cost of an id compared with a server of one namespace."""
import re
import time

import daemons
import net
from inside import printed
from rows import Folder, Made

SERVED, CROWD = 1_000, 10_000
REST_S = 2
READY_S = 120


def config_of(folder, many):
    """Writes a config with snowflake, so that a lease's first ids need not wait for a second. Worker ids are leased, as
    by default: an assigned one is renewed every two seconds, so that its generator need not wait after a kill and a
    restart."""
    config = folder / f"{many}.lua"
    config.write_text("local ns = {} for i = 1, %d do ns[i == 1 and 'default' or 'n' .. i] = { layout = 'snowflake', "
                      "store = 'file:%s/store.%d' } end\nreturn { namespaces = ns }\n" % (many, folder, many))
    return config


def started(turns, folder, many, place):
    address, begun = daemons.tcp(), time.monotonic()
    server = daemons.Server(address, [*place.server, turns.build / "vesta", "serve", "-c", config_of(folder, many), "--http",
                                      "off", "--resp", address], folder / f"{many}.log", {"VESTA_STATE": str(folder / str(many))})
    request = "".join(f"GET {'default' if i == 1 else f'n{i}'}\r\n" for i in range(1, many + 1)).encode()
    left = many
    while left and time.monotonic() - begun < READY_S:
        left = many - answers(server, request, many)
    if left:
        server.__exit__()
        raise RuntimeError(f"{left} of {many} namespaces gave no id in {READY_S} s")
    return server, time.monotonic() - begun


def answers(server, request, many):
    got, lines = b"", 0
    with daemons.dial(server.address) as s:
        s.sendall(request)
        while lines < many:
            data = s.recv(1 << 16)
            if not data:
                break
            got += data
            lines = len(re.findall(rb"^(?:\$\d+\r\n\d+|-.*)\r\n", got, re.M))
    return len(re.findall(rb"^\$\d+\r\n\d+\r\n", got, re.M))


def rest(server, seconds):
    time.sleep(5 * seconds)  # Each lease is renewed once more after its first ids.
    before, began = server.cpu_ns(), time.monotonic_ns()
    time.sleep(seconds)
    return 100 * (server.cpu_ns() - before) / (time.monotonic_ns() - began)


def sample(turns, many, place):
    with Folder() as folder:
        first, one_s = started(turns, folder, 1, place)
        with first:
            server, many_s = started(turns, folder, many, place)
            with server:
                seconds = turns.few(REST_S, 0.2)
                at_rest = rest(server, seconds), rest(first, seconds)
                memory = (server.resident_kib() - first.resident_kib()) / (many - 1)
                cost = [net.redis_benchmark(s, place, 16, turns.seconds, "GET", name)["cpu"]
                        for s, name in ((server, f"n{many}"), (first, "default"))]
    return {"opened": ((many_s - one_s) * 1000 / (many - 1), one_s * 1000), "memory": (memory, 16), "rest": at_rest, "cost": tuple(cost)}


def crowd(turns):
    """The same for generators of one process without a server. It runs once, because it takes half a minute."""
    many = turns.few(CROWD, 100)
    with Folder() as folder:
        [said] = printed(turns, turns.program("crowd"), folder, many, turns.few(REST_S * 1000, 100))
    return Made([{"opened": (said["ms"], 1.0), "memory": (said["kib"], 16.0), "rest": (said["core"], 0.01)}],
                notes={"": f"{many:,} namespaces"})


def rows(turns):
    place, many = daemons.one_core(), turns.few(SERVED, 64)
    return Made([sample(turns, many, place) for _ in range(1 + turns.samples // 7)], notes={"": f"{many:,} namespaces"})
