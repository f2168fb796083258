--- vesta.fast -- for LuaJIT: makes the hot calls through the FFI, so that a trace can contain them, and adds 64-bit
-- integers as cdata.
-- The module replaces next_int and batch_int of the generator's class.  If the compiler is on, it also replaces next
-- and batch.  Otherwise it does not, because interpreted FFI calls are slower than a C function.  An id that is
-- available at once never leaves the trace.  Pauses, the first call of a generator, closed generators and wrong
-- arguments go to the replaced function, which waits or reports the error.  The module declares no C names, so it can
-- be loaded twice, and with other libraries.
local ffi = require "ffi"

local BATCH_MAX = 10000

local cast, istype, text = ffi.cast, ffi.istype, ffi.string
local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local box_p = ffi.typeof "struct { void *class, *begun; } *" -- the first members of struct box in csrc/rock/gen.c
local chars = ffi.typeof "char[?]"
local min = math.min

local has_new, new_table = pcall(require, "table.new")
if not has_new then new_table = function() return {} end end

local function call(ctype, address) return cast(ctype, cast("uintptr_t", address)) end

return function(core)
  local next_int = call("int64_t (*)(void *)", core.calls.next_int)
  local next_text = call("int (*)(void *, char *)", core.calls.next_text)
  local next_ints = call("int (*)(void *, int, int64_t *)", core.calls.next_ints)
  local next_texts = call("int (*)(void *, int, char *)", core.calls.next_texts)
  local format = call("int (*)(uint64_t, char *)", core.calls.format)
  local parse = call("int64_t (*)(const char *)", core.calls.parse)
  local piece, room = core.calls.piece, core.calls.text_room

  local class = core.gen
  local methods = class.__index
  local slow_next, slow_batch = methods.next, methods.batch

  -- Buffers for ids until they become Lua values.  Creating a Lua value can run a finalizer or a debug hook, which may
  -- request ids as well.  While `busy` is set, such calls use the slow functions.  After an out-of-memory error `busy`
  -- stays set, so all later calls use the slow functions.
  local text_out, texts_out, ints_out = chars(room), chars(piece * room), ffi.new("int64_t[?]", piece)
  local busy = false

  -- C cannot read cdata, so it calls this function to get the decimal string.
  core.set_cdata_reader(function(value)
    if istype(int64, value) or istype(uint64, value) then
      local digits = chars(room)
      return text(digits, format(cast(uint64, value), digits))
    end
  end)

  local segments = core.segment_class.__index
  local next_number = segments.next

  function segments.next_int(self)
    local number, message, code, wait_s = next_number(self)
    if not number then return nil, message, code, wait_s end
    return parse(number)
  end

  local function next(self)
    if getmetatable(self) == class and not busy then
      local gen = cast(box_p, self).begun
      if gen ~= nil then
        busy = true
        local length = next_text(gen, text_out)
        local id = length > 0 and text(text_out, length)
        busy = false
        if id then return id end
      end
    end
    return slow_next(self)
  end

  function methods.next_int(self)
    if getmetatable(self) ~= class then return slow_next(self) end
    local gen = cast(box_p, self).begun
    if gen ~= nil then
      local id = next_int(gen)
      if id ~= 0 then return id end
    end
    local id, message, code, wait_s = slow_next(self)
    if not id then return nil, message, code, wait_s end
    return parse(id)
  end

  -- The class of clients returns only decimal strings, so its next_int and batch_int parse these strings.
  local servers = core.servers.__index
  local servers_next, servers_batch = servers.next, servers.batch

  function servers.next_int(self)
    local id, message, code, wait_s = servers_next(self)
    if not id then return nil, message, code, wait_s end
    return parse(id)
  end

  function servers.batch_int(self, n)
    local ids, message, code, wait_s = servers_batch(self, n)
    if not ids then return nil, message, code, wait_s end
    for i = 1, #ids do ids[i] = parse(ids[i]) end
    return ids
  end

  local function is_right(self, n)
    return getmetatable(self) == class and type(n) == "number" and n >= 1 and n <= BATCH_MAX and n % 1 == 0
  end

  -- Returns a batch function.  take() fills `out`, and read(i) returns its i-th id, from 0 on.  Ids that are not
  -- available at once come from slow_batch as texts, which parse_rest converts.
  local function batch_by(take, out, read, parse_rest)
    return function(self, n)
      if not is_right(self, n) then return slow_batch(self, n) end -- it reports the error
      local gen, ids, filled = cast(box_p, self).begun, new_table(n, 0), 0
      if gen ~= nil and not busy then
        busy = true
        repeat
          local got = take(gen, min(n - filled, piece), out)
          for i = 1, got do ids[filled + i] = read(i - 1) end
          filled = filled + got
        until got == 0 or filled == n
        busy = false
        if filled == n then return ids end
      end
      local rest, message, code, wait_s = slow_batch(self, n - filled)
      if not rest then return nil, message, code, wait_s end
      for i = 1, #rest do ids[filled + i] = parse_rest(rest[i]) end
      return ids
    end
  end

  local function read_text(i) return text(texts_out + i * room, texts_out[i * room + room - 1]) end
  local function read_int(i) return ints_out[i] end
  local function as_it_is(id) return id end

  methods.batch_int = batch_by(next_ints, ints_out, read_int, parse)
  if jit.status() then
    methods.next, methods.batch = next, batch_by(next_texts, texts_out, read_text, as_it_is)
  end
end
