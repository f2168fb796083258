# A late clock without kernel ticks is trusted only for the rest of a run.
kills RUNS_WITHOUT_END LATE
pacing clock
units of 1 ms
A starts at p
A wants
A.keeper to sleeps
ticks of p end
A.1 takes 3
wait 3 s
A.1 takes 2
