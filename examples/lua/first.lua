-- The first id: opens a generator, takes an id and decodes it.  The first call creates the file in VESTA_STATE.
local vesta = require "vesta"
local gen = assert(vesta.open { layout = "vesta-milli", worker = 12 })
local id = assert(gen:next())
local parts = gen:explain(id)
print(#id, parts.machine, gen:make(parts) == id) --> 19	12	true
