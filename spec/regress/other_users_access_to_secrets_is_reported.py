"""Regression: a clients file that other users could write but not read was not reported, and one that they could read
and write was reported as readable. The same applied to all files with a secret."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "program", "server"))
from serving import Server, claim, main, same  # noqa: E402

MODES = (0o640, None), (0o644, "read"), (0o642, "write"), (0o646, "read and write")


def write(world, name, text):
    with open(world.path(name), "w") as file:
        file.write(text)
    os.chmod(world.path(name), 0o640)
    return world.path(name)


def noted(world, path, says):
    """Asserts that for each mode of a file, check reports exactly the access of others."""
    for mode, word in MODES:
        os.chmod(path, mode)
        done = world.run("check", world.path("vesta.lua"))
        said = done.out + done.err
        same((path, oct(mode), "others may" in said), (path, oct(mode), word is not None))
        assert word is None or says % word in said, (oct(mode), said)
    os.chmod(path, 0o640)


@claim("check reports others' access to the clients file, a store's secret_file, a file() and the config with a secret")
def _(world):
    clients = write(world, "clients", "default names=* calls=give\n")
    secret = write(world, "secret", "a long and open secret\n")
    config = write(world, "vesta.lua", "return { clients = 'clients', namespaces = { default = { worker = 1 } } }")
    noted(world, clients, "others may %%s %s, the clients file: chmod o= on it" % clients)
    write(world, "vesta.lua", "return { namespaces = { default = { store = 'mysql://a@127.0.0.1:1/v?secret_file=%s' } } }" % secret)
    noted(world, secret, "others may %%s %s, a store's secret_file" % secret)
    write(world, "vesta.lua", "return { resp = { password = file 'secret' }, namespaces = { default = { worker = 1 } } }")
    noted(world, secret, "resp.password comes from %s, which others may %%s: chmod o= on it" % secret)
    write(world, "vesta.lua", "return { resp = { password = 'a long and open secret' }, namespaces = { default = { worker = 1 } } }")
    noted(world, config, "others may %%s %s, which contains a secret" % config)


@claim("vesta client list, and a server on SIGHUP, report that others may write the clients file")
def _(world):
    clients = write(world, "clients", "default names=* calls=give\n")
    with Server(world, "--clients", clients) as server:
        os.chmod(clients, 0o642)
        assert "others may write" in world.run("client", "list", "--file", clients).err
        server.process.send_signal(signal.SIGHUP)
        assert " access=write " in server.heard("other users may access the file of clients")


main()
