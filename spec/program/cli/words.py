"""words.py -- the dispatcher and the options that all commands share: help, suggestions, exit codes."""
import os
import re
import time

from harness import claim, fails, like, main, same

COMMANDS = "explain make range guess fit layout audit".split()


def listed(w):
    return [line.split()[0] for line in w.run().lines() if line.startswith("  ")]


@claim("vesta without arguments lists every command, like --help, -h and help")
def _(w):
    first = w.run()
    same(first.code, 0)
    assert set(COMMANDS) <= set(listed(w)), first.out
    for form in ("--help", "-h", "help"):
        same(w.run(form).out, first.out)


@claim("an error about an operand names the first unexpected one")
def _(w):
    for words in (["client"], ["client", "list"], ["workers"], ["segments"], ["store"], ["doctor"], ["top"], ["gen"]):
        fails(w.run(*words, "first", "second"), 2, '"first"', "Try: vesta help " + words[0])


@claim("a command's help contains its purpose, usage, two examples and every option, and can be requested in three "
       "ways")
def _(w):
    for command in listed(w):
        help_ = w.run("help", command)
        same((help_.code, help_.err), (0, ""))
        like(help_.out, "vesta %s -- ...\n\nUsage: vesta %s...\n\n...\nOptions:\n...--help...\n" % (command, command))
        assert help_.out.count("  $ vesta") + help_.out.count("| vesta") >= 2, help_.out
        same(w.run(command, "--help").out, help_.out)
        same(w.run(command, "-h").out, help_.out)


def helps(w):
    for command in listed(w):
        yield [command]
        usage = w.run("help", command).out.split("\n\n")[1]
        words = re.search(r"Usage: vesta %s ([a-z|]+\|[a-z|]+)" % command, usage)
        behind = re.findall(r"^ *(?:Usage: )?vesta %s ([a-z]+)" % command, usage, re.M) + (words[1].split("|") if words else [])
        for word in sorted(set(behind)):
            yield [command, word]


@claim("no line of help is longer than 80 columns")
def _(w):
    seen = [["overview"]] + list(helps(w))
    assert ["workers", "import"] in seen and ["segments", "take"] in seen and ["policy", "run"] in seen, seen
    for words in seen:
        done = w.run("help", *words) if words != ["overview"] else w.run("help")
        same((words, done.code), (words, 0))
        for line in done.lines():
            assert len(line) <= 80 and not line.endswith(" "), (words, len(line), line)


@claim("every option in a command's help is an option that the command accepts")
def _(w):
    for command in listed(w):
        for option in set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", w.run("help", command).out, re.M)) - {"help"}:
            # The second, unknown option ends the command before it does anything.
            wrong = w.run(command, "--" + option, "--zzzzzz")
            same(wrong.code, 2)
            assert 'unknown option "--%s"' % option not in wrong.err, wrong.err


SOURCE = os.path.join(os.path.dirname(__file__), "../../..")
with open(os.path.join(SOURCE, "csrc/include/vesta.h"), encoding="utf-8") as header:
    NUMBER = re.search('#define VESTA_VERSION "(.*)"', header.read())[1]
VERSION = re.escape("vesta " + NUMBER) + r"( \(commit ([0-9a-f]{12})(, changed)?\))?\n"


@claim("the version is the header's, and the commit is the clone's or the archive's, or empty")
def _(w):
    printed = re.fullmatch(VERSION, w.run("--version").out)
    if os.path.exists(os.path.join(SOURCE, ".git")):
        same(w.shell("git -C %s cat-file -t %s" % (SOURCE, printed[2])).out, "commit\n")
    write = 'cmake -DSOURCE=$PWD/s -DHEADER=$PWD/h -P %s/csrc/main/commit.cmake && cat h' % SOURCE
    w.shell("mkdir -p s/csrc/main; cp %s/csrc/main/commit.txt s/csrc/main/" % SOURCE)
    same(w.shell(write).out, '#define VS_COMMIT ""\n')
    for text, commit in (("0123456789abcdef0123456789abcdef01234567", "0123456789ab"), ("0123456789abcdef, changed", "0123456789ab, changed")):
        w.shell("echo '%s' > s/csrc/main/commit.txt" % text)
        same(w.shell(write).out, '#define VS_COMMIT "%s"\n' % commit)
    w.shell("git init -q s && echo '$Format:%H$' > s/csrc/main/commit.txt && git -C s add . && git -C s -c user.name=a -c user.email=a@b commit -qm x")
    clone = w.shell(write).out
    same(w.shell("git -C s rev-parse --short=12 HEAD").out, re.search('"(.*)"', clone)[1] + "\n")
    w.shell("echo >> s/csrc/main/commit.txt")
    same(w.shell(write).out, clone.replace('"\n', ', changed"\n'))


@claim("an unknown command ends with 2 and a suggestion")
def _(w):
    fails(w.run("exlpain"), 2, 'no command "exlpain"', "did you mean explain?", "vesta help")
    fails(w.run("zzz"), 2, 'no command "zzz"', "Try: vesta help")
    fails(w.run(""), 2, 'no command ""')
    fails(w.run("A" * 100000), 2, "no command")
    fails(w.run("a\nb\x1b[31m"), 2, '"a\\x0ab\\x1b[31m"')
    fails(w.run("-n", "5"), 2, "the command must come first")
    fails(w.run("help", "nothing"), 2, 'no command "nothing"')
    fails(w.run("help", "layout", "make"), 2, '"make"')


@claim("wherever a name is rejected, the message suggests a similar valid one")
def _(w):
    with open(w.path("c.lua"), "w") as file:
        file.write("return { stores = { s = { uri = 'sqlite:%s' } }, namespaces = { orders = { } }, segments = { { store = 's', tags = 'invoices' } } }" % w.path("s.db"))
    for line, near in (("gne", "gen"), ("help gne", "gen"), ("help --man gne", "gen"), ("help store int", "init"), ("store int", "init"), ("segments ad x", "add"),
                       ("workers imprt", "import"), ("client rotat x", "rotate"), ("policy chek x", "check"), ("gen --namespcae x", "--namespace"),
                       ("gen --lease balancd", "balanced"), ("gen --format dce", "dec"), ("gen --pacing histroy", "history"), ("explain --format hx 1", "hex"),
                       ("top --view overvew", "overview"), ("serve --log-level wran", "warn"), ("gen --fields tpye=1", "type"), ("make tmie=1 seq=1 machine=1", "time"),
                       ("gen --layout snowflak", "snowflake"), ("store show --store sqlit:/x", "sqlite:"), ("gen --store mysq://u@h/d", "mysql:"),
                       ("workers -c c.lua --namespace ordrs", "orders"), ("explain -c c.lua --namespace ordrs 1", "orders"), ("segments take -c c.lua invoice", "invoices"),
                       ("help --completion bsh", "bash"), ("policy check borow", "borrow"), ("serve --policy borow", "borrow"), ("workers import --from lief", "leaf")):
        done = w.run(*line.split())
        assert done.code == (1 if line.startswith("policy check") else 2) and "did you mean %s?" % near in done.err.replace("Did", "did"), (line, done.code, done.err)
    same(w.run("segments", "add", "invoices", "-c", "c.lua").code, 0)
    fails(w.run("segments", "take", "invocies", "--store", "sqlite:" + w.path("s.db")), 1, "did you mean invoices?")
    fails(w.run("segments", "step", "invocies", "5", "--store", "sqlite:" + w.path("s.db")), 1, "did you mean invoices?")
    same(w.run("store", "init", "--store", "sqlite:" + w.path("s.db"), "--namespace", "orders", "--layout", "snowflake").code, 0)
    for words in (["workers"], ["store", "show"], ["store", "lower", "--yes"]):
        fails(w.run(*words, "--store", "sqlite:" + w.path("s.db"), "--namespace", "ordres"), 1, "did you mean orders?")
    for text, near in (("namespaces = { a = { polcy = 'wait' } }", "policy"), ("namespaces = { a = { lease = 'balancd' } }", "balanced"),
                       ("namespaces = { a = { policy = 'borow' } }", "borrow"), ("stores = { main = { uri = 'sqlit:/x' } }", "sqlite:"),
                       ("stores = { main = { uri = 'sqlite:/x' } }, namespaces = { a = { store = 'mian' } }", "main"),
                       ("stores = { main = { uri = 'sqlite:/x' } }, segments = { { store = 'mian', tags = 'a' } }", "main")):
        with open(w.path("wrong.lua"), "w") as file:
            file.write("return { %s }" % text)
        fails(w.run("check", "wrong.lua"), 1, "id you mean %s?" % near)


@claim("help accepts a subcommand: import has its own options")
def _(w):
    assert "--dry-run" in w.run("help", "workers", "import").out
    assert "--dry-run" not in w.run("help", "workers").out
    same(w.run("help", "store", "init").out, w.run("help", "store").out)
    fails(w.run("workers", "import", "--from", "lief"), 2, "vesta workers import: ", "Try: vesta help workers import")
    fails(w.run("workers", "imprt"), 2, "did you mean import?")


CONFIG = """return { http = { listen = "unix:%s/http.sock" }, resp = { listen = "off" }, admin = { listen = "unix:%s/admin.sock" },
  stores = { c = { uri = "sqlite:%s/c.db" } }, segments = { { store = "c", tags = "orders" } }, namespaces = { shop = { worker = 7 } } }"""
# These examples need another program or this project's folder.
ELSEWHERE = r"redis-cli|journalctl|psql|vesta fill|curl|man -l|^vesta health$|policy test"


def examples(w, command):
    shown = w.run("help", command).out.split("\nOptions:\n")[0].replace(" \\\n    ", " ")
    return re.findall(r"(?m)^  \$ (.*)$", shown)


@claim("the examples of every help run, in a temporary folder or with --effective if they need another machine")
def _(w):
    run, ran = "%s/run" % w.folder, set()
    w.shell("mkdir -p run etc lib .local/share/bash-completion/completions")
    with open(w.path("etc/vesta.lua"), "w") as file:
        file.write(CONFIG % (run, run, run))
    with open(w.path("mine.lua"), "w") as file:
        file.write('return { api = 1, name = "mine", options = {}, on_clock_back = function() return "refuse", "not now" end }')
    w.shell("ln -s $vesta vesta; ln -s $PWD/etc/vesta.lua server.lua")
    server = w.start("serve", "-c", "etc/vesta.lua", stderr=-3)
    w.ends.callback(server.wait)
    w.ends.callback(server.terminate)
    for _ in range(300):
        if w.run("health", "--ready", "unix:run/http.sock").code == 0:
            break
        time.sleep(0.1)
    for command in listed(w):
        for line in examples(w, command):
            if re.search(ELSEWHERE, line):
                continue
            words = re.sub(r"/etc/vesta/|/var/lib/vesta/?|/run/vesta/", lambda m: w.path({"/e": "etc/", "/v": "lib/", "/r": "run/"}[m[0][:2]]), line)
            if re.search(r"zk:|mysql:|tls:|vesta serve|--watch", words):
                words = words.rstrip(" &") + " --effective"
            done = w.shell("PATH=$PWD:$PATH; " + words)
            is_found = command == "audit" and "printf" in line
            assert done.code == (1 if is_found or command == "doctor" and done.code == 1 else 0), (command, words, done.code, done.out, done.err)
            ran.add(command)
    same(sorted(set(listed(w)) - ran), ["fill"])


@claim("without the modules of the stores, messages name the package or build that provides them, and list only "
       "available stores")
def _(w):
    alone = os.path.join(w.folder, "alone")
    w.shell("mkdir alone && cp $vesta alone/vesta")
    reached = w.shell(alone + "/vesta serve --http 0.0.0.0:1 --open")
    assert reached.code == 2 and ("(none is installed)" in reached.err or "(--store mysql:, postgresql: or zk:)" in reached.err), reached.err
    for uri in ("mysql://u@127.0.0.1:1/d", "zk://127.0.0.1:1/x"):
        done = w.shell(alone + "/vesta workers --store " + uri)
        # The modules are found if vesta is installed here.
        assert "apt-get install" in done.err or "127.0.0.1:1" in done.err, done.err


@claim("an unknown option ends with 2 and a suggestion")
def _(w):
    fails(w.run("explain", "--layuot", "snowflake"), 2, 'unknown option "--layuot"', "did you mean --layout?", "vesta help explain")
    fails(w.run("explain", "--zzzzzz"), 2, 'unknown option "--zzzzzz"', "vesta help explain")
    fails(w.run("explain", "-z"), 2, 'unknown option "-z"')
    fails(w.run("fit", "-c", "file"), 2, 'unknown option "-c"')
    fails(w.run("layout", "--json=yes"), 2, "--json takes no value")
    fails(w.run("explain", "--layout"), 2, "--layout needs a value")
    fails(w.run("explain", "--layout", "--json"), 2, "--layout needs a value")
    fails(w.run("explain", "--layout="), 2, "--layout needs a value")
    fails(w.run("explain", "--format", "octal", "1"), 2, '"octal"', "any|dec|hex|base32|base62")


@claim("options and operands can be in any order, --name=value works, and -- ends the options")
def _(w):
    want = w.run("explain", "--json", "--layout", "snowflake", "1").out
    for args in (["1", "--json", "--layout=snowflake"], ["--layout=snowflake", "1", "--json"],
                 ["--json", "--layout", "snowflake", "--", "1"]):
        same(w.run("explain", *args).out, want)
    fails(w.run("explain", "--", "--json"), 2, '"--json" is not an id')


@claim("a reader that closes the pipe early is not a failure")
def _(w):
    for command in ("layout", "help explain", "guess 5"):
        result = w.shell('"$vesta" %s | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}' % command)
        same((result.code, result.err), (0, ""))


@claim("a full disk and a closed stdout end with 1 and a message")
def _(w):
    for command in ("layout", "--version", "explain 1", "make time=1 seq=1 machine=1"):
        full = w.shell('"$vesta" %s >/dev/full' % command)
        fails(full, 1, "cannot write the output: No space left on device")
        closed = w.shell('"$vesta" %s >&-' % command)
        fails(closed, 1, "cannot write the output: Bad file descriptor")


main()
