"""rows.py -- batches of the Redis protocol, split anywhere. Rows of equal commands, mixed with other names, errors and
transactions, are answered like single commands, and no id is lost or duplicated.

The batches come from a fixed seed. A difference is printed with its commands.
"""
import random
import re

from serving import SLOW, WIDE, Configured, claim, command, main, same

BATCHES = 120 // SLOW
FEW_A_MS = "sign:1 time:44 seq:3 worker:16 unit=1ms epoch=2020-01-01T00:00:00Z"  # eight per millisecond
# The worker id is in the lowest bits of both layouts, so an id shows its namespace.
WORKERS = {"a": 1, "b": 2, "few": 3}
CONFIG = """return { namespaces = {
    a = { layout = "%s", worker = 1, pacing = "history" }, b = { layout = "%s", worker = 2, pacing = "history" },
    few = { layout = "%s", worker = 3, pacing = "clock", wait_ms_max = 20000 } } }""" % (WIDE, WIDE, FEW_A_MS)


# ------------------------------------------------------------------ requests

def plain(dice, names):
    name, other, times = dice.choice(names), dice.choice(names), dice.choice([1, 1, 2, 3, 5, 8])
    return dice.choice([
        lambda: [command("GET", name)] * dice.choice([1, 2, 4, 7, 20]),
        lambda: [command("GET", name)] * dice.choice([2, 3, 50]),
        lambda: [command("GET", name), command("GET", other)] * times,
        lambda: [command("GET", name), command("get", name)] * times,
        lambda: [b"GET %s\r\n" % name.encode()] * times,
        lambda: [command("GET", "nowhere")] * times,
        lambda: [command("GET")] * times,
        lambda: [command("GET", name, other)] * times,
        lambda: [command("MGET", name, other, name)] * times,
        lambda: [command("MGET", name, "nowhere")] * times,
        lambda: [command("VESTA.NEXT", name, dice.choice(["3", "0", "x"]))] * times,
        lambda: [command("PING")] * times,
        # which is rejected, in a transaction or not
        lambda: [command("CLIENT", "REPLY", dice.choice(["OFF", "SKIP"]))],
        lambda: [command("EXEC")],
        lambda: [command("DISCARD")],
    ])()


def batch(dice, names):
    parts = []
    for _ in range(dice.randrange(2, 12)):
        if dice.randrange(5) == 0:
            parts += [command("MULTI"), *plain(dice, names), *plain(dice, names), command(dice.choice(["EXEC", "EXEC", "DISCARD"]))]
        elif dice.randrange(25) == 0:
            parts += [command("GET", dice.choice(names))] * dice.choice([255, 256, 257, 700])  # One step issues 256.
        else:
            parts += plain(dice, names)
    return parts


# ------------------------------------------------------------------ replies

def read_reply(file):
    line = file.readline()
    assert line.endswith(b"\r\n"), line
    if line[:1] == b"$":
        text = file.read(int(line[1:]) + 2)
        same(text[-2:], b"\r\n")
        return text[:-2]
    if line[:1] == b"*":
        return [read_reply(file) for _ in range(int(line[1:]))]
    return line.decode()


def shape(reply):
    """Returns the reply with each id replaced by its namespace."""
    if isinstance(reply, list):
        return [shape(item) for item in reply]
    return "id of worker %d" % (int(reply) % 1024) if isinstance(reply, bytes) and reply.isdigit() else reply


def ids_in(reply):
    if isinstance(reply, list):
        return [one for item in reply for one in ids_in(item)]
    return [int(reply)] if isinstance(reply, bytes) and reply.isdigit() else []


class Client:
    def __init__(self, server):
        self.sock, self.other, self.ids, self.asked = server.connect(server.resp), server.connect(server.resp), [], 0
        self.file = self.sock.makefile("rb")

    def close(self):
        for end in self.file, self.sock, self.other:
            end.close()

    def read(self, count):
        replies = [read_reply(self.file) for _ in range(count)]
        self.ids += ids_in(replies)
        self.asked += count
        return [shape(reply) for reply in replies]

    def one_by_one(self, commands):
        replies = []
        for one in commands:
            self.sock.sendall(one)
            replies += self.read(1)
        return replies

    def at_once(self, commands, cuts=()):
        """Sends the batch in pieces. Before the next piece, two requests of another client show that the last one was
        read."""
        stream, at = b"".join(commands), 0
        for cut in [*sorted(cuts), len(stream)]:
            if at:
                for _ in range(2):
                    self.other.sendall(b"PING\r\n")
                    same(self.other.recv(100), b"+PONG\r\n")
                    self.asked += 1
            self.sock.sendall(stream[at:cut])
            at = cut
        return self.read(len(commands))


def compare(client, commands, cuts=()):
    whole, single = client.at_once(commands, cuts), client.one_by_one(commands)
    for i, (ours, theirs) in enumerate(zip(whole, single)):
        assert ours == theirs, "%r of %r, cut at %r: %r, and %r alone" % (commands[i], commands, cuts, ours, theirs)


def of(ids, name):
    return [one for one in ids if one % 1024 == WORKERS[name]]


def check_counts(server, client, names):
    """Asserts that each id was issued once and in order, that none is missing, and that all requests are counted."""
    metrics = server.get("/metrics").body
    for name in names:
        ids = of(client.ids, name)
        assert all(one < next_one for one, next_one in zip(ids, ids[1:])), name
        issued = re.search(r'vesta_ids_issued_total\{[^}]*namespace="%s"[^}]*proto="resp"[^}]*\} (\d+)' % name, metrics)
        same((name, int(issued[1])), (name, len(ids)))
        if name != "few":
            assert ids[-1] - ids[0] == (len(ids) - 1) * 1024, "%s: an id is missing" % name
    same(sum(map(int, re.findall(r'vesta_requests_total\{proto="resp",[^}]*\} (\d+)', metrics))), client.asked)


# ------------------------------------------------------------------ the claims

@claim("batches split anywhere are answered like single commands, and each id is issued once")
def _(world):
    dice = random.Random(20260112)
    with Configured(world, CONFIG) as server:
        client = Client(server)
        for _ in range(BATCHES):
            commands = batch(dice, ["a", "b"])
            length = sum(map(len, commands))
            compare(client, commands, [dice.randrange(1, length) for _ in range(dice.choice([0, 0, 1, 5]))])
        check_counts(server, client, ["a", "b"])
        client.close()


@claim("a batch is answered the same if it is split at any byte")
def _(world):
    commands = [command("GET", "a")] * 3 + [command("GET", "b"), command("GET"), command("GET", "a"), command("MULTI"),
                                            command("GET", "b"), command("GET", "b"), command("EXEC"), b"GET a\r\n", b"GET a\r\n"]
    with Configured(world, CONFIG) as server:
        client = Client(server)
        for cut in range(1, sum(map(len, commands)), SLOW):
            compare(client, commands, [cut])
        check_counts(server, client, ["a", "b"])
        client.close()


@claim("rows with more commands than a millisecond has ids are answered in parts, in order, among others")
def _(world):
    dice = random.Random(20260113)
    with Configured(world, CONFIG) as server:
        client = Client(server)
        for _ in range(BATCHES // 6):
            commands = [command("GET", "few")] * dice.choice([9, 20, 300]) + batch(dice, ["few", "few", "a"])
            compare(client, commands, [dice.randrange(1, sum(map(len, commands)))])
        check_counts(server, client, ["few", "a"])
        client.close()


main()
