# After a rest a claim without a reply is dropped. Otherwise both copies of the machine would continue it under one
# token.
kills REST_LEAVES_FRESH DUPLICATE
A starts at p
A wants
A.keeper to asks_swap
store does the next write unheard
A.keeper to heard_swap
A prepares a snapshot
all for 50 ms
A wants
all for 8 s
A.1 takes 4
p goes on from its image
A wants
all for 8 s
A.1 takes 4
