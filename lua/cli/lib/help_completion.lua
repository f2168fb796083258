--- help_completion.lua -- prints completions for bash, zsh and fish, from the options of all commands.
-- The help of an option is quoted for the shell.  Names and values are plain words and need no quotes.
local cli = require "cli.lib.cli"
local commands = require "cli.lib.commands"
local term = require "term"
local topics = require "cli.lib.help_topics"

local completion = {}

local function command_names()
  local names = {}
  for i, command in ipairs(commands.all()) do names[i] = command.name end
  return table.concat(names, " ")
end

local function words_of(subtopics)
  local words = {}
  for i, subtopic in ipairs(subtopics) do words[i] = subtopic.word end
  return table.concat(words, " ")
end

---------------------------------------------------------------- bash

-- COMP_WORDS splits --name=value into three words.
local BASH_HEAD = [=[
# vesta for bash; made by `vesta help --completion bash`.
_vesta_reply() {
    COMPREPLY=($(compgen -W "$1" -- "$current"))
    [ "$2" = 0 ] || { compopt -o filenames; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current"); }
}
_vesta() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} topic=${COMP_WORDS[1]}
    local options= operands= files=0 commands='%s'
    local words='%s'
    if [ "$current" = = ]; then
        current=
    elif [ "$before" = = ]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        _vesta_reply "$commands --help --version" 0
        return
    fi
    if [ "$COMP_CWORD" -gt 2 ]; then
        case " $words " in *" $topic:${COMP_WORDS[2]} "*) topic="$topic ${COMP_WORDS[2]}" ;; esac
    fi
    case $topic in
]=]
local BASH_END = [=[
    *) return ;;
    esac
    case $current in
    -*) _vesta_reply "$options" 0 ;;
    *) _vesta_reply "$operands" "$files" ;;
    esac
}
complete -F _vesta vesta
]=]

local function bash_options(topic)
  local names = {}
  for _, option in ipairs(topic.options) do
    table.insert(names, "--" .. option.name)
    if option.letter then table.insert(names, "-" .. option.letter) end
  end
  cli.printf("        options='%s'\n", table.concat(names, " "))
end

local function bash_operands(topic)
  local values = topics.operand_values(topic)
  cli.printf("        operands='%s", values.words)
  for _, subtopic in ipairs(topic.subtopics or {}) do cli.printf(" %s", subtopic.word) end
  if topic.name == "help" then cli.printf(" %s", command_names()) end
  cli.printf("'\n        files=%d\n", values.files and 1 or 0)
end

local function bash_option_values(topic)
  term.out "        case $before in\n"
  for _, option in ipairs(topic.options) do
    if option.kind ~= "switch" then
      local values = topics.option_values(option)
      cli.printf("        --%s%s) _vesta_reply '%s' %d; return ;;\n", option.name,
        option.letter and " | -" .. option.letter or "", values.words, values.files and 1 or 0)
    end
  end
  term.out "        esac\n"
end

function completion.bash()
  local all, words = topics.all(), {}
  for _, topic in ipairs(all) do
    if topic.word then table.insert(words, ("%s:%s "):format(topic.command.name, topic.word)) end
  end
  cli.printf(BASH_HEAD, command_names(), table.concat(words))
  for _, topic in ipairs(all) do
    cli.printf("    '%s')\n", topic.name)
    bash_options(topic)
    bash_operands(topic)
    bash_option_values(topic)
    term.out "        ;;\n"
  end
  term.out(BASH_END)
end

---------------------------------------------------------------- zsh: specs for _arguments

local ZSH_HEAD = [=[
#compdef vesta
# vesta for zsh; made by `vesta help --completion zsh`.
_vesta() {
    local topic=$words[2]
    local -a commands subcommands described
    commands=(%s)
    described=(%s)
    if (( CURRENT == 2 )); then
        _describe command described
        return
    fi
    case $topic in
]=]
local ZSH_MIDDLE = [=[
    esac
    shift words
    (( CURRENT-- ))
    if (( CURRENT > 2 )) && [[ -n $words[2] && $subcommands[(Ie)$words[2]] -gt 0 ]]; then
        topic="$topic $words[2]"
        shift words
        (( CURRENT-- ))
    fi
    case $topic in
]=]
local ZSH_END = [=[
    esac
}
if [ "$funcstack[1]" = _vesta ]; then _vesta "$@"; else compdef _vesta vesta; fi
]=]

-- Quotes a text for use within single quotes.  `special` is the set of characters that need a backslash in _arguments.
local function zsh_quoted(text, special)
  return (text:gsub(special, "\\%0"):gsub("'", "'\\''"))
end

local function zsh_values(values)
  if values.files and values.words ~= "" then return ("{ compadd %s; _files }"):format(values.words) end
  if values.files then return "_files" end
  return values.words ~= "" and ("(%s)"):format(values.words) or ""
end

local function zsh_option(option, flag)
  local has_value = option.kind ~= "switch"
  local equals = has_value and flag:find "^%-%-" and "=" or ""
  cli.printf(" \\\n            '%s%s[%s]", flag, equals, zsh_quoted(option.help, "[][\\:]"))
  if has_value then
    cli.printf(":%s:%s", zsh_quoted(option.value, "[\\:]"), zsh_values(topics.option_values(option)))
  end
  term.out "'"
end

local function zsh_operands(topic)
  local values = zsh_values(topics.operand_values(topic))
  if topic.name == "help" then
    term.out " \\\n            '1:command:($commands)'"
  elseif topic.subtopics and topic.subtopics[1] then
    term.out ' \\\n            "1:subcommand:($subcommands)"'
  elseif values ~= "" then
    cli.printf(" \\\n            '*:operand:%s'", values)
  end
end

local function zsh_topic(topic)
  cli.printf("        '%s')\n        _arguments", topic.name)
  for _, option in ipairs(topic.options) do
    zsh_option(option, "--" .. option.name)
    if option.letter then zsh_option(option, "-" .. option.letter) end
  end
  zsh_operands(topic)
  term.out " ;;\n"
end

function completion.zsh()
  local all, described = topics.all(), {}
  for i, command in ipairs(commands.all()) do
    described[i] = ("\n        '%s:%s'"):format(command.name, zsh_quoted(command.line, "[\\:]"))
  end
  cli.printf(ZSH_HEAD, command_names(), table.concat(described))
  for _, topic in ipairs(all) do
    if topic.subtopics then cli.printf("    %s) subcommands=(%s) ;;\n", topic.name, words_of(topic.subtopics)) end
  end
  term.out(ZSH_MIDDLE)
  for _, topic in ipairs(all) do zsh_topic(topic) end
  term.out(ZSH_END)
end

---------------------------------------------------------------- fish

-- __vesta_is COMMAND [SUBCOMMAND] tests whether the line begins with these words.
-- __vesta_has N tests whether the line has N words so far.
local FISH_HEAD = [=[
# vesta for fish; made by `vesta help --completion fish`.
function __vesta_is
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test "$argv" = "$words[2..$last]"
end
function __vesta_has
    test (count (commandline -opc)) = $argv[1]
end
complete -c vesta -f
]=]

local function fish_quoted(text) return (text:gsub("['\\]", "\\%0")) end

-- Prints the condition under which a topic's options apply: the line begins with the topic's words, and not with a
-- subcommand that has its own options.
local function print_fish_condition(topic)
  cli.printf("complete -c vesta -n '__vesta_is %s", topic.name)
  for _, subtopic in ipairs(topic.subtopics or {}) do
    if subtopic.has_own_options then cli.printf("; and not __vesta_is %s", subtopic.name) end
  end
  term.out "'"
end

local function fish_values(values)
  return (values.files and " -F" or " -f") .. (values.words ~= "" and (" -a '%s'"):format(values.words) or "")
end

local function fish_option(topic, option)
  print_fish_condition(topic)
  cli.printf(" -l %s", option.name)
  if option.letter then cli.printf(" -s %s", option.letter) end
  if option.kind ~= "switch" then cli.printf(" -r%s", fish_values(topics.option_values(option))) end
  cli.printf(" -d '%s'\n", fish_quoted(option.help))
end

local function fish_topic(topic)
  local command, values = topic.command, topics.operand_values(topic)
  if topic.word then
    cli.printf("complete -c vesta -n '__vesta_is %s; and __vesta_has 2' -a %s\n", command.name, topic.word)
  else
    cli.printf("complete -c vesta -n '__vesta_has 1' -a %s -d '%s'\n", command.name, fish_quoted(command.line))
  end
  if topic.has_own_options then
    for _, option in ipairs(topic.options) do fish_option(topic, option) end
  end
  if not values.files and values.words == "" then return end
  print_fish_condition(topic)
  cli.printf("%s\n", fish_values(values))
end

function completion.fish()
  term.out(FISH_HEAD)
  for _, topic in ipairs(topics.all()) do fish_topic(topic) end
  cli.printf("complete -c vesta -n '__vesta_is help; and __vesta_has 2' -a '%s'\n", command_names())
end

return completion
