"""tarantool.py VESTA [WORDS OF A CLAIM] -- examples/tarantool in a real Tarantool: ids of many fibers are primary keys,
fibers run while one waits, two instances share a file, and a killed one continues above its ids."""
import os
import subprocess

from hosting import EXAMPLES, SLOW, adapted, example, found
from serving import VESTA, claim, environment, main, same

TARANTOOL, BUILD = found("tarantool"), os.path.dirname(VESTA)
LUA = os.path.join(EXAMPLES, "..", "lua")


def instance(world, name, script):
    """A Tarantool with the example, in its own folder, that runs the script and ends."""
    os.makedirs(world.path(name), exist_ok=True)
    orders = adapted(example("tarantool", "orders.lua"), ("/var/lib/vesta/orders.gen", world.path("orders.gen")))
    for file, text in (("ids.lua", example("tarantool", "ids.lua")), ("orders.lua", orders), ("main.lua", script)):
        with open(world.path(name, file), "w") as out:
            out.write(text)
    env = environment(world.folder, LUA_PATH="%s/?.lua;%s/?/init.lua;./?.lua;;" % (LUA, LUA), LUA_CPATH=BUILD + "/lua/5.1/?.so;;")
    return subprocess.Popen([TARANTOOL, "main.lua"], cwd=world.path(name), env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def printed(process):
    out, err = process.communicate(timeout=60 * SLOW)
    same((process.returncode, err), (0, err))
    return out.split()


CROWD = """
local fiber, app = require "fiber", require "orders"
local fibers = {}
for i = 1, 20 do
  fibers[i] = fiber.new(function()
    for _ = 1, 100 do
      assert(app.place("customer " .. i))
      fiber.yield()
    end
  end)
  fibers[i]:set_joinable(true)
end
for _, f in ipairs(fibers) do assert(f:join()) end
for _, order in box.space.orders:pairs() do print((tostring(order.id):gsub("ULL", ""))) end
%s
"""


@claim("ids of twenty fibers and two instances are primary keys without a collision, also after kill -9 and a restart")
def _(world):
    end = {"one": 'require "ffi".cdef "int kill(int, int);" require "ffi".C.kill(require "tarantool".pid(), 9)', "two": "os.exit()"}
    both = [instance(world, name, CROWD % ("io.stdout:flush() " + last)) for name, last in end.items()]
    out = [process.communicate(timeout=60 * SLOW) for process in both]
    same([process.returncode for process in both], [-9, 0])
    keys = [said.split() for said, _ in out]
    same([len(k) for k in keys], [2000, 2000])
    assert not set(keys[0]) & set(keys[1])
    again = printed(instance(world, "one", CROWD % "os.exit()"))
    assert set(keys[0]) < set(again) and not set(again) & set(keys[1]), "%d keys" % len(again)
    same((len(set(again)), max(map(int, keys[0] + keys[1])) < max(map(int, again))), (4000, True))


@claim("a fiber that waits for ids does not stop others, and gets the reason if the wait would be too long")
def _(world):
    said = printed(instance(world, "one", """
local fiber, ids = require "fiber", require "ids"
local slow = assert(ids.open { layout = "time:31 seq:1 worker:31 unit=1s epoch=2026-01-01T00:00:00Z", worker = 3, namespace = "slow",
  ahead_ms_max = 0, wait_ms_max = 30000 })
local turns, done = 0, false
fiber.create(function() while not done do turns = turns + 1 fiber.sleep(0.001) end end)
for _ = 1, 5 do assert(slow:next()) end
done = true
print(turns > 10 and "others" or "alone")
local hasty = assert(ids.open { worker = 3, namespace = "slow", wait_ms_max = 0 })
local id, message, code, wait_s
for _ = 1, 4 do id, message, code, wait_s = hasty:next() if not id then break end end
print(id == nil and code, wait_s > 0 and wait_s <= 1)
print((select(3, ids.open { layout = "no such layout", worker = 3, namespace = "other" })))
os.exit()"""))
    same(said, ["others", "full", "true", "bad_layout"])


main()
