"""redis.py -- the Redis face of `vesta serve`: what clients send, and what is refused."""
import re
import shutil
import threading

from serving import Server, bulks, claim, command, main, same, until_closed


@claim("GET gives ids as bulk strings, MGET all of them or none")
def _(world):
    with Server(world) as server:
        data = server.redis("GET", "default")
        assert re.fullmatch(rb"\$\d\d\r\n\d{15,20}\r\n", data), data
        data = server.redis("mget", *["default"] * 1000)
        assert data.startswith(b"*1000\r\n")
        same(len(set(bulks(data))), 1000)
        before = server.tick()
        same(server.redis("MGET", "default", "orders"), b"-ERR unknown name 'orders': this server has 'default'\r\n")
        same(server.tick(), before + 1)


@claim("the method field says which face made an id")
def _(world):
    with Server(world, layout="vesta-second", pacing="clock") as server:
        (id,) = bulks(server.redis("GET", "default"))
        assert '"genMethod":1,' in server.get("/expid?id=%d" % id).body
        assert '"genMethod":2,' in server.get("/expid?id=" + server.get("/genid").body).body


@claim("what clients send when they connect is answered")
def _(world):
    with Server(world) as server:
        def says(want, *words):
            same((words, server.redis(*words)), (words, want))
        says(b"+PONG\r\n", "PING")
        says(b"$2\r\nhi\r\n", "PING", "hi")
        says(b"$2\r\n\r\n\r\n", "ECHO", "\r\n")
        says(b"+OK\r\n", "QUIT")
        says(b"+OK\r\n", "SELECT", "0")
        says(b"-ERR DB index is out of range\r\n", "SELECT", "16")
        says(b"*2\r\n$4\r\nsave\r\n$0\r\n\r\n", "CONFIG", "GET", "save")
        says(b"*1\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+fast\r\n+write\r\n:1\r\n:1\r\n:1\r\n" + b"*0\r\n" * 4,
             "COMMAND", "INFO", "GET")
        says(b"+OK\r\n", "CLIENT", "SETINFO", "LIB-NAME", "x")
        says(b"$-1\r\n", "CLIENT", "GETNAME")
        says(b"-NOPROTO unsupported protocol version\r\n", "HELLO", "4")
        says(b"-ERR vesta does not store data\r\n", "SET", "a", "b")
        says(b"-ERR vesta does not store data\r\n", "DEL", "a")
        assert server.redis("HELLO", "2").startswith(b"*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n")
        assert b"\r\nrole:master\r\n" in server.redis("INFO") and b"loading:0" in server.redis("INFO", "persistence")
        assert re.fullmatch(rb":\d+\r\n", server.redis("CLIENT", "ID"))
        assert server.redis("FOO", "bar").startswith(b"-ERR unknown command 'FOO', with args beginning with: 'bar'")
        assert server.redis("GET").startswith(b"-ERR wrong number of arguments for 'GET'")
        assert server.redis("GET", "a", "b").startswith(b"-ERR wrong number of arguments for 'GET'")
        data = server.say(server.resp, command("CLIENT", "SETNAME", "me") + command("CLIENT", "GETNAME") + b"PING\r\n")
        same(data, b"+OK\r\n$2\r\nme\r\n+PONG\r\n")
        same(server.say(server.resp, command("QUIT") + command("GET", "default"), end=False), b"+OK\r\n")


@claim("names are names and nothing else: an error on one line, no id, the connection lives on")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for name in ("' OR 1=1 --", "a`b", "../x", "Default", "default ", "x" * 65, b"x" * 65536, b"\xff\xfe", "\u0661\u0662",
                     "\U0001f600", "\r\nSET x", b"\0", b"default\0", "", "%00"):
            data = server.say(server.resp, command("GET", name) + command("PING"))
            assert re.fullmatch(rb"-ERR unknown name '[ -~]*': this server has 'default'\r\n\+PONG\r\n", data), (name, data)
        same(server.tick(), before + 1)


@claim("broken and hostile requests are refused, cost no id, and the next one is served")
def _(world):
    with Server(world) as server:
        before = server.tick()
        for data in (b"*1000000000\r\n", b"*1\r\n$2147483648\r\n", b"*-1\r\n", b"*-2\r\n", b"*1\r\n$-2\r\n", b"*1\r\n$-1\r\n",
                     b"*2\r\n$3\r\nGET\r\n$7\r\ndefaultXX", b"*1\n$4\nPING\n", b"x" * (1 << 20), b"*1\r\n*1\r\n$4\r\nPING\r\n",
                     b"*01\r\n", b"*1\r\n$65537\r\n", b"*1025\r\n"):
            reply = server.say(server.resp, data, end=False)
            assert re.fullmatch(rb"-ERR Protocol error: [ -~]+\r\n", reply), (data[:40], reply)
            same(server.redis("PING"), b"+PONG\r\n")
        for data in (b"", b"*2\r\n$3\r\nGET\r\n$7\r\ndefa", b"GET default"):  # half a command, then gone
            same(server.say(server.resp, data), b"")
        same(server.say(server.resp, b"\x16\x03\x01\x02\x00"), b"-ERR Protocol error: TLS is not spoken here\r\n")
        same(server.tick(), before + 1)


@claim("a browser that was made to post here is cut off before its body")
def _(world):
    with Server(world) as server:
        before = server.tick()
        body = b"Content-Length: 13\r\n\r\nGET default\r\n"
        same(server.say(server.resp, b"POST / HTTP/1.1\r\nHost: x\r\n" + body, end=False), b"")
        reply = server.say(server.resp, b"GET / HTTP/1.1\r\nHost: x\r\n" + body, end=False)
        assert re.fullmatch(rb"-ERR wrong number [ -~]+\r\n", reply), reply
        same(server.tick(), before + 1)


@claim("a million pipelined commands are answered, in order")
def _(world):
    with Server(world) as server:
        with server.connect(server.resp) as sock:
            got = []
            reader = threading.Thread(target=lambda: got.append(until_closed(sock)))
            reader.start()
            for _ in range(10):
                sock.sendall(b"PING\r\n" * 99999 + b"GET default\r\n")
            sock.sendall(b"QUIT\r\n")
            reader.join()
        (data,) = got
        same(data.count(b"+PONG\r\n"), 999990)
        ids = bulks(data)
        assert len(ids) == 10 and all(b - a == 1024 for a, b in zip(ids, ids[1:])), ids
        assert data.endswith(b"\r\n+OK\r\n")


@claim("redis-cli and redis-benchmark work as they come")
def _(world):
    assert shutil.which("redis-cli"), "apt-get install redis-tools"
    with Server(world) as server:
        done = world.shell("redis-cli -p %d MGET default default; redis-cli -p %d -3 GET default; "
                           "printf 'GET default\\nPING\\n' | redis-cli -p %d; redis-benchmark -p %d -q -n 2000 -P 16 GET default"
                           % ((server.resp,) * 4))
        same(done.code, 0)
        same(len(re.findall(r"(?m)^\d{15,19}$", done.out)), 4)
        assert "PONG" in done.out and "requests per second" in done.out, done.out
        assert "fetch server CONFIG" not in done.out + done.err, done.err


main()
