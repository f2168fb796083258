"""topics.py -- the commands, subcommands and options that `vesta help` lists."""
import re


def commands(w):
    return [line.split()[0] for line in w.run("help").lines() if line.startswith("  ")]


def topics(w):
    """Returns every command, and its subcommands according to its usage."""
    for command in commands(w):
        yield (command,)
        usage = re.search(r"^Usage: (.*?)\n\n", w.run("help", command).out, re.M | re.S)[1]
        for words in re.findall(r"vesta %s ([a-z|]+)" % command, usage):
            for word in words.split("|"):
                yield (command, word)


def option_rows(w, topic):
    """Returns (letter and name, help text) for each option of a topic."""
    rows = w.run("help", *topic).out.split("\nOptions:\n")[1]
    return re.findall(r"^  ((?:-\w, )?--[a-z0-9-]+).*?(?:\n +|  +)(\S.*)$", rows, re.M)


def options_of(w, topic):
    return {name.split()[-1] for name, _ in option_rows(w, topic)}
