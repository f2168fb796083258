--- vesta.fast -- LuaJIT: the hot calls through the FFI, so that a trace holds them, and 64-bit integers as cdata.
-- Replaces next and batch (where the compiler is on: interpreted FFI is slower than a C function), next_int and
-- batch_int of the generator's class.  Ids that are there at once never leave the trace; a pause, a generator's first
-- call, a closed one or a wrong argument goes to the function that was there before, which knows how to wait and what
-- to say.
-- Declares no C names: loading it twice, or beside other libraries, is harmless.
local ffi = require "ffi"

local BATCH_MAX = 10000

local cast, istype, text = ffi.cast, ffi.istype, ffi.string
local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local box_p = ffi.typeof "struct { void *class, *begun; } *" -- how struct box of csrc/rock/gen.c begins
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

  -- Where ids are until they are Lua's.  Lua's memory is asked for meanwhile, and with that a finalizer may run, or a
  -- debug hook, which may ask for ids as well: it gets them the other way.  (Where memory ran out it stays busy, and
  -- all do.)
  local text_out, texts_out, ints_out = chars(room), chars(piece * room), ffi.new("int64_t[?]", piece)
  local busy = false

  -- The C side reads no cdata: it hands them here and takes the decimal string.
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

  -- A client's: its integers are made of its texts.
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

  -- A batch: `take` puts ids where `read` finds them, from 0 on.  Those that are not there at once come the slow way,
  -- as texts, which `parse_rest` turns into what is wanted.
  local function batch_by(take, out, read, parse_rest)
    return function(self, n)
      if not is_right(self, n) then return slow_batch(self, n) end -- which says what is wrong
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
