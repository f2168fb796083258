-- The config of the container image: one namespace, configured by environment variables.  VESTA_STORE, VESTA_WORKER or
-- VESTA_SINGLE_HOST=true is required, because other hosts can reach the server.  To replace it, mount /etc/vesta.
local store, policy, secret = env("VESTA_STORE", ""), env("VESTA_POLICY", ""), env("VESTA_RESP_PASSWORD", "")
local worker = env("VESTA_WORKER", -1)

return {
  namespaces = {
    [env("VESTA_NAMESPACE", "default")] = {
      layout = env("VESTA_LAYOUT", "vesta-second"),
      store = store ~= "" and store or nil,
      worker = worker >= 0 and worker or nil,
      policy = policy ~= "" and policy or nil,
    },
  },
  single_host = env("VESTA_SINGLE_HOST", false),
  open = true, -- every pod may request ids; to restrict them: clients = FILE, see docs/security.md
  http = { listen = "0.0.0.0:8088" },
  -- without a password, the Redis protocol listens inside the container only
  resp = { listen = secret ~= "" and "0.0.0.0:8089" or "127.0.0.1:8089", password = secret ~= "" and secret or nil },
}
