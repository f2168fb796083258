"""databases.py -- the row about a slow database: a new MariaDB behind the proxy of the specs. A take consists of two
messages, so each reply is delayed by half of the take's time."""
import sys
import time

from inside import printed
from rows import ROOT, Made, need

sys.path.append(str(ROOT / "spec" / "support"))
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


def slow(turns):
    need("mariadbd", "mariadb-server")
    db = MariaDB()
    try:
        db.start()
        db.sql(TAG)
        store = "mysql://root@127.0.0.1:%d/bench" % Slow(db.port).port
        *made, counted = printed(turns, turns.program("slow"), store, turns.samples)
    finally:
        db.end()
    longest = max(s["ours_max"] for s in made), max(s["yard_max"] for s in made)
    return Made([{"p999": (s["ours"], s["yard"])} for s in made], counted,
                {"": "%d waited, the longest took %.0f us, an add %.0f us" % (sum(s["waited"] for s in made), *longest)})
