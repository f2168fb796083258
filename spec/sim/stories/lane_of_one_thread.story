# A lane belongs to its first thread. Any other thread is rejected, even in the middle of a call of the first one.
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
