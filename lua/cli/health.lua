--- health.lua -- `vesta health`: asks a running server whether it is healthy.  Knows two routes.
local cli = require "cli.lib.cli"
local term = require "term"
local wire = require "wire"

local ADDRESS = "127.0.0.1:8088"
local REPLY_MAX = 8191 -- more of a reply is not shown

-- Reads until the server closes the connection, the reply is long enough, or the time is over.
local function read(connection, end_ms)
  local reply = ""
  while #reply < REPLY_MAX do
    local bytes, has_ended = connection:read(REPLY_MAX)
    reply = reply .. bytes
    local left_ms = end_ms - wire.clock_ms()
    if has_ended or left_ms <= 0 then break end
    wire.wait({ connection }, false, left_ms)
  end
  return reply:sub(1, REPLY_MAX):match "^[^\0]*"
end

-- A foreign server may send anything.
local function print_reply(address, path, reply)
  local status = reply:match "^HTTP/1%.1 ([^\r\n]*)"
  if not status then
    cli.fail("%s does not speak HTTP: it says %s", address, term.shown(reply:match "^[^\r\n]*"))
  end
  local body = reply:match "\r\n\r\n(.*)$"
  if body then term.out(term.clean(body:gsub("\n$", "")) .. "\n") end
  if not status:find "^200 " then cli.fail("%s answers %s on %s", address, term.shown(status), path) end
end

local function run(options, operands)
  if operands[2] then cli.usage("one address at most, not %s as well", term.shown(operands[2])) end
  local address, path = operands[1] or ADDRESS, options.ready and "/readyz" or "/healthz"
  local wait_ms = options["wait-ms"] or 1000
  cli.check(wire.check(address))
  local end_ms = wire.clock_ms() + wait_ms
  local connection, trouble = wire.ask(address,
    ("GET %s HTTP/1.1\r\nHost: health\r\nConnection: close\r\n\r\n"):format(path), wait_ms)
  if not connection then cli.fail("%s", trouble) end
  local reply = read(connection, end_ms)
  if reply == "" then
    cli.fail("%s did not answer within %d ms: if vesta serve listens there, it hangs", address, wait_ms)
  end
  print_reply(address, path, reply)
end

return {
  order = 130,
  line = "ask a running server whether it is well, or ready",
  usage = "health [ADDRESS] [--ready]",
  about = ([[
Asks a server over HTTP whether it is well, prints what it says, and ends with 0 if it is, otherwise with 1:
the health check of a container that has no curl.  ADDRESS is HOST:PORT or unix:PATH (default: %s).

  $ vesta health
  ok
  $ vesta health --ready unix:/run/vesta/http.sock
  {"status":"ready","warnings":[]}
]]):format(ADDRESS),
  options = {
    { name = "ready", kind = "switch",
      help = "asks whether every namespace gives ids (/readyz), not only whether it turns (/healthz)" },
    { name = "wait-ms", kind = "count", value = "N", min = 1, max = 60000,
      help = "how long to wait for its answer (default: 1000)" },
  },
  run = run,
}
