--- layout.lua -- `vesta layout`: lists the presets, explains a layout, or proves whether two layouts can collide.
local cli = require "cli.lib.cli"
local facts = require "facts"
local store = require "store"
local term = require "term"
local vesta = require "vesta"

local TEXT_MAX = 4096 -- maximum bytes of a layout that is joined from several operands

---------------------------------------------------------------- shards

-- Returns the expression by which an application chooses one of N shards.
local function shard_key(shift) return shift == 0 and "id % N" or ("(id >> %d) %% N"):format(shift) end

-- Returns how even shards by id % N are if a worker issues few ids, and whether they are uneven.
local function shards_now(layout)
  local shards = layout.shards
  if shards.start == "shards" then
    local key = shard_key(shards.shift):gsub("N", tostring(shards.starts))
    return ("even by %s: each id belongs to the shard after that of the id before it"):format(key), false
  elseif shards.below > 0 then
    local text = "uneven by id %% N for even N: the lowest %d bits are equal in all ids of a worker"
    return text:format(shards.below), true
  elseif shards.starts < 2 then
    return "uneven by id % N for even N: at low rates each sequence starts at 0", true
  elseif shards.starts < 1024 then
    return ("uneven by id %% N for many N: at low rates each sequence starts below %d"):format(shards.starts), true
  end
  local text = "about even by id %% N: each sequence starts at one of %s values, %s"
  return text:format(term.grouped(shards.starts), shards.start == "spread" and "at random" or "in turn"), false
end

-- Returns how to get even shards.
local function shards_advice(layout)
  local shards = layout.shards
  local key = shard_key(shards.shift)
  if shards.max == 1 then return ("For even shards, use pacing=history and choose them by %s."):format(key) end
  local text = ("For N even shards, add seq_start=shards:N and choose them by %s"):format(key)
  if shards.max >= 1024 then return text .. "." end
  local more = "choose them by a hash of the id"
  if shards.by_history then
    more = "use pacing=history instead of seq_start"
  elseif shards.wider then
    more = ("also widen the sequence by %s, and choose them by %s"):format(shards.wider, shard_key(shards.wider_shift))
  end
  return ("%s, up to N = %d. For more shards, %s."):format(text, shards.max, more)
end

local function shards_json(layout)
  local shards = layout.shards
  local now, is_uneven = shards_now(layout)
  return cli.object { { "now", now }, { "uneven", is_uneven }, { "by", shard_key(shards.shift) },
    { "seq_start", shards.max > 1 and "shards:N" or cli.null }, { "max", shards.max },
    { "above", shards.max < 1024 and (shards.by_history and "pacing=history" or shards.wider) or cli.null } }
end

local function print_shards(layout)
  cli.printf("  shards          ")
  term.fitted((shards_now(layout)), 18, 18)
  if layout.shards.start == "shards" then return end
  cli.printf("%18s", "")
  term.fitted(shards_advice(layout), 18, 18)
end

---------------------------------------------------------------- presets

local function print_presets_json(now_ms)
  for _, preset in ipairs(vesta.presets()) do
    local layout = cli.check(facts.layout(preset.text))
    cli.json(cli.object { { "name", preset.name }, { "text", preset.text }, { "unit", layout.unit },
      { "epoch", term.iso(layout.epoch_ms) }, { "end", term.iso(layout.end_ms) }, { "over", layout.end_ms <= now_ms },
      { "about", preset.about }, { "source", preset.source }, { "issue", preset.may_issue }, { "why", preset.why },
      { "shards", preset.may_issue and shards_json(layout) or cli.null } })
  end
end

local function print_presets(now_ms)
  cli.printf("%-19s  %11s  %-17s  %s\n", "PRESET", "IDS/S", "ENDS", "ABOUT")
  for _, preset in ipairs(vesta.presets()) do
    local layout = cli.check(facts.layout(preset.text))
    local ends = term.iso(layout.end_ms):gsub("T.*", layout.end_ms <= now_ms and " (over)" or "")
    cli.printf("%-19s  %11s  %-17s  ", preset.name, term.grouped(layout.per_second), ends)
    term.fitted(preset.about, 53, 53)
  end
end

---------------------------------------------------------------- one layout

local function print_json(layout)
  local fields = {}
  for i, field in ipairs(layout.fields) do
    local pairs = { { "name", field.name }, { "width", field.width }, { "shift", field.shift },
      { "max", cli.count(field.max) } }
    for _, key in ipairs { "low_width", "low_shift", "constant" } do
      if field[key] then table.insert(pairs, { key, cli.count(field[key]) }) end
    end
    fields[i] = cli.object(pairs)
  end
  cli.json(cli.object { { "text", layout.text }, { "fields", fields }, { "unit", layout.unit },
    { "unit_ms", cli.raw("%g", layout.unit_us / 1000) }, { "epoch", term.iso(layout.epoch_ms) },
    { "end", term.iso(layout.end_ms) }, { "per_second", cli.count(layout.per_second) },
    { "workers", cli.count(layout.workers) }, { "issue", layout.read_only == nil },
    { "fingerprint", layout.fingerprint }, { "shards", not layout.read_only and shards_json(layout) or cli.null } })
end

-- Formats a time unit for a sentence: "ms", "10 ms".
local function unit_name(unit)
  local count, name = unit:match "^(%d+)(.*)$"
  return count == "1" and name or count .. " " .. name
end

local function print_layout(layout, now_ms)
  cli.printf("%s\n\n", layout.text)
  term.draw_layout(layout.text)
  cli.printf("\n  ids per worker  %s in a second (%s per %s)\n", term.grouped(layout.per_second),
    term.grouped(layout.per_unit), unit_name(layout.unit))
  cli.printf("  workers         %s\n", term.grouped(layout.workers))
  local is_over = layout.end_ms <= now_ms
  cli.printf("  time            %s to %s, %s %s\n", term.iso(layout.epoch_ms), term.iso(layout.end_ms),
    is_over and "ended" or "ends", term.ago(layout.end_ms, now_ms))
  cli.printf("  fingerprint     %s\n", layout.fingerprint)
  if not layout.read_only then print_shards(layout) end
  if layout.read_only then cli.printf("\n  Its ids can be read, not issued: %s.\n", layout.read_only) end
  if is_over then
    cli.printf("\n  !! The time of this layout ended at %s.  It can still read old ids but issues no new ones.\n"
      .. "  !! To extend it, override it with a later epoch=, or with a wider time field.\n", term.iso(layout.end_ms))
  elseif not layout.read_only then
    local warning, why = store.lifetime(layout.text)
    local text = warning ~= "" and (warning or why)
    if text then cli.printf("\n  !! %s\n", text) end
  end
end

---------------------------------------------------------------- prove

-- Returns the first instant by which the layouts can collide.  Binary search works, because layouts that can collide
-- before an instant can also collide before every later instant.
local function first_collision(q)
  local low, high = q.from_ms, math.max(q.first.end_ms, q.second.end_ms)
  high = math.min(high, q.until_ms)
  while low < high do
    local middle = low + (high - low) // 2
    if facts.prove(q.first.text, q.second.text, q.from_ms, middle + 1).by == "collide" then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

local function read_times(options)
  local now_ms = term.now_ms()
  local from_ms = options.from and cli.time(options.from, now_ms) or now_ms
  local until_ms = options["until"] and cli.time(options["until"], now_ms) or math.maxinteger
  if until_ms <= from_ms then
    cli.usage("--until must be later than %s", options.from and "--from" or "now, when the second layout's ids begin")
  end
  return from_ms, until_ms
end

local function print_made(q, layout, title)
  local parts = cli.check(vesta.layout(layout.text):explain(q.proof.id))
  local words = {}
  for i, field in ipairs(layout.fields) do words[i] = (" %s=%s"):format(field.name, parts[field.name]) end
  cli.printf("  %s  made at %s:%s\n", title, parts.iso, table.concat(words))
end

local function print_collision(q)
  cli.printf("can be equal: both can make %s\n", q.proof.id)
  print_made(q, q.first, "the first ")
  print_made(q, q.second, "the second")
  if q.differ_until_ms > q.from_ms then
    cli.printf("not before %s: until then, ids of the second from %s on differ from all ids of the first\n",
      term.iso(q.differ_until_ms), term.iso(q.from_ms))
  else
    term.out "no constant fields differ at the same bit: add one to a layout, such as version:1=1\n"
  end
end

local function print_proof(q)
  if q.proof.by == "times" then
    cli.printf("never equal by their times: ids of the first, of any time, and of the second from %s on%s\n",
      term.iso(q.from_ms), q.has_until and ", both until " .. term.iso(q.until_ms) or "")
    return
  end
  local a, b = q.first.fields[q.proof.field[1]], q.second.fields[q.proof.field[2]]
  local first = a.constant >> (q.proof.bit - a.shift) & 1
  cli.printf("never equal: bit %d is %d in ids of the first (%s=%s), %d in the second (%s=%s)\n", q.proof.bit, first,
    a.name, cli.unsigned(a.constant), 1 - first, b.name, cli.unsigned(b.constant))
end

local function print_proof_json(q)
  local proof = q.proof
  local function side(layout, index)
    local pairs = { { "text", layout.text } }
    if proof.by == "bits" then
      local field = layout.fields[index]
      table.insert(pairs, { "field", field.name })
      table.insert(pairs, { "value", cli.count(field.constant) })
    end
    return cli.object(pairs)
  end
  local pairs = { { "equal", proof.by == "collide" and "possible" or "never" }, { "by", proof.by },
    { "first", side(q.first, proof.field and proof.field[1]) },
    { "second", side(q.second, proof.field and proof.field[2]) } }
  if proof.bit then table.insert(pairs, { "bit", proof.bit }) end
  table.insert(pairs, { "from", term.iso(q.from_ms) })
  if q.has_until then table.insert(pairs, { "until", term.iso(q.until_ms) }) end
  if proof.by == "collide" then
    table.insert(pairs, { "id", proof.id })
    table.insert(pairs, { "not_before", term.iso(q.differ_until_ms) })
  end
  cli.json(cli.object(pairs))
end

local function prove(options, operands)
  if #operands ~= 2 then
    cli.usage("prove needs two layouts (quote a layout of several words), got %d", #operands)
  end
  local q = { first = cli.check(facts.layout(operands[1])), second = cli.check(facts.layout(operands[2])) }
  q.from_ms, q.until_ms = read_times(options)
  q.has_until = options["until"] ~= nil
  q.proof = facts.prove(q.first.text, q.second.text, q.from_ms, q.until_ms)
  local collide = q.proof.by == "collide"
  if collide then q.differ_until_ms = first_collision(q) end
  local print = options.json and print_proof_json or collide and print_collision or print_proof
  print(q)
  return collide and 1 or 0
end

---------------------------------------------------------------- the command

local function run(options, operands)
  if operands[1] == "prove" then
    if options.layout then cli.usage("prove takes two layouts as operands: leave out --layout") end
    return prove(options, table.move(operands, 2, #operands, 1, {}))
  end
  if options.from or options["until"] then cli.usage("--from and --until are for prove") end
  if operands[1] and options.layout then
    cli.usage("the layout is given twice: as %s and as --layout", term.shown(operands[1]))
  end
  local now_ms = term.now_ms()
  if not operands[1] and not options.layout then
    return (options.json and print_presets_json or print_presets)(now_ms)
  end
  local text = options.layout or table.concat(operands, " ") -- the layout may be written without quotes
  if not options.layout and #text >= TEXT_MAX then cli.usage("the layout is longer than %d bytes", TEXT_MAX) end
  local layout = cli.check(facts.layout(text))
  if options.json then print_json(layout) else print_layout(layout, now_ms) end
end

return {
  order = 80,
  line = "list the presets, explain a layout, or compare two",
  usage = "layout [OPTION...] [TEXT|PRESET | prove A B]",
  about = [[
Without operands, lists the presets with the number of ids that a worker can issue per second.

With a layout, prints its canonical text, a picture of its bits, its capacity, the time at which its time
field ends, and the fingerprint that generator files are checked against.  You can append overrides to a
preset, for example `uid epoch=2026-01-01T00:00:00Z`.

prove A B checks whether an id of layout A can ever equal an id of layout B.  It prints the bit or the times
in which the ids differ, or an id that both layouts can generate.  It assumes that ids of A can have any
time before --until, and ids of B any time from --from to --until.  The exit code is 0 if the layouts never
collide, and 1 if they can.  More: docs/layouts.md.

  $ vesta layout
  PRESET                     IDS/S  ENDS               ABOUT
  vesta-second           1,048,576  2049-01-09         Vesta (Java) ...
  ...

  $ vesta layout uid epoch=2026-01-01T00:00:00Z
  sign:1=0 time:28 worker:22 seq:13 unit=1s epoch=2026-01-01T00:00:00Z
  ...

  $ vesta layout prove vesta-second vesta-milli
  never equal: bit 62 is 0 in ids of the first (type=0), 1 in the ...
]],
  options = {
    { name = "layout", value = "TEXT|PRESET", help = "the layout, like the operand" },
    { name = "from", value = "TIME", help = "prove: no id of layout B is generated before this time (default: now)" },
    { name = "until", value = "TIME", help = "prove: ignore ids generated from this time on (default: no limit)" },
    { name = "json", kind = "switch", help = "print JSON objects" },
  },
  run = run,
}
