--- schema.lua -- lists the keys of a config, one row each.  To add a key, add a row and use its member in C.
--
-- The rows generate the members of struct vs_config (csrc/config/header.lua), the flags of `vesta serve` and their
-- help, the environment variables, `vesta check`, --effective, and the table in docs/config.md (scripts/tables).
--
--   key       the path in the file, in which * is a name and # an index in a list
--   kind      text, secret (a text that is never shown), integer, switch, choice or word (one of `words`), list,
--             secrets (a list that is never shown), policy, fields
--   words     the values of a choice or a word, "off|verify".  C receives a choice as its index in this list
--   min, max  the range of an integer.  max is also the size limit of a text in bytes, and of a list in entries
--   is        the C constant that max must equal
--   check     the function in checks.lua that checks a text.  The value of a flag is checked by the code that uses it
--   default   the default value, as text
--   without   a description of the default, if no constant value is the default
--   env       the environment variable
--   flag      the option of `vesta serve`.  The option of a switch takes no value.  The option of a secret takes a file
--   value     the name of the flag's value in its help
--   says      the value that the flag of a switch sets (default: true)
--   flag_help the help of the flag, if the flag sets a switch to false
--   live      true if a reload applies a new value
--   member    the C member, if it is not the key with _ instead of dots.  false if C does not need the value
--   help      the help text, a noun phrase or a clause
local options = require "config.options"

local DAY_MS = 86400000
local MINUTE_MS = 60000
local CONNECTIONS_MAX = 1000000
local PATH_BYTES_MAX = 250 -- a lease record, in which the path is the identity, has room for 250 bytes
local NAME_BYTES_MAX = 64
local SECRET_MAX = 1023
local RATE_MAX = 1000000000 -- ids or requests per second
local STEP_MAX = 1 << 32    -- maximum numbers in one range

local schema = {}

--- The tables of which the user names the entries (*) or lists them (#).
schema.parts = {
  { prefix = "namespaces.*.", struct = "namespace", max = 16384, is = "VS_CONF_NAMESPACES_MAX", check = "namespace" },
  { prefix = "stores.*.", struct = "store", max = 16, is = "VS_CONF_STORES_MAX", check = "store_name" },
  { prefix = "segments.#.", struct = "segment", max = 16, is = "VS_CONF_SEGMENTS_MAX" },
}

local rows = {
  { key = "namespaces.*.policy", kind = "policy", max = PATH_BYTES_MAX, live = true,
    flag = "policy", value = "NAME|FILE", without = "none: the fixed rules apply",
    help = "the policy that handles pauses: a built-in policy, a file, or { NAME, option = value }" },
  { key = "namespaces.*.shadow_policy", kind = "policy", max = PATH_BYTES_MAX, live = true, member = "shadow",
    flag = "shadow-policy", value = "NAME|FILE", without = "none",
    help = "a policy to test: its decisions appear in the log and in /metrics, but have no effect" },
  { key = "namespaces.*.policy_env", kind = "list", max = 32, is = "VS_POLICY_ENV_MAX", live = true,
    member = false, flag = "policy-env", value = "NAME,...", without = "none",
    help = "environment variables that the policy can read with env(name)" },
  { key = "namespaces.*.leased_as", kind = "text", max = 64, is = "VESTA_NAMESPACE_MAX - 1", check = "namespace",
    without = "NAME",
    help = "the namespace's name in the store, if `vesta store relayout` created a new one, such as NAME.2" },
  { key = "namespaces.*.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS,
    flag = "wait-ms", value = "MS", without = "1500, or 100 with a policy",
    help = "how long a request waits for an id before it fails or the policy is called" },
  { key = "namespaces.*.policy_wait_ms_max", kind = "integer", min = 0, max = 10 * MINUTE_MS, default = "10000",
    help = "how long a policy can let a request wait in total" },
  { key = "namespaces.*.rate", kind = "integer", min = 1, max = RATE_MAX, without = "the limit of the layout",
    help = "the namespace's rate limit in ids per second, for all clients together" },
  { key = "namespaces.*.requests", kind = "integer", min = 1, max = RATE_MAX, without = "no limit",
    help = "the namespace's rate limit in requests per second, for all clients together" },

  { key = "stores.*.uri", kind = "text", max = 1000, check = "uri", without = "required",
    help = "the store's address, a [URI](stores.md#store-uris)" },
  { key = "stores.*.auth", kind = "secret", max = SECRET_MAX, without = "none",
    help = "ZooKeeper credentials, user:password" },
  { key = "stores.*.password", kind = "secret", max = SECRET_MAX, without = "none", help = "the database's password" },
  { key = "stores.*.tls", kind = "choice", words = "off|verify", default = "verify",
    help = "the TLS mode for a mysql: or postgresql: store on another machine: verify its certificate, or do not use "
      .. "TLS" },

  { key = "segments.#.store", kind = "text", max = NAME_BYTES_MAX, without = "see stores",
    help = "the store that contains the table" },
  { key = "segments.#.stores", kind = "list", max = 8, is = "VS_CONF_SEGMENT_STORES_MAX", without = "see store",
    help = "several stores that share the counters, each with every n-th number, listed in the same order on all "
      .. "servers" },
  { key = "segments.#.table", kind = "text", max = NAME_BYTES_MAX, check = "word", default = "leaf_alloc",
    help = "the table of counters" },
  { key = "segments.#.tags", kind = "list", max = 256, check = "tag", without = "required",
    help = 'tags that the server serves, or "*" for all tags of the table' },
  { key = "segments.#.order", kind = "choice", words = "trend|strict|dense", default = "trend",
    help = "the order of the numbers: trend, strict (increasing across all servers) or dense (no gaps), see "
      .. "[counters](counters.md#which-order)" },
  { key = "segments.#.form", kind = "text", max = 128, is = "VS_FORM_MAX - 1", check = "form",
    without = "plain digits",
    help = "the format of [business numbers](numbers.md): 'INV-{day:%Y%m%d}-{number:6}'" },
  { key = "segments.#.zone", kind = "text", max = 63, is = "VS_ZONE_NAME_MAX - 1", check = "zone", without = "UTC",
    help = "the time zone of the form's days, months or years, such as Europe/Berlin" },
  { key = "segments.#.step", kind = "integer", min = 1, max = STEP_MAX, without = "the step in the table, else 1000",
    help = "the smallest range, in numbers, if the tag's row in the table has no step" },
  { key = "segments.#.step_max", kind = "integer", min = 1, max = STEP_MAX, default = "1000000",
    help = "the largest range, in numbers (ranges double in size while one lasts less than 15 minutes)" },
  { key = "segments.#.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS, default = "1500",
    help = "how long a request waits for a number" },

  { key = "http.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "http",
    flag = "http", value = "ADDR", env = "VESTA_HTTP", default = "127.0.0.1:8088", without = "off",
    help = 'HTTP addresses: HOST:PORT, [IPv6]:PORT, either of them after tls:, unix:PATH, or "off"' },
  { key = "http.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "octal mode of the socket file of a unix: address (users with write permission can connect)" },
  { key = "http.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "http-idle-ms", value = "MS",
    default = "75000", -- balancers close after 60 s, and must be the first to close
    help = "idle time after which the server closes an HTTP connection" },
  { key = "http.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "maximum number of HTTP connections" },
  { key = "http.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "maximum number of ids per HTTP request" },
  { key = "http.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "maximum number of ids per block over HTTP, or 0 to disable blocks" },
  { key = "http.hosts", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "host",
    flag = "http-hosts", value = "NAME,...",
    without = "any if other machines can connect, else addresses, localhost and names without a dot",
    help = 'names with a dot that the server accepts in the Host header, or "*" for any' },
  { key = "http.allow_origins", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "origin",
    flag = "allow-origins", value = "ORIGIN,...", without = "none",
    help = "origins of web pages that may request ids, such as https://shop.example.com" },
  { key = "http.state", kind = "switch", flag = "no-http-state", says = "false", default = "true",
    flag_help = "serve /metrics, /readyz and /version only on --admin",
    help = "whether http.listen serves /metrics, /readyz and /version, as admin.listen always does" },

  { key = "resp.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "resp",
    flag = "resp", value = "ADDR", env = "VESTA_RESP", default = "127.0.0.1:8089", without = "off",
    help = 'addresses for the Redis protocol, or "off"' },
  { key = "resp.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "octal mode of the socket file of a unix: address (users with write permission can connect)" },
  { key = "resp.password", kind = "secret", max = SECRET_MAX, flag = "resp-password-file", value = "FILE",
    env = "VESTA_RESP_PASSWORD", without = "none", help = "the password that Redis clients send with AUTH" },
  { key = "resp.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "resp-idle-ms", value = "MS",
    default = "300000", -- connection pools keep idle connections longer than browsers do
    help = "idle time after which the server closes a Redis connection" },
  { key = "resp.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "maximum number of Redis connections" },
  { key = "resp.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "maximum number of ids per Redis command" },
  { key = "resp.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "maximum number of ids per block over the Redis protocol, or 0 to disable blocks" },
  { key = "resp.auth_ms_max", kind = "integer", min = 100, max = DAY_MS, default = "10000",
    help = "time after which the server closes a connection that has not authenticated" },

  { key = "admin.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "admin",
    flag = "admin", value = "ADDR", env = "VESTA_ADMIN", without = "off", help = "addresses of the admin listener" },
  { key = "admin.socket_mode", kind = "text", max = 4, check = "mode", default = "0600",
    help = "octal mode of the socket file of a unix: address (users with write permission can control the server)" },
  { key = "admin.token", kind = "secret", max = SECRET_MAX, env = "VESTA_ADMIN_TOKEN", without = "none",
    help = "the token for admin requests, required unless the address is unix: or clients are configured" },
  { key = "admin.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX, default = "64",
    help = "maximum number of connections to the admin listener" },

  { key = "tls.certificate", kind = "text", max = PATH_BYTES_MAX, flag = "tls-certificate", value = "FILE",
    without = "none",
    help = "PEM file with the server's certificate and its chain, which the server reloads when the file changes" },
  { key = "tls.key", kind = "text", max = PATH_BYTES_MAX, flag = "tls-key", value = "FILE", without = "none",
    help = "PEM file with the certificate's private key" },
  { key = "tls.client_ca", kind = "text", max = PATH_BYTES_MAX, flag = "tls-client-ca", value = "FILE",
    without = "none", help = "PEM file with the certificate authorities for client certificates" },
  { key = "tls.client_certificates", kind = "choice", words = "off|optional|required", default = "off",
    flag = "tls-client-certificates", value = "off|optional|required",
    help = "whether clients must send a certificate (its CN, or else its first DNS name, is the client's name)" },
  { key = "tls.version_min", kind = "choice", words = "1.2|1.3", default = "1.2",
    help = "the oldest TLS version that the server accepts" },

  { key = "clients", kind = "text", max = PATH_BYTES_MAX, member = "clients_file", flag = "clients", value = "FILE",
    without = "none: clients have no names",
    help = "the clients file, which `vesta client` writes and HUP reloads" },
  { key = "open", kind = "switch", flag = "open", default = "false",
    help = "let every client that can connect to http.listen request ids, even from other machines" },
  { key = "threads", kind = "integer", min = 1, max = 64, flag = "threads", value = "N", env = "VESTA_THREADS",
    default = "1", help = "number of worker threads, each with an event loop" },
  { key = "connections_max", kind = "integer", min = 16, max = CONNECTIONS_MAX, flag = "connections", value = "N",
    default = "10000", help = "maximum number of HTTP and Redis connections together" },
  { key = "leases", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "namespace", flag = "leases",
    value = "NAME,...", without = "none",
    help = "namespaces whose worker ids clients can lease for programs with their own generator" },
  { key = "proxies", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "proxy",
    flag = "proxies", value = "NETWORK,...", without = "none",
    help = 'addresses or networks (10.0.0.0/8) of proxies, or "unix" (each connection from a proxy must begin '
      .. "with a PROXY protocol v2 header, which contains the client's address)" },
  { key = "address_connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    flag = "address-connections", value = "N", without = "half of each protocol's limit",
    help = "maximum number of connections from one address to each protocol" },
  { key = "shares.address_rate", kind = "integer", min = 1, max = RATE_MAX, member = "address_rate",
    without = "no limit",
    help = "the rate limit of each address in ids per second (IPv6: of each /64, and one limit for all unix sockets)" },
  { key = "shares.address_requests", kind = "integer", min = 1, max = RATE_MAX, member = "address_requests",
    without = "no limit", help = "the rate limit of each address in requests per second" },
  { key = "memory_mib_max", kind = "integer", min = 4, max = 1 << 20, flag = "memory-mib", value = "N",
    default = "128",
    help = "maximum memory for the unread replies, incomplete requests and transactions of all clients" },

  { key = "log.level", kind = "choice", words = "debug|info|warn|error", env = "VESTA_LOG_LEVEL",
    flag = "log-level", value = "debug|info|warn|error", default = "info",
    help = "the lowest level that is logged" },
  { key = "log.format", kind = "choice", words = "logfmt|json", env = "VESTA_LOG_FORMAT",
    flag = "log-format", value = "logfmt|json", default = "logfmt", help = "the format of log lines" },
  { key = "log.file", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_FILE",
    flag = "log-file", value = "FILE", without = "stderr", help = "log file, which USR1 reopens" },
  { key = "log.access", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_ACCESS",
    flag = "access-log", value = "FILE", without = "none",
    help = "access log file (one line per request)" },

  { key = "user", kind = "text", max = NAME_BYTES_MAX, check = "word", flag = "user", value = "NAME[:GROUP]",
    without = "the user that starts the server",
    help = "user to switch to after binding the listen addresses" },
  { key = "group", kind = "text", max = NAME_BYTES_MAX, check = "word", without = "the user's",
    help = "group to switch to" },
  { key = "single_host", kind = "switch", member = false, flag = "single-host", default = "false",
    help = "no other machine issues ids in these namespaces, so worker ids chosen on this machine are unique" },
  { key = "start_wait_ms_max", kind = "integer", min = 0, max = DAY_MS, flag = "start-wait-ms", value = "MS",
    default = "0", help = "how long the starting server waits for worker ids before it exits, or 0 for no limit" },
  { key = "leaf_any_key", kind = "switch", default = "false",
    help = "let the Leaf route accept any key, as Leaf does, and issue ids from the first namespace" },
  { key = "tinyid.tokens", kind = "secrets", max = 64, is = "VS_CONF_TOKENS_MAX", without = "none: no token needed",
    help = "tokens accepted from tinyid clients (every request must send one)" },
}

-- Kinds of options in vesta_options.h, as kinds of keys.  The value of a URI may be a name, which stores.lua resolves.
local OPTION_KINDS = {
  TEXT = { kind = "text" },
  LAYOUT = { kind = "text", check = "layout" },
  PATH = { kind = "text", check = "path" },
  NAME = { kind = "text", check = "word" },
  URI = { kind = "text" },
  FIELDS = { kind = "fields" },
  WORD = { kind = "word" },
  CHOICE = { kind = "choice" },
  WORKER = { kind = "integer", min = 0 },
  AHEAD = { kind = "integer", min = 0 },
}

local function key_of(option)
  local kind = OPTION_KINDS[option.kind]
  local has_words = kind.kind == "word" or kind.kind == "choice"
  return { key = "namespaces.*." .. option.member, kind = kind.kind, check = kind.check, min = kind.min,
    max = not has_words and option.max or nil, words = has_words and option.value or nil, option = option.flag,
    without = option.without, help = option.help }
end

-- The keys of a mask, which namespaces and segments share.
local function mask_rows(prefix)
  local function row(name, other)
    other.key = prefix .. "mask." .. name
    return other
  end
  return {
    row("digits", { kind = "integer", min = 4, max = 20, is = "VS_MASK_DIGITS_MAX", without = "no mask",
      help = "number of digits or characters of a [masked](masks.md) id, without version and check digits" }),
    row("secret_file", { kind = "list", max = 10, is = "VS_MASK_KEYS_MAX", check = "key_file", without = "no mask",
      help = 'file with the key, or a list of "VERSION:FILE": the first key masks ids, and all keys read them' }),
    row("alphabet", { kind = "choice", words = "decimal|base32", default = "decimal",
      help = "the characters of masked ids: decimal digits, or Crockford's base32" }),
    row("check", { kind = "choice", words = "none|luhn|damm|iso7064", default = "none",
      help = "check digits behind the masked id: one (luhn, damm) or two (iso7064, which is MOD 97-10)" }),
    row("max", { kind = "integer", min = 999999, max = math.maxinteger, without = "all digits may have any value",
      help = "the largest number, and the largest value that masked ids show, such as 2147483647" }),
  }
end

schema.rows = {}
for i, option in ipairs(options) do schema.rows[i] = key_of(option) end
for _, row in ipairs(rows) do
  if row.key == "stores.*.uri" then
    for _, of_mask in ipairs(mask_rows "namespaces.*.") do schema.rows[#schema.rows + 1] = of_mask end
    schema.rows[#schema.rows + 1] = { key = "namespaces.*.mask.uuid_secret_file", kind = "text", max = PATH_BYTES_MAX,
      check = "path", without = "none", help = "file with a key of 16 bytes: UUIDs of version 7 are "
        .. "[shown as version 4](masks.md#uuids)" }
  elseif row.key == "http.listen" then
    for _, of_mask in ipairs(mask_rows "segments.#.") do schema.rows[#schema.rows + 1] = of_mask end
  end
  schema.rows[#schema.rows + 1] = row
end

return schema
