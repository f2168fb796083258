"""columns.py -- the languages of the table, one entry each."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))


class Column:
    """command: starts the driver, where BUILD is the build folder and HERE this one.
    forks: whether the runtime can fork.
    accepts: options that other clients reject, such as "ttl=0", or "wait" for any value.  In C, 0 means the default, and the
    wait is an argument of each call.
    calls: other names of options in this language's errors.
    falls_back: open has fallback=OPTIONS, a generator in the process that is used if no server answers.
    has_defaults: the command `defaults` works.  The rock has the defaults of C.
    tls: additional TLS options.  nginx does not compare addresses with certificates, and does not read /etc/hosts."""

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
