--- watch.lua -- the loop of --watch: reads and prints every second until Ctrl-C, and reports when reading fails.
local screen = require "screen"
local term = require "term"
local wire = require "wire"

local watch = {}

-- Prints the age of the last reading below it, because the screen still shows that reading.
local function print_age(seen_ms)
  if not seen_ms then return term.status "nothing was read yet, retrying every second" end
  term.status(("the rows above are from %s, %d s ago, retrying every second"):format(
    term.iso(seen_ms - seen_ms % 1000), (term.now_ms() - seen_ms) // 1000))
end

--- Calls look() and print() every second, and returns after a signal.  look() reads, and returns whether there is
-- something to print, and an error message or nil.  print() prints the last reading.  If is_screen is set, each reading
-- overwrites the previous one on the terminal.
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
    if reported and not trouble and not is_screen then term.say "the store is reachable again" end
    reported = trouble
    if not is_seen and is_screen then print_age(seen_ms) end
    wire.wait({}, false, 1000)
  end
  term.progress_end()
end

return watch
