# When a worker id is left for another one, the rest of a lane is dropped.
kills LANE_OVER_CLOSE ENDED
p draws
q has number 0
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
A.1 takes 1 by lane
clock of p -6 s
A leaves its number
A.keeper for 3 s
A.1 takes 5 by lane
