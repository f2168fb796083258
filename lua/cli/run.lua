--- run.lua -- runs a command: finds its subcommand, reads its options, turns an exit into a code.
-- Called by host.c with the words of the command line; words[0] is the command's name.
local cli = require "cli.cli"
local term = require "term"

-- The part of the command that runs, and its words: a subcommand stands first and has options of its own.
local function part_of(command, words)
  local sub = command.words and command.words[words[1]]
  if not sub then return command, words end
  return sub, table.move(words, 2, #words, 1, { [0] = words[0] })
end

return function(words)
  local part, rest = part_of(require("cli." .. words[0]), words)
  local code, options, operands = term.options(part.options or {}, rest)
  if code then return code end
  local ok, result = xpcall(part.run, function(problem)
    if cli.is_exit(problem) then return problem end
    return debug.traceback(tostring(problem), 2)
  end, options, operands)
  if ok then return result or 0 end
  if cli.is_exit(result) then return result.code end
  error(result, 0)
end
