--- vesta.nearest -- what a misspelt name was probably meant to be.  Pure, and the same on every Lua.

local gsub = string.gsub -- a policy's state has no text:gsub

local WORD_MAX = 32  -- more of a word is not looked at
local SLIPS_MAX = 2  -- of the pen, and fewer in short names
local START_MIN = 3  -- so many letters that begin a name resemble it

-- Levenshtein's distance, one row at a time.
local function distance(a, b)
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      corner, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, corner + cost)
    end
  end
  return row[#b]
end

-- The same rule as in csrc/base/nearest.c: spec/vectors/nearest.csv.
local function meant(word, names)
  local best, best_distance, begun = nil, SLIPS_MAX + 1, nil
  for name in pairs(names) do
    local d = distance(word, name)
    if d * 2 <= #name and (d < best_distance or (d == best_distance and best and name < best)) then
      best, best_distance = name, d
    end
    if #word >= START_MIN and name:sub(1, #word) == word and not (begun and begun < name) then begun = name end
  end
  return best or begun
end

--- `"wroker", did you mean "worker"?`: the word as it may be shown, with the key of `names` that was meant, if any.
-- The second value is that key or nil.
return function(word, names)
  local shown = word:sub(1, WORD_MAX)
  local best = meant(shown, names)
  local hint = best and (', did you mean "%s"?'):format(best) or ""
  return ('"%s"%s'):format(gsub(shown, "%c", "?"), hint), best
end
