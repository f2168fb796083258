"""screens.py -- the commands' output on a terminal."""
import os
import re
import signal
import socket
import time

from harness import SLOW, claim, main, same
from terminal import Terminal, look, plain


def stores(w):
    """Creates a namespace with a holder, and counters, all with long names."""
    lease, counter = "sqlite:" + w.path("a-folder-of-some-length.db"), "sqlite:" + w.path("counters.db")
    same(w.run("store", "init", "--store", lease, "--namespace", "orders", "--layout", "vesta-second").code, 0)
    same(w.run("gen", "--store", lease, "--namespace", "orders", "--layout", "vesta-second", "--worker", "7", "--path", w.path("seven.gen")).code, 0)
    for tag, start in (("t", "1"), ("a-tag-of-more-than-sixteen-letters", "1234567890123456"), ("last", "9007199254740000")):
        same(w.run("segments", "add", tag, "--from", start, "--step", "1000000", "--store", counter).code, 0)
    with open(w.path("ids"), "w") as file:
        file.write("7\n8\n7\n1138729511026688\n1138729511026688\n18446744073709551615\n9223372036854775807\n")
    return lease, counter


def tables(w):
    lease, counter = stores(w)
    named = ["--store", lease, "--namespace", "orders"]
    return [["workers", *named], ["store", "show", *named], ["segments", "--store", counter], ["guess", "1138729511026688"],
            ["guess", "1138729511026688", "1138729511026689"], ["layout"], ["audit", "--layout", "snowflake", w.path("ids")],
            ["doctor", "--namespace", "orders", "--path", w.path("seven.gen"), "--http", "off", "--resp", "off"],
            ["workers", "--effective", *named],
            ["gen", "--effective", "--store", lease], ["explain", *named, "1166621096292647943"],
            ["segments", "import", "leaf_alloc", counter, "--store", "sqlite:" + w.path("new.db"), "--as", "x", "--tag", "t"]]


@claim("every table fits a terminal of 80 columns, and is complete in a pipe")
def _(w):
    for words in tables(w):
        said = plain(look(w, 80, *words, TERM="xterm"))
        long = [line for line in said.split("\n") if len(line) > 80 and " " in line.strip()[:60]]
        same((words, long), (words, []))
        whole = w.run(*words)
        assert "\x1b" not in whole.out + whole.err, words
        for columns in (1, 30, 200):
            same((words, len(look(w, columns, *words, TERM="xterm").split("\n")) >= len(whole.lines())), (words, True))
    whole = w.run("segments", "--store", "sqlite:" + w.path("counters.db")).out
    assert "a-tag-of-more-than-sixteen-letters" in whole and "1,234,567,890,123,456" in whole, whole


@claim("faults are red or yellow on a terminal, and uncoloured with NO_COLOR or on a dumb terminal")
def _(w):
    for words in tables(w):
        for env in ({"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b" not in look(w, 80, *words, **env), words
    assert "\x1b[31mduplicates" in look(w, 80, "audit", w.path("ids"), TERM="xterm")
    assert "\x1b[33mfuture" in look(w, 80, "audit", "--layout", "snowflake", w.path("ids"), TERM="xterm")


@claim("--watch marks stale output with its age, keeps it on the screen, and continues when the store is back")
def _(w):
    lease, counter = stores(w)
    for words, there in ((["workers", "--store", lease, "--namespace", "orders"], "1 held"), (["segments", "--store", counter], "3 tags")):
        path = words[2][len("sqlite:"):]
        with Terminal(w, *words, "--watch", TERM="xterm") as screen:
            screen.until(there, frame=True)
            os.rename(path, path + ".away")
            old = plain(screen.until(r"the rows above are from 20\S+Z, \d+ s ago, retrying every second$", frame=True))
            assert there in old, old
            shown = re.search(r"from (20\S+Z), (\d+) s ago", old)
            # The age increases, and the time of the data stays the same.
            screen.until(r"from %s, (?!%s )\d+ s ago" % shown.groups(), frame=True)
            os.rename(path + ".away", path)
            deadline = time.monotonic() + 60 * SLOW
            while "the rows above" in plain(screen.frame()) or there not in screen.frame():
                assert time.monotonic() < deadline, screen.frame()
                screen.read()
            same((screen.end(signal.SIGINT), screen.is_restored()), (0, True))


@claim("a terminal shows how long a store has been silent, and Ctrl-C ends the wait")
def _(w):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = "mysql://me:secret@127.0.0.1:%d/db" % silent.getsockname()[1]
        for words in (["workers"], ["store", "show"], ["segments"]):
            with Terminal(w, *words, "--store", uri, TERM="xterm") as screen:
                shown = plain(screen.until(r"waiting for mysql://\S+ for \d s"))
                assert "secret" not in shown, shown
                began = time.monotonic()
                same(screen.end(signal.SIGINT), -signal.SIGINT)
                assert time.monotonic() < began + 2 * SLOW, words


main()
