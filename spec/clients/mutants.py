"""mutants.py VESTA BUILD [COLUMN...|sample] -- plants bugs into copies of the clients.  The conformance suite must fail with each
bug, and pass without one.  A bug consists of texts that are replaced, each of which must occur once in the file, and of words
of the row that must fail.  `sample` runs one bug per language.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BUGS_AT_ONCE = 3
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LATE, VALUE, REST, AT_ONCE = "a reply after the deadline", "an invalid value", "all servers rest", "one request at a time"
PARTS, TTL, FORK, TLS = "a sequence in two parts", "ttl drops", "its process forks", "TLS with a name"
HOST = "a host's name is not verified"  # the sample has this one for every language

FILES = {"python": "examples/clients/vesta.py", "node": "examples/clients/vesta.js", "php": "examples/clients/vesta.php",
         "nginx": "lua/vesta/resty/client.lua", "go": "examples/clients/vesta.go", "java": "examples/clients/Vesta.java"}
ELSEWHERE = {("nginx", HOST): "lua/vesta/resty/access.lua"}  # bugs in another file of the client
SAMPLE = {"python": "no ttl", "node": "a sequence's parts are composed wrongly", "php": "a connection is used after a timeout",
          "nginx": "more ids than were asked for", "go": "the reply to another request is used", "java": "no ttl"}
BUGS = [  # column, what, row, (before, after)...
    ("python", "the reply to another request is used", VALUE, ('reply.get("ns") != name:', 'False:')),
    ("python", HOST, TLS, ("        context.minimum_version = ssl.TLSVersion.TLSv1_2\n", "        context.check_hostname = False\n")),
    ("node", HOST, TLS, ("minVersion: 'TLSv1.2',", "minVersion: 'TLSv1.2', checkServerIdentity: () => undefined,")),
    ("php", HOST, TLS, ("'verify_peer_name' => !$this->tlsUnverified,", "'verify_peer_name' => false,")),
    ("nginx", HOST, TLS, ("sslhandshake(nil, who.tls_name or server.host, not", "sslhandshake(nil, nil, not")),
    ("go", HOST, TLS, ("InsecureSkipVerify: o.TLSUnverified", "InsecureSkipVerify: true")),
    ("java", HOST, TLS, ('setEndpointIdentificationAlgorithm("HTTPS")', 'setEndpointIdentificationAlgorithm("")')),
    ("python", "more ids than were asked for", VALUE, ('"count", size)', '"count", 2**40)')),
    ("python", "a connection is used after a timeout", LATE,
     ("        except BaseException:\n            self.close()\n", "        except BaseException:\n"),
     ("                wrong = error\n                server.close()\n", "                wrong = error\n"),
     ("self.socket and self._has_more()", "False")),
    ("python", "no ttl", TTL, ("block.asked_at + self._ttl", "block.asked_at + 1e9")),
    ("python", "a block goes on in a child", FORK, ("os.register_at_fork(after_in_child=_after_fork)", "pass")),
    ("python", "two fetches at once", AT_ONCE, ("self._next or self._fetching or self._closed", "self._next or self._closed")),
    ("python", "a sequence's parts are composed wrongly", PARTS, ("low << low_shift", "low << low_shift + 1")),
    ("python", "no back-off", REST, ("self.rests_until = time.monotonic() + self.rest_s", "self.rests_until = NEVER_S")),
    ("node", "the reply to another request is used", VALUE, ("values.get('ns') !== name)", "false)")),
    ("node", "more ids than were asked for", VALUE, ("number('count', BigInt(size))", "number('count', 1n << 40n)")),
    ("node", "a connection is used after a timeout", LATE,
     ("() => this.end(this.socket, new Error('timed out'))", "() => this.settle(new Error('timed out'))"),
     ("if (!(error instanceof Said && error.passes)) this.end(this.socket);", ""),
     ("return this.end(socket); // no request", "return null; // no request")),
    ("node", "no ttl", TTL, (" && now < block.askedAt + this.#ttl", "")),
    ("node", "two fetches at once", AT_ONCE, ("this.#fetching ??= ", "this.#fetching = ")),
    ("node", "a sequence's parts are composed wrongly", PARTS, ("(low << this.low_shift);", "(low << (this.low_shift + 1n));")),
    ("node", "no back-off", REST, ("this.restsUntil = performance.now() + this.restMs", "this.restsUntil = 0")),
    ("php", "the reply to another request is used", VALUE, ("($values['ns'] ?? null) !== $name", "false")),
    ("php", "more ids than were asked for", VALUE, ("'count', $size)", "'count', 1 << 40)")),
    ("php", "a connection is used after a timeout", LATE,
     ("        if (!$why instanceof Said || !$passes) {\n            $this->close();\n        }\n", ""),
     ("if ($this->socket && ((string)", "if (false && ((string)")),
    ("php", "no ttl", TTL, (" && hrtime(true) < $block->askedAt + $this->ttlNs", "")),
    ("php", "a block goes on in a child", FORK, ("$this->pid !== getmypid()", "false")),
    ("php", "a sequence's parts are composed wrongly", PARTS, ("<< $this->lowShift);", "<< $this->lowShift + 1);")),
    ("php", "no back-off", REST, ("hrtime(true) + $this->restNs, $why", "0, $why")),
    ("nginx", "more ids than were asked for", VALUE, ("self.name, self.size)\n  if block and", "self.name, 100000)\n  if block and")),
    ("nginx", "a connection is used after a timeout", LATE,
     ("    if is_understood then\n      sock:setk", "    if true then\n      sock:setk")),
    ("nginx", "no ttl", TTL, (" or now_s >= block.expires_s do", " do")),
    ("nginx", "two fetches at once", AT_ONCE, ("if self.fetch and now_s < self.fetch.until_s then return true end", "")),
    ("nginx", "no back-off", REST, ("server.rests_until = now() + server.rest_s", "server.rests_until = 0"),
     ("self.asks_at = now() + REST_S_MIN -- ", "self.asks_at = 0 -- ")),
    ("go", "the reply to another request is used", VALUE, ('len(reply)%2 != 0 || values["ns"] != name', "len(reply)%2 != 0")),
    ("go", "more ids than were asked for", VALUE, ('number("count", 1, uint64(size))', 'number("count", 1, 1<<40)')),
    ("go", "no ttl", TTL, ("left := c.options.TTL -", "left := 1000*time.Hour -")),
    ("go", "two fetches at once", AT_ONCE, ("c.next == nil && !c.fetching && !c.closed", "c.next == nil && !c.closed")),
    ("go", "no back-off", REST, ("s.until = time.Now().Add(s.rest)", "s.until = time.Time{}")),
    ("java", "the reply to another request is used", VALUE, ('!name.equals(reply.get("ns"))', "false")),
    ("java", "more ids than were asked for", VALUE, ("BigInteger.valueOf(size + 1L)", "TWO_64")),
    ("java", "no ttl", TTL, ("block.asked + options.ttl.toNanos() -", "block.asked + (1L << 60) -")),
    ("java", "two fetches at once", AT_ONCE, ("if (next != null || fetching || closed)", "if (next != null || closed)")),
    ("java", "no back-off", REST, ("            failedAt = System.nanoTime();\n", "            restNs = 0;\n")),
]


def copy_of(folder):
    for part in ("examples/clients", "lua", "spec/clients", "spec/support", "spec/tls", "spec/vectors"):
        shutil.copytree(os.path.join(ROOT, part), os.path.join(folder, part), ignore=shutil.ignore_patterns("__pycache__"))


def planted(column, what, edits):
    """Returns the client's text with the bug."""
    file = ELSEWHERE.get((column, what), FILES[column])
    with open(os.path.join(ROOT, file)) as source:
        text = source.read()
    for before, after in edits:
        if text.count(before) != 1:
            sys.exit("%s: %s: %s has %r %d times, not once" % (column, what, file, before, text.count(before)))
        text = text.replace(before, after)
    return text


def build(folder, column, built):
    out = os.path.join(folder, "build")
    if column == "go":
        subprocess.run([os.path.join(folder, "spec/clients/build_go"), folder, out], check=True,
                       env={**os.environ, "GOCACHE": os.path.join(os.path.abspath(built), "go", "cache")})
    if column == "java":
        subprocess.run(["javac", "-d", os.path.join(out, "java"), os.path.join(folder, FILES[column]),
                        os.path.join(folder, "spec/clients/Drive.java")], check=True)
    return out


def passes(arguments, column, row, what=None, edits=()):
    """Returns whether a copy with this bug, or without one, passes the row."""
    vesta, built = arguments
    with tempfile.TemporaryDirectory(prefix="vesta-mutant-") as folder:
        copy_of(folder)
        with open(os.path.join(folder, ELSEWHERE.get((column, what), FILES[column])), "w") as source:
            source.write(planted(column, what, edits))
        done = subprocess.run([sys.executable, os.path.join(folder, "spec/clients/conformance.py"), os.path.abspath(vesta),
                               build(folder, column, built), column, "--", row], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300, env={**os.environ, "PYTHONPATH": os.path.join(folder, "spec/support")})
        assert "ids were issued, no duplicate" in done.stdout, done.stdout  # it ran to its end
        return done.returncode == 0


def all_can_be_planted():
    for column, what, _, *edits in BUGS:
        planted(column, what, edits)
    assert all(any(bug[:2] == one for bug in BUGS) for one in SAMPLE.items()), "SAMPLE names a bug that BUGS lacks"


def main():
    vesta, built, *words = sys.argv[1:]
    clean, chosen, survivors = set(), [], 0
    all_can_be_planted()
    for column, what, row, *edits in BUGS:
        if words and column not in words and not (words == ["sample"] and what in (SAMPLE[column], HOST)):
            continue
        if words != ["sample"] and (column, row) not in clean:  # with `sample`, another test runs the suite without bugs
            assert passes((vesta, built), column, row), "%s fails %r without a bug" % (column, row)
            clean.add((column, row))
        chosen.append((column, row, what, edits))
    with ThreadPoolExecutor(BUGS_AT_ONCE) as pool:  # they mostly sleep
        for (column, _, what, _), survives in zip(chosen, pool.map(lambda bug: passes((vesta, built), *bug), chosen)):
            survivors += survives
            print("%s - %s: %s" % ("not ok" if survives else "ok", column, what), flush=True)
    sys.exit(1 if survivors or not chosen else 0)


main()
