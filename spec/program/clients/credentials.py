"""credentials.py VESTA -- how common programs pass a name and a secret: redis-cli and redis-py by flags and URL, curl
by Basic and Bearer, Prometheus by a bearer token. Other specs test what clients may request."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

from hosting import Host
from over_tls import certificate
from servers import until
from serving import SLOW, Server, claim, free_port, give_back, main, same

ODD = "p@ss word:/?#[%]+&"  # Characters with a meaning in URLs.


def added(world, name, *words):
    return world.run("client", "add", name, *words, "--file", world.path("clients")).out.strip()


def named(world, *flags, **more):
    """Starts a server where `orders` has a generated token, `web` has a secret with odd characters, and these requests
    need credentials."""
    with open(world.path("clients"), "w") as file:
        file.write("default names=nothing calls=make\nweb names=* calls=give secret=random:2026-01-01T00:00:00Z:%s\n"
                   % hashlib.sha256(ODD.encode()).hexdigest())
    return added(world, "orders", "--calls", "give,read"), Server(world, "--clients", world.path("clients"), *flags, **more)


def ran(*args):
    done = subprocess.run(args, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW)
    return done.stdout.strip()


def url(server, name, secret):
    return "redis://%s:%s@127.0.0.1:%d" % (name, urllib.parse.quote(secret, safe=""), server.resp)


@claim("redis-cli authenticates by --user and --pass, by -a alone and by -u, and redis-py by the same URL")
def _(world):
    secret, server = named(world)
    with server:
        cli = "redis-cli", "--no-auth-warning", "-p", str(server.resp)
        for name, said in ("orders", secret), ("web", ODD):
            for words in (*cli, "--user", name, "--pass", said), ("redis-cli", "--no-auth-warning", "-u", url(server, name, said)):
                same((words, ran(*words, "ACL", "WHOAMI"), ran(*words, "GET", "default").isdigit()), (words, name, True))
            same(ran("/usr/bin/python3", "-c", "import redis, sys; c = redis.Redis.from_url(sys.argv[1]); print(c.acl_whoami(), c.get('default').isdigit())",
                     url(server, name, said)), "%s True" % name)
        same(ran(*cli, "-a", secret, "ACL", "WHOAMI"), "orders")
        assert "WRONGPASS" in ran("sh", "-c", 'exec "$@" 2>&1', "x", *cli, "--user", "web", "--pass", secret, "PING")


@claim("curl authenticates by -u, by --oauth2-bearer and by a header, and by -u without a name")
def _(world):
    secret, server = named(world)
    with server:
        at = "http://127.0.0.1:%d/genid" % server.http
        for words in (["-u", "orders:" + secret], ["-u", ":" + secret], ["-u", "web:" + ODD], ["--oauth2-bearer", secret],
                      ["-H", "Authorization: Bearer " + secret]):
            assert ran("curl", "-s", *words, at).isdigit(), words
        for words in ([], ["-u", "web:" + secret], ["--oauth2-bearer", "another"]):
            same((words, ran("curl", "-s", "-o", os.devnull, "-w", "%{http_code}", *words, at)), (words, "401" if words else "403"))


SCRAPE = """
global: {scrape_interval: 200ms, scrape_timeout: 200ms}
scrape_configs:
- {job_name: http, static_configs: [{targets: ['127.0.0.1:%d']}], authorization: {credentials_file: %s}}
- {job_name: admin, static_configs: [{targets: ['127.0.0.1:%d']}], authorization: {credentials: operators}}
- {job_name: secure, scheme: https, tls_config: {ca_file: %s}, static_configs: [{targets: ['localhost:%d']}], authorization: {credentials_file: %s}}
- {job_name: distrusts, scheme: https, static_configs: [{targets: ['localhost:%d']}], authorization: {credentials_file: %s}}
- {job_name: nobody, static_configs: [{targets: ['127.0.0.1:%d']}]}
- {job_name: basic, static_configs: [{targets: ['127.0.0.1:%d']}], basic_auth: {username: orders, password_file: %s}}
"""


def asked(port, path):
    with urllib.request.urlopen("http://127.0.0.1:%d/api/v1/%s" % (port, path), timeout=20 * SLOW) as reply:
        return json.load(reply)["data"]


@claim("Prometheus scrapes HTTP and the admin's address with a bearer token, also over TLS, or with Basic, and is "
       "rejected without")
def _(world):
    if not shutil.which("prometheus"):
        return print("    skipped, no prometheus here: apt-get install prometheus")
    admin = free_port()
    secure = free_port()
    pem, flags = certificate(world)
    secret, server = named(world, "--admin", "127.0.0.1:%d" % admin, *flags, env={"VESTA_ADMIN_TOKEN": "operators"})
    server.args[server.args.index("--http") + 1] += ",tls:127.0.0.1:%d" % secure
    with open(world.path("secret"), "w") as file:
        file.write(secret)
    with open(world.path("prometheus.yml"), "w") as file:
        file.write(SCRAPE % (server.http, world.path("secret"), admin, pem, secure, world.path("secret"), secure, world.path("secret"),
                             server.http, server.http, world.path("secret")))
    port = free_port()
    args = ["prometheus", "--config.file=" + world.path("prometheus.yml"), "--storage.tsdb.path=" + world.path("tsdb"),
            "--web.listen-address=127.0.0.1:%d" % port]
    with server, Host(world, args, port=port) as prometheus:
        prometheus.until(lambda: "Server is ready" in prometheus.said(), "it is ready")
        def healths():
            targets = asked(port, "targets")["activeTargets"]
            return {target["labels"]["job"]: target["health"] for target in targets}
        want = {"http": "up", "admin": "up", "basic": "up", "secure": "up", "nobody": "down", "distrusts": "down"}
        until(lambda: healths() == want, lambda: healths())
        until(lambda: {row["metric"]["job"] for row in asked(port, "query?query=vesta_ready")["result"]} == {"http", "admin", "basic", "secure"},
              "what they show is there")
    give_back(admin)
    give_back(secure)


sys.argv = sys.argv[:2]
main()
