"""columns.py -- the languages whose clients are held to the rows: one entry each.  Knows no fault."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


class Column:
    """command: how its driver is started, BUILD standing for the folder of what is built, HERE for this one.  forks: whether
    its runtime can.  accepts: what others refuse, "ttl=0" or, for any value, "wait": in C, 0 is the default, and a wait an
    argument of each call.  calls: options that it has by another name.  falls_back: open has fallback=OPTIONS, a generator
    in the process for when no server answers.  has_defaults: of its own that can be asked for; the rock's are those of C.
    tls: what its options of TLS have in addition; nginx compares no addresses with certificates, and knows no /etc/hosts."""

    def __init__(self, name, *command, forks=False, accepts=(), calls=None, falls_back=False, env=None,
                 has_defaults=True, tls=None):
        self.name, self.command, self.forks, self.env = name, command, forks, env or {}
        self.has_defaults, self.tls = has_defaults, tls or {}
        self.accepts, self.calls, self.falls_back = accepts, calls or {}, falls_back

    def argv(self, build):
        return [part.replace("BUILD", build).replace("HERE", HERE) for part in self.command]


COLUMNS = [
    Column("c", "BUILD/drive_c", forks=True, accepts=("size=0", "ttl=0", "timeout=0", "wait"),
           calls={"size": "block_min"}, falls_back=True),
    Column("lua5.4", "lua5.4", "HERE/drive.lua", "BUILD/../../lua/5.4", calls={"size": "block_m", "wait": "wait_ms_max"},
           falls_back=True, has_defaults=False),
    Column("python", "python3", "HERE/drive.py", forks=True),
    Column("go", "BUILD/drive_go"),
    Column("java", "java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", "BUILD/java", "Drive"),
    Column("node", "node", "HERE/drive.js"),
    Column("php", "php", "HERE/drive.php", forks=True),
    Column("nginx", "python3", "HERE/drive_nginx.py", tls={"tls_name": "localhost"}),
]
