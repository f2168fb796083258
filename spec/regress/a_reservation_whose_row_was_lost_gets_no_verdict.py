"""Regression: the database was restored from a backup, and another host detected that and raised the counter. A client
with a reservation then got 409 settled, "was never reserved"."""
import json
import shutil

from reserving import ask, host, reserve
from serving import claim, main, same


@claim("a commit of a reservation that the database lost is neither accepted nor rejected for good, and blocks no "
       "reservation")
def _(world):
    path = world.path("v.db")
    with host(world, "a") as a, host(world, "b") as b:
        reserve(a)
        shutil.copyfile(path, path + ".old")
        number, token = reserve(a)
        same((number, reserve(b)[0]), (2, 3))
        shutil.copyfile(path + ".old", path + ".new")
        shutil.move(path + ".new", path)
        assert b"went back" in ask(b, "VESTA.RESERVE", "invoices")  # This raises the counter to 4.
        for verb in "COMMIT", "CANCEL":
            answer = ask(a, "VESTA." + verb, "invoices", "2", token)
            assert answer.startswith(b"-TRYAGAIN ") and b"no row for it" in answer, answer
        reply = a.get("/v1/reservations/commit?tag=invoices&number=2&token=" + token, "POST")
        same((reply.status, json.loads(reply.body)["code"], "no row for it" in reply.body), (503, "range", True))
        same(reserve(a)[0], 4)
        assert b"was never reserved" in ask(a, "VESTA.COMMIT", "invoices", "9", token)


main()
