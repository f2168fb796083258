"""A policy declares its options. `vesta policy check`, `vesta check`, servers and the rock reject a wrong option on
loading, with a suggestion."""
import os
import subprocess

from serving import SLOW, VESTA, claim, environment, fails, main, same, write

WRONG = (("borrow", "{ borow_ms_max = 500 }", 'there is no option "borow_ms_max", did you mean borrow_ms_max?'),
         ("borrow", "{ borrow_ms_max = '500' }", 'the option borrow_ms_max must be a whole number from 0 to 86400000, not "500"'),
         ("twitter", "{}", "the option worker is missing: a whole number from 0"),
         ("leaf", "{ peers_ms = 5 }", 'there is no option "peers_ms", did you mean peers_ms_max?'),
         ("refuse", "{ loudly = true }", 'there is no option "loudly": this policy has no options'),
         ("vesta", "{ role = 'servers' }", 'the option role must be "embedded" or "server", not "servers"'))


def named(name, options):
    return '{ "%s", %s' % (name, options.strip()[1:])


@claim("vesta policy check, vesta check and serve reject each wrong option, with a suggestion")
def _(world):
    for name, options, said in WRONG:
        fails(world.run("policy", "check", name, "--options", options), 1, said)
        config = write(world, "return { namespaces = { default = { policy = %s } }, http = { listen = 'off' }, resp = { listen = 'unix:%s' } }"
                       % (named(name, options), world.path("s")))
        fails(world.run("check", config), 1, "namespaces.default.policy cannot be used: ", said)
        fails(world.run("serve", "-c", config), 1, said)
    for name, options in ("borrow", "{ borrow_ms_max = 500 }"), ("twitter", "{ worker = 5 }"), ("any", "{}"):
        same(world.run("policy", "check", name, "--options", options).code, 0)


@claim("the rock rejects the same options")
def _(world):
    build, root = os.path.dirname(VESTA), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    core = os.path.join(build, "lua", "5.4", "?.so")
    if SLOW > 1 or not os.path.exists(core.replace("?", "vesta/core")):
        print("# not with sanitizers, whose runtime the interpreter does not have")
        return
    env = environment(world.folder, LUA_PATH="%s/lua/?.lua;%s/lua/?/init.lua;;" % (root, root), LUA_CPATH=core)
    for rules, said in (("t.x = { 0, 1, about = 5 }", "the option x: about must be a string, not 5"), ("t.x = { 0, 1, unit = {} }", "the option x: unit must be a string"),
                        ("for i = 1, 65 do t['o' .. i] = { 0, i } end", "options has more than 64 rules")):
        with open(world.path("rules.lua"), "w") as file:
            file.write("local t = {} %s return { api = 1, options = t, on_exhausted = function() return 'wait' end }" % rules)
        done = subprocess.run(["lua5.4", "-e", "print(select(2, require 'vesta'.open { worker = 1, policy = './rules.lua' }))"],
                              capture_output=True, text=True, env=env, cwd=world.folder, timeout=60)
        assert said in done.stdout and "bad_option" in done.stdout, (done.stdout, done.stderr)
    for name, options, said in WRONG:
        program = "print(select(2, require 'vesta'.open { worker = 1, policy = %s }))" % named(name, options)
        done = subprocess.run(["lua5.4", "-e", program], capture_output=True, text=True, env=env, cwd=world.folder, timeout=60)
        assert said in done.stdout and "bad_option" in done.stdout, (done.stdout, done.stderr)


@claim("a custom policy can declare options, one without declarations accepts any, and an invalid declaration is "
       "reported")
def _(world):
    mine = "return { api = 1, %s on_exhausted = function(ctx) return 'borrow', ctx.options.ms or 7 end }"
    for rules, options, code, said in (("options = { ms = { 0, 10 } },", "{ ms = 5 }", 0, ""), ("options = { ms = { 0, 10 } },", "{ ms = 11 }", 1, "from 0 to 10, not 11"),
                                       ("options = { ms = { 0, 10 } },", "{ sm = 5 }", 1, 'no option "sm", did you mean ms?'),
                                       ("", "{ ms = 5, whatever = 'x' }", 0, ""), ("options = 5,", "{}", 1, "options is a number"),
                                       ("options = { ms = 5 },", "{}", 1, 'options has no rule for "ms": { least, most }'), ("options = { [1] = {} },", "{}", 1, "options has no rule for 1: ")):
        with open(world.path("mine.lua"), "w") as file:
            file.write(mine % rules)
        result = world.run("policy", "check", "./mine.lua", "--options", options)
        same(result.code, code)
        assert said in result.err, result.err


main()
