-- hours.lua -- allows larger steps of the clock at night than by day, when an operator can react.
local function on_clock_back(ctx)
  local options = ctx.options
  local hour = localtime(ctx.now_ms, options.zone).hour
  local is_day = hour >= 8 and hour < 20
  local max_ms = is_day and options.day_ms_max or options.night_ms_max
  if ctx.back_ms <= 10 then return "wait" end
  if ctx.back_ms <= max_ms then return "borrow", ctx.back_ms end
  return "refuse", ("the clock is back by %d ms at %d o'clock, and at most %d ms are tolerated")
    :format(ctx.back_ms, hour, max_ms)
end

return {
  api = 1, on_clock_back = on_clock_back,
  options = {
    zone = { "UTC", "Europe/Berlin", "Asia/Shanghai", default = "UTC", about = "the time zone of the operators" },
    day_ms_max = { 0, 60000, default = 100, unit = "ms", about = "largest step tolerated from 8 to 20 o'clock" },
    night_ms_max = { 0, 60000, default = 5000, unit = "ms", about = "largest step tolerated at other times" },
  },
}
