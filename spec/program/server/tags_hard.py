"""tags_hard.py -- a server's hard days with tags: as many as it has descriptors for.
"""
import re
import resource
import signal

from serving import Configured, claim, fails, main, same
from tables import Table, config, until


class Scarce(Configured):
    """A server whose limit of descriptors nothing can raise."""

    def __init__(self, world, text, files, *flags):
        super().__init__(world, text, "--threads", "1", *flags)
        self.args = ["prlimit", "--nofile=%d:%d" % (files, files), *self.args]


def limits(server):
    return {name: int(number) for name, number in re.findall(r" (\w+)=(\d+)", server.heard('msg="client limits"'))}


def fill(server):
    """As many connections as it lets in."""
    socks = []
    while True:
        sock = server.connect(server.resp)
        sock.sendall(b"PING\r\n")
        if sock.recv(100) != b"+PONG\r\n":
            sock.close()
            return socks
        socks.append(sock)


def serves_all(server, tags, add):
    """While clients have all places that there are, tags come, and each gets its first range from its database."""
    socks = fill(server)
    same(len(socks), limits(server)["resp"])
    add()

    def first_of(tag):
        socks[0].sendall(b"INCR %s\r\n" % tag.encode())
        return socks[0].recv(1000)

    until(lambda: not first_of(tags[-1]).startswith(b"-ERR unknown name"))  # it is known with the others
    for tag in tags[:-1]:
        same((tag, first_of(tag)), (tag, b":1\r\n"))
    for sock in socks:
        sock.close()
    assert "Too many open files" not in server.said, server.said


ALL_RESP = "http = { connections_max = 1 }, address_connections_max = 10000,"
ALL = ["t%03d" % i for i in range(200)]


@claim("each tag's descriptor is kept from clients; those that there is none for are not served, by name, with the next step")
def _(world):
    table = Table(world, **{tag: 10 for tag in ALL})
    with Scarce(world, config(table, more=ALL_RESP), 256) as server:
        told = limits(server)
        assert 20 < told["tags"] < 100 and told["descriptors"] == 256, told
        served = [tag for tag in ALL if server.redis("INCR", tag) == b":1\r\n"]
        same(len(served), told["tags"])
        line = server.heard("a tag is not served")
        assert " tag=t" in line and "no file descriptor is left for its map" in line and "LimitNOFILE=" in line, line

    def add():
        for tag in served[1:]:
            table.add(tag, 10)
        server.process.send_signal(signal.SIGHUP)

    table = Table(world, "second.db", **{served[0]: 10})
    with Scarce(world, config(table, more=ALL_RESP), 256) as server:
        serves_all(server, served, add)


@claim("tags that the config lists are served whatever it takes of clients, or the server says that it cannot")
def _(world):
    row = "tags = { %s }" % ", ".join("'%s'" % tag for tag in ALL[:100])
    table = Table(world, **{tag: 10 for tag in ALL})
    with Scarce(world, config(table, row, ALL_RESP), 256) as server:
        same(limits(server)["tags"], 100)
        serves_all(server, ALL[:100], add=lambda: None)
    row = "tags = { %s }" % ", ".join("'%s'" % tag for tag in ALL)
    refused = Scarce(world, config(table, row), 220)
    done = world.run(*refused.args[refused.args.index("serve"):], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (220, 220)))
    fails(done, 1, "220 file descriptors are too few", "200 of them for tags", "LimitNOFILE=")


main()
