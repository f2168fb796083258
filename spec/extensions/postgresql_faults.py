"""postgresql_faults.py BUILD -- the extension for PostgreSQL when ids cannot be issued, and when processes end."""
import os
import re
import signal
import subprocess
import sys
import time

from extended import Extended
from servers import claim, free_port, main, until

BUILD = sys.argv[1]
db = Extended(BUILD)
KEEPER = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'vesta keeper'"


def said(text, *settings):
    """The message of a statement that fails, and how long it took."""
    begun = time.monotonic()
    done = db.run_tool("psql", "-X", "-v", "VERBOSITY=verbose", "-v", "ON_ERROR_STOP=1", *(word for one in settings for word in ("-c", "SET " + one)), "-c", text)
    assert done.returncode != 0, done.stdout
    return done.stderr, time.monotonic() - begun


def status(pid, task):
    with open("/proc/%s/task/%s/status" % (pid, task)) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def keeper():
    return until(lambda: db.sql(KEEPER), "a keeper runs")


def set_keep(value):
    db.tool("psql", "-X", "-c", "LOAD 'vesta'", "-c", "ALTER SYSTEM SET vesta.keep = %s" % value, "-c", "SELECT pg_reload_conf()")


@claim("a session has one thread, and the keeper's threads block every signal but SIGBUS")
def threads():
    db.env.update(LD_PRELOAD=os.path.join(BUILD, "clock_shift.so"), CLOCK_SHIFT=db.write("shift", "0s"))
    db.start()
    db.generator("orders", "--layout", "snowflake")
    db.sql("CREATE EXTENSION vesta; CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT vesta_next('orders'), n int)")
    session = db.session()
    session.stdin.write("SELECT vesta_next('orders') > 0, pg_backend_pid();\n")
    session.stdin.flush()
    pid = session.stdout.readline().strip().split("|")[1]
    assert os.listdir("/proc/%s/task" % pid) == [pid]
    worker = keeper()
    others = [task for task in os.listdir("/proc/%s/task" % worker) if task != worker]
    assert others
    for task in others:
        blocked = int(status(worker, task)["SigBlk"], 16)
        open_to = [number for number in range(1, 32) if not blocked >> (number - 1) & 1]
        assert open_to == [signal.SIGBUS, signal.SIGKILL, signal.SIGSTOP], open_to
    session.communicate("\\q\n")


@claim("sessions of one host use one keeper, and its end interrupts no id")
def one_keeper():
    first = keeper()
    assert db.sql("SELECT pg_cancel_backend(%s)" % first) == "t"
    db.sql("SELECT pg_sleep(0.2)")
    assert db.sql(KEEPER) == first, "pg_cancel_backend ended the keeper"
    db.sql("SELECT pg_terminate_backend(%s)" % first)
    until(lambda: not db.sql(KEEPER), "the keeper ends")
    assert int(db.sql("SELECT vesta_next('orders')")) > 0
    assert keeper() != first
    assert db.sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'vesta keeper'") == "1"


@claim("without a lease, a call fails after vesta.wait_ms with the store's message, the time to wait and a SQLSTATE")
def no_lease():
    store, maps = db.path("store"), db.folder_of_user("maps")
    db.vesta("gen", "--path", os.path.join(db.generators, "far.gen"), "--namespace", "far", "--store", "file:" + db.folder_of_user("store"), "--layout", "snowflake",
             VESTA_MAPS=maps)
    os.chmod(store, 0)
    for name in os.listdir(maps):
        os.unlink(os.path.join(maps, name))
    text, took = said("SELECT vesta_next('far')", "vesta.wait_ms = 500")
    for word in ("ERROR:  55000: ", '"far" can issue no id now: no lease: ', store, "Permission denied", 'The reason is "lease". The wait is 0.', "now 500 ms"):
        assert word in text, text
    assert 0.4 < took < 5, took
    text, took = said("SELECT vesta_next('far')", "vesta.wait_ms = 0")
    assert "no lease" in text and took < 2, text


@claim("a timeout and a cancel end the wait")
def interrupted():
    text, took = said("SELECT vesta_next('far')", "vesta.wait_ms = 60000", "statement_timeout = 200")
    assert "57014" in text and took < 5, text
    session = db.session()
    session.stdin.write("SET vesta.wait_ms = 60000; SELECT pg_backend_pid();\nSELECT vesta_next('far');\\echo ended\n")
    session.stdin.flush()
    pid = session.stdout.readline().strip()
    until(lambda: db.sql("SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s AND query LIKE '%%far%%'" % pid) == "Extension", "it waits on its latch")
    db.sql("SELECT pg_cancel_backend(%s)" % pid)
    assert session.stdout.readline() == "ended\n"
    session.communicate()


@claim("a clock that went back pauses the call, and the error has the time until ids resume")
def clock_back():
    db.sql("SELECT vesta_next('orders')")
    with open(db.path("shift"), "w") as file:
        file.write("-5s")
    text, _ = said("SELECT vesta_next('orders')", "vesta.wait_ms = 100")
    assert "55000" in text and re.search(r"the clock is [45][.]\d+ s behind", text) and 'The reason is "clock_back". The wait is 4.' in text, text
    with open(db.path("shift"), "w") as file:
        file.write("0s")
    assert int(db.sql("SELECT vesta_next('orders')")) > 0


@claim("if the shared memory of a generator is removed, ids continue on new memory and none repeats")
def removed():
    maps = db.folder_of_user("removed")
    db.vesta("gen", "--path", os.path.join(db.generators, "moved.gen"), "--namespace", "moved", "--store", "file:" + db.generators, "--layout", "snowflake",
             VESTA_MAPS=maps)
    session = db.session()
    ask = "SELECT vesta_next('moved', 1000);\n"
    session.stdin.write(ask)
    session.stdin.flush()
    ids = [session.stdout.readline() for _ in range(1000)]
    for name in os.listdir(maps):
        os.unlink(os.path.join(maps, name))
    ids += [line + "\n" for line in db.sql(ask).split()]
    session.stdin.write("SELECT pg_sleep(1.5);" + ask * 2)
    out, _ = session.communicate(timeout=30)
    ids += [line + "\n" for line in out.split()]
    assert len(ids) == len(set(ids)) == 4000, (len(ids), len(set(ids)))


@claim("vesta.keep = off leaves the generators to vesta serve")
def served():
    set_keep("off")
    until(lambda: not db.sql(KEEPER), "the keeper ends")
    text, _ = said("SELECT vesta_next('far')", "vesta.wait_ms = 0")
    assert "vesta.keep is off" in text and "Or run vesta serve --path" in text, text
    path = os.path.join(db.generators, "served.gen")
    server = subprocess.Popen([db.path("tree/vesta"), "serve", "--path", path, "--namespace", "served", "--store", "file:" + db.generators, "--resp", "off",
                               "--http", "127.0.0.1:%d" % free_port()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", **db.as_user())
    try:
        until(lambda: db.client("SELECT vesta_next('served')").returncode == 0, "the server keeps the lease")
        assert not db.sql(KEEPER)
    finally:
        server.terminate()
        server.wait(20)
    set_keep("on")


@claim("if no background worker can start, the error names the setting")
def no_worker():
    db.stop()
    db.start(max_worker_processes=0)
    text, _ = said("SELECT vesta_next('far')", "vesta.wait_ms = 100")
    assert "Raise max_worker_processes" in text, text
    db.stop()
    db.start(max_worker_processes=8)


@claim("after kill -9 of a session and a crash of the server, ids continue and none repeats")
def killed():
    sessions = [db.session() for _ in range(4)]
    with open(db.path("ids"), "w") as out:
        for session in sessions:
            session.stdin.write("SELECT pg_backend_pid();\n")
            session.stdin.flush()
        pids = [int(session.stdout.readline()) for session in sessions]
        for session in sessions:
            session.stdin.write("\\o | cat >> %s\nSELECT vesta_next('orders') FROM generate_series(1, 2000);\n" % db.path("ids") * 20 + "SELECT pg_sleep(60);\n")
            session.stdin.flush()
        until(lambda: os.path.getsize(out.name) > 100000, "ids are issued")
    os.kill(pids[0], signal.SIGKILL)
    for session in sessions:
        session.stdin.close()
        session.wait(30)
        session.stdout.close()
    until(lambda: db.client("SELECT 1").returncode == 0, "the server recovers")
    after = db.sql("SELECT vesta_next('orders', 50000)").split()
    with open(db.path("ids")) as file:
        before = [line for line in file.read().split() if len(line) == 19]
    assert len(before) > 5000
    ids = before + after
    assert len(set(ids)) == len(ids), len(ids) - len(set(ids))


main()
