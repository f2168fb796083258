# A clock that was set back shows a time that is earlier than a late clock may show.
kills BACK_IS_LATE AHEAD
pacing clock
units of 1 ms
A starts at p
A wants
A.keeper to sleeps
A.1 takes 3
clock of p -3 s
A.1 tries 1
