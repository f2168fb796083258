"""secured.py -- a `vesta serve` with TLS.  The second argument of a spec makes its certificates."""
import atexit
import functools
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile

from serving import SLOW, Server

CERTIFICATES = os.path.abspath(sys.argv.pop(2))


@functools.lru_cache(maxsize=None)
def certificates():
    """Makes the certificates once.  Each server has a copy."""
    folder = tempfile.mkdtemp(prefix="vesta-certificates-")
    atexit.register(shutil.rmtree, folder)
    subprocess.run([CERTIFICATES, folder + "/made"], check=True, timeout=60 * SLOW)
    return folder + "/made"


class Secure(Server):
    """A server with TLS on both listeners, and its own pair of files."""

    def __init__(self, world, *flags, **kw):
        self.own, self.made = world.path("own"), world.path("made")
        if not os.path.exists(self.made):
            shutil.copytree(certificates(), self.made)
            os.mkdir(self.own)
            self.put("server")
        super().__init__(world, "--tls-certificate", self.own + "/pem", "--tls-key", self.own + "/key", *flags, **kw)
        for at in self.args.index("--http") + 1, self.args.index("--resp") + 1:
            self.args[at] = "tls:" + self.args[at]

    def put(self, certificate, key=None):
        """Replaces each file by a rename, as people do."""
        for kind, name in ("pem", certificate), ("key", key or certificate):
            with open("%s/%s.%s" % (self.made, name, kind), "rb") as file, open("%s/new" % self.own, "wb") as new:
                new.write(file.read())
            os.rename(self.own + "/new", "%s/%s" % (self.own, kind))

    def file(self, name):
        return os.path.join(self.made, name)

    def context(self, shows=None, ca="ca.pem"):
        context = ssl.create_default_context(cafile=self.file(ca))
        if shows:
            context.load_cert_chain(self.file(shows + ".pem"), self.file(shows + ".key"))
        return context

    def connect(self, port, context=None, **kw):
        return (context or self.context()).wrap_socket(super().connect(port), server_hostname="localhost", **kw)

    def plain(self, port):
        return super().connect(port)

    def say(self, port, data, end=True):
        with self.connect(port) as sock:
            sock.sendall(data)
            return whole(sock, port == self.resp)

    def curl(self, path, *flags):
        return subprocess.run(["curl", "-sS", "--cacert", self.file("ca.pem"), *flags, "https://localhost:%d%s" % (self.http, path)],
                              capture_output=True, text=True, timeout=60 * SLOW)

    def cli(self, *words, flags=()):
        done = subprocess.run(["redis-cli", "--tls", "--cacert", self.file("ca.pem"), "-p", str(self.resp), *flags, *words],
                              capture_output=True, text=True, timeout=60 * SLOW)
        return done.stdout.strip() + done.stderr.strip()

    def s_client(self, *flags, port=None, stdin=b""):
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % (port or self.http), "-CAfile",
                               self.file("ca.pem"), *flags], input=stdin, capture_output=True, timeout=60 * SLOW)
        return (done.stdout + done.stderr).decode(errors="replace")

    def get(self, path, method="GET", headers=None, body=None):
        raise NotImplementedError

    def await_http(self):
        raise NotImplementedError

    def metric(self, name):
        return int(re.search(r"^%s (\d+)$" % re.escape(name), self.curl("/metrics").stdout, re.M)[1])


def whole(sock, resp):
    """Returns one reply, because Python's TLS cannot close one direction only."""
    data = b""
    while not (data.endswith(b"\r\n") if resp else data.count(b"\r\n\r\n") and
               len(data.split(b"\r\n\r\n", 1)[1]) >= int(re.search(rb"(?i)content-length: (\d+)", data)[1])):
        part = sock.recv(65536)
        if not part:
            return data
        data += part
    return data
