--- server.lua -- describes a server for the commands that examine it: its config, the user that runs it, the files that
-- this user cannot read, and the process that listens at an address.
--
-- csrc/modules/describe.h lists the members of a description.
local cli = require "cli.lib.cli"
local config = require "config"
local kernel = require "kernel"
local wire = require "wire"

local server = {}

--- The header of the PROXY protocol for a connection without a client, such as a balancer's health check.  A server
-- whose `proxies` list this machine answers no request without a header.
server.PROXY_LOCAL = "\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"

local REPLY_MAX = 8191 -- the rest of a reply is not read

local UNIT = "vesta.service"
local UNIT_FOLDERS = "/etc/systemd/system:/run/systemd/system:/usr/local/lib/systemd/system:/usr/lib/systemd/system:"
  .. "/lib/systemd/system"
local OVERRIDE = UNIT .. ".d/override.conf" -- the file that `systemctl edit` writes
local LISTENS = "0A" -- TCP_LISTEN in /proc/net/tcp

--- Returns the description of a config's server.  After an error, prints a message and ends the command.  `path` may be
-- nil, and `flags` is a list of { "--http", "http.listen", text }.
function server.of_config(path, flags)
  local described, code = config.describe(path, flags or {})
  if described == false then cli.exit(code) end
  return described
end

--- Returns an address for HTTP requests from this machine, or nil.  Prefers addresses without TLS, and returns the
-- admin listener only if HTTP is off.
function server.http(described)
  local best
  for _, row in ipairs(described.addresses) do
    local is_better = not best or (best.is_tls and not row.is_tls and row.protocol == best.protocol)
    if row.protocol ~= "resp" and is_better then best = row end
  end
  return best
end

--- Sends a text to an address, and reads until the peer closes the connection, the reply has REPLY_MAX bytes, or
-- wait_ms has passed.  wire.ask describes `tls`.  Returns the reply, and why TLS ended the connection or nil.  Returns
-- nil and a message if it cannot connect.
function server.ask(address, text, wait_ms, tls)
  local end_ms, reply = wire.clock_ms() + wait_ms, ""
  local connection, trouble = wire.ask(address, text, wait_ms, tls)
  if not connection then return nil, trouble end
  while #reply < REPLY_MAX do
    local bytes, has_ended, why = connection:read(REPLY_MAX)
    reply = reply .. bytes
    local left_ms = end_ms - wire.clock_ms()
    if why then return reply, why end
    if has_ended or left_ms <= 0 then break end
    wire.wait({ connection }, false, left_ms)
  end
  connection:close()
  return reply:sub(1, REPLY_MAX):match "^[^\0]*"
end

---------------------------------------------------------------- the server's user

local function read_all(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

-- Adds the keys of a unit file to `keys`.  As in systemd, the last value of a key wins.
local function read_keys(text, keys)
  for line in text:gmatch "[^\n]+" do
    local key, value = line:match "^%s*([%w]+)%s*=%s*(.-)%s*$"
    if key then keys[key] = value ~= "" and value or nil end
  end
  return keys
end

-- Returns the value of -c or --config in a command line, or nil.
local function config_of(words)
  for i, word in ipairs(words) do
    local path = word:match "^%-%-config=(.+)" or word:match "^%-c(.+)"
    if path then return path end
    if word == "-c" or word == "--config" then return words[i + 1] end
  end
end

local function words_of(text, pattern)
  local words = {}
  for word in text:gmatch(pattern) do words[#words + 1] = word end
  return words
end

--- Returns the systemd unit of vesta on this machine, or nil: { path, user, group, config, hides_home, hides_tmp, made,
-- binds_any }.  `made` is the set of folders that systemd creates for the unit's user when it starts the unit.
-- binds_any tells whether the unit may listen at ports below 1024.
function server.unit()
  local keys, path = nil, nil
  local folders = os.getenv "SYSTEMD_UNIT_PATH" or UNIT_FOLDERS
  for folder in folders:gmatch "[^:]+" do
    local text = read_all(folder .. "/" .. UNIT)
    if text then
      path = folder .. "/" .. UNIT
      keys = read_keys(text, {})
      break
    end
  end
  if not keys then return nil end
  for folder in folders:gmatch "[^:]+" do
    local text = read_all(folder .. "/" .. OVERRIDE)
    if text then
      read_keys(text, keys)
      break
    end
  end
  local function is_set(key) return keys[key] and not keys[key]:find "^[nf0]" end
  local made = {}
  for key, top in pairs { StateDirectory = "/var/lib/", RuntimeDirectory = "/run/", LogsDirectory = "/var/log/" } do
    for name in (keys[key] or ""):gmatch "%S+" do made[top .. name] = true end
  end
  return { path = path, user = keys.User, group = keys.Group, config = config_of(words_of(keys.ExecStart or "", "%S+")),
    hides_home = is_set "ProtectHome", hides_tmp = is_set "PrivateTmp", made = made,
    binds_any = (keys.AmbientCapabilities or ""):find "CAP_NET_BIND_SERVICE" ~= nil }
end

local function is_same_file(one, other)
  return one and other and (kernel.real(one) or one) == (kernel.real(other) or other)
end

--- Returns the user that runs the server: { name, group, by, drops, unit }, or nil for the user of this process.
-- `by` is the source of the user name, for messages.  `drops` is set if the server starts as root, reads its files, and
-- then switches to this user.
function server.runs_as(described)
  if described.user then
    return { name = described.user, group = described.group, by = "the config's user", drops = true }
  end
  local unit = server.unit()
  if not unit or not unit.user or not is_same_file(unit.config, described.path) then return nil end
  return { name = unit.user, group = unit.group, by = "the user of " .. unit.path, unit = unit }
end

---------------------------------------------------------------- the user's access

local HIDDEN = { { "hides_home", "ProtectHome", { "/home/", "/root/", "/run/user/" } },
  { "hides_tmp", "PrivateTmp", { "/tmp/", "/var/tmp/" } } }

-- Returns the setting of the unit that hides a path from the server regardless of permissions, or nil.
local function hidden_by(unit, path)
  for _, row in ipairs(HIDDEN) do
    for _, folder in ipairs(row[3]) do
      if unit[row[1]] and path:sub(1, #folder) == folder then return row[2] .. "= hides " .. folder end
    end
  end
end

local function folder_of(path) return path:match "^(.+)/[^/]*$" or path:find "^/" and "/" or "." end

server.folder_of = folder_of

-- Returns the first folder above a path that the user cannot enter, and why.
local function blocked_at(path, user)
  local at = path:find "^/" and "" or "."
  for part in folder_of(path):gmatch "[^/]+" do
    at = at .. "/" .. part
    local may, why = kernel.may(at, "x", user.name, user.group)
    if may == false then return at, why end
  end
end

--- Returns why a user of server.runs_as cannot access a path, and what to do.  Returns nil if the user can, or if only
-- root can find out.  `mode` is "r" or "w".
function server.blocked(user, path, mode)
  local hidden = user.unit and hidden_by(user.unit, path)
  if hidden then
    return ("%s: %s of %s from the server"):format(path, hidden, user.unit.path), "move it, for example to /etc/vesta"
  end
  local may, why = kernel.may(path, mode, user.name, user.group)
  if may ~= false then return nil end -- a note of the config reports a user that does not exist
  local word = mode == "w" and "write" or "read"
  local group = kernel.group(user.name, user.group) or user.group or user.name
  local at, reason = blocked_at(path, user)
  if at then
    return ("user %s (%s) cannot %s %s, because that user cannot enter %s: %s"):format(user.name, user.by, word,
      path, at, reason), ("chgrp %s %s && chmod g+x %s"):format(group, at, at)
  end
  return ("user %s (%s) cannot %s %s: %s"):format(user.name, user.by, word, path, why),
    mode == "w" and ("chown %s %s"):format(user.name, path)
    or ("chgrp %s %s && chmod 640 %s"):format(group, path, path)
end

--- Returns whether systemd creates a folder for this user when it starts the unit.
function server.is_made(user, folder) return user and user.unit and user.unit.made[folder] or false end

--- Returns why the user of a unit cannot listen at an address, and what to do.  Returns nil if the user can.  A server
-- that starts as root listens before it switches to its user.
function server.cannot_listen(user, row)
  local unit = user and user.unit
  if not unit then return nil end
  local path = row.plain:match "^unix:(.*)"
  if path then
    local folder = folder_of(path)
    if server.is_made(user, folder) then return nil end
    return server.blocked(user, folder, "w")
  end
  local port = tonumber(row.plain:match ":(%d+)$")
  local first = tonumber(read_all "/proc/sys/net/ipv4/ip_unprivileged_port_start" or "") or 1024
  if not port or port >= first or unit.binds_any or user.name == "root" then return nil end
  return ("user %s (%s) cannot listen at %s: ports below %d are for root"):format(user.name, user.by, row.address,
    first), ("choose a port from %d on, or set AmbientCapabilities=CAP_NET_BIND_SERVICE in %s"):format(first, unit.path)
end

--- Returns the files that a server reads: a list of { what, path }.
function server.files(described)
  local files = {}
  local function add(what, path) files[#files + 1] = path and { what = what, path = path } or nil end
  local function add_secret(what, uri) add(what, uri and uri:match "[?&]secret_file=([^&]+)") end
  add("config", described.path)
  local tls = described.tls or {}
  add("tls.certificate", tls.certificate)
  add("tls.key", tls.key)
  add("tls.client_ca", tls.client_ca)
  add("clients", described.clients)
  for _, namespace in ipairs(described.namespaces) do
    if namespace.policy and namespace.policy:find "^/" then add(namespace.name, namespace.policy) end
    add_secret(namespace.name, namespace.store)
  end
  for _, segment in ipairs(described.segments) do
    for _, place in ipairs(segment.stores) do add_secret("segments", place.uri) end
  end
  return files
end

-- Returns the user of this process, or nil for root, because root can read every file.
local function own_user()
  local name = kernel.user()
  return name ~= "root" and { name = name, by = "the user of this command" } or nil
end

--- Returns the files that the server's user cannot read as a list of { what, path, text, todo }, and the user or nil.
function server.unreadable(described)
  local user, list = server.runs_as(described) or own_user(), {}
  if not user then return list end
  for _, file in ipairs(server.files(described)) do
    local text, todo = server.blocked(user, file.path, "r")
    if text then list[#list + 1] = { what = file.what, path = file.path, text = text, todo = todo } end
  end
  return list, user
end

--- Lets the unit's user read a file next to the unit's config.  If the file is new, its permissions are changed if
-- necessary.  Returns nil, or why the user cannot read the file and what to do.
function server.let_unit_read(path, is_new)
  local unit = server.unit()
  local real = kernel.real(path) or path
  if not unit or not unit.user or not unit.config then return nil end
  if folder_of(kernel.real(unit.config) or unit.config) ~= folder_of(real) then return nil end
  local user = { name = unit.user, group = unit.group, by = "the user of " .. unit.path, unit = unit }
  local text, todo = server.blocked(user, real, "r")
  if text and is_new and kernel.share(real, user.name, user.group) then text, todo = server.blocked(user, real, "r") end
  return text, todo
end

---------------------------------------------------------------- the listening process

-- Returns uid and inode of a socket that listens at a port, from /proc/net/tcp and tcp6.  Prefers a socket at `host`,
-- which is in hexadecimal.
local function listener(host, port)
  local wanted, uid, inode = ("%04X"):format(port), nil, nil
  for _, file in ipairs { "/proc/net/tcp", "/proc/net/tcp6" } do
    for line in (read_all(file) or ""):gmatch "[^\n]+" do
      local at, own_port, state, owner, number =
        line:match "^%s*%d+: (%x+):(%x+) %x+:%x+ (%x+) %S+ %S+ %S+%s+(%d+)%s+%d+%s+(%d+)"
      if state == LISTENS and own_port == wanted and (not inode or at == host) then
        uid, inode = tonumber(owner), tonumber(number)
      end
    end
  end
  return uid, inode
end

-- Formats an IPv4 address as /proc/net/tcp does.
local function hex_of(host)
  local a, b, c, d = host:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$"
  return a and ("%02X%02X%02X%02X"):format(d, c, b, a)
end

-- Describes the process that uses a socket.  Prefers a process other than pid 1, because systemd also keeps the sockets
-- that it passes to a service.
local function process_of(pids)
  local best
  for _, pid in ipairs(pids) do
    local name = (read_all(("/proc/%d/comm"):format(pid)) or ""):gsub("\n$", "")
    local words = words_of(read_all(("/proc/%d/cmdline"):format(pid)) or "", "[^\0]+")
    local path = name == "vesta" and config_of(words) or nil -- in other programs -c has another meaning
    if path and not path:find "^/" then
      local folder = kernel.real(("/proc/%d/cwd"):format(pid))
      path = folder and folder .. "/" .. path
    end
    local has_none = name == "vesta" and #words > 0 and not path
    if not best or pid ~= 1 then best = { pid = pid, name = name, config = path, has_no_config = has_none } end
  end
  return best
end

--- Returns the process that listens at an address: { pid, name, user, config, has_no_config }.  `config` is the path in
-- its command line.  Members that this user cannot see are nil.  Returns nil if no process is found.
function server.listener(row)
  local uid, inode, found
  if row.plain:find "^unix:" then
    local pid
    pid, uid = kernel.peer(row.plain)
    found = pid and process_of { pid }
  else
    local host, port = row.plain:match "^%[?(.-)%]?:(%d+)$"
    uid, inode = listener(hex_of(host or ""), tonumber(port))
    found = inode and process_of(kernel.holders(inode))
  end
  if not uid then return nil end
  found = found or {}
  found.user = kernel.user(uid)
  return found
end

--- Returns whether a process was started without a config, or with a config other than the description's.
function server.is_of_another_config(process, described)
  if process and process.has_no_config and described.path then return true end
  return process and process.config and described.path and not is_same_file(process.config, described.path) or false
end

return server
