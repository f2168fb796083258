--- access.lua -- checks the keys that decide which clients can connect: addresses, the clients file, TLS, hosts and
-- origins.
local ask = require "config.ask"
local checks = require "config.checks"
local keys = require "config.keys"
local namespaces = require "config.namespaces"
local wrong = require "config.wrong"

local access = {}

local LISTENS = { "http.listen", "resp.listen", "admin.listen" }

-- Makes a relative path in the config relative to the config's folder.
local function beside(reading, key)
  local path = reading.top[key]
  if path and not path:find "^/" and reading.folder and reading.origin[key] == "file" then
    reading.top[key] = reading.folder .. path
  end
end

---------------------------------------------------------------- the clients file

local TWICE = "and clients are both set, but the clients file has all secrets: remove it, and create a client with "
  .. "`vesta client add NAME`, which prints the token that replaces it"

-- Returns all served names and tags, or nil if any tag is served.
local function served(reading)
  local names = table.move(reading.namespaces.names, 1, #reading.namespaces.names, 1, {})
  for _, place in ipairs(reading.segments.names) do
    for _, tag in ipairs(reading.segments.at[place].tags) do
      if tag == "*" then return nil end
      names[#names + 1] = tag
    end
  end
  return names
end

local function note_clients(reading, clients)
  local names = served(reading)
  for _, client in ipairs(clients) do
    for _, pattern in ipairs(client.patterns) do
      if names and not ask.matches(pattern, names) then
        reading.note("clients: '%s' of client %s matches no namespace and no tag", pattern, client.name)
      end
    end
  end
  for _, client in ipairs(clients) do
    if client.by_certificate and reading.top["tls.client_certificates"] == "off" then
      reading.note("clients: %s authenticates only by a certificate, but tls.client_certificates is off: set it to "
        .. "optional, or run `vesta client rotate %s`", client.name, client.name)
    end
  end
end

-- Returns what to do about a clients file that is absent or unreadable.
local function remedy(path, trouble)
  if trouble == "absent" then
    return (": create it with `vesta client add NAME --file %s`"):format(ask.shown(path))
  end
  if trouble == "unreadable" then
    return ": let the server's user read it, for example with chgrp vesta FILE && chmod 640 FILE"
  end
  return ""
end

function access.check_clients(reading)
  local top = reading.top
  if not top.clients then return end
  beside(reading, "clients")
  if top["resp.password"] then wrong.key(reading, "resp.password", nil, TWICE) end
  if top["tinyid.tokens"] then wrong.key(reading, "tinyid.tokens", nil, TWICE) end
  if top.open then
    wrong.key(reading, "open", nil, "and clients are both set: remove open, because the clients file decides who can "
      .. "connect")
  end
  local clients, others, trouble = ask.clients(top.clients)
  if not clients then
    wrong.key(reading, "clients", nil, "cannot be used: %s%s", others, remedy(top.clients, trouble))
  end
  if others then
    reading.note("others may %s %s, the clients file: chmod o= on it", others, ask.shown(top.clients))
  end
  note_clients(reading, clients)
end

---------------------------------------------------------------- addresses

--- Returns why the server rejects an HTTP address that other machines can reach.  Returns nil if the config decides
-- which clients can connect.
function access.closed(reading)
  if reading.top.clients or reading.top.open then return nil end
  return ("other machines can reach it, and any of them could request ids: name the clients (%s, which vesta client "
    .. "add writes), or allow all (%s)"):format(reading.path and "clients = FILE" or "--clients FILE",
    reading.path and "open = true" or "--open")
end

local function check_admin(reading, address, fail)
  if address:find "^unix:" or reading.top["admin.token"] or reading.top.clients then return end
  fail("has %s, but there is no token: set %s, or listen on unix:PATH, whose file mode decides which users can connect",
    address, reading.path and "admin.token" or "VESTA_ADMIN_TOKEN in the environment")
end

local function check_address(reading, key, address, owner)
  local function fail(text, ...) wrong.key(reading, key, nil, text, ...) end
  local is_local, why = ask.address(address)
  if is_local == nil then fail("has a wrong address: %s", why) end
  if owner[address] and owner[address] ~= key then
    fail("has %s, which %s also has: use another address", address, owner[address])
  end
  owner[address] = owner[address] or key
  if key == "admin.listen" then return check_admin(reading, address, fail) end
  if is_local then return end
  if key == "resp.listen" and not reading.top["resp.password"] and not reading.top.clients then
    fail("has %s, which other machines can reach, but there is no password: %s, or listen on 127.0.0.1 or unix:PATH",
      address, reading.path and "set resp.password" or "add --resp-password-file FILE")
  end
  why = namespaces.unnumbered(reading) or key == "http.listen" and access.closed(reading)
  if why then fail("has %s: %s", address, why) end
end

function access.check_listens(reading)
  local owner = {}
  for _, key in ipairs(LISTENS) do
    local list = reading.top[key] or {}
    for _, address in ipairs(list) do
      if address == "off" and #list > 1 then wrong.key(reading, key, nil, 'has "off" among addresses') end
    end
    if list[1] == "off" then list = {} end
    reading.top[key] = list
    for _, address in ipairs(list) do check_address(reading, key, address, owner) end
  end
  if #reading.top["http.listen"] + #reading.top["resp.listen"] == 0 and not reading.is_handed then
    wrong.key(reading, "http.listen", nil, "and resp.listen are off, so nothing would be served: turn one of them on")
  end
end

---------------------------------------------------------------- TLS

local function secure_address(reading)
  for _, key in ipairs(LISTENS) do
    for _, address in ipairs(reading.top[key]) do
      if ask.is_secure(address) then return address, key end
    end
  end
  return nil
end

local function check_certificate(reading)
  local top = reading.top
  local address, key = secure_address(reading)
  if top["tls.certificate"] and not top["tls.key"] then
    wrong.key(reading, "tls.certificate", nil, "is set, but tls.key is missing (--tls-key FILE)")
  end
  if top["tls.key"] and not top["tls.certificate"] then
    wrong.key(reading, "tls.key", nil, "is set, but tls.certificate is missing (--tls-certificate FILE)")
  end
  if address and not top["tls.certificate"] then
    wrong.key(reading, key, nil, "has %s, but TLS needs a certificate and its key: set tls.certificate and tls.key "
      .. "(--tls-certificate FILE, --tls-key FILE)", address)
  end
  if top["tls.certificate"] and not address and not reading.is_handed then
    reading.note "tls.certificate is set, but no address begins with tls:, so TLS is not used"
  end
end

--- Checks that the TLS keys do not contradict each other.  Opens no certificate.
function access.check_tls(reading)
  local top = reading.top
  beside(reading, "tls.certificate")
  beside(reading, "tls.key")
  beside(reading, "tls.client_ca")
  check_certificate(reading)
  local asks = top["tls.client_certificates"] ~= "off"
  if asks and not top["tls.client_ca"] then
    wrong.key(reading, "tls.client_certificates", nil,
      "is set, but the authority that signs them is missing: set tls.client_ca (--tls-client-ca FILE)")
  end
  if top["tls.client_ca"] and not asks then
    reading.note "tls.client_ca is set, but tls.client_certificates is off, so clients are not asked for a certificate"
  end
  local others = top["tls.key"] and ask.open_to(top["tls.key"])
  if others then
    reading.note("others may %s %s, the private key of tls.key: chmod o= on it", others,
      ask.shown(top["tls.key"]))
  end
end

--- Checks names of hosts, origins and proxies, also from flags, because no later code checks their form.
function access.check_sites(reading)
  for _, key in ipairs { "http.hosts", "http.allow_origins", "proxies" } do
    for _, text in ipairs(reading.top[key] or {}) do
      local why = checks[keys.row[key].check](text)
      if why then wrong.key(reading, key, nil, "%s", why) end
    end
  end
end

return access
