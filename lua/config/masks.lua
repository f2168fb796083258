--- masks.lua -- checks the masks of namespaces and of segments.
local ask = require "config.ask"
local wrong = require "config.wrong"

local masks = {}

-- Checks that no two keys have one version, because a text could then belong to two numbers.
local function check_versions(fail, files)
  local owner = {}
  for _, file in ipairs(files) do
    local version, path = file:match "^(%d):(.*)$"
    version, path = version or "0", path or file
    if owner[version] and version == "0" then
      fail("secret_file", "has two files without a version, %s and %s: write the newer one as \"1:%s\"",
        ask.quote(owner[version]), ask.quote(path), ask.quote(path))
    elseif owner[version] then
      fail("secret_file", "has version %s twice, for %s and %s: use another version from 1 to 9", version,
        ask.quote(owner[version]), ask.quote(path))
    end
    owner[version] = path
  end
end

--- Checks the mask of an entry of `namespaces` or `segments`.  `layout` is the namespace's layout, or nil.
function masks.check(reading, group, name, entry, layout)
  local prefix = group == "namespaces" and "namespaces.*.mask." or "segments.#.mask."
  local function fail(key, text, ...) wrong.key(reading, prefix .. key, name, text, ...) end
  local digits, files, of_uuids = entry["mask.digits"], entry["mask.secret_file"], entry["mask.uuid_secret_file"]
  local why_uuids = of_uuids and ask.uuid_key(of_uuids)
  if why_uuids then fail("uuid_secret_file", "cannot be used: %s", why_uuids) end
  if not digits and not files then
    for _, key in ipairs { "alphabet", "check", "max" } do
      if rawget(entry, "mask." .. key) then fail(key, "is set, but mask.digits and mask.secret_file are missing") end
    end
    return false
  end
  if not digits then fail("secret_file", "needs the key mask.digits: set the number of digits of a masked id") end
  if not files then fail("digits", "needs the key mask.secret_file: create a key with openssl rand -hex 32") end
  check_versions(fail, files)
  local why, key = ask.mask(entry, layout)
  if why then fail(key, key == "secret_file" and "cannot be used: %s" or "%s", why) end
  return true
end

return masks
