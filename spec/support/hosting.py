"""hosting.py -- runs a foreign program with an example: started in a folder of the world, awaited, ended by pid."""
import concurrent.futures
import http.client
import os
import shutil
import signal
import socket
import subprocess
import time

from serving import SLOW, Server, free_port, give_back

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
DOCS = os.path.join(EXAMPLES, "..", "docs")


def found(program):
    """The path of a program of Debian."""
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")


def adapted(text, *changes):
    """An example with other ports and folders.  Each change must match."""
    for old, new in changes:
        assert old in text, "%r is not in the example" % old
        text = text.replace(old, new)
    return text


def example(*names):
    with open(os.path.join(EXAMPLES, *names)) as file:
        return file.read()


def second(world, *flags):
    """Another server of the namespace, with its own worker id and state."""
    server = Server(world, "--path", world.path("second.gen"), *flags)
    server.args[server.args.index("--worker") + 1] = "6"
    return server


class Host:
    """A program that listens on `port`.  It is asked to `stop`, and has 10 s to end."""

    def __init__(self, world, args, stop=signal.SIGTERM, port=None, env=None):
        self.args, self.stop, self.port, self.folder = args, stop, port or free_port(), world.folder
        self.log, self.env = world.path("host.log"), dict(os.environ, LC_ALL="C.UTF-8", **(env or {}))

    def __enter__(self):
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(self.args, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        for _ in range(1000 * SLOW):
            assert self.process.poll() is None, "it ended:\n" + self.said()
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self
            except OSError:
                time.sleep(0.02)
        raise AssertionError("nobody listens:\n" + self.said())

    def __exit__(self, kind, value, trace):
        self.process.send_signal(self.stop)
        try:
            self.process.wait(10 * SLOW)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            give_back(self.port)
            if kind is not None:
                print(self.said()[-3000:])

    def said(self):
        with open(self.log, errors="replace") as log:
            return log.read()

    def ask(self, path="/", headers=None):
        """Returns (status, X-Request-Id of the answer, body).  The body is what the application received."""
        return self.ask_many(1, path, headers)[0]

    def ask_many(self, n, path="/", headers=None):
        """The same, n times over one connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20 * SLOW)
        answers = []
        for _ in range(n):
            connection.request("GET", path, headers=headers or {})
            reply = connection.getresponse()
            answers.append((reply.status, reply.getheader("X-Request-Id"), reply.read().decode().strip()))
        connection.close()
        return answers

    def crowd(self, clients, n, path="/"):
        """All answers to n requests each of that many clients at once."""
        with concurrent.futures.ThreadPoolExecutor(clients) as pool:
            return [answer for answers in pool.map(lambda _: self.ask_many(n, path), range(clients)) for answer in answers]

    def until(self, true, what):
        for _ in range(1000 * SLOW):
            if true():
                return
            time.sleep(0.02)
        raise AssertionError("never happened: %s\n%s" % (what, self.said()[-3000:]))


def ids_of(answers):
    """The ids, which must all be different.  Log, application and client must have the same ids."""
    for status, name, body in answers:
        assert status == 200 and name == body and name.isdigit(), (status, name, body)
    ids = {name for _, name, _ in answers}
    assert len(ids) == len(answers), "%d of %d came twice" % (len(answers) - len(ids), len(answers))
    return ids


HOSTILE = ["", "a b", "a,b", "x" * 65, "\x7f", "é", "<script>", "%n%s", "a;b", '"']
