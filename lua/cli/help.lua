--- help.lua -- `vesta help`: prints the overview, the help of a command, manual pages and completions.
local cli = require "cli.lib.cli"
local commands = require "cli.lib.commands"
local completion = require "cli.lib.help_completion"
local core = require "vesta.core"
local manual = require "cli.lib.help_manual"
local term = require "term"
local topics = require "cli.lib.help_topics"

local function print_overview()
  cli.printf("vesta %s -- 64-bit ids that never repeat, sort by time and can be read back\n\n", core.VERSION)
  term.out "Usage: vesta COMMAND ...\n\n"
  for _, command in ipairs(commands.all()) do cli.printf("  %-8s  %s\n", command.name, command.line) end
  term.out "\n`vesta help COMMAND` explains a command.  `vesta --version` prints the version.\n"
  term.out "Exit codes: 0 success, 1 failure (or a duplicate was found), 2 usage error.\n"
end

local function print_help(name, word, more)
  local command = commands.find(name)
  if not command then return commands.unknown(name) end
  if word and (more or not topics.has_word(command, word)) then
    local words = topics.words(command)
    if words[1] and not more then cli.no_word(word, words) end
    cli.usage("unexpected operand %s: help takes one command", term.shown(word))
  end
  commands.help(command, word)
end

local function print_manual(name, more)
  if more then cli.usage("unexpected operand %s: --man takes one command", term.shown(more)) end
  if not name then return manual.print_program() end
  local command = commands.find(name)
  if not command then return commands.unknown(name) end
  manual.print_command(command)
end

local function print_completion(shell, operand)
  if operand then
    cli.usage("unexpected operand %s: --completion prints the completion of all commands", term.shown(operand))
  end
  completion[shell]()
end

local function run(options, operands)
  if options.man and options.completion then cli.usage "--man and --completion cannot be combined" end
  if options.man then return print_manual(operands[1], operands[2]) end
  if options.completion then return print_completion(options.completion, operands[1]) end
  if not operands[1] then return print_overview() end
  return print_help(operands[1], operands[2], operands[3])
end

return {
  order = 210,
  line = "explain a command, or print manual pages and completions",
  usage = "help [COMMAND [SUBCOMMAND]]\n       vesta help --man [COMMAND]\n"
    .. "       vesta help --completion bash|zsh|fish",
  about = [[
Lists the commands, or explains one of them, like `vesta COMMAND --help`.

If vesta is installed, `man vesta-COMMAND` shows the same text, and your shell completes commands and
options.  If it is not installed, print a page with --man, or write the output of --completion to the file
that your shell reads.  More: docs/cli.md.

  $ vesta help --man gen | man -l -

  $ vesta help --completion bash \
    > ~/.local/share/bash-completion/completions/vesta
]],
  options = {
    { name = "man", kind = "switch", help = "print the manual page, for man -l" },
    { name = "completion", kind = "choice", value = "bash|zsh|fish",
      help = "print the completions for this shell" },
  },
  run = run,
}
