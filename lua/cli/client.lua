--- client.lua -- `vesta client`: adds, changes, lists and removes the clients in a clients file.
-- A new token is printed once.  The file stores only its SHA-256.
local cli = require "cli.lib.cli"
local clients = require "clients"
local kernel = require "kernel"
local server = require "cli.lib.server"
local tables = require "cli.lib.tables"
local term = require "term"
local where = require "where"

local FILE = "/etc/vesta/clients"
local NAME_MAX = 63
local RIGHTS = { "names", "calls", "n", "rate", "requests", "leases", "weight" }
local HUP = "send HUP to a running server"

---------------------------------------------------------------- the file

-- Returns the path of the clients file.  It comes from --file, from the config in --config or VESTA_CONFIG, or is the
-- default.  With --effective, the function prints the path and ends the command.
local function find_file(options)
  if options.file and options.config then cli.usage "--config names the clients file: leave out --file" end
  local path, config
  if not options.file then
    path, config = where.clients(options)
    if path == false then cli.exit(config) end
    if config and not path then
      cli.usage("%s has no clients: add clients = FILE to it, or name the file with --file", term.shown(config))
    end
  end
  local file = options.file or path or FILE
  if options.effective then
    local code = config and where.print(options, {}) or 0
    where.show({ key = "clients", value = file, by = config and "the config" or nil,
      origin = options.file and "flag" or config and "file" or "default" }, options.json)
    cli.exit(code)
  end
  return file
end

---------------------------------------------------------------- changing

-- Returns an account as a line of the clients file.  A limit that is "off" is omitted.
local function line_of(account)
  local words = { account.name }
  for _, key in ipairs(RIGHTS) do
    local value = account[key]
    if value and value ~= "off" then table.insert(words, key .. "=" .. value) end
  end
  for _, secret in ipairs(account.secrets) do table.insert(words, "secret=" .. secret.entry) end
  if account.by_certificate then table.insert(words, "secret=none") end
  return table.concat(words, " ")
end

local function take_rights(account, options)
  for _, key in ipairs(RIGHTS) do
    local value = options[key]
    if value and value:find "%s" then cli.usage("--%s is %s, which may not contain spaces", key, term.shown(value)) end
    account[key] = value or account[key]
  end
end

-- Adds a new token.  The previous newest token also stays valid, and older tokens do not.
local function take_token(account, entry)
  account.secrets = { { entry = entry }, account.secrets[1] }
  account.by_certificate, account.has_chosen = false, false
end

-- Replaces the account's line by the result of edit(account).
local function change(options, name, edit)
  local file = options.file
  local is_new = not kernel.real(file)
  local done, trouble, code = clients.change(file, name, edit)
  if done then
    local text, todo = server.let_unit_read(file, is_new)
    if text then term.say(("%s: %s"):format(text, todo)) end
    return
  end
  term.say(trouble)
  cli.exit(code == "bad_option" and 2 or 1)
end

-- Changes an existing account.  edit(account) returns nil, or an error message.
local function change_existing(options, name, edit)
  change(options, name, function(account)
    if not account then return nil, ("there is no client '%s'"):format(name) end
    local trouble = edit(account)
    if trouble then return nil, trouble end
    if account.has_chosen then -- never write the hash of a chosen secret again
      return nil, ("client '%s' has a secret that a person chose, and such secrets are no longer accepted: replace it "
        .. "first by `vesta client rotate %s`"):format(name, name)
    end
    return line_of(account)
  end)
end

local function read_name(operands, word)
  local name = operands[1]
  if not name or operands[2] then cli.usage("give one name: vesta client %s NAME", word) end
  if #name <= NAME_MAX and name:find "^[%w_-][%w_.-]*$" then return name end
  cli.usage("%s is not a client name: use 1 to %d of A-Z a-z 0-9 _ . - and no dot in front", term.shown(name), NAME_MAX)
end

local function draw()
  local token, entry, code = clients.draw()
  return cli.check(token, entry, code), entry
end

-- Prints only the token on stdout, so that a script can store it.
local function report(what, token)
  if not token then return term.say(("%s: %s"):format(what, HUP)) end
  term.out(token .. "\n")
  term.say(("%s, and printed the token, which is not shown again: %s"):format(what, HUP))
end

---------------------------------------------------------------- subcommands

local function add(options, operands)
  local name, by_certificate = read_name(operands, "add"), options.certificate
  local is_default = name == "default"
  if is_default and by_certificate then
    cli.usage "`default` is for clients without credentials: leave out --certificate"
  end
  local account = { name = name, names = "*", calls = "give,read", secrets = {}, by_certificate = by_certificate }
  take_rights(account, options)
  local token, entry
  if not is_default and not by_certificate then
    token, entry = draw()
    take_token(account, entry)
  end
  change(options, name, function(existing)
    if not existing then return line_of(account) end
    return nil, ("client '%s' exists already: `vesta client rotate` creates another token for it, and `set` changes "
      .. "its rights"):format(name)
  end)
  report(token and "added" or by_certificate and "added, to authenticate with a client certificate only"
    or "added, for clients without credentials", token)
end

local function set(options, operands)
  local name, is_set = read_name(operands, "set"), false
  for _, key in ipairs(RIGHTS) do is_set = is_set or options[key] ~= nil end
  if not is_set then cli.usage "nothing to set: --names, --calls, --n, --rate, --requests, --leases or --weight" end
  change_existing(options, name, function(account) take_rights(account, options) end)
  report "set"
end

local function drop_older(options, name)
  change_existing(options, name, function(account)
    local count = #account.secrets
    local has = count == 1 and "one token" or "no token"
    if count < 2 then return ("client '%s' has %s, so there is no older one to drop"):format(name, has) end
    account.secrets[2] = nil
  end)
  report "the older token is no longer valid"
end

local function rotate(options, operands)
  local name = read_name(operands, "rotate")
  if options["drop-old"] then return drop_older(options, name) end
  local token, entry = draw()
  change_existing(options, name, function(account) take_token(account, entry) end)
  report("added a new token, kept the previous one valid", token)
end

local function remove(options, operands)
  local name = read_name(operands, "remove")
  change(options, name, function(account)
    if not account then return nil, ("there is no client '%s'"):format(name) end
    return ""
  end)
  report "removed"
end

---------------------------------------------------------------- list

local COLUMNS = { { "CLIENT", -16, -12 }, { "NAMES", -24, -12 }, { "CALLS", -24, -12 }, { "LIMITS", -30, -22 },
  { "SECRETS", -30, -14 } }

-- Returns the limits as the file writes them: "n=100 rate=50".
local function limits_of(account)
  local words = {}
  for _, key in ipairs { "n", "rate", "requests", "leases", "weight" } do
    if account[key] then table.insert(words, key .. "=" .. account[key]) end
  end
  return words[1] and table.concat(words, " ") or "-"
end

local function secrets_of(account)
  if account.has_chosen then return "chosen: rejected, rotate it" end
  local ages = {}
  for i, secret in ipairs(account.secrets) do ages[i] = term.ago(secret.made_ms, term.now_ms()) end
  return ages[1] and table.concat(ages, ", ") or account.by_certificate and "certificate only" or "none"
end

local function row_of(account)
  return { account.name, account.names, account.calls, limits_of(account), secrets_of(account) }
end

local function print_json(account)
  local object = { { "client", account.name }, { "names", account.names }, { "calls", account.calls } }
  for _, key in ipairs { "n", "rate", "requests", "leases" } do
    if account[key] then table.insert(object, { key, cli.raw("%s", account[key]) }) end
  end
  table.insert(object, { "weight", cli.raw("%s", account.weight or "1") })
  if account.by_certificate then table.insert(object, { "certificate", true }) end
  if account.has_chosen then table.insert(object, { "chosen", true }) end
  local secrets = {}
  for i, secret in ipairs(account.secrets) do
    secrets[i] = cli.object { { "kind", "random" }, { "made", term.iso(secret.made_ms) } }
  end
  table.insert(object, { "secrets", secrets })
  cli.json(cli.object(object))
end

local function list(options, operands)
  local stray = operands[1] ~= "list" and operands[1] or operands[2]
  if stray then cli.no_word(stray, { "list", "add", "set", "rotate", "remove" }) end
  local file = options.file
  local accounts, others = clients.read(file)
  if not accounts then
    cli.fail("%s%s", others, others:find("No such file", 1, true) and ": create it with `vesta client add NAME`" or "")
  end
  if others then term.say(("others may %s %s: chmod o= on it"):format(others, term.shown(file))) end
  if options.json then
    for _, account in ipairs(accounts) do print_json(account) end
    return
  end
  local rows = {}
  for i, account in ipairs(accounts) do rows[i] = row_of(account) end
  tables.print(COLUMNS, rows)
end

---------------------------------------------------------------- the command

-- Returns a run function that sets options.file to the path of the clients file.
local function of_file(run)
  return function(options, operands)
    options.file = find_file(options)
    return run(options, operands)
  end
end

local FILE_OPTIONS = {
  { name = "file", value = "FILE", help = "the clients file (default: " .. FILE .. ")" },
  { name = "config", letter = "c", value = "FILE", help = "a server's config, which names the clients file" },
  where.EFFECTIVE,
}

local RIGHTS_OPTIONS = {
  { name = "names", value = "NAME,...",
    help = "namespaces and tags that it may use, where * matches any characters (default for add: *)" },
  { name = "calls", value = "CLASS,...",
    help = "classes of calls that it may make: give, block, read, make, lease, unmask, operate (default for add: "
      .. "give,read)" },
  { name = "n", value = "N", help = "maximum ids per request, or off (default: off)" },
  { name = "rate", value = "N", help = "maximum ids per second, or off (default: off)" },
  { name = "requests", value = "N", help = "maximum requests per second, or off (default: off)" },
  { name = "leases", value = "N",
    help = "maximum worker ids of a namespace that it may lease at once, or off (default: off)" },
  { name = "weight", value = "N",
    help = "its share if ids run short, relative to other clients, 1 to 1000 (default: 1)" },
}

return {
  order = 140,
  line = "manage the clients of a server: names, tokens, rights",
  usage = [=[
client [list] [--json] [--file FILE | -c FILE]
       vesta client add NAME [--names NAME,...] [--calls CLASS,...] [OPTION...]
       vesta client set NAME [--names NAME,...] [--calls CLASS,...] [OPTION...]
       vesta client rotate NAME [--drop-old] [OPTION...]
       vesta client remove NAME [OPTION...]]=],
  about = [[
Manages the clients file of `vesta serve --clients FILE`.  Each client has a random token, a list of
namespaces and tags that it may use, limits, and classes of calls that it may make:

  give     get ids, singly and in batches
  block    get ranges of ids
  read     decode ids, read metrics
  make     build ids from fields
  lease    lease worker ids for programs with their own generator
  unmask   read masked ids and numbers, together with read
  operate  use the admin routes

`add` and `rotate` print the token once.  The file stores only its SHA-256.  Two tokens can be valid at the
same time.  To replace a token, run rotate, deploy the new token to all hosts of the client, then run rotate
--drop-old.

A client without credentials is `default`.  If the file does not list `default`, such clients may make all
calls except operate and unmask from the server's own machine, and no calls from other machines.

Send HUP to a running server to apply your changes.  More: docs/security.md.

  $ vesta client add orders --names 'orders*' --calls give,block --file clients
  k3vw9bp2xr7mtd5nqhyac4gfs8ju6e2z

  $ vesta client list --file clients
  CLIENT        NAMES         CALLS         LIMITS                 SECRETS
  orders        orders*       give,block    -                      5 seconds ago
]],
  options = cli.rows { FILE_OPTIONS, { name = "json", kind = "switch", help = "print a JSON object for each client" } },
  words = {
    { name = "add", run = of_file(add), options = cli.rows { FILE_OPTIONS, RIGHTS_OPTIONS,
      { name = "certificate", kind = "switch",
        help = "create no token, because this client authenticates only with its certificate" } } },
    { name = "set", run = of_file(set), options = cli.rows { FILE_OPTIONS, RIGHTS_OPTIONS } },
    { name = "rotate", run = of_file(rotate), options = cli.rows { FILE_OPTIONS, { name = "drop-old", kind = "switch",
      help = "create no token, but invalidate the older of two valid tokens" } } },
    { name = "remove", run = of_file(remove), options = FILE_OPTIONS },
  },
  run = of_file(list),
}
