--- vesta.resty.access -- the part of vesta.resty.client for server addresses, the client's credentials, and TLS.
local access = {}

local SECRET_MAX = 511 -- maximum bytes of a secret

---------------------------------------------------------------- addresses

-- Returns the arguments of connect, without the pool, for "host:port", "[v6]:port" or "unix:/path".  Returns nil if the
-- address is invalid.
local function address(text)
  if #text > 255 or text:find "[%c%s]" then return nil end
  if text:find "^unix:/" then return { text } end
  local host, port = text:match "^(%[[%x:.]+%]):(%d+)$"
  if not host then host, port = text:match "^([%w_.-]+):(%d+)$" end
  if not port or #port > 5 or not (tonumber(port) >= 1 and tonumber(port) <= 65535) then return nil end
  return { host, tonumber(port) }
end

-- Decodes the %XX escapes of a name or a secret.  Returns nil if the part is empty, and false if it is invalid.
local function decoded(part)
  if not part or part == "" then return nil end
  if part:gsub("%%%x%x", ""):find "[^%w!\"$&'()*+,.;<=>\\^_`{|}~:-]" then return false end
  local bytes = part:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end)
  local odd = bytes:gsub("[\194-\223][\128-\191]", ""):gsub("[\224-\239][\128-\191][\128-\191]", "")
    :gsub("[\240-\244][\128-\191][\128-\191][\128-\191]", ""):find "[%c\128-\255]" -- invalid UTF-8 remains
  return not odd and bytes
end

--- Reads an address, redis://NAME:SECRET@HOST:PORT, or rediss://NAME:SECRET@HOST:PORT for TLS.  Returns nil if the text
-- is invalid.
function access.server(text)
  if type(text) ~= "string" or #text > 2000 then return nil end
  local scheme, rest = text:match "^(rediss?)://(.*)$"
  local server = { is_tls = scheme == "rediss", address = text }
  if scheme then
    local user, place = rest:match "^([^@]*)@(.*)$"
    server.address = (place or rest):gsub("/0?$", "")
    local name, secret = (user or ""):match "^([^:]*):(.+)$"
    server.user, server.secret = decoded(name or user), decoded(secret)
    if user and user:find ":$" or server.user == false or server.secret == false then return nil end
    if user == "" or server.address:find "^unix:" then return nil end
  end
  server.where = address(server.address)
  server.host = server.where and server.where[1]:gsub("[%[%]]", "")
  return server.where and server
end

--- Formats a list of servers for a message.  Hides entries with an '@' or a scheme, which may contain a secret.
function access.shown(value)
  if type(value) ~= "table" then return value end
  local parts = {}
  for i = 1, math.min(#value, 16) do
    local one = tostring(value[i])
    parts[i] = (one:find "@" or one:find "://") and "(not shown)" or one
  end
  return "{ " .. table.concat(parts, ", ") .. " }"
end

---------------------------------------------------------------- a connection

--- Returns the AUTH command for a new connection, nil if the client has no credentials, or false and a message after an
-- error.  The secret's file is read each time, so that the secret can be replaced.
function access.greeting(who, server)
  local secret, user = server.secret or who.password, server.user or who.user
  if not secret and who.secret_file then
    local file, failure = io.open(who.secret_file, "rb")
    local text = file and file:read(SECRET_MAX + 6) or "" -- a byte order mark and CRLF may surround the secret
    secret = text:gsub("^\239\187\191", ""):match "^([^\r\n]*)"
    if file then file:close() else return false, "secret_file " .. failure end
    if secret == "" or #secret > SECRET_MAX then
      return false, ("secret_file %s: its first line must have 1 to %d bytes"):format(who.secret_file, SECRET_MAX)
    end
  end
  if not secret then return nil end
  return user and { "AUTH", user, secret } or { "AUTH", secret }
end

--- Performs the TLS handshake.  Returns true, or nil, a message, and whether a retry may succeed.  nginx compares host
-- names with certificates, but not IP addresses, so servers without a host name need tls_name.
function access.secure(who, server, sock)
  local own = who.certificate
  if own then
    local ok, failure = sock:setclientcert(own.chain, own.key)
    if not ok then return nil, failure, false end
  end
  local ok, failure = sock:sslhandshake(nil, who.tls_name or server.host, not who.tls_unverified)
  if ok then return true end
  local is_certificate = failure:find "^%d+: " or failure:find "certificate"
  return nil, is_certificate and "its certificate is not accepted: " .. failure or failure, not is_certificate
end

---------------------------------------------------------------- options

-- Reads the client's certificate.  The client calls it once, when it is created.
local function own_certificate(o)
  if not o.tls_certificate then return nil end
  local ssl, own = require "ngx.ssl", {}
  for key, path in pairs { chain = o.tls_certificate, key = o.tls_key } do
    local file, failure = io.open(path, "rb")
    local pem = file and file:read "*a"
    if file then file:close() end
    if pem then own[key], failure = (key == "chain" and ssl.parse_pem_cert or ssl.parse_pem_priv_key)(pem) end
    if not own[key] then return nil, ("%s: %s"):format(path, failure) end
  end
  return own
end

--- Returns the client's credentials for the functions above, or nil and an error.
function access.of(o, servers)
  local is_tls = false
  for _, server in ipairs(servers) do
    is_tls = is_tls or server.is_tls
    if (server.user or o.user) and not (server.secret or o.password or o.secret_file) then
      return nil, ("server %s: the client name has no secret. Set secret_file"):format(server.address)
    end
  end
  if o.password and o.secret_file then return nil, "password and secret_file cannot be combined" end
  if (o.tls_certificate or o.tls_key or o.tls_name or o.tls_unverified) and not is_tls then
    return nil, "a TLS option is set, but no server begins with rediss://"
  end
  if (o.tls_key == false) ~= (o.tls_certificate == false) then return nil, "tls_certificate and tls_key go together" end
  local own, failure = own_certificate(o)
  if failure then return nil, failure end
  return { user = o.user or nil, password = o.password or nil, secret_file = o.secret_file or nil, certificate = own,
    tls_name = o.tls_name, tls_unverified = o.tls_unverified }
end

return access
