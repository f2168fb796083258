-- A policy decides what to do if a call would return a pause: wait longer, issue ids ahead of the clock, or fail.
local vesta = require "vesta"
local testing = require "vesta.testing"

-- If the clock goes back a little, calls wait.  If it goes back further, ids are issued slightly ahead of the clock.
local policy = {
  api = 1,
  name = "steps",
  on_clock_back = function(ctx)
    if ctx.back_ms <= 20 then return "wait" end
    if ctx.back_ms <= 2000 then return "borrow", ctx.back_ms end
    return "refuse", "the clock is back by " .. ctx.back_ms .. " ms"
  end,
  on_exhausted = function() return "borrow", 5000 end,
}

-- Prints the policy's verdicts in a simulated world, whose clock the test sets.
local world = testing.world { policy = policy }
world:step_clock(-20)
print(world:verdict "on_clock_back")          --> wait	nil	nil
world:step_clock(-500)
print(world:verdict "on_clock_back")          --> borrow	520	nil
world:step_clock(-3000)
print(world:verdict "on_clock_back")          --> refuse	nil	the clock is back by 3520 ms

-- Uses the policy in a generator.  The layout has 16 ids per second, and the program needs 40 ids at once.
local gen = assert(vesta.open {
  layout = "sign:1 time:31 seq:4 worker:28 unit=1s epoch=2026-01-01T00:00:00Z", worker = 1, ahead_ms_max = 0,
  policy = policy,
})
assert(gen:next())                            -- the first call waits for the lease
print(#assert(gen:batch(40)))                 --> 40

-- `policy` can also be the name of a built-in policy, or a path, with options: { "borrow", borrow_ms_max = 500 }
print(select(3, vesta.open { policy = "borow" }))   --> unknown_name
