--- planted.lua -- a command that only the tests' program contains, in this one file.  Some of its operands make it
-- fail.
local cli = require "cli.lib.cli"

local function deep() return 1 + deep() end

local fails = {
  index = function(nothing) return nothing.field end,
  argument = function() return ("x"):rep("y") end,
  object = function() error(setmetatable({}, { __tostring = function() return "an object" end })) end,
  number = function() error(7, 0) end,
  module = function() return require "cli.lib.missing" end,
  syntax = function() return require "cli.lib.broken" end,
  order = function()
    require "cli.planted".order = nil
    require "cli.lib.commands".all()
  end,
  depth = deep,
  exit = function() cli.fail("ended by %s", "cli.fail") end,
}

local function run(options, operands)
  if operands[1] then return fails[operands[1]]() end
  if options.json then cli.json(cli.object { { "planted", true } }) else cli.printf "it grows\n" end
end

return {
  order = 55,
  line = "a command that is one file",
  usage = "planted [WORD]\n       vesta planted sub",
  about = [[
Shows that one file is a command.

  $ vesta planted
  it grows
]],
  options = { { name = "json", kind = "switch", help = "print a JSON object" } },
  words = {
    { name = "sub", options = { { name = "depth", kind = "count", value = "N", help = "how deep" } },
      run = function(given)
        if given.depth == 0 then cli.usage "it is too shallow" end
        cli.printf("sub %d\n", given.depth or 1)
      end },
  },
  run = run,
}
