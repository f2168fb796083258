-- half_load.lua -- for wrk: each connection pauses a millisecond after a reply, so that the number of connections sets
-- the rate.  Prints quantiles of the latency and counts of replies as one line of JSON.
local REST_MS = 1

function delay() return REST_MS end

function done(summary, latency)
  local errors = summary.errors
  io.write(('{"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"p999_us":%d,"refused":%d,"lost":%d}\n'):format(
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
