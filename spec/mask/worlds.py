"""worlds.py -- configs with masks, for the specs of this folder."""
import os

KEY = "000102030405060708090a0b0c0d0e0f"


def key(world, name, text=KEY, mode=0o600):
    path = world.path(name)
    with open(path, "w") as file:
        file.write(text + "\n")
    os.chmod(path, mode)
    return path


def config(world, mask, counter_mask=None, more="", layout="snowflake"):
    """Namespace `orders` with the mask, namespace `plain` without, and the counter `invoices` with counter_mask."""
    counters = ("stores = { a = { uri = 'sqlite:%s' } }, segments = { { store = 'a', tags = 'invoices', mask = { %s } } }," %
                (world.path("v.db"), counter_mask)) if counter_mask else ""
    return ("return { namespaces = { orders = { layout = '%s', worker = 5, mask = { %s } }, plain = { layout = '%s', worker = 5 } }, %s %s }"
            % (layout, mask, layout, counters, more))
