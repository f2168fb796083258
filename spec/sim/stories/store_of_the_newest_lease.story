# The store of the newest lease is the store that a file knows. It is a field of the slot, which a keeper that slept
# cannot set back. A separate word could be set back, and the next keeper would take a sound store for a replaced one.
# (Seeds 9779, 3318, 481170.)
kills STORE_BY_WORD STUCK
timing shared
A starts at p
A wants
A.keeper to publishes_limit
# A is stopped with an acknowledged claim. The store is replaced and repaired, and B claims in the new one.
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
