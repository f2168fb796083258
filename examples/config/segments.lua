-- Segments from two databases: Leaf's table in one of them, and counters whose numbers both databases issue in turn.
local secret = "?secret_file=" .. env("VESTA_SECRETS", "/etc/vesta") .. "/db.pass"
local tls = env("DB_TLS", "verify")

return {
  stores = {
    a = { uri = "mysql://vesta@" .. env("DB1", "db1:3306/leaf") .. secret, tls = tls },
    b = { uri = "mysql://vesta@" .. env("DB2", "db2:3306/leaf") .. secret, tls = tls },
  },
  segments = {
    { store = "a", table = "leaf_alloc", tags = "*", order = "trend" },
    { stores = { "a", "b" }, table = "tiny_id_info", tags = { "orders" } },
  },
}
