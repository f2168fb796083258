--- help_topics.lua -- lists commands and subcommands with their options and known values, for manuals and completions.
--
-- A topic is a command or one of its subcommands:
--     command           see commands.lua
--     word              the subcommand's name, or nil
--     name              "store" or "store init"
--     operands          the part of the usage after the name
--     options           rows { name, letter, kind, value, help }
--     has_own_options   false for a subcommand with the options of its command
--     subtopics         the topics of a command's subcommands
local commands = require "cli.lib.commands"
local facts = require "facts"
local vesta = require "vesta"

local topics = {}

---------------------------------------------------------------- subcommands

-- Calls visit(word, operands) for each subcommand in the usage.  Subcommands are alternatives on one line, as in
-- "store init|show", or have a line each, as in "vesta segments add TAG".
local function each_word(command, visit)
  for line in command.usage:gmatch "[^\n]+" do
    local rest = line:gsub("^ *", ""):gsub("^vesta ", ""):sub(#command.name + 1):gsub("^ *", "")
    local words, operands = rest:match "^([^ ]*)(.*)$"
    for word in words:gmatch "[^|]+" do
      if not word:find "^%l" then break end
      visit(word, operands)
    end
  end
end

--- Returns the names of the command's subcommands, in the order of its usage.
function topics.words(command)
  local words = {}
  each_word(command, function(word) table.insert(words, word) end)
  return words
end

function topics.has_word(command, wanted)
  local found = false
  each_word(command, function(word) found = found or word == wanted end)
  return found
end

---------------------------------------------------------------- topics

local function names_of(options)
  local names = {}
  for i, option in ipairs(options) do names[i] = option.name end
  return table.concat(names, " ")
end

-- If the usage begins with subcommands, the rest of the line describes their operands.
local function command_operands(command)
  local operands = command.usage:sub(#command.name + 1):match "^ *([^\n]*)"
  return operands:find "^%l" and "" or operands
end

function topics.of(command)
  local topic = { command = command, name = command.name, operands = command_operands(command),
    options = commands.options(command), has_own_options = true, subtopics = {} }
  local names = names_of(topic.options)
  each_word(command, function(word, operands)
    local options = commands.options(command, word)
    table.insert(topic.subtopics, { command = command, word = word, name = command.name .. " " .. word,
      operands = operands, options = options, has_own_options = names_of(options) ~= names })
  end)
  return topic
end

--- Returns the topics of all commands and subcommands.  A command comes before its subcommands.
function topics.all()
  local all = {}
  for _, command in ipairs(commands.all()) do
    local topic = topics.of(command)
    table.insert(all, topic)
    table.move(topic.subtopics, 1, #topic.subtopics, #all + 1, all)
  end
  return all
end

---------------------------------------------------------------- values

-- Usage and help name values in capitals: PRESET for presets, "NAME|FILE" for policies and files, FILE for files.
local function values_named(text)
  local words = {}
  if text:find "PRESET" then
    for _, preset in ipairs(vesta.presets()) do table.insert(words, preset.name) end
  end
  if text:find("NAME|FILE", 1, true) then
    for _, name in ipairs(facts.policies()) do table.insert(words, name) end
  end
  return { words = table.concat(words, " "), files = text:find "FILE" ~= nil or text:find "FOLDER" ~= nil }
end

--- Returns the known values of an option: { words = "a b" or "", files = whether it takes file names }.
function topics.option_values(option)
  if option.kind == "choice" then return { words = option.value:gsub("|", " "), files = false } end
  return values_named((option.kind or "text") == "text" and option.value or "")
end

--- Returns the known values of a topic's operands, in the same form and without subcommands.
function topics.operand_values(topic) return values_named(topic.operands) end

return topics
