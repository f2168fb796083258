"""Regression: getaddrinfo ran inside a store's call. If the name servers were unreachable, the call took as long as the
lookup, and delayed the end of the process as well."""
import os
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
VESTA = os.path.abspath(sys.argv[1])
from servers import SLOW, claim, main

CALL = os.path.join(BUILD, "spec", "stores", "store_call")
LOOKUP_S = 30  # see slow_names.c
END_S = 5 + 3 * SLOW  # 5 s are promised, and a busy machine needs more to notice.
SLOW_NAMES = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "slow_names.so"),
                  ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0:detect_leaks=0")
URIS = ("mysql://me:x@db.slow/vesta", "postgresql://me:x@db.slow/vesta", "zk://me:x@a.slow,b.slow/vesta")


@claim("during a lookup, a call returns at its deadline, the next call waits for the same lookup, and the process can "
       "end")
def _():
    for uri in URIS:
        begun = time.monotonic()
        done = subprocess.run([CALL, uri, "orders", "300"], input="ns\nswap 7 0 10\n", env=SLOW_NAMES, capture_output=True,
                              text=True, timeout=LOOKUP_S)
        assert done.returncode == 0, done.stderr
        assert [line.split()[0] for line in done.stdout.splitlines()] == ["DOWN"] * 2, done.stdout
        assert "was not open before the deadline" in done.stdout, done.stdout
        assert time.monotonic() - begun < LOOKUP_S / 2


def told_to_end(words, line):
    """Starts vesta, ends it after that line, and returns the exit code and the output."""
    with tempfile.TemporaryDirectory() as home:
        program = subprocess.Popen([VESTA, *words], cwd=home, env=dict(SLOW_NAMES, VESTA_STATE=home), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = ""
        while line not in said:
            more = program.stderr.readline()
            assert more, "it ended with %d: %s" % (program.wait(), said)
            said += more
        begun = time.monotonic()
        program.send_signal(signal.SIGTERM)
        said += program.communicate(timeout=LOOKUP_S)[1]
        took = time.monotonic() - begun
        assert took < END_S, (took, said)
        return program.returncode, said


@claim("SIGTERM ends a server and a gen that wait for a name within 5 s")
def _():
    for uri in URIS:
        code, said = told_to_end(["serve", "--http", "unix:http.sock", "--resp", "off", "--store", uri, "--layout", "snowflake"], "was not open before the deadline")
        assert code == 0 and "all worker ids are released" in said, (code, said)
        code, said = told_to_end(["gen", "-n", "5", "--store", uri, "--layout", "snowflake", "--wait-ms", "60000"], "no lease")
        assert code == -signal.SIGTERM, (code, said)

main()
