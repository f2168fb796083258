"""databases.py -- the row about a database that answers slowly: a MariaDB of the row's own and a proxy, as the specs have
them.  A take is two messages, so each answer is held up for half of what a take is to last.
"""
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import net

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "spec" / "support"))
from servers import MariaDB, Proxy  # noqa: E402

TAKE_S = 0.2
TAG = ("CREATE DATABASE bench; USE bench; CREATE TABLE leaf_alloc (biz_tag VARCHAR(128) PRIMARY KEY, max_id BIGINT NOT NULL, "
       "step INT NOT NULL, update_time TIMESTAMP) ENGINE=InnoDB; INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('bench', 1, 1000)")


class Slow(Proxy):
    def pump(self, source, sink, from_client):
        if from_client:
            return super().pump(source, sink, from_client)
        while data := source.recv(65536):
            time.sleep(TAKE_S / 2)
            sink.sendall(data)
        return self.end(source, sink)


def slow_samples(build, samples):
    """Samples of bench_slow, and what it counted."""
    if not shutil.which("mariadbd", path="/usr/sbin:/usr/bin"):
        raise net.Missing("mariadbd is not here (Debian: mariadb-server)")
    db = MariaDB()
    try:
        db.start()
        db.sql(TAG)
        store = "mysql://root@127.0.0.1:%d/bench" % Slow(db.port).port
        out = subprocess.run([str(build / "bench" / "bench_slow"), store, str(samples)],
                             stdout=subprocess.PIPE, text=True, timeout=60 + 10 * samples, check=True).stdout
    finally:
        db.end()
    *made, counted = (json.loads(line) for line in out.splitlines())
    return made, counted
