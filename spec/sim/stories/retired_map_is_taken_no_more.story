# A map that others have left takes no slot any more once its own are being closed: a claim of a second keeper would open
# one, and no rest of the map that has the name now would see it.  (Seeds 169273, 255186.)
kills RETIRES_TAKEABLE DUPLICATE
A starts at p
A wants
A.keeper to takes_slot
# A is stopped here, before it has a slot for its claim; B takes its place, and its own claim does not arrive
B starts at p
B wants
wait 3 s
store loses the next write
B.keeper to sleeps
p loses its map
B.keeper to its end
# the map is closed; A goes on with its claim
A.keeper for 10 ms
# the path's new map comes to rest, and the machine is copied
C starts at p
C prepares a snapshot
C.snapshot to asked_to_rest
C.keeper to sleeps
C.snapshot to its end
A.1 tries 2
p may go on from its image
A.1 tries 2
