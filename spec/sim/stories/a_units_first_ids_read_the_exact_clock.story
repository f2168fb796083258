# The late clock is used only after many ids in a unit. A caller with few ids reads the exact clock.
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
