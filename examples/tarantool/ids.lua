--- ids.lua -- ids for the fibers of a Tarantool, which all run in one thread: whoever waits in C stops them all.
-- So C never waits here (wait_ms_max = 0); a pause is slept through with fiber.sleep, while other fibers go on.
local ffi = require "ffi"
local fiber = require "fiber"
local vesta = require "vesta"

local SLEEP_S_MIN, SLEEP_S_MAX = 0.001, 0.05
local ids = {}
ids.__index = ids

--- Opens a generator with the options of vesta.open, and wait_ms_max: for how long a fiber may wait, 2000 unless given.
-- Touches the disk: call it once, where the application starts.  nil, message, code if it cannot.
function ids.open(options)
  local given = {}
  for key, value in pairs(options) do given[key] = value end
  given.wait_ms_max = 0
  local gen, message, code = vesta.open(given)
  if not gen then return nil, message, code end
  return setmetatable({ gen = gen, wait_s_max = (options.wait_ms_max or 2000) / 1000 }, ids)
end

--- The next id as a uint64_t, which a field of type `unsigned` holds; yields only where there is none at once.
-- nil, message, code, wait_s if there is none in time.
function ids:next()
  local until_s = fiber.clock() + self.wait_s_max
  while true do
    local id, message, code, wait_s = self.gen:next_int()
    if id then return ffi.cast("uint64_t", id) end
    if not wait_s or fiber.clock() + wait_s > until_s then return nil, message, code, wait_s end
    fiber.sleep(math.min(math.max(wait_s, SLEEP_S_MIN), SLEEP_S_MAX))
  end
end

return ids
