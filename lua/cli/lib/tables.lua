--- tables.lua -- prints tables.  They are cut to the width of a terminal, and complete in files and pipes.
--
-- A column is { title, width, narrow }.  A negative width aligns to the left.  `narrow` is the width on a terminal that
-- has no room for all columns, and 0 omits the column there.  The last column takes the rest of the line.
-- A row is a list of texts.  row.paint[i], if set, is the color of the i-th text: "red", "yellow" or "cyan".
local term = require "term"

local CELL_MIN = 8 -- the least width of the last column

local tables = {}

--- Returns whether the terminal has no room for all columns.
function tables.is_narrow(columns)
  local all, room = -2, term.columns()
  for _, column in ipairs(columns) do all = all + math.abs(column[2]) + 2 end
  return room > 0 and room < all
end

local function cut(text, width) return #text > width and text:sub(1, width - 3) .. "..." or text end

local function padded(text, width, is_narrow)
  local size = math.abs(width)
  if width > 0 then return (" "):rep(size - #text) .. text end
  if is_narrow then text = cut(text, size) end
  return text .. (" "):rep(size - #text)
end

function tables.row(columns, row)
  local is_narrow, room, at, paint = tables.is_narrow(columns), term.columns(), 0, row.paint or {}
  for i = 1, #columns - 1 do
    local width = columns[i][is_narrow and 3 or 2]
    if width ~= 0 then
      local text = padded(row[i], width, is_narrow)
      if paint[i] then text = term.paint(paint[i]) .. text .. term.paint "plain" end
      term.out(text .. "  ")
      at = at + math.abs(width) + 2
    end
  end
  local last = row[#columns]
  term.out((room > 0 and cut(last, math.max(room - at, CELL_MIN)) or last) .. "\n")
end

--- Prints the titles, then the rows, if any.
function tables.print(columns, rows)
  local titles = {}
  for i, column in ipairs(columns) do titles[i] = column[1] end
  tables.row(columns, titles)
  for _, row in ipairs(rows or {}) do tables.row(columns, row) end
end

return tables
