-- What the container image serves unless another config is mounted over /etc/vesta/vesta.lua: one namespace, as the
-- environment says.  It needs VESTA_STORE, VESTA_WORKER or VESTA_SINGLE_HOST=true: other machines can reach it.
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
  open = true, -- every pod that reaches it may have ids; or clients = FILE, see docs/server.md
  http = { listen = "0.0.0.0:8088" },
  -- the Redis protocol is for others only with a password
  resp = { listen = secret ~= "" and "0.0.0.0:8089" or "127.0.0.1:8089", password = secret ~= "" and secret or nil },
}
