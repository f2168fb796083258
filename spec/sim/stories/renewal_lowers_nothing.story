# Two keepers share a token. A keeper that renews by a clock that was set back must not request less than the record
# has, because the other keeper's threads may have issued ids up to it. (Seeds 54, 209.)
kills LOWERS_BOUND DUPLICATE
pacing clock
A starts at p
A wants
A.keeper to sleeps
A.1 takes 1
wait 2 s
A.keeper to asks_swap
# A is stopped before it renews. B takes its place and renews.
B starts at p
B wants
wait 3 s
B.keeper to sleeps
B wants
B.keeper to raises_deadline
B.keeper to sleeps
B.1 takes 1
wait 2 s
B.keeper to raises_deadline
B.keeper to sleeps
# The clock is set back, and A continues. Then the clock is right again.
clock of p -6 s
A.keeper to heard_swap 2
clock of p +6 s
wait 3 s
B.1 takes 4
A crashes
B crashes
# Another generator takes the worker id when its lease has ended, by a clock that is set back again.
wait 16 s
clock of p -19 s
D starts at q
D wants
D.keeper to opens_slot
D.keeper to sleeps
wait 1 s
D.1 tries 8
wait 1 s
D.1 tries 8
wait 1 s
D.1 tries 8
wait 4 s
D.1 tries 8
