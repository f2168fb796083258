--- vesta.hooks -- defines the functions of a policy, the fields of their ctx, and their verdicts.
-- The rock and vesta.testing use these rows.  csrc/policy/header.lua generates C tables from them for the program.  A
-- spec compares docs/policies-reference.md and library/vesta.lua with them.
return {
  -- Columns: the function, its verdicts ("" if it returns a worker id), and the verdict of the fixed rules.
  hooks = {
    { "choose_worker", "" },
    { "on_clock_back", "wait borrow switch refuse", "refuse" },
    { "on_exhausted", "wait borrow refuse", "refuse" },
    { "on_start", "go refuse", "go" },
    { "on_store_down", "continue refuse", "continue" },
    { "on_lease_lost", "claim stop", "claim" },
  },
  -- Columns: the field of ctx, its kind, the functions that get it, its value in a trial run (nothing for nil, and for
  -- a moment the milliseconds from now), and "absent" if a server may have no value for it.
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
  -- Columns: the field of a record in ctx.records, and its kind.  A number is 0 or more.
  records = {
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
  -- Situations of trial runs.  Columns: the function, the description for messages, which follows "when it is tried",
  -- and the values of ctx.
  situations = {
    { "on_clock_back", "with a clock that is 5 ms back", "back_ms=5" },
    { "on_exhausted", "with an exhausted sequence", "ahead_ticks=1" },
    { "on_start", "at a first start, alone", "last_ms=nil" },
    { "on_start", "at another start, among peers", "peers=all" },
    { "choose_worker", "with no records", "" },
    { "choose_worker", "with worker ids that are held, expired and released", "records=some range=0-3" },
    { "choose_worker", "with all worker ids held", "records=all range=0-3" },
    { "choose_worker", "with a worker id that must be left", "records=ours range=0-3 leaving=0" },
    { "on_store_down", "with an unreachable store", "" },
    { "on_lease_lost", "with a lost worker id", "" },
  },
}
