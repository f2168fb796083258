# A rejected tick is not issued after the bound has risen, because the slot may have been closed and released below
# the tick by then.
kills KEEPS_REFUSED_TICK DUPLICATE
p draws
q has number 0
A starts at p
A wants
A.keeper to sleeps
A.1 takes 8
wait 5 s
A.1 takes 31
# The limit is reached: a thread of D takes the tick at the limit, and is about to raise the bound.
D starts at p
D.1 takes 1 to raises_pass
clock of p -6 s
A leaves its number
A.keeper to closes_slot
# A is stopped here, and C takes its place. The clock is right again, so C keeps the worker id and renews it. Threads
# do not see the new limit yet.
clock of p +6 s
C starts at p
C wants
wait 3 s
C.keeper to raises_deadline
# A closes the slot and releases the worker id at its limit. Only then the limit rises.
A.keeper to heard_swap 2
C.keeper to sleeps
D.1 to its end
clock of p -9 s
B starts at q
B wants
B.keeper to sleeps
wait 7 s
B.1 takes 4
