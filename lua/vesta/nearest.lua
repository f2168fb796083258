--- vesta.nearest -- what a misspelt name was probably meant to be.  Pure, and the same on every Lua.

local WORD_MAX = 32     -- more of a word is not looked at
local DISTANCE_MAX = 3  -- slips of the pen

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

--- `"wroker", did you mean "worker"?`: the word as it may be shown, and the key of `names` next to it, if one is near.
return function(word, names)
  local shown = word:sub(1, WORD_MAX)
  local best, best_distance
  for name in pairs(names) do
    local d = #word >= 3 and name:sub(1, #word) == word and 0 or distance(shown, name)
    if not best or d < best_distance or (d == best_distance and name < best) then best, best_distance = name, d end
  end
  local hint = best_distance <= DISTANCE_MAX and (', did you mean "%s"?'):format(best) or ""
  return ('"%s"%s'):format(shown:gsub("%c", "?"), hint)
end
