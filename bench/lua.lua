-- lua.lua -- ids from Lua, history pacing, next to atomic adds in C.  Prints one JSON object per sample.
--
--     LUA lua.lua SAMPLES GENERATOR_FILE "COMMAND THAT PRINTS NS PER ADD"
local samples, path, yard_command = tonumber(arg[1]), arg[2], arg[3]
local vesta = require "vesta"

local tiny = os.getenv "BENCH_TINY" -- for a test that ignores the figures
local CALLS = tiny and 2000 or 400000 -- per piece of some 10 ms
local BATCH = 500
local PIECES = 5
local COUNTED = tiny and 5000 or 500000

local gen = assert(vesta.open { path = path, wait_ms_max = 5000 })
assert(gen:next())

-- LuaJIT removes unused results, so they must be used. Plain Lua removes nothing, and each use would cost time.
local first_int = gen:next_int()
local kept = {}

local function run_next(n)
  for _ = 1, n do kept[1] = gen:next() end
  if not kept[1] then error "an id was refused" end
end

local function run_next_int(n)
  if jit then
    for _ = 1, n do if gen:next_int() == first_int then error "a duplicate" end end
  else
    for _ = 1, n do gen:next_int() end
  end
end

local function run_batch(n)
  for _ = 1, n / BATCH do kept[1] = gen:batch(BATCH) end
  if not kept[1] then error "ids were refused" end
end

-- A million random digits. Each string of 19 digits from it has been collected before it occurs again.
local digits, at = {}, 0
for i = 1, 1000000 / 8 do digits[i] = ("%08d"):format(math.random(0, 99999999)) end
digits = table.concat(digits)

-- The minimum cost of an id as text: a C function of Lua that returns a new string.
local function run_fresh(n)
  for _ = 1, n do
    at = at % (#digits - 19) + 1
    kept[1] = digits:sub(at, at + 18)
  end
end

-- Returns nanoseconds of CPU time per call or id.
local function cost(run)
  local begin = os.clock()
  run(CALLS)
  return (os.clock() - begin) * 1e9 / CALLS
end

local function yard()
  local pipe = assert(io.popen(yard_command))
  local ns = assert(tonumber((pipe:read "*l")), "no yardstick")
  pipe:close()
  return ns
end

local function sample()
  local sum = { yard = 0, next = 0, next_int = 0, batch = 0, fresh = 0 }
  for _ = 1, PIECES do
    sum.yard = sum.yard + yard()
    sum.next = sum.next + cost(run_next)
    sum.next_int = sum.next_int + cost(run_next_int)
    sum.batch = sum.batch + cost(run_batch)
    sum.fresh = sum.fresh + cost(run_fresh)
  end
  print(('{"next": %.3f, "next_int": %.3f, "batch": %.3f, "fresh": %.3f, "yard": %.3f}'):format(sum.next / PIECES,
    sum.next_int / PIECES, sum.batch / PIECES, sum.fresh / PIECES, sum.yard / PIECES))
end

local function count()
  local seen, duplicates = {}, 0
  for i = 1, 2 * COUNTED do
    local id = i % 2 == 0 and gen:next() or tostring(gen:next_int()):gsub("LL$", "")
    if seen[id] then duplicates = duplicates + 1 end
    seen[id] = true
  end
  print(('{"ids": %d, "duplicates": %d}'):format(2 * COUNTED, duplicates))
end

cost(run_next); cost(run_next_int); cost(run_batch); cost(run_fresh) -- warm: traces are made
for _ = 1, samples do sample() end
count()
