"""reserving.py -- a tag of dense numbers served by a server, for the specs that reserve them."""
import os
import re

from serving import Configured, command, same


def config(world, more=""):
    path = world.path("v.db")
    if not hasattr(world, "is_made"):
        done = world.run("segments", "add", "invoices", "--step", "1", "--store", "sqlite:" + path)
        same((done.code, done.err), (0, ""))
        world.is_made = True
    return "return { stores = { a = { uri = 'sqlite:%s' } }, segments = { { store = 'a', tags = '*', order = 'dense' %s } } }" % (path, more or ", wait_ms_max = 60000")


def host(world, name):
    """A server on a host of that name.  Servers of one host share maps."""
    world.own_maps()
    maps = os.path.realpath(world.path("maps", name))
    os.makedirs(maps, 0o700, exist_ok=True)
    return Configured(world, config(world), env={"VESTA_STATE": world.path(name), "VESTA_MAPS": maps})


def ask(server, *words):
    """As server.redis, but the client stays connected: after a half-close, a request that had to wait is not served."""
    data = server.say(server.resp, command(*words) + command("QUIT"), end=False)
    assert data.endswith(b"+OK\r\n"), data
    return data[:-5]


def reserve(server, *hold):
    """Returns (number, token)."""
    data = ask(server, "VESTA.RESERVE", "invoices", *hold)
    found = re.fullmatch(rb"\*8\r\n\$3\r\ntag\r\n\$8\r\ninvoices\r\n\$6\r\nnumber\r\n\$\d+\r\n(\d+)\r\n\$5\r\ntoken\r\n\$32\r\n([0-9a-f]{32})\r\n"
                         rb"\$13\r\nheld_until_ms\r\n:\d{13}\r\n", data)
    assert found, data
    return int(found[1]), found[2].decode()
