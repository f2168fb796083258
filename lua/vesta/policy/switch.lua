--- switch -- takes another worker id if the clock goes back.  A worker id that was free until now has no ids in the
-- repeated time, so requests neither wait nor get early ids.
--
--     options.wait_ms_max   requests wait if the clock went back by at most this, in milliseconds (default: 10)
--
-- It needs a store with free worker ids.  It does not help if ids run out, because another worker id has the same rate.
-- If the worker id cannot be changed, because it was assigned by hand or has just been changed, requests are rejected.

local function on_clock_back(ctx)
  local wait_ms_max = ctx.options.wait_ms_max
  if ctx.back_ms <= wait_ms_max then return "wait", wait_ms_max end
  return "switch"
end

local OPTIONS = {
  wait_ms_max = { 0, 86400000, default = 10, unit = "ms",
    about = "requests wait if the clock went back by at most this" },
}

return { api = 1, name = "switch", options = OPTIONS, on_clock_back = on_clock_back }
