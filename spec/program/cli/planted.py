"""planted.py -- a command that is one more file in lua/cli, and the messages for its failures."""
from harness import claim, fails, main, same
from topics import commands


def fails_inside(done, *parts):
    """Asserts a message about an internal error: one line with the file and the line, and no traceback."""
    fails(done, 1, "vesta planted: internal error in lua/", "please report it", *parts)
    same(done.err.count("\n"), 1)
    assert "traceback" not in done.err and "[C]" not in done.err, done.err


@claim("a file in lua/cli becomes a command, listed in the overview, help, manual page and completions")
def _(w):
    names = commands(w)
    same(names[names.index("planted") - 1:names.index("planted") + 2], ["guess", "planted", "fit"])
    same((lambda r: (r.code, r.out, r.err))(w.run("planted")), (0, "it grows\n", ""))
    same(w.run("planted", "--json").out, '{"planted":true}\n')
    assert "vesta planted -- a command that is one file\n" in w.run("help", "planted").out
    assert "print a JSON object" in w.run("help", "--man", "planted").out
    assert "vesta\\-planted" in w.run("help", "--man").out
    for shell in "bash", "zsh", "fish":
        out = w.run("help", "--completion", shell).out
        assert "planted" in out and "json" in out and "depth" in out, out


@claim("a subcommand has its own options, and its messages begin with its name")
def _(w):
    same(w.run("planted", "sub", "--depth", "3").out, "sub 3\n")
    fails(w.run("planted", "sub", "--depth", "x"), 2, "vesta planted sub: --depth is", "Try: vesta help planted sub\n")
    fails(w.run("planted", "sub", "--depth", "0"), 2, "vesta planted sub: it is too shallow\n")
    fails(w.run("planted", "--depth", "3"), 2, "vesta planted: unknown option")
    assert "--depth N" in w.run("help", "planted", "sub").out


@claim("a misspelt new command is suggested, and the internal modules are not commands")
def _(w):
    fails(w.run("plantd"), 2, 'there is no command "plantd", did you mean planted?')
    for name in "lib", "run", "broken", "lib.run", "../cli/planted", "planted.lua":
        fails(w.run(name), 2, "there is no command")


@claim("an error in a command prints what failed, with the file and the line, and the exit code is 1")
def _(w):
    fails_inside(w.run("planted", "index"), "lua/cli/planted.lua:8: attempt to index a nil value (local 'nothing')")
    fails_inside(w.run("planted", "argument"), "lua/cli/planted.lua:9: bad argument #1 to 'rep'")
    fails_inside(w.run("planted", "object"), "lua/cli/planted.lua:10: an object")
    fails_inside(w.run("planted", "number"), "lua/cli/planted.lua:11: 7")
    fails_inside(w.run("planted", "depth"), "lua/cli/planted.lua:5: stack overflow")


@claim("a module that is missing or cannot be compiled is named, with the line")
def _(w):
    fails_inside(w.run("planted", "module"), "lua/cli/planted.lua:12: module 'cli.lib.missing' not found",
                 "the program contains no module")
    fails_inside(w.run("planted", "syntax"), "lua/cli/lib/broken.lua:1: unexpected symbol near '='")


@claim("a command whose table lacks a member is named, with the member")
def _(w):
    fails_inside(w.run("planted", "order"), "lua/cli/planted.lua: the table that it returns has no order")


@claim("a command that calls cli.fail ends with its exit code, wherever the call is")
def _(w):
    fails(w.run("planted", "exit"), 1, "vesta planted: ended by cli.fail\n")


main()
