"""framing.py VESTA -- sends valid and invalid streams of requests to vesta and redis-server. Both must find the same
requests, answer those that both know alike, and close at the same place.

Where vesta is intentionally stricter, `why_stricter` returns the reason, and everything before that place must agree.
The streams come from a fixed seed, so each run is the same. Differences are printed as Python bytes.
"""
import random
import re
import shutil
import socket
import subprocess
import sys
import time

from serving import claim, command, main, same, SLOW, until_closed

CASES = 24000 // SLOW
SKIPPED = 77
PINGS = b"\r\n" + command("PING", "last") * 2  # These remain unanswered if the connection was closed before them.

if not shutil.which("redis-server"):
    print("skipped: apt-get install redis-server")
    sys.exit(SKIPPED)


# ------------------------------------------------------------------ two servers, each on a socket file

class Pair:
    def __init__(self, world):
        self.paths = [world.path("vesta.sock"), world.path("redis.sock")]
        self.vesta = world.start("serve", "--http", "off", "--resp", "unix:" + self.paths[0], "--worker", "5", stderr=subprocess.DEVNULL)
        self.redis = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.paths[1], "--save", "", "--appendonly", "no", "--dir", world.folder,
             "--daemonize", "no", "--proto-max-bulk-len", "1mb"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        for path in self.paths:
            for _ in range(400 * SLOW):
                try:
                    self.connect(path).close()
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                raise RuntimeError("nobody listens on " + path)
        return self

    def __exit__(self, *_):
        for process in (self.vesta, self.redis):
            process.terminate()
            process.wait(20 * SLOW)

    def connect(self, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(30 * SLOW)
        sock.connect(path)
        return sock

    def answers(self, stream, split=None):
        return [parsed(self.answer(path, stream, split)) for path in self.paths]

    def answer(self, path, stream, split):
        with self.connect(path) as sock:
            try:
                if split is not None:
                    sock.sendall(stream[:split])
                    # Two answers show that the first part was read before the second is sent.
                    with self.connect(path) as other:
                        for _ in range(2):
                            other.sendall(b"PING\r\n")
                            same(other.recv(100), b"+PONG\r\n")
                    stream = stream[split:]
                sock.sendall(stream)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # The server closed before it had read everything.
            return until_closed(sock)


# ------------------------------------------------------------------ replies, without the parts that may differ

def read_reply(data, at):
    end = data.index(b"\r\n", at)
    kind, text, at = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"+":
        return text.decode(), at
    if kind == b"-":
        return ("protocol error " if b"Protocol error" in text else "error ") + text.decode("latin-1"), at
    if kind == b":":
        return "a number", at
    if kind == b"_" or text == b"-1":
        return "null in RESP3" if kind == b"_" else "null", at
    if kind == b"$":
        length = int(text)
        same(data[at + length:at + length + 2], b"\r\n")
        return data[at:at + length], at + length + 2
    assert kind in (b"*", b"%"), data[at - 20:at + 20]
    items = []
    for _ in range(int(text) * (2 if kind == b"%" else 1)):
        item, at = read_reply(data, at)
        items.append(item)
    if items[:1] == [b"server"]:
        return "greeting in RESP%d" % (3 if kind == b"%" else 2), at
    return items, at


def parsed(data):
    """Returns the replies, and fails if the stream is malformed."""
    replies, at = [], 0
    while at < len(data):
        reply, at = read_reply(data, at)
        replies.append(reply)
    return replies


def kind_of_error(text):
    """Returns the first word of the error, which clients act on. The rest of the text may differ."""
    text = text.replace("ERR Protocol version is not an integer or out of range", "NOPROTO")
    return re.match("(protocol )?error -?[A-Z]+", text)[0]


def alike(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, str) and isinstance(other, str) and "error" in one and "error" in other:
        return kind_of_error(one) == kind_of_error(other)
    return type(one) is type(other) and one == other


# ------------------------------------------------------------------ intended differences

STRICTER = (
    # (vesta's message, pattern in the stream, reason)
    ("does not end where its length says", rb"", "Redis skips two bytes behind a bulk string without looking at them"),
    ("invalid multibulk length", rb"\*-", "Redis takes a negative count for an empty request"),
    ("invalid multibulk length", rb"\*\d{4,}", "Redis takes a million arguments and more, vesta 1024"),
    ("invalid bulk length", rb"\$\d{5,}", "Redis takes 512 MiB, vesta 64 KiB"),
    ("length", rb"[*$]\d*\r[^\n]", "Redis takes any byte behind a carriage return for the newline"),
    ("length", rb"[*$][^\r]*\Z", "vesta breaks off at the first byte that is no digit, Redis when the line is complete"),
    ("this address speaks no TLS", rb"\x16\x03", "Redis waits for the end of such a line"),
)


def why_stricter(stream, ours, theirs):
    """Returns the reason why vesta closes where Redis continues, or None."""
    if not ours or not isinstance(ours[-1], str) or "protocol error" not in ours[-1]:
        return None
    if not all(map(alike, ours[:-1], theirs)) or len(theirs) < len(ours) - 1:
        return None
    for said, evidence, why in STRICTER:
        if said in ours[-1] and re.search(evidence, stream, re.DOTALL):
            return why
    return None


def why_more(stream, ours, theirs):
    """Returns the reason why Redis stops answering where vesta continues, or None."""
    if b"\0" in stream and len(theirs) < len(ours) and all(map(alike, theirs, ours)):
        return "Redis looks for the end of a line typed by hand with strchr, which stops at a NUL"
    return None


def compare(stream, ours, theirs, reasons):
    if len(ours) == len(theirs) and all(map(alike, ours, theirs)):
        return
    why = why_stricter(stream, ours, theirs) or why_more(stream, ours, theirs)
    assert why, "stream %r\nvesta %r\nredis %r" % (stream, ours, theirs)
    reasons[why] = reasons.get(why, 0) + 1


# ------------------------------------------------------------------ streams

def word(dice):
    kind = dice.randrange(6)
    if kind == 0:
        return b""
    if kind == 1:
        return dice.choice([b"\r\n", b"$1\r\n", b"*1\r\n$4\r\nPING\r\n", b"+OK\r\n", b'"', b"'", b"\\", b" ", b"\0", b"a b", b"it's"])
    if kind == 2:
        return bytes(dice.randrange(256) for _ in range(dice.randrange(1, 40)))
    return bytes(dice.choice(b"abcxyz0189") for _ in range(dice.randrange(1, 12 if kind < 5 else 300)))


def plain_words(dice):
    return dice.choice([lambda: [b"PING"], lambda: [b"PING", word(dice)], lambda: [b"ECHO", word(dice)], lambda: [b"echo", word(dice)],
                        lambda: [b"ECHO"], lambda: [b"nosuch", word(dice)], lambda: [word(dice)],
                        lambda: [b"SELECT", dice.choice([b"0", b"15", b"16", b"-1", b"x"])],
                        lambda: [b"DBSIZE"], lambda: [b"UNWATCH"], lambda: [b"PING", b"a", b"b"]])()


def session_words(dice):
    return dice.choice([lambda: [b"HELLO", dice.choice([b"2", b"3", b"4", b"x"])], lambda: [b"HELLO"], lambda: [b"HELLO", b"3", b"x"],
                        lambda: [b"HELLO", b"3", b"SETNAME", b"me"], lambda: [b"AUTH", b"x"], lambda: [b"AUTH", b"nobody", b"x"],
                        lambda: [b"CLIENT", b"ID"], lambda: [b"CLIENT", b"GETNAME"], lambda: [b"CLIENT", b"nosuch"],
                        lambda: [b"CLIENT", b"SETNAME", dice.choice([b"me", b"a b", b"\n"])]])()


def end_words(dice):
    return [dice.choice([b"RESET", b"QUIT", b"DISCARD", b"EXEC", b"RESET", b"DISCARD"])]


def typed(dice, words):
    """Formats the words as an inline command, quoted if necessary in either of the two ways."""
    line = []
    for text in words:
        if text and re.fullmatch(rb"[!#-&(-\[\]-~]+", text):
            line.append(text)
        elif dice.randrange(2) and b"\n" not in text and b"\r" not in text and b"\0" not in text:
            line.append(b"'" + re.sub(rb"\\(?=')|'", lambda m: b"\\'" if m[0] == b"'" else b"\\", text) + b"'")
        else:
            line.append(b'"' + b"".join(b"\\x%02x" % c if c < 32 or c > 126 or c in b'"\\' else b"%c" % c for c in text) + b'"')
    return dice.choice([b"", b" "]) + dice.choice([b" ", b"  ", b"\t"]).join(line) + dice.choice([b"\r\n", b"\n"])


def one_request(dice, words):
    if words[0] and not words[0].startswith(b"*") and dice.randrange(3) == 0:
        return typed(dice, words)
    return command(*words)


def valid(dice):
    """Returns valid requests, with either changes of the connection or transactions, but not both: in a transaction
    only Redis accepts HELLO and AUTH, and it checks the arguments of CLIENT when the command runs, not when it is
    queued."""
    parts, has_transactions = [], dice.randrange(2)
    for _ in range(dice.randrange(1, 6)):
        kind = dice.randrange(12)
        if kind == 0:
            parts.append(dice.choice([b"\r\n", b"\n", b"*0\r\n", b" \r\n"]))
        elif kind == 1:
            parts.append(one_request(dice, end_words(dice)))
        elif kind < 5 and has_transactions:
            inner = [plain_words(dice) for _ in range(dice.randrange(4))]
            parts += [one_request(dice, words) for words in [[b"MULTI"], *inner, [dice.choice([b"EXEC", b"EXEC", b"DISCARD"])]]]
        elif kind < 5:
            parts.append(one_request(dice, session_words(dice)))
        else:
            parts.append(one_request(dice, plain_words(dice)))
    return b"".join(parts)


def mutated(dice, stream):
    stream = bytearray(stream)
    for _ in range(dice.choice([1, 1, 1, 2, 3, 8])):
        at = dice.randrange(len(stream) + 1)
        kind = dice.randrange(5)
        if kind == 0:
            del stream[at:at + dice.choice([1, 1, 2, 5])]
        elif kind == 1:
            stream[at:at] = dice.choice([b"*", b"$", b"\r", b"\n", b"\r\n", b"0", b"1", b"9", b"-", b"+", b'"', b"'", b"\\", b" ", b"\0", b"x",
                                         b"\xff", b"*1\r\n", b"$-1\r\n", b"*-1\r\n", b"99999", b"\x16\x03"])
        elif kind == 2 and at < len(stream):
            stream[at] = dice.randrange(256)
        elif kind == 3:
            stream[at:at] = stream[max(0, at - dice.randrange(1, 20)):at]
        else:
            del stream[at:]
    return bytes(stream)


def report(count, reasons):
    print("%d streams; differences that are meant:" % count)
    for why, times in sorted(reasons.items(), key=lambda item: -item[1]):
        print("%7d  %s" % (times, why))


# ------------------------------------------------------------------ the claims

@claim("valid streams are answered as Redis answers them")
def _(world):
    dice, reasons = random.Random(20260101), {}
    with Pair(world) as pair:
        for _ in range(CASES // 4):
            stream = valid(dice) + PINGS
            compare(stream, *pair.answers(stream), reasons)
    report(CASES // 4, reasons)
    assert all("NUL" in why or "bulk length" in why for why in reasons), reasons


@claim("invalid streams are closed where Redis closes them, or earlier for a known reason")
def _(world):
    dice, reasons, broken = random.Random(20260102), {}, 0
    with Pair(world) as pair:
        for _ in range(CASES):
            stream = mutated(dice, valid(dice)) + PINGS
            ours, theirs = pair.answers(stream)
            compare(stream, ours, theirs, reasons)
            broken += any("protocol error" in reply for reply in ours if isinstance(reply, str))
    report(CASES, reasons)
    assert CASES // 4 < broken < CASES * 3 // 4, broken
    assert len(reasons) >= 5, reasons


@claim("a stream is answered alike wherever it is split in two")
def _(world):
    dice, reasons = random.Random(20260103), {}
    with Pair(world) as pair:
        for i in range(60 // SLOW):
            stream = valid(dice) if i % 3 else mutated(dice, valid(dice))
            stream = stream[:120] + PINGS
            whole = pair.answers(stream)
            compare(stream, *whole, reasons)
            for split in range(1, len(stream)):
                same((stream, split, pair.answers(stream, split)), (stream, split, whole))


@claim("a client that broke the protocol or sent QUIT is disconnected, and other clients stay connected")
def _(world):
    with Pair(world) as pair:
        for stream, closed in ((b"*x\r\n", True), (b"*1\r\n$-1\r\n", True), (b"*1\r\n:1\r\n", True), (b'ECHO "a\r\n', True), (b"QUIT\r\n", True),
                               (b"POST / HTTP/1.1\r\n", True), (b"host: x\r\n", True), (b"x" * 70000, True), (b"*1\r\n$x\r\n", True),
                               (b"PING\r\n", False), (b"nosuch\r\n", False), (b"\r\n\r\n", False), (b"GET\r\n", False), (b"EXEC\r\n", False)):
            for path in pair.paths:
                with pair.connect(path) as sock:
                    sock.sendall(stream if closed else stream + command("ECHO", "still here"))
                    if closed:
                        until_closed(sock)  # otherwise the socket's timeout fails the test
                    else:
                        data = b""
                        while not data.endswith(b"still here\r\n"):
                            data += sock.recv(4096)


main()
