--- check.lua -- `vesta check`: validates a config and prints a summary or the first error, or lists all keys.
local cli = require "cli.lib.cli"
local config = require "config"
local effective = require "config.effective"
local facts = require "facts"
local keys = require "config.keys"
local schema = require "config.schema"
local server = require "cli.lib.server"
local term = require "term"

local LAYOUT_DEFAULT = "vesta-second"

---------------------------------------------------------------- --keys

local function print_keys(is_json)
  for _, row in ipairs(schema.rows) do
    local path = keys.path(row, row.part and (row.part.check and "NAME" or "I"))
    local expected, without = keys.expected(row), row.default or row.without
    if is_json then
      local members = { { "key", path }, { "value", expected }, { row.default and "default" or "absent", without } }
      if row.env then table.insert(members, { "variable", row.env }) end
      table.insert(members, { "help", row.help })
      cli.json(cli.object(members))
    else
      cli.printf("%s\n    %s\n    %s (default: %s)\n", path, row.help, expected, without)
      if row.env then cli.printf("    in the environment: %s\n", row.env) end
    end
  end
end

---------------------------------------------------------------- the summary

local function print_row(title, text) cli.printf("  %-14s  %s\n", title, text) end

-- Returns a policy's name without the table of options that follows.
local function policy_name(text) return text and text:gsub(' {%[".*$', "") end

local function mask_text(digits, check)
  if not digits then return "" end
  return (", masked: %s digits%s"):format(digits, check and check ~= "" and check ~= "none" and " and " .. check or "")
end

local function namespace_text(name, namespace)
  local text = name .. ": " .. (namespace.layout or LAYOUT_DEFAULT)
  local layout = facts.layout(namespace.layout or LAYOUT_DEFAULT)
  text = ("%s, %s ids/s until %s"):format(text, term.grouped(layout.per_second), term.iso(layout.end_ms):match "^[^-]+")
  if namespace.leased_as then text = text .. ", leased as " .. namespace.leased_as end
  if namespace.worker then text = text .. ", worker " .. namespace.worker end
  if namespace.store then text = text .. ", store " .. config.public(namespace.store) end
  text = text .. mask_text(namespace["mask.digits"], namespace["mask.check"])
  if namespace["mask.uuid_secret_file"] then text = text .. ", UUIDs masked" end
  if namespace.policy then text = text .. ", policy " .. policy_name(namespace.policy) end
  if namespace.shadow_policy then text = text .. ", in shadow " .. policy_name(namespace.shadow_policy) end
  return text
end

local function segment_text(said, place)
  local function value(key) return effective.value(said, "segments.#." .. key, place) or "" end
  local digits = value "mask.digits"
  return ("%s: %s of %s%s%s"):format(value "tags", value "table", value "store", value "stores",
    mask_text(digits ~= "" and digits, value "mask.check"))
end

local function print_summary(said, notes, shown)
  cli.printf("%s: ok\n", shown)
  for i, name in ipairs(said.namespaces.names) do
    print_row(i == 1 and "namespaces" or "", namespace_text(name, said.namespaces.at[name]))
  end
  for i, place in ipairs(said.segments.names) do
    print_row(i == 1 and "segments" or "", segment_text(said, place))
  end
  for _, protocol in ipairs { { "HTTP", "http" }, { "Redis protocol", "resp" }, { "admin", "admin" } } do
    print_row(protocol[1], effective.value(said, protocol[2] .. ".listen") or "off")
  end
  for _, note in ipairs(notes) do print_row("note", note) end
end

local function print_summary_json(said, notes)
  local list = {}
  for i, note in ipairs(notes) do list[i] = cli.object { { "text", note } } end
  cli.json(cli.object { { "ok", true }, { "namespaces", said.namespaces.names }, { "notes", list } })
end

local function print_wrong(text, code, is_json)
  if not is_json then cli.fail("%s", text) end
  cli.json(cli.object { { "ok", false }, { "error", text }, { "code", code } })
  return 1
end

---------------------------------------------------------------- the command

local function path_of(options, operands)
  local stray = operands[options.config and 1 or 2]
  if stray then cli.usage("unexpected operand %s: vesta check takes one config", term.shown(stray)) end
  local path, variable = operands[1] or options.config, os.getenv "VESTA_CONFIG"
  if not path and variable ~= "" then path = variable end
  if not path then cli.usage "the config is missing: vesta check FILE" end
  return path
end

-- Checks that the server's user can read the server's files.  Returns an error or nil.  A server that starts as root
-- reads its files before it switches to that user, so for such a server an unreadable file is only a note.
local function check_files(path, notes)
  local list, user = server.unreadable(server.of_config(path))
  for _, file in ipairs(list) do
    local text = ("%s: %s: %s"):format(file.what, file.text, file.todo)
    if not user.drops then return text end
    notes[#notes + 1] = text
  end
end

local function run(options, operands)
  if options.keys then
    if operands[1] or options.config or options.effective then cli.usage "--keys can be combined only with --json" end
    return print_keys(options.json)
  end
  local path = path_of(options, operands)
  if options.effective then
    local code, text, name = config.show(path, options.json)
    if not code then return print_wrong(text, name, options.json) end
    return code
  end
  local packed, notes, shown, expires_ms = config.read(path)
  if not packed then return print_wrong(notes, shown, options.json) end
  local unreadable = check_files(path, notes)
  if unreadable then return print_wrong(unreadable, "io", options.json) end
  if expires_ms > 0 and expires_ms <= term.now_ms() then
    notes[#notes + 1] = ("tls.certificate expired at %s: replace it"):format(term.iso(expires_ms))
  end
  local said = effective.open(packed)
  if options.json then return print_summary_json(said, notes) end
  return print_summary(said, notes, shown)
end

return {
  order = 110,
  line = "validate a config file, and report the first error",
  usage = "check [OPTION...] [-c] FILE",
  about = [[
Reads a config file as `vesta serve -c` does.  A config is a Lua file that returns a table.  The command
prints a summary, or the first error with its file, line and key, and the value that was expected.  It opens
no store and claims no worker id, but it reads the TLS files.  The exit code is 1 if a server would reject
the config.  More: docs/config.md.

  $ vesta check /etc/vesta/vesta.lua
  /etc/vesta/vesta.lua: ok
    namespaces      orders: vesta-milli, 1,024,000 ids/s until 2049, worker 7
  ...

  $ vesta check /etc/vesta/vesta.lua
  vesta check: /etc/vesta/vesta.lua:4: namespaces.orders.wait_ms is not a
  key, did you mean wait_ms_max?
]],
  options = {
    { name = "config", letter = "c", value = "FILE",
      help = "the config file, like the operand FILE (default: $VESTA_CONFIG)" },
    { name = "effective", kind = "switch", help = "only print the effective values and their sources" },
    { name = "keys", kind = "switch", help = "list every key with its type, default and variable" },
    { name = "json", kind = "switch", help = "print JSON objects" },
  },
  run = run,
}
