--- run.lua -- runs a command: finds its file and its subcommand, and reads its options.
-- csrc/modules/host.c calls the function with the words of the command line.  words[0] is the command's name.
local commands = require "cli.lib.commands"
local term = require "term"

return function(words)
  local command = commands.find(words[0])
  if not command then return commands.unknown(words[0]) end
  local word = commands.word(command, words[1])
  if word then words = table.move(words, 2, #words, 1, { [0] = words[0] }) end
  term.say_as(command.name .. (word and " " .. word.name or ""))
  local part = word or command
  local code, options, operands = term.options(part.options or {}, words)
  if code == "help" then return commands.help(command, word and word.name) end
  return code or part.run(options, operands, words)
end
