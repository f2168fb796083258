# That the second goes on which the cursor stands in is what a clock says now, not what it said when it was last read.
kills TRUSTS_WHAT_WAS_SEEN LATE
pacing clock
A starts at p
A wants
A.keeper to sleeps
A.1 takes 3
wait 3 s
A.1 takes 1
