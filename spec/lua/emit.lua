--- emit FILE COUNT [SEED] -- opens a generator file and prints COUNT ids, alternating between next and batches.
local vesta = require "vesta"
local path, count = arg[1], tonumber(arg[2])
local gen = assert(vesta.open { path = path, wait_ms_max = 20000 })
local left = count
while left > 0 do
  local n = math.min(left, left % 2 == 0 and 100 or 1)
  local ids = n == 1 and { assert(gen:next()) } or assert(gen:batch(n))
  io.write(table.concat(ids, "\n"), "\n")
  left = left - n
end
