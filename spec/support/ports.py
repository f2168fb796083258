"""ports.py -- ports of this machine for servers of specs that run at the same time.  They are below the kernel's own
range, because another connection could take a port of that range between check and use.

    ports.py COUNT      prints so many on one line, and reserves them until its stdin ends
"""
import random
import socket
import sys

_marks = {}  # abstract sockets by port, so that two specs do not choose the same port


def free_port():
    for _ in range(500):
        port = random.randrange(21100, 22000)
        mark = socket.socket(socket.AF_UNIX)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                mark.bind("\0vesta-spec-port-%d" % port)
                probe.bind(("127.0.0.1", port))
                _marks[port] = mark
                return port
            except OSError:
                mark.close()
    raise RuntimeError("no free port")


def give_back(port):
    _marks.pop(port).close()


if __name__ == "__main__":
    print(*(free_port() for _ in range(int(sys.argv[1]))), flush=True)
    sys.stdin.read()
