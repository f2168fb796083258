# A keeper that was told by the store before that it went back stops nothing once another has a lease of the store after
# it: that would cost this lease, though not for ever.  (Seed 67771.)
kills STOPS_UNASKED STUCK
timing shared
store keeps a copy
A starts at p
A wants
A.keeper to sleeps
wait 3 s
A.1 takes 1
A.keeper to asks_swap
# A is stopped before it renews; B takes its place
B starts at p
B wants
wait 6 s
B.keeper to sleeps
# A hears that the store went back, and is about to stop the file
store goes back to it
A.keeper to heard_swap
A.keeper to carries_out
# it is put right, and B has a lease of the new one
store is put right
wait 40 s
B.keeper to opens_slot
B.keeper to sleeps
A.keeper to sleeps
B wants
all for 1 s
B.1 takes 1
