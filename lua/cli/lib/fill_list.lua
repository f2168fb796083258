--- fill_list.lua -- the Redis list of `vesta fill`: reads its length and appends ids.
--
-- A restarted Redis may restore ids from its disk that were already popped.  A replica that becomes master, or a master
-- that was a replica for a while, can also restore such ids.  Therefore a second key, the mark, stores the history
-- under which the list was filled: the server's run id and replication id.  If Redis now has a different or unknown
-- history, the list is emptied before ids are pushed.
--
-- Each method returns "ok" and a value, or an outcome of redis:call and a message.
local UNKNOWN = "unknown" -- stands for a run id or replication id that the server does not report
local PART_MAX = 63       -- maximum bytes of a run id or replication id

local List = {}
List.__index = List

local fill_list = {}

--- `login`: { user, password, db }.  user and password may be nil.
function fill_list.new(redis, name, login)
  local brace = name:find("{", 1, true)
  local has_tag = brace and name:find("}", brace, true) -- a hash tag puts list and mark on the same cluster node
  local mark = (has_tag and "%s:vesta" or "{%s}:vesta"):format(name)
  -- is_ours: this process has checked the list's mark, or has emptied the list
  return setmetatable({ redis = redis, name = name, login = login, mark = mark, is_ours = false, cleared = 0 }, List)
end

---------------------------------------------------------------- calls

local function fail(outcome, text) error({ outcome = outcome, text = text }, 0) end

-- Calls a method.  Returns "ok" and its value, or the outcome and the message that the method passed to `fail`.
local function try(method, ...)
  local ok, value = pcall(method, ...)
  if ok then return "ok", value end
  if type(value) == "table" and value.outcome then return value.outcome, value.text end
  error(value, 0)
end

function List:call(...)
  local outcome, value = self.redis:call { ... }
  if outcome ~= "ok" then fail(outcome, value) end
  return value
end

-- Like List:call, but returns nil and the error message if Redis rejects the command.
function List:ask(...)
  local outcome, value = self.redis:call { ... }
  if outcome ~= "ok" and outcome ~= "refused" then fail(outcome, value) end
  if outcome == "ok" then return value end
  return nil, value
end

---------------------------------------------------------------- a new connection

function List:log_in()
  local login = self.login
  if login.password and login.user then
    self:call("AUTH", login.user, login.password)
  elseif login.password then
    self:call("AUTH", login.password)
  end
  if login.db > 0 then self:call("SELECT", ("%d"):format(login.db)) end
  self:ask("CLIENT", "SETNAME", "vesta-fill") -- shows operators what the connection is for; a rejection is ignored
end

-- Returns a field of INFO, or UNKNOWN if the server lacks the field or does not allow this user to read it.
function List:info(section, field)
  local text, refusal = self:ask("INFO", section)
  if refusal and (refusal:find "^NOAUTH" or refusal:find "^LOADING") then fail("refused", refusal) end
  local value = type(text) == "string" and ("\n" .. text):match("\n" .. field .. ":([^\r\n]+)")
  return value and value:sub(1, PART_MAX) or UNKNOWN
end

-- The replication id changes whenever the server becomes a master.
function List:ask_replid() return self:info("replication", "master_replid") end

-- Reads the history.  Rejects replicas, because a writable replica would lose the ids, and a read-only replica would
-- fail only at the first push.
function List:read_history()
  local role = self:info("replication", "role")
  if role ~= "master" and role ~= UNKNOWN then fail("refused", "READONLY it is a replica") end
  local run_id = self:info("server", "run_id")
  self.replid = self:ask_replid()
  self.history, self.is_told = run_id .. "/" .. self.replid, run_id ~= UNKNOWN
end

function List:ask_length()
  local length = self:call("LLEN", self.name)
  if math.type(length) ~= "integer" or length < 0 then fail("refused", "ERR LLEN returned no number") end
  return length
end

-- Empties a list that was filled under a different history.  A list without a mark belongs to another program, unless
-- this process filled it: in that case Redis evicted the mark or lost writes.
function List:check_mark()
  local length, mark = self:ask_length(), self:call("GET", self.mark)
  if length == 0 then return end
  if mark == nil and not self.is_ours then
    fail("refused", "FOREIGN the list is not empty, and no vesta fill has filled it")
  end
  if self.is_told and mark == self.history then return end
  self:call("DEL", self.name)
  self.cleared = self.cleared + length
end

function List:set_mark() self:call("SET", self.mark, self.history) end

local function begin(self)
  self:log_in()
  self:read_history()
  self:check_mark()
  self:set_mark()
  self.is_ours = true
end

---------------------------------------------------------------- looking and pushing

-- Reads the length of the list.  A changed replication id means that the server was a replica since the last call.
-- Restores the mark if Redis evicted it.  A mark of a different history belongs to another `vesta fill`, and is
-- replaced only if the list is empty.
local function look(self)
  local outcome, is_new = self.redis:connect()
  if outcome ~= "ok" then fail(outcome, is_new) end
  if is_new or self:ask_replid() ~= self.replid then
    local trouble
    outcome, trouble = try(begin, self)
    if outcome ~= "ok" then
      self.redis:close() -- so that the next call of look opens a new connection and calls begin again
      fail(outcome, trouble)
    end
  end
  local length, mark = self:ask_length(), self:call("GET", self.mark)
  if mark ~= self.history and (length == 0 or mark == nil) then self:set_mark() end
  return length
end

--- Connects if there is no connection.  Returns "ok" and the length of the list.
function List:look() return try(look, self) end

--- Appends ids, a list of texts.  Returns "ok" and the new length of the list.  After "unknown" these ids must never be
-- pushed again.
function List:push(ids)
  local outcome, length = self.redis:call({ "RPUSH", self.name }, ids)
  if outcome ~= "ok" then return outcome, length end
  if math.type(length) == "integer" and length >= #ids then return "ok", length end
  self.redis:close() -- the reply is wrong, because a list with these ids is at least as long as `ids`
  return "unknown", "RPUSH returned no length"
end

function List:close() self.redis:close() end

---------------------------------------------------------------- refusals

-- Errors with which Redis rejects a command before it changes anything, and their remedies.
local REMEDIES = {
  READONLY = "use the address of its master",
  WRONGTYPE = "the key is not a list: choose another --list, or remove it (DEL)",
  OOM = "it has no memory left (maxmemory): free some memory, or lower --high",
  NOAUTH = "it requires a password: add --password-file, and --user for an ACL user",
  WRONGPASS = "correct the password in --password-file, or --user",
  NOPERM = "this user needs LLEN, RPUSH, GET, SET, DEL, INFO and CLIENT SETNAME on the list and its mark",
  LOADING = "it reads its data from disk, so wait until it is ready",
  MISCONF = "it cannot write its snapshot to disk: see its log",
  MASTERDOWN = "it is a replica that has lost its master",
  NOREPLICAS = "it has too few replicas to write (min-replicas-to-write)",
  CLUSTERDOWN = "its cluster is down",
  MOVED = "it is one node of a cluster: use the address of the node that has the list",
  ASK = "its cluster is moving the list to another node, so wait until that is done",
  BUSY = "it runs a script that does not end (SCRIPT KILL)",
  FOREIGN = "choose another --list, or remove the key (DEL)",
}

--- Returns the remedy for an error ("READONLY ..."), or nil.
function fill_list.remedy(refusal) return REMEDIES[refusal:match "^[^ ]*"] end

return fill_list
