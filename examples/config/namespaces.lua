-- Several namespaces in one server, each with a layout of its own.  What a request names decides: GET orders,
-- ?ns=users.  The first is `default`: it serves whoever names none.
local worker = env("WORKER", 7) -- one number a machine, so that no two machines share one

return {
  namespaces = {
    default = { layout = "vesta-second", worker = worker },
    orders = { layout = "vesta-milli", worker = worker, policy = { "borrow", borrow_ms_max = 500 }, ahead_ms_max = 5 },
    users = { layout = "snowflake epoch=2024-01-01T00:00:00Z", worker = worker, wait_ms_max = 500 },
  },
  threads = 2,
}
