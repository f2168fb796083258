# Which store a file knows is that of its newest lease: a field of its slot, which a keeper that slept cannot set back,
# wherever it slept.  As a word of the map it could, and the next keeper took a sound store for one that was replaced.
# (Seeds 9779, 3318, 481170.)
kills STORE_BY_WORD STUCK
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
