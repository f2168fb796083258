"""conformance.py VESTA BUILD [COLUMN...] [-- WORDS OF A ROW] -- runs each fault with each language's client.  Prints a line for
each cell, then a table of faults by languages.  A cell fails if its test failed or did not run.

The columns run in parallel, and the rows of a column in turn.  Each column has two servers of its own.  One ledger has all ids
of all columns.
"""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ARGUMENTS = sys.argv[2:]
from cell import Cell, Site, Vesta, make_counter  # noqa: E402
from columns import COLUMNS  # noqa: E402
from driver import Ledger  # noqa: E402
from harness import VESTA  # noqa: E402
from rows import ROWS  # noqa: E402
import rows_replies  # noqa: E402,F401
import rows_secrets  # noqa: E402,F401
import rows_servers  # noqa: E402,F401
import rows_users  # noqa: E402,F401
import rows_uuids  # noqa: E402,F401


CERTIFICATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tls", "certificates")


class Suite:
    def __init__(self, folder, build, columns, rows):
        self.folder, self.build, self.columns, self.rows = folder, build, columns, rows
        self.ledger, self.verdicts, self.lock = Ledger(), {}, threading.Lock()
        self.shared, self.secrets, self.counters = {}, {}, make_counter(folder)

    def run(self):
        threads = [threading.Thread(target=self.column, args=(number, column), daemon=True)
                   for number, column in enumerate(self.columns)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for server in self.shared.values():
            server.end()

    def with_password(self):
        """Returns a server with a password, which all columns share."""
        with self.lock:
            if "password" not in self.shared:
                path = os.path.join(self.folder, "password")
                with open(path, "w") as file:
                    file.write(rows_users.PASSWORD + "\n")
                self.shared["password"] = Vesta(os.path.join(self.folder, "locked"), 9, "--resp-password-file", path)
            return self.shared["password"]

    def with_clients(self):
        """Returns a server that all columns share, and its clients' secrets.  `ids` and `odd` may request blocks, `reader` may not."""
        with self.lock:
            if "clients" not in self.shared:
                self.secrets_in(self.folder, self.secrets)
                self.shared["clients"] = Vesta(os.path.join(self.folder, "named"), 8, "--clients", os.path.join(self.folder, "clients"))
            return self.shared["clients"], self.secrets

    @staticmethod
    def secrets_in(folder, secrets):
        """Writes a file `clients` into the folder, and the clients' secrets into `secrets`."""
        with open(os.path.join(folder, "clients"), "w") as file:
            file.write("odd names=* calls=block secret=random:2026-01-01T00:00:00Z:%s\n" % hashlib.sha256(rows_secrets.ODD.encode()).hexdigest())
        secrets["odd"] = rows_secrets.ODD
        for name, *flags in ("ids", "--calls", "give,block"), ("reader", "--calls", "read"):
            said = subprocess.run([VESTA, "client", "add", name, "--file", os.path.join(folder, "clients"), *flags], check=True,
                                  capture_output=True, text=True)
            secrets[name] = said.stdout.strip()

    def certificates(self):
        """Returns the folder of certificates, which all columns share."""
        folder = os.path.join(self.folder, "certificates")
        with self.lock:
            if not os.path.exists(folder):
                subprocess.run([CERTIFICATES, folder], check=True, stdin=subprocess.DEVNULL, timeout=60)
        return folder

    def with_tls(self):
        """Returns the addresses of TLS servers that all columns share, by the names of their certificates, and the clients' secrets."""
        folder = self.certificates()
        _, secrets = self.with_clients()
        with self.lock:
            for worker, name in enumerate(("server", "elsewhere", "old"), 5):
                if name not in self.shared:
                    path = os.path.join(folder, name)
                    self.shared[name] = Vesta(os.path.join(self.folder, name), worker, "--clients", os.path.join(self.folder, "clients"),
                                              "--tls-certificate", path + ".pem", "--tls-key", path + ".key", tls="tls:")
            return {name: self.shared[name].address for name in ("server", "elsewhere", "old")}, secrets

    def column(self, number, column):
        os.makedirs(os.path.join(self.folder, column.name))
        site = Site(os.path.join(self.folder, column.name), number, self.counters)
        try:
            for row in self.rows:
                self.enter(row, column, self.cell(row, column, site))
        finally:
            site.end()

    def cell(self, row, column, site):
        """Runs a cell.  Returns the lines of its failure, or none, and its seconds."""
        begun, cell = time.monotonic(), None
        try:
            site.heal()
            cell = Cell(row, column, site, self)
            try:
                row.function(cell)
            finally:
                cell.end()
            return [], time.monotonic() - begun
        except Exception:
            return traceback.format_exc().splitlines(), time.monotonic() - begun

    def enter(self, row, column, outcome):
        wrong, seconds = outcome
        with self.lock:
            self.verdicts[row, column] = not wrong
            print("%s - %s / %s (%.1f s)" % ("not ok" if wrong else "ok", row.text, column.name, seconds))
            for line in wrong:
                print("    " + line)
            sys.stdout.flush()

    def table(self):
        """Prints the table, and returns the exit code."""
        width = max(len(row.text) for row in self.rows)
        print("\n%-*s %s" % (width, "", " ".join("%-8s" % column.name for column in self.columns)))
        passed = 0
        for row in self.rows:
            words = [{True: "ok", False: "FAILED", None: "MISSING"}[self.verdicts.get((row, column))] for column in self.columns]
            passed += words.count("ok")
            print("%-*s %s" % (width, row.text, " ".join("%-8s" % word for word in words)))
        cells = len(self.rows) * len(self.columns)
        print("\n%d ids were issued, no duplicate" % len(self.ledger))
        print("%d passed, %d failed" % (passed, cells - passed))
        return 0 if passed == cells and cells else 1


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    build, *names = ARGUMENTS
    words = ""
    if "--" in names:
        words = " ".join(names[names.index("--") + 1:])
        names = names[:names.index("--")]
    columns = [column for column in COLUMNS if not names or column.name in names]
    rows = [row for row in ROWS if words in row.text]
    with tempfile.TemporaryDirectory(prefix="vesta-clients-") as folder:
        suite = Suite(folder, os.path.abspath(build), columns, rows)
        suite.run()
        sys.exit(suite.table())


main()
