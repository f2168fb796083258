--- vesta -- as Vesta (Java)'s manual divides the numbers: 0 to 923 for embedded generators, 924 to 1023 for servers.
--
--     options.first, options.last   all the numbers that are leased; the layout's unless given
--     options.border   the first number of a server; 924 unless given.  It may move while generators run
--     options.role     "embedded" (unless given) or "server": which side of the border is ours
--
-- Of the original (vesta-id-generator: the manual's plan of machine ids, DbMachineIdProvider, MachineIdsIdServiceImpl)
-- it keeps the two ranges, the number that comes back to who had it, the refusal where none is left, and another
-- number for a clock that goes back.  first, last and border are the same for all generators of a namespace; role is a
-- generator's own.
-- Defects it has not: a default of 0 for who forgets to configure; numbers that are never given back; a number per
-- address, so that two processes of a host share it; a configured number while the database is down, which nobody has
-- written down and another may have.

local SERVERS_FIRST = 924

-- What of the numbers is ours, and the options; or nil and why not.
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
    return nil, ("no number is left for role %s: first is %d, last is %d, border is %d")
      :format(given.role, given.first, given.last, given.border)
  end
  local found = survey(ctx, first, last)
  if found.own then return found.own.worker end
  local free = found.oldest or found.later
  local worker = found.unused or free and free.worker
  if worker then return worker end
  return nil, ("the numbers %d to %d of role %s are all held"):format(first, last, given.role)
end

local function on_clock_back() return "switch" end

local OPTIONS = {
  first = { 0, 2 ^ 53, about = "the first number that is leased; the layout's unless given" },
  last = { 0, 2 ^ 53, about = "the last number that is leased; the layout's unless given" },
  border = { 0, 2 ^ 53, about = "the first number of a server; 924 unless given, or behind the layout's last" },
  role = { "embedded", "server", default = "embedded", about = "which side of the border is ours" },
}

return { api = 1, name = "vesta", options = OPTIONS, choose_worker = choose_worker, on_clock_back = on_clock_back }
