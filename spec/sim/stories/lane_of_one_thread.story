# A lane is its first thread's: another one is refused, also in the middle of the first one's call.
kills LANE_OF_ANYBODY DUPLICATE
A starts at p
A wants
A.keeper to sleeps
A opens a lane of 4
A.1 takes 1 by lane
A.1 takes 1 by lane to composes
A.2 tries 1 by lane
A.1 to its end
A.2 takes 1
A.1 takes 2 by lane
