"""servers.py -- real servers for the specs of stores: started in folders of their own on free ports of this machine,
stopped by pid; a proxy that disturbs connections; and store_call, a store object that a spec controls."""
import contextlib
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from between import Between
from certificates import make_certificates
from claims import SLOW, claim, run  # noqa: F401
from ports import free_port  # noqa: F401
from threads import of_threads

_started = []


def main(part=""):
    """Runs the claims.  Everything that was started is stopped, also after a SIGTERM."""
    try:
        sys.exit(run(part, lambda function: function()))
    finally:
        for server in _started:
            server.end()


def until(true, what, seconds=30):
    """Waits until true() is true, and returns its value.  `what`, or its result if it is callable, describes what did
    not happen."""
    end = time.monotonic() + seconds * SLOW
    while time.monotonic() < end:
        got = true()
        if got:
            return got
        time.sleep(0.03)
    raise AssertionError("not within %d s: %s" % (seconds * SLOW, what() if callable(what) else what))


def gives_ids(port):
    """Whether a `vesta serve` that listens there for HTTP can issue an id now."""
    try:
        return urllib.request.urlopen("http://127.0.0.1:%d/genid" % port, timeout=5).status == 200
    except OSError:
        return False


class Server:
    """A process with a folder and a port of its own."""

    def __init__(self, name):
        self.folder = tempfile.mkdtemp(prefix="vesta-%s-" % name, dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.port = free_port()
        self.process = None
        _started.append(self)

    def path(self, name):
        return os.path.join(self.folder, name)

    def spawn(self, command, **kw):
        with open(self.path("log"), "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **kw)

    def log(self):
        with open(self.path("log"), errors="replace") as file:
            return file.read()[-2000:]

    def wait_ready(self, is_ready):
        def ready():
            assert self.process.poll() is None, "it ended:\n" + self.log()
            return is_ready()
        until(ready, lambda: "the server is ready:\n" + self.log(), 60)

    def pause(self):
        """Stops all its threads, and waits for that: kill(2) returns before they stop."""
        self.halt([self.process.pid])

    @staticmethod
    def halt(pids):
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        # A process that has ended stays a zombie, because its parent is stopped.
        until(lambda: all(stat.rpartition(")")[2].split()[0] in "TZX" for pid in pids for stat in of_threads(pid, "stat")),
              lambda: "these processes have stopped: %r" % {pid: list(of_threads(pid, "stat")) for pid in pids})

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.go_on()
            self.process.send_signal(number)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def end(self):
        self.stop(signal.SIGKILL)
        subprocess.run(["rm", "-rf", self.folder], check=False)


class MariaDB(Server):
    # a tmpdir of its own: a starting server removes all temporary tables that it finds there, also those of other
    # servers

    def __init__(self):
        super().__init__("mariadb")
        self.user = ["--user=root"] if os.geteuid() == 0 else []
        subprocess.run(["mariadb-install-db", "--no-defaults", *self.user, "--datadir=" + self.path("data"), "--skip-test-db",
                        "--tmpdir=" + self.folder, "--auth-root-authentication-method=normal", "--innodb-log-file-size=8M"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=120)

    def start(self, *more, wrapper=()):
        self.spawn([*wrapper, "mariadbd", "--no-defaults", *self.user, "--datadir=" + self.path("data"),
                    "--tmpdir=" + self.folder, "--socket=" + self.path("sock"), "--port=%d" % self.port, "--bind-address=127.0.0.1",
                    "--pid-file=" + self.path("pid"), "--skip-name-resolve", "--innodb-log-file-size=8M",
                    "--innodb-buffer-pool-size=32M", "--performance-schema=0", *more])
        self.wait_ready(lambda: self.client("SELECT 1").returncode == 0)
        return self

    def start_with_tls(self):
        """Stops the server if it runs, and starts it with certificates.  Returns their folder."""
        folder = self.path("tls")
        make_certificates(folder)
        self.stop()
        self.start("--ssl-cert=%s/server.pem" % folder, "--ssl-key=%s/server.key" % folder, "--ssl-ca=%s/ca.pem" % folder)
        return folder

    def client(self, text, user="root"):
        return subprocess.run(["mariadb", "--no-defaults", "-S", self.path("sock"), "-u" + user, "-N", "-B", "-e", text],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)

    def sql(self, text):
        done = self.client(text)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def session(self, *database):
        """A client that stays connected.  Commands go to its stdin."""
        return subprocess.Popen(["mariadb", "--no-defaults", "-S", self.path("sock"), "-uroot", "-N", "-B", "-n", *database],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


class PostgreSQL(Server):
    """As root, it runs as the user postgres, because PostgreSQL refuses to run as root."""

    BIN = os.path.join(sorted(glob.glob("/usr/lib/postgresql/*/") or ["/usr"], key=lambda path: (len(path), path))[-1], "bin/")
    HBA = "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 trust\n"

    def __init__(self, *initdb, primary=None):
        super().__init__("postgresql")
        self.settings, self.env = {}, {}
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        command = ["initdb", "-U", "postgres", "-A", "trust", "--no-sync", "--no-locale", "-E", "UTF8", "--wal-segsize=1", *initdb]
        if primary:
            command = ["pg_basebackup", "-h", "127.0.0.1", "-p", str(primary.port), "-U", "postgres", "-R", "-c", "fast", "--no-sync"]
        self.run(*command, "-D", self.path("data"))
        self.hba(self.HBA)

    @staticmethod
    def as_user():
        return dict(user="postgres", group="postgres", extra_groups=[]) if os.geteuid() == 0 else {}

    def run(self, name, *more):
        done = subprocess.run([self.BIN + name, *more], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, cwd="/", **self.as_user())
        assert done.returncode == 0, done.stderr

    def write(self, name, text):
        """Writes a file that only the server's user can read."""
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), 0o600)
        if os.geteuid() == 0:
            shutil.chown(self.path(name), "postgres", "postgres")
        return self.path(name)

    def hba(self, text):
        self.write("data/pg_hba.conf", text)

    def start(self, **settings):
        """Settings are remembered for later starts."""
        self.settings.update(settings)
        here = {**dict(port=self.port, listen_addresses="127.0.0.1", unix_socket_directories=self.folder,
                       shared_buffers="16MB", max_connections=200, dynamic_shared_memory_type="mmap", autovacuum="off"), **self.settings}
        self.spawn([self.BIN + "postgres", "-D", self.path("data"), *(word for name, value in here.items() for word in ("-c", "%s=%s" % (name, value)))],
                   cwd="/", env=dict(os.environ, **self.env), **self.as_user())
        self.wait_ready(lambda: self.client("SELECT 1").returncode == 0)
        return self

    def start_with_tls(self):
        """Stops the server if it runs, and starts it with certificates.  Returns their folder."""
        folder = self.path("tls")
        make_certificates(folder)
        for name in ("server.pem", "server.key"):
            with open(os.path.join(folder, name)) as file:
                self.write("data/" + name, file.read())
        self.stop()
        self.start(ssl="on", ssl_cert_file="server.pem", ssl_key_file="server.key")
        return folder

    def stop(self, number=signal.SIGINT):
        """SIGINT disconnects the clients.  SIGQUIT is a crash: no checkpoint, and the next start reads the log."""
        super().stop({signal.SIGKILL: signal.SIGQUIT, signal.SIGTERM: signal.SIGINT}.get(number, number))

    def processes(self):
        found = [self.process.pid]
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            return found + [int(pid) for pid in file.read().split()]

    def pause(self):
        """Stops the server and the processes of its connections.  Only a stopped server starts no other process."""
        super().pause()
        self.halt(self.processes())

    def go_on(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):  # of a session that ends
                os.kill(pid, signal.SIGCONT)

    def client(self, text, database="postgres"):
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-c", text, database],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)

    def sql(self, text, database="postgres"):
        done = self.client(text, database)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def session(self, database="postgres"):
        """A client that stays connected.  Commands go to its stdin."""
        return subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-h", self.folder, "-p", str(self.port), "-U", "postgres", database],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def promote(self):
        """Makes a standby a primary."""
        self.sql("SELECT pg_promote()")

    def has_replayed(self, primary):
        """Whether this standby has all changes of its primary."""
        return self.sql("SELECT pg_last_wal_replay_lsn() >= '%s'" % primary.sql("SELECT pg_current_wal_lsn()")) == "t"


class PgBouncer(Server):
    """A pooler in front of a PostgreSQL: each transaction may run in another session.  `users`: their passwords."""

    def __init__(self, db, **users):
        super().__init__("pgbouncer")
        with open(self.path("users"), "w") as file:
            file.write("".join('"%s" "%s"\n' % pair for pair in users.items()))
        with open(self.path("ini"), "w") as file:
            file.write("[databases]\n* = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\n"
                       "auth_type = scram-sha-256\nauth_file = %s\npool_mode = transaction\ndefault_pool_size = 4\nmax_client_conn = 200\n"
                       % (db.port, self.port, self.path("users")))
        os.chmod(self.folder, 0o755)
        self.spawn(["pgbouncer", self.path("ini")], cwd="/", **PostgreSQL.as_user())
        self.wait_ready(lambda: socket.socket().connect_ex(("127.0.0.1", self.port)) == 0)


class ZooKeeper(Server):
    JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar"

    def __init__(self, more=""):
        super().__init__("zookeeper")
        os.makedirs(self.path("data"))
        with open(self.path("zoo.cfg"), "w") as file:
            file.write("tickTime=500\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\n"
                       "admin.enableServer=false\n4lw.commands.whitelist=srvr\n%s" % (self.path("data"), self.port, more))

    def start(self, **env):
        self.spawn(["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no",
                    "-Djava.net.preferIPv4Stack=true", "-cp", self.JARS,
                    "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.path("zoo.cfg")],
                   env=dict(os.environ, **env))
        return self

    def ready(self):
        self.wait_ready(self.mode)
        return self

    def mode(self):
        """Returns 'standalone', 'leader', ... when it serves.  ruok would answer earlier."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as to:
                to.settimeout(1)
                to.sendall(b"srvr")
                said = b""
                while chunk := to.recv(4096):
                    said += chunk
        except OSError:
            return None
        found = re.search(r"^Mode: (\w+)", said.decode(), re.M)
        return found and found[1]


def ensemble(count):
    """ZooKeepers that elect a leader."""
    servers = [ZooKeeper() for _ in range(count)]
    ports = [(free_port(), free_port()) for _ in servers]
    for number, server in enumerate(servers, 1):
        with open(os.path.join(server.path("data"), "myid"), "w") as file:
            file.write("%d\n" % number)
        with open(server.path("zoo.cfg"), "a") as file:
            file.write("initLimit=20\nsyncLimit=10\n")
            for other, (quorum, election) in enumerate(ports, 1):
                file.write("server.%d=127.0.0.1:%d:%d\n" % (other, quorum, election))
    for server in servers:
        server.start()
    for server in servers:
        server.ready()
    return servers


class Proxy(Between):
    """A proxy between a client and a server that passes bytes on until it is configured otherwise.

    lose_answers, lose_requests: drops what the server, or the client, sends, and closes the connection.
    hold_requests: keeps what the client sends until heal().  With `at`, this begins with the first request for which
    at(data) is true.  trickle: answers come a kilobyte at a time, five a second.
    """

    def __init__(self, target):
        self.pairs = []
        self.lock = threading.Condition()
        self.heal()
        super().__init__(target)

    def heal(self):
        with self.lock:
            self.lose_answers = self.lose_requests = self.hold_requests = self.trickle = False
            self.at = None
            self.lock.notify_all()

    def cut(self):
        for client, server in self.pairs:
            self.end(client, server)
        self.pairs = []

    @staticmethod
    def end(*ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def met(self, client, server):
        self.pairs.append((client, server))
        self.in_background(self.pump, client, server, True)
        self.in_background(self.pump, server, client, False)

    def pump(self, source, sink, from_client):
        try:
            while data := source.recv(65536):
                with self.lock:
                    if from_client and self.at and self.at(data):
                        self.at = None
                    while from_client and self.hold_requests and not self.at:
                        self.lock.wait()
                    if not self.at and (self.lose_requests if from_client else self.lose_answers):
                        break
                while self.trickle and not from_client and len(data) > 1024:
                    sink.sendall(data[:1024])
                    data = data[1024:]
                    time.sleep(0.2)
                sink.sendall(data)
        except OSError:
            pass
        self.end(source, sink)


class Ended(AssertionError):
    """A process ended before it answered."""


class Caller:
    """store_call: one store object, one command per line."""

    def __init__(self, call, uri, ns="orders", call_ms=20000, stderr=None, **env):
        self.process = subprocess.Popen([call, uri, ns, str(call_ms)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                        text=True, bufsize=1, env=dict(os.environ, **env))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        assert code == 0, "store_call ended with %d" % code

    def send(self, order):
        self.process.stdin.write(order + "\n")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Ended("store_call ended with %d" % self.process.wait(20))
        assert " | " in line, "store_call said %r" % line
        head, text = line.rstrip("\n").split(" | ", 1)
        outcome, *rest = head.split()
        got = {key: int(value) for key, value in (pair.split("=") for pair in rest)}
        got.update(outcome=outcome, text=text)
        return got

    def ask(self, order, *wants):
        """Returns the answer.  Its outcome must be among `wants`, if there are any."""
        self.send(order)
        got = self.answer()
        assert not wants or got["outcome"] in wants, "%s: %r, want %s" % (order, got, " or ".join(wants))
        return got

    def settle(self, order, want="OK", seconds=20):
        """Repeats the command until the answer is `want`, because an unreachable store comes back."""
        got = {}

        def came():
            got.update(self.ask(order))
            return got["outcome"] == want
        until(came, lambda: "%s answers %s, last %r" % (order, want, got), seconds)
        return got


def contract(program, uri, claims):
    """Checks every claim of the contract.  `uri` may be a URI and further arguments of the program."""
    done = subprocess.run([program, *([uri] if isinstance(uri, str) else uri)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300 * SLOW)
    assert done.stdout.endswith("%d passed, 0 failed\n" % claims), done.stdout + done.stderr


def has(text, *parts):
    for part in parts:
        assert part in text, "%r is not in %r" % (part, text)
