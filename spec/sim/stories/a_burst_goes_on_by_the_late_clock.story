# The late clock is asked whether a unit goes on that has given many: what the exact one once showed is no answer.
kills LATE_CLOCK_UNASKED LATE
pacing clock
units of 1 ms
A starts at p
A wants
A.keeper to sleeps
A.1 takes 3
wait 3 s
A.1 takes 1
