# A stop belongs to the store that went back, and ends with the first lease of the next store. (Seed 43830.)
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
# A learns that the store went back, and is about to stop the file.
store goes back to it
A.keeper to heard_swap
A.keeper to carries_out
# The store is repaired. B claims in the new one, and is about to record it.
store is put right
wait 40 s
B.keeper to heard_swap
B.keeper to heard_swap
B.keeper to carries_out
# Only now A stops the file, because of the earlier store.
A.keeper to closed_slot
A crashes
B.keeper to sleeps
B wants
all for 60 s
B.1 takes 1
