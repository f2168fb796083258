--- help -- shared by the Lua specs: generators, the integers of this Lua, other processes.
local vesta = require "vesta"

local help = {
  root = os.getenv "VESTA_ROOT",
  lua = os.getenv "VESTA_LUA",
  state = os.getenv "VESTA_STATE",
  is_jit = type(jit) == "table",
  has_int = type(jit) == "table" or math.type ~= nil, -- next_int returns exact values
  -- 4 million ids a second, so that tight loops do not wait
  wide = "sign:1 time:31 seq:22 worker:10 unit=1s epoch=2026-01-01T00:00:00Z",
}

local function exists(path)
  local file = io.open(path)
  return file ~= nil and file:close()
end

--- Returns a name for a namespace and its file that no other spec of this run has.  busted loads this file anew for
--- every spec file, so used names are stored on disk.
function help.name()
  local number = 1
  while exists(("%s/spec%d.taken"):format(help.state, number)) do number = number + 1 end
  assert(io.open(("%s/spec%d.taken"):format(help.state, number), "w")):close()
  return "spec" .. number
end

function help.path(name) return ("%s/%s.gen"):format(help.state, name) end

--- Opens a generator in its own namespace.  `more` overrides the options.
function help.open(more)
  local name = help.name()
  local options = { layout = help.wide, worker = 1, namespace = name, path = help.path(name), wait_ms_max = 5000 }
  for key, value in pairs(more or {}) do options[key] = value end
  return assert(vesta.open(options)), options
end

--- Runs Lua code in another process, with the environment `variables` ("A=1 B=2") and the arguments `...`.
-- Returns its output.
function help.run_with(variables, code, ...)
  local file = ("%s/%s.lua"):format(help.state, help.name())
  local out = assert(io.open(file, "w"))
  out:write(code)
  out:close()
  local words = { variables, help.lua, file, ... }
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

function help.run(code, ...) return help.run_with("", code, ...) end

--- Runs a shell command and returns the first number of its output.
function help.count(command)
  local pipe = assert(io.popen(command))
  local number = tonumber(pipe:read "*a":match "%d+")
  pipe:close()
  return number
end

--- Creates a counter in a store, like another program.  Its first range begins with 1.
function help.add_tag(store, tag, step)
  local call = ("%s/spec/stores/store_call"):format(os.getenv "VESTA_BUILD" or help.root .. "/build/debug")
  local pipe = assert(io.popen(("echo add %s 1 %d | %s '%s' default"):format(tag, step, call, store)))
  local text = pipe:read "*a"
  pipe:close()
  assert(text:find "^OK", text)
end

--- Returns whether the decimal text a is less than b.
function help.less(a, b) return #a < #b or (#a == #b and a < b) end

--- Returns the message of a call that must raise.
function help.raised(f, ...)
  local ok, message = pcall(f, ...)
  assert(not ok, "the call did not raise")
  return tostring(message)
end

return help
