"""liar.py -- a proxy that parses its server's answers, and falsifies one of them.

    liar = MysqlLiar(port); liar.lie("empty", at=2)    the second answer from now on has no rows

The lies: nothing (cut), short (cut in the middle), half (well framed, but half is missing), empty (no rows, no body),
zeros (all bytes are 0), noughts (all values are 0), bare (only an OK), late (after the deadline), twice, another (an
earlier answer of the same kind), stranger (an earlier answer of another kind).
"""
import mmap
import re
import struct
import threading
import time

from between import Between

LIES = ("nothing", "short", "half", "empty", "zeros", "noughts", "bare", "late", "twice", "another", "stranger")


class Liar(Between):
    """Reads whole messages on both sides.  A subclass defines how."""

    FATAL = {}

    def __init__(self, target, late_s=1.0):
        self.late_s = late_s
        self.lock = threading.Lock()
        self.told = {}  # the first two true answers of each kind
        self.tell_truth()
        self.lied_of = ""
        self.answers = 0
        super().__init__(target)

    def lie(self, what, at=1, only=None, every=False):
        """Falsifies the at-th answer from now on.  `only`: counts only answers of kinds for which it is true.  every:
        also all later ones."""
        with self.lock:
            self.what, self.at, self.only, self.every, self.lied, self.lied_of = what, at, only, every, False, ""

    def tell_truth(self):
        with self.lock:
            self.what, self.at, self.only, self.every, self.lied = None, 0, None, False, False

    def is_fatal(self, lie, kind):
        """Whether the store's client library may crash from that lie, before vesta sees it."""
        return kind.split(" ")[0] in self.FATAL.get(lie, ())

    def met(self, client, server):
        self.in_background(self.go, client, server)

    def go(self, client, server):
        try:
            self.relay(client, server)
        except (OSError, EOFError):
            pass
        for end in (client, server):
            end.close()

    @staticmethod
    def read(end, count):
        data = b""
        while len(data) < count:
            more = end.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def choose(self, kind):
        """Returns the lie for an answer of that kind, or None."""
        with self.lock:
            self.answers += 1
            if self.what is None or (self.only and not self.only(kind)):
                return None
            self.at -= 1
            if self.at > 0 or (self.at < 0 and not self.every):
                return None
            self.lied, self.lied_of = True, kind
            return self.what

    def answer(self, client, kind, true, **made):
        """Sends the answer, or a lie in its place.  `made`: the bytes of the lies that the subclass can make of it."""
        what = self.choose(kind)
        if what is None:
            same = self.told.setdefault(kind, [])
            if len(same) < 2:
                same.append(true)
            client.sendall(true)
        elif what == "nothing":
            raise EOFError
        elif what == "short":
            client.sendall(true[:max(1, len(true) // 2)])
            raise EOFError
        elif what == "late":
            time.sleep(self.late_s)
            client.sendall(true)
        elif what == "twice":
            client.sendall(true + true)
        elif what == "another":
            client.sendall(self.fit(next((told for told in self.told.get(kind, []) if told != true), true), true))
        elif what == "stranger":
            client.sendall(self.fit(next((told[0] for other, told in sorted(self.told.items()) if other != kind), true), true))
        else:
            client.sendall(made.get(what, true))

    def fit(self, other, _true):
        return other


# ---------------------------------------------------------------- a disk

class DiskLiar:
    """Lies to programs that run in its environment (see lying_disk.c)."""
    LIES = ("empty", "half", "zeros", "another", "late", "error")

    def __init__(self, shim, path):
        with open(path, "wb") as file:
            file.write(bytes(4096))
        self.env = dict(LD_PRELOAD=shim, LYING_DISK=path)
        with open(path, "r+b") as file:
            self.words = mmap.mmap(file.fileno(), 4096)

    def lie(self, what, at=1):
        self.words[:12] = struct.pack("=iii", self.LIES.index(what) + 1, at, 0)

    def tell_truth(self):
        self.words[:12] = bytes(12)

    @property
    def lied(self):
        return struct.unpack("=i", self.words[8:12])[0] != 0


# ---------------------------------------------------------------- MariaDB

def packets(payloads, first):
    return b"".join(struct.pack("<I", len(payload))[:3] + bytes([(first + n) % 256]) + payload for n, payload in enumerate(payloads))


def is_eof(payload):
    return payload[:1] == b"\xfe" and len(payload) < 9


OK = b"\0\1\0\2\0\0\0"  # one row, no insert id, autocommit


class MysqlLiar(Liar):
    """Counts answers from the greeting on."""

    def packet(self, end):
        head = self.read(end, 4)
        return head[3], self.read(end, struct.unpack("<I", head[:3] + b"\0")[0])

    def relay(self, client, server):
        self.say(client, "greeting", *self.collect(server, False))
        while True:
            seq, payload = self.packet(client)
            server.sendall(packets([payload], seq))
            first, said = self.collect(server, False)
            self.say(client, "welcome", first, said)
            if said[0][:1] in (b"\0", b"\xff"):
                break
        while True:
            seq, payload = self.packet(client)
            server.sendall(packets([payload], seq))
            if payload[:1] == b"\1":  # COM_QUIT
                raise EOFError
            self.say(client, self.kind(payload), *self.collect(server, True))

    @staticmethod
    def kind(payload):
        words = payload[1:].decode("latin-1").split()
        table = next((word for word in words if word.startswith("vesta_") or word.startswith("information")), "")
        return " ".join([words[0] if words else "", table])

    def collect(self, server, has_rows):
        """Reads a whole answer.  Returns the first packet's number, and the payloads."""
        first, payload = self.packet(server)
        said = [payload]
        if not has_rows or payload[:1] in (b"\0", b"\xff", b"\xfb") or is_eof(payload):
            return first, said
        ends = 0
        while ends < 2:
            said.append(self.packet(server)[1])
            ends += is_eof(said[-1])
            if said[-1][:1] == b"\xff":
                break
        return first, said

    def say(self, client, kind, first, said):
        begin = next((n for n, payload in enumerate(said) if is_eof(payload)), len(said)) + 1
        rows = said[begin:-1]
        empty = said[:begin] + said[-1:] if rows else [b""]
        half = said[:begin] + [rows[0][:len(rows[0]) // 2]] + said[-1:] if rows else [said[0][:len(said[0]) // 2]]
        noughts = said[:begin] + [self.noughts(row) for row in rows] + said[-1:] if rows else [OK]
        self.answer(client, kind, packets(said, first), empty=packets(empty, first), half=packets(half, first),
                    noughts=packets(noughts, first), bare=packets([OK], first),
                    zeros=packets([bytes(len(payload)) for payload in said], first))

    @staticmethod
    def noughts(row):
        """Sets every value of a row of text to 0.  NULL stays NULL."""
        out, at = b"", 0
        while at < len(row):
            length = row[at]
            if length == 0xfb:
                out, at = out + b"\xfb", at + 1
                continue
            skip = 1
            if length == 0xfc:
                length, skip = struct.unpack("<H", row[at + 1:at + 3])[0], 3
            out, at = out + b"\x010", at + skip + length
        return out


# ---------------------------------------------------------------- PostgreSQL

class PgLiar(Liar):
    """Counts answers from the first one after the startup message on.  Two more lies: copy (the server asks for data),
    open (the transaction has not ended)."""

    LIES = (*LIES, "copy", "open")
    ASKS = (3, 5, 10, 11)  # the client must send a password, or a part of its proof

    def message(self, end):
        head = self.read(end, 5)
        return head[:1], self.read(end, struct.unpack(">i", head[1:])[0] - 4)

    @staticmethod
    def framed(kind, body):
        return kind + struct.pack(">i", len(body) + 4) + body

    def relay(self, client, server):
        head = self.read(client, 4)
        server.sendall(head + self.read(client, struct.unpack(">i", head)[0] - 4))
        kind = "login"
        while True:
            said = self.collect(server)
            self.say(client, kind, said)
            asked, body = self.message(client)
            if asked == b"X":
                raise EOFError
            kind = "login" if asked == b"p" else self.kind(body)
            server.sendall(self.framed(asked, body))

    @staticmethod
    def kind(body):
        found = re.search(rb"vesta_\w+|leaf_\w+|pg_\w+", body.split(b"row_security")[-1])
        return found[0].decode() if found else "none"

    def collect(self, server):
        """Reads messages until it is the client's turn."""
        said = []
        while True:
            said.append(self.message(server))
            kind, body = said[-1]
            if kind == b"Z" or (kind == b"R" and struct.unpack(">i", body[:4])[0] in self.ASKS):
                return said

    def say(self, client, kind, said):
        first = next((n for n, (letter, _) in enumerate(said) if letter == b"D"), 0)
        half = [(letter, body[:len(body) // 2] if n == first else body) for n, (letter, body) in enumerate(said)]
        made = dict(half=half, empty=[pair for pair in said if pair[0] != b"D"], zeros=[(letter, bytes(len(body))) for letter, body in said],
                    noughts=[(letter, self.noughts(body) if letter == b"D" else body) for letter, body in said],
                    bare=[(b"C", b"SELECT 1\0"), (b"Z", b"I")], copy=[(b"G", bytes(3))], open=[*said[:-1], (b"Z", b"T")])
        self.answer(client, kind, self.joined(said), **{name: self.joined(pairs) for name, pairs in made.items()})

    def joined(self, said):
        return b"".join(self.framed(*pair) for pair in said)

    @staticmethod
    def noughts(row):
        """Sets every value of a row of text to 0.  NULL stays NULL."""
        out, at = row[:2], 2
        while at < len(row):
            length = struct.unpack(">i", row[at:at + 4])[0]
            out += row[at:at + 4] if length < 0 else b"\0\0\0\x010"
            at += 4 + max(length, 0)
        return out


# ---------------------------------------------------------------- ZooKeeper

NAMES = {1: "create", 2: "delete", 3: "exists", 4: "get", 5: "set", 6: "acl", 8: "children", 9: "sync", 11: "ping", 12: "children",
         13: "check", 14: "multi", 100: "auth", -11: "close"}


class ZkLiar(Liar):
    """Counts answers from the hello on.  Another request's answer gets the expected number, so that it could be mistaken
    for the true one.

    ZooKeeper's C client frees what an answer did not set, and asserts that there are as many answers as requests, and
    as many results as operations.  LIES lists the lies that 3.8.0 does not survive.  The specs check that nothing
    else follows from them.
    """

    LIES = (*LIES, "timeless")  # a write's answer is true except for its time, which is 1970
    UNASKED = ("auth", "ping")  # there may be no request that another's answer could replace
    FATAL = {"half": ("get", "multi"), "empty": ("get",), "bare": ("get", "multi"), "noughts": ("multi",), "another": ("multi",),
             "stranger": ("multi", *UNASKED), "zeros": UNASKED,
             "twice": ("get", "acl", "exists", "children", "hello", "multi", "sync", *UNASKED)}

    def relay(self, client, server):
        hello = self.frame(client)
        server.sendall(hello)
        self.say(client, "hello", self.frame(server))
        while True:
            asked = self.frame(client)
            server.sendall(asked)
            kind = struct.unpack(">i", asked[8:12])[0]
            if kind == -11:
                raise EOFError
            self.say(client, self.kind(kind, asked), self.frame(server))

    @staticmethod
    def kind(number, asked):
        body = asked[12:] if number != 14 else asked[21:]
        length = struct.unpack(">i", body[:4])[0] if len(body) >= 4 else 0
        path = body[4:4 + length].decode("latin-1") if 0 < length < 400 else ""
        last = path.split("/")[-1]
        return "%s %s" % (NAMES.get(number, number), "record" if last.isdigit() else "clock" if "~" in last else "ns")

    def frame(self, end):
        head = self.read(end, 4)
        return head + self.read(end, struct.unpack(">i", head)[0])

    @staticmethod
    def framed(body):
        return struct.pack(">i", len(body)) + body

    def say(self, client, kind, true):
        body = true[4:]
        head, rest = body[:16], body[16:]
        if kind == "hello":
            head, rest = b"", body
        none = struct.pack(">i?i", -1, True, -1) if kind.startswith("multi") else b""
        self.answer(client, kind, true, half=self.framed(head + rest[:len(rest) // 2]), empty=self.framed(head + none),
                    zeros=self.framed(bytes(len(body))), noughts=self.framed(head + bytes(len(rest))), bare=self.framed(head),
                    timeless=self.framed(head + self.timeless(rest)) if kind.startswith("multi") else true)

    @staticmethod
    def timeless(rest):
        """The results of a multi: each follows its type, an end flag and its error.  The result of a set is a Stat."""
        out, at = bytearray(rest), 0
        while at + 9 <= len(rest) and not rest[at + 4]:
            number = struct.unpack(">i", rest[at:at + 4])[0]
            at += 9
            if number == 1:
                at += 4 + struct.unpack(">i", rest[at:at + 4])[0]
            elif number == 5:
                out[at + 24:at + 32] = bytes(8)
                at += 68
            elif number == -1:
                at += 4
        return bytes(out)

    def fit(self, other, true):
        if len(true) > 20 and len(other) > 20:
            return other[:4] + true[4:8] + other[8:]
        # An answer that is only an error could belong to any request.  With the expected number it cannot be recognized
        # as another's, because two processes may count equally.
        return other if other[4:8] != true[4:8] or other == true else other[:4] + bytes([other[4] ^ 0x40]) + other[5:]
