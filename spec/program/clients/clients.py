"""clients.py VESTA CLIENT FOLDER -- runs a stock Redis client against `vesta serve`.

Each client is a program in its own language (tour.*) that prints its results, one line per step. This file checks that
every digit is exact: the server advances one tick per id and has worker 5 in the lowest bits, so an id that was rounded
to a double, lost or duplicated breaks the sequence. An unavailable client is skipped with the reason. FOLDER receives
what is built or installed for the clients.
"""
import os
import re
import shutil
import subprocess
import sys

import node_modules
from over_tls import certificate
from serving import Server, claim, environment, free_port, main, same, SLOW

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT, FOLDER = sys.argv[2], os.path.abspath(sys.argv[3])
PASSWORD = "open \"sesame\" ' \u00e9"
SKIPPED = 77  # ctest treats this exit code as skipped.


def skip(reason):
    print("skipped: %s: %s" % (CLIENT, reason))
    sys.exit(SKIPPED)


# ------------------------------------------------------------------ how to run each client with a port and a password

def python_with_redis():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import redis"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    skip("no python3 here has the module redis: apt-get install python3-redis")


def redis_py(world, port, password):
    return [python_with_redis(), os.path.join(HERE, "tour_py.py"), str(port)] + ([password] if password else [])


def hiredis(world, port, password):
    program = os.path.join(FOLDER, "tour_hiredis")
    if not os.path.exists(program):
        skip("not built: apt-get install libhiredis-dev")
    return [program, str(port)] + ([password] if password else [])


def lua_redis(world, port, password):
    if subprocess.run(["lua5.1", "-e", "require 'redis'"], capture_output=True).returncode != 0:
        skip("lua5.1 has no module redis: apt-get install lua5.1 lua-redis")
    return ["lua5.1", os.path.join(HERE, "tour.lua"), "redis", str(port)] + ([password] if password else [])


NGINX_CONF = """
load_module /usr/lib/nginx/modules/ndk_http_module.so;
load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;
daemon off; master_process off; pid nginx.pid; error_log stderr error;
events {}
http {
    access_log off;
    init_by_lua_block { arg = { [0] = "tour", "nginx.redis", %r, %s } }
    server { listen unix:%s; location / { content_by_lua_file %s; } }
}
"""


def lua_resty_redis(world, port, password):
    if not os.path.exists("/usr/share/lua/5.1/nginx/redis.lua") or not shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin"):
        skip("apt-get install nginx libnginx-mod-http-lua lua-nginx-redis")
    socket = world.path("nginx.sock")
    conf = NGINX_CONF % (str(port), "[==[%s]==]" % password if password else "nil", socket, os.path.join(HERE, "tour.lua"))
    with open(world.path("nginx.conf"), "w") as file:
        file.write(conf)
    return ["bash", "-c", 'PATH=$PATH:/usr/sbin; nginx -p "$1" -c "$1/nginx.conf" & trap "kill $!; wait $!" EXIT; '
            'curl -sS --retry 50 --retry-delay 0 --retry-all-errors --max-time 30 --unix-socket "$1/nginx.sock" http://x/',
            "tour", world.folder]


def install_node_modules():
    why = node_modules.install(HERE, FOLDER)
    if why:
        skip(why)


def node(package, needs=18):
    def argv(world, port, password):
        install_node_modules()
        version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
        if int(re.match(r"v(\d+)", version)[1]) < needs:
            skip("%s needs node %d, this is %s" % (package, needs, version.strip()))
        return ["node", beside_modules("tour.js"), package, str(port)] + ([password] if password else [])
    return argv


def beside_modules(name):
    path = os.path.join(FOLDER, name)
    shutil.copy(os.path.join(HERE, name), "%s.%d" % (path, os.getpid()))
    os.replace("%s.%d" % (path, os.getpid()), path)  # Another client may be about to read the script.
    return path


TOURS = {"redis-py": redis_py, "hiredis": hiredis, "lua-redis": lua_redis, "lua-resty-redis": lua_resty_redis,
         "ioredis": node("ioredis", 20), "ioredis-5": node("ioredis-5"),
         "node-redis": node("redis", 20), "node-redis-resp2": node("redis:2", 20), "node-redis-5": node("redis-5"),
         "node-redis-5-resp3": node("redis-5:3")}


# ------------------------------------------------------------------ the tour

def take_tour(world, port, password, more=None):
    argv = TOURS[CLIENT](world, port, password)
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * SLOW, cwd=world.folder,
                          env=environment(world.folder, **(more or {})))
    return done.stdout, "%s\n%s\n%s" % (argv, done.stdout, done.stderr)


def with_password(world):
    path = world.path("password")
    with open(path, "w") as file:
        file.write(PASSWORD + "\n")
    return Server(world, "--resp-password-file", path)


STEPS = ["id", "batch", "pipeline", "multi", "error", "id"]


def check_tour(said, context, without=()):
    lines = [line.split(" ", 1) for line in said.splitlines()]
    same([line[0] for line in lines], [step for step in STEPS if step not in without] + ["done"])
    got = {"batch": 5, "pipeline": 10, "multi": 3}
    ids = []
    for step, *rest in lines[:-1]:
        if step == "error":
            assert "unknown name 'nowhere': this server has 'default'" in rest[0], context
            continue
        digits = rest[0].split()
        same((step, len(digits)), (step, got.get(step, 1)))
        assert all(re.fullmatch(r"[1-9]\d{14,18}", text) for text in digits), context
        ids += [int(text) for text in digits]
    assert all(id & 1023 == 5 for id in ids), context
    assert all(b - a == 1024 for a, b in zip(ids, ids[1:])), context


def named(world):
    """Starts a server with a client named `tour`, and returns it with the secret. Without credentials nothing is
    allowed."""
    with open(world.path("clients"), "w") as file:
        file.write("default names=* calls=read\n")
    done = world.run("client", "add", "tour", "--names", "*", "--calls", "give", "--file", world.path("clients"))
    same(done.code, 0)
    return Server(world, "--clients", world.path("clients")), done.out.strip()


SAYS_A_NAME = {"redis-py", "ioredis", "ioredis-5", "node-redis", "node-redis-resp2", "node-redis-5", "node-redis-5-resp3"}

if CLIENT in TOURS:
    @claim("the tour works with a name and a secret and with the secret alone, and is rejected without credentials")
    def _(world):
        server, secret = named(world)
        with server:
            for user in ({"TOUR_USER": "tour"}, {}) if CLIENT in SAYS_A_NAME else ({},):
                check_tour(*take_tour(world, server.resp, secret, user))
            said, context = take_tour(world, server.resp, None)
            assert "NOPERM" in context or "no permissions" in context and "done" not in said, context

    if CLIENT.startswith("ioredis"):
        @claim("the tour works over TLS with a name and a secret, and is rejected with an untrusted certificate")
        def _(world):
            server, secret = named(world)
            pem, flags = certificate(world)
            server.args[server.args.index("--resp") + 1] = "tls:127.0.0.1:%d" % server.resp
            server.args += flags
            with server:
                check_tour(*take_tour(world, server.resp, secret, {"TOUR_USER": "tour", "TOUR_CA": pem}))
                said, context = take_tour(world, server.resp, secret, {"TOUR_USER": "tour", "TOUR_CA": os.devnull})
                assert "self-signed certificate" in context and "done" not in said, context

    @claim("the client gets an id, a batch, a pipeline, a transaction and an error, exact to the digit")
    def _(world):
        with Server(world) as server:
            check_tour(*take_tour(world, server.resp, None))

    @claim("the tour works with a password")
    def _(world):
        with with_password(world) as server:
            check_tour(*take_tour(world, server.resp, PASSWORD))

    @claim("a wrong password and a missing password are rejected")
    def _(world):
        with with_password(world) as server:
            said, context = take_tour(world, server.resp, "guess")
            assert "WRONGPASS" in context and "done" not in said, context
            said, context = take_tour(world, server.resp, None)
            assert re.search("NOAUTH|Authentication required", context) and "done" not in said, context
            same(server.redis("AUTH", PASSWORD), b"+OK\r\n")


# ------------------------------------------------------------------ redis-cli and redis-benchmark

def redis_cli(world, server, script, flags="", password=None):
    env = {"REDISCLI_AUTH": password} if password else {}
    done = world.shell("redis-cli -p %d %s" % (server.resp, flags) + script, env=env)
    same(done.code, 0)
    return done


def commands(*lines):
    return " <<'END'\n%s\nEND" % "\n".join(lines)


TOUR = ["GET default", "MGET" + " default" * 5] + ["GET default"] * 10 + ["MULTI"] + ["GET default"] * 3 + ["EXEC", "GET nowhere",
                                                                                                    "GET default"]


def check_cli(done):
    ids = [int(text) for text in re.findall(r"(?m)^\"?([1-9]\d{14,18})\"?$", done.out)]
    same(len(ids), 20)
    assert all(b - a == 1024 for a, b in zip(ids, ids[1:])) and ids[0] & 1023 == 5, done.out
    assert "ERR unknown name 'nowhere'" in done.out, done.out


if CLIENT == "node-redis-5-resp3":
    @claim("a client with a cache, which could return an id twice, is rejected with the reason")
    def _(world):
        install_node_modules()
        with Server(world) as server:
            done = subprocess.run(["node", beside_modules("cache.js"), str(server.resp)], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60 * SLOW, cwd=world.folder, env=environment(world.folder))
            same((done.returncode, done.stdout.startswith("ERR CLIENT TRACKING is rejected, because a cache in the client")), (0, True))


if CLIENT == "redis-cli":
    if not shutil.which("redis-cli"):
        skip("apt-get install redis-tools")

    @claim("the tour works in RESP2 and RESP3, also with a password")
    def _(world):
        with Server(world) as server:
            for flags in ("", "-2", "-3"):
                check_cli(redis_cli(world, server, commands(*TOUR), flags))
        with with_password(world) as server:
            for flags in ("", "-3"):
                check_cli(redis_cli(world, server, commands(*TOUR), flags, PASSWORD))
            done = redis_cli(world, server, " GET default", password="guess")
            assert "WRONGPASS" in done.err and "NOAUTH" in done.out, (done.out, done.err)

    @claim("the commands for people work: INFO, COMMAND DOCS, VESTA.EXPLAIN as a map, latency")
    def _(world):
        with Server(world) as server:
            out = redis_cli(world, server, commands("INFO", "VESTA.EXPLAIN 4398046511109", "COMMAND DOCS GET", "CLIENT LIST"), "-3").out
            assert "redis_version:7.0.0" in out and "\nworker 5\n" in out and "summary the next id" in out and "resp=3" in out, out
            assert redis_cli(world, server, " -r 20 -i 0 GET default").out.count("\n") == 20
            same(redis_cli(world, server, " PING").out, "PONG\n")
            before = server.tick()
            done = world.shell("for i in $(seq 1000); do printf '*2\\r\\n$3\\r\\nGET\\r\\n$7\\r\\ndefault\\r\\n'; done | redis-cli -p %d --pipe"
                               % server.resp)
            assert "errors: 0, replies: 1000" in done.out, (done.out, done.err)
            same(server.tick(), before + 1001)

if CLIENT == "redis-benchmark":
    if not shutil.which("redis-benchmark"):
        skip("apt-get install redis-tools")

    @claim("redis-benchmark runs GET, MGET and a command of vesta, pipelined or not, and every request is answered")
    def _(world):
        with Server(world) as server:
            for flags, ids in (("GET default", 1), ("-P 16 GET default", 1), ("-P 50 -c 100 MGET default default default", 3),
                               ("-3 -P 4 VESTA.NEXT default 10", 10), ("--threads 2 GET default", 1)):
                before = server.tick()
                done = world.shell("redis-benchmark -p %d -q -n 10000 %s" % (server.resp, flags))
                assert "requests per second" in done.out and "ERR" not in done.out + done.err, (done.out, done.err)
                assert "fetch server CONFIG" not in done.out + done.err, done.err
                assert server.tick() >= before + 10000 * ids
        with with_password(world) as server:
            done = world.shell('redis-benchmark -p %d -a "$PASSWORD" -q -n 1000 GET default' % server.resp, env={"PASSWORD": PASSWORD})
            assert "requests per second" in done.out, (done.out, done.err)

sys.argv = sys.argv[:2]
main()
