"""With all defaults on one host, one of twenty requests that came every six seconds was answered 503 `lease`.

Two servers, one with a number given by hand and one that draws its own; requests do not wait at all (--wait-ms 0), and the
machine's cores are busy; with a sanitizer they are as busy as its other tests make them.  Its disks are not: a sync that
outlasts a window is another matter.  The same in virtual time, a million times: a_request_after_any_pause_is_read_whole.c."""
import os
import subprocess
import sys
import tempfile
import time

from serving import SLOW, Server, World, claim, main

REST_S = 6.3  # longer than the window of a number that was given by hand


class Drawn(Server):
    def __init__(self, world, *flags, **more):
        super().__init__(world, *flags, **more)
        at = self.args.index("--worker")
        del self.args[at:at + 2]


@claim("a request after six seconds of rest is answered at once, on a machine whose cores are busy")
def _(world):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if SLOW == 1 else 0)]
    try:
        flags = dict(layout="snowflake", pacing="clock")
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            folders = [os.path.join(memory, name) for name in ("given", "drawn")]
            for folder in folders:
                os.mkdir(folder)
            with Server(World(folders[0]), "--wait-ms", "0", **flags) as given, Drawn(World(folders[1]), "--wait-ms", "0", **flags) as drawn:
                for server in given, drawn:
                    assert server.get("/genid").status == 200
                for _ in range(3 // SLOW):
                    time.sleep(REST_S)
                    for server in given, drawn:
                        reply = server.get("/genid")
                        assert reply.status == 200, reply.body
    finally:
        for process in busy:
            process.kill()
            process.wait()


main()
