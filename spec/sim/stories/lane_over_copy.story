# The lanes of a copied machine have no runs. Otherwise both copies would issue them.
kills LANE_OVER_CLOSE ENDED
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
A.1 takes 1 by lane
A prepares a snapshot
all for 50 ms
A wants
all for 8 s
A.1 takes 4 by lane
p goes on from its image
A wants
all for 8 s
A.1 takes 4 by lane
