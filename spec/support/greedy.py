"""greedy.py -- a client that takes all it can get, alongside others that want little, and what each of them received
when.

All clients run in one process and one thread, over non-blocking sockets.  A Client has some connections, each with
one request or one pipeline in flight.  It sends the next at once, or a fixed number a second.
"""
import json
import os
import re
import selectors
import socket
import time

BLOCK = re.compile(rb'"count":(\d+)')


class Connection:
    def __init__(self, client, number):
        self.client, self.number = client, number
        self.socket = socket.create_connection(("127.0.0.1", client.port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.inbox, self.asked_s, self.due_s = b"", 0, 0

    def hello(self, words):
        if not words:
            return
        self.socket.sendall(b"AUTH %s %s\r\n" % tuple(word.encode() for word in words))
        assert self.socket.recv(100) == b"+OK\r\n", "AUTH was refused"


class Client:
    """`ask`: the bytes of a request.  `every_s`: the interval of requests per connection (0: at once).  `pipeline`:
    requests sent together."""

    def __init__(self, name, port, ask, connections=1, every_s=0, pipeline=1, ids=1, auth=None):
        self.name, self.port, self.ask, self.every_s, self.ids = name, port, ask * pipeline, every_s, ids
        self.pipeline, self.got, self.refused, self.waited_s, self.sample = pipeline, 0, 0, [], []
        self.is_http = ask.startswith(b"GET /") or ask.startswith(b"POST /")
        self.connections = [Connection(self, i) for i in range(connections)]
        self.errors = []
        for one in self.connections:
            one.hello(auth)

    def close(self):
        for one in self.connections:
            one.socket.close()

    def take(self, connection):
        """Reads complete replies.  True: all requests of the connection are answered."""
        connection.inbox += connection.socket.recv(1 << 18)
        parse = http_reply if self.is_http else resp_reply
        at = 0
        while True:
            length, ids, error = parse(connection.inbox, at, self.ids)
            if length == 0:
                break
            at += length
            connection.left -= 1
            self.got += ids
            if error:
                self.refused += 1
                self.errors.append(error)
        connection.inbox = connection.inbox[at:]
        return connection.left == 0


def http_reply(data, at, ids):
    end = data.find(b"\r\n\r\n", at)
    if end < 0:
        return 0, 0, None
    head = data[at:end]
    length = int(head[head.index(b"Content-Length: ") + 16:].split(b"\r", 1)[0])
    if len(data) < end + 4 + length:
        return 0, 0, None
    body = data[end + 4:end + 4 + length]
    if not head.startswith(b"HTTP/1.1 200"):
        return end + 4 + length - at, 0, head + b"\n" + body
    count = BLOCK.search(body)
    return end + 4 + length - at, int(count[1]) if count else ids, None


def resp_reply(data, at, ids):
    end = data.find(b"\r\n", at)
    if end < 0:
        return 0, 0, None
    kind, rest = data[at:at + 1], data[at + 1:end]
    if kind == b"-":
        return end + 2 - at, 0, data[at:end]
    if kind == b"$":
        whole = end + 2 + int(rest) + 2
        return (whole - at, ids, None) if len(data) >= whole else (0, 0, None)
    if kind != b"*":
        return end + 2 - at, ids, None
    where = end + 2
    for _ in range(int(rest)):
        length, _, error = resp_reply(data, where, 1)
        if length == 0:
            return 0, 0, None
        where += length
    count = re.search(rb"count\r\n(?::|\$\d+\r\n)(\d+)", data[at:where])
    return where - at, int(count[1]) if count else int(rest), None


def run(clients, for_s, step_s=0.1, on_step=None):
    """Runs the clients for that time.  client.sample has what each received in each step."""
    selector = selectors.DefaultSelector()
    begun_s = time.monotonic()
    for client in clients:
        client.got, client.refused, client.waited_s, client.sample, client.errors = 0, 0, [], [], []
        for one in client.connections:
            one.socket.setblocking(False)
            one.left, one.due_s = 0, begun_s + client.every_s * one.number / max(1, len(client.connections))
            selector.register(one.socket, selectors.EVENT_READ, one)
    def sent(one, now):
        one.left, one.asked_s = one.client.pipeline, now
        one.socket.send(one.client.ask)

    every = [one for client in clients for one in client.connections]
    resting, next_s, before = set(every), begun_s + step_s, {client: 0 for client in clients}
    while True:
        now = time.monotonic()
        if now >= next_s:
            for client in clients:
                client.sample.append(client.got - before[client])
                before[client] = client.got
            if on_step:
                on_step(now - begun_s)
            next_s += step_s
        if now - begun_s >= for_s:
            break
        for one in [one for one in resting if one.due_s <= now]:
            resting.discard(one)
            sent(one, now)
        soon_s = min([one.due_s for one in resting], default=next_s)
        for key, _ in selector.select(max(0, min(soon_s, next_s) - time.monotonic())):
            one = key.data
            if not one.client.take(one):
                continue
            now = time.monotonic()
            one.client.waited_s.append(now - one.asked_s)
            if one.client.every_s == 0:
                sent(one, now)
            else:
                one.due_s = max(one.due_s + one.client.every_s, now - one.client.every_s)
                resting.add(one)
    drain(selector, [one for one in every if one not in resting])


def apart(make, for_s, step_s=0.1):
    """Starts the clients of make() in a process of their own.  Call the result to get their counts."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        clients = make()
        run(clients, for_s, step_s)
        told = [{"name": c.name, "got": c.got, "refused": c.refused, "sample": c.sample,
                 "error": c.errors[0].decode(errors="replace") if c.errors else None} for c in clients]
        os.write(writing, json.dumps(told).encode())
        os._exit(0)
    os.close(writing)

    def counts():
        with os.fdopen(reading) as pipe:
            told = json.loads(pipe.read())
        os.waitpid(child, 0)
        return told
    return counts


def drain(selector, asked):
    """Reads the replies in flight, so that the connections can be used again."""
    until_s = time.monotonic() + 10
    left = {one for one in asked if one.left > 0}
    while left and time.monotonic() < until_s:
        for key, _ in selector.select(0.1):
            got = key.data.client.got
            if key.data.client.take(key.data):
                left.discard(key.data)
            key.data.client.got = got # too late to be counted
    selector.close()
