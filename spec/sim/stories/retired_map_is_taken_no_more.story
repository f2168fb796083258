# No slot of a retired map can be taken once its slots are being closed. Otherwise a claim of a second keeper would
# open one, and a rest of the current map would not close it. (Seeds 169273, 255186.)
kills RETIRES_TAKEABLE DUPLICATE
A starts at p
A wants
A.keeper to takes_slot
# A is stopped here, before it has a slot for its claim. B takes its place, and its claim does not arrive.
B starts at p
B wants
wait 3 s
store loses the next write
B.keeper to sleeps
p loses its map
B.keeper to its end
# The map is closed, and A continues with its claim.
A.keeper for 10 ms
# The path's new map comes to rest, and the machine is copied.
C starts at p
C prepares a snapshot
C.snapshot to asked_to_rest
C.keeper to sleeps
C.snapshot to its end
A.1 tries 2
p may go on from its image
A.1 tries 2
