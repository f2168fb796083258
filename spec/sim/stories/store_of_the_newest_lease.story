# Which store a file knows is that of its newest lease.  A keeper that slept does not set it back, wherever it slept: the
# next keeper would take a sound store for one that was replaced.  (Seeds 9779, 3318, 481170.)
kills ACTIVE_SET_BACK STUCK
timing shared
A starts at p
A wants
A.keeper to publishes_limit
# A is stopped with a claim that was acknowledged; the store is replaced and put right, and B claims in the new one
store is put right
B starts at p
B wants
wait 6 s
B.keeper to opens_slot
B.keeper to sleeps
A.keeper to sleeps
A crashes
B crashes
C starts at p
C wants
all for 40 s
C.1 takes 2
