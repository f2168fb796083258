--- vesta.nearest -- finds the known name that is nearest to a misspelt one.  It works the same in every version of Lua.

local gsub = string.gsub -- a policy's state has no text:gsub

local WORD_MAX = 32  -- maximum bytes of a word that are compared
local SLIPS_MAX = 2  -- maximum distance of a near name, and less for short names
local START_MIN = 3  -- a prefix with at least this many letters also counts as near

-- Returns the optimal string alignment distance: how many letters to insert, delete, replace, or swap with the next
-- one.
local function distance(a, b)
  local rows = { [0] = {} }
  for j = 0, #b do rows[0][j] = j end
  for i = 1, #a do
    local row, above = { [0] = i }, rows[i - 1]
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], rows[i - 2][j - 2] + 1)
      end
    end
    rows[i] = row
  end
  return rows[#a][#b]
end

-- The rule is the same as in csrc/base/nearest.c: spec/vectors/nearest.csv tests both.
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

--- Returns `"wroker", did you mean "worker"?`: the word, fit for a message, and the nearest key of `names`.  The second
-- value is that key, or nil.
return function(word, names)
  local shown = word:sub(1, WORD_MAX)
  local best = meant(shown, names)
  local hint = best and (', did you mean "%s"?'):format(best) or ""
  return ('"%s"%s'):format(gsub(shown, "%c", "?"), hint), best
end
