--- switch -- takes another worker number when the clock goes back: a number that was free until now has no ids in the
-- time that comes twice, so none can be early and nobody waits.
--
--     options.wait_ms_max   a step back up to this is waited out, in milliseconds; 10 unless given
--
-- Needs a store with free numbers, and is no remedy for a rush: a new number gives no more ids than the old one did.
-- Where a number cannot be changed (it was given by hand, the last change was just now) this counts as a refusal.

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max
  if ctx.back_ms <= wait_ms_max then return "wait", wait_ms_max end
  return "switch"
end

local OPTIONS = {
  wait_ms_max = { 0, 86400000, default = 10, unit = "ms", about = "a step back up to this is waited out" },
}

return { api = 1, name = "switch", options = OPTIONS, on_clock_back = on_clock_back }
