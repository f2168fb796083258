"""Regression: a process could end with signal 11 if a connect to its store was still in progress, because OpenSSL freed
its data in an exit handler, and the thread of the connect used them. The handshake then fails, so this spec continues it
in a later exit handler."""
import os
import socket
import ssl
import subprocess
import sys
import time

from certificates import make_certificates
from harness import SLOW, claim, environment, main

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
ENDS = os.path.join(BUILD, "regress_ends_during_a_connect")
# A server's greeting with a version, an id, 8 and 12 bytes of a nonce, and the flags of TLS and of MariaDB's protocol.
GREETING = (b"\x0a10.11.0-MariaDB\0" + b"\x01\0\0\0" + b"12345678\0" + b"\xfe\xff" + b"\x2d\x02\0" + b"\xff\x81" + b"\x15" + bytes(10) +
            b"123456789012\0" + b"mysql_native_password\0")


def until_tls(kind, peer):
    """Answers until the client's next message is TLS's first one."""
    if kind == "mysql":
        peer.sendall(len(GREETING).to_bytes(3, "little") + b"\0" + GREETING)
        assert len(peer.recv(36, socket.MSG_WAITALL)) == 36
    else:
        assert len(peer.recv(8, socket.MSG_WAITALL)) == 8
        peer.sendall(b"S")
    peer.recv(1, socket.MSG_PEEK)


def ended(world, kind, context, *more):
    """Returns the exit code of a process that ends in a handshake, and whether its client logged in after that."""
    file = world.path("".join((kind, *more)))
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = "%s://me:secret@127.0.0.1:%d/vesta?tls=verify&ca=%s" % (kind, server.getsockname()[1], world.path("tls", "ca.pem"))
        process = subprocess.Popen([ENDS, uri, file, *more], env=environment(world.folder, VESTA_STATE=file + ".state"), stdin=subprocess.DEVNULL)
        server.settimeout(30 * SLOW)
        peer = server.accept()[0]
        with peer:
            peer.settimeout(30 * SLOW)
            until_tls(kind, peer)
            while not os.path.exists(file) and process.poll() is None:
                time.sleep(0.01)
            try:
                with context.wrap_socket(peer, server_side=True) as secured:
                    login = secured.recv(1000)
            except OSError:
                login = b""
            os.remove(file)
        return process.wait(30 * SLOW), b"secret" in login or b"me\0" in login


@claim("a process that ends while a connect is in progress does not crash, with and without vesta_close")
def _(world):
    make_certificates(world.path("tls"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(world.path("tls", "server.pem"), world.path("tls", "server.key"))
    for kind in "mysql", "postgresql":
        if os.path.exists(os.path.join(BUILD, "store", kind + ".so")):
            for more in (), ("unclosed",):
                got = ended(world, kind, context, *more)
                assert got == (0, True), (kind, more, got)


main()
