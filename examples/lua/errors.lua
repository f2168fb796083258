-- How calls fail: they return nil, message, code and sometimes wait_s.  A wrong type raises.
local vesta = require "vesta"

print(select(3, vesta.open { path = "nobody.gen", layout = "snowflake" }))  --> no_generator
print(select(3, vesta.open { layout = "uid", worker = 1 }))                 --> epoch_end
print(select(3, vesta.open { layout = "snowflake time:64", worker = 1 }))   --> bad_layout
print(pcall(vesta.open, { wroker = 1 }))     --> false	vesta.open: unknown option "wroker", did you mean "worker"?

-- This layout has 16 ids per second, so the seventeenth call within a second must wait.
local gen = assert(vesta.open {
  layout = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=2026-01-01T00:00:00Z", worker = 1, ahead_ms_max = 0,
})
assert(gen:next())    -- the first call waits for the lease
gen:close()
gen = assert(vesta.open { wait_ms_max = 0 })
for _ = 1, 100 do
  local id, _, code, wait_s = gen:next()
  if not id then
    print(code, wait_s <= 1)                                                --> full	true
    break
  end
end
gen:close()
print(select(3, gen:next()))                                                --> closed
