--- help_manual.lua -- prints manual pages in roff's man macros, from the texts and options that --help prints.
local cli = require "cli.lib.cli"
local commands = require "cli.lib.commands"
local core = require "vesta.core"
local term = require "term"
local topics = require "cli.lib.help_topics"

local manual = {}

---------------------------------------------------------------- text in roff

-- roff prints typographic characters instead of these, unless they are escaped.
local TYPED = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti",
  ['"'] = "\\(dq" }

-- `\&` protects a leading dot or apostrophe, which would start a macro.
local function typed(text)
  return (text:find "^%." and "\\&" or "") .. text:gsub("[-\\'`^~\"]", TYPED)
end

-- Escapes prose.  `...` becomes bold, and the hyphens of --option are printed as typed.
local function prose(text)
  local bold = false
  local marked = text:gsub("()([-\\`])", function(at, char)
    if char == "`" then
      bold = not bold
      return bold and "\\fB" or "\\fR"
    end
    local before = text:sub(at - 1, at - 1)
    if char == "\\" or bold or at == 1 or before == " " or before == "-" then return TYPED[char] end
  end)
  return (text:find "^[.']" and "\\&" or "") .. marked .. (bold and "\\fR" or "")
end

local function print_example(block)
  term.out ".nf\n.RS 2\n"
  for line in block:gmatch "[^\n]+" do cli.printf("%s\n", typed(line:gsub("^  ?", ""))) end
  term.out ".RE\n.fi\n"
end

local function print_paragraph(block)
  for line in block:gmatch "[^\n]+" do cli.printf("%s\n", prose(line)) end
end

-- Splits a text into two lists of blocks: description and examples.  Examples begin at the first block with a prompt.
local function split(text)
  local about, examples = {}, {}
  for block in text:gsub("\n\n+", "\0"):gmatch "[^\0]+" do
    local is_example = examples[1] or block:find "^  %$ "
    table.insert(is_example and examples or about, block)
  end
  return about, examples
end

-- Prints paragraphs, and indented blocks verbatim.
local function print_blocks(title, blocks)
  if blocks[1] then cli.printf(".SH %s\n", title) end
  for i, block in ipairs(blocks) do
    if i > 1 then term.out ".PP\n" end
    local print = block:find "^  " and print_example or print_paragraph
    print(block)
  end
end

---------------------------------------------------------------- the page of a command

local function print_title(name, line)
  cli.printf('.\\" Made by `vesta help --man`.\n.TH "%s" 1 "" "vesta %s" "vesta"\n', name:upper(), core.VERSION)
  cli.printf(".SH NAME\n%s \\- %s\n", typed(name), prose(line))
end

local function print_usage(usage)
  term.out ".SH SYNOPSIS\n.nf\n"
  for line in usage:gmatch "[^\n]+" do
    local name, rest = line:gsub("^ *", ""):gsub("^vesta ", ""):match "^([^ ]*)(.*)$"
    cli.printf("\\fBvesta %s\\fR%s\n", name, typed(rest))
  end
  term.out ".fi\n"
end

local function print_option(option)
  term.out ".TP\n"
  if option.letter then cli.printf("\\fB\\-%s\\fR, ", option.letter) end
  cli.printf("\\fB\\-\\-%s\\fR", typed(option.name))
  if option.value then cli.printf(" \\fI%s\\fR", typed(option.value)) end
  cli.printf("\n%s\n", prose(option.help))
end

local function print_options(topic)
  term.out ".SH OPTIONS\n"
  for _, option in ipairs(topic.options) do print_option(option) end
  for _, subtopic in ipairs(topic.subtopics) do
    if subtopic.has_own_options then
      cli.printf(".SS vesta %s\n", subtopic.name)
      for _, option in ipairs(subtopic.options) do print_option(option) end
    end
  end
end

--- Prints the page of a command.
function manual.print_command(command)
  print_title("vesta-" .. command.name, command.line)
  print_usage(command.usage)
  local about, examples = split(command.about)
  print_blocks("DESCRIPTION", about)
  print_options(topics.of(command))
  term.out ".SH EXIT STATUS\n0 success, 1 failure, 2 usage error.\n"
  print_blocks("EXAMPLES", examples)
  term.out ".SH SEE ALSO\n.BR vesta (1)\n"
end

---------------------------------------------------------------- the page of the program

local PROGRAM_HEAD = [[
.SH SYNOPSIS
.nf
\fBvesta\fR \fICOMMAND\fR ...
\fBvesta help\fR [\fICOMMAND\fR]
\fBvesta \-\-version\fR
.fi
.SH DESCRIPTION
Each command has its own page.  `vesta help` also prints it.
.SH COMMANDS
]]

local PROGRAM_END = [[
.SH EXIT STATUS
0 success, 1 failure (or a duplicate was found), 2 usage error.
.SH ENVIRONMENT
.TP
.B VESTA_STATE
]] .. "the folder for generator files and for the leases of processes without a store (default: /var/lib/vesta, or "
  .. "~/.local/state/vesta if that is not writable)\n" .. [[
.PP
Most keys of a config can also be set by a variable: \fBvesta check \-\-keys\fR lists them.
.SH FILES
.TP
.I /etc/vesta/vesta.lua
the config of the service, see vesta\-check(1)
.TP
.I /var/lib/vesta
the state of the service
]]

--- Prints the page vesta(1).
function manual.print_program()
  print_title("vesta", "64-bit ids that never repeat, sort by time and can be read back")
  term.out(PROGRAM_HEAD)
  for _, command in ipairs(commands.all()) do
    cli.printf(".TP\n.BR vesta\\-%s (1)\n%s\n", command.name, prose(command.line))
  end
  term.out(PROGRAM_END)
end

return manual
