"""Regression: stock Redis clients do not retry TRYAGAIN, and a request waited only 0.1 s by default. A client that used
up the ids of a second got an error."""
import re
import time

from serving import Configured, Server, bulks, claim, command, main, same

FOUR_A_SECOND = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"


@claim("by default a request waits for the next second over both protocols, unless a policy decides")
def _(world):
    server = Server(world, layout=FOUR_A_SECOND, pacing="clock")
    assert "--wait-ms" not in server.args
    with server:
        ids = [server.redis("GET", "default") for _ in range(14)]
        assert all(re.fullmatch(rb"\$\d+\r\n\d+\r\n", said) for said in ids), ids
        same([server.get("/genid").status for _ in range(6)], [200] * 6)
        with server.connect(server.resp) as sock:  # A request that would wait in vain is rejected at once.
            asked = time.monotonic()
            sock.sendall(command("MGET", *["default"] * 100))
            assert sock.recv(4096).startswith(b"-TRYAGAIN ")
            assert time.monotonic() - asked < 30
    config = 'return { namespaces = { judged = { worker = 1, layout = "%s", ahead_ms_max = 0, policy = "refuse" } } }' % FOUR_A_SECOND
    with Configured(world, config) as server:
        said = server.say(server.resp, command("GET", "judged") * 40)
        assert b"-TRYAGAIN" in said and len(bulks(said)) < 40, said


main()
