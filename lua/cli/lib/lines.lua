--- lines.lua -- formats a page of lines for a terminal.  It cuts the page to the terminal's size and removes control
-- bytes.
--
-- A page has:
--     columns     the width, or 0 for no limit
--     rows        the maximum number of lines
--     is_screen   whether each line overwrites an older one
--     scrolls     whether the lines that are added now scroll
--     used        lines added so far
--     fixed       lines added so far that do not scroll
--     count       lines that scroll
--     skipped     how many of the lines that scroll are above the visible part
local term = require "term"

local INDENT = 16 -- the column of a fact's text

local Page = {}
Page.__index = Page

local lines = {}

function lines.new(page)
  page.used, page.fixed, page.count, page.skipped = 0, 0, 0, page.skipped or 0
  page.text = {}
  return setmetatable(page, Page)
end

-- Returns how many bytes the first `columns` characters of a clean text take.
local function bytes_of(text, columns)
  if #text <= columns then return #text end
  local behind = utf8.offset(text, columns + 1)
  return behind and behind - 1 or #text
end

--- Cuts a text to `width` bytes, or pads it on the right.
function lines.pad(text, width)
  return text:sub(1, width) .. (" "):rep(width - #text)
end

function Page:line(paint, text)
  text = term.clean(text)
  if self.scrolls then
    self.count = self.count + 1
    if self.count <= self.skipped then return end
  end
  if self.used >= self.rows then return end
  self.used = self.used + 1
  if not self.scrolls then self.fixed = self.fixed + 1 end
  if self.columns > 0 then text = text:sub(1, bytes_of(text, self.columns)) end
  if paint then text = term.paint(paint) .. text .. term.paint "plain" end
  table.insert(self.text, text .. (self.is_screen and "\27[K\n" or "\n"))
end

-- Returns how many bytes of a text fit on a line.  It breaks between words, and cuts a word that is longer than a line.
local function end_of_line(text, columns)
  local stop = bytes_of(text, columns)
  if stop == #text or text:byte(stop + 1) == 32 then return stop end
  local words = text:sub(1, stop):match "^(.+) "
  return words and #words or stop
end

--- Adds "name            text", on as many lines as the text needs.
function Page:fact(paint, name, text)
  local columns = self.columns > 2 * INDENT and self.columns - INDENT or self.columns > 0 and INDENT or math.maxinteger
  text = term.clean(text)
  while text ~= "" or name ~= "" do
    local length = end_of_line(text, columns)
    self:line(paint, name .. (" "):rep(INDENT - #name) .. text:sub(1, length))
    text, name = text:sub(length + 1):match "^ *(.*)$", ""
  end
end

function Page:print()
  term.out(table.concat(self.text))
end

return lines
