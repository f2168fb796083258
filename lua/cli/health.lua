--- health.lua -- `vesta health`: checks over HTTP whether a running server is healthy or ready.
local cli = require "cli.lib.cli"
local config = require "config"
local secure = require "cli.lib.secure"
local server = require "cli.lib.server"
local term = require "term"
local where = require "where"
local wire = require "wire"

local ADDRESS = "127.0.0.1:8088"

-- Another program may listen at the address, so the reply may be anything.
local function print_reply(address, path, reply)
  local status = reply:match "^HTTP/1%.1 ([^\r\n]*)"
  if not status then
    cli.fail("%s is not an HTTP server: it replied %s", address, term.shown(reply:match "^[^\r\n]*"))
  end
  local body = reply:match "\r\n\r\n(.*)$"
  if body and body:find "^this address speaks TLS" then
    cli.fail("%s requires TLS: add --tls, or name the server's config with -c FILE", address)
  end
  if body then term.out(term.clean(body:gsub("\n$", "")) .. "\n") end
  if not status:find "^200 " then cli.fail("%s answered %s to %s", address, term.shown(status), path) end
end

-- Returns the address of the server and the TLS options for it.
local function find_server(options, operands)
  local address, path, variable = operands[1], options.config, os.getenv "VESTA_CONFIG"
  if address and path then cli.usage "an ADDRESS and -c FILE contradict each other: leave out one" end
  if not address and not path and variable ~= "" then path = variable end
  if options.effective then
    cli.exit(config.show_some(path, {}, options.config and "--config" or "VESTA_CONFIG", false,
      "http.listen admin.listen tls.certificate "))
  end
  if not path then
    address = address or ADDRESS
    cli.check(wire.check(address))
    return address, secure.of_options(options, address)
  end
  local described = server.of_config(path)
  local row = server.http(described)
  if not row then
    cli.fail "the config has no address to ask: http.listen and admin.listen are off. Turn one of them on"
  end
  return row.address, row.is_tls and secure.of_config(options, described) or nil
end

local function run(options, operands)
  if operands[2] then cli.usage("unexpected operand %s: name one address", term.shown(operands[2])) end
  local address, tls = find_server(options, operands)
  local path = options.ready and "/readyz" or "/healthz"
  local wait_ms = options["wait-ms"] or 1000
  local question = ("GET %s HTTP/1.1\r\nHost: health\r\nConnection: close\r\n\r\n"):format(path)
  local reply, why = server.ask(address, question, wait_ms, tls)
  if reply and reply:find "\r\n\r\n[^\r\n]*begins? with a PROXY header" then
    reply, why = server.ask(address, server.PROXY_LOCAL .. question, wait_ms, tls)
  end
  if not reply then cli.fail("%s", term.clean(secure.explained(why, tls))) end
  if why then cli.fail("%s ended the TLS connection: %s", address, term.clean(why)) end
  if reply == "" then
    cli.fail("%s accepted the connection, but did not answer within %d ms: look at the log of that server", address,
      wait_ms)
  end
  print_reply(address, path, reply)
end

return {
  order = 130,
  line = "check that a running server is healthy, or ready",
  usage = "health [ADDRESS | -c FILE] [OPTION...]",
  about = ([[
Sends a health check to a server over HTTP, and prints the response.  The exit code is 0 if the server is
healthy and 1 otherwise, so you can use this command as the health check of a container without curl.

ADDRESS is HOST:PORT, tls:HOST:PORT or unix:PATH (default: %s).  With -c or VESTA_CONFIG, the
address comes from the config, and a server with TLS must present the certificate in the config.
More: docs/containers.md.

  $ vesta health
  ok
  $ vesta health --ready unix:/run/vesta/http.sock
  {"status":"ready","warnings":[]}
  $ vesta health --cacert /etc/vesta/ca.pem tls:ids.example:8088
  ok
]]):format(ADDRESS),
  options = cli.rows {
    { name = "config", letter = "c", value = "FILE", help = "the server's config file, instead of an address" },
    { name = "ready", kind = "switch",
      help = "check that every namespace can issue ids (/readyz), not only that the server responds (/healthz)" },
    { name = "wait-ms", kind = "count", value = "N", min = 1, max = 60000,
      help = "how long to wait for the response, in milliseconds (default: 1000)" },
    secure.OPTIONS,
    where.EFFECTIVE,
  },
  run = run,
}
