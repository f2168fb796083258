# A forked child has a lane's memory, but not its run.
kills LANE_OVER_FORK DUPLICATE
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
A.1 takes 1 by lane
A forks B
A.1 takes 1 by lane
B.1 takes 1 by lane
wait 3 s
B.1 takes 5 by lane
A.1 takes 5 by lane
