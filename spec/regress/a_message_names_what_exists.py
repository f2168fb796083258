"""Regression: `serve --help` connected to a socket that its own example did not open, and without the module of a
shared store a message ended in "(--store )"."""
import os
import re
import shutil

from harness import VESTA, claim, main, same


@claim("an example in a help text connects only to sockets that its examples open")
def _(world):
    commands = re.findall(r"^  ([a-z]+)  ", world.run("help").out, re.MULTILINE)
    assert "serve" in commands, commands
    seen = 0
    for command in commands:
        text = world.run("help", command).out
        opened = set(re.findall(r"unix:([^\s,\"]+)", text))
        for path in re.findall(r"redis-cli -s (\S+)|--unix-socket (\S+)", text):
            seen += 1
            assert set(filter(None, path)) <= opened, (command, path, opened)
    same(seen > 0, True)


@claim("without modules of stores, no message contains an empty list of stores")
def _(world):
    os.mkdir(world.path("bare"))
    program = shutil.copy(VESTA, world.path("bare"))
    with open(world.path("vesta.lua"), "w") as file:
        file.write("return { stores = { s = { uri = 'file:%s', auth = 'a:b' } }, namespaces = { n = { store = 's' } } }" % world.path("store"))
    for words in "serve --http 0.0.0.0:1 --resp off", "check vesta.lua":
        done = world.shell("%s %s" % (program, words))
        said = done.out + done.err
        assert said and not re.search(r"--store \)|for  stores", said), said


main()
