--- vesta.policy -- loads policies and asks them, in the caller's Lua state.  Knows no generator and no C: vesta.judge
-- puts its answers to work, vesta.testing shows them to who writes a policy.
-- What a policy sees here is what the server lets it see, so that a file runs unchanged in both; it is no sandbox, for
-- whoever opens a generator with a policy runs that code as his own.
local helpers = require "vesta.policy.helpers"
local hooks = require "vesta.hooks"
local nearest = require "vesta.nearest"

local policy = {}

local API = 1
local FILE_BYTES_MAX = 64 * 1024
local TEXT_MAX = 255                -- of a reason or an error's message
local MS_MAX = 24 * 3600 * 1000     -- behind "wait" and "borrow"
local EXACT_MAX = 2 ^ 53

local SHIPPED = {
  "any", "borrow", "butterfly", "butterfly_db", "ip_bits", "ip_list", "leaf", "ordinal", "refuse", "switch", "twitter",
  "uid", "vesta", "wait",
}

-- By function: the verdicts that it may answer, none where that is a number; and the names of what it is told.
local VERDICTS, TOLD = {}, {}
for _, row in ipairs(hooks.hooks) do
  local hook, verdicts = row[1], row[2]
  VERDICTS[hook] = verdicts == "" and {} or helpers.split(verdicts, " ")
  TOLD[hook] = {}
  for _, field in ipairs(hooks.fields) do
    if field[3] == "all" or (" " .. field[3] .. " "):find(" " .. hook .. " ", 1, true) then
      table.insert(TOLD[hook], field[1])
    end
  end
end

---------------------------------------------------------------- text for people

local function cut(text, bytes) return (text:sub(1, bytes):gsub("%c", "?")) end

-- A policy's own words, for a log or a message: one line, and not a long one.
local function plain(text) return cut(text, TEXT_MAX) end

local function shown(value)
  return type(value) == "string" and '"' .. plain(value) .. '"'
    or (type(value) == "number" or type(value) == "boolean" or value == nil) and tostring(value)
    or "a " .. type(value)
end

local function listed(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = '"' .. word .. '"' end
  local last = table.remove(quoted)
  return #quoted == 0 and last or table.concat(quoted, ", ") .. " or " .. last
end

local function error_text(raised)
  return type(raised) == "string" and plain(raised) or "an error that is " .. shown(raised)
end

---------------------------------------------------------------- what a policy sees

local function find(text, what, from, plainly)
  if not plainly then
    error("string.find without patterns only: find(text, what, from, true); or use split", 2)
  end
  return string.find(text, what, from, true)
end

-- The whitelist of the server (csrc/host/sandbox.c): what every Lua has, and no patterns.
local OFFERED = {
  _G = { "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type" },
  string = { "byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper" },
  table = { "concat", "insert", "remove", "sort" },
  math = { "abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "min", "modf", "pi", "sqrt" },
}

local function copy_of(library, into)
  for _, name in ipairs(OFFERED[library]) do into[name] = _G[library][name] end
  return into
end

-- What there is instead of what most who write Lua reach for.
local WAYS = {
  print = "; use log(text)", io = "; use log(text)", require = "; a policy is one file",
  os = "; ctx.now_ms is the time, localtime(ms, zone) shows it by a zone's clocks, env(name) is a variable",
}

local function seal(env, ways)
  return setmetatable(env, {
    __index = function(_, name)
      error(shown(name) .. " is not declared, and not among what policies may use" .. (ways and ways[name] or ""), 2)
    end,
    __newindex = function(_, name)
      error("assignment to undeclared " .. shown(name) .. ": declare it with local", 2)
    end,
  })
end

---------------------------------------------------------------- what a policy may ask of the world, and say to it

local LINES_MAX = 10 -- that a policy may say in a second
local SAID_MAX = 500 -- bytes of one

--- One line for whoever runs this program, as important as nginx's "warn" or "notice".
function policy.warn(line, level)
  if type(ngx) == "table" and ngx.log then ngx.log(ngx[level or "WARN"], line) else io.stderr:write(line, "\n") end
end

-- log(text) of a policy: to what its host gave, else to stderr or nginx's log, so many lines a second.
local function log_of(name, host)
  local second, lines, dropped = nil, 0, 0
  return function(text)
    if type(text) ~= "string" and type(text) ~= "number" then
      error("log: a text is expected, not " .. shown(text), 2)
    end
    local line = cut(tostring(text), SAID_MAX)
    if host.log then return host.log(line) end
    local now = os.time()
    if now ~= second then second, lines = now, 0 end
    lines = lines + 1
    if lines > LINES_MAX then
      dropped = dropped + 1
      return
    end
    policy.warn(("vesta: policy %s says: %s%s"):format(plain(name), line,
      dropped > 0 and (" (and %d lines before that were dropped)"):format(dropped) or ""), "NOTICE")
    dropped = 0
  end
end

-- env(name) of a policy: the variables that its host lists, or a table of them.
local function env_of(host)
  local allowed = {}
  for _, name in ipairs(host.policy_env or {}) do allowed[name] = true end
  return function(name)
    if type(name) ~= "string" then error("env: a variable's name is expected, not " .. shown(name), 2) end
    if host.env and host.env[name] ~= nil then return host.env[name] or nil end
    if allowed[name] then return os.getenv(name) end
    error(("env: policies may not read %s: name it in policy_env, unless it is a secret"):format(plain(name)), 2)
  end
end

-- localtime(ms, zone) of a policy: C reads the zone's file, once.
local function localtime_of()
  local zones = {}
  return function(ms, name)
    if type(ms) ~= "number" then error("localtime: milliseconds are expected, not " .. shown(ms), 2) end
    if type(name) ~= "string" then error("localtime: a zone's name is expected, not " .. shown(name), 2) end
    if not zones[name] then
      local has_core, core = pcall(require, "vesta.core")
      if not has_core then error("localtime needs the rock, or vesta policy test", 2) end
      local is_name, zone, message = pcall(core.zone, name)
      if not is_name or not zone then error("localtime: " .. (message or zone), 2) end
      zones[name] = zone
    end
    local ok, time = pcall(zones[name].time, zones[name], ms)
    if not ok then error("localtime: " .. tostring(time), 2) end
    return time
  end
end

local function environment(name, host)
  local env = copy_of("_G", {})
  env.log, env.env, env.localtime = log_of(name, host), env_of(host), localtime_of()
  env.string = seal(copy_of("string", { find = find }))
  env.table = seal(copy_of("table", {}))
  env.math = seal(copy_of("math", {}))
  for helper_name, helper in pairs(helpers) do env[helper_name] = helper end
  return seal(env, WAYS)
end

---------------------------------------------------------------- loading

local function read_file(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text, why = file:read(FILE_BYTES_MAX + 1)
  file:close()
  if not text then return nil, path .. ": " .. (why or "is empty") end
  if #text > FILE_BYTES_MAX then return nil, path .. ": is longer than 64 KiB, which no policy is" end
  return text
end

-- The text of a policy that comes with vesta, found as require finds a module.
local function read_shipped(name)
  for template in package.path:gmatch "[^;]+" do
    local path = template:gsub("%?", "vesta/policy/" .. name)
    local text = read_file(path)
    if text then return text, path end
  end
  return nil, "vesta/policy/" .. name .. ".lua is not in any folder of package.path"
end

--- Whether it is a policy's path, and not a shipped one's name.
function policy.is_path(name)
  return (name:find("/", 1, true) or name:sub(-4) == ".lua") and not name:find("\0", 1, true)
end

-- A policy's text and where it stands.
local function read(name)
  if policy.is_path(name) then
    local text, message = read_file(name)
    return text, text and name or message, "io"
  end
  for _, other in ipairs(SHIPPED) do
    if name == other then
      local text, path = read_shipped(name)
      return text, path, "io"
    end
  end
  return nil, ("there is none: it must be %s, or a path with a / in it or .lua at its end"):format(listed(SHIPPED)),
    "unknown_name"
end

-- Text only: a precompiled chunk can break the Lua state that runs it.
local function compile(text, chunk, env)
  if text:byte(1) == 27 then return nil, "it is a precompiled chunk, but a policy must be text" end
  if not setfenv then return load(text, chunk, "t", env) end
  local run, message = loadstring(text, chunk)
  return run and setfenv(run, env), message
end

-- What a policy's file returns: true and that, or false, message, code.
local function run_file(name, host)
  local text, path, code = read(name)
  if not text then return false, path, code end
  local run, message = compile(text, "@" .. path, environment(name, host))
  if not run then return false, message, "bad_option" end
  local ok, result = pcall(run)
  if not ok then return false, error_text(result), "bad_option" end
  return true, result
end

-- The functions of a policy's table, by name; or nil and what is wrong with it.
local function check(result)
  if type(result) ~= "table" then return nil, "a policy returns a table, not " .. shown(result) end
  local known = { api = true, name = true, about = true, options = true, fixed = true }
  for name in pairs(VERDICTS) do known[name] = true end
  local functions = {}
  for key, value in pairs(result) do
    if type(key) ~= "string" then return nil, "a policy's table has names as keys, not " .. shown(key) end
    if not known[key] then return nil, "a policy has no " .. nearest(key, known) end
    if VERDICTS[key] then
      if type(value) ~= "function" then return nil, key .. " must be a function, not " .. shown(value) end
      functions[key] = value
    end
  end
  local api = rawget(result, "api") -- a metatable is nobody's policy
  if api ~= API then return nil, ("api must be %d, not %s"):format(API, shown(api)) end
  local fixed = rawget(result, "fixed")
  if fixed ~= nil and type(fixed) ~= "boolean" then return nil, "fixed must be true or false, not " .. shown(fixed) end
  for _, key in ipairs { "name", "about" } do
    local text = rawget(result, key)
    if text ~= nil and type(text) ~= "string" then return nil, key .. " must be a string, not " .. shown(text) end
  end
  return functions
end

-- The options that a policy was given, whole where it declares them: with defaults; or nil and what is wrong.
local function whole_options(result, given)
  local rules = rawget(result, "options")
  if rules == nil then return given end
  local ok, whole, wrong = pcall(helpers.read_options, { options = given }, rules)
  if not ok then return nil, "options has an invalid rule: " .. error_text(whole) end
  return whole, wrong
end

local function copy_without(key_left_out, from)
  local copy = {}
  for key, value in pairs(from) do
    if key ~= key_left_out then copy[key] = value end
  end
  return copy
end

--- Loads a policy: a shipped one's name, a path, { name or path, option = ... }, or a table of functions with api = 1.
-- `host` says where its log() goes, if not to stderr: log = function(text); which variables env() gives: policy_env =
-- { "NAME" } of the process, or env = { NAME = "value" or false }.
-- Gives { name =, functions =, options = }, or nil, message, code.
function policy.load(spec, host)
  if type(spec) == "table" and rawget(spec, 1) == nil then
    local functions, wrong = check(spec)
    local options
    if functions then options, wrong = whole_options(spec, {}) end
    if not options then return nil, "the policy's table: " .. plain(wrong), "bad_option" end
    return { name = plain(rawget(spec, "name") or "of functions"), functions = functions, options = options }
  end
  if type(spec) == "string" then spec = { spec } end
  local name = spec[1]
  if type(name) ~= "string" then
    return nil, "a policy's name or path comes first in its table, not " .. shown(name), "bad_option"
  end
  if rawget(spec, "shadow") ~= nil then
    return nil, "shadow is for vesta serve: a generator in Lua asks no policy without obeying it", "bad_option"
  end
  local ok, result, code = run_file(name, host or {})
  local functions, options, wrong = nil, nil, result
  if ok then functions, wrong = check(result) end
  if functions then options, wrong = whole_options(result, copy_without(1, spec)) end
  if not options then return nil, ("policy %s: %s"):format(shown(name), plain(wrong)), code or "bad_option" end
  return { name = plain(name), functions = functions, options = options, fixed = rawget(result, "fixed") == true }
end

---------------------------------------------------------------- asking

local function garbage(hook, value, expected)
  return ("%s answered %s; expected: %s"):format(hook, shown(value), expected)
end

-- What stands behind the first value: a number of milliseconds, and a text that says why, in any order.
local function check_more(hook, word, ...)
  local amount_ms, reason, wrong
  for i = 1, 2 do
    local value = select(i, ...)
    if type(value) == "string" then
      reason = plain(value)
    elseif value ~= nil and word ~= "wait" and word ~= "borrow" then
      wrong = garbage(hook, value, "a text after the first value: why")
    elseif type(value) == "number" and value >= 0 and value < MS_MAX + 1 then
      amount_ms = math.floor(value)
    elseif value ~= nil then
      wrong = garbage(hook, value, 'milliseconds from 0 to a day after "wait" and "borrow", or a text: why')
    end
  end
  return wrong, amount_ms, reason
end

local function is_answer(hook, word)
  if #VERDICTS[hook] == 0 then
    return word == nil or type(word) == "number" and word >= 0 and word < EXACT_MAX and word % 1 == 0
  end
  for _, other in ipairs(VERDICTS[hook]) do
    if word == other then return true end
  end
end

local function check_answer(hook, word, ...)
  if not is_answer(hook, word) then
    return false, garbage(hook, word, #VERDICTS[hook] == 0 and "a worker number of 0 or more, or nil and a reason"
      or listed(VERDICTS[hook]))
  end
  local wrong, amount_ms, reason = check_more(hook, word, ...)
  if wrong then return false, wrong end
  return true, word, amount_ms, reason
end

-- What pcall gave.
local function check_call(hook, ok, ...)
  if ok then return check_answer(hook, ...) end
  return false, hook .. " failed: " .. error_text((...))
end

--- Whether a policy has that function.
function policy.has(self, hook) return self.functions[hook] ~= nil end

policy.VERDICTS, policy.TOLD = VERDICTS, TOLD

--- The ctx of a function: each of its fields from the first of the tables behind that has it.
function policy.ctx(hook, ...)
  local ctx = {}
  for _, name in ipairs(TOLD[hook]) do
    for i = 1, select("#", ...) do
      if ctx[name] == nil then ctx[name] = select(i, ...)[name] end
    end
  end
  return ctx
end

--- Asks one of a policy's functions: true, its word (for choose_worker its number or nil), milliseconds or nil, reason
-- or nil; or false and what is wrong with the policy.  Never raises.
function policy.ask(self, hook, ctx)
  if self.asking then return false, hook .. " was asked while another call of this policy goes on" end
  ctx.options = copy_without(nil, self.options) -- what a policy does to it, it does to this call
  self.asking = true
  local function done(...)
    self.asking = false
    return check_call(hook, ...)
  end
  return done(pcall(self.functions[hook], ctx))
end

return policy
