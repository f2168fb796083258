-- Several namespaces in one server, each with its own layout.  A request names its namespace: GET orders, ?ns=users.
-- Requests without a name get ids of `default`.
local worker = env("WORKER", 7) -- set a different worker id on each host

return {
  namespaces = {
    default = { layout = "vesta-second", worker = worker },
    orders = { layout = "vesta-milli", worker = worker, policy = { "borrow", borrow_ms_max = 500 }, ahead_ms_max = 5 },
    users = { layout = "snowflake epoch=2024-01-01T00:00:00Z", worker = worker, wait_ms_max = 500 },
  },
  threads = 2,
}
