-- Decodes ids of other generators.
local vesta = require "vesta"

local layout = assert(vesta.layout "vesta-second")
local parts = assert(layout:explain "2319542600899494910")
print(parts.iso, parts.machine, parts.seq, parts.method)     --> 2015-05-28T08:05:39Z	1022	0	2

-- An id does not contain its layout.  vesta.guess returns the presets that fit, likeliest first.
for _, row in ipairs(vesta.guess("3456526092514361344", "2026-01-01T00:00:00Z")) do
  if row.preset == "vesta-legacy-second" then
    print(row.preset, row.parts.machine, row.parts.iso)      --> vesta-legacy-second	1022	2015-05-28T08:05:39Z
  end
end

-- An id of another layout is rejected if a constant field differs.
print(select(3, layout:explain "4611686018427387904"))       --> bad_id

-- Other text forms sort like the ids.
print(vesta.format("2319542600899494910", "hex"))            --> 2030abb4c00003fe
print(vesta.format("2319542600899494910", "base32"))         --> 20C5BPK0000ZY
print(vesta.parse("20C5BPK0000ZY", "base32"))                --> 2319542600899494910
