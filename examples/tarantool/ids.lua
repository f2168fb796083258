--- ids.lua -- ids for the fibers of Tarantool.  All fibers run in one thread, so C must never wait (wait_ms_max = 0).
-- During a pause, fiber.sleep lets other fibers run.
local ffi = require "ffi"
local fiber = require "fiber"
local vesta = require "vesta"

local SLEEP_S_MIN, SLEEP_S_MAX = 0.001, 0.05
local ids = {}
ids.__index = ids

--- Opens a generator with the options of vesta.open.  wait_ms_max is the time that a fiber may wait (default: 2000).
-- Call it once, when the application starts, because it accesses the disk.  Returns nil, message, code if it fails.
function ids.open(options)
  local given = {}
  for key, value in pairs(options) do given[key] = value end
  given.wait_ms_max = 0
  local gen, message, code = vesta.open(given)
  if not gen then return nil, message, code end
  return setmetatable({ gen = gen, wait_s_max = (options.wait_ms_max or 2000) / 1000 }, ids)
end

--- Returns the next id as a uint64_t, for a field of type `unsigned`.  Yields only if no id is available at once.
-- Returns nil, message, code, wait_s if there is none in time.
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
