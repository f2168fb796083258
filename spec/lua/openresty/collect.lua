--- collect -- for wrk: writes every 200's body as a line of a file of its thread, and anything else as "status N".
local threads = 0

function setup(thread) -- luacheck: ignore 111
  threads = threads + 1
  thread:set("number", threads)
end

function init(args) -- luacheck: ignore 111
  out = assert(io.open(("%s.%d"):format(args[1], number), "w")) -- luacheck: ignore 111 113
end

function response(status, _, body) -- luacheck: ignore 111
  out:write(status == 200 and body or "status " .. status, "\n") -- luacheck: ignore 113
end
