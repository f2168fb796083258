--- vesta.policy -- loads and calls policies in the caller's Lua state.  vesta.judge applies their verdicts to
-- generators, and vesta.testing returns them to specs.
-- The server and this module both use vesta.engine, so a policy's file runs unchanged in both.  Unlike the server, this
-- module is not a sandbox: a program that calls vesta.open runs the policy with its own rights.
local engine = require "vesta.engine"

local policy = {}

local FILE_BYTES_MAX = 64 * 1024
local TEXT_MAX = 255 -- maximum bytes of a reason or a name
local WRONG_MAX = 500 -- maximum bytes of an error message

local SHIPPED = {
  "any", "borrow", "butterfly", "butterfly_db", "ip_bits", "ip_list", "leaf", "ordinal", "refuse", "switch", "twitter",
  "uid", "vesta", "wait",
}

---------------------------------------------------------------- texts for messages

-- Makes a policy's text fit for a log or a message: one line of limited length.
local function plain(text, max) return (engine.cut(text, max or TEXT_MAX):gsub("%c", "?")) end

local function quoted(value)
  if type(value) == "string" then return '"' .. plain(value) .. '"' end
  return type(value) == "number" and tostring(value) or "a " .. type(value)
end

local function error_text(raised)
  if type(raised) == "string" then return plain(raised, WRONG_MAX) end
  return ("the error it raised is a %s, not a string"):format(type(raised))
end

--- Logs a line for the operator: to nginx's log at `level` (default: "WARN"), or to stderr.
function policy.warn(line, level)
  if type(ngx) == "table" and ngx.log then ngx.log(ngx[level or "WARN"], line) else io.stderr:write(line, "\n") end
end

---------------------------------------------------------------- the world of a policy

local LINES_MAX = 10 -- lines per second that a policy may log

-- Returns the function log(text) of a policy.  It calls the host's function if there is one, or else writes to nginx's
-- log or stderr.  It drops lines above the limit per second.
local function say_by(name, host)
  local second, lines, dropped = nil, 0, 0
  return function(text)
    local line = plain(text, WRONG_MAX)
    if host.log then return host.log(line) end
    local now = os.time()
    if now ~= second then second, lines = now, 0 end
    lines = lines + 1
    if lines > LINES_MAX then
      dropped = dropped + 1
      return
    end
    policy.warn(("vesta: policy %s logs: %s%s"):format(plain(name), line,
      dropped > 0 and (" (and %d lines before that were dropped)"):format(dropped) or ""), "NOTICE")
    dropped = 0
  end
end

-- Returns a function(ms) that returns the local time of a zone, or nil and a message.  C reads the zone's file.
local function zone(name)
  local has_core, core = pcall(require, "vesta.core")
  if not has_core then return nil, "it needs the rock, or vesta policy test" end
  local is_name, found, message = pcall(core.zone, name)
  if not is_name or not found then return nil, message or found end
  return function(ms)
    local ok, time = pcall(found.time, found, ms)
    if not ok then return nil, tostring(time) end
    return time
  end
end

-- Returns the variables for env(name).  host.policy_env lists variables of the process, and host.env contains values.
local function environment(host)
  local env = {}
  for _, name in ipairs(host.policy_env or {}) do
    local text = os.getenv(name)
    env[name] = text ~= "" and text or false -- an empty variable counts as unset
  end
  for name, value in pairs(host.env or {}) do env[name] = value end
  return env
end

---------------------------------------------------------------- loading

local function read_file(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text, why = file:read(FILE_BYTES_MAX + 1)
  file:close()
  if not text then return nil, path .. ": " .. (why or "is empty") end
  if #text > FILE_BYTES_MAX then return nil, path .. ": is longer than 64 KiB, the limit of a policy" end
  return text
end

-- Reads a built-in policy from package.path.
local function read_shipped(name)
  for template in package.path:gmatch "[^;]+" do
    local path = template:gsub("%?", "vesta/policy/" .. name)
    local text = read_file(path)
    if text then return text, path end
  end
  return nil, "vesta/policy/" .. name .. ".lua is not in any folder of package.path"
end

--- Returns whether a name is the path of a policy, and not the name of a built-in policy.
function policy.is_path(name)
  return (name:find("/", 1, true) or name:sub(-4) == ".lua") and not name:find("\0", 1, true)
end

-- Returns a policy's text and its path, or nil, message, code.
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
  return nil, ('there is no such policy: use "%s", or a path that contains / or ends in .lua')
    :format(table.concat(SHIPPED, '", "')), "unknown_name"
end

---------------------------------------------------------------- a function that never returns

local INSTRUCTIONS_MAX = 10000000 -- per call, as in csrc/host

-- Sets the debug hook.  Returns a function that restores the previous hook.  LuaJIT's compiled code runs no hooks, so
-- the compiler is off until then.
local function watch(on_count)
  local hook, mask, count = debug.gethook()
  local is_compiling = type(jit) == "table" and jit.status()
  if is_compiling then jit.off() end
  debug.sethook(on_count, "", INSTRUCTIONS_MAX)
  return function()
    debug.sethook(hook, mask, count)
    if is_compiling then jit.on() end
  end
end

-- A pcall with an instruction limit.  Because the function may catch the error, every instruction after the limit
-- raises it again until the call ends.
local bounded
function bounded(func, ...)
  local hook = debug.gethook()
  if hook ~= nil and type(hook) ~= "function" then return pcall(func, ...) end -- Lua cannot restore a C hook
  local here, unwatch = coroutine.running(), nil
  local function finish(...)
    unwatch()
    return ...
  end
  local function on_count()
    if coroutine.running() ~= here then return end -- LuaJIT has one hook for all coroutines
    if debug.getinfo(2, "f").func == bounded then return debug.sethook() end
    debug.sethook(on_count, "", 1)
    error(("ended after %d instructions, which is the limit of a call"):format(INSTRUCTIONS_MAX), 2)
  end
  unwatch = watch(on_count)
  return finish(pcall(func, ...))
end
engine.call = bounded

---------------------------------------------------------------- texts

-- Compiles source text.  Rejects bytecode, because it can corrupt the Lua state.
function engine.compile(text, chunk, env)
  if text:byte(1) == 27 then error(chunk:sub(2) .. ": this is compiled Lua. Pass its source", 0) end
  local run, message
  if setfenv then -- Lua 5.1
    run, message = loadstring(text, chunk)
    if run then setfenv(run, env) end
  else
    run, message = load(text, chunk, "t", env)
  end
  return run or error(message, 0)
end

local function copy_without(key_left_out, from)
  local copy = {}
  for key, value in pairs(from) do
    if key ~= key_left_out then copy[key] = value end
  end
  return copy
end

--- Loads a policy.  `spec` is a name, a path, { name or path, option = ... }, or a table of functions with api = 1.
-- `host` is optional and may have:
--     log          function(text), which receives the lines of log() instead of stderr
--     policy_env   { "NAME" }, variables of the process for env()
--     env          { NAME = "value" or false }, values for env()
-- Returns { name =, functions =, options =, fixed = }, or nil, message, code.
function policy.load(spec, host)
  host = host or {}
  if type(spec) == "table" and rawget(spec, 1) == nil then
    local ok, loaded = pcall(engine.take, spec, {}, "the policy's table")
    if not ok then return nil, error_text(loaded), "bad_option" end
    loaded.name = plain(rawget(spec, "name") or "of functions")
    return loaded
  end
  if type(spec) == "string" then spec = { spec } end
  local name = spec[1]
  if type(name) ~= "string" then
    return nil, "a policy's name or path comes first in its table, not " .. quoted(name), "bad_option"
  end
  if rawget(spec, "shadow") ~= nil then
    return nil, "shadow works only in vesta serve: a generator in Lua obeys its policy. Remove shadow", "bad_option"
  end
  local text, path, code = read(name)
  if not text then return nil, ("policy %s: %s"):format(quoted(name), plain(path, WRONG_MAX)), code end
  local ok, loaded = pcall(engine.load,
    { text = text, chunk = "@" .. path, options = copy_without(1, spec), env = environment(host) },
    { say = say_by(name, host), zone = zone })
  if not ok then return nil, ("policy %s: %s"):format(quoted(name), error_text(loaded)), "bad_option" end
  loaded.name = plain(name)
  return loaded
end

---------------------------------------------------------------- calling functions

policy.has = engine.has

local function finish(hook, answered, word, amount_ms, reason)
  if answered then return true, word, amount_ms, reason and plain(reason) end
  if answered == nil then return false, hook .. " failed: " .. error_text(word) end
  return false, plain(word, WRONG_MAX)
end

--- Calls a function of a policy.  Returns true, its verdict (for choose_worker a worker id or nil), milliseconds or
-- nil, and a reason or nil.  Returns false and a message after an error.  Never raises.
function policy.ask(self, hook, ctx)
  if self.asking then return false, hook .. " was called while another function of this policy runs" end
  self.asking = true
  local function done(...)
    self.asking = false
    return finish(hook, ...)
  end
  return done(engine.ask(self, hook, ctx))
end

return policy
