-- Segments from two databases: Leaf's table on one of them, and counters that both give every second number of.
local secrets = env("VESTA_SECRETS", "/etc/vesta")

return {
  stores = {
    a = { uri = "mysql://vesta@db1:3306/leaf", password = file(secrets .. "/db.pass"), tls = "verify" },
    b = { uri = "mysql://vesta@db2:3306/leaf", password = env("DB2_PASS"), tls = "verify" },
  },
  segments = {
    { store = "a", table = "leaf_alloc", tags = "*", order = "trend" },
    { stores = { "a", "b" }, table = "tiny_id_info", tags = { "orders" } },
  },
}
