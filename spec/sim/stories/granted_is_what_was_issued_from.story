# A floor must be above all ids that a map issued. It need not be above the bound of a claim that was never opened,
# which is always higher. (Seeds 943, 4800.)
kills CLAIMS_COUNT STUCK
timing shared
A starts at p
A wants
A.keeper to sleeps
wait 3 s
A.1 takes 1
store is put right
A wants
wait 30 s
# A claims in the new store, and is killed between raising the limit and opening the slot.
A.keeper to publishes_limit
A crashes
B starts at p
B wants
all for 60 s
B.1 takes 1
