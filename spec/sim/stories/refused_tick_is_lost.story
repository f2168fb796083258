# A tick that was refused is not given once the bound has risen: by then the slot may be closed and released below it.
kills KEEPS_REFUSED_TICK DUPLICATE
p draws
q has number 0
A starts at p
A wants
A.keeper to sleeps
A.1 takes 8
wait 5 s
A.1 takes 31
# the limit is met: a thread of D takes the tick that lies on it, and is about to raise the bound
D starts at p
D.1 takes 1 to raises_pass
clock of p -6 s
A leaves its number
A.keeper to closes_slot
# A is stopped here, and C takes its place; the clock is right again, so the number is kept and renewed; the new limit
# is not told yet
clock of p +6 s
C starts at p
C wants
wait 3 s
C.keeper to raises_deadline
# A closes the slot and gives the number back at its limit; only now that rises
A.keeper to heard_swap 2
C.keeper to sleeps
D.1 to its end
clock of p -9 s
B starts at q
B wants
B.keeper to sleeps
wait 7 s
B.1 takes 4
