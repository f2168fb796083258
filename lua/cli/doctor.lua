--- doctor.lua -- `vesta doctor`: checks this machine's setup for a server, and prints what to fix.
-- It changes nothing and claims no worker id.  csrc/main/doctor collects the facts, and this file judges them.
local addresses = require "cli.lib.doctor_addresses"
local cli = require "cli.lib.cli"
local probe = require "probe"
local server = require "cli.lib.server"
local stores = require "store"
local store_judges = require "cli.lib.doctor_stores"
local term = require "term"
local where = require "where"

local ERROR_MS_MAX = 1000         -- a clock with a larger error bound counts as not synchronized
local ROOM_BYTES_MIN = 16 << 20
local SET_US_MIN = 1000000        -- slewing moves a clock by less than this between two readings
local BEHIND_US_MAX = 60000000
local TEXT_AT = 22                -- the column of a finding's text
local DAY_MS = 86400000
local CERTIFICATE_MS_MIN = 30 * DAY_MS

local CHMOD = "change the owner with chown"

---------------------------------------------------------------- findings

local Doctor = {}
Doctor.__index = Doctor

local PAINT = { fail = "red", warn = "yellow" }

-- Prints a finding.  state: "ok", "warn" or "fail".  what: the subject of the check.  todo: the remedy, or nil.
function Doctor:found(state, what, text, todo)
  if state == "fail" then self.fails = true end
  if self.json then
    local object = { { "state", state }, { "what", what }, { "says", text } }
    if todo then table.insert(object, { "do", todo }) end
    return cli.json(cli.object(object))
  end
  local paint, plain = "", ""
  if PAINT[state] then paint, plain = term.paint(PAINT[state]), term.paint "plain" end
  cli.printf("%s%-4s%s  %-14s  ", paint, state, plain, what)
  term.fitted(text .. (todo and "; " .. todo or ""), TEXT_AT, TEXT_AT)
end

-- Returns a function judge(state, todo, format, ...) that prints findings about one subject.
function Doctor:about(what, prefix)
  return function(state, todo, format, ...)
    self:found(state, what, (prefix or "") .. format:format(...), todo)
  end
end

---------------------------------------------------------------- the machine

function Doctor:check_clock()
  local found, clock = self:about "clock", probe.clock()
  local now = term.iso(clock.now_ms)
  if clock.in_step == nil then
    found("warn", nil, "%s, and the kernel does not report whether it is synchronized", now)
  elseif not clock.in_step then
    found("warn", "run chrony or systemd-timesyncd, because requests wait when a clock is set back",
      "%s, and according to the kernel nothing synchronizes it", now)
  else
    local is_off = clock.error_ms > ERROR_MS_MAX
    found(is_off and "warn" or "ok", is_off and "check the time source: `timedatectl`, `chronyc tracking`" or nil,
      "%s, synchronized to a time source, off by %d ms at most", now, clock.error_ms)
  end
end

function Doctor:check_limits()
  local found, limits, trouble = self:about "files", self.probe:limits()
  if not limits then return found("fail", nil, "%s", trouble) end
  local text = "%d file descriptors, %d of them reserved for stores, keepers and the log: room for %d connections"
  text = text:format(limits.descriptors, limits.reserved, limits.connections)
  if not limits.configured then return found("ok", nil, "%s", text) end
  found("warn", limits.remedy .. " or lower connections_max", "%s, not for the %d configured", text, limits.configured)
end

---------------------------------------------------------------- files of the server

function Doctor:check_certificate()
  local tls = self.config.tls
  if not tls or self.lacks_tls then return end
  local found, facts_of_it, trouble = self:about "tls", self.probe:certificate()
  if not facts_of_it then return found("fail", nil, "%s", trouble) end
  local left_ms, at = facts_of_it.expires_ms - term.now_ms(), term.iso(facts_of_it.expires_ms)
  local todo = "replace it: the server reads the new certificate without a restart"
  if left_ms <= 0 then
    found("fail", todo, "the certificate %s expired at %s, so clients reject it", tls.certificate, at)
  elseif left_ms < CERTIFICATE_MS_MIN then
    found("warn", todo, "the certificate %s expires at %s", tls.certificate, at)
  else
    found("ok", nil, "the certificate %s is valid until %s", tls.certificate, at)
  end
end

-- A server that starts as root reads its files before it switches to its user.  For such a server an unreadable file is
-- a warning, because only a reload fails.
function Doctor:check_files()
  local list, user = server.unreadable(self.config)
  for _, file in ipairs(list) do
    self.lacks_tls = self.lacks_tls or not user.drops and file.what:find "^tls" ~= nil
    self:found(user.drops and "warn" or "fail", file.what, file.text .. (user.drops and ", so it cannot be read again"
      or ""), file.todo)
  end
end

---------------------------------------------------------------- folders

-- If every namespace names its store, a server can issue ids without a generator file, so this is only a warning.
function Doctor:folder_state()
  for _, namespace in ipairs(self.config.namespaces) do
    if not namespace.names_store then return "fail" end
  end
  return "warn"
end

function Doctor:check_room(what, path, folder)
  local found = self:about(what)
  if folder.is_full then
    found("fail", "free some space", "%s is full", path)
  elseif folder.room_bytes and folder.room_bytes < ROOM_BYTES_MIN then
    found("warn", "free some space", "%s has %s bytes left", path, term.grouped(folder.room_bytes))
  end
end

-- Checks a state folder, or the parent folder in which it will be created.
function Doctor:check_folder(path)
  local found, folder = self:about "state", self.probe:folder(path)
  if folder.will_be_created then return found("ok", nil, "%s does not exist yet and will be created", path) end
  local blocked, todo
  if server.is_made(self.user, path) then
    found("ok", nil, "systemd creates %s for user %s when it starts the unit", path, self.user.name)
    return self:check_room("state", path, folder)
  end
  if self.user then blocked, todo = server.blocked(self.user, path, "w") end
  if folder.blocked then
    return found(self:folder_state(), "create it, or choose another folder",
      "%s does not exist and cannot be created: %s", path, folder.blocked)
  end
  if folder.unreadable then
    return found("fail", "run as its owner (`sudo -u`), or choose another folder", "%s cannot be examined: %s", path,
      folder.unreadable)
  end
  local owned = ("%s belongs to user %d, has mode %o and is not writable"):format(path, folder.user, folder.mode)
  if folder.file_system then
    found("fail", "set VESTA_STATE, or the namespace's path", "%s", folder.file_system)
  elseif self.user and blocked then
    found("fail", todo, "%s (it belongs to user %d and has mode %o)", blocked, folder.user, folder.mode)
  elseif not self.user and folder.unwritable then
    found(self:folder_state(), "run as its owner, or " .. CHMOD, "%s: %s", owned, folder.unwritable)
  elseif folder.is_unsafe then
    found("fail", nil, "%s", folder.is_unsafe)
  elseif folder.is_open then
    found("warn", "chmod o-w", "%s is writable by everyone (mode %o)", path, folder.mode)
  else
    found("ok", nil, "%s is writable", path)
  end
  self:check_room("state", path, folder)
end

-- Checks the free space in the folders of the config's log files and local stores.
function Doctor:check_places()
  local done = {}
  local function check(what, path)
    local folder = path and server.folder_of(path)
    if not folder or done[folder] then return end
    done[folder] = true
    local found = self.probe:folder(folder)
    if not found.room_bytes then return end
    self:check_room(what, folder, found)
  end
  check("log", self.config.log)
  check("log", self.config.access_log)
  for _, namespace in ipairs(self.config.namespaces) do check("store", namespace.place) end
  for _, segment in ipairs(self.config.segments) do
    for _, place in ipairs(segment.stores) do check("segments", place.place) end
  end
end

function Doctor:check_folders()
  local state, last = probe.state_folder(), nil
  if state then
    self:check_folder(state)
  else
    self:found(self:folder_state(), "state", "there is no state folder",
      "set VESTA_STATE, or make /var/lib/vesta writable")
  end
  for _, namespace in ipairs(self.config.namespaces) do
    if namespace.path then
      local folder = server.folder_of(namespace.path)
      if folder ~= last and folder ~= state then self:check_folder(folder) end
      last = folder
    end
  end
end

---------------------------------------------------------------- a generator file

local function check_lifetime(found, layout)
  local warning, end_ms = stores.lifetime(layout)
  if not warning then
    found("fail", nil, "%s", end_ms)
  elseif warning ~= "" then
    found("warn", "plan a new namespace with a later epoch or more time bits", "%s", warning)
  else
    found("ok", nil, "the layout's time lasts until %s", term.iso(end_ms))
  end
end

-- Checks that the folder of maps is shared memory, so that all processes of this machine share one lease.
local function check_maps(found, file)
  if not file.maps then return end
  if not file.maps_are_shared then
    found("warn", "mount a tmpfs there, or name one with VESTA_MAPS",
      "%s is not in memory (tmpfs), so each process takes its own lease", file.maps)
  elseif file.maps_are_full then
    found("warn", "make it larger (docker: --shm-size)", "%s is full: each process takes its own lease", file.maps)
  end
end

local function check_map_file(found, file)
  if file.map_trouble then
    found("fail", nil, "%s", file.map_trouble)
  elseif file.map_renamed then
    found("warn", nil, "%s, and the map has a different name now", file.map_renamed)
  elseif file.map_stale then
    found("ok", nil, "its map %s is no longer usable and will be replaced", file.map_stale)
  end
end

local function check_lease(found, map)
  if map.is_stopped then
    found("fail", "find out whether two processes used one worker id, because their ids may be duplicates",
      "stopped permanently: %s", map.said or "the keeper reported no reason")
  else
    local ends = map.left_s and (map.left_s < 0 and "ended %d s ago" or "ends in %d s unless renewed")
    local lease = map.worker and ("worker %s, its lease " .. ends):format(cli.unsigned(map.worker),
      math.abs(map.left_s)) or "no lease at the moment: no process is serving it"
    found("ok", nil, "%s, with %d of the %d leases in its map in use", lease, map.used, map.leases)
  end
  if map.said then found("warn", nil, "the keeper's last message: %s", map.said) end
end

-- Compares the clock with the times at which this file issued ids.
local function check_seen(found, map)
  if map.behind_us > 0 then
    found(map.behind_us > BEHIND_US_MAX and "fail" or "warn", "correct the clock, or wait that long",
      "the clock is %.3f s behind the time of ids already issued", map.behind_us / 1e6)
  elseif math.abs(map.set_us) > SET_US_MIN then
    found("warn", "find out what sets it", "the clock was set %s by %.3f s since this file was created",
      map.set_us > 0 and "forward" or "back", math.abs(map.set_us) / 1e6)
  end
end

-- Returns false if the generator file cannot be used.
function Doctor:check_file(namespace, i)
  local found, file, trouble = self:about(namespace.name), self.probe:file(i)
  if not file then
    found("fail", nil, "%s", trouble)
    return false
  end
  check_maps(found, file)
  if not file.is_there then
    found("ok", nil, "%s does not exist yet and will be created", file.path)
    check_lifetime(found, file.layout)
    return true
  end
  if file.no_file then found("warn", nil, "%s", file.no_file) end
  check_map_file(found, file)
  if file.layout == "" then
    found("fail", "move it away, so that a new one is created", "%s has no layout", file.path)
    return true
  end
  check_lifetime(found, file.layout)
  if file.map then
    check_lease(found, file.map)
    check_seen(found, file.map)
  else
    found("ok", nil, "%s was not used since this machine booted", file.path)
  end
  return true
end

---------------------------------------------------------------- the command

function Doctor:check_config(opened, path)
  self.probe, self.config = opened, opened:config()
  self.user = server.runs_as(self.config)
  if path then self:found("ok", "config", path .. " can be read") end
  for _, note in ipairs(self.config.notes) do self:found("warn", "config", note) end
  self:check_limits()
  addresses.check(self)
  self:check_files()
  self:check_certificate()
  self:check_folders()
  self:check_places()
  for i, namespace in ipairs(self.config.namespaces) do
    local has_file = self:check_file(namespace, i)
    if namespace.store then store_judges.check_namespace(self, namespace, i, has_file) end
    if namespace.policy then -- the policy loads, because reading the config has already loaded it
      self:found("ok", namespace.name, ("its policy %s loads"):format(namespace.policy))
    end
  end
  store_judges.check_segments(self)
end

local function run(options, operands)
  if operands[1] then cli.usage("unexpected operand %s", term.shown(operands[1])) end
  if options.config and (options.namespace or options.layout or options.path or options.store) then
    cli.usage "-c cannot be combined with --namespace, --path, --layout or --store: the config sets them"
  end
  if options.effective then return probe.print(options) end
  local opened, trouble = probe.open(options)
  if opened == false then return trouble end
  local doctor = setmetatable({ json = options.json, fails = false }, Doctor)
  doctor:check_clock()
  if opened then
    doctor:check_config(opened, trouble)
  else -- the other checks need a config
    doctor:found("fail", "config", trouble, "correct it and run vesta doctor again")
  end
  return doctor.fails and 1 or 0
end

return {
  order = 120,
  line = "check this machine's setup for a server, and print what to fix",
  usage = "doctor [OPTION...]",
  about = [[
Checks the clock, limits, addresses, the state folder, generator files, layouts and lease stores.  With -c it
also checks the config, its policies, its certificate and its counter tables.  It also checks that the user
in the config or in vesta.service can read the files.

Prints one line for each check: ok, warn or fail, and how to fix the problem.  It changes nothing and claims
no worker id.  The exit code is 1 if a check fails.  More: docs/deploy.md.

  $ vesta doctor -c /etc/vesta/vesta.lua
  ok    clock           2026-11-21T19:32:16Z, synchronized to a time source, ...
  ...
  fail  clients         user vesta (the user of .../system/vesta.service)
  cannot read /etc/vesta/clients: Permission denied; chgrp vesta ...

  $ vesta doctor --json
  {"state":"ok","what":"clock","says":"2026-11-21T19:32:16Z, synchronized ...
]],
  options = {
    { name = "config", letter = "c", value = "FILE", help = "the server's config file" },
    { name = "namespace", value = "NAME", help = "the namespace, if there is no config (default: default)" },
    { name = "path", value = "FILE", help = "the namespace's generator file (default: <state>/NAME.gen)" },
    { name = "layout", value = "TEXT|PRESET", help = "the layout that the generator file must have" },
    { name = "store", value = "URI", help = "the store that leases the namespace's worker ids" },
    { name = "http", value = "ADDR", help = "the HTTP address, or off" },
    { name = "resp", value = "ADDR", help = "the address for the Redis protocol, or off" },
    { name = "admin", value = "ADDR", help = "the address of the admin listener, or off" },
    where.EFFECTIVE,
    { name = "json", kind = "switch", help = "print JSON objects" },
  },
  run = run,
}
