-- Builds ids from field values, and calculates the range of ids of a day, for tests, back-fills and queries by time.
local vesta = require "vesta"
local layout = assert(vesta.layout "snowflake")

print(layout:make { time = 1, seq = 2, worker = 3 })            --> 4206594
local id, why = layout:make { time = 1, seq = 2, worker = 1024 }
print(id, why)                      --> nil	worker cannot be 1024: its maximum is 1023 (10 bits)

-- The bounds for SELECT ... WHERE id BETWEEN min AND max, for the first of January 2026.
local day = assert(layout:range("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"))
print(#day, day[1].min, day[1].max)                             --> 1	...	...
print(layout:explain(day[1].min).iso)                           --> 2026-01-01T00:00:00Z
print(layout:explain(day[1].max).iso)                           --> 2026-01-01T23:59:59.999Z
