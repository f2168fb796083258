# Lanes see that a slot ends before it is closed, even if the closing process is killed right after the close.
kills LANE_MARKED_LATE ENDED
p draws
A starts at p
A wants
A.keeper to sleeps
B starts at p
B opens a lane of 4
B.1 takes 1 by lane
clock of p -6 s
A leaves its number
A.keeper to closed_slot
A crashes
B.1 tries 1 by lane
B wants
all for 30 s
B.1 takes 5 by lane
