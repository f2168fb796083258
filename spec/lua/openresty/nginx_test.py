#!/usr/bin/env python3
"""nginx_test.py --build FOLDER -- tests the example in examples/openresty under load, and the claims of lua/vesta/resty.lua.

Starts nginx with the example's nginx.conf in a temporary prefix, with other ports and folders only.  Takes ids with wrk while
nginx is reloaded and a worker is killed, and counts them.  Prints a line per claim, and `N passed, M failed`."""
import argparse
import glob
import grp
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HERE = os.path.join(REPO, "spec", "lua", "openresty")
from ports import free_port

START_S_MAX = 10

# More locations, for cases that the example does not have.
PROBES = """
    server {
        listen 127.0.0.1:PROBE;
        location = /refused {
            content_by_lua_block {
                local gen, message, code = require "vesta".open { layout = "vesta-milli", store = "zk://h:2181/v" }
                ngx.say(tostring(gen), " ", code, " ", message)
            }
        }
        location = /tested {
            content_by_lua_block {
                local gen, clock = require "vesta.testing".generator { layout = "snowflake", worker = 7, wait_ms_max = 5 }
                local first = gen:next()
                gen:batch(5000)
                clock:step(-3000)
                ngx.say(first, " ", gen:next(), " ", (select(3, gen:next())), " ", clock:now_ms())
            }
        }
        location = /keep_in_init { content_by_lua_block { ngx.say(package.loaded.kept_in_init) } }
        location = /patient {
            content_by_lua_block {
                local slow = require "slow"
                local before = "0"
                for _ = 1, 40 do
                    local id = assert(slow:next())
                    assert(#before < #id or before < id)
                    before = id
                end
                for _, id in ipairs(assert(slow:batch(20))) do
                    assert(before < id)
                    before = id
                end
                local last = ""
                for _ = 1, 20 do
                    local ulid = assert(slow:next_uuid "ulid")
                    assert(last < ulid)
                    last = ulid
                end
                ngx.say "grew"
            }
        }
        location = /impatient {
            content_by_lua_block { ngx.say "x" }
            header_filter_by_lua_block {
                local code, wait_s, _
                local begun = os.clock()
                for _ = 1, 40 do
                    local id
                    id, _, code, wait_s = require "slow":next()
                    if not id then break end
                end
                ngx.header["X-Code"] = code
                ngx.header["X-Wait"] = wait_s
                ngx.header["X-Took"] = os.clock() - begun
            }
        }
        location = /native {
            content_by_lua_block {
                local id = assert(require "ids":next_int())
                local many = assert(require "ids":batch_int(100))
                ngx.say(type(id), " ", #many, " ", tostring(id < many[1]), " ", require "ids":explain(id).machine)
            }
        }
        location = /timer {
            content_by_lua_block {
                local got
                ngx.timer.at(0, function() got = require "ids":next() or "none" end)
                for _ = 1, 100 do
                    if got then break end
                    ngx.sleep(0.01)
                end
                ngx.say(got)
            }
        }
        location = /judged {
            content_by_lua_block {
                local patient, open = unpack(require "judged")
                assert(patient:next()) -- now there is a lease
                local gen, count, id, message, code = open(ngx.var.arg_policy), 0
                for _ = 1, tonumber(ngx.var.arg_n) do
                    id, message, code = gen[ngx.var.arg_way](gen, 1)
                    if not id then break end
                    count = count + 1
                end
                ngx.say(count, " ", code or "-", " ", id and "-" or message)
            }
        }
        location = /judged_at_once {
            content_by_lua_block { ngx.say "x" }
            header_filter_by_lua_block {
                local gen, id, message, code = select(2, unpack(require "judged")) "wait"
                local begun = os.clock()
                repeat id, message, code = gen:next() until not id
                ngx.header["X-Code"] = code
                ngx.header["X-Took"] = os.clock() - begun
            }
        }
        location = /chosen {
            content_by_lua_block {
                local chosen = require "chosen"
                local id, message = chosen:next()
                ngx.say(id and chosen:explain(id).worker or message)
            }
        }
        location = /moved {
            content_by_lua_block {
                local moved = require "moved"
                local id, message, code = moved:next()
                ngx.say(id and moved:explain(id).worker or code)
            }
        }
        location = /pid { content_by_lua_block { ngx.say(ngx.worker.pid()) } }
    }
"""
PROBE_INIT = """
        package.loaded.slow = assert(vesta.open {
            layout = "sign:1 time:41 seq:4 worker:18 unit=10ms epoch=2026-01-01T00:00:00Z", worker = 3, ahead_ms_max = 0,
            namespace = "slow", path = "/var/lib/vesta/slow.gen", store = "file:/var/lib/vesta", group = "www-data",
            wait_ms_max = 1500,
        })
        local path = "/var/lib/vesta/judged.gen"
        local policies = {
            borrow = { "borrow", borrow_ms_max = 3000 }, refuse = "refuse", wait = { "wait", wait_ms_max = 5000 },
            broken = { api = 1, name = "broken", on_exhausted = function() error "out of order" end },
        }
        package.loaded.judged = {
            assert(vesta.open {
                layout = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=2026-01-01T00:00:00Z", worker = 4, ahead_ms_max = 0,
                namespace = "judged", path = path, store = "file:/var/lib/vesta", group = "www-data", wait_ms_max = 5000,
            }),
            function(name) return assert(vesta.open { path = path, policy = policies[name] }) end,
        }
        package.loaded.chosen = assert(vesta.open {
            layout = "snowflake epoch=2026-01-01T00:00:00Z", store = "file:/var/lib/vesta", namespace = "chosen",
            path = "/var/lib/vesta/chosen.gen", group = "www-data", wait_ms_max = 10000,
            policy = { api = 1, name = "chooses", choose_worker = function() return 77 end },
        })
        package.loaded.moved = assert(vesta.open {
            layout = "snowflake epoch=2026-01-01T00:00:00Z", store = "file:/var/lib/vesta", namespace = "moved",
            path = "/var/lib/vesta/moved.gen", group = "www-data", wait_ms_max = 10000, any_worker = true,
            policy = { api = 1, name = "moves", on_clock_back = function(ctx)
                if ctx.back_ms > 60000 then return "switch" end
            end },
        })
        package.loaded.kept_in_init = select(2, pcall(require "vesta.resty".keep, package.loaded.ids))
"""


class Nginx:
    """An nginx with the example's configuration in its own folder."""

    def __init__(self, work, state, cache=True, clock=None, name=None):
        self.prefix = os.path.join(work, name or ("stepped" if clock else "cached" if cache else "uncached"))
        self.env = dict(os.environ, **clock) if clock else None
        os.makedirs(os.path.join(self.prefix, "logs"))
        self.port, self.app, self.probe = free_port(), free_port(), free_port()
        conf = open(os.path.join(REPO, "examples", "openresty", "nginx.conf")).read()
        conf = conf.replace("    # A placeholder for your", PROBES + "    # A placeholder for your")
        conf = conf.replace("            wait_ms_max = 100,                    -- waits in ngx.sleep, which does not block the worker\n"
                            "        })\n", "            wait_ms_max = 100,\n        })\n" + PROBE_INIT)
        conf = conf.replace("        if not ok then", "        require \"vesta.resty\".keep(package.loaded.chosen)\n        if not ok then")
        for old, new in (("8080", str(self.port)), ("8081", str(self.app)), ("PROBE", str(self.probe)),
                         ("/var/lib/vesta", state), ("/usr/local/share/lua/5.1", os.path.join(work, "share")),
                         ("/usr/local/lib/lua/5.1", os.path.join(work, "lib"))):
            assert old in conf, old
            conf = conf.replace(old, new)
        if os.geteuid() != 0:
            conf = conf.replace("user www-data;", "").replace('group = "www-data",', "")
        if clock:
            conf = "env CLOCK_SHIFT;\n" + conf
        if not cache:
            conf = conf.replace("http {", "http {\n    lua_code_cache off;")
        self.conf = os.path.join(self.prefix, "nginx.conf")
        open(self.conf, "w").write(conf)
        self.process = None

    def start(self):
        # in the foreground, so that this program can wait for the process
        said = open(os.path.join(self.prefix, "said"), "w")
        self.process = subprocess.Popen(["nginx", "-p", self.prefix, "-c", self.conf, "-g", "daemon off;"],
                                        stdout=said, stderr=said, env=self.env)
        until = time.monotonic() + START_S_MAX
        while time.monotonic() < until and self.process.poll() is None:
            try:
                return self.get("/genid").status == 200
            except OSError:
                time.sleep(0.05)
        return False

    def get(self, path, headers=(), port=None):
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=20)
        connection.putrequest("GET", path)
        for name, value in headers:
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def ask(self, path):
        return self.get(path, port=self.probe)

    def reload(self):
        self.process.send_signal(signal.SIGHUP)

    def workers(self):
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        return [int(pid) for pid in open(children).read().split()]

    def said(self):
        return open(os.path.join(self.prefix, "said")).read()

    def log(self):
        return open(os.path.join(self.prefix, "logs", "error.log")).read()

    def stop(self):
        """Ends nginx if it runs.  Returns its exit code, or None if it had to be killed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
        try:
            return self.process.wait(15)
        except subprocess.TimeoutExpired:
            for pid in self.workers() + [self.process.pid]:
                os.kill(pid, signal.SIGKILL)
            self.process.wait()
            return None


class Claims:
    def __init__(self):
        self.passed = self.failed = 0

    def that(self, text, holds, why=""):
        if holds:
            self.passed += 1
            print(f"ok - {text}")
        else:
            self.failed += 1
            print(f"FAILED - {text}: {why}")
        sys.stdout.flush()


class Load:
    """Runs wrk in the background, which writes the replies into files."""

    def __init__(self, work, nginx, name, seconds, connections=32):
        self.base = os.path.join(work, name)
        self.said = open(self.base + ".wrk", "w")
        self.process = subprocess.Popen(
            ["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "-s", os.path.join(HERE, "collect.lua"),
             f"http://127.0.0.1:{nginx.port}/genid", "--", self.base], stdout=self.said, stderr=self.said)

    def lines(self):
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.said.close()
        return [line for path in sorted(glob.glob(self.base + ".[0-9]")) for line in open(path).read().split("\n") if line]


def count(claims, what, lines, seen, at_least):
    """Checks that every line is an id that was not seen before."""
    odd = [line for line in lines if not re.fullmatch(r"\d{15,20}", line)]
    ids = set(lines) - set(odd)
    duplicates = len(lines) - len(odd) - len(ids) + len(ids & seen)
    seen |= ids
    claims.that(f"{what}: {len(lines)} ids, duplicates {duplicates}, other answers {len(odd)}",
                len(lines) >= at_least and not odd and not duplicates, f"wanted {at_least}; {odd[:3]}")


def header_claims(claims, nginx):
    mine = nginx.get("/", [("X-Request-Id", "abc-123_DEF.4:5")])
    claims.that("a client's valid request id is passed on and returned",
                mine.getheader("X-Request-Id") == "abc-123_DEF.4:5" and mine.text.strip() == "abc-123_DEF.4:5", mine.text)
    new = nginx.get("/")
    claims.that("a request without an id gets one, which upstream and client both see",
                re.fullmatch(r"\d{15,20}", new.text.strip()) and new.getheader("X-Request-Id") == new.text.strip(), new.text)
    hostile = [[("X-Request-Id", value)] for value in
               ("", "two words", "x" * 65, 'a"b', "a<b>", "a;b", "\t", "caf\xe9", "$(id)", "a,b", "a\\b")]
    hostile.append([("X-Request-Id", "a"), ("X-Request-Id", "b")])
    for headers in hostile:
        answer = nginx.get("/", headers)
        claims.that(f"an invalid request id is replaced: {headers[0][1][:20]!r}" + " twice" * (len(headers) - 1),
                    re.fullmatch(r"\d{15,20}", answer.getheader("X-Request-Id") or "") and
                    answer.text.strip() == answer.getheader("X-Request-Id"), answer.text)


def phase_claims(claims, nginx):
    refused = nginx.ask("/refused").text
    claims.that("a network store inside nginx is rejected, and the error names the server",
                refused.startswith("nil bad_option") and "vesta serve --path" in refused, refused)
    kept = nginx.ask("/keep_in_init").text
    claims.that("keep in init_by_lua raises, and names the right phase", "init_worker_by_lua" in kept, kept)
    tested = nginx.ask("/tested").text
    claims.that("a generator for tests uses the test's clock",
                tested == "2006515713438674944 nil clock_back 1767225597001\n", tested)
    claims.that("next_int and batch_int are exact", nginx.ask("/native").text == "cdata 100 true 12\n", nginx.ask("/native").text)
    timer = nginx.ask("/timer").text
    claims.that("a timer gets ids", re.fullmatch(r"\d{15,20}\n", timer), timer)
    answers = []
    patient = [threading.Thread(target=lambda: answers.append(nginx.ask("/patient").text)) for _ in range(6)]
    for thread in patient:
        thread.start()
    slowest = 0
    while any(thread.is_alive() for thread in patient):
        begun = time.monotonic()
        nginx.get("/genid")
        slowest = max(slowest, time.monotonic() - begun)
    claims.that("a content handler waits with ngx.sleep until there are ids", answers == ["grew\n"] * 6, str(answers))
    claims.that(f"other requests are answered during the wait: the slowest took {slowest * 1000:.0f} ms", slowest < 0.5)
    hasty = nginx.ask("/impatient")
    claims.that("a phase that cannot sleep gets the pause at once",
                hasty.getheader("X-Code") in ("full", "ahead") and float(hasty.getheader("X-Wait")) > 0 and
                float(hasty.getheader("X-Took")) < 0.5, str(hasty.headers))


def policy_claims(claims, nginx):
    def judged(policy, n, way="next"):
        return nginx.ask(f"/judged?policy={policy}&n={n}&way={way}").text.strip()
    for way in ("next", "next_int", "batch", "batch_int"):
        said = judged("refuse", 40, way)
        claims.that(f"policies, {way}: refuse returns the pause with its reason",
                    re.fullmatch(r"\d+ (full|ahead) more ids .* \(policy refuse\)", said), said)
        said = judged("broken", 40, way)
        claims.that(f"policies, {way}: a policy that raises does not change the pause",
                    re.fullmatch(r"\d+ (full|ahead) .*", said) and "policy" not in said, said)
    claims.that("policies: one that raises is reported in the error log",
                "vesta: policy broken: on_exhausted failed: " in nginx.log() and "[error]" not in nginx.log(), nginx.log()[-500:])
    for way in ("next", "next_int", "batch", "batch_int"):
        said = judged("wait", 17, way)  # more ids than a second has
        claims.that(f"policies, {way}: wait waits with ngx.sleep", said == "17 - -", said)
    hasty = nginx.ask("/judged_at_once")
    claims.that("policies: a phase that cannot sleep gets the pause, whatever the policy returns",
                hasty.getheader("X-Code") in ("full", "ahead") and float(hasty.getheader("X-Took")) < 0.5, str(hasty.headers))
    said = {nginx.ask("/chosen").text.strip() for _ in range(20)}
    claims.that("policies: the worker that runs the keeper calls the policy, whichever worker has a request", said == {"77"}, said)
    said = judged("borrow", 40)
    claims.that("policies: borrow issues ids ahead of the clock", said == "40 - -", said)


def clock_claims(claims, build, work, state, running):
    """An nginx whose clock is set back (spec/program/cli/clock_shift.c): a policy switches to another worker id."""
    clock = os.path.join(work, "clock")

    def step(by):
        with open(clock + ".new", "w") as file:
            file.write(by)
        os.rename(clock + ".new", clock)
    step("+0")
    nginx = Nginx(work, state, clock=dict(LD_PRELOAD=os.path.join(build, "clock_shift.so"), CLOCK_SHIFT=clock))
    running.append(nginx)
    claims.that("an nginx with a movable clock starts", nginx.start(), nginx.said())

    def workers():
        return {nginx.ask("/moved").text.strip() for _ in range(20)}
    first = workers()
    step("-600")
    second = workers()
    claims.that("policies: switch uses another worker id after the clock went back, once for all workers",
                len(first) == len(second) == 1 and first != second and (first | second) != {"clock_back"}, f"{first} {second}")
    step("-1200")
    third = workers()
    claims.that("policies: no second change within a minute", third == {"clock_back"}, str(third))
    log_claims(claims, "the clock set back", nginx, 0)


def keepers(state):
    """Returns the processes with the keeper's lock of requests.gen's map, which is a write lock.  Each process with the file
    open also has a read lock."""
    with open(os.path.join(state, "requests.gen"), "rb") as file:
        inode = os.stat("/dev/shm/vesta-" + file.read(40)[24:].hex()).st_ino
    held = [line.split() for line in open("/proc/locks")]
    return [int(words[4]) for words in held if words[1] == "POSIX" and words[3] == "WRITE" and
            words[5].split(":")[2] == str(inode)]


def wait_for(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.1)
    return condition()


def load_claims(claims, work, state, nginx, seen):
    load = Load(work, nginx, "reloads", 5)
    old = set(nginx.workers())
    for _ in range(3):
        time.sleep(1.1)
        nginx.reload()
    count(claims, "three reloads under load", load.lines(), seen, 1000)
    claims.that("the reloads started new workers", wait_for(lambda: len(nginx.workers()) == 2 and not old & set(nginx.workers())),
                str(nginx.workers()))
    claims.that("one worker runs the keeper", wait_for(lambda: len(keepers(state)) == 1 and keepers(state)[0] in nginx.workers()),
                f"{keepers(state)} of {nginx.workers()}")
    victim = (keepers(state) + nginx.workers())[0]
    load = Load(work, nginx, "kill", 3)
    time.sleep(1)
    os.kill(victim, signal.SIGKILL)
    count(claims, "the keeping worker killed with -9 under load", load.lines(), seen, 1000)
    claims.that("another worker runs the keeper afterwards",
                wait_for(lambda: len(keepers(state)) == 1 and keepers(state)[0] != victim), f"{keepers(state)}, killed {victim}")


def rights_claims(claims, work, running):
    """A generator that is only a fallback gets no requests.  Its workers report a store that they cannot use."""
    if os.geteuid() != 0:
        return
    state = os.path.join(work, "closed")
    os.mkdir(state)
    os.chmod(state, 0o770)
    os.chown(state, -1, grp.getgrnam("www-data").gr_gid)
    os.mkdir(os.path.join(state, "requests"), 0o700)
    nginx = Nginx(work, state, name="rights")
    running.append(nginx)
    nginx.start()
    said = "vesta: no lease for %s/requests.gen: cannot open %s/requests: Permission denied. Make the file and its folder writable" % (
        state, state)
    claims.that("a store that the workers cannot use is an error in the log, with a remedy", wait_for(lambda: said in nginx.log()),
                nginx.log()[-500:])


def log_claims(claims, name, nginx, killed):
    code = nginx.stop()
    claims.that(f"{name}: QUIT ends nginx with 0", code == 0, str(code))
    log = nginx.log() if os.path.exists(nginx.prefix + "/logs/error.log") else "[emerg] " + nginx.said()
    crashes = [line for line in log.split("\n") if "exited on signal" in line or "[emerg]" in line or "[error]" in line]
    claims.that(f"{name}: no worker crashed, and there was no error", len(crashes) == killed, "\n".join(crashes[:10]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    work = tempfile.mkdtemp()
    state = os.path.join(work, "state")
    claims, seen = Claims(), set()
    os.chmod(work, 0o755)  # the workers are not root, and the clone may be in a folder that only root may enter
    shutil.copytree(os.path.join(REPO, "lua"), os.path.join(work, "share"))
    shutil.copytree(os.path.join(build, "lua", "5.1"), os.path.join(work, "lib"))
    os.mkdir(state)
    os.chmod(state, 0o770)
    if os.geteuid() == 0:
        os.chown(state, -1, grp.getgrnam("www-data").gr_gid)
    running = []
    try:
        nginx = Nginx(work, state)
        running.append(nginx)
        claims.that("the example starts and issues an id", nginx.start(), nginx.said())
        header_claims(claims, nginx)
        phase_claims(claims, nginx)
        policy_claims(claims, nginx)
        load_claims(claims, work, state, nginx, seen)
        uncached = Nginx(work, state, cache=False)
        running.append(uncached)
        claims.that("a second nginx on the same file starts, with lua_code_cache off", uncached.start(), uncached.said())
        both = Load(work, nginx, "cached", 2, 8), Load(work, uncached, "uncached", 2, 8)
        count(claims, "a new Lua state every request", both[1].lines(), seen, 10)
        count(claims, "and beside it the first nginx", both[0].lines(), seen, 1000)
        log_claims(claims, "lua_code_cache off", uncached, 0)
        clock_claims(claims, build, work, state, running)
        rights_claims(claims, work, running)
        log_claims(claims, "the example", nginx, 1)
    finally:
        for left in running:
            left.stop()
        shutil.rmtree(work)
    print(f"{claims.passed} passed, {claims.failed} failed")
    return 1 if claims.failed else 0


if __name__ == "__main__":
    sys.exit(main())
