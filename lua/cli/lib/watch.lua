--- watch.lua -- prints something anew each second until Ctrl-C, and reports when it can no longer be read.
local screen = require "screen"
local term = require "term"
local wire = require "wire"

local watch = {}

-- On a screen, which still shows what was read last: how old that is.
local function print_age(seen_ms)
  if not seen_ms then return term.status "nothing was seen yet; tried each second" end
  term.status(("what stands above is of %s, %d s ago; tried each second"):format(term.iso(seen_ms - seen_ms % 1000),
    (term.now_ms() - seen_ms) // 1000))
end

--- `look` reads; it returns true, or false if there is nothing to print, and a trouble or nil.  `print` prints what was
-- read last.  `is_screen`: over what stood there before.  Returns after a signal that ends the command.
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
    if reported and not trouble and not is_screen then term.say "it answers again" end
    reported = trouble
    if not is_seen and is_screen then print_age(seen_ms) end
    wire.wait({}, false, 1000)
  end
  term.progress_end()
end

return watch
