# A keeper that slept between looking whether its stop is still meant and writing it down stops the file for the store
# before; whoever begins a term next lifts that.  (Seed 248685.)
kills LATE_STOP_STANDS STUCK
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
# A hears that the store went back, sees that this is the one that the file knows, and is about to write it down
store goes back to it
A.keeper to heard_swap
A.keeper to fails
# it is put right, and B has a lease of the new one
store is put right
wait 40 s
B.keeper to opens_slot
B.keeper to sleeps
# only now A writes it down
A.keeper to closed_slot
A crashes
B wants
all for 60 s
B.1 takes 1
