-- pipeline.lua -- for wrk: 16 requests in one write, as a proxy or a busy client sends them.
local DEPTH = 16
local batch

function init()
  local requests = {}
  for i = 1, DEPTH do requests[i] = wrk.format() end
  batch = table.concat(requests)
end

function request() return batch end
