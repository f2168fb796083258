"""incr.py VESTA [NUMBERS] -- redis-benchmark's INCR of a tag with sixteen requests in flight, and a standard Redis
library.  All numbers are counted, and their digits are exact, also beyond 2^53, where a double is not.
"""
import re
import subprocess

from serving import Configured, claim, main, same
from taking import Connection, config, leaf_database, size, told

NUMBERS = size(0, 20000)
FIRST = 2**53 + 1
THREADS, EACH, BATCH = 4, max(10, NUMBERS // 2000), 16
LIBRARY = """
import redis, sys, threading
port, threads, each, batch = map(int, sys.argv[1:])
client, told = redis.Redis(port=port), []
def count():
    for _ in range(each):
        told.append(client.incr("orders"))
        told.append(int(client.get("orders")))
        pipe = client.pipeline(transaction=False)
        for _ in range(batch):
            pipe.incr("orders")
        told.extend(pipe.execute())
threads = [threading.Thread(target=count) for _ in range(threads)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(*told)
"""


def has_library():
    return subprocess.run(["/usr/bin/python3", "-c", "import redis"], capture_output=True).returncode == 0


@claim("redis-benchmark's INCR and a standard Redis library on a tag: all numbers are counted, and digits are exact")
def _(world):
    db, uri = leaf_database(orders=100000)
    db.sql("UPDATE leaf.leaf_alloc SET max_id = %d" % FIRST)
    with Configured(world, config("store = 'a', tags = '*'", a=uri), "--threads", "2") as server:
        connection = Connection(server.resp)
        same(connection.ask("INCR", "orders"), FIRST)
        done = world.shell("redis-benchmark -p %d -n %d -P 16 INCR orders" % (server.resp, NUMBERS), timeout=600)
        assert done.code == 0 and "rror" not in done.out + done.err, done.out + done.err
        told("redis-benchmark -n %d -P 16 INCR orders: %s", NUMBERS, re.search(r"throughput summary: (.*)", done.out)[1])
        after = int(connection.ask("GET", "orders"))
        told("GET orders: %d before, %d after: %d in between", FIRST, after, after - FIRST - 1)
        same(after, FIRST + NUMBERS + 1)
        if not has_library():
            told("redis-py is not here: python3-redis")
            return
        done = subprocess.run(["/usr/bin/python3", "-c", LIBRARY, *map(str, (server.resp, THREADS, EACH, BATCH))],
                              capture_output=True, text=True, timeout=600)
        same((done.returncode, done.stderr), (0, ""))
        numbers = [int(word) for word in done.stdout.split()]
        told("redis-py, %d threads: %d numbers, from %d to %d", THREADS, len(numbers), min(numbers), max(numbers))
        same(sorted(numbers), list(range(after + 1, after + 1 + THREADS * EACH * (BATCH + 2))))
        same(connection.ask("INCR", "orders"), max(numbers) + 1)
        connection.close()


main()
