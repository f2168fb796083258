-- orders.lua -- uses ids as primary keys of a space.
--
--     tarantool orders.lua      (needs the rock, and write access to /var/lib/vesta and the current folder)
--
-- Keys sort by time, so the newest orders are at the end of the index.
local ids = require "ids"

box.cfg { log_level = "warn" }
local orders = box.schema.space.create("orders", { if_not_exists = true, format = {
  { name = "id", type = "unsigned" }, { name = "customer", type = "string" },
} })
orders:create_index("primary", { parts = { "id" }, if_not_exists = true })

-- Instances on one host share the file and its worker id.  Set a different worker id on each host, or use a shared
-- store.
local order_ids = assert(ids.open {
  layout = "vesta-milli", worker = 12, namespace = "orders", path = "/var/lib/vesta/orders.gen",
})

local app = {}

--- Places an order.  Returns its id, or nil and a message.
function app.place(customer)
  local id, message = order_ids:next()
  if not id then return nil, message end
  orders:insert { id, customer }
  return id
end

return app
