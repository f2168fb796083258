"""Regression: redis-cli --stat showed -9223372036854775808B, haproxy's OPTIONS was rejected with 405, HTTP/2 ended
without a readable error, replies had no Date, errors no nosniff, CONFIG GET took one pattern and returned '' for
timeout, SLOWLOG and LATENCY were unknown, and a client with a cache hung."""
import email.utils
import re
import socket
import subprocess
import time

from serving import Server, claim, command, get, main, same, until_closed


@claim("INFO contains correct values for redis-cli --stat")
def _(world):
    with Server(world) as server:
        info = dict(re.findall(r"(\w+):([^\r]*)", server.redis("INFO").decode()))
        rss = int(info["used_memory"]) / 1024 / server.rss_kb()
        assert 0.5 < rss < 2, info
        same((info["arch_bits"], info["blocked_clients"], info["connected_clients"], info["maxclients"]), ("64", "0", "1", "5000"))
        same((info["process_id"], info["rejected_connections"]), (str(server.process.pid), "0"))
        done = subprocess.Popen(["redis-cli", "-p", str(server.resp), "--stat", "-i", "0.1"], stdout=subprocess.PIPE, text=True)
        lines = [done.stdout.readline() for _ in range(4)]
        done.kill()
        done.wait()
        done.stdout.close()
        assert re.match(r"0 +\d+\.\d+M +1 +0 +\d+ \(\+0\) +\d+ *$", lines[2]), lines


@claim("CLIENT INFO shows the client's address, queue and memory, and CONFIG GET takes several patterns")
def _(world):
    with Server(world) as server, server.connect(server.resp) as sock:
        sock.sendall(command("CLIENT", "SETNAME", "me") + command("CLIENT", "INFO"))
        time.sleep(0.1)
        port = sock.getsockname()[1]
        said = sock.recv(4096).decode()
        assert re.search(r" addr=127\.0\.0\.1:%d laddr=127\.0\.0\.1:\d+ fd=\d+ name=me age=\d idle=0 flags=N .* multi=-1 .* omem=0 tot-mem=0 " % port, said), said
        same(server.redis("CONFIG", "GET", "save", "appendonly"), b"*4\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$4\r\nsave\r\n$0\r\n\r\n")
        same(server.redis("CONFIG", "GET", "maxc*", "MAXCLIENTS", "nosuch*"), b"*2\r\n$10\r\nmaxclients\r\n$4\r\n5000\r\n")
        same(server.redis("CONFIG", "GET", "nosuch"), b"*0\r\n")
        assert server.redis("CONFIG", "GET", "*").startswith(b"*24\r\n")
        assert server.redis("CONFIG", "GET", "*?" * 31 + "x").startswith(b"*0\r\n")
        assert server.redis("CONFIG", "GET", "*?" * 32 + "x").startswith(b"-ERR a pattern has 65 bytes")
        assert server.redis("CONFIG", "SET", "save", "").startswith(b"-ERR ")


@claim("CONFIG GET returns correct numbers where agents read numbers, and nothing for an unknown name")
def _(world):
    for flags, timeout in (([], b"300"), (["--resp-idle-ms", "1500"], b"2")):
        with Server(world, *flags) as server:
            words = server.redis("CONFIG", "GET", "*").split(b"\r\n")[2::2]
            said = dict(zip(words[::2], words[1::2]))
            same(said[b"timeout"], timeout)
            for name in (b"maxclients", b"databases", b"maxmemory", b"slowlog-max-len", b"slowlog-log-slower-than", b"latency-monitor-threshold"):
                int(said[name])
            same(server.redis("CONFIG", "GET", "requirepass", "dir", "nosuch"), b"*0\r\n")
            assert server.redis("CONFIG", "SET", "timeout", "0").startswith(b"-ERR CONFIG SET is rejected"), said
            assert server.redis("CONFIG", "RESETSTAT").startswith(b"-ERR CONFIG RESETSTAT is rejected"), said


@claim("INFO has a numeric value for each name that agents read")
def _(world):
    names = """uptime_in_seconds connected_clients maxclients blocked_clients used_memory used_memory_rss used_memory_peak maxmemory
      total_system_memory mem_fragmentation_ratio rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time aof_enabled
      total_connections_received total_commands_processed rejected_connections sync_full expired_keys evicted_keys keyspace_hits keyspace_misses
      pubsub_channels pubsub_patterns latest_fork_usec connected_slaves master_repl_offset used_cpu_sys used_cpu_user used_cpu_sys_children
      used_cpu_user_children cluster_enabled total_error_replies""".split()
    with Server(world) as server:
        server.redis("GET", "nosuch")
        started = int(server.redis("LASTSAVE")[1:])
        said = dict(re.findall(r"(\w+):([^\r]*)", server.redis("INFO").decode()))
        for name in names:
            float(said[name])
        same([said[name] for name in ("role", "redis_mode", "maxmemory_policy", "rdb_last_bgsave_status", "aof_last_write_status", "cluster_enabled",
                                      "total_error_replies")], ["master", "standalone", "noeviction", "ok", "ok", "0", "1"])
        assert abs(int(said["rdb_last_save_time"]) - started) <= 1 and abs(time.time() - started) < 600, (said, started)
        assert 0.9 < int(said["used_memory_peak"]) / int(said["used_memory"]) < 2 and int(said["total_system_memory"]) > 1 << 26, said


@claim("SLOWLOG, LATENCY, MEMORY, MODULE, CLUSTER and ROLE answer as Redis does with these features off")
def _(world):
    with Server(world) as server:
        for words, want in (("SLOWLOG GET", b"*0\r\n"), ("SLOWLOG GET 128", b"*0\r\n"), ("slowlog len", b":0\r\n"), ("SLOWLOG RESET", b"+OK\r\n"),
                            ("LATENCY LATEST", b"*0\r\n"), ("LATENCY HISTORY command", b"*0\r\n"), ("LATENCY RESET", b":0\r\n"),
                            ("LATENCY HISTOGRAM", b"*0\r\n"), ("MODULE LIST", b"*0\r\n"), ("ROLE", b"*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"),
                            ("CLUSTER INFO", b"-ERR This instance has cluster support disabled\r\n"),
                            ("MEMORY USAGE a", b"-ERR vesta does not store data\r\n")):
            same((words, server.redis(*words.split())), (words, want))
        assert server.redis("MEMORY", "STATS").startswith(b"*10\r\n$14\r\npeak.allocated\r\n:"), "MEMORY STATS"
        for words in ("LATENCY DOCTOR", "MEMORY DOCTOR"):
            assert server.redis(*words.split()).startswith(b"$"), words
        for words in ("SLOWLOG", "LATENCY", "MEMORY", "MODULE"):
            assert server.redis(words, "NOSUCH").startswith(b"-ERR unknown subcommand 'NOSUCH' of %s: use %s " % ((words.encode(),) * 2)), words


@claim("a client with a cache, which could return an id twice, is rejected with the reason")
def _(world):
    with Server(world) as server:
        said = server.redis("CLIENT", "TRACKING", "ON", "NOLOOP")
        assert said.startswith(b"-ERR CLIENT TRACKING is rejected, because a cache in the client would return the same id again"), said
        same(server.redis("CLIENT", "TRACKING", "OFF"), b"+OK\r\n")


@claim("OPTIONS is answered with Allow, for a path and for *, and costs no id")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for path, status, allow in (("/", 200, "GET, HEAD, OPTIONS"), ("/genid", 200, "GET, HEAD, POST, OPTIONS"),
                                    ("*", 200, "GET, HEAD, POST, OPTIONS"), ("/nowhere", 404, None)):
            reply = server.get(path, method="OPTIONS")
            same((path, reply.status, reply.headers.get("allow")), (path, status, allow))
            same(reply.body if status == 200 else "", "")
        said = server.say(server.http, b"OPTIONS / HTTP/1.0\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 200 OK\r\n"), said
        same(server.tick(), before + 1)


@claim("a client that begins with HTTP/2 gets an HTTP/2 frame that asks for HTTP/1.1")
def _(world):
    with Server(world) as server:
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for data, end in ((preface + bytes.fromhex("000000040000000000"), False), (preface, True)):
            said = server.say(server.http, data, end=end)
            assert re.fullmatch(rb"\0{3}\x04\0{7}.\x07\0{12}\rthis server speaks HTTP/1.1 and HTTP/1.0", said, re.DOTALL), said
            same(said[11], len(said) - 18)
        with server.connect(server.http) as sock:  # The client sends the preface in pieces.
            for byte in preface:
                sock.sendall(bytes([byte]))
            assert until_closed(sock).endswith(b"HTTP/1.0")
        assert 'vesta_requests_total{proto="http",code="bad_version"} 3\n' in server.get("/metrics").body


@claim("every reply has the current Date and nosniff")
def _(world):
    with Server(world) as server:
        for path, method, status in (("/genid", "GET", 200), ("/v1/ids", "POST", 200), ("/nowhere", "GET", 404), ("/v1/ids?n=0", "GET", 400),
                                     ("/genid", "PUT", 405), ("/metrics", "GET", 200), ("/healthz", "HEAD", 200)):
            reply = server.get(path, method=method)
            same((path, reply.status), (path, status))
            date = email.utils.parsedate_to_datetime(reply.headers["date"])
            assert reply.headers["date"] == email.utils.format_datetime(date, usegmt=True)
            assert abs(date.timestamp() - time.time()) < 30, reply.headers
            same((path, reply.headers.get("x-content-type-options")), (path, "nosniff"))
        first = server.get("/genid").headers["date"]
        while server.get("/genid").headers["date"] == first:
            time.sleep(0.05)


main()
