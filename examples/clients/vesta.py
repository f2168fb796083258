"""vesta.py -- a client of vesta servers, for Python 3.8 and newer.  It needs only this file.

    import vesta
    ids = vesta.Client(["10.0.0.1:8089", "10.0.0.2:8089"], "orders")
    ids.next()        # 2319542600899494910
    ids.next_uuid7()  # UUID('019b76da-a800-7000-8034-940635bd87f1')
    ids.close()

With credentials and TLS:

    vesta.Client(["rediss://shop@ids1.example:8089"], "orders", secret_file="/etc/shop/ids.secret", tls_ca="/etc/shop/ca.pem")

The client fetches blocks from the servers and computes the ids of a block by itself, so most calls of next() need no
network.  When a tenth of a block is used, a thread fetches the next one.  All threads of a process can share a client.  A
child process of os.fork or multiprocessing starts without blocks and connections, and fetches its own.
"""
import datetime
import itertools
import os
import re
import secrets
import socket
import ssl
import threading
import time
import urllib.parse
import uuid
import weakref
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

SIZE_MAX = 100_000
SECONDS_MAX = 86_400
REST_MIN_S, REST_MAX_S = 0.1, 6.4
REPLY_BYTES_MAX = 65_536
SECRET_BYTES_MAX = 511
SERVER_TEXT_MAX = 2000
NEVER_S = float("-inf")

# redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS.  A name and a secret may contain %XX escapes.
_PART = r'(?:[!"$&-.0-9;->A-Z\\^-~]|%[0-9A-Fa-f]{2})'
_SERVER = re.compile(r"(?:(rediss?)://(?:(%s*)(?::((?:%s|:)*))?@)?)?(\[[0-9A-Fa-f:.]+\]|[^][\s:/@]+):([0-9]{1,5})(?(1)(?:/0?)?)"
                     % (_PART, _PART), re.ASCII)


class Error(Exception):
    """No id was available.  The text lists every server and its last result."""


class _Refused(Exception):
    """A server rejected the request, and a retry cannot help."""


class _Block:
    """A block of ids that a server issued to this process only."""

    def __init__(self, reply: Dict[str, Union[str, int]], name: str, size: int, asked_at: float) -> None:
        if reply.get("ns") != name:
            raise ValueError("its reply is for %r, not for %r" % (reply.get("ns"), name))
        self.asked_at = asked_at
        self.first, self.count = self._number(reply, "first", 2**64 - 1), self._number(reply, "count", size)
        if self.count < 1:
            raise ValueError("its block has no id")
        kind = reply.get("kind")
        if kind == "ticks":
            self.base = self._number(reply, "base", 2**64 - 1)
            self.shifts = tuple(self._number(reply, key, 63)
                                for key in ("seq_bits", "time_shift", "seq_shift", "low_bits", "low_shift"))
            largest = self.first + self.count - 1
            whole = self._whole(largest)
        elif kind == "numbers":
            self.stride = self._number(reply, "stride", 2**63)
            self.base, self.shifts = 0, (0,)
            largest = whole = self.first + (self.count - 1) * self.stride
            if self.stride < 1:
                raise ValueError("its stride is 0")
        else:
            raise ValueError("its block is of kind %r: this client knows ticks and numbers" % (kind,))
        if largest >= 2**64 or whole >= 2**64:
            raise ValueError("its block goes past 2^64 - 1")
        self.last, self.kind, self.layout = largest, kind, str(reply.get("layout"))
        self._units: Optional[Tuple[int, int]] = None

    def _whole(self, largest: int) -> int:
        """Returns all bits that the ids may have.  Raises if the fields overlap, because two ids could then be equal."""
        seq_bits, time_shift, seq_shift, low_bits, low_shift = self.shifts
        parts = ((1 << (largest >> seq_bits).bit_length()) - 1 << time_shift, (1 << seq_bits) - 1 >> low_bits << seq_shift,
                 (1 << low_bits) - 1 << low_shift, self.base)
        if low_bits > seq_bits or sum(parts) != parts[0] | parts[1] | parts[2] | parts[3]:
            raise ValueError("its block has bits that overlap")
        return sum(parts)

    @staticmethod
    def _number(reply: Dict[str, Union[str, int]], key: str, most: int) -> int:
        text = str(reply.get(key))
        if not re.fullmatch("[0-9]{1,20}", text) or int(text) > most:
            raise ValueError("its %s %r is not a number from 0 to %d" % (key, reply.get(key), most))
        return int(text)

    def uuid7(self, id: int) -> uuid.UUID:
        """Makes a UUID of version 7: the id's milliseconds, its other tick bits as a counter (RFC 9562, 6.2, method 1), random bits."""
        if self._units is None:
            found = re.search(r" unit=(\d+)(us|ms|s) epoch=([^ ]+)Z", self.layout)
            if not found:
                raise ValueError("the ids of this name have no time: name a namespace, not a tag")
            epoch = datetime.datetime.fromisoformat(found[3] + "+00:00") - datetime.datetime.fromisoformat("1970-01-01T00:00:00+00:00")
            self._units = (int(found[1]) * {"us": 1, "ms": 1000, "s": 1_000_000}[found[2]], epoch // datetime.timedelta(milliseconds=1))
        (unit_us, epoch_ms), (seq_bits, time_shift, seq_shift, low_bits, low_shift) = self._units, self.shifts
        fields = id ^ self.base
        seq = (fields >> seq_shift & (1 << seq_bits - low_bits) - 1) << low_bits | fields >> low_shift & (1 << low_bits) - 1
        ms, rest_us = divmod((fields >> time_shift) * unit_us, 1000)
        bits = seq_bits + (-(-1000 // unit_us) - 1).bit_length()  # units of less than a millisecond are counted too
        if bits > 42 or epoch_ms < 0 or seq_shift > time_shift:
            raise ValueError("this layout has no room for a UUID's counter, or begins before 1970: %s" % self.layout)
        rest = (rest_us // unit_us << seq_bits | seq) << 74 - bits | secrets.randbits(74 - bits)
        return uuid.UUID(int=(epoch_ms + ms) << 80 | 7 << 76 | rest >> 62 << 64 | 2 << 62 | rest & (1 << 62) - 1)

    def overlaps(self, other: Optional["_Block"]) -> bool:
        return other is not None and (self.kind, self.base) == (other.kind, other.base) \
            and self.first <= other.last and other.first <= self.last

    def ids(self, begin: int, end: int) -> Iterator[int]:
        """Returns the ids from index begin up to, but not including, index end."""
        return itertools.chain.from_iterable(self._ranges(begin, end))

    def _ranges(self, begin: int, end: int) -> Iterator[range]:
        if self.kind == "numbers":
            yield range(self.first + begin * self.stride, self.first + end * self.stride, self.stride)
            return
        seq_bits, time_shift, seq_shift, low_bits, low_shift = self.shifts
        bits, shift = (low_bits, low_shift) if low_bits else (seq_bits, seq_shift)
        tick, end = self.first + begin, self.first + end
        while tick < end:
            seq, low = tick & (1 << seq_bits) - 1, tick & (1 << low_bits) - 1
            id = self.base | tick >> seq_bits << time_shift | seq >> low_bits << seq_shift | low << low_shift
            run = min((tick >> bits) + 1 << bits, end) - tick
            yield range(id, id + (run << shift), 1 << shift)
            tick += run


class _Access(NamedTuple):
    """The client's credentials, and how it verifies servers."""
    user: Optional[str] = None
    password: Optional[str] = None
    secret_file: Optional[str] = None
    tls_ca: Optional[str] = None
    tls_certificate: Optional[str] = None
    tls_key: Optional[str] = None
    tls_unverified: bool = False

    def check(self, servers: List["_Server"]) -> None:
        if not isinstance(self.tls_unverified, bool):  # the text "false" would count as true
            raise ValueError("tls_unverified %r is not True or False" % (self.tls_unverified,))
        if self.password is not None and self.secret_file is not None:
            raise ValueError("password and secret_file cannot be combined")
        for server in servers:
            if (server.user or self.user) and not self.password and not self.secret_file and server.secret is None:
                raise ValueError("server %s: the client name has no secret. Set secret_file" % server.address)
        for key in ("tls_ca", "tls_certificate", "tls_key", "tls_unverified"):
            if getattr(self, key) and not any(server.is_tls for server in servers):
                raise ValueError("%s is given, and no server begins with rediss://" % key)
        if self.tls_key and not self.tls_certificate:
            raise ValueError("tls_key is given, and no tls_certificate")

    def greeting(self, server: "_Server") -> Optional[List[str]]:
        """Returns the AUTH command for a new connection.  A secret's file is read each time, so that the secret can be replaced."""
        secret = server.secret if server.secret is not None else self.password
        if secret is None and self.secret_file is not None:
            with open(self.secret_file, "rb") as file:
                secret = file.readline(SECRET_BYTES_MAX + 6).decode("utf-8-sig", "strict").rstrip("\r\n")
            if not 1 <= len(secret.encode()) <= SECRET_BYTES_MAX:
                raise ValueError("secret_file %s: its first line is not a secret of 1 to %d bytes" % (self.secret_file, SECRET_BYTES_MAX))
        if secret is None:
            return None
        user = server.user or self.user
        return ["AUTH", user, secret] if user else ["AUTH", secret]

    def context(self) -> ssl.SSLContext:
        """Reads the files for each connection, so that they can be replaced."""
        context = ssl.create_default_context(cafile=self.tls_ca)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.tls_unverified:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.tls_certificate:
            context.load_cert_chain(self.tls_certificate, self.tls_key, password=lambda: "")
        return context


class _Server:
    """A server: its connection, and the end of its pause after a failure."""

    def __init__(self, text: str, number: int) -> None:
        found = _SERVER.fullmatch(text) if len(text) <= SERVER_TEXT_MAX else None
        scheme, user, secret, host, port = found.groups() if found else (None, None, None, "", "0")
        try:
            self.user, self.secret = (urllib.parse.unquote(part, errors="strict") if part is not None else None
                                      for part in (user, secret))
        except UnicodeDecodeError:
            found = None
        if not found or not 1 <= int(port) <= 65535 or re.search("[\0-\x1f\x7f]", (self.user or "") + (self.secret or "")) \
                or secret == "" or user == "" and not secret:
            shown = "%d, which is not shown because it may have a secret," % number if re.search("@|://", text) else repr(text)
            raise ValueError("server %s is neither HOST:PORT of the Redis protocol, with a port from 1 to 65535, nor "
                             "redis://NAME:SECRET@HOST:PORT, or rediss:// for TLS, where special characters in a name or a secret are written as %%XX" % shown)
        self.is_tls, self.host, self.port = scheme == "rediss", host.strip("[]"), int(port)
        self.address = "%s:%s" % (host, port)
        self.errors, self.said, self.refuses, self.ended = 0, "not asked yet", False, False
        self.forget()

    def forget(self) -> None:
        """Resets the state, also in a child process after a fork."""
        self.socket: Optional[socket.socket] = None
        self.rest_s, self.rests_until = 0.0, NEVER_S

    def hang_up(self) -> None:
        """Shuts the connection down permanently, from any thread.  The fetching thread then reads an end and closes the socket."""
        self.ended = True
        try:
            if self.socket:
                socket.socket.shutdown(self.socket, socket.SHUT_RDWR)  # below TLS, because another thread uses the TLS connection
        except OSError:
            pass

    def close(self) -> None:
        if self.socket:
            self.socket.close()
        self.socket = None

    def failed(self, why: Exception) -> None:
        self.refuses = isinstance(why, _Refused)
        self.rest_s = REST_MAX_S if self.refuses else min(max(2 * self.rest_s, REST_MIN_S), REST_MAX_S)
        self.rests_until = time.monotonic() + self.rest_s
        self.errors += 1
        self.said = " ".join(str(why).split()) or type(why).__name__

    def ask(self, words: List[str], access: _Access, deadline: float) -> Any:
        """Sends a request and returns the reply.  Any error closes the connection, so that a late reply is never read."""
        try:
            if self.socket and self._has_more():
                self.close()
            is_old = self.socket is not None
            if not is_old:
                self._connect(access, deadline)
            try:
                return self._say(words, deadline)
            except _Refused as why:
                if not is_old or not str(why).startswith(("NOAUTH", "NOPERM")):
                    raise
            self.close()  # retries on a new connection, because the secret may have been replaced
            self._connect(access, deadline)
            return self._say(words, deadline)
        except BaseException:
            self.close()
            raise

    def _connect(self, access: _Access, deadline: float) -> None:
        self.socket = socket.create_connection((self.host, self.port), _left(deadline))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.is_tls:
            try:
                self.socket.settimeout(_left(deadline))
                self.socket = access.context().wrap_socket(self.socket, server_hostname=self.host)
            except ssl.SSLCertVerificationError as error:
                raise _Refused("its certificate is not accepted: %s" % error.verify_message) from error
        if greeting := access.greeting(self):
            try:
                self._say(greeting, deadline)
            except (_Refused, ConnectionError, ValueError) as why:  # a Redis without AUTH repeats the arguments
                raise (_Refused("its reply to AUTH is not shown, because it repeats the secret") if greeting[-1][:8] in str(why) else why) from None

    def _has_more(self) -> bool:
        """Returns whether the connection is unusable, because unexpected bytes arrived or the server closed it."""
        try:
            self.socket.settimeout(0)
            self.socket.recv(1)
            return True
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return True

    def _say(self, words: List[str], deadline: float) -> Any:
        if self.ended:
            raise ConnectionError("this client is closed")
        data = b"*%d\r\n" % len(words)
        for word in words:
            data += b"$%d\r\n%s\r\n" % (len(word.encode()), word.encode())
        self.socket.settimeout(_left(deadline))
        self.socket.sendall(data)
        got = b""
        while True:
            self.socket.settimeout(_left(deadline))
            chunk = self.socket.recv(REPLY_BYTES_MAX)
            if not chunk:
                raise ConnectionError("closed the connection" + (" in the middle of a reply" if got else ""))
            got += chunk
            reply = _read(got, 0)
            if reply is None and len(got) < REPLY_BYTES_MAX:
                continue
            if reply is None or reply[1] != len(got):
                raise ValueError("its reply has %d bytes that were not asked for" % len(got))
            return reply[0]


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout("timed out")
    return left


def _read(data: bytes, at: int, depth: int = 0) -> Optional[Tuple[Any, int]]:
    """Returns the RESP2 value at `at` and its end, or None if it is incomplete."""
    if data[at:at + 5] == b"HTTP/":
        raise ValueError("it answers HTTP: name its port of the Redis protocol")
    end = data.find(b"\r\n", at)
    if end < 0:
        if len(data) > at and data[at:at + 1] not in b"+-:$*":
            raise ValueError("its reply is no reply of the Redis protocol: %r" % data[at:at + 40])
        return None
    kind, line, end = data[at:at + 1], data[at + 1:end].decode("utf-8", "replace"), end + 2
    if kind == b"+":
        return line, end
    if kind == b"-":
        if line.split(" ")[0] in ("TRYAGAIN", "LOADING", "OOM"):
            raise ConnectionError(line)
        raise _Refused(line)
    if kind not in (b":", b"$", b"*") or not re.fullmatch("-?[0-9]{1,20}", line):
        raise ValueError("its reply is no reply of the Redis protocol: %r" % data[at:at + 40])
    number = int(line)
    if kind == b":":
        return number, end
    if not 0 <= number <= REPLY_BYTES_MAX or depth and kind == b"*":
        raise ValueError("its reply has a length of %s" % line)
    if kind == b"$":
        if len(data) < end + number + 2:
            return None
        return data[end:end + number].decode("utf-8", "replace"), end + number + 2
    values: List[Any] = []
    for _ in range(number):
        value = _read(data, end, depth + 1)
        if value is None:
            return None
        values.append(value[0])
        end = value[1]
    return values, end


class Client:
    """Issues ids of a namespace or a tag.  Any thread may use it.  The first next() connects to a server.

    size      ids of a block, 1 to 100000
    ttl       seconds after which the rest of a block is dropped, so that no id is older
    timeout   seconds for a request to a server, including the connection
    wait      seconds that next() may wait if there is no block; 0: it never waits
    user, password, secret_file    the client's name, its secret, or a file with the secret, if an address has none
    tls_ca    PEM file of the authorities that sign the certificates of rediss:// servers; None: the system's
    tls_certificate, tls_key    PEM files of the client's certificate and key, if servers require one
    tls_unverified              True: do not verify servers, so that an attacker can read the secret.  For tests only
    """

    def __init__(self, servers: Iterable[str], name: str, *, size: int = 1000, ttl: float = 10.0, timeout: float = 2.0,
                 wait: float = 5.0, user: Optional[str] = None, password: Optional[str] = None,
                 secret_file: Optional[str] = None, tls_ca: Optional[str] = None, tls_certificate: Optional[str] = None,
                 tls_key: Optional[str] = None, tls_unverified: bool = False) -> None:
        if isinstance(servers, str):
            raise TypeError("servers is a list of addresses, as [\"ids1:8089\", \"ids2:8089\"], not one text")
        self._servers = [_Server(text, number) for number, text in enumerate(servers, 1)]
        if not self._servers:
            raise ValueError("servers is empty: at least one HOST:PORT is needed")
        if not re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", name):
            raise ValueError("name %r is not 1 to 64 of A-Z a-z 0-9 _ . : -" % name)
        if not 1 <= size <= SIZE_MAX:
            raise ValueError("size %r is not from 1 to %d" % (size, SIZE_MAX))
        for key, value, least in (("ttl", ttl, 0.001), ("timeout", timeout, 0.001), ("wait", wait, 0)):
            if not least <= value <= SECONDS_MAX:
                raise ValueError("%s %r is not from %g to %d seconds" % (key, value, least, SECONDS_MAX))
        self._name, self._size, self._ttl, self._timeout, self._wait = name, size, ttl, timeout, wait
        self._access = _Access(user, password, secret_file, tls_ca, tls_certificate, tls_key, tls_unverified)
        self._access.check(self._servers)
        self._blocks = self._requests = self._drops = 0
        self._closed = False
        self._begin()
        _clients.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._block: Optional[_Block] = None
        self._next: Optional[_Block] = None
        self._ids: Iterator[int] = iter(())
        self._handed = 0  # ids of the block that were moved to _ids
        self._fresh_until = NEVER_S
        self._fetching, self._waiting = False, 0
        for server in self._servers:
            server.forget()

    def next(self) -> int:
        """Returns an id.  Raises Error if there is none within `wait` seconds, or if the client is closed."""
        with self._lock:
            if time.monotonic() < self._fresh_until:
                for id in self._ids:
                    return id
            return self._next_slowly()

    def next_uuid7(self) -> uuid.UUID:
        """Returns a UUID of version 7, made from one id of a block.  Raises Error as next() does, and ValueError for a tag."""
        with self._lock:
            id = next(self._ids, None) if time.monotonic() < self._fresh_until else None
            id = self._next_slowly() if id is None else id
            block = self._block
        return block.uuid7(id)

    def _next_slowly(self) -> int:
        deadline = time.monotonic() + self._wait
        self._waiting += 1
        try:
            while not self._closed:
                if self._turn():
                    for id in self._ids:
                        return id
                if all(server.refuses for server in self._servers) and not self._fetching or deadline <= time.monotonic():
                    self._fetch_ahead()
                    raise Error("no id of %r: %s" % (self._name, "; ".join(
                        "%s: %s" % (server.address, server.said) for server in self._servers)))
                self._fetch_ahead()
                self._changed.wait(deadline - time.monotonic())
            raise Error("this client is closed")
        finally:
            self._waiting -= 1

    def _turn(self) -> bool:
        """Prepares the next tenth of this block or of the next one.  After the first tenth, it starts to fetch the next block."""
        now = time.monotonic()
        for block in (self._block, self._next):
            if block is not None and block is self._next:
                self._block, self._next, self._handed = block, None, 0
                self._fresh_until = block.asked_at + self._ttl
            if block is None or self._handed == block.count:
                continue
            if now >= self._fresh_until:
                self._drops, self._handed = self._drops + 1, block.count
                continue
            begin, self._handed = self._handed, min(self._handed + -(-block.count // 10), block.count)
            self._ids = block.ids(begin, self._handed)
            if begin > 0 or self._handed == block.count:
                self._fetch_ahead()
            return True
        return False

    def _fetch_ahead(self) -> None:
        if not (self._next or self._fetching or self._closed):
            self._fetching = True
            try:
                threading.Thread(target=self._fetch, name="vesta", daemon=True).start()
            except RuntimeError:  # no thread can be created now, so the next tenth of the block tries again
                self._fetching = False

    def _fetch(self) -> None:
        """Requests a block from servers in list order, first those that are not in a pause, until a block arrives or no caller waits."""
        with self._lock:
            while True:
                now = time.monotonic()
                server = min(self._servers, key=lambda one: max(one.rests_until, now))
                if server.rests_until > now:
                    if not self._waiting or self._closed or all(one.refuses for one in self._servers):
                        break
                    self._changed.wait(min(server.rests_until - now, REST_MIN_S))  # if a caller waits, a server's pause is shorter
                if self._closed or self._ask(server):
                    break
            self._fetching = False
            if self._closed:
                self._close_all()
            self._changed.notify_all()

    def _ask(self, server: _Server) -> bool:
        """Requests a block from a server, without holding the lock while it waits."""
        self._requests += 1
        self._lock.release()
        try:
            asked_at, block, wrong = time.monotonic(), None, None
            words = ["VESTA.BLOCK", self._name, str(self._size)]
            try:
                reply = server.ask(words, self._access, asked_at + self._timeout)
                if not isinstance(reply, list) or len(reply) % 2:
                    raise ValueError("its reply is no list of names and values")
                block = _Block(dict(zip(map(str, reply[::2]), reply[1::2])), self._name, self._size, asked_at)
                if block.overlaps(self._block):
                    raise ValueError("its block begins at %d, which was given before" % block.first)
            except (OSError, ValueError, _Refused) as error:
                wrong = error
                server.close()
        finally:
            self._lock.acquire()
        if wrong is None:
            server.rest_s, server.refuses, self._next, self._blocks = 0.0, False, block, self._blocks + 1
            server.said = "replied, but its next block has not arrived yet"
        else:
            server.failed(wrong)
        self._changed.notify_all()
        return wrong is None

    def close(self) -> None:
        """Closes the client.  The unused ids of its blocks are lost, and waiting calls raise Error."""
        with self._lock:
            self._closed, self._fresh_until, self._next = True, NEVER_S, None
            self._changed.notify_all()
            for server in self._servers:
                server.hang_up()
            if not self._fetching:
                self._close_all()

    def _close_all(self) -> None:
        for server in self._servers:
            server.close()

    def info(self) -> Dict[str, Any]:
        """Returns counts: received blocks, requests, blocks that were dropped because of their age, and errors by server."""
        with self._lock:
            return {"blocks": self._blocks, "requests": self._requests, "drops": self._drops,
                    "errors": {server.address: server.errors for server in self._servers}}

    def _forked(self) -> None:
        self._close_all()  # closes this process's copies of the connections without sending anything
        self._begin()


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
