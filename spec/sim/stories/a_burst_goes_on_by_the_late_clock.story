# After many ids in a unit the late clock decides whether the unit continues. An earlier reading of the exact clock is
# not enough.
kills LATE_CLOCK_UNASKED LATE
pacing clock
units of 1 ms
A starts at p
A wants
A.keeper to sleeps
A.1 takes 3
wait 3 s
A.1 takes 1
