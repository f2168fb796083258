# A slot that is closed after it was counted and before it is filled stays closed. A keeper that was stopped in
# between would open it in a retired map, in both copies of a machine, under one token.
kills FRESH_REVIVES LOWERED
A starts at p
A wants
A.keeper to sleeps
A drops
A wants
all for 8 s
A drops
A wants
A.keeper to counts_slot
# A is stopped here with the last slot. B takes its place, finds no slot, and retires the map.
B starts at p
B wants
wait 3 s
B.keeper to its end
# The path's new map comes to rest, and the machine is copied.
C starts at p
C prepares a snapshot
C.snapshot to asked_to_rest
C.keeper to sleeps
C.snapshot to its end
A.keeper to heard_swap
A.keeper to its end
A.1 tries 2
p goes on from its image
A.keeper to its end
A.1 tries 2
