# Whether the cursor's second continues is decided by the clock's present time, not by the time when it was last read.
kills TRUSTS_WHAT_WAS_SEEN LATE
pacing clock
A starts at p
A wants
A.keeper to sleeps
A.1 takes 3
wait 3 s
A.1 takes 1
