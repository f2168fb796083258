"""here.py -- the contract on stores that need no server to be started: here.py STORE_CONTRACT SCHEME..."""
import os
import sys
import tempfile

from servers import claim, contract, main

in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
box = tempfile.TemporaryDirectory(prefix="vesta-here-", dir=in_memory)

for scheme in sys.argv[2:]:
    @claim(f"the contract holds for {scheme}:")
    def _(scheme=scheme):
        contract(sys.argv[1], f"{scheme}:{box.name}/{scheme}", 16)

main()
