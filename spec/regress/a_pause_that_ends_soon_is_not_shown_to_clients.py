"""a_pause_that_ends_soon_is_not_shown_to_clients.py -- stock Redis clients do not try TRYAGAIN again, and a request waited
0.1 s by default: whoever met the end of a second's ids had an error."""
import re
import time

from serving import Configured, Server, bulks, claim, command, main, same

FOUR_A_SECOND = "sign:1 time:31 seq:2 worker:30 unit=1s epoch=2020-01-01T00:00:00Z"


@claim("by default a request waits for the next second, over either protocol, and one that a policy judges does not")
def _(world):
    server = Server(world, layout=FOUR_A_SECOND, pacing="clock")
    assert "--wait-ms" not in server.args
    with server:
        ids = [server.redis("GET", "default") for _ in range(14)]
        assert all(re.fullmatch(rb"\$\d+\r\n\d+\r\n", said) for said in ids), ids
        same([server.get("/genid").status for _ in range(6)], [200] * 6)
        with server.connect(server.resp) as sock:  # nobody waits who would wait in vain: that is known at once
            asked = time.monotonic()
            sock.sendall(command("MGET", *["default"] * 100))
            assert sock.recv(4096).startswith(b"-TRYAGAIN ")
            assert time.monotonic() - asked < 30
    config = 'return { namespaces = { judged = { worker = 1, layout = "%s", ahead_ms_max = 0, policy = "refuse" } } }' % FOUR_A_SECOND
    with Configured(world, config) as server:
        said = server.say(server.resp, command("GET", "judged") * 40)
        assert b"-TRYAGAIN" in said and len(bulks(said)) < 40, said


main()
