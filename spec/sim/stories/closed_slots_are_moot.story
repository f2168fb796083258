# A store's reply about a lease is ignored if another keeper of the file has closed its slot. The worker id may have
# been released below its bound, and its new holder may be there, so the store did not go back. (Seed 41785.)
kills NEVER_MOOT FAILSTOP
pacing clock
p draws
q has number 0
A starts at p
A wants
A.keeper to sleeps
wait 3 s
A.1 takes 1
A.keeper to raises_deadline
A.keeper to sleeps
A.1 takes 1
A.keeper to raises_deadline
A.keeper to sleeps
clock of p -2 s
A.1 takes 1
wait 2 s
A.keeper to asks_swap
# A is stopped before it renews. The clock is set back, and C, in its place, leaves the worker id for another one.
C starts at p
C wants
wait 3 s
C.keeper to sleeps
clock of p -9 s
C leaves its number
C.keeper to opens_slot
# The worker id has a new holder below A's bound.
D starts at q
D wants
D.keeper to opens_slot
A.keeper to heard_swap
A.keeper to sleeps
