-- The first id: open a generator, take an id, read it back.  The file in VESTA_STATE is made at the first call.
local vesta = require "vesta"
local gen = assert(vesta.open { layout = "vesta-milli", worker = 12 })
local id = assert(gen:next())
local parts = gen:explain(id)
print(#id, parts.machine, gen:make(parts) == id) --> 19	12	true
