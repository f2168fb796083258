# A used-up map keeps no slot open. A rest of its successor would not close it, and two copies of the machine would
# both continue with it.
kills RETIRES_OPEN DUPLICATE
p draws
A starts at p
A wants
A.keeper to sleeps
A drops
A wants
A.keeper to counts_slot
# A is stopped here with the last slot but one. B takes its place, and the last slot.
B starts at p
B wants
wait 3 s
B.keeper to sleeps
B.1 takes 1
# A continues, finds its worker id taken and no slot left, and retires the map in which B's slot is open.
A.keeper to its end
B.keeper to its end
# The path's new map comes to rest, and the machine is copied.
C starts at p
C prepares a snapshot
C.snapshot to asked_to_rest
C.keeper to sleeps
C.snapshot to its end
B.1 tries 2
p goes on from its image
B.1 tries 2
