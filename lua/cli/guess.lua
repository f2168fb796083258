--- guess.lua -- `vesta guess`: ranks the layouts that ids could have.  It tries the presets and the layouts that the
-- caller names.
local cli = require "cli.lib.cli"
local facts = require "facts"
local fields = require "cli.lib.fields"
local ids = require "ids"
local term = require "term"
local vesta = require "vesta"
local wide = require "cli.lib.guess_wide"
local where = require "where"

local IDS_MAX = 1000       -- more ids add no evidence, and the time grows with the square of the count
local NAMESPACES_MAX = 64  -- if a config has more namespaces, each layout is used only once
local SURE = 0.75          -- an answer with at least this share is sure
local LIKELY_MIN = 0.1     -- families below this fraction of the first family's share are listed as less likely
local SHOWN_MIN = 0.0005   -- if there are several ids, families with a smaller share are not printed
local HOUR_MS, DAY_MS = 3600000, 86400000
local MONTH_MS = 30 * DAY_MS     -- minimum age of a proposed epoch, because a younger epoch would fit any number
local EPOCH_DOUBT_MS = DAY_MS // 2
local YEAR_2000_MS = 946684800000
local COUNTER_MAX = 1 << 44 -- an id below this is from a layout's first hours or days, or not an id but a counter
local NAME_AT = 9          -- the column of a layout's name
local LINE_AT = 32         -- the column of a layout's details

---------------------------------------------------------------- suspects

-- Settings that the documentation of a generator tells users to copy.
local VARIANTS = { "uid time:29 worker:21 epoch=2016-09-20T00:00:00+08:00" }

-- Returns the namespaces with the layouts to try.  If there are too many, each layout is tried once.
local function config_layouts(namespaces, config)
  local chosen, seen = {}, {}
  for _, namespace in ipairs(namespaces) do
    local text = namespace.layout
    if text and not (#namespaces > NAMESPACES_MAX and seen[text]) then
      seen[text] = true
      if #chosen == NAMESPACES_MAX then
        cli.fail("%s has more than %d layouts: name some of them with --layout instead", config, NAMESPACES_MAX)
      end
      chosen[#chosen + 1] = namespace
    end
  end
  return chosen
end

-- The caller's layouts come first, so that their names are used if a preset is equal.
local function read_suspects(options)
  local suspects = {}
  local function add(name, text, by)
    suspects[#suspects + 1] = { name = name, text = text, layout = cli.check(facts.layout(text)), by = by }
  end
  for _, text in ipairs(options.layout or {}) do add(text, text, "--layout") end
  local namespaces, config = cli.go(where.namespaces(options))
  for _, namespace in ipairs(config_layouts(namespaces, config)) do
    add(namespace.name, namespace.layout, "the config")
  end
  for _, preset in ipairs(vesta.presets()) do add(preset.name, preset.text) end
  for _, text in ipairs(VARIANTS) do add(text, text) end
  return suspects
end

---------------------------------------------------------------- epochs

-- If no known layout matches --made, --made and the ids determine an epoch for each way to split the bits.

-- Rounds an epoch that is right within a day to the start of a year.  If none is near, rounds it to the start of a
-- month (both in UTC or UTC+8), and if none is near, to the start of a day.
local function rounded(epoch_ms)
  local best, best_apart
  for _, level in ipairs { "year", "month" } do
    for _, ahead_ms in ipairs { 0, 8 * HOUR_MS } do
      local near_ms = epoch_ms + ahead_ms
      for _, ms in ipairs { near_ms, near_ms + DAY_MS } do -- the start may be in the next day
        local date = os.date("!*t", ms // 1000)
        local start_ms = term.time(("%04d-%02d-01T00:00:00Z"):format(date.year, level == "year" and 1 or date.month))
          - ahead_ms
        local apart = math.abs(start_ms - epoch_ms)
        if start_ms >= 0 and apart <= EPOCH_DOUBT_MS and (not best or apart < best_apart) then
          best, best_apart = start_ms, apart
        end
      end
    end
    if best then return best end
  end
  return (epoch_ms + DAY_MS // 2) // DAY_MS * DAY_MS
end

-- Returns a key that is equal for layouts with the same unit and fields at the same bits.  Names and epochs may differ.
local function split_key(layout)
  local words = { layout.unit }
  for i, field in ipairs(layout.fields) do
    local role = i == layout.time and "t" or i == layout.seq and "s" or i == layout.worker and "w" or "f"
    words[#words + 1] = ("%s%d@%d,%s"):format(role, field.width, field.shift, field.low_width or "")
  end
  return table.concat(words, " ")
end

-- Returns whether a generator could have this epoch.  Known generators have an epoch from 2000 on, or 1970.
local function is_epoch(g, epoch_ms)
  return (epoch_ms >= YEAR_2000_MS or math.abs(epoch_ms) < EPOCH_DOUBT_MS) and epoch_ms < g.made_ms - MONTH_MS
end

-- Proposes each preset's split of bits, with the epoch that dates the ids to --made.
local function with_epochs(g, found)
  local proposed, seen = {}, {}
  for _, preset in ipairs(vesta.presets()) do
    local layout = facts.layout(preset.text)
    local key, time = split_key(layout), layout.fields[layout.time]
    local low, high = math.maxinteger, 0
    for _, id in ipairs(found) do
      local at = fields.time_ms(layout, fields.get(time, id)) - layout.epoch_ms
      low, high = math.min(low, at), math.max(high, at)
    end
    local epoch_ms = g.made_ms - (low + high) // 2
    if not seen[key] and high - low <= DAY_MS and is_epoch(g, epoch_ms) then
      local name = ("%s epoch=%s"):format(preset.name, term.iso(rounded(epoch_ms)))
      proposed[#proposed + 1] = { name = name, text = name, layout = facts.layout(name), is_proposed = true }
    end
    seen[key] = true
  end
  return proposed
end

---------------------------------------------------------------- judgement

-- Returns the total share of the layouts that decode the same times as the first layout does.
local function share_of_first(g)
  local best, sum = g.ranked[1].layout, 0
  local a = best.fields[best.time]
  for _, suspect in ipairs(g.ranked) do
    local other = suspect.layout
    local b = other.fields[other.time]
    if a.shift == b.shift and a.width == b.width and best.unit_us == other.unit_us
      and best.epoch_ms == other.epoch_ms then
      sum = sum + suspect.share
    end
  end
  return sum
end

-- Returns whether the answer is sure.  A single id is not sufficient without --made, because it can match a wrong
-- layout by chance.  A proposed epoch is never sure, because it fits any id.
local function is_sure(g)
  return #g.ranked > 0 and not g.ranked[1].is_proposed and (not g.id or g.made_ms ~= nil) and share_of_first(g) >= SURE
end

local function is_likely(g, suspect)
  return suspect.family_share >= LIKELY_MIN * g.ranked[1].family_share
end

-- Groups the ranked suspects by family.
local function families_of(g)
  local families = {}
  for _, suspect in ipairs(g.ranked) do
    local family = families[suspect.family] or {}
    families[suspect.family] = family
    family[#family + 1] = suspect
  end
  return families
end

-- Returns the earliest and the latest time of all ids under a layout, and the number of their workers.
local function summary_of(g, layout)
  local time, worker = layout.fields[layout.time], layout.fields[layout.worker]
  local first, last, workers, count = math.maxinteger, 0, {}, 0
  for _, id in ipairs(g.ids) do
    local at, number = fields.get(time, id), worker and fields.get(worker, id) or 0
    first, last = math.min(first, at), math.max(last, at)
    if not workers[number] then workers[number], count = true, count + 1 end
  end
  return fields.time_ms(layout, first), fields.time_ms(layout, last), count
end

---------------------------------------------------------------- for people

local function percent(share)
  if share > 0.99 and share < 1 then return ">99 %" end
  if share < 0.01 then return "<1 %" end
  return ("%.0f %%"):format(share * 100)
end

-- Marks a value that makes the layout less likely.
local function mark(suspect, index) return suspect.odd[index] and "?" or "" end

-- Formats the decoded time and fields of a single id.
local function id_details(g, suspect)
  local layout = suspect.layout
  local from_ms = summary_of(g, layout)
  local when = ("%s, %s%s"):format(term.iso(from_ms), term.ago(from_ms, g.now_ms), mark(suspect, layout.time))
  local details = { ("%-39s"):format(when) }
  for i, field in ipairs(layout.fields) do
    if i ~= layout.time and not field.constant then
      details[#details + 1] = ("%s=%d%s"):format(field.name, fields.get(field, g.id), mark(suspect, i))
    end
  end
  return table.concat(details, " ")
end

local function ids_details(g, layout)
  local from_ms, until_ms, workers = summary_of(g, layout)
  local details = ("%s to %s"):format(term.iso(from_ms), term.iso(until_ms))
  if not layout.worker then return details end
  return ("%s, %d worker%s"):format(details, workers, workers == 1 and "" or "s")
end

local function print_suspect(g, suspect, indent)
  local name = indent .. suspect.name
  cli.printf("  %5s  %-21s  ", percent(suspect.share), name)
  term.fitted(g.id and id_details(g, suspect) or ids_details(g, suspect.layout), LINE_AT,
    math.max(LINE_AT, NAME_AT + #name + 2))
end

-- Prints a family.  Its layouts have the same time field and differ in the epoch, which an id does not show.
local function print_family(g, family, has_head)
  if has_head then
    local layout = family[1].layout
    cli.printf("  %5s  a time in units of %s from bit %d on:\n", percent(family[1].family_share), layout.unit,
      layout.fields[layout.time].shift)
  end
  for _, suspect in ipairs(family) do print_suspect(g, suspect, has_head and "  " or "") end
end

local function print_families(g)
  local said_less = false
  for number, family in ipairs(families_of(g)) do
    if g.id or number == 1 or family[1].family_share >= SHOWN_MIN then
      local likely = is_likely(g, family[1])
      if not likely and not said_less then term.out "\n  less likely:\n" end
      said_less = said_less or not likely
      print_family(g, family, likely and #family > 1)
    end
  end
  cli.printf("\n  %5s  none of these%s\n", percent(g.none), g.made_ms and "" or ", or one of them with another epoch")
end

local function are_small(found)
  for _, id in ipairs(found) do
    if not math.ult(id, COUNTER_MAX) then return false end
  end
  return true
end

local function print_doubt(g)
  if #g.ranked > 0 and g.id then
    term.out "\n  ? less likely: early in the layout's life, or a field more than half full\n"
  end
  if is_sure(g) then return end
  if are_small(g.ids) then
    term.out "\n  "
    term.fitted("Numbers this small usually come from a counter: AUTO_INCREMENT, a sequence, or a segment of Leaf or "
      .. "tinyid.  A counter has no layout.  docs/migrate/README.md shows how to continue a counter.", 2, 2)
  end
  local doubt = "This is not yet an answer"
  if #g.ranked > 0 and g.ranked[1].is_proposed then
    doubt = "The epoch follows from --made, and is right within a day"
  elseif #g.ranked == 0 then
    doubt = "The layout may be one that guess does not know"
  elseif not g.id and g.ranked[1].family_share >= SURE then
    doubt = "The bits of the time are clear, but not its epoch"
  end
  cli.printf("\n  %s.  To narrow it down:\n", doubt)
  if #g.ids < 10 then term.out "    give more ids of the same kind\n" end
  if g.made_ms and #g.ranked == 0 and not g.id then
    term.out "    give only ids of the day of --made, or leave --made out\n"
  end
  if #g.ranked == 0 and not g.id then
    term.out "    if the ids come from several generators, judge each by itself: --each\n"
  end
  if not g.made_ms then term.out "    add the time when they were made: --made now, --made 2026-01-31\n" end
  term.out "    add layouts of your own: --layout TEXT, -c FILE\n"
end

local function print_for_people(g)
  local has_answer = #g.ranked > 0
  local by = g.made_ms and "within a day of --made" or "by now"
  if g.id then
    cli.printf("%s  %s\n", cli.unsigned(g.id),
      has_answer and "could be, likeliest first:" or "none of the layouts could have made this id " .. by)
  else
    cli.printf("%s ids of one layout  %s\n", term.grouped(#g.ids),
      has_answer and "could be, likeliest first:" or "none of the layouts could have made all of them " .. by)
  end
  if has_answer then print_families(g) end
  print_doubt(g)
end

---------------------------------------------------------------- JSON

local function family_json(g, family)
  local first, names = family[1], {}
  for i, suspect in ipairs(family) do names[i] = suspect.name end
  return cli.object { { "unit", first.layout.unit }, { "bit", first.layout.fields[first.layout.time].shift },
    { "share", cli.raw("%.6f", first.family_share) }, { "likely", is_likely(g, first) }, { "layouts", names } }
end

local function suspect_json(g, suspect)
  local layout = suspect.layout
  local from_ms, until_ms, workers = summary_of(g, layout)
  local object = { { "layout", suspect.name }, { "share", cli.raw("%.6f", suspect.share) } }
  local function add(key, value) object[#object + 1] = { key, value } end
  if not g.id then
    add("from_ms", from_ms)
    add("until_ms", until_ms)
    add("workers", workers)
    return cli.object(object)
  end
  local against = {}
  for i, field in ipairs(layout.fields) do
    if suspect.odd[i] then against[#against + 1] = field.name end
  end
  add("worker", layout.worker and fields.get(layout.fields[layout.worker], g.id) or 0)
  add("seq", layout.seq and fields.get(layout.fields[layout.seq], g.id) or 0)
  add("unix_ms", from_ms)
  add("iso", term.iso(from_ms))
  add("against", against)
  return cli.object(object)
end

local function print_json(g)
  local families, guesses = families_of(g), {}
  for i, family in ipairs(families) do families[i] = family_json(g, family) end
  for i, suspect in ipairs(g.ranked) do guesses[i] = suspect_json(g, suspect) end
  cli.json(cli.object { g.id and { "id", cli.unsigned(g.id) } or { "ids", #g.ids },
    { "none", cli.raw("%.6f", g.none) }, { "sure", is_sure(g) }, { "families", families }, { "guesses", guesses } })
end

---------------------------------------------------------------- the command

local function rank(g, suspects, rankable)
  g.ranked, g.none = ids.rank(rankable, g.ids, g.now_ms, g.made_ms)
  for _, ranked in ipairs(g.ranked) do
    local suspect = suspects[ranked.index]
    ranked.name, ranked.layout, ranked.is_proposed = suspect.name, suspect.layout, suspect.is_proposed
  end
end

-- Prints the guess for some ids, and returns an exit code.
local function judge(g, found)
  g.ids, g.id = found, #found == 1 and found[1] or nil
  rank(g, g.suspects, g.rankable)
  if g.made_ms and not is_sure(g) then
    local all = with_epochs(g, found)
    if #all > 0 then
      table.move(g.suspects, 1, #g.suspects, #all + 1, all)
      rank(g, all, ids.suspects(all))
      if g.none > 0.5 then rank(g, g.suspects, g.rankable) end
    end
  end
  if g.is_json then
    print_json(g)
  else
    if not g.is_first then term.out "\n" end
    print_for_people(g)
  end
  g.is_first = false
  return #g.ranked > 0 and 0 or 1
end

-- Prints the guess for some ids of 128 bits, and returns an exit code.
local function judge_wide(g, texts)
  if not g.is_first and not g.is_json then term.out "\n" end
  g.is_first = false
  return wide.judge(texts, g)
end

local function guess_each(g, options, operands)
  return term.each_id(options.format, operands, function(id) return judge(g, { id }) end,
    function(text) return judge_wide(g, { text }) end)
end

local function guess_all(g, options, operands)
  local found, texts, more = {}, {}, 0
  local function taker(list)
    return function(id)
      if #list < IDS_MAX then list[#list + 1] = id else more = more + 1 end
      return 0
    end
  end
  local code = term.each_id(options.format, operands, taker(found), taker(texts))
  if more > 0 then
    term.say(("only the first %d ids are examined, and %s more are ignored"):format(IDS_MAX, term.grouped(more)))
  end
  if #found > 0 then code = math.max(code, judge(g, found)) end
  for _, alike in ipairs(wide.groups(texts)) do code = math.max(code, judge_wide(g, alike)) end
  return code
end

-- Prints the layouts of the options and the config.  Presets are omitted, because they never change.
local function print_effective(options, suspects)
  local rows = {}
  for _, suspect in ipairs(suspects) do
    if suspect.by then
      local is_flag = suspect.by == "--layout"
      rows[#rows + 1] = { key = is_flag and "layout" or suspect.name, is_flag = is_flag, by = suspect.by,
        value = is_flag and suspect.text or suspect.layout.text }
    end
  end
  return where.print(options, rows)
end

local function read_made(text, now_ms)
  local made_ms, length_ms = cli.time(text, now_ms)
  return made_ms + length_ms // 2
end

local function run(options, operands)
  local now_ms = term.now_ms()
  local made_ms = options.made and read_made(options.made, now_ms)
  local suspects = read_suspects(options)
  if options.effective then return print_effective(options, suspects) end
  local g = { suspects = suspects, rankable = ids.suspects(suspects), now_ms = now_ms, made_ms = made_ms,
    is_json = options.json, is_first = true }
  return (options.each and guess_each or guess_all)(g, options, operands)
end

return {
  order = 50,
  line = "guess the layout of ids",
  usage = "guess [OPTION...] [ID...]",
  about = [[
Lists the layouts that all of the ids could have, likeliest first, each with its probability.  It tries
every preset, the settings in UidGenerator's README, and the layouts that you add.

The result is a guess, because an id does not contain its layout.  A layout is likely if the decoded times
are recent and close together, the sequences low, and the workers few.  Unlikely values are marked with ?.
More ids with the same layout improve the guess.  The time at which they were generated (--made) improves it
most, because an id does not show its epoch.  Layouts that differ only in their epoch form one group.  If no
known layout matches --made, guess calculates the epoch from it.  The exit code is 1 if no layout fits.
More: docs/cli.md.

  $ vesta guess 1138729511026688
  1138729511026688  could be, likeliest first:
     69 %  vesta-legacy-second    2015-05-22T06:41:04Z, 11 years ago? ...
      9 %  a time in units of 10ms from bit 24 on:
      8 %    sonyflake-v2         2025-01-08T20:32:15.680Z, 683 days ago? ...
     ...
     18 %  none of these, or one of them with another epoch

  $ psql -Atc 'select id from orders limit 100' | vesta guess \
    --layout 'snowflake epoch=2020-01-01T00:00:00Z'
  100 ids of one layout  could be, likeliest first:
  ...

  $ vesta guess 017f22e2-79b0-7cc3-98c4-dc0c0c07398f
  017f22e2-79b0-7cc3-98c4-dc0c0c07398f  UUID, could be, likeliest first:
    uuid7   2022-02-22T19:22:22Z, 4 years ago
]],
  options = {
    { name = "layout", kind = "texts", value = "TEXT",
      help = "a layout to try in addition to the presets (may be repeated)" },
    { name = "config", letter = "c", value = "FILE",
      help = "also try the layouts of the namespaces in this server config" },
    { name = "made", value = "TIME", help = "the ids were generated within a day of this time: -1h, 2026-01-31" },
    { name = "each", kind = "switch", help = "judge each id separately, because the ids may have different layouts" },
    { name = "format", kind = "choice", value = "any|dec|hex|base32|base62",
      help = "how the ids are written (default: any)" },
    where.EFFECTIVE,
    { name = "json", kind = "switch", help = "print a JSON object (with --each, one per id)" },
  },
  run = run,
}
