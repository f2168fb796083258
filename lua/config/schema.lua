--- schema.lua -- every key of a config, one row each.  A new key is a row here and the code that uses its member in C.
--
-- From the rows follow the members of struct vs_config (csrc/config/header.lua), the flags of `vesta serve` and their
-- help, the environment variables, `vesta check`, --effective, and the table in docs/config.md (scripts/tables).
--
--   key       where it stands in the file; * is a name, # a place in a list
--   kind      text, secret (a text that is never shown), integer, switch, choice and word (one of `words`), list,
--             secrets (a list that is never shown), policy, fields
--   words     of a choice or a word: "off|verify".  C gets the index of a choice
--   min, max  of an integer.  max: the bytes of a text, the entries of a list
--   is        the constant in C that max must equal
--   check     of a text: a function in checks.lua.  A flag's value is not checked by it, but by the code that uses it
--   default   as text; without: in words, if no value is the default
--   env       the environment variable
--   flag      of `vesta serve`; value: how its help calls the value.  A flag of a switch takes none, and sets it to
--             `says`, or true.  A secret's flag names a file
--   flag_help the flag's sentence, if it sets a switch to false
--   live      a reload is enough to change it
--   member    in C, if it is not the key with _ for the dots; false: C does not need the value
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
    flag = "policy", value = "NAME|FILE", without = "none: the fixed rules hold",
    help = "the policy that judges pauses: a shipped one, a file, or { NAME, option = value }" },
  { key = "namespaces.*.shadow_policy", kind = "policy", max = PATH_BYTES_MAX, live = true, member = "shadow",
    flag = "shadow-policy", value = "NAME|FILE", without = "none",
    help = "a policy that is asked and not obeyed: what it would have said is in the log and /metrics" },
  { key = "namespaces.*.policy_env", kind = "list", max = 32, is = "VS_POLICY_ENV_MAX", live = true,
    member = false, flag = "policy-env", value = "NAME,...", without = "none",
    help = "the environment's variables that the policy may read with env(name)" },
  { key = "namespaces.*.leased_as", kind = "text", max = 64, is = "VESTA_NAMESPACE_MAX - 1", check = "namespace",
    without = "NAME", help = "what `vesta store relayout` made for another layout: NAME.2" },
  { key = "namespaces.*.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS,
    flag = "wait-ms", value = "MS", without = "1500; 100 where there is a policy",
    help = "how long a request may wait for an id before the policy is asked" },
  { key = "namespaces.*.policy_wait_ms_max", kind = "integer", min = 0, max = 10 * MINUTE_MS, default = "10000",
    help = "how long a policy may keep a request waiting in all" },
  { key = "namespaces.*.rate", kind = "integer", min = 1, max = RATE_MAX, without = "what its layout gives",
    help = "how many ids a second all clients together may have of it" },
  { key = "namespaces.*.requests", kind = "integer", min = 1, max = RATE_MAX, without = "no limit",
    help = "how many requests a second for it are answered" },

  { key = "stores.*.uri", kind = "text", max = 1000, check = "uri", without = "needed",
    help = "where the store is: a URI as in [stores](stores.md)" },
  { key = "stores.*.auth", kind = "secret", max = SECRET_MAX, without = "none",
    help = "what ZooKeeper identifies us by, user:password" },
  { key = "stores.*.password", kind = "secret", max = SECRET_MAX, without = "none", help = "the database's password" },
  { key = "stores.*.tls", kind = "choice", words = "off|verify", default = "verify",
    help = "over a network: encrypt and verify the server, or neither" },

  { key = "segments.#.store", kind = "text", max = NAME_BYTES_MAX, without = "see stores",
    help = "the store whose table gives the ranges" },
  { key = "segments.#.stores", kind = "list", max = 8, is = "VS_CONF_SEGMENT_STORES_MAX", without = "see store",
    help = "n stores, of which the first gives the numbers that leave 0 when divided by n, the second those that "
      .. "leave 1, and so on: one that is down costs no request" },
  { key = "segments.#.table", kind = "text", max = NAME_BYTES_MAX, check = "word", default = "leaf_alloc",
    help = "the table of counters" },
  { key = "segments.#.tags", kind = "list", max = 256, check = "tag", without = "needed",
    help = 'the tags that are served, or "*" for all that are there' },
  { key = "segments.#.order", kind = "choice", words = "trend|strict|dense", default = "trend",
    help = "trend: numbers of one tag rise on the whole; strict: they rise over all servers, and each request waits "
      .. "for the database, with those that come meanwhile; dense: they have no gap, are reserved one by one and "
      .. "committed, and each is two steps of the database" },
  { key = "segments.#.form", kind = "text", max = 128, is = "VS_FORM_MAX - 1", check = "form",
    without = "numbers in digits",
    help = "how the numbers are written, as [business numbers](numbers.md): 'INV-{day:%Y%m%d}-{number:6}'; with a day, "
      .. "month or year in it, order must be strict and the tags be named" },
  { key = "segments.#.zone", kind = "text", max = 63, is = "VS_ZONE_NAME_MAX - 1", check = "zone", without = "UTC",
    help = "the time zone whose days, months or years the form counts, such as Europe/Berlin" },
  { key = "segments.#.step", kind = "integer", min = 1, max = STEP_MAX, without = "the row's own, else 1000",
    help = "how many numbers are taken from the table at a time, at least, where a tag's row does not say it" },
  { key = "segments.#.step_max", kind = "integer", min = 1, max = STEP_MAX, default = "1000000",
    help = "how far the step may double while a step is used up within 15 minutes" },
  { key = "segments.#.wait_ms_max", kind = "integer", min = 0, max = MINUTE_MS, default = "1500",
    help = "how long a request may wait for a number while the table is asked" },

  { key = "http.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "http",
    flag = "http", value = "ADDR", env = "VESTA_HTTP", default = "127.0.0.1:8088", without = "off",
    help = 'addresses for HTTP: HOST:PORT or [IPv6]:PORT, either with tls: before it, unix:PATH, or "off"' },
  { key = "http.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
      .. "connect" },
  { key = "http.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "http-idle-ms", value = "MS",
    default = "75000", -- balancers close after 60 s, and must be the first to close
    help = "how long an HTTP client may be idle before it is disconnected" },
  { key = "http.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "how many connections HTTP clients may have" },
  { key = "http.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "the most ids of one HTTP request" },
  { key = "http.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "the most ids of a block over HTTP; 0: no blocks" },
  { key = "http.hosts", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "host",
    flag = "http-hosts", value = "NAME,...",
    without = "any where other machines can connect; elsewhere addresses, localhost, and names without a dot",
    help = 'names with a dot by which browsers and proxies may call this server, or "*" for any' },
  { key = "http.allow_origins", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "origin",
    flag = "allow-origins", value = "ORIGIN,...", without = "none",
    help = "origins whose pages may ask for ids and read them: https://shop.example.com" },
  { key = "http.state", kind = "switch", flag = "no-http-state", says = "false", default = "true",
    flag_help = "/metrics, /readyz and /version are on --admin alone",
    help = "whether HTTP clients get /metrics, /readyz and /version, which admin.listen has in any case" },

  { key = "resp.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "resp",
    flag = "resp", value = "ADDR", env = "VESTA_RESP", default = "127.0.0.1:8089", without = "off",
    help = 'addresses of the Redis protocol, or "off"' },
  { key = "resp.socket_mode", kind = "text", max = 4, check = "mode", default = "0660",
    help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
      .. "connect" },
  { key = "resp.password", kind = "secret", max = SECRET_MAX, flag = "resp-password-file", value = "FILE",
    env = "VESTA_RESP_PASSWORD", without = "none", help = "the password that Redis clients must give to AUTH" },
  { key = "resp.idle_ms_max", kind = "integer", min = 100, max = DAY_MS, flag = "resp-idle-ms", value = "MS",
    default = "300000", -- connection pools rest longer than browsers
    help = "how long a Redis client may be idle before it is disconnected" },
  { key = "resp.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    without = "an equal share of connections_max", help = "how many connections Redis clients may have" },
  { key = "resp.n_max", kind = "integer", min = 1, max = 10000, is = "VESTA_BATCH_MAX", without = "10000",
    help = "the most ids of one command of the Redis protocol" },
  { key = "resp.blocks_max", kind = "integer", min = 0, max = 100000, without = "100000",
    help = "the most ids of a block over the Redis protocol; 0: no blocks" },
  { key = "resp.auth_ms_max", kind = "integer", min = 100, max = DAY_MS, default = "10000",
    help = "how long a Redis client may take to authenticate" },

  { key = "admin.listen", kind = "list", max = 8, is = "VS_CONF_LISTEN_MAX", check = "address", member = "admin",
    flag = "admin", value = "ADDR", env = "VESTA_ADMIN", without = "off", help = "addresses of the admin routes" },
  { key = "admin.socket_mode", kind = "text", max = 4, check = "mode", default = "0600",
    help = "mode of the socket file of a unix: address, in octal, regardless of the umask: whoever may write it may "
      .. "control the server" },
  { key = "admin.token", kind = "secret", max = SECRET_MAX, env = "VESTA_ADMIN_TOKEN", without = "none",
    help = "the token that admin requests must carry; not needed on unix:" },
  { key = "admin.connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX, default = "64",
    help = "how many connections admins may have" },

  { key = "tls.certificate", kind = "text", max = PATH_BYTES_MAX, flag = "tls-certificate", value = "FILE",
    without = "none",
    help = "the PEM file of the server's certificate, with its chain behind it; it is read again when it changes" },
  { key = "tls.key", kind = "text", max = PATH_BYTES_MAX, flag = "tls-key", value = "FILE", without = "none",
    help = "the PEM file of its private key" },
  { key = "tls.client_ca", kind = "text", max = PATH_BYTES_MAX, flag = "tls-client-ca", value = "FILE",
    without = "none", help = "the PEM file of those who may sign clients' certificates" },
  { key = "tls.client_certificates", kind = "choice", words = "off|optional|required", default = "off",
    flag = "tls-client-certificates", value = "off|optional|required",
    help = "whether clients are asked for a certificate: its name (CN, else the first DNS name) is that of the "
      .. "client" },
  { key = "tls.version_min", kind = "choice", words = "1.2|1.3", default = "1.2",
    help = "the oldest version of TLS that is spoken" },

  { key = "clients", kind = "text", max = PATH_BYTES_MAX, member = "clients_file", flag = "clients", value = "FILE",
    without = "nobody has a name",
    help = "the file of clients that may ask, which `vesta client` writes; HUP reads it again" },
  { key = "open", kind = "switch", flag = "open", default = "false",
    help = "whoever reaches http.listen may have ids, also from other machines" },
  { key = "threads", kind = "integer", min = 1, max = 64, flag = "threads", value = "N", env = "VESTA_THREADS",
    default = "1", help = "event loops, one per thread" },
  { key = "connections_max", kind = "integer", min = 16, max = CONNECTIONS_MAX, flag = "connections", value = "N",
    default = "10000", help = "how many connections HTTP and Redis clients may have together" },
  { key = "proxies", kind = "list", max = 64, is = "VS_CONF_HOSTS_MAX", check = "proxy",
    flag = "proxies", value = "NETWORK,...", without = "none",
    help = 'balancers: addresses, networks such as 10.0.0.0/8, or "unix"; each connection from them must begin with a '
      .. "PROXY protocol v2 header, and its client is whom that names" },
  { key = "address_connections_max", kind = "integer", min = 1, max = CONNECTIONS_MAX,
    flag = "address-connections", value = "N", without = "half of what each protocol may have",
    help = "how many connections one address may have at each protocol" },
  { key = "shares.address_rate", kind = "integer", min = 1, max = RATE_MAX, member = "address_rate",
    without = "no limit",
    help = "how many ids a second one address may have (of IPv6 its first 64 bits; all unix sockets together)" },
  { key = "shares.address_requests", kind = "integer", min = 1, max = RATE_MAX, member = "address_requests",
    without = "no limit", help = "how many requests a second of one address are answered" },
  { key = "memory_mib_max", kind = "integer", min = 4, max = 1 << 20, flag = "memory-mib", value = "N",
    default = "128",
    help = "how much memory unread replies, incomplete requests and transactions of all clients may take" },

  { key = "log.level", kind = "choice", words = "debug|info|warn|error", env = "VESTA_LOG_LEVEL",
    flag = "log-level", value = "debug|info|warn|error", default = "info",
    help = "the least severe level that is logged" },
  { key = "log.format", kind = "choice", words = "logfmt|json", env = "VESTA_LOG_FORMAT",
    flag = "log-format", value = "logfmt|json", default = "logfmt", help = "how a line is written" },
  { key = "log.file", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_FILE",
    flag = "log-file", value = "FILE", without = "stderr", help = "a file to append to; USR1 reopens it" },
  { key = "log.access", kind = "text", max = PATH_BYTES_MAX, check = "path", env = "VESTA_LOG_ACCESS",
    flag = "access-log", value = "FILE", without = "none", help = "a file that gets a line for each request" },

  { key = "user", kind = "text", max = NAME_BYTES_MAX, check = "word", flag = "user", value = "NAME[:GROUP]",
    without = "the user who starts it", help = "the user to switch to after binding" },
  { key = "group", kind = "text", max = NAME_BYTES_MAX, check = "word", without = "the user's",
    help = "the group to switch to" },
  { key = "single_host", kind = "switch", member = false, flag = "single-host", default = "false",
    help = "no other machine gives ids of these namespaces, so numbers drawn here are unique" },
  { key = "start_wait_ms_max", kind = "integer", min = 0, max = DAY_MS, flag = "start-wait-ms", value = "MS",
    default = "0", help = "how long a start may wait for worker numbers before the server gives up; 0: for ever" },
  { key = "leaf_any_key", kind = "switch", default = "false",
    help = "Leaf's route gives ids of the first namespace under any key, as Leaf does" },
  { key = "tinyid.tokens", kind = "secrets", max = 64, is = "VS_CONF_TOKENS_MAX", without = "none is asked for",
    help = "the tokens of which tinyid's clients must send one" },
}

-- A row of vesta_options.h as a key.  A store is kept as it was written; stores.lua finds its URI.
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
