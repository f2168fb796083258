-- One of three hosts that lease worker ids from ZooKeeper.  nginx on the same host shares the generator file.
local secrets = env("VESTA_SECRETS", "/etc/vesta")

return {
  stores = {
    zk = { uri = "zk://zk1:2181,zk2:2181,zk3:2181/vesta?secret_file=" .. secrets .. "/zk.auth" },
  },
  namespaces = {
    orders = {
      layout = "vesta-milli",
      store = "zk",
      lease = "balanced",
      policy = { "vesta", first = 0, last = 923 },
      pacing = "clock",
      ahead_ms_max = 5,
      wait_ms_max = 100,
      path = "/var/lib/vesta/orders.gen",
      group = "www-data",
    },
  },
  open = true, -- every client in this network may request ids; to restrict them: clients = "/etc/vesta/clients"
  http = { listen = { "0.0.0.0:8088", "unix:/run/vesta/http.sock" } },
  resp = { listen = { "0.0.0.0:8089" }, password = file(secrets .. "/resp.pass") },
  admin = { listen = { "unix:/run/vesta/admin.sock" } },
  threads = 2,
  log = { level = "info", format = "logfmt" },
}
