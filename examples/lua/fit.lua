-- Proposes a layout for 50,000 ids per second on each of 4,000 hosts, for 30 years.
local vesta = require "vesta"
local fit = assert(vesta.fit { rate = 50000, nodes = 4000, years = 30, epoch = "2026-01-01T00:00:00Z" })
print(fit.layout)        --> sign:1=0 time:... seq:... worker:14 ... epoch=2026-01-01T00:00:00Z
print(fit.rate_max >= 50000, fit.nodes_max, fit.years_max >= 30)  --> true	16384	true

local too_much, why = vesta.fit { rate = 1e12, nodes = 1e6, years = 1000 }
print(too_much, #why > 20)  --> nil	true
