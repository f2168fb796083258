"""Regression: a commit with a token of 32 zeros ended the server, because an assertion in store/reservation.c mistook
the request's token for one that the server had drawn."""
from reserving import config, reserve
from serving import Configured, claim, main, same

ZEROS = "0" * 32


@claim("a token of 32 zeros commits and cancels nothing, over both protocols and in any state of the number")
def _(world):
    with Configured(world, config(world)) as server:
        committed, token = reserve(server)
        server.redis("VESTA.COMMIT", "invoices", str(committed), token)
        cancelled, token = reserve(server)
        held, held_token = reserve(server)
        server.redis("VESTA.CANCEL", "invoices", str(cancelled), token)
        for number in (0, committed, cancelled, held, 999):
            for verb in ("COMMIT", "CANCEL"):
                answer = server.redis("VESTA." + verb, "invoices", str(number), ZEROS)
                assert answer.startswith(b"-ERR number %d of tag 'invoices' " % number), answer
                path = "/v1/reservations/%s?tag=invoices&number=%d&token=%s" % (verb.lower(), number, ZEROS)
                same((path, server.get(path, "POST").status), (path, 409))
        same(server.redis("VESTA.COMMIT", "invoices", str(held), held_token), b"+OK\r\n")
        same(server.get("/healthz").status, 200)


main()
