--- reload.lua -- `vesta reload`: asks a running server to reload, and waits for the result.
local admin = require "cli.lib.admin"
local cli = require "cli.lib.cli"
local feed = require "cli.lib.feed"
local json = require "cli.lib.json"
local secure = require "cli.lib.secure"
local term = require "term"
local wire = require "wire"

local WAIT_MS = 10000
local LOOK_MS = 100 -- interval of the requests for the result
local RESULT_MAX = 511
local UNREPORTED = "reload requested: this server has no policies, so only its log reports the result"

-- Sends a request, and returns the body of the response.  Ends the command after an error.
local function ask(server, request)
  local question = feed.question()
  question:ask(server, request)
  while not question:read() do
    if not wire.wait({ question:connection() }, false, 200) then cli.exit(1) end
  end
  if question.status == 404 then admin.fail(server, "this is not the admin listener of a vesta server") end
  if question.trouble ~= "" then admin.fail(server, question.trouble) end
  return question.body
end

-- Returns `policies` from the server's status, or nil if the server has no policies.
local function policies_of(server)
  local policies = json.get(json.read(ask(server, "GET /admin/status")), "policies")
  if policies and not json.get(policies, "reloads") then
    admin.fail(server,
      "the server is older than this program and does not report the result: send it HUP, and read its log")
  end
  return policies
end

-- Waits until the server's count of reloads is no longer `reloads`.  Returns `policies` from the status after that.
local function wait_for_result(server, reloads, wait_ms)
  local until_ms = wire.clock_ms() + wait_ms
  repeat
    local policies = policies_of(server)
    if json.number(json.get(policies, "reloads")) ~= reloads then return policies end
    if not wire.wait({}, false, LOOK_MS) then cli.exit(1) end
  until wire.clock_ms() >= until_ms
  admin.fail(server, ("the reload did not end within %d ms: read the server's log, or set --wait-ms"):format(wait_ms))
end

-- Prints the result of the reload.  Returns the exit code.
local function print_result(policies, is_json)
  local is_applied = json.get(policies, "reload_ok") == true
  local result = term.clean(json.text(json.get(policies, "reload_result"), RESULT_MAX))
  if is_json then
    cli.json(cli.object { { "applied", is_applied }, { "result", result },
      { "generation", json.number(json.get(policies, "generation")) } })
  elseif is_applied then
    cli.printf("%s\n", result)
  else
    term.say("the reload was rejected, and the old policies stay in use: " .. result)
  end
  return is_applied and 0 or 1
end

-- Returns the server, or nil and an exit code.  The code is 1 for an error in the config, because a server would reject
-- the config too.
local function find_server(options, operands)
  if options.config and options.admin then cli.check(wire.check(options.admin)) end
  local server, code = admin.find(options, operands)
  if server or options.effective then return server, code end
  local variable = os.getenv "VESTA_CONFIG"
  local has_config = options.config or not options.admin and variable and variable ~= ""
  return nil, has_config and 1 or code
end

local function run(options, operands)
  local server, code = find_server(options, operands)
  if not server then return code end
  wire.catch_signals()
  local before = policies_of(server)
  ask(server, "POST /admin/reload")
  if before then
    local reloads = json.number(json.get(before, "reloads"))
    return print_result(wait_for_result(server, reloads, options["wait-ms"] or WAIT_MS), options.json)
  end
  if options.json then
    cli.json(cli.object { { "applied", cli.null }, { "result", UNREPORTED }, { "generation", 0 } })
  else
    cli.printf("%s\n", UNREPORTED)
  end
end

return {
  order = 155,
  line = "make a running server reload its config, and print the result",
  usage = "reload [--admin ADDR | -c FILE] [OPTION...]",
  about = [[
Tells a server, through its admin listener, to reload its config, policies, clients, certificates and tag
tables, as HUP does.  It waits for the result, and prints in one line what changed, or why the server
rejected the reload.  After a rejected reload, the server keeps the old policies.

The exit code is 0 if the server applied the reload, 1 if the server rejected it or sent no result, and 2
for wrong options.  More: docs/policies.md.

  $ vesta reload -c /etc/vesta/vesta.lua
  reloaded: no policy has changed since
  $ vesta reload --admin unix:/run/vesta/admin.sock --json
  {"applied":true,"result":"reloaded: ...","generation":3}
]],
  options = cli.rows {
    admin.OPTIONS,
    { name = "wait-ms", kind = "count", value = "N", min = 1, max = 600000,
      help = ("how long to wait for the result, in milliseconds (default: %d)"):format(WAIT_MS) },
    { name = "json", kind = "switch", help = "print the result as a JSON object" },
    secure.OPTIONS,
    admin.EFFECTIVE,
  },
  run = run,
}
