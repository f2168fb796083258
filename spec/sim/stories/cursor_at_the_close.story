# A release writes the cursor at the close, so an id that a thread takes just before is not issued again.
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
