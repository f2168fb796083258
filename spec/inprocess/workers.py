"""workers.py VESTA BUILD SERVER -- gunicorn, puma, php-fpm or a cluster of Node.js with workers that share a generator, as
docs/languages.md describes.  Each reply has the worker's pid and an id.  Under load the server reloads, and a worker is killed
with -9.  All ids must differ and have one worker id."""
import http.client
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

BUILD, NAME = os.path.abspath(sys.argv[2]), sys.argv[3]
sys.argv[2:] = []
from harness import VESTA, claim, environment, main, same  # noqa: E402
from languages import HERE, LANGUAGES  # noqa: E402
from servers import free_port, until  # noqa: E402

CLASSES = os.path.join(HERE, "..", "..", "examples", "inprocess")
CALLERS, REQUESTS = 4, 60
SKIPPED = 77

PYTHON = """import os, sys
sys.path.insert(0, "CLASSES")
import vesta_ids
ids = vesta_ids.open("OPTIONS")
ids.next()
def app(environ, start_response):
    start_response("200 OK", [])
    return [b"%d %d" % (os.getpid(), ids.next())]
"""
RUBY = """require 'CLASSES/vesta_ids'
IDS = VestaIds.open("OPTIONS")
IDS.next
run ->(_) { [200, {}, ["#{Process.pid} #{IDS.next}"]] }
"""
PHP = """<?php $ids = new VestaIds("OPTIONS"); echo getmypid(), ' ', $ids->next();"""
NODE = """const cluster = require('node:cluster');
if (cluster.isPrimary) {
  for (let i = 0; i < 2; i += 1) cluster.fork();
  cluster.on('exit', (worker) => { if (!worker.exitedAfterDisconnect) cluster.fork(); });
  process.on('SIGHUP', () => {
    for (const old of Object.values(cluster.workers)) cluster.fork().on('listening', () => old.disconnect());
  });
} else {
  const ids = require('CLASSES/vesta_ids.js').open("OPTIONS");
  require('node:http').createServer((_, reply) => reply.end(`${process.pid} ${ids.next()}`)).listen(PORT, '127.0.0.1');
}
"""
FPM = """[global]
error_log = FOLDER/log
daemonize = no
[www]
listen = FOLDER/fpm.sock
pm = static
pm.max_children = 3
pm.max_requests = 50
"""


def get_http(port, _folder):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=3)
    try:
        connection.request("GET", "/")
        reply = connection.getresponse()
        return reply.read() if reply.status == 200 else b""
    finally:
        connection.close()


def get_fastcgi(_port, folder):
    """The FastCGI protocol: a request in three records, and the records of the reply."""
    def record(kind, content):
        return struct.pack(">BBHHBB", 1, kind, 1, len(content), 0, 0) + content
    pairs = {"REQUEST_METHOD": "GET", "SCRIPT_FILENAME": os.path.join(folder, "page.php")}
    params = b"".join(bytes([len(name), len(value)]) + name.encode() + value.encode() for name, value in pairs.items())
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(3)
        connection.connect(os.path.join(folder, "fpm.sock"))
        connection.sendall(record(1, struct.pack(">HB5x", 1, 0)) + record(4, params) + record(4, b"") + record(5, b""))
        reply, out = connection.makefile("rb"), b""
        while True:
            head = reply.read(8)
            if len(head) < 8:
                return b""
            _, kind, _, length, padding, _ = struct.unpack(">BBHHBB", head)
            content = reply.read(length + padding)[:length]
            if kind == 3:  # the end of the request
                return out.partition(b"\r\n\r\n")[2]
            out += content if kind == 6 else b""


# program, its package, language, files, command, signal to reload, how to request
SERVERS = {
    "gunicorn": ("gunicorn", "gunicorn", "python", {"app.py": PYTHON},
                 "gunicorn --preload --workers 2 --threads 2 --graceful-timeout 5 -b 127.0.0.1:PORT app:app", signal.SIGHUP, get_http),
    "puma": ("puma", "puma", "ruby", {"config.ru": RUBY}, "puma --preload -w 2 -t 2:2 -b tcp://127.0.0.1:PORT config.ru", signal.SIGUSR2, get_http),
    "php-fpm": ("php-fpm8.2", "php-fpm", "php", {"page.php": PHP, "fpm.conf": FPM},
                "php-fpm8.2 -F -R -y FOLDER/fpm.conf -d ffi.enable=preload -d opcache.preload=CLASSES/VestaIds.php -d opcache.preload_user=USER",
                signal.SIGUSR2, get_fastcgi),
    "node-cluster": ("node", "nodejs", "node", {"main.js": NODE}, "node main.js", signal.SIGHUP, get_http),
}
PROGRAM, PACKAGE, LANGUAGE, FILES, COMMAND, RELOAD, GET = SERVERS[NAME]


class Site:
    def __init__(self, world):
        self.folder, self.port, self.lock, self.replies = world.folder, free_port(), threading.Lock(), []
        words = {"CLASSES": os.path.abspath(CLASSES), "OPTIONS": "path=%s any_worker=true" % world.path("ids.gen"), "PORT": str(self.port),
                 "FOLDER": world.folder, "USER": "root" if os.geteuid() == 0 else "nobody"}

        def filled(text):
            for word, value in words.items():
                text = text.replace(word, value)
            return text
        for name, text in FILES.items():
            with open(world.path(name), "w") as file:
                file.write(filled(text))
        language = next(language for language in LANGUAGES if language.name == LANGUAGE)
        env = environment(world.folder, LD_LIBRARY_PATH=os.path.join(os.path.dirname(VESTA), "csrc"), **language.env)
        env["PATH"] += ":/usr/sbin"
        self.log = open(world.path("log"), "a+")
        self.process = subprocess.Popen(filled(COMMAND).split(), cwd=world.folder, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        start_new_session=True)
        world.ends.callback(self.end)
        until(self.request, self.last_words)

    def last_words(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def request(self):
        """Returns the pid of a worker and its id, or None while the server restarts or if the worker was killed."""
        try:
            words = GET(self.port, self.folder).split()
        except (OSError, http.client.HTTPException):
            return None
        if len(words) != 2:
            return None
        pid, id = map(int, words)
        with self.lock:
            self.replies.append((pid, id))
        return pid, id

    def load(self):
        end = time.monotonic() + 60
        for _ in range(REQUESTS):
            while not self.request():
                assert time.monotonic() < end, self.last_words()
                time.sleep(0.02)

    def in_parallel(self, meanwhile):
        callers = [threading.Thread(target=self.load) for _ in range(CALLERS)]
        for caller in callers:
            caller.start()
        meanwhile()
        for caller in callers:
            caller.join()

    def kill_one(self):
        """Kills the worker that replied last.  It may just have ended by itself."""
        def is_killed():
            try:
                os.kill(self.replies[-1][0], signal.SIGKILL)
                return True
            except ProcessLookupError:
                return False
        until(is_killed, "a worker is killed")

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@claim("%s: workers share one generator over forks, a reload and kill -9 of a worker, and no id repeats" % NAME)
def _(w):
    site = Site(w)
    site.in_parallel(lambda: None)
    before = {pid for pid, _ in site.replies}
    site.in_parallel(lambda: site.process.send_signal(RELOAD))
    until(lambda: (site.request() or [0])[0] not in {0, *before}, site.last_words)
    site.in_parallel(site.kill_one)
    ids = [id for _, id in site.replies]
    assert len(ids) >= 3 * CALLERS * REQUESTS and len(set(ids)) == len(ids), (len(ids), len(set(ids)))
    same(len({id & 1023 for id in ids}), 1)  # the worker id is in the lowest bits of vesta-second
    assert len({pid for pid, _ in site.replies}) >= 4, "%d workers" % len({pid for pid, _ in site.replies})
    print("    %d ids by %d workers" % (len(ids), len({pid for pid, _ in site.replies})))


why = next(language for language in LANGUAGES if language.name == LANGUAGE).missing(BUILD)
if not shutil.which(PROGRAM, path=os.environ["PATH"] + ":/usr/sbin"):
    why = "no %s here: apt-get install %s" % (PROGRAM, PACKAGE)
if why:
    print("skipped: %s: %s" % (NAME, why))
    sys.exit(SKIPPED)
main()
