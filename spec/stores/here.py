"""here.py -- runs the contracts on stores that need no server: here.py STORE_CONTRACT STORE_COUNTERS STORE_CALL
SCHEME..."""
import os
import sys
import tempfile

from servers import Caller, claim, contract, has, main

in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
box = tempfile.TemporaryDirectory(prefix="vesta-here-", dir=in_memory)

CONTRACT, COUNTERS, CALL = sys.argv[1:4]

for scheme in sys.argv[4:]:
    @claim(f"the contract holds for {scheme}:")
    def _(scheme=scheme):
        contract(CONTRACT, f"{scheme}:{box.name}/{scheme}", 18)

    @claim(f"the contract of counters holds for {scheme}:")
    def _(scheme=scheme):
        contract(COUNTERS, f"{scheme}:{box.name}/{scheme}", 16)


@claim("a tag's file that is damaged or belongs to another tag is refused and not changed")
def _():
    place = box.name + "/hostile"
    with Caller(CALL, "file:" + place) as caller:
        caller.ask("add orders 1 10", "OK")
        caller.ask("add other 1 10", "OK")

        def path(tag):
            return f"{place}/~counters/tag-{tag}"

        def text_of(tag):
            with open(path(tag)) as file:
                return file.read()

        text = text_of("orders")
        for other, part in ((text[:40], "truncated"), (text.replace("max 1", "max 2"), "checksum"), ("hello\n", "not a vesta record"),
                            (text + "x", "truncated"), (text.replace("counter 1", "counter 2"), "newer vesta"), (text_of("other"), "belongs to another tag")):
            with open(path("orders"), "w") as file:
                file.write(other)
            for order in ("take orders 5", "untake orders 1 5", "step orders 5", "add orders 1 5"):
                has(caller.ask(order, "REFUSED")["text"], "'orders'", part)
            got = caller.ask("tags", "OK")
            assert (got["count"], got["passed"], got["unusable"]) == (2, 0, 1), got
            has(got["text"], "orders: ", part)
            assert text_of("orders") == other
        with open(path("orders"), "w") as file:
            pass
        has(caller.ask("take orders 5", "REFUSED")["text"], "empty")
        os.unlink(path("orders"))
        has(caller.ask("take orders 5", "REFUSED")["text"], "tag 'orders' does not exist")


@claim("tags that are named like the store's own files have separate files")
def _():
    with Caller(CALL, "file:" + box.name + "/names") as caller:
        tags = ("lock", "namespace", "a", "a.new", "a.next", "a.1-0123456789abcdef.next", "a:b", "x" * 64)
        for at, tag in enumerate(tags):
            caller.ask(f"add {tag} {at * 100} 10", "OK")
        for at, tag in enumerate(tags):
            assert caller.ask(f"take {tag} 0", "OK")["from"] == at * 100, tag
        assert caller.ask("tags", "OK")["count"] == len(tags)


main()
