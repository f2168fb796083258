"""hostile_calls.py -- hostile values in each parameter of each command and route."""
import http.client
import re
import socket
import urllib.parse

from serving import Configured, claim, command, main, same, SLOW

VALUES = ["", "0", "1", "-1", "2", "10001", "65537", "9223372036854775807", "9223372036854775808", "18446744073709551615", "1e9", "1.5", "9" * 400,
          "0" * 32, "f" * 32, "default", "dense", "strict", "form", "trend", "nobody", "*", "'; --", "\r\n+OK\r\n", "\0", "\x7f", "\xff\xfe", "a" * 65,
          "a" * 4000, "%", "../../etc/passwd", "2020-01-01T00:00:00Z"]
ENDS = ("/admin/drain", "QUIT", "SHUTDOWN")

TAGS = """return { clients_max = nil, namespaces = { default = { worker = 1 } }, admin = { listen = "unix:%(admin)s" },
  stores = { a = { uri = 'sqlite:%(db)s' } }, segments = {
    { store = 'a', tags = { 'dense' }, order = 'dense', wait_ms_max = 200 }, { store = 'a', tags = { 'strict' }, order = 'strict', wait_ms_max = 200 },
    { store = 'a', tags = { 'form' }, order = 'strict', form = 'INV-{number:6}', wait_ms_max = 200 }, { store = 'a', tags = { 'trend' }, wait_ms_max = 200 } } }"""


def config(world):
    for tag in ("dense", "strict", "form", "trend"):
        same(world.run("segments", "add", tag, "--store", "sqlite:" + world.path("v.db")).code, 0)
    return (TAGS % {"admin": world.path("admin.sock"), "db": world.path("v.db")}).replace("clients_max = nil, ", "")


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=20 * SLOW)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20 * SLOW)
        self.sock.connect(self.path)


def routes(text):
    for line in text.splitlines():
        found = re.match(r"\s*(/[^\s?]*)(\?\S+)? -- ", line)
        if found:
            yield found[1], re.findall(r"[?&](\w+)=", found[2] or "")


def ask(connection, method, path):
    """Sends one request, on a new connection if the server closed the last one. A stream of events is not read to its
    end."""
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        if reply.headers.get("Content-Type") == "text/event-stream":
            connection.close()
        else:
            reply.read()
        assert reply.status != 500, path
        return reply.status
    except (http.client.BadStatusLine, ConnectionResetError, BrokenPipeError):
        connection.close()
        return None


def walk(connection, index):
    asked = 0
    for path, params in routes(index):
        if path in ENDS:
            continue
        holder = re.search(r"\{\w+\}", path)
        for value in VALUES:
            quoted = urllib.parse.quote(value.encode("latin-1"), safe="")
            place = path.replace(holder[0], quoted or "x") if holder else path
            for at in range(len(params) + 1):
                pairs = ["%s=%s" % (name, quoted if i == at or at == len(params) else "1") for i, name in enumerate(params)]
                for method in ("GET", "POST"):
                    ask(connection, method, place + ("?" + "&".join(pairs) if pairs else ""))
                    asked += 1
    return asked


@claim("the server answers each route of HTTP and of the admin listener with each hostile value in each parameter, "
       "and continues")
def _(world):
    with Configured(world, config(world)) as server:
        plain = http.client.HTTPConnection("127.0.0.1", server.http, timeout=20 * SLOW)
        asked = walk(plain, server.get("/").body)
        admin = Unix(world.path("admin.sock"))
        admin.request("GET", "/", headers={"Accept": "text/plain"})
        asked += walk(admin, admin.getresponse().read().decode())
        assert asked > 2000, asked
        same(server.get("/healthz").status, 200)


def names(server):
    with server.connect(server.resp) as sock:
        sock.sendall(command("COMMAND", "LIST"))
        sock.settimeout(20 * SLOW)
        data, found = b"", []
        while not data.startswith(b"*") or data.count(b"\r\n") < 1 + 2 * int(data[1:data.index(b"\r\n")]):
            data += sock.recv(65536)
        return [word.decode().upper() for word in data.split(b"\r\n")[2::2]]


@claim("the server answers each Redis command with each hostile value in each argument, in and out of transactions, "
       "and continues")
def _(world):
    with Configured(world, config(world)) as server:
        listed = names(server)
        assert len(listed) > 30 and "VESTA.COMMIT" in listed, listed
        for name in listed:
            if name in ENDS:
                continue
            for value in VALUES:
                words = [value.encode("latin-1")]
                said = b"".join(command(name, *args) for args in ((), words, words * 2, ["dense"] + words, ["strict"] + words, ["dense", "1"] + words,
                                                                  ["default"] + words * 2, words * 5))
                assert server.say(server.resp, said), (name, value)
                server.say(server.resp, command("MULTI") + said + command("EXEC"))
        same(server.get("/healthz").status, 200)


main()
