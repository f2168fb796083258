# The cursor that is given back is the one at the close: what a thread takes just before is not given again.
kills CURSOR_BEFORE_CLOSE DUPLICATE
A starts at p
A wants
A.keeper to sleeps
A.1 takes 2
A gives back
A.keeper to closes_slot
A.1 takes 1
A.keeper to its end
B starts at p
B wants
B.keeper to sleeps
B.1 takes 1
