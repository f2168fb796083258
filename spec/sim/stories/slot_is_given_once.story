# Two keepers that take a slot at the same time get different ones, so the second claim does not overwrite the first
# one.
kills SLOT_BY_STORE UNGRANTED
A starts at p
A wants
A.keeper to takes_slot
# A is stopped here, and B takes its place.
B starts at p
B wants
wait 3 s
B.keeper to sleeps
B.1 takes 2
A.keeper to fills_from
wait 2 s
B.1 takes 2
B.keeper to raises_deadline
B.keeper to sleeps
