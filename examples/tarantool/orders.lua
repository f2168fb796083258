-- orders.lua -- ids as primary keys of a space.
--
--     tarantool orders.lua      (/var/lib/vesta and the folder it runs in are the user's; the rock is on the path)
--
-- A key sorts by time, so the newest orders are the end of the index.
local ids = require "ids"

box.cfg { log_level = "warn" }
local orders = box.schema.space.create("orders", { if_not_exists = true, format = {
  { name = "id", type = "unsigned" }, { name = "customer", type = "string" },
} })
orders:create_index("primary", { parts = { "id" }, if_not_exists = true })

-- Instances on one host share the file, and so the number; each other host has a number of its own, or a store for all.
local order_ids = assert(ids.open {
  layout = "vesta-milli", worker = 12, namespace = "orders", path = "/var/lib/vesta/orders.gen",
})

local app = {}

--- Places an order: its id, or nil and a message.
function app.place(customer)
  local id, message = order_ids:next()
  if not id then return nil, message end
  orders:insert { id, customer }
  return id
end

return app
