--- Every function survives every kind of value in every argument: it returns a result, nil with a known code, or raises
--- an error with a message.  Also run under AddressSanitizer.
local vesta = require "vesta"
local help = require "lua.help"

local KNOWN = {}
for code in ([[full clock_back clock_ahead ahead lease choose epoch_end closed failstop bad_layout bad_field bad_id
  mismatch no_generator unknown_name bad_option io no_memory too_many refused]]):gmatch "%S+" do KNOWN[code] = true end

local function values()
  local loop = {}
  loop.time, loop.self = loop, loop
  local list = {
    n = 30, false, true, 0, -1, 1, 1.5, 2 ^ 31, 2 ^ 53, 2 ^ 63, 2 ^ 64, -2 ^ 63, 1 / 0, -1 / 0, 0 / 0, "", "0", "12",
    "\0", ("9"):rep(5000), ("\255"):rep(300), {}, { 1, 2, 3 }, loop, { time = {} }, print,
    coroutine.create(function() end), io.stdout, vesta.layout "snowflake",
    setmetatable({}, { __index = error, __tostring = error, __len = error }),
  }
  if help.is_jit then
    local ffi = require "ffi"
    list.n = 34
    for i, ctype in ipairs { "int64_t", "uint64_t[2]", "struct { int a; }", "void *" } do
      list[30 + i] = ffi.new(ctype)
    end
  end
  return list
end

local function try(name, f, ...)
  local ok, answer, message, code = pcall(f, ...)
  if not ok then
    assert(type(answer) == "string" and #answer > 10, name .. " raised without words")
  elseif answer == nil and code ~= nil then
    assert(KNOWN[code], name .. " gave an unknown code: " .. tostring(code))
    assert(type(message) == "string" and #message > 5 and #message < 600, name .. " failed without words")
  end
end

local function try_all(name, f, self)
  local list = values()
  for i = 1, list.n do
    if self == nil then try(name, f, list[i]) else try(name, f, self, list[i]) end
    for j = 1, list.n do
      if self == nil then try(name, f, list[i], list[j]) else try(name, f, self, list[i], list[j]) end
    end
  end
end

describe("with any value in any place", function()
  it("the module's functions return, fail or raise with a message", function()
    for name, f in pairs(vesta) do
      if type(f) == "function" and name ~= "open" then try_all("vesta." .. name, f) end
    end
  end)

  it("a layout's methods do the same", function()
    local layout = vesta.layout "vesta-legacy-second"
    for name, f in pairs(getmetatable(layout).__index) do try_all("layout:" .. name, f, layout) end
  end)

  it("a generator's methods do the same", function()
    local gen = help.open { wait_ms_max = 0 }
    for name, f in pairs(getmetatable(gen).__index) do
      if name ~= "close" and name ~= "release" then try_all("gen:" .. name, f, gen) end
    end
    local closed = help.open()
    closed:close()
    for name, f in pairs(getmetatable(gen).__index) do try_all("closed gen:" .. name, f, closed) end
  end)

  it("methods called on another type do the same", function()
    for _, object in ipairs { help.open(), vesta.layout "snowflake" } do
      for name, f in pairs(getmetatable(object).__index) do
        local list = values()
        for i = 1, list.n do try(name, f, list[i], "1") end
      end
      for name, f in pairs(getmetatable(object)) do
        if type(f) == "function" then try(name, f, {}) end
      end
    end
  end)

  it("the options of vesta.open do the same", function()
    local list = values()
    for _, option in ipairs { "layout", "path", "store", "namespace", "fields", "group", "worker", "any_worker",
      "pacing", "ahead_ms_max", "wait_ms_max", "policy" } do
      for i = 1, list.n do
        local options = { layout = "snowflake", worker = 1, path = "hostile" }
        options[option] = list[i]
        if type(options.path) == "string" then options.path = help.state .. "/" .. options.path:sub(-300) end
        try("vesta.open", vesta.open, options)
      end
    end
    for i = 1, list.n do try("vesta.open", vesta.open, list[i]) end
  end)
end)
