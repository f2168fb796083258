--- commands.lua -- finds the commands of the program: the files of lua/cli, and the commands in csrc/main.
--
-- A command is a table:
--     name                 set by this module: the name of the command's file
--     order                the position in the overview, ascending
--     line                 the purpose, for the overview and the first line of the help
--     usage, about         the rest of the help
--     options              a list of rows; see term.options in csrc/modules/term.c
--     run(options, operands, words)   returns an exit code, or nil for success.  words: the command line
--     words                optional: a list of subcommands, each with name, options and run
-- A command in C has neither options nor run: `native` reads its options and runs it.
local files = require "files"
local native = require "native"
local term = require "term"

local commands = {}

-- Every command has this option.
local HELP = { name = "help", letter = "h", kind = "switch", help = "print this text" }

local function load(name)
  local command = require("cli." .. name)
  for _, member in ipairs { "order", "line", "usage", "about", "options", "run" } do
    if not command[member] then
      error(("lua/cli/%s.lua: the table that it returns has no %s"):format(name, member), 0)
    end
  end
  command.name = name
  return command
end

--- Returns the command of this name, or nil.
function commands.find(name)
  for _, file in ipairs(files) do
    if file == name then return load(name) end
  end
  for _, command in ipairs(native.list()) do
    if command.name == name then return command end
  end
end

--- Returns all commands in the order of the overview.
function commands.all()
  local all = native.list()
  for _, name in ipairs(files) do table.insert(all, load(name)) end
  table.sort(all, function(a, b) return a.order < b.order end)
  return all
end

--- Reports that no command has this name.  Returns the exit code.
function commands.unknown(name)
  local names = {}
  for i, command in ipairs(commands.all()) do names[i] = command.name end
  local near = term.nearest(name, names)
  local hint = near and (", did you mean %s?"):format(near) or ""
  return term.usage(("there is no command %s%s"):format(term.shown(name), hint))
end

--- Returns the subcommand of this name, or nil.
function commands.word(command, name)
  for _, word in ipairs(command.words or {}) do
    if word.name == name then return word end
  end
end

-- Returns the options except --help.
local function own_options(command, word)
  local part = word and commands.word(command, word) or command
  return command.run and (part.options or {}) or native.options(command.name)
end

--- Returns the option rows of a command, or of its subcommand if `word` is a name.
function commands.options(command, word)
  local own = own_options(command, word)
  local rows = table.move(own, 1, #own, 1, {})
  table.insert(rows, HELP)
  return rows
end

---------------------------------------------------------------- help

-- Wraps paragraphs, and prints indented lines unchanged.
local function print_about(text)
  local paragraph = {}
  local function flush()
    if paragraph[1] then term.wrapped(table.concat(paragraph, "\n"), 0, 0) end
    paragraph = {}
  end
  for line in text:gmatch "([^\n]*)\n" do
    if line == "" or line:find "^ " then
      flush()
      term.out(line .. "\n")
    else
      table.insert(paragraph, line)
    end
  end
  flush()
end

local function print_option(option)
  local left = (option.letter and ("-%s, --%s"):format(option.letter, option.name) or "--" .. option.name)
    .. (option.value and " " .. option.value or "")
  if #left > 24 then
    term.out("  " .. left .. "\n")
    left = ""
  end
  term.out(("  %-24s  "):format(left))
  term.wrapped(option.help, 28, 28)
end

--- Prints the help of a command that has these options besides --help.
function commands.print_help(command, options)
  term.out(("vesta %s -- %s\n\nUsage: vesta %s\n\n"):format(command.name, command.line, command.usage))
  print_about(command.about)
  term.out "\nOptions:\n"
  for _, option in ipairs(options) do print_option(option) end
  print_option(HELP)
end

--- Prints the help of a command, or of its subcommand if `word` is a name.
function commands.help(command, word)
  commands.print_help(command, own_options(command, word))
end

return commands
