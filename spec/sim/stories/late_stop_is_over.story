# A keeper that sleeps between checking its stop and recording it stops the file because of the earlier store. The
# next keeper ends that stop. (Seed 248685.)
kills LATE_STOP_STANDS STUCK
timing shared
store keeps a copy
A starts at p
A wants
A.keeper to sleeps
wait 3 s
A.1 takes 1
A.keeper to asks_swap
# A is stopped before it renews, and B takes its place.
B starts at p
B wants
wait 6 s
B.keeper to sleeps
# A learns that the store went back, sees that the file knows this store, and is about to record the stop.
store goes back to it
A.keeper to heard_swap
A.keeper to fails
# The store is repaired, and B has a lease of the new one.
store is put right
wait 40 s
B.keeper to opens_slot
B.keeper to sleeps
# Only now A records the stop.
A.keeper to closed_slot
A crashes
B wants
all for 60 s
B.1 takes 1
