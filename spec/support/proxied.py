"""proxied.py -- sends headers of the PROXY protocol, as balancers do, from loopback addresses."""
import socket
import struct

from serving import SLOW, until_closed

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BALANCER = "127.0.0.2"  # of this machine, but different from the tests' client addresses


def header(source=None, port=4711, behind=b"", command=0x21, family=None, length=None):
    """A header of version 2 with that source, or without one.  `behind` are TLVs after the addresses."""
    said = b""
    if source:
        kind = socket.AF_INET6 if ":" in source else socket.AF_INET
        family = (0x21 if ":" in source else 0x11) if family is None else family
        host = socket.inet_pton(kind, source)
        said = host + bytes(len(host)) + struct.pack(">HH", port, 80)
    said += behind
    return SIGNATURE + struct.pack(">BBH", command, family or 0, len(said) if length is None else length) + said


def call(port, source=BALANCER):
    """Connects to this machine from this address of it."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW, source_address=(source, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def say(port, *parts, source=BALANCER):
    """Sends the parts one after the other, ends the sending side, and returns all replies until the server closes."""
    with call(port, source) as sock:
        try:
            for part in parts:
                sock.sendall(part)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server may reject before it has read everything
        return until_closed(sock)
