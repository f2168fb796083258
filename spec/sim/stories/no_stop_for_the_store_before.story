# A keeper that learns from an earlier store that it went back stops nothing if another keeper has a lease of the next
# store. The stop would cost this lease, though not for good. (Seed 67771.)
kills STOPS_UNASKED STUCK
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
# A learns that the store went back, and is about to stop the file.
store goes back to it
A.keeper to heard_swap
A.keeper to carries_out
# The store is repaired, and B has a lease of the new one.
store is put right
wait 40 s
B.keeper to opens_slot
B.keeper to sleeps
A.keeper to sleeps
B wants
all for 1 s
B.1 takes 1
