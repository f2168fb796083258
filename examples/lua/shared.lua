-- All generators of the same path share one cursor, in this process and in others, so their ids never repeat.
local vesta = require "vesta"
local one = assert(vesta.open { layout = "vesta-milli", worker = 7, path = "orders.gen", namespace = "orders" })
local two = assert(vesta.open { path = "orders.gen" })

local a, b, c = assert(one:next()), assert(two:next()), assert(one:next())
print(a < b and b < c)                 --> true
print(two:info().worker)               --> 7

-- The file stores its layout.  Opening it with a different layout fails.
print(select(3, vesta.open { path = "orders.gen", layout = "snowflake" }))  --> mismatch
