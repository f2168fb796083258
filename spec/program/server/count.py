"""count.py -- uniqueness by counting ids over both protocols, several connections and two threads."""
import re
import threading

from serving import Server, bulks, claim, command, get, main, same, until_closed

CONNECTIONS, ROUNDS = 4, 10


def resp_ids(server, out):
    with server.connect(server.resp) as sock:
        for _ in range(ROUNDS):
            sock.sendall(command("GET", "default") * 2000 + command("MGET", *["default"] * 1000))
        sock.sendall(command("QUIT"))
        out.append(bulks(until_closed(sock)))


def http_ids(server, out):
    with server.connect(server.http) as sock:
        for _ in range(ROUNDS):
            sock.sendall(get("/genid") * 1000 + get("/v1/ids?n=2000&format=text"))
        sock.sendall(get("/healthz", "Connection: close"))
        data = until_closed(sock)
        out.append([int(id) for id in re.findall(rb"(?m)^(\d+)(?=HTTP/1.1 |\n)", data)])


def count(server):
    lists = []
    threads = [threading.Thread(target=target, args=(server, lists)) for target in (resp_ids, http_ids) * CONNECTIONS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same([len(ids) for ids in lists], [ROUNDS * 3000] * 2 * CONNECTIONS)
    ids = sorted(id for ids in lists for id in ids)
    twice = sum(a == b for a, b in zip(ids, ids[1:]))
    same((len(ids), twice), (240000, 0))
    return ids


@claim("240,000 ids over both protocols on two threads with history pacing have no duplicate and no gap")
def _(world):
    with Server(world, "--threads", "2") as server:
        ids = count(server)
        same(ids[-1] - ids[0], (len(ids) - 1) << 10)


@claim("240,000 ids over both protocols on two threads with clock pacing have no duplicate")
def _(world):
    with Server(world, "--threads", "2", layout="vesta-second", pacing="clock") as server:
        count(server)


main()
