--- vesta.hooks -- what a policy is asked, what it is told and what it may answer: a row each, and the only place.
-- The rock, vesta.testing and, by way of csrc/policy/header.lua, the program are made of it, and a spec holds
-- docs/policies-reference.md and library/vesta.lua to it.  Situations begin with "with" or "at".
return {
  hooks = { -- a function; its verdicts, none: a worker id; the verdict of the fixed rules, none: a worker id
    { "choose_worker", "" },
    { "on_clock_back", "wait borrow switch refuse", "refuse" },
    { "on_exhausted", "wait borrow refuse", "refuse" },
    { "on_start", "go refuse", "go" },
    { "on_store_down", "continue refuse", "continue" },
    { "on_lease_lost", "claim stop", "claim" },
  },
  -- Fields of ctx: kind, the functions that get it, its value where a policy is tried (a moment: ms from now on; none:
  -- nil), and "absent" if a server may have no value for it.
  fields = {
    { "namespace", "text", "all", "default" },
    { "now_ms", "moment", "all", "0" },
    { "worker", "integer", "on_clock_back on_exhausted on_lease_lost", "1" },
    { "ahead_ms_max", "integer", "on_clock_back on_exhausted", "0" },
    { "back_ms", "integer", "on_clock_back", "1000" },
    { "ahead_ticks", "integer", "on_exhausted", "0" },
    { "last_ms", "moment", "on_start", "-1000", "absent" },
    { "peers", "peers", "on_start" },
    { "down_ms", "integer", "on_store_down", "1000" },
    { "left_ms", "integer", "on_store_down", "60000" },
    { "records", "records", "choose_worker" },
    { "range", "range", "choose_worker", "0-1023" },
    { "host", "text", "choose_worker", "host-0", "absent" },
    { "ip", "text", "choose_worker", "192.0.2.1", "absent" },
    { "ordinal", "integer", "choose_worker", "0", "absent" },
    { "identity", "text", "choose_worker", "host-0", "absent" },
    { "random", "integer", "choose_worker", "2147483648" },
    { "attempt", "integer", "choose_worker", "1" },
    { "leaving", "integer", "choose_worker", nil, "absent" },
  },
  records = { -- a field of one of ctx.records, and its kind; numbers count from 0
    { "worker", "number" },
    { "epoch", "number" },
    { "holder", "text" },
    { "identity", "text" },
    { "held", "flag" },
    { "expired", "flag" },
    { "until_ms", "moment" },
    { "written_ms", "moment" },
    { "seen_ms", "moment" },
  },
  situations = { -- in which a function is tried before it holds: its name behind "when it is tried", what is otherwise
    { "on_clock_back", "with a clock that is 5 ms back", "back_ms=5" },
    { "on_exhausted", "with ids that are used up", "ahead_ticks=1" },
    { "on_start", "at a first start, alone", "last_ms=nil" },
    { "on_start", "at another start, among peers", "peers=all" },
    { "choose_worker", "with no records", "" },
    { "choose_worker", "with numbers that are held, expired and given back", "records=some range=0-3" },
    { "choose_worker", "with all numbers held", "records=all range=0-3" },
    { "choose_worker", "with a number that is to be left", "records=ours range=0-3 leaving=0" },
    { "on_store_down", "with a store that is silent", "" },
    { "on_lease_lost", "with a number that was lost", "" },
  },
}
