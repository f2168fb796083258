"""proxied.py -- what balancers say: headers of the PROXY protocol, and connections of loopback addresses that say them."""
import socket
import struct

from serving import SLOW, until_closed

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
BALANCER = "127.0.0.2"  # of this machine, and another address than the clients' of the tests


def header(source=None, port=4711, behind=b"", command=0x21, family=None, length=None):
    """Version 2: of that source, else of nobody; `behind` its addresses stand TLVs."""
    said = b""
    if source:
        kind = socket.AF_INET6 if ":" in source else socket.AF_INET
        family = (0x21 if ":" in source else 0x11) if family is None else family
        host = socket.inet_pton(kind, source)
        said = host + bytes(len(host)) + struct.pack(">HH", port, 80)
    said += behind
    return SIGNATURE + struct.pack(">BBH", command, family or 0, len(said) if length is None else length) + said


def call(port, source=BALANCER):
    """A connection to this machine, from this address of it."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=20 * SLOW, source_address=(source, 0))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def say(port, *parts, source=BALANCER):
    """Says the parts, one after the other, ends, and returns all that is answered until the server closes."""
    with call(port, source) as sock:
        try:
            for part in parts:
                sock.sendall(part)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before it had read all
        return until_closed(sock)
