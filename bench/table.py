"""table.py -- every row of the benchmarks, with its figures, yardsticks and targets."""
import audit
import databases
import host
import inside
import inserting
import languages
import latency
import log
import namespaces
import net
import page
import peers
import secured
import start
from rows import ADD_NS, Figure, Row, at_add, of_speeds, ours_alone

# Settings: layout and pacing, then processors.
W = "W, history"
W_CLOCK = "W, clock"
SECOND = "vesta-second, clock"
DEFAULTS = "defaults: vesta-second, clock"
TWO, ONE, FREE = "two cores", "one core", "not pinned"
ADD, CONTENDED = "an atomic add", "a contended add"
NGINX, REDIS = "nginx return 200", "redis-server INCR"


def setting(*parts):
    return ", ".join(parts)


# ---------------------------------------------------------------- in the process

def core(name, what, yard, wanted, where, binary="core", of=None):
    return Row(name, "core", inside.core(of or name, binary), (Figure("ns", what, yard, "ns", wanted, where, of_speeds),))


CORE = [
    core("history", "next, 1 thread", ADD, ">= 0.87", W),
    core("threads", "next, 2 threads", CONTENDED, ">= 0.75", W),
    core("processes", "next, 2 processes, one file", CONTENDED, ">= 0.75", W),
    core("clock", "next, 1 thread", ADD, ">= 0.5", W_CLOCK),
    core("clock_second", "next, 1 thread", ADD, ">= 0.5", SECOND),
    core("clock_milli", "next, 1 thread", ADD, ">= 0.5", "snowflake's unit, clock"),
    Row("capacity", "core", inside.capacity, (
        Figure("rate", "next_wait, at capacity", "4096 per millisecond", "ids/s", ">= 0.995", "snowflake, clock"),
        Figure("core", "next_wait, at capacity, CPU time", "a core", "core", "<= 0.3", "snowflake, clock"))),
    core("lane", "a lane of 64, 1 thread", ADD, ">= 2", W),
    core("lanes", "a lane of 64 each, 2 threads", CONTENDED, ">= 5", W),
    core("batch", "next_n of 256, per id", ADD, ">= 3.5", W),
    core("uuid7", "next_uuid, version 7, 1 thread", ADD, "", "snowflake's unit, clock"),
    core("uuid7_batch", "next_uuid_n of 256, per UUID", ADD, "", W),
    Row("uuid7_libraries", "core", peers.uuid7, tuple(
        Figure(key, "next_uuid, version 7", yard, "ns", ">= 3", "snowflake's unit, clock", of_speeds)
        for key, yard in (("node", "node: uuid, version 7"), ("libuuid", "libuuid, random"), ("go", "Go: google/uuid, random")))),
    core("past", "past_next, an id of a past date, 1 thread", ADD, "", "snowflake's unit"),
    core("lease", "next, a shared lease", "a local lease", ">= 0.98", W),
    core("lease_clock", "next, a shared lease", "a local lease", ">= 0.98", W_CLOCK),
    core("segment", "segment next, 1 thread", ADD, ">= 0.65", "in memory", "segment", "next"),
    core("segment_threads", "segment next, 2 threads", CONTENDED, ">= 0.75", "in memory", "segment", "threads"),
    Row("segment_slow_database", "core", databases.slow, (
        Figure("p999", "segment next, p99.9, a step in 400 ms", ADD, "us", "<= 10", "MariaDB with a delay of 200 ms", ours_alone),)),
    core("format", "write an id in decimal", ADD, ">= 0.4", "", "text"),
    core("parse", "parse an id", ADD, ">= 0.5", "", "text"),
    *(Row(f"mask_{name}", "core", inside.core(name, "mask"), (
        Figure("ns", what, f"{ADD} of {ADD_NS} ns", "ns", f"<= {most}", "10 digits, Luhn", at_add),))
      for name, what, most in (("one", "mask an id", 500), ("batch", "mask ids, 64 at once, per id", 150))),
    core("mask_aes", "mask an id", "ten blocks of AES", ">= 0.4", "10 digits, Luhn", "mask", "aes"),
]


def lua(interpreter, version, next_ns, next_int_ns, batch_ns, fresh):
    at = f"{ADD} of {ADD_NS} ns"
    return Row(interpreter, "lua", inside.lua(interpreter, version), (
        Figure("next", f"{interpreter}, next", at, "ns", f"<= {next_ns}", W, at_add),
        Figure("next_int", f"{interpreter}, next_int", at, "ns", f"<= {next_int_ns}", W, at_add),
        Figure("batch", f"{interpreter}, batch(500), per id", at, "ns", f"<= {batch_ns}", W, at_add),
        Figure("batch_to_next", f"{interpreter}, batch(500), per id", "next", "ns", "<= 1", W),
        Figure("next_to_fresh", f"{interpreter}, next", "string.sub of 19 digits", "ns", f"<= {fresh}", W)))


LUA = [
    lua("luajit", "5.1", 80, 12, 70, 1.5),
    lua("lua5.4", "5.4", 77, 30, 70, 1.1),
    Row("nginx", "lua", net.nginx_lua, (
        Figure("best.rate.two", 'nginx, require "vesta"', "a constant from Lua", "/s", ">= 0.85", setting(W, TWO)),
        Figure("best.cpu.one", 'nginx, require "vesta", CPU time', "a fresh string from Lua", "us", "<= 1", setting(W, ONE)))),
    Row("nginx_client", "lua", net.nginx_client, (
        Figure("best.rate.two", "nginx with the cosocket client", "a constant from Lua", "/s", ">= 0.8", setting(W, TWO)),)),
]


# ---------------------------------------------------------------- over the network

def of_servers(what, yard, rate, cpu, defaults=False):
    """Requests per second with a core each, and CPU time on one core, of the best configuration and of the defaults."""
    kinds = [("best", W, rate, cpu)] + ([("default", DEFAULTS, "", "")] if defaults else [])
    return tuple(figure for kind, layout, rate, cpu in kinds for figure in (
        Figure(f"{kind}.rate.two", what, yard, "/s", rate, setting(layout, TWO)),
        Figure(f"{kind}.cpu.one", f"{what}, CPU time", yard, "us", cpu, setting(layout, ONE))))


def http(connections, rate, cpu):
    both = connections in (1, net.CLIENTS_HTTP)
    return Row(f"http{connections}", "http", net.http(connections, ("best", "default") if both else ("best",)),
               of_servers(f"HTTP /genid, {connections} connection{'s' * (connections > 1)}", NGINX, rate, cpu, both),
               "" if connections == 1 else "http1")


def resp(pipeline, rate, cpu, unix=False):
    what = f"RESP GET, -P {pipeline}" + (", unix socket" if unix else "")
    floor = (Figure("constant.cpu.one", "  a constant, nothing parsed, CPU time", REDIS, "us", "", ONE),) if pipeline == 1 else ()
    contenders = ("best",) + (() if unix else ("default",)) + (("constant",) if floor else ())
    return Row(f"resp{pipeline}" + ("_unix" if unix else ""), "resp", net.resp(pipeline, unix, contenders),
               of_servers(what, REDIS, rate, cpu, not unix) + floor, "" if pipeline == 16 else "resp16" + ("_unix" if unix else ""))


def resp_lean(unix):
    what = "RESP GET, -P 1, 64 connections of bench_load" + (", unix socket" if unix else "")
    return Row("resp_lean" + ("_unix" if unix else ""), "resp", net.resp_lean(unix), of_servers(what, REDIS, "", "<= 0.8"),
               "resp_lean" if unix else "")


HTTP = [
    http(1, "", "<= 0.95"), http(64, ">= 1", "<= 0.8"), http(512, "", "<= 0.95"), http(4096, "", "<= 0.95"),
    Row("http_unix", "http", net.http_unix, of_servers("HTTP /genid, unix socket, 64 connections", NGINX, "", "<= 0.95")),
    Row("pipeline", "http", host.pipeline, (
        Figure("best.rate.two", "HTTP /genid, 16 pipelined", NGINX, "/s", ">= 5", setting(W, TWO)),)),
]
RESP = [
    resp(1, ">= 1", "<= 0.87"), resp(16, ">= 1.2", "<= 0.53"), resp(64, ">= 1.2", "<= 0.24"),
    resp(1, "", "<= 0.8", True), resp(16, "", "<= 0.5", True), resp(64, "", "<= 0.25", True),
    resp_lean(False), resp_lean(True),
    Row("refused", "resp", net.refused, (
        Figure("refused", "RESP GET, -P 64, rejected of 8,000,000", "requests", "", "<= 0", setting(DEFAULTS, FREE), ours_alone),)),
]
TLS_NGINX, TLS_REDIS, NOBODY = "nginx return 200, TLS", "redis-server INCR, TLS", "the same without names"
SECURED = [
    Row("tls_http", "secured", secured.http, of_servers("HTTP /genid, TLS 1.3, 64 connections", TLS_NGINX, ">= 1", "<= 0.95")),
    Row("tls_handshakes", "secured", secured.handshakes, (
        Figure("best.rate.two", "full handshakes, one after the other", TLS_NGINX, "/s", ">= 0.95", TWO),
        Figure("best.cpu.two", "  by the server's CPU time", TLS_NGINX, "us", ">= 0.95", TWO, of_speeds))),
    Row("tls_resp1", "secured", secured.resp(1), of_servers("RESP GET, TLS 1.3, -P 1", TLS_REDIS, ">= 1", "")),
    Row("tls_resp64", "secured", secured.resp(64), of_servers("RESP GET, TLS 1.3, -P 64", TLS_REDIS, ">= 1.2", "")),
    Row("named_http", "secured", secured.named_http, (
        *of_servers("HTTP /genid, one of 50 clients with rate limits", NOBODY, ">= 0.97", "<= 1.03"),
        Figure("in_turn.cpu.one", "  each request from a different client, CPU time", NOBODY, "us", "<= 1.03", setting(W, ONE)))),
    Row("named_resp", "secured", secured.named_resp, of_servers(
        "RESP GET, -P 16, one of 50 clients with rate limits", NOBODY, ">= 0.97", "<= 1.03")),
]


def at_shares(what, yard, wanted):
    return tuple(Figure(f"{time}.{share}", f"{what}, {name} at {share} % of the peak", yard, "us", wanted.get((time, share), ""),
                        setting(W, TWO)) for share in latency.SHARES for time, name in zip(latency.TIMES, ("p50", "p99", "p99.9")))


LATENCY = [
    Row("latency_http", "latency", latency.http, at_shares("HTTP", NGINX, {("p99", 50): "<= 0.9"})),
    Row("latency_resp", "latency", latency.resp, at_shares("RESP", REDIS, {("p99", 10): "<= 1.2", ("p99", 50): "<= 1.2"})),
]


# ---------------------------------------------------------------- the host and others

HOST = [
    Row("balance", "host", host.balance, (
        Figure("load", "64 connections on 4 threads: connections on the busiest thread", "the mean", "", "<= 1.2", FREE),)),
    Row("idle", "host", host.idle, (
        Figure("memory", "memory with 10,000 idle connections", "with none", "MiB", "<= 40", FREE, ours_alone),)),
    Row("spin", "host", host.spin, (
        Figure("p999", "p99.9 at half load, a policy in an endless loop", "a policy that answers", "us", "<= 1.5", FREE),)),
    Row("reload", "host", host.reload, (
        Figure("lost", "requests lost with ten reloads per second", "of all", "", "<= 0", FREE, ours_alone),)),
    Row("crowd", "host", namespaces.crowd, (
        Figure("opened", "10,000 namespaces in a process: first id, per namespace", "1 ms", "ms", "<= 1", "snowflake, clock, a store in files"),
        Figure("memory", "  memory per namespace", "16 KiB", "KiB", "<= 1"),
        Figure("rest", "  CPU time when idle", "1 % of a core", "cores", "<= 1"))),
    Row("namespaces", "host", namespaces.rows, (
        Figure("opened", "1,000 namespaces in a server: first id, per namespace", "the first", "ms", "<= 1", setting("snowflake, clock", ONE), ours_alone),
        Figure("memory", "  memory per namespace", "16 KiB", "KiB", "<= 16", "", ours_alone),
        Figure("rest", "  CPU time when idle", "with one", "% of a core", "<= 1", "", ours_alone),
        Figure("cost", "  an id over RESP -P 16, CPU time", "with one", "us", "<= 1.15", setting("snowflake, clock", ONE)))),
    Row("start", "host", start.gen, (Figure("ms", "vesta gen, existing generator file", "/bin/true", "ms", "<= 1.5"),)),
    Row("lease_run", "host", start.lease, (
        Figure("ms", "vesta lease run, to the start of a program, over the bare start", "10 ms", "ms", "<= 1", "a store in files"),)),
    Row("serve", "host", start.serve, (Figure("ms", "vesta serve, to the first id", "redis-server", "ms", "", setting(W, FREE)),)),
    Row("page", "host", page.row, (
        Figure("size", "web page, total file size", "150 KB", "bytes", "<= 1"),
        Figure("paint", "  first paint in Chromium", "200 ms", "ms", "<= 1"),
        Figure("rest", "  CPU time with 10 idle viewers", "with none", "% of a core", "<= 1", "", ours_alone))),
]
BULK = [
    Row("growth", "bulk", inside.growth, (
        Figure("adds", "next, after 10^9 ids", "after 10^3", "adds", "<= 1.15", W),)),
    Row("gen", "bulk", audit.gen, (Figure("time", "vesta gen -n, per id", "seq, per line", "ns", "", "W, clock"),)),
    Row("audit", "bulk", audit.audit, (
        Figure("time", "vesta audit", "sort -u", "s", "<= 0.3"),
        Figure("id", "  per id", "50 ns", "ns", "<= 1"),
        Figure("memory", "  memory, per id", "16 bytes", "bytes", "<= 1"))),
    Row("explain", "bulk", log.explain, (
        Figure("speed", "vesta explain -, two ids per line", "200 MB/s", "MB/s", ">= 1"),
        Figure("grep", "vesta explain -, two ids per line", "grep -cE '[0-9]{18,20}'", "MB/s", ">= 0.3"))),
]


def client(language, counter, wanted=">= 0.5"):
    return Row(f"client_{language.lower()}", "clients", languages.client(language), (
        Figure("rate", f"client in {language}, next", counter, "ids/s", wanted, "blocks of 100,000"),))


CLIENTS = [
    client("C", ADD, ">= 0.8"), client("python", "a counter under a lock"), client("go", "a counter under a mutex"),
    client("java", "a counter under a lock"),
    Row("client_node", "clients", languages.client_node, (
        Figure("rate", "client in node, await next", "an atomic counter behind a promise", "ids/s", ">= 0.5", "blocks of 100,000"),
        Figure("take", "  take", "an atomic counter", "ids/s", ">= 0.5"),
        Figure("npm", "  take", languages.NPM, "ids/s", ">= 0.5"))),
]


def inprocess(language, interface, own, wanted="<= 1.3"):
    return Row(f"inprocess_{language.lower()}", "inprocess", languages.inprocess(language.lower()), (
        Figure("empty", f"class in {language}, next", f"an empty call through {interface}", "ns", wanted, WIDER),
        Figure("own", "  the same", own, "ns", "", WIDER, of_speeds)))


WIDER = "W with 24 bits of sequence, clock"
OWN = "Twitter's algorithm in pure %s, with a lock"
INPROCESS = [
    inprocess("Python", "ctypes", OWN % "Python"), inprocess("PHP", "FFI", "Twitter's algorithm in pure PHP"),
    inprocess("Ruby", "Fiddle", OWN % "Ruby"), inprocess("Node", "koffi", languages.NPM),
    inprocess("Go", "cgo", OWN % "Go"), inprocess("Java", "JNA", OWN % "Java"),
]


# ---------------------------------------------------------------- inside a database

NEXTVAL, ASYNC = "DEFAULT nextval()", "snowflake, no sync"
DATABASES = [
    Row("insert_postgresql", "databases", inserting.postgresql, (
        Figure("one", "PostgreSQL: INSERT of a row, 1 session", NEXTVAL, "rows/s", ">= 0.95", ASYNC),
        Figure("one.cpu", "  CPU time", NEXTVAL, "us", "<= 1.05", ASYNC),
        Figure("sixteen", "  16 sessions", NEXTVAL, "rows/s", ">= 0.95", ASYNC),
        Figure("sixteen.cpu", "  16 sessions, CPU time", NEXTVAL, "us", "<= 1.05", ASYNC),
        Figure("select", "  INSERT of 1,000,000 rows by SELECT", NEXTVAL, "rows/s", ">= 0.95", ASYNC),
        Figure("copy", "  COPY of 1,000,000 rows", NEXTVAL, "rows/s", "", ASYNC))),
    Row("insert_mariadb", "databases", inserting.mariadb, (
        Figure("one", "MariaDB: INSERT of a row, 1 session", "AUTO_INCREMENT", "rows/s", ">= 0.95", ASYNC),
        Figure("sixteen", "  16 sessions", "AUTO_INCREMENT", "rows/s", ">= 0.95", ASYNC),
        Figure("select", "  INSERT of 1,000,000 rows by SELECT", "AUTO_INCREMENT", "rows/s", "", ASYNC))),
    Row("insert_sqlite", "databases", inserting.sqlite, (
        Figure("one", "SQLite: INSERT of a row, in a transaction", "INTEGER PRIMARY KEY", "rows/s", "", "snowflake, in memory"),
        Figure("select", "  INSERT of 1,000,000 rows by SELECT", "INTEGER PRIMARY KEY", "rows/s", "", "snowflake, in memory"))),
]


# ---------------------------------------------------------------- other projects, and promises that they do not make

def peer(key, what, remark):
    return Figure(key, what, ADD, "ns", "", remark, of_speeds)


PEERS = [
    Row("peers_uuid", "peers", peers.uuid, (
        peer("random", "libuuid, random", "128 bits, no order"),
        peer("time", "libuuid, by time", "128 bits, not in order as text, not unique if two MAC addresses are equal"))),
    Row("peers_go", "peers", peers.go, (
        peer("uuid", "Go: google/uuid, random", "128 bits, no order"),
        peer("xid", "Go: rs/xid", "96 bits, a hash of machine and process, a counter that can wrap"),
        peer("ulid", "Go: oklog/ulid, monotonic", "128 bits, unique between processes by chance"),
        peer("ksuid", "Go: segmentio/ksuid", "160 bits, sorted by second only"))),
    Row("peers_node", "peers", peers.node, (
        peer("sapphire", "node: @sapphire/snowflake", "64 bits, assigned worker id, no record of the last run"),
        peer("yitter", "node: simple-flakeid (yitter)", "64 bits, assigned worker id, no record of the last run"),
        peer("nodejs", "node: nodejs-snowflake", "64 bits, assigned worker id, no record of the last run"),
        peer("flake", "node: flake-idgen", "64 bits, assigned worker id, throws if a millisecond is exhausted"),
        peer("ulid", "node: ulid", "128 bits, no order within a millisecond"),
        peer("uuid7", "node: uuid, version 7", "128 bits, unique between processes by chance"))),
    Row("peers_servers", "peers", peers.servers_of_constants, tuple(
        Figure(name, "HTTP /genid, 64 connections, CPU time", f"{library}, a constant", "us", "", setting(W, ONE))
        for name, library in peers.SERVERS.items())),
]

RATES = [
    Row("rates", "rates", net.rates, tuple(
        Figure(f"{key}.rate", what, yard, "ids/s", "", setting(DEFAULTS, TWO))
        for key, what, yard in (("http", "HTTP", "nginx, a constant"), ("resp", "Redis protocol", "redis-server, INCR"),
                                ("unix", "Redis protocol, unix socket", "redis-server, INCR")))),
]

ROWS = [*RATES, *CORE, *LUA, *HTTP, *RESP, *SECURED, *LATENCY, *HOST, *BULK, *CLIENTS, *INPROCESS, *DATABASES, *PEERS]
NAMED = {row.name: row for row in ROWS}
GROUPS = {"rates": "the picture of the README: sustained rates", "core": "in the process", "lua": "from Lua, and inside nginx", "http": "HTTP next to nginx",
          "resp": "the Redis protocol next to redis-server", "secured": "TLS, and clients with names",
          "latency": "open load", "host": "connections, namespaces, policies, start-up",
          "bulk": "millions of ids", "clients": "blocks in other languages", "inprocess": "ids in the process, in other languages",
          "databases": "ids made inside a database", "peers": "other generators and servers"}
