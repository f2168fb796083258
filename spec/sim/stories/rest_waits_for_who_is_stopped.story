# A file does not come to rest while a stopped keeper is in its term. That keeper would continue with its token in
# both copies of the machine.
kills RESTS_BESIDE DUPLICATE
A starts at p
A wants
A.keeper to takes_slot
# A is stopped here, and B takes its place.
B starts at p
B wants
wait 3 s
B prepares a snapshot
B.snapshot to asked_to_rest
B.keeper for 2 s
B.snapshot to its end
B wants
B.keeper for 1 ms
A.keeper for 10 ms
A.1 tries 2
p may go on from its image
B wants
B.keeper for 1 ms
A.keeper for 1 s
A.1 tries 2
