--- Runs the specs from the project's folder, in the Lua that runs this file.  spec/lua/run calls it with vesta in a
--- build folder, and `luarocks test` with vesta in a tree of `luarocks make`.
local root = os.getenv "VESTA_ROOT"
if not root then
  local lua, at = arg[-1], -1
  while arg[at - 1] do
    at = at - 1
    lua = arg[at]
  end
  local script = arg[0]
  local pipe = io.popen("state=$(mktemp -d) && VESTA_ROOT=$PWD VESTA_STATE=$state VESTA_LUA=" .. lua
    .. " " .. lua .. " " .. script .. " " .. table.concat(arg, " ") .. " >&2; echo $?; rm -rf $state")
  local status = tonumber(pipe:read "*a")
  pipe:close()
  os.exit(status)
end
package.path = root .. "/spec/?.lua;" .. package.path
arg[0] = "busted" -- luacheck: ignore 122
require "busted.runner" { standalone = false }
