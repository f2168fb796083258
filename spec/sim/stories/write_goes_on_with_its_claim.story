# A store that lost its last writes may reach the same version in another way. A renewal must not overwrite another
# process's claim, and its holder stops.
kills FOLLOWS_BY_VERSION DUPLICATE
pacing clock
store keeps a copy
A starts at p
A wants
A.keeper to sleeps
A.1 takes 1
wait 2 s
A.keeper to asks_swap
# A is stopped before it renews version 1.
store goes back to it
D starts at q
D wants
D.keeper to sleeps
A.keeper to heard_swap
A.keeper to sleeps
wait 1 s
D.1 takes 4
A.1 tries 4
