# The limit of a released cursor is read after the close. Otherwise another keeper of the file may have raised it, and
# threads may have taken the ticks that it granted.
kills LIMIT_BEFORE_CLOSE DUPLICATE
p draws
q has number 0
A starts at p
A wants
A.keeper to sleeps
A.1 takes 8
wait 5 s
A.1 takes 31
# The window is used up. The clock is set back, and another worker id is requested.
A.1 is refused
clock of p -6 s
A leaves its number
A.keeper to closes_slot
# A is stopped here, and C takes its place. The clock is right again, so C keeps the worker id and renews it.
clock of p +6 s
C starts at p
C wants
wait 3 s
C.keeper to raises_deadline
C.keeper to sleeps
C.1 takes 4
# A closes the slot and releases the worker id.
A.keeper to heard_swap 2
clock of p -9 s
B starts at q
B wants
B.keeper to sleeps
wait 7 s
B.1 takes 4
