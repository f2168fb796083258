--- range_release.lua -- `vesta range release`: returns the ids of a past range that were not used.
local cli = require "cli.lib.cli"
local past = require "past"
local stores = require "cli.lib.stores"
local term = require "term"

local function run(options, operands)
  if not operands[1] then cli.usage "give the lease, as vesta range lease printed it" end
  if operands[2] then cli.usage("unexpected operand %s: give one lease", term.shown(operands[2])) end
  if (options.last ~= nil) == (options.unused ~= nil) then
    cli.usage "give --last ID, the largest id that was made of the range, or --unused if none was made"
  end
  local place = stores.find(options, true, true)
  if not place.uri then stores.no_store() end
  local done, text, code = past.release { uri = place.uri, namespace = place.name, secret = place.secret,
    lease = operands[1], last = options.last }
  if done then return end
  term.say(("nothing was returned: %s"):format(text))
  return (code == "bad_option" or code == "bad_id") and 2 or 1
end

return {
  name = "release",
  options = cli.rows {
    { name = "last", value = "ID", help = "the largest id that was made of the range, in decimal digits" },
    { name = "unused", kind = "switch", help = "no id was made of the range" },
    stores.OPTIONS,
    { name = "json", kind = "switch", help = "with --effective: print JSON" },
  },
  run = run,
}
