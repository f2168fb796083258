"""secure.py VESTA CERTIFICATES -- TLS on the listeners of `vesta serve` with third-party clients: openssl, curl,
redis-cli.  Also client certificates, invalid configurations, and clients that never finish a handshake."""
import json
import os
import resource
import select
import signal
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from harness import vesta_for_others
from secured import Secure, whole
from servers import until
from serving import SLOW, Server, claim, command, get, main, same, until_closed

# ------------------------------------------------------------------ protocols

@claim("clients of all kinds can connect")
def clients_of_all_kinds_shake_hands(world):
    with Secure(world) as server:
        first = int(server.curl("/genid").stdout)
        same(int(server.cli("GET", "default")), first + (1 << 10))
        same(int(server.curl("/genid", "--tlsv1.2", "--tls-max", "1.2").stdout), first + (2 << 10))
        same(server.cli("PING", flags=["--tls-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"]), "PONG")
        assert "https://127.0.0.1:%d/genid" % server.http in server.said, server.said
        assert "unable to get local issuer" in server.curl("/genid", "--cacert", server.file("other.pem")).stderr
        same(server.metric('vesta_tls_handshakes_total{proto="resp",result="ok"}'), 2)


@claim("old protocol versions and weak ciphers are rejected")
def nothing_old_or_weak_is_spoken(world):
    with Secure(world) as server:
        for version in "-tls1", "-tls1_1":  # with the client's own rules lowered, because otherwise it would not try
            assert "alert protocol version" in server.s_client(version, "-cipher", "ALL:@SECLEVEL=0"), version
        for cipher in "AES128-SHA", "ECDHE-ECDSA-AES128-SHA", "ALL:!ECDHE":
            assert "handshake failure" in server.s_client("-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"), cipher
        said = server.s_client("-tls1_2")
        assert "Compression: NONE" in said and "ECDHE-ECDSA-AES256-GCM-SHA384" in said, said
        assert "no renegotiation" in server.s_client("-tls1_2", stdin=b"R\n")


@claim("with version_min 1.3, only TLS 1.3 is accepted")
def only_1_3_is_spoken_where_that_is_said(world):
    world.own_maps()
    server = Secure(world)
    with open(world.path("c.lua"), "w") as file:
        file.write("return { tls = { certificate = 'own/pem', key = 'own/key', version_min = '1.3' }, namespaces = { default = "
                   "{ worker = 5 } }, http = { listen = 'tls:127.0.0.1:%d' }, resp = { listen = 'off' } }" % server.http)
    server.args = server.args[:2] + ["-c", world.path("c.lua")]
    with server:
        assert "alert protocol version" in server.s_client("-tls1_2")
        assert "TLSv1.3" in server.s_client("-tls1_3")


@claim("only HTTP is agreed on by ALPN")
def http_is_what_is_agreed_on_and_nothing_else(world):
    with Secure(world) as server:
        assert "ALPN protocol: http/1.1" in server.s_client("-alpn", "h2,http/1.1")
        assert "no application protocol" in server.s_client("-alpn", "h2")
        assert "No ALPN negotiated" in server.s_client("-alpn", "redis", port=server.resp)


@claim("a session is resumed in any thread and after a reload")
def a_session_is_resumed_in_any_thread_and_over_a_reload(world):
    with Secure(world, "--threads", "3") as server:
        for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
            context = server.context()
            context.maximum_version = version
            with server.connect(server.resp, context) as sock:
                sock.sendall(command("PING"))
                same(whole(sock, True), b"+PONG\r\n")
                session = sock.session
            held = [server.connect(server.resp, context, session=session) for _ in range(6)]  # at least one per thread
            assert all(sock.session_reused for sock in held)
            os.utime(server.own + "/pem")
            server.process.send_signal(signal.SIGHUP)
            server.listen("the certificate was reloaded")
            with server.connect(server.resp, context, session=session) as sock:
                assert sock.session_reused
            for sock in held:
                sock.close()
        server.put("next")
        server.process.send_signal(signal.SIGHUP)
        server.listen("name=next.example.com")
        with server.connect(server.resp, context, session=session) as sock:
            assert not sock.session_reused  # sessions of the other certificate are not resumed


# ------------------------------------------------------------------ bytes

@claim("small and large amounts of data arrive complete")
def much_and_little_come_whole(world):
    with Secure(world) as server, server.connect(server.resp) as sock:
        request = command("GET", "default")
        data = exchange(sock, request * 40000, lambda got: got.count(b"\r\n") == 80000)  # more than any buffer holds
        ids = [int(line) for line in data.split(b"\r\n")[1::2]]
        same([b - a for a, b in zip(ids, ids[1:])], [1 << 10] * 39999)
        for byte in request:  # one record each
            sock.sendall(bytes([byte]))
        same(int(whole(sock, True).split(b"\r\n")[1]), ids[-1] + (1 << 10))
        batch = server.say(server.http, get("/v1/ids?n=1000"))
        same(len(json.loads(batch.split(b"\r\n\r\n")[1])["ids"]), 1000)


def exchange(sock, left, is_whole):
    """Sends and receives on one thread, because Python's TLS has no lock."""
    data, end = b"", time.monotonic() + 60 * SLOW
    sock.setblocking(False)
    while not is_whole(data):
        assert time.monotonic() < end, len(data)
        select.select([sock], [sock] if left else [], [], 1)
        try:
            if left:
                left = left[sock.send(left[:16384]):]
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        try:
            part = sock.recv(1 << 20)
            assert part, "the server closed the connection"
            data += part
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
    sock.setblocking(True)
    return data


@claim("a client that does not read delays no other client")
def a_client_that_does_not_read_holds_up_nobody(world):
    with Secure(world, "--memory-mib", "8") as server:
        lazy = server.connect(server.resp)
        lazy.settimeout(0.2)
        try:
            for _ in range(1000):
                lazy.sendall(command("GET", "default") * 5000)
        except OSError:
            pass
        for _ in range(50):
            assert server.say(server.resp, command("PING")) == b"+PONG\r\n"
        lazy.close()


@claim("a client with the wrong protocol gets an explanation")
def who_is_at_the_wrong_door_is_told(world):
    with Secure(world) as server:
        with server.plain(server.http) as sock:
            sock.sendall(get("/genid"))
            assert b"400 Bad Request" in (said := until_closed(sock)) and said.endswith(b"speaks TLS: use https://\n"), said
        with server.plain(server.resp) as sock:
            sock.sendall(command("PING"))
            same(until_closed(sock), b"-ERR this address speaks TLS: use rediss://, or redis-cli --tls\r\n")
        for noise in b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01\xff\xff" + b"x" * 70000, b"\x16" * 4000, b"\x80\x2e\x01\x00\x02":
            with server.plain(server.http) as sock:
                sock.sendall(noise)
                until_closed(sock)
        assert "use https://" in server.listen("connected to a TLS listener without TLS")
        server.heard("TLS handshakes failed")
        same(server.say(server.resp, command("PING")), b"+PONG\r\n")
        same(server.metric('vesta_tls_handshakes_total{proto="http",result="no_tls"}'), 2)
    with Server(world) as server:
        for port, shown in (server.http, b"HTTP/1.1 400"), (server.resp, b"-ERR Protocol error: this address speaks no TLS"):
            with server.connect(port) as sock:
                sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
                assert until_closed(sock).startswith(shown)
        assert "write tls: before its address" in server.listen("connected to a plain listener with TLS")


@claim("a balancer's header inside TLS is rejected")
def a_header_of_a_balancer_inside_of_tls_is_refused_inside_of_it(world):
    with Secure(world) as server:
        header = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"
        assert server.say(server.resp, header).startswith(b"-ERR a PROXY header is only accepted from")
        assert server.say(server.http, header).startswith(b"HTTP/1.1 400")


@claim("truncated and damaged records only end their own connection")
def truncated_and_torn_records_end_their_connection_alone(world):
    with Secure(world) as server, server.connect(server.resp) as other:
        for cut in range(1, 60, 7):
            raw = server.plain(server.resp)
            reading, writing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = server.context().wrap_bio(reading, writing, server_hostname="localhost")
            shake(tls, reading, writing, raw)
            tls.write(command("GET", "default") * 2)
            record = bytearray(writing.read())
            if cut % 2:
                record[-cut] ^= 1
                raw.sendall(record)
            else:
                raw.sendall(record[:-cut])
            raw.shutdown(socket.SHUT_WR)
            assert b"default" not in until_closed(raw)
            raw.close()
        other.sendall(command("PING"))
        same(whole(other, True), b"+PONG\r\n")


def shake(tls, reading, writing, raw):
    while True:
        try:
            tls.do_handshake()
            raw.sendall(writing.read())
            return
        except ssl.SSLWantReadError:
            raw.sendall(writing.read())
            reading.write(raw.recv(65536))


# ------------------------------------------------------------------ client certificates

def named(world, asks, *flags):
    for words in (["add", "orders", "--names", "default", "--calls", "give,block", "--n", "10"], ["add", "ops", "--calls", "operate,read"]):
        world.run("client", *words, "--file", world.path("clients"))
    made = world.path("made")
    return Secure(world, "--clients", world.path("clients"), "--tls-client-ca", made + "/ca.pem", "--tls-client-certificates", asks,
                  *flags)


def shows(server, name):
    return ["--cert", server.file(name + ".pem"), "--key", server.file(name + ".key")]


@claim("a certificate determines its client's name and rights")
def a_certificate_is_its_clients_name_and_right(world):
    with named(world, "optional") as server:
        same(server.cli("ACL", "WHOAMI", flags=shows(server, "orders")), "orders")
        int(server.cli("GET", "default", flags=shows(server, "orders")))
        assert '"not_allowed"' in server.curl("/v1/ids/5", *shows(server, "orders")).stdout
        int(server.curl("/genid", *shows(server, "orders")).stdout)
        assert '"bad_count"' in server.curl("/v1/ids?n=11", *shows(server, "orders")).stdout
        same(server.cli("ACL", "WHOAMI"), "default")  # without a certificate
        assert "NOAUTH" in server.cli("GET", "default", flags=shows(server, "nameless"))  # invoices: no client has that name
        same(server.curl("/genid", "-o", "/dev/null", "-w", "%{http_code}", *shows(server, "nameless")).stdout, "401")
        assert "name=invoices" in server.listen("a client's certificate names no account")
        for other in "anonymous", "alphabet":  # neither a name nor a SAN; two bytes per letter that read as one byte each spell "orders"
            assert "NOAUTH" in server.cli("GET", "default", flags=shows(server, other)), other
        assert server.curl("/genid", *shows(server, "expired")).returncode != 0
        assert "certificate has expired" in server.listen("TLS handshakes failed")  # the first failure is logged at once, others ten seconds later
        assert server.curl("/genid", *shows(server, "stranger")).returncode != 0
        same(server.metric('vesta_tls_handshakes_total{proto="http",result="failed"}'), 2)


@claim("a client without a token authenticates by its certificate only")
def a_client_without_a_token_is_proved_by_its_certificate_alone(world):
    done = world.run("client", "add", "invoices", "--certificate", "--calls", "give,block", "--file", world.path("clients"))
    same((done.code, done.out), (0, ""))
    with named(world, "optional") as server:
        same(server.cli("ACL", "WHOAMI", flags=shows(server, "nameless")), "invoices")
        int(server.cli("GET", "default", flags=shows(server, "nameless")))
        for token in "none", "secret=none", "x":
            assert "WRONGPASS" in server.cli("AUTH", "invoices", token)
    with open(world.path("vesta.lua"), "w") as file:
        file.write("return { clients = 'clients', namespaces = { default = { worker = 1 } } }")
    checked = world.run("check", world.path("vesta.lua"))
    assert "invoices authenticates only by a certificate, but tls.client_certificates is off" in checked.out + checked.err
    token = world.run("client", "rotate", "invoices", "--file", world.path("clients")).out.strip()
    with named(world, "optional") as server:
        same(server.cli("AUTH", "invoices", token), "OK")


@claim("a client with a certificate gets the share of its name, not of its address")
def who_has_its_name_by_a_certificate_has_the_share_of_that_name(world):
    with named(world, "optional", "--layout", "time:37 seq:16 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", "--pacing", "clock") as server:
        def takes(name):
            with server.connect(server.resp, server.context(name)) as sock:
                for _ in range(16):
                    sock.sendall(command("MGET", *["default"] * 10) * 1000)
                    data = b""
                    while data.count(b"*10\r\n") < 1000:
                        data += sock.recv(1 << 20)
        with ThreadPoolExecutor(2) as pool:  # at the same time, and more connections than three seconds allow
            list(pool.map(takes, ("orders", None)))
    assert "who=\"client 'orders'\" share=unit" in server.said, server.said


@claim("a certificate may be required, and its client may be removed")
def a_certificate_may_be_required_and_its_client_taken_away(world):
    with named(world, "required") as server:
        assert server.curl("/genid").returncode != 0 and "rror" in server.cli("PING")
        with server.connect(server.resp, server.context("orders")) as sock:
            sock.sendall(command("GET", "default"))
            assert whole(sock, True).startswith(b"$")
            world.run("client", "remove", "orders", "--file", world.path("clients"))
            server.process.send_signal(signal.SIGHUP)
            server.listen("the file of clients was reloaded")
            sock.sendall(command("GET", "default"))
            same(whole(sock, True), b"-NOAUTH Authentication required.\r\n")


@claim("an admin can authenticate by certificate")
def an_admin_may_be_one_by_its_certificate(world):
    server = named(world, "optional")
    subprocess.run(["bash", "-c", "cd %s && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ops -keyout ops.key "
                    "-out r && openssl x509 -req -in r -CA ca.pem -CAkey ca.key -out ops.pem" % server.made], check=True, capture_output=True)
    admin = server.args[server.args.index("--http") + 1]
    server.args += ["--admin", admin]
    server.args[server.args.index("--http") + 1] = "off"
    secret = world.run("client", "rotate", "ops", "--file", world.path("clients")).out.strip()
    with server:
        assert '"tls":{"certificate":' in server.curl("/admin/status", *shows(server, "ops")).stdout
        assert "may not operate" in server.curl("/admin/status", *shows(server, "orders")).stdout
        assert '"code":"no_token"' in server.curl("/admin/status").stdout
        with server.connect(server.http, server.context("orders")) as sock:  # as behind a proxy, for several people
            sock.sendall(get("/admin/status", "Authorization: Bearer " + secret))
            assert whole(sock, False).startswith(b"HTTP/1.1 200 ")
            sock.sendall(get("/admin/status"))
            assert whole(sock, False).startswith(b"HTTP/1.1 403 ")
        with server.connect(server.http, server.context("ops")) as sock:
            sock.sendall(get("/admin/events"))
            assert sock.recv(65536).startswith(b"HTTP/1.1 200 ")
            world.run("client", "remove", "ops", "--file", world.path("clients"))
            server.process.send_signal(signal.SIGHUP)
            server.listen("the file of clients was reloaded")
            until_closed(sock)


@claim("invalid configurations are reported at the start")
def what_cannot_work_is_said_at_the_start(world):
    server = Secure(world)
    pem, key = server.own + "/pem", server.own + "/key"

    def refused(*flags, program=None):
        done = subprocess.run([program or server.args[0], "serve", "--http", "tls:127.0.0.1:1", "--resp", "off", "--worker", "1", *flags],
                              env=server.env, capture_output=True, text=True, timeout=60 * SLOW)
        assert done.returncode != 0
        return done.stderr
    assert "TLS needs a certificate and its key: set tls.certificate and tls.key (--tls-certificate FILE" in refused()
    assert "tls.key is missing" in refused("--tls-certificate", pem)
    assert "the authority that signs them is missing: set tls.client_ca" in refused("--tls-certificate", pem, "--tls-key", key,
                                                                     "--tls-client-certificates", "required")
    assert "Remove the tls:" in refused("--admin", "tls:unix:/x", "--tls-certificate", pem, "--tls-key", key)
    pair = "--http", "tls:127.0.0.1:%d" % server.http, "--tls-certificate", pem, "--tls-key"
    assert "other.key: this private key is not that of" in refused(*pair, server.file("other.key"))
    said = refused(*pair, key, program=vesta_for_others())
    assert "there is no TLS here (/" in said and "/tls/openssl.so): apt-get install" in said, said
    with open(world.path("c.lua"), "w") as file:
        file.write("return { tls = { certificate = 'own/pem', key = 'made/other.key' } }")
    checked = world.run("check", world.path("c.lua"))
    assert checked.code == 1 and "made/other.key: this private key is not that of" in checked.err, checked.err
    os.chmod(server.file("server.key"), 0o644)
    with open(world.path("c.lua"), "w") as file:
        file.write("return { tls = { certificate = 'made/server.pem', key = 'made/server.key' } }")
    checked = world.run("check", world.path("c.lua"))
    assert "the private key of tls.key: chmod o= on it" in checked.out and "so TLS is not used" in checked.out, checked.out


# ------------------------------------------------------------------ handshakes that are never finished

HALVES = 10000 if SLOW == 1 else 1000


@claim("half-open handshakes do not affect other clients, and end")
def half_open_handshakes_cost_others_nothing_and_end(world):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(HALVES, hard - 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Secure(world, "--connections", "%d" % (3 * count), "--address-connections", "%d" % (2 * count), "--memory-mib", "64") as server:
        halves = [socket.create_connection(("127.0.0.1", (server.resp, server.http)[i % 2])) for i in range(count)]
        for half in halves[::5]:
            half.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        for _ in range(20):
            assert server.say(server.resp, command("PING")) == b"+PONG\r\n"
            assert server.say(server.http, get("/genid")).startswith(b"HTTP/1.1 200")
        server.listen("TLS handshakes were not finished in time")
        until(lambda: server.metric('vesta_connections{proto="resp"}') == 0, "all of them are closed")
        until(lambda: server.metric('vesta_connections{proto="http"}') == 1, "all of them are closed")
        for half in halves:
            half.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


main()
