# A failstop ends the runs of lanes like it ends the lease, because the store may grant those ids to another process.
kills LANE_BY_ACTIVE ENDED
kills LANE_OVER_CLOSE ENDED
timing shared
store keeps a copy
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
wait 3 s
A.1 takes 1 by lane
store goes back to it
all for 5 s
A.1 tries 1 by lane
store is put right
A wants
all for 60 s
A.1 takes 5 by lane
