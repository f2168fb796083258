-- Takes many ids at once.  A batch has exactly the requested count, or the call fails.
local vesta = require "vesta"
local gen = assert(vesta.open { layout = "snowflake", worker = 1 })

local ids = assert(gen:batch(1000))
print(#ids)                            --> 1000

local seen, duplicates = {}, 0
for _, id in ipairs(ids) do
  if seen[id] then duplicates = duplicates + 1 end
  seen[id] = true
end
print("duplicates", duplicates)        --> duplicates	0

-- An invalid count is an error in the program, so the call raises at this line.
print(pcall(gen.batch, gen, 10001))    --> false	a batch is a whole number of ids from 1 to 10000, not 10001
