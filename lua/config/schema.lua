--- schema.lua -- every key of a config, one row each.  A new key is a row here and the code that uses its member in C.
--
-- The rows define the members of struct vs_config (csrc/config/header.lua), the flags of `vesta serve` and their help,
-- the environment variables, `vesta check`, --effective, and the table in docs/config.md (scripts/tables).
--
--   key       its path in the file; * is a name, # is a place in a list
--   kind      text, secret (a text that is never shown), integer, switch, choice and word (one of `words`), list,
--             secrets (a list that is never shown), policy, fields
--   words     the words of a choice or a word: "off|verify".  C gets the index of a choice
--   min, max  the limits of an integer.  For a text, max is its bytes.  For a list, max is its entries
--   is        the constant in C that max must equal
--   check     the function in checks.lua that checks a text.  The code that uses a flag checks the flag's value instead
--   default   the default as text
--   without   the behaviour without a value, in words, if there is no default
--   env       the environment variable
--   flag      the flag of `vesta serve`; value: the value's name in its help.  The flag of a switch takes no value, and
--             sets the switch to `says` (default: true).  The flag of a secret names a file
--   flag_help the flag's sentence, if it sets a switch to false
--   live      a reload is enough to change it
--   member    the member in C, if it is not the key with _ for the dots; false: C does not use the value
--   help      one sentence
local options = require "config.options"

local DAY_MS = 86400000
local MINUTE_MS = 60000
local CONNECTIONS_MAX = 1000000
local PATH_BYTES_MAX = 250 -- a generator's path is an identity in a lease
local NAME_BYTES_MAX = 64
local SECRET_MAX = 1023
local RATE_MAX = 1000000000 -- a second
local STEP_MAX = 1 << 32    -- numbers of one range

local schema = {}

--- The tables whose entries have names (*) or places (#).
schema.parts = {
  { prefix = "namespaces.*.", struct = "namespace", max = 16384, is = "VS_CONF_NAMESPACES_MAX", check = "namespace" },
  { prefix = "stores.*.", struct = "store", max = 16, is = "VS_CONF_STORES_MAX", check = "store_name" },
  { prefix = "segments.#.", struct = "segment", max = 16, is = "VS_CONF_SEGMENTS_MAX" },
}

local rows = {
  { key = "namespaces.*.policy", kind = "policy", max = PATH_BYTES_MAX, live = true,
    flag = "policy", value = "NAME|FILE", without = "none: the fixed rules apply",
    help = "the policy that decides about pauses: a built-in one, a file, or { NAME, option = value }" },
  { key = "namespaces.*.shadow_policy", kind = "policy", max = PATH_BYTES_MAX, live = true, member = "shadow",
    flag = "shadow-policy", value = "NAME|FILE", without = "none",
    help = "a policy on trial: its decisions appear in the log and in /metrics, and have no effect" },
  { key = "namespaces.*.policy_env", kind = "list", max = 32, is = "VS_POLICY_ENV_MAX", live = true,
    member = false, flag = "policy-env", value = "NAME,...", without = "none",
    help = "the environment variables that the policy can read with env(name)" },
  { key = "namespaces.*.leased_as", kind = "text", max = 64, is = "VESTA_NAMESPACE_MAX - 1", check = "namespace",
    without = "NAME",
    help = "the name in the store, if `vesta store relayout` created one for another layout: NAME.2" },
  { key = "namespaces.*.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS,
    flag = "wait-ms", value = "MS", without = "1500, or 100 with a policy",
    help = "how long a request waits for an id before it fails or the policy decides" },
  { key = "namespaces.*.policy_wait_ms_max", kind = "integer", min = 0, max = 10 * MINUTE_MS, default = "10000",
    help = "how long a policy can let a request wait in total" },
  { key = "namespaces.*.rate", kind = "integer", min = 1, max = RATE_MAX, without = "the limit of the layout",
    help = "the rate limit of the namespace: ids per second, all clients together" },
  { key = "namespaces.*.requests", kind = "integer", min = 1, max = RATE_MAX, without = "no limit",
    help = "the rate limit of the namespace: requests per second, all clients together" },

  { key = "stores.*.uri", kind = "text", max = 1000, check = "uri", without = "required",
    help = "the address of the store, as a [URI](stores.md#store-uris)" },
  { key = "stores.*.auth", kind = "secret", max = SECRET_MAX, without = "none",
    help = "the credentials for ZooKeeper, user:password" },
  { key = "stores.*.password", kind = "secret", max = SECRET_MAX, without = "none", help = "the database's password" },
  { key = "stores.*.tls", kind = "choice", words = "off|verify", default = "verify",
    help = "TLS to a mysql: store over a network: verify the server's certificate, or no TLS" },

  { key = "segments.#.store", kind = "text", max = NAME_BYTES_MAX, without = "see stores",
    help = "the store that has the table" },
  { key = "segments.#.stores", kind = "list", max = 8, is = "VS_CONF_SEGMENT_STORES_MAX", without = "see store",
    help = "several stores that share the counter, each with every n-th number, in the same order on all "
      .. "servers" },
  { key = "segments.#.table", kind = "text", max = NAME_BYTES_MAX, check = "word", default = "leaf_alloc",
    help = "the table of counters" },
  { key = "segments.#.tags", kind = "list", max = 256, check = "tag", without = "required",
    help = 'the tags that the server serves, or "*" for all tags of the table' },
  { key = "segments.#.order", kind = "choice", words = "trend|strict|dense", default = "trend",
    help = "how numbers are ordered: trend, strict (rising over all servers) or dense (without gaps), as in "
      .. "[counters](counters.md#which-order)" },
  { key = "segments.#.form", kind = "text", max = 128, is = "VS_FORM_MAX - 1", check = "form",
    without = "plain digits",
    help = "the text of the numbers, as in [business numbers](numbers.md): 'INV-{day:%Y%m%d}-{number:6}'" },
  { key = "segments.#.zone", kind = "text", max = 63, is = "VS_ZONE_NAME_MAX - 1", check = "zone", without = "UTC",
    help = "the time zone of the form's days, months or years, such as Europe/Berlin" },
  { key = "segments.#.step", kind = "integer", min = 1, max = STEP_MAX, without = "the step in the table, else 1000",
    help = "the smallest range, in numbers, if the row in the table has no step of its own" },
  { key = "segments.#.step_max", kind = "integer", min = 1, max = STEP_MAX, default = "1000000",
    help = "the largest range, to which ranges grow by doubling while each lasts less than 15 minutes" },
  { key = "segments.#.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS, default = "1500",
    help = "how long a request waits for a number" },

  { key = "http.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "http",
    flag = "http", value = "ADDR", env = "VESTA_HTTP", default = "127.0.0.1:8088", without = "off",
    help = 'addresses for HTTP: HOST:PORT, [IPv6]:PORT, tls: before either, unix:PATH, or "off"' },
  { key = "http.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "octal mode of the socket file of a unix: address (users with write permission can connect)" },
  { key = "http.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "http-idle-ms", value = "MS",
    default = "75000", -- balancers close after 60 s, and must be the first to close
    help = "idle time after which the server closes an HTTP connection" },
  { key = "http.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "the most connections of HTTP clients" },
  { key = "http.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "the most ids of one HTTP request" },
  { key = "http.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "the most ids of a block over HTTP, or 0 to disable blocks" },
  { key = "http.hosts", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "host",
    flag = "http-hosts", value = "NAME,...",
    without = "any if other machines can connect, else addresses, localhost and names without a dot",
    help = 'names with a dot that the header Host may have, or "*" for any' },
  { key = "http.allow_origins", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "origin",
    flag = "allow-origins", value = "ORIGIN,...", without = "none",
    help = "origins whose web pages may request ids: https://shop.example.com" },
  { key = "http.state", kind = "switch", flag = "no-http-state", says = "false", default = "true",
    flag_help = "serve /metrics, /readyz and /version only on --admin",
    help = "whether http.listen serves /metrics, /readyz and /version, as admin.listen always does" },

  { key = "resp.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "resp",
    flag = "resp", value = "ADDR", env = "VESTA_RESP", default = "127.0.0.1:8089", without = "off",
    help = 'addresses of the Redis protocol, or "off"' },
  { key = "resp.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "octal mode of the socket file of a unix: address (users with write permission can connect)" },
  { key = "resp.password", kind = "secret", max = SECRET_MAX, flag = "resp-password-file", value = "FILE",
    env = "VESTA_RESP_PASSWORD", without = "none", help = "the password that Redis clients send with AUTH" },
  { key = "resp.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "resp-idle-ms", value = "MS",
    default = "300000", -- connection pools rest longer than browsers
    help = "idle time after which the server closes a Redis connection" },
  { key = "resp.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "the most connections of Redis clients" },
  { key = "resp.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "the most ids of one command of the Redis protocol" },
  { key = "resp.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "the most ids of a block over the Redis protocol, or 0 to disable blocks" },
  { key = "resp.auth_ms_max", kind = "integer", min = 100, max = DAY_MS, default = "10000",
    help = "time after which the server closes a connection that has not authenticated" },

  { key = "admin.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "admin",
    flag = "admin", value = "ADDR", env = "VESTA_ADMIN", without = "off", help = "addresses of the admin listener" },
  { key = "admin.socket_mode", kind = "text", max = 4, check = "mode", default = "0600",
    help = "octal mode of the socket file of a unix: address (users with write permission can control the server)" },
  { key = "admin.token", kind = "secret", max = SECRET_MAX, env = "VESTA_ADMIN_TOKEN", without = "none",
    help = "the token of admin requests, required unless the address is unix: or clients are configured" },
  { key = "admin.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX, default = "64",
    help = "the most connections of the admin listener" },

  { key = "tls.certificate", kind = "text", max = PATH_BYTES_MAX, flag = "tls-certificate", value = "FILE",
    without = "none",
    help = "the PEM file of the server's certificate and its chain, which the server reads again when it changes" },
  { key = "tls.key", kind = "text", max = PATH_BYTES_MAX, flag = "tls-key", value = "FILE", without = "none",
    help = "the PEM file of the certificate's private key" },
  { key = "tls.client_ca", kind = "text", max = PATH_BYTES_MAX, flag = "tls-client-ca", value = "FILE",
    without = "none", help = "the PEM file of the authorities that sign client certificates" },
  { key = "tls.client_certificates", kind = "choice", words = "off|optional|required", default = "off",
    flag = "tls-client-certificates", value = "off|optional|required",
    help = "whether clients send a certificate (its CN, or else its first DNS name, is the client's name)" },
  { key = "tls.version_min", kind = "choice", words = "1.2|1.3", default = "1.2",
    help = "the oldest version of TLS that the server accepts" },

  { key = "clients", kind = "text", max = PATH_BYTES_MAX, member = "clients_file", flag = "clients", value = "FILE",
    without = "none: clients have no names",
    help = "the file of clients, which `vesta client` writes and HUP reads again" },
  { key = "open", kind = "switch", flag = "open", default = "false",
    help = "let every client that reaches http.listen request ids, also from other machines" },
  { key = "threads", kind = "integer", min = 1, max = 64, flag = "threads", value = "N", env = "VESTA_THREADS",
    default = "1", help = "worker threads, each with an event loop" },
  { key = "connections_max", kind = "integer", min = 16, max = CONNECTIONS_MAX, flag = "connections", value = "N",
    default = "10000", help = "the most connections of HTTP and Redis clients together" },
  { key = "proxies", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "proxy",
    flag = "proxies", value = "NETWORK,...", without = "none",
    help = 'addresses of proxies, networks such as 10.0.0.0/8, or "unix" (each connection from them must '
      .. "begin with a PROXY protocol v2 header, which has the client's address)" },
  { key = "address_connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    flag = "address-connections", value = "N", without = "half of each protocol's limit",
    help = "the most connections of one address to each protocol" },
  { key = "shares.address_rate", kind = "integer", min = 1, max = RATE_MAX, member = "address_rate",
    without = "no limit",
    help = "the rate limit of each address (IPv6: each /64, all unix sockets together): ids per second" },
  { key = "shares.address_requests", kind = "integer", min = 1, max = RATE_MAX, member = "address_requests",
    without = "no limit", help = "the rate limit of each address: requests per second" },
  { key = "memory_mib_max", kind = "integer", min = 4, max = 1 << 20, flag = "memory-mib", value = "N",
    default = "128",
    help = "the most memory for unread replies, incomplete requests and transactions of all clients" },

  { key = "log.level", kind = "choice", words = "debug|info|warn|error", env = "VESTA_LOG_LEVEL",
    flag = "log-level", value = "debug|info|warn|error", default = "info",
    help = "the lowest level that the server logs" },
  { key = "log.format", kind = "choice", words = "logfmt|json", env = "VESTA_LOG_FORMAT",
    flag = "log-format", value = "logfmt|json", default = "logfmt", help = "the format of a line" },
  { key = "log.file", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_FILE",
    flag = "log-file", value = "FILE", without = "stderr", help = "the file of the log, which USR1 reopens" },
  { key = "log.access", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_ACCESS",
    flag = "access-log", value = "FILE", without = "none",
    help = "the file of the access log, with a line for each request" },

  { key = "user", kind = "text", max = NAME_BYTES_MAX, check = "word", flag = "user", value = "NAME[:GROUP]",
    without = "the user that starts the server",
    help = "the user that the server becomes after it has bound its addresses" },
  { key = "group", kind = "text", max = NAME_BYTES_MAX, check = "word", without = "the user's",
    help = "the group that the server becomes" },
  { key = "single_host", kind = "switch", member = false, flag = "single-host", default = "false",
    help = "no other machine issues ids of these namespaces, so worker ids drawn here are unique" },
  { key = "start_wait_ms_max", kind = "integer", min = 0, max = DAY_MS, flag = "start-wait-ms", value = "MS",
    default = "0", help = "how long a start waits for worker ids before the server ends, or 0 for no limit" },
  { key = "leaf_any_key", kind = "switch", default = "false",
    help = "let Leaf's route accept any key, as Leaf does, and issue ids of the first namespace" },
  { key = "tinyid.tokens", kind = "secrets", max = 64, is = "VS_CONF_TOKENS_MAX", without = "none: no token needed",
    help = "the tokens of tinyid's clients, one of which each request must have" },
}

-- Returns a row of vesta_options.h as the row of a key.  The value of store may be a name, whose URI stores.lua finds.
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

schema.rows = {}
for i, option in ipairs(options) do schema.rows[i] = key_of(option) end
table.move(rows, 1, #rows, #schema.rows + 1, schema.rows)

return schema
