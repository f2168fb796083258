# Only in a unit that has given many: who asks now and then is given what the exact clock shows.
kills LATE_FROM_THE_FIRST LATE
pacing clock
units of 1 ms
A starts at p
A wants
A.keeper to sleeps
ticks of p end
A.1 takes 1
wait 3 s
A.1 takes 1
