"""balancers.py VESTA [WORDS OF A CLAIM] -- a real HAProxy and a real nginx in front of servers: whose connection a
request belongs to, in both protocols, and requests that two parsers could read as different numbers of requests."""
import http.client
import os
import re
import signal
import socket

from hosting import DOCS, Host, adapted, found, second
from hostile import CHUNKS, FORM, FORMS, LINES, SMUGGLED, TARGETS, TWO_READINGS, ask, post
from proxied import call
from servers import until
from serving import Server, claim, command, free_port, get, main, same, until_closed

CLIENT = "127.0.0.9"
INFO = command("CLIENT", "INFO")
CLOSING = get("/genid", "Connection: close")
STATS = "svname,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other"

HAPROXY = """
global
    nbthread 1
    stats socket {folder}/stats
defaults
    timeout connect 10s
    timeout client 20s
    timeout server 20s
    timeout check 10s
    retries 0
listen stats
    bind 127.0.0.1:{port}
    mode http
    stats enable
listen resp
    mode tcp
    bind 127.0.0.1:{tcp}
    server ids 127.0.0.1:{resp} send-proxy-v2 {checks} check-send-proxy
listen web
    mode http
    bind 127.0.0.1:{web}
    option accept-invalid-http-request
    option accept-invalid-http-response
    http-reuse always
    option httpchk GET /readyz
    server ids 127.0.0.1:{http} send-proxy-v2 {checks}
listen old
    mode tcp
    bind 127.0.0.1:{old}
    server ids 127.0.0.1:{http} send-proxy
listen silent
    mode tcp
    bind 127.0.0.1:{silent}
    server ids 127.0.0.1:{http}
"""

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events {{ }}
http {{
    log_format lines "$upstream_status"; access_log {folder}/requests lines;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    ignore_invalid_headers off; underscores_in_headers on; proxy_next_upstream off; proxy_ignore_client_abort on;
    upstream ids {{ server 127.0.0.1:{http}; keepalive 4; }}
    server {{ listen 127.0.0.1:{port}; location / {{
        proxy_pass http://ids; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_bind 127.0.0.3; }} }}
}}
stream {{ server {{ listen 127.0.0.1:{stream}; proxy_pass 127.0.0.1:{http}; proxy_protocol on; }} }}
"""

NGINX_AROUND = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
events { }
http { access_log off; client_body_temp_path %s/body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
%s }
stream {
%s }
"""


class HAProxy(Host):
    def __init__(self, world, server, checks=""):
        ports = {name: free_port() for name in ("tcp", "web", "old", "silent")}
        vars(self).update(ports)
        super().__init__(world, [found("haproxy"), "-db", "-f", world.path("haproxy.cfg")])
        with open(world.path("haproxy.cfg"), "w") as file:
            file.write(HAPROXY.format(folder=world.folder, port=self.port, http=server.http, resp=server.resp, checks=checks, **ports))

    def passed_on(self):
        """Returns how many answers of the server the balancer has seen, without those to its own checks."""
        with socket.socket(socket.AF_UNIX) as stats:
            stats.connect(os.path.join(self.folder, "stats"))
            stats.sendall(b"show stat web 4 -1\n")
            head, row = until_closed(stats).decode().strip().split("\n")[:2]
        row = dict(zip(head.lstrip("# ").split(","), row.split(",")))
        return sum(int(row[name] or 0) for name in STATS.split(",")[1:])


class Nginx(Host):
    def __init__(self, world, server):
        self.stream = free_port()
        super().__init__(world, [found("nginx"), "-p", world.folder, "-c", world.path("nginx.conf"), "-e", "stderr"], signal.SIGQUIT)
        self.web = self.port
        with open(world.path("nginx.conf"), "w") as file:
            file.write(NGINX.format(folder=world.folder, port=self.port, stream=self.stream, http=server.http))

    def passed_on(self):
        with open(os.path.join(self.folder, "requests")) as file:
            return sum(1 for status in file if status.strip() not in ("-", "502"))


def spoken(port, data, source=CLIENT):
    with call(port, source) as sock:
        sock.sendall(data)
        return sock.recv(65536)


def ask_admin(world):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(world.path("admin"))
        sock.sendall(get("/metrics", "Connection: close"))
        return until_closed(sock).decode()


def answered(world):
    """Returns how many requests the server has answered over HTTP, including errors."""
    return sum(map(int, re.findall(r'vesta_requests_total\{proto="http",code="\w+"\} (\d+)', ask_admin(world))))


def headers(world, result):
    return sum(map(int, re.findall(r'vesta_proxy_headers_total\{proto="http",result="%s"\} (\d+)' % result, ask_admin(world))))


@claim("HAProxy by send-proxy-v2: the server sees the client's address over TCP and HTTP, and checks pass; without a header or with version 1 connections are rejected")
def _(world):
    flags = "--proxies", "127.0.0.1", "--admin", "unix:" + world.path("admin")
    with Server(world, *flags) as server, HAProxy(world, server, "check inter 100ms") as front:
        until(lambda: b" addr=127.0.0.9:" in spoken(front.tcp, INFO) or None, "the client's own address")
        until(lambda: b"HTTP/1.1 200 " in spoken(front.web, CLOSING) or None, "the server is found well")
        until(lambda: headers(world, "own"), "its checks, which say LOCAL")
        same((headers(world, "missing"), headers(world, "v1"), headers(world, "broken")), (0, 0, 0))
        assert b"send-proxy-v2\n" in spoken(front.old, CLOSING)
        assert b"begin with a PROXY header\n" in spoken(front.silent, CLOSING)
        same((headers(world, "missing"), headers(world, "v1")), (1, 1))
        server.listen("a balancer sent a PROXY header of version 1")


@claim("over HTTP each client of HAProxy has its own connection to the server, and its own rights")
def _(world):
    secret = world.run("client", "add", "orders", "--calls", "give,read", "--file", world.path("clients")).out.strip()
    with Server(world, "--proxies", "127.0.0.1", "--clients", world.path("clients")) as server, HAProxy(world, server) as front:
        secret = "Authorization: Bearer " + secret
        with call(front.web, CLIENT) as one, call(front.web, "127.0.0.8") as other:
            for _ in range(5):  # both are on this machine, but do not count as local
                for sock, said, status in ((one, [secret], b"200"), (other, [], b"401")):
                    sock.sendall(get("/genid", *said))
                    same(sock.recv(4096).split(b" ")[1], status)
        spoken(front.web, get("/genid", "Authorization: Bearer wrong"), "127.0.0.7")
        assert "address=127.0.0.7 " in server.listen("a wrong secret"), server.said


def hostile():
    yield from ((what, data) for table in (TWO_READINGS, FORMS, TARGETS, LINES) for what, _, data in table)
    yield from ((what, post("Transfer-Encoding: chunked", FORM, body=data + SMUGGLED)) for what, data in CHUNKS)
    for upgrade in (["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"], ["Upgrade: h2c", "Connection: Upgrade"]):
        yield "h2c", ask("/healthz", *upgrade) + b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED
    yield "h2c without an upgrade", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED
    yield "a body beside a GET", ask("/healthz", body=SMUGGLED)
    yield "two good ones", SMUGGLED + SMUGGLED


def seen_alike(world, front):
    """Checks that the server answers as many requests as the balancer sees answers, and the client gets no more than it
    requested.  The next client gets its own answer, also over a connection that the balancer kept."""
    for number, (what, data) in enumerate(hostile(), 10**6):
        before = answered(world), front.passed_on()
        with call(front.web) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the server may reject before it has read everything
            said = until_closed(sock)
        following = spoken(front.web, get("/v1/ids/%d" % number, "Connection: close"), "127.0.0.8")
        assert b'"id":"%d"' % number in following, (what, said, following)
        until(lambda: answered(world) - before[0] == front.passed_on() - before[1],
              lambda: "%s: the server answered %d, %s saw %d: %r" % (what, answered(world) - before[0], front.args[0], front.passed_on() - before[1], said))
        given = len(re.findall(rb"HTTP/1\.[01] \d", said)) or (said != b"")  # HTTP/0.9 has no status
        assert answered(world) - before[0] - 1 <= given <= max(data.count(b" HTTP/"), 1), (what, answered(world) - before[0], given, said)


for name, Front in ("HAProxy", HAProxy), ("nginx", Nginx):
    @claim("no request through %s is answered twice, or counted differently by balancer and server, however it is formed" % name)
    def _(world, Front=Front):
        with Server(world, "--proxies", "127.0.0.1", "--admin", "unix:" + world.path("admin")) as server, Front(world, server) as front:
            seen_alike(world, front)


@claim("nginx's stream module sends version 1, which is rejected with that reason; without it, connections have nginx's own address")
def _(world):
    with Server(world, "--proxies", "127.0.0.1", "--admin", "unix:" + world.path("admin")) as server, Nginx(world, server) as front:
        assert b"send-proxy-v2\n" in spoken(front.stream, CLOSING)
        assert b"HTTP/1.1 200 " in spoken(front.web, CLOSING)
        same((headers(world, "v1"), headers(world, "taken")), (1, 0))


def shown(language):
    """Returns the block of docs/proxies.md in that language."""
    with open(os.path.join(DOCS, "proxies.md")) as page:
        return re.search("(?ms)^```%s\n(.*?)^```" % language, page.read())[1]


class Shown(Host):
    """The configuration of docs/proxies.md, with the ports of two servers."""

    def __init__(self, world, name, a, b, args, **more):
        self.tcp = free_port()
        super().__init__(world, args, **more)
        self.web = self.port
        self.places = (("10.0.0.7:8080", "127.0.0.1:%d" % self.web), ("10.0.0.7:6379", "127.0.0.1:%d" % self.tcp),
                       ("10.0.0.1:8088", "127.0.0.1:%d" % a.http), ("10.0.0.2:8088", "127.0.0.1:%d" % b.http),
                       ("10.0.0.1:8089", "127.0.0.1:%d" % a.resp), ("10.0.0.2:8089", "127.0.0.1:%d" % b.resp))

    def write(self, text, *changes):
        with open(self.args[-1], "w") as file:
            file.write(adapted(text, *self.places, *changes))


def shown_haproxy(world, a, b):
    host = Shown(world, "haproxy", a, b, [found("haproxy"), "-db", "-f", world.path("haproxy.cfg")])
    host.write(shown("haproxy"), ("ids1 127.0.0.1:%d check port 8088" % a.resp, "ids1 127.0.0.1:%d check port %d" % (a.resp, a.http)),
               ("ids2 127.0.0.1:%d check port 8088" % b.resp, "ids2 127.0.0.1:%d check port %d" % (b.resp, b.http)),
               ("inter 1s", "inter 100ms"))
    return host


def shown_nginx(world, a, b):
    host = Shown(world, "nginx", a, b, [found("nginx"), "-p", world.folder, "-e", "stderr", "-c", world.path("nginx.conf")], stop=signal.SIGQUIT)
    host.write(NGINX_AROUND % (world.folder, shown("nginx"), shown("nginx-stream")))
    return host


def workers_of(host):
    """Returns the worker ids of three ids over HTTP and three over the Redis protocol; 0 means an error."""
    ids = []
    for _ in range(3):
        connection = http.client.HTTPConnection("127.0.0.1", host.web, timeout=20)
        connection.request("POST", "/genid")
        reply = connection.getresponse()
        ids.append(int(reply.read()) if reply.status == 200 else 0)
        connection.close()
        said = spoken(host.tcp, command("GET", "default")).split(b"\r\n")
        ids.append(int(said[1]) if said[0][:1] == b"$" else 0)
    assert len(set(ids) - {0}) == len([id for id in ids if id]), ids
    return {id % 1024 for id in ids}


def serves_from_both(world, a, b, host):
    until(lambda: workers_of(host) == {5, 6}, lambda: "ids of both servers: " + host.said())
    a.kill()
    until(lambda: workers_of(host) == {6}, lambda: "ids of the second server alone: " + host.said())


@claim("the HAProxy configuration of docs/proxies.md serves from both servers, and from one when the other is killed")
def _(world):
    flags = "--proxies", "127.0.0.1"
    with Server(world, *flags) as a, second(world, *flags) as b, shown_haproxy(world, a, b) as host:
        until(lambda: b" addr=127.0.0.9:" in spoken(host.tcp, INFO), "the client's own address")
        serves_from_both(world, a, b, host)


@claim("the nginx configuration of docs/proxies.md serves from both servers, and from one when the other is killed")
def _(world):
    with Server(world) as a, second(world) as b, shown_nginx(world, a, b) as host:
        serves_from_both(world, a, b, host)


@claim("through the nginx configuration of docs/proxies.md a client with a token is served, and one without has the rights of default")
def _(world):
    secret = world.run("client", "add", "orders", "--file", world.path("clients")).out.strip()
    world.run("client", "add", "default", "--calls", "read", "--file", world.path("clients"))
    flags = "--clients", world.path("clients")
    with Server(world, *flags) as a, second(world, *flags) as b, shown_nginx(world, a, b) as host:
        assert b"HTTP/1.1 200 " in spoken(host.web, get("/genid", "Authorization: Bearer " + secret, "Connection: close"))
        assert b"HTTP/1.1 40" in spoken(host.web, CLOSING)
        assert b"HTTP/1.1 200 " in spoken(host.web, get("/v1/ids/1", "Connection: close"))


main()
