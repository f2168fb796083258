-- in_turn.lua -- for wrk: each request has the secret of the next client, from the arguments.
local requests, at = {}, 0

function init(secrets)
  for i, secret in ipairs(secrets) do
    requests[i] = wrk.format(nil, nil, { Authorization = "Bearer " .. secret })
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
