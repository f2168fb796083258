--- vesta.fast -- LuaJIT: the hot calls through the FFI, so that a trace holds them, and 64-bit integers as cdata.
-- Replaces next (where the compiler is on: interpreted FFI is slower than a C function), next_int and batch_int of
-- the generator's class.  An id that is there at once never leaves the trace; a pause, a generator's first call,
-- a closed one or a wrong argument goes to the function that was there before, which knows how to wait and what to say.
-- Declares no C names: loading it twice, or beside other libraries, is harmless.
local ffi = require "ffi"

local BATCH_MAX = 10000

local cast, istype, text = ffi.cast, ffi.istype, ffi.string
local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local box_p = ffi.typeof "struct { void *class, *begun; } *" -- how struct box of csrc/lua/gen.c begins

local id_out, got_out = ffi.new "int64_t[1]", ffi.new "size_t[1]"
local pause_out = ffi.new "int64_t[8]" -- room for a struct vesta_pause, which nobody here reads
local buf = ffi.new "char[32]"

local has_new, new_table = pcall(require, "table.new")
if not has_new then new_table = function() return {} end end

local function call(ctype, address) return cast(ctype, cast("uintptr_t", address)) end

return function(core)
  local next_id = call("int (*)(void *, int64_t *, void *)", core.calls.next)
  local next_n = call("int (*)(void *, int64_t *, size_t, size_t *, void *)", core.calls.next_n)
  local format = call("size_t (*)(int, uint64_t, char *)", core.calls.format)
  local parse = call("int (*)(int, const char *, size_t, int64_t *)", core.calls.parse)

  local class = core.gen
  local methods = class.__index
  local slow_next, slow_batch = methods.next, methods.batch
  local ids_out = ffi.new("int64_t[?]", BATCH_MAX)

  local function to_int(id)
    assert(parse(0, id, #id, id_out) == 0)
    return id_out[0]
  end

  -- The C side reads no cdata: it hands them here and takes the decimal string.
  core.set_cdata_reader(function(value)
    if istype(int64, value) or istype(uint64, value) then
      return text(buf, format(0, cast(uint64, value), buf))
    end
  end)

  local segments = core.segment_class.__index
  local next_number = segments.next

  function segments.next_int(self)
    local number, message, code, wait_s = next_number(self)
    if not number then return nil, message, code, wait_s end
    return to_int(number)
  end

  local function next_text(self)
    if getmetatable(self) == class then
      local gen = cast(box_p, self).begun
      if gen ~= nil and next_id(gen, id_out, pause_out) == 0 then
        return text(buf, format(0, id_out[0], buf))
      end
    end
    return slow_next(self)
  end

  if jit.status() then methods.next = next_text end

  function methods.next_int(self)
    if getmetatable(self) ~= class then return slow_next(self) end
    local gen = cast(box_p, self).begun
    if gen ~= nil and next_id(gen, id_out, pause_out) == 0 then
      return id_out[0]
    end
    local id, message, code, wait_s = slow_next(self)
    if not id then return nil, message, code, wait_s end
    return to_int(id)
  end

  -- A client's: its integers are made of its texts.
  local servers = core.servers.__index
  local servers_next, servers_batch = servers.next, servers.batch

  function servers.next_int(self)
    local id, message, code, wait_s = servers_next(self)
    if not id then return nil, message, code, wait_s end
    return to_int(id)
  end

  function servers.batch_int(self, n)
    local ids, message, code, wait_s = servers_batch(self, n)
    if not ids then return nil, message, code, wait_s end
    for i = 1, #ids do ids[i] = to_int(ids[i]) end
    return ids
  end

  -- Takes what is there in steps; returns how many of the n are in ids_out.
  local function take(gen, n)
    local filled = 0
    while filled < n and next_n(gen, ids_out + filled, n - filled, got_out, pause_out) == 0 do
      filled = filled + tonumber(got_out[0])
    end
    return filled
  end

  function methods.batch_int(self, n)
    local gen = getmetatable(self) == class and cast(box_p, self).begun or nil
    if gen == nil or type(n) ~= "number" or not (n >= 1 and n <= BATCH_MAX) or n % 1 ~= 0 then
      return slow_batch(self, n) -- says what is wrong
    end
    local filled = take(gen, n)
    local ids = new_table(n, 0)
    for i = 1, filled do ids[i] = ids_out[i - 1] end
    if filled == n then return ids end
    local rest, message, code, wait_s = slow_batch(self, n - filled)
    if not rest then return nil, message, code, wait_s end
    for i = 1, #rest do ids[filled + i] = to_int(rest[i]) end
    return ids
  end
end
