--- watch.lua -- prints something anew each second until Ctrl-C, and reports when it can no longer be read.
local screen = require "screen"
local term = require "term"
local wire = require "wire"

local watch = {}

-- The screen still shows the last reading: prints its age below it.
local function print_age(seen_ms)
  if not seen_ms then return term.status "nothing was read yet; trying again each second" end
  term.status(("the rows above are from %s, %d s ago; trying again each second"):format(
    term.iso(seen_ms - seen_ms % 1000), (term.now_ms() - seen_ms) // 1000))
end

--- look() reads.  It returns true, or false if there is nothing to print, and a message about a trouble or nil.
-- print() prints the last reading.  is_screen: it is printed over the one before.  Returns after a signal.
function watch.run(look, print, is_screen)
  local reported, seen_ms
  wire.catch_signals()
  while not wire.interrupted() and not screen.is_gone() do
    local is_seen, trouble = look()
    if is_seen then
      seen_ms = term.now_ms()
      term.progress_end()
      if is_screen then term.out "\27[H\27[J" end -- to the top, and clear
      print()
      term.flush()
    end
    if trouble and trouble ~= reported then term.say(trouble) end
    if reported and not trouble and not is_screen then term.say "the store answers again" end
    reported = trouble
    if not is_seen and is_screen then print_age(seen_ms) end
    wire.wait({}, false, 1000)
  end
  term.progress_end()
end

return watch
