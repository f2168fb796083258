"""Regression: a server that stopped while its store was unreachable logged that all worker ids were released and exited
with 0. The worker id was held for another 12 minutes."""
import os
import signal
import subprocess
import sys
import tempfile

VESTA = os.path.abspath(sys.argv[1])
from servers import SLOW, MariaDB, claim, free_port, gives_ids, main, until

home = tempfile.TemporaryDirectory(prefix="vesta-t7-")
env = dict(os.environ, VESTA_STATE=home.name, HOME=home.name)
db = MariaDB().start()
db.sql("CREATE DATABASE vesta")
URI = "mysql://root@127.0.0.1:%d/vesta" % db.port


@claim("on SIGTERM with an unreachable store, the server reports the worker id as held with the remaining time, and "
       "exits with an error")
def _():
    done = subprocess.run([VESTA, "store", "init", "--store", URI, "--namespace", "orders", "--layout", "snowflake"], env=env,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    port = free_port()
    server = subprocess.Popen([VESTA, "serve", "--http", "127.0.0.1:%d" % port, "--resp", "off", "--store", URI, "--namespace", "orders", "--layout", "snowflake"],
                              env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        until(lambda: gives_ids(port), "ids are given")
        db.stop(signal.SIGKILL)
        server.send_signal(signal.SIGTERM)
        said, _ = server.communicate(timeout=20 * SLOW)
        assert "all worker ids are released" not in said, said
        assert "was not released" in said and "12.0 min after its last renewal" in said, said
        assert server.returncode != 0, said
        db.start()
        listed = subprocess.run([VESTA, "workers", "--store", URI, "--namespace", "orders"], env=env, capture_output=True, text=True, timeout=60)
        assert "held" in listed.stdout, listed.stdout
    finally:
        server.kill()
        server.wait()


main()
