# A lane returns the rest of its run only if the cursor is still at its end. It returns nothing if others took ids
# after it, and nothing of a parent's run.
kills LANE_GIVES_BACK_BEHIND LOWERED
kills LANE_GIVES_BACK_PARENTS DUPLICATE
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
A.1 takes 1 by lane
A forks B
B closes its lane
B.1 takes 1
wait 3 s
A.1 takes 1 by lane
A closes its lane
A.1 takes 4
A opens a lane of 4
A.1 takes 2 by lane
A closes its lane
A.1 takes 2
