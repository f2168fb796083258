"""Regression: one server reserved a number, another committed it, and the database was restored from a backup in
between. The server that had committed the number reserved it again."""
import shutil
import time

from reserving import ask, host, reserve
from serving import claim, main, same


@claim("a server does not reserve a number that it has committed for another server")
def _(world):
    path = world.path("v.db")
    with host(world, "a") as a, host(world, "b") as b:
        number, token = reserve(a, "1000")
        shutil.copyfile(path, path + ".old")
        same(ask(b, "VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")
        shutil.copyfile(path + ".old", path + ".new")
        shutil.move(path + ".new", path)
        time.sleep(1.1)
        answer = ask(b, "VESTA.RESERVE", "invoices")
        assert b"went back: it grants 1 again, and this host was granted all below 2" in answer, answer


@claim("a server that commits a number of another server learns how far the counter was granted")
def _(world):
    path = world.path("v.db")
    with host(world, "a") as a, host(world, "b") as b:
        shutil.copyfile(path, path + ".old")
        number, token = reserve(a)
        same(ask(b, "VESTA.COMMIT", "invoices", str(number), token), b"+OK\r\n")
        shutil.copyfile(path + ".old", path + ".new")
        shutil.move(path + ".new", path)
        answer = ask(b, "VESTA.RESERVE", "invoices")
        assert b"went back: it grants 1 again, and this host was granted all below 2" in answer, answer


main()
