--- vesta -- divides worker ids like the manual of Vesta (Java): 0 to 923 for embedded generators, 924 to 1023 for
-- servers.
--
--     options.first, options.last   the worker ids that are leased (default: the layout's)
--     options.border                the first worker id of servers (default: 924); it may change while generators run
--     options.role                  "embedded" (the default) or "server"
--
-- Set the same first, last and border for all generators of a namespace, and the role for each generator.
--
-- Kept from the original (vesta-id-generator: the manual's plan of machine ids, DbMachineIdProvider,
-- MachineIdsIdServiceImpl):
--   - the two ranges
--   - the worker id that returns to its former holder
--   - the error if no worker id is left, and the switch to another worker id if the clock goes back
--
-- Defects of the original that it avoids:
--   - If no worker id is configured, worker id 0 is used.
--   - Worker ids are never released.
--   - Two processes on a host share the worker id of the host's address.
--   - While the database is down, a configured worker id is used, which another process may use too.

local SERVERS_FIRST = 924

-- Returns the first and the last worker id of this role, and the options; or nil and an error.
local function read(ctx)
  local least, most, given = ctx.range.first, ctx.range.last, ctx.options
  local wrong = judge_option(ctx, "first", least, most) or judge_option(ctx, "last", least, most)
    or judge_option(ctx, "border", least, most + 1)
  if wrong then return nil, wrong end
  local all = {
    first = given.first or least, last = given.last or most, role = given.role,
    border = given.border or math.min(SERVERS_FIRST, most + 1),
  }
  if all.role == "server" then return math.max(all.first, all.border), all.last, all end
  return all.first, math.min(all.last, all.border - 1), all
end

local function choose_worker(ctx)
  local first, last, given = read(ctx)
  if not first then return nil, last end
  if first > last then
    return nil, ("no worker id is left for role %s: first is %d, last is %d, border is %d")
      :format(given.role, given.first, given.last, given.border)
  end
  local found = survey(ctx, first, last)
  if found.own then return found.own.worker end
  local free = found.oldest or found.later
  local worker = found.unused or free and free.worker
  if worker then return worker end
  return nil, ("the worker ids %d to %d of role %s are all held"):format(first, last, given.role)
end

local function on_clock_back() return "switch" end

local OPTIONS = {
  first = { 0, 2 ^ 53, about = "the first worker id that is leased, by default the layout's first" },
  last = { 0, 2 ^ 53, about = "the last worker id that is leased, by default the layout's last" },
  border = { 0, 2 ^ 53, about = "the first worker id of servers, by default 924, or after the layout's last" },
  role = { "embedded", "server", default = "embedded", about = "embedded uses worker ids below the border" },
}

return { api = 1, name = "vesta", options = OPTIONS, choose_worker = choose_worker, on_clock_back = on_clock_back }
