--- vesta.engine -- the policy engine.  It provides a policy's globals, checks its table, calls its functions, and
-- checks their results.  Three modules use it: vesta.policy in the rock, vesta.testing, and csrc/policy in the program,
-- which runs each policy in a limited Lua state.  It is plain Lua from 5.1 on, without files, generators or C.
-- Messages may contain any byte of a policy, so callers must clean them before they log them.  In a policy's state,
-- string methods are restricted to engine.WHITELIST, so the engine calls no other string method.
local helpers = require "vesta.policy.helpers"
local hooks = require "vesta.hooks"
local nearest = require "vesta.nearest"

local getinfo = debug.getinfo
local find = string.find

local engine = {}

local API = 1
local MS_MAX = 24 * 3600 * 1000 -- maximum milliseconds of "wait" and "borrow"
local QUOTED_MAX = 48           -- bytes of a value in a message
local WORDS_MAX = 16            -- maximum words of an option in a declaration

-- Two tables by function.  VERDICTS has its verdicts, or {} if it returns a worker id.  TOLD has the names of the
-- fields of its ctx.
local VERDICTS, TOLD = {}, {}
for _, row in ipairs(hooks.hooks) do
  local hook, verdicts = row[1], row[2]
  VERDICTS[hook] = verdicts == "" and {} or helpers.split(verdicts, " ")
  TOLD[hook] = {}
  for _, field in ipairs(hooks.fields) do
    if field[3] == "all" or find(" " .. field[3] .. " ", " " .. hook .. " ", 1, true) then
      table.insert(TOLD[hook], field[1])
    end
  end
end
engine.VERDICTS, engine.TOLD = VERDICTS, TOLD

---------------------------------------------------------------- values in messages

--- Cuts a longer text to at most `max` bytes, at the end of a UTF-8 character, and appends "...".
function engine.cut(text, max)
  if #text <= max then return text end
  while max > 0 and text:byte(max + 1) >= 0x80 and text:byte(max + 1) < 0xc0 do max = max - 1 end
  return text:sub(1, max) .. "..."
end

--- Formats a value for a message.
function engine.shown(value)
  if type(value) == "number" then return tostring(value) end
  if type(value) == "string" then return "'" .. engine.cut(value, QUOTED_MAX) .. "'" end
  return type(value)
end

local shown = engine.shown

-- Returns "'wait', 'borrow' or 'refuse'".
local function listed(words)
  local text = ""
  for i, word in ipairs(words) do
    text = text .. (i == 1 and "" or i == #words and " or " or ", ") .. "'" .. word .. "'"
  end
  return text
end

---------------------------------------------------------------- a policy's globals

--- The functions of Lua that a policy may use.  Every version of Lua has them.  Patterns are excluded, because a match
-- can run for minutes.  Every other function that the limits of csrc/host cannot stop is excluded too.  string.find
-- accepts only plain text.
engine.WHITELIST = {
  _G = { "assert", "error", "ipairs", "next", "pairs", "pcall", "select", "tonumber", "tostring", "type" },
  string = { "byte", "char", "find", "format", "len", "lower", "rep", "reverse", "sub", "upper" },
  table = { "concat", "insert", "remove", "sort" },
  math = { "abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "min", "modf", "pi", "sqrt" },
}

-- Hints for common globals that a policy lacks.
local WAYS = {
  print = ": use log(text)", io = ": use log(text)", require = ": a policy is one file",
  os = ": use ctx.now_ms for the time, localtime(ms, zone) for a zone's time, and env(name) for a variable",
}

--- Returns a read-only view of a table.  Writing raises, and so does reading a name that the table lacks.  `prefix`
-- precedes the name in messages ("string."), and `whose` names the reader ("policies").
function engine.seal(contents, prefix, whose, ways)
  setmetatable(contents, { __index = function(_, name)
    error(prefix .. tostring(name) .. " is not declared, and " .. whose .. " may not use it"
      .. (ways and ways[name] or ""), 2)
  end })
  return setmetatable({}, { __index = contents, __newindex = function(_, name)
    if rawget(contents, name) ~= nil then error(prefix .. tostring(name) .. " cannot be changed", 2) end
    error("assignment to undeclared " .. prefix .. tostring(name) .. ": declare it with local", 2)
  end })
end

-- `caller` is the level for error() that names the policy's line.  By default, `enclose` returns its function
-- unchanged.
local caller = 2
local function enclose(func) return func end

local function plain_find(text, what, from, plainly)
  if not plainly then
    error("string.find works without patterns only: use find(text, what, init, true), or split", caller)
  end
  return find(text, what, from, true)
end

local function offered(library, into)
  for _, name in ipairs(engine.WHITELIST[library]) do into[name] = _G[library][name] end
  return into
end

--- The libraries of all policies.  A host may set libraries.string as the __index of strings, which restricts methods
-- such as text:match too.
engine.libraries = {}
local contents = {}
for _, library in ipairs { "string", "table", "math" } do
  contents[library] = offered(library, {})
  engine.libraries[library] = engine.seal(contents[library], library .. ".", "policies")
end
contents.string.find = plain_find

--- Lets the host wrap each function that a policy can call in a C function.  A tail call of a Lua function removes the
-- policy's frame, so that error() would not find the policy's line.  A tail call of a C function keeps the frame.
function engine.set_enclose(in_c)
  enclose, caller = in_c, 3
  contents.string.find = enclose(plain_find)
end

local function log_by(world)
  return function(text)
    if type(text) ~= "string" and type(text) ~= "number" then
      error("log: a text is expected, not " .. shown(text), caller)
    end
    world.say(tostring(text))
  end
end

local function env_by(world)
  return function(name)
    if type(name) ~= "string" then error("env: the name of a variable is expected, not " .. shown(name), caller) end
    local value = rawget(world.env, name)
    if type(value) == "string" then return value end
    if value == nil then
      error(("env: policies may not read %s: name it in policy_env, unless it is a secret")
        :format(engine.cut(name, QUOTED_MAX)), caller)
    end
    return nil -- the policy may read this variable, but the variable is not set
  end
end

local function localtime_by(world)
  local zones = {}
  return function(ms, name)
    if type(ms) ~= "number" then error("localtime: milliseconds are expected, not " .. shown(ms), caller) end
    if type(name) ~= "string" then error("localtime: the name of a zone is expected, not " .. shown(name), caller) end
    local wrong
    if not zones[name] then
      zones[name], wrong = world.zone(name)
      if wrong then error("localtime: " .. wrong, caller) end
    end
    local time
    time, wrong = zones[name](ms)
    if wrong then error("localtime: " .. wrong, caller) end
    return time
  end
end

local function environment(world)
  local env = offered("_G", {})
  env.log, env.env = enclose(log_by(world)), enclose(env_by(world))
  env.localtime = enclose(localtime_by(world))
  for name, library in pairs(engine.libraries) do env[name] = library end
  for name, helper in pairs(helpers) do env[name] = helper end
  return engine.seal(env, "global ", "policies", WAYS)
end

---------------------------------------------------------------- loading

local KEYS = { api = true, name = true, about = true, options = true, fixed = true }
for hook in pairs(VERDICTS) do KEYS[hook] = true end

-- Returns an error about an entry of a policy's table, or nil.
local function wrong_entry(key, value)
  if type(key) ~= "string" then return ("a key of a policy is a %s, not a name"):format(type(key)) end
  if not KEYS[key] then
    local _, near = nearest(key, KEYS)
    return ("%s is not a key of a policy%s"):format(shown(key), near and ", did you mean '" .. near .. "'?" or "")
  end
  if VERDICTS[key] and type(value) ~= "function" then
    return ("%s is a %s, not a function"):format(key, type(value))
  end
  if (key == "name" or key == "about") and type(value) ~= "string" then
    return ("%s is a %s, not a text"):format(key, type(value))
  end
  if key == "options" and type(value) ~= "table" then
    return ("options is a %s, not a table of rules"):format(type(value))
  end
  if key == "fixed" and type(value) ~= "boolean" and value ~= "ordinal" then
    return ('fixed is %s, not true, false or "ordinal"'):format(shown(value))
  end
end

local function wrong_table(result)
  if type(result) ~= "table" then
    return ("a policy must return a table, return { api = 1, ... }; this one returns %s")
      :format(result == nil and "nothing" or "a " .. type(result))
  end
  local api = rawget(result, "api")
  if type(api) ~= "number" or api ~= API then
    return ("api is %s, which must be %d for this version of vesta"):format(tostring(api), API)
  end
  for key, value in next, result do -- next ignores metatables
    local wrong = wrong_entry(key, value)
    if wrong then return wrong end
  end
end

-- Copies a table deeply, so that a call cannot see changes that an earlier call made to its options.
local function copy(value, seen)
  if type(value) ~= "table" then return value end
  if seen[value] then return seen[value] end
  local made = {}
  seen[value] = made
  for key, inner in next, value do made[key] = copy(inner, seen) end
  return made
end

--- Checks a policy's table and its options.  Returns the policy, a table with `functions` by name, `options` including
-- defaults, `rules` and `fixed`.  Raises a message that begins with `where`.
function engine.take(result, given, where)
  local wrong = wrong_table(result)
  local functions, options = {}, given
  local rules = not wrong and rawget(result, "options") or nil
  if rules ~= nil then options, wrong = helpers.read_options({ options = given }, rules) end
  if wrong then error(where .. ": " .. wrong, 0) end
  for hook in pairs(VERDICTS) do functions[hook] = rawget(result, hook) end
  return { functions = functions, options = options, rules = rules, fixed = rawget(result, "fixed") or false }
end

--- Returns whether the worker id that a policy chooses is fixed for a host.  has_ordinal tells whether the host's name
-- has an ordinal.
function engine.is_fixed(policy, has_ordinal)
  return policy.fixed == true or policy.fixed == "ordinal" and has_ordinal
end

-- Runs a chunk by engine.call.  A direct call would let error levels in a policy name a line of this file.
local function run(chunk)
  local ok, result = engine.call(chunk)
  if not ok then error(result, 0) end
  return result
end

-- Returns the table that a text such as "{ first = 0 }" describes.
local function data_of(text, what)
  local made = run(engine.compile("return " .. text, "=" .. what, engine.seal({}, "global ", what)))
  if type(made) ~= "table" then
    error(("%s: a table like { first = 0 } is expected, not a %s"):format(what, type(made)), 0)
  end
  return made
end

--- compile(text, chunk, env) compiles source text to a function, and raises for bytecode.  The host sets it.
engine.compile = nil
--- Calls a policy's function.  A host without other limits replaces it by a pcall that stops endless functions.
engine.call = pcall

--- Runs a policy's text.  Returns the policy, like engine.take.  Raises a message after an error.
--     source.text           the policy's text
--     source.chunk          "@" and its path
--     source.options, env   a table, or the text of a table
--     world.say(text)       logs a line
--     world.zone(name)      returns a function(ms) that returns a table of the local time
-- Both functions of world return nil and the reason if they fail.
function engine.load(source, world)
  local env, options = source.env or {}, source.options or {}
  if type(env) == "string" then env = data_of(env, "environment") end
  local globals = environment { say = world.say, zone = world.zone, env = env }
  local result = run(engine.compile(source.text, source.chunk, globals))
  local where = source.chunk:sub(2)
  local wrong = wrong_table(result)
  if wrong then error(where .. ": " .. wrong, 0) end
  if type(options) == "string" then options = data_of(options, "options") end
  return engine.take(result, options, where)
end

--- Runs a file of Lua data, which has no globals, and returns its value.  Raises a message after an error.
function engine.data(_, text, chunk, what)
  return run(engine.compile(text, chunk, engine.seal({}, "", what)))
end

---------------------------------------------------------------- calling functions

function engine.has(policy, hook) return policy.functions[hook] ~= nil end

-- Returns the file and line of a function's definition, for messages.
local function place_of(func)
  local info = getinfo(func, "S")
  return ("%s:%d: "):format(info.short_src, info.linedefined)
end

local function is_answer(hook, word)
  if #VERDICTS[hook] == 0 then
    return word == nil or type(word) == "number" and word >= 0 and word < 2 ^ 63 and word % 1 == 0
  end
  for _, other in ipairs(VERDICTS[hook]) do
    if word == other then return true end
  end
  return false
end

-- Reads a function's second and third result: milliseconds and a reason, in any order.  Returns nil, nil, milliseconds,
-- reason.  After an error, returns the wrong value and a description of the expected one.
local function read_more(word, ...)
  local amount_ms, reason
  for i = 1, 2 do
    local value = select(i, ...)
    if type(value) == "string" then
      reason = value
    elseif value ~= nil and word ~= "wait" and word ~= "borrow" then
      return value, "a text with the reason after the first value"
    elseif type(value) == "number" and value >= 0 and value < MS_MAX + 1 then
      amount_ms = math.floor(value)
    elseif value ~= nil then
      return value, "milliseconds from 0 to a day after 'wait' and 'borrow', or a text with the reason"
    end
  end
  return nil, nil, amount_ms, reason
end

local function judge(policy, hook, word, ...)
  local wrong, expected, amount_ms, reason = word
  if is_answer(hook, word) then
    wrong, expected, amount_ms, reason = read_more(word, ...)
    if not expected then return true, word, amount_ms, reason end
  else
    expected = #VERDICTS[hook] == 0 and "a worker id of 0 or more, or nil and a reason" or listed(VERDICTS[hook])
  end
  return false, ("%s%s returned %s; expected: %s")
    :format(place_of(policy.functions[hook]), hook, shown(wrong), expected)
end

local function finish(policy, hook, ok, ...)
  if ok then return judge(policy, hook, ...) end
  return nil, (...)
end

--- Starts to record the fields that functions read from ctx although their ctx never has them.
function engine.watch(policy) policy.misread = {} end

--- Returns the recorded fields: { { function, name }, ... }.
function engine.misread(policy) return policy.misread end

local function watch_ctx(misread, hook, ctx)
  local known = { options = true }
  for _, name in ipairs(TOLD[hook]) do known[name] = true end
  setmetatable(ctx, { __index = function(_, name)
    if type(name) == "string" and not known[name] then
      known[name] = true
      misread[#misread + 1] = { hook, name }
    end
  end })
end

--- Calls a policy's function.  Returns true, its verdict (for choose_worker a worker id or nil), milliseconds or nil,
-- and a reason or nil.  Returns false and a message if the result is not a verdict.  Returns nil and the raised value
-- if the function raises.
function engine.ask(policy, hook, ctx)
  ctx.options = copy(policy.options, {})
  if policy.misread then watch_ctx(policy.misread, hook, ctx) end
  return finish(policy, hook, engine.call(policy.functions[hook], ctx))
end

--- Returns the ctx of a function.  Each field comes from the first of the tables that has it.
function engine.ctx(hook, ...)
  local ctx = {}
  for _, name in ipairs(TOLD[hook]) do
    for i = 1, select("#", ...) do
      if ctx[name] == nil then ctx[name] = select(i, ...)[name] end
    end
  end
  return ctx
end

---------------------------------------------------------------- declared options

local function declared(name, rule)
  local option = { name = name, needed = rule.needed and true or false, kind = "word" }
  if type(rule.unit) == "string" then option.unit = rule.unit end
  if type(rule.about) == "string" then option.about = rule.about end
  if rule.list then
    option.kind = "list"
  elseif type(rule[1]) == "number" then
    option.kind, option.least, option.most = "number", rule[1], type(rule[2]) == "number" and rule[2] or 0
    if type(rule.default) == "number" then option.default = rule.default end
  else
    option.words = {}
    for i = 1, WORDS_MAX do
      if type(rule[i]) ~= "string" then break end
      option.words[i] = rule[i]
    end
    if type(rule.default) == "string" then option.default = rule.default end
  end
  return option
end

--- Returns the declared options, sorted by name: { name, kind = "number", "word" or "list", needed, default, least,
-- most, words, unit, about }.  Returns nil if the policy declares no options, and so accepts any.
function engine.declared(policy)
  local list = {}
  if type(policy.rules) ~= "table" then return nil end
  for name, rule in next, policy.rules do
    if type(name) == "string" and type(rule) == "table" then list[#list + 1] = declared(name, rule) end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

return engine
