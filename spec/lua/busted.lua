--- Runs the specs under the Lua that runs this file; `luarocks test` and spec/lua/run call it.
arg[0] = "busted" -- luacheck: ignore 122
require "busted.runner" { standalone = false }
