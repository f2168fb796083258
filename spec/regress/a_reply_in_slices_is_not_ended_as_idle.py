"""Regression: only bytes from a client counted as its activity. Sixty clients each sent an `EXEC` of 10,000 `INFO` and
read the reply without a pause. With idle_ms_max = 500 the server closed the connections after 0.67 s, during the reply.
"""
import threading
import time

from serving import Configured, claim, main, SLOW

CLIENTS = 100
CONFIG = """
return { namespaces = { n1 = { worker = 5 } }, threads = 1, resp = { idle_ms_max = %d } }
""" % (1000 * SLOW)
EXEC = b"MULTI\r\n" + b"INFO\r\n" * 10000 + b"EXEC\r\nECHO behind\r\n"
END = b"$6\r\nbehind\r\n"


def read_reply(server, outcomes):
    with server.connect(server.resp) as sock:
        sock.settimeout(60 * SLOW)
        began = time.monotonic()
        sock.sendall(EXEC)
        tail = b""
        while not tail.endswith(END):
            data = sock.recv(1 << 20)
            if not data:
                outcomes.append("the server ended it after %.2f s" % (time.monotonic() - began))
                return
            tail = (tail + data)[-100:]
        outcomes.append("whole")


@claim("100 clients that continuously read a long reply get all of it, even if that takes longer than idle_ms_max")
def _(world):
    with Configured(world, CONFIG) as server:
        outcomes = []
        readers = [threading.Thread(target=read_reply, args=(server, outcomes)) for _ in range(CLIENTS)]
        began = time.monotonic()
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        print("# %d replies took %.2f s" % (CLIENTS, time.monotonic() - began), flush=True)
        assert outcomes == ["whole"] * CLIENTS, outcomes


main()
