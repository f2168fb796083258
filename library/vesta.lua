---@meta
-- Type declarations of vesta for editors (LuaLS: add this folder to workspace.library).
--
-- Every function that can fail returns nil, message, code.  If waiting helps, it also returns wait_s, the seconds until
-- you should try again.  A wrong type raises at the caller's line.

---An id as an argument: a decimal string, an integer of Lua 5.3+, an int64_t or uint64_t cdata of LuaJIT, or a double
---of at most 2^53.  A larger double is `bad_id`, because it has lost digits.
---@alias vesta.id string|integer|ffi.cdata*|number

---A moment: Unix milliseconds, or RFC 3339 ("2026-01-01T00:00:00Z").
---@alias vesta.time integer|string

---The stable name of a failure.
---@alias vesta.code
---| "full"         # the sequence of the time unit is exhausted
---| "clock_back"   # the clock is behind a time already seen
---| "clock_ahead"  # the clock jumped forward and is not confirmed yet
---| "ahead"        # the cursor is ahead of the clock
---| "lease"        # there is no lease yet, or its ids are exhausted
---| "choose"       # a policy has not chosen a worker id yet
---| "epoch_end"    # the layout's time field has reached its end
---| "closed"       # the generator was closed, or its map is being replaced (then retry)
---| "failstop"     # the store lost or contradicts a lease that it granted: operator action is required
---| "range"        # no block, or no range of a segment, is available at the moment
---| "bad_layout"   # the layout text is invalid
---| "bad_field"    # a field's value is missing, too large or unknown
---| "bad_id"       # not an id, or not an id of this layout
---| "mismatch"     # the existing file or namespace differs from the options
---| "no_generator" # there is no generator file, and the options do not suffice to create one
---| "unknown_name" # there is no such namespace, preset or tag
---| "bad_option"   # an option is invalid
---| "refused"      # a policy prevents the start
---| "io"           # the file system or the store reported an error
---| "no_memory"
---| "too_many"     # the result is larger than the limit

---A decoded id.  It has every field of its layout by name, and also these fields.
---@class vesta.parts: { [string]: integer }
---@field time integer time units since the layout's epoch
---@field seq integer
---@field worker? integer the value of the leased field, which may have a different name in the layout
---@field unix_ms integer the start of the id's time unit
---@field iso string the start of the id's time unit, RFC 3339 in UTC

---@class vesta.pair the smallest and largest id of an interval
---@field min string
---@field max string

---@class vesta.field
---@field name string
---@field width integer bits, 1 to 53
---@field shift integer the field's lowest bit, 0 to 63
---@field low_width? integer the width of the low part, if the sequence has two parts
---@field low_shift? integer the lowest bit of the low part, if the sequence has two parts
---@field max integer
---@field constant? integer the only allowed value

---A layout: the fields of the 64 bits of an id.  Immutable.
---@class vesta.layout
local layout = {}

---Decodes an id.  Errors: bad_id (not an id, or a constant field has a different value).
---@param id vesta.id
---@return vesta.parts? parts
---@return string? message
---@return vesta.code? code
function layout:explain(id) end

---Builds an id from named values, for example from the result of explain.  time, seq and the leased field are required.
---Every other field defaults to its constant, or to 0.  time is a number of time units or an RFC 3339 text.  Without
---time, unix_ms or iso is used.  The id is not reserved: other programs can issue the same id.  Errors: bad_field.
---@param values table<string, vesta.id>
---@return string? id
---@return string? message
---@return vesta.code? code
function layout:make(values) end

---Returns the start of an id's time unit, in Unix milliseconds.  Errors: bad_id.
---@param id vesta.id
---@return integer? unix_ms
---@return string? message
---@return vesta.code? code
function layout:time(id) end

---Returns the smallest and the largest id of the interval [from, til).  There is one pair for each combination of the
---fields above the time that `fields` does not set, up to 10000 pairs.  Without `til`, the interval is the time unit of
---`from`.  Errors: bad_field, epoch_end, too_many.
---@param from vesta.time
---@param til? vesta.time
---@param fields? table<string, integer>
---@return vesta.pair[]? pairs
---@return string? message
---@return vesta.code? code
function layout:range(from, til, fields) end

---Returns true if an id can have this layout, or false and a message if it cannot.  Returns nil for a text that is not
---an id.  Errors: bad_id.
---@param id vesta.id
---@return boolean? fits
---@return string? message
---@return vesta.code? code
function layout:fits(id) end

---Returns the canonical text, as tostring(layout) does.
---@return string
function layout:text() end

---Returns the fields, from the highest bit to the lowest.
---@return vesta.field[]
function layout:fields() end

---Returns the end of the layout's time field, exclusive.
---@return integer unix_ms
---@return string iso
function layout:ends() end

---@class vesta.info
---@field layout string
---@field namespace string
---@field path string "" for a private generator
---@field store string
---@field pacing "clock"|"history"
---@field ahead_ms_max integer
---@field holds_lease boolean
---@field worker? integer only with a lease, like the next three fields
---@field drew_worker? boolean this process chose the worker id at random
---@field tick? string the next tick
---@field limit? string the lease's end, exclusive
---@field slot integer
---@field slots_used integer
---@field keeper string the last message of the keeper
---@field warning string for example that the layout's time field ends within a year

---@class vesta.segment_database
---@field store string
---@field step integer the size of the last requested range
---@field ranges integer ranges that this process got
---@field refused integer the number of requests with this outcome, like the next three fields
---@field down integer
---@field unknown integer
---@field conflict integer
---@field granted string the highest end of a range that this host was granted
---@field stopped boolean true if the counter stopped because its database went back to an older state
---@field said string why the database grants no range, or ""

---@class vesta.segment_info
---@field tag string
---@field order string
---@field position string the next number
---@field count integer the size of the current range
---@field left integer numbers left in the current range
---@field next_left integer numbers left in the next range
---@field until_refill integer numbers until the next range is requested
---@field per_s number numbers per second, or 0 if not measured yet
---@field warning string
---@field databases vesta.segment_database[]

---A counter with numbers from a database, shared by the processes of this host.
---@class vesta.segment
local segment = {}

---Returns a number as a decimal string.  Waits up to wait_ms_max.  Errors: range, failstop, closed.
---@return string? number
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:next() end

---Returns a number as an exact integer, like gen:next_int.  Errors: the same as next.
---@return integer|ffi.cdata*? number
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:next_int() end

---Returns n consecutive numbers (1 to 10000) from one range.  Errors: the same as next, and too_many if every range is
---smaller.
---@param n integer
---@return string[]? numbers
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:batch(n) end

---Returns the state of the counter.
---@return vesta.segment_info? info
---@return string? message
---@return vesta.code? code
function segment:info() end

---Returns the unused remainders of its ranges to the databases.  Errors: io, not_now, bad_option, closed.
---@return true? done
---@return string? message
---@return vesta.code? code
function segment:release() end

---Closes this handle.  The next start continues with the remainders of the ranges.  May be called twice.
function segment:close() end

---Options of vesta.segment.  An unknown key raises.
---@class vesta.segment_options
---@field store string|string[] 1 to 8 URIs, in the same order on every host
---@field secret? string|string[]
---@field tag string
---@field table? string default "leaf_alloc"
---@field step? integer default 1000, if the row has no step
---@field step_max? integer default 1000000
---@field order? "trend"|"strict" default "trend"
---@field group? string
---@field wait_ms_max? number how long a call may wait (default: 2000, inside nginx 0)

---A range of past ids, for an import.  Closing it, or the garbage collector, does not return its ids.
---@class vesta.past
local past = {}

---Returns an id for a row of this time, as a decimal string.  Sort the rows by time.
---Errors: bad_option (outside the dates, or before the last row), too_many (no id is left), closed.
---@param time number|string Unix milliseconds, or RFC 3339
---@return string? id
---@return string? message
---@return vesta.code? code
function past:next(time) end

---Returns the state: layout, lease, worker, from_ms, to_ms, min, max, count, left, others.  Numbers that can exceed
---2^53 are decimal strings.
---@return table? info
---@return string? message
---@return vesta.code? code
function past:info() end

---Returns the ids after the last one to the store.  Later calls of next fail.
---Errors: not_now (the worker id was leased again: the rest is lost), mismatch (the store lost the lease), io.
---@return true? released
---@return string? message
---@return vesta.code? code
function past:release() end

---Closes this handle.  May be called twice.
function past:close() end

---Options of vesta.past.  An unknown key raises.
---@class vesta.past_options
---@field from number|string Unix milliseconds, or RFC 3339
---@field to number|string exclusive, and not after now
---@field count? integer fail if the range has fewer ids
---@field namespace? string
---@field path? string
---@field store? string
---@field secret? string
---@field layout? string|vesta.layout default: the namespace's
---@field worker? integer
---@field fields? table<string, integer>
---@field method? string|integer

---A generator, which issues ids.  All handles of the same path share one cursor, in this process and in others.
---@class vesta.gen
local gen = {}

---Returns an id as a decimal string, which is exact in every Lua.  Waits up to wait_ms_max.
---Errors: full, clock_back, clock_ahead, ahead, lease, choose, epoch_end, closed, failstop.
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:next() end

---Returns an id as an exact integer: an integer in Lua 5.3+, an int64_t cdata in LuaJIT.  Raises in plain Lua 5.1 and
---5.2.  The integer is negative if the layout sets bit 63.  Errors: the same as next.
---@return integer|ffi.cdata*? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:next_int() end

---Returns a UUID, a ULID or a trace id, as text or as 16 bytes.  Errors: the same as next, and bad_option if the layout
---cannot have the shape.
---@param shape? "uuid7"|"uuid8"|"ulid"|"hex32"
---@param form? "text"|"bytes"
---@return string? uuid
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:next_uuid(shape, form) end

---Returns n ids (1 to 10000).  Ids with equal higher fields ascend.  Errors: the same as next.
---@param n integer
---@return string[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:batch(n) end

---Like batch, with integers as in next_int.
---@param n integer
---@return integer[]|ffi.cdata*[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:batch_int(n) end

---Like layout:explain, with the generator's layout.
---@param id vesta.id
---@return vesta.parts? parts
---@return string? message
---@return vesta.code? code
function gen:explain(id) end

---Like layout:make, with the generator's layout.
---@param values table<string, vesta.id>
---@return string? id
---@return string? message
---@return vesta.code? code
function gen:make(values) end

---Like layout:range, with the generator's layout.
---@param from vesta.time
---@param til? vesta.time
---@param fields? table<string, integer>
---@return vesta.pair[]? pairs
---@return string? message
---@return vesta.code? code
function gen:range(from, til, fields) end

---Returns the current state of the generator.
---@return vesta.info? info
---@return string? message
---@return vesta.code? code
function gen:info() end

---Starts this process's keeper now instead of at the first id.  Inside nginx, if the file's store is not file:, it
---starts no keeper but wakes the keeper of the server that keeps the file.
---Errors: io, no_memory, bad_option (private).
---@return true? ok
---@return string? message
---@return vesta.code? code
function gen:keep() end

---Returns how many ids `next` and `batch` could issue at this instant without waiting.
---@return integer ids 0 if the generator is closed
function gen:room() end

---Releases the lease, so that the next id needs a new claim.  Blocks until the store has replied.
---Errors: io, bad_option (private, or a file that a server keeps for nginx).
---@return true? ok
---@return string? message
---@return vesta.code? code
function gen:release() end

---Closes this handle only.  May be called twice.  Later calls of other methods return "closed".
function gen:close() end

---The input of a policy's functions.  docs/policies-reference.md lists the fields of each function.
---@class vesta.ctx
---@field namespace string
---@field now_ms integer
---@field options table the policy's options, with defaults if the policy declares them; {} without options
---@field worker? integer
---@field back_ms? integer how far the clock is behind the latest time that the generator has seen
---@field ahead_ticks? integer how far the cursor is ahead of the clock
---@field ahead_ms_max? integer the generator's option
---@field last_ms? integer the time of the last id, if it is known
---@field peers? { worker: integer, seen_ms: integer }[]
---@field range? { first: integer, last: integer } the worker ids of the layout
---@field records? vesta.ctx_record[] the records of all worker ids that have ever been used, ascending
---@field host? string
---@field ip? string the host's IPv4 address, if it has one
---@field ordinal? integer the number after the last - in the host's name
---@field identity? string the name that claims the worker id
---@field random? integer a new random number at each call
---@field attempt? integer 1 at first, incremented after each lost claim
---@field leaving? integer the held worker id that must be replaced after "switch"
---@field down_ms? integer for how long the store has been unreachable
---@field left_ms? integer for how long ids can be issued without the store

---An element of ctx.records.
---@class vesta.ctx_record
---@field worker integer
---@field epoch integer how often it was claimed
---@field holder string a description of the current or last holder
---@field identity string the name that gets the worker id back
---@field held boolean false after the worker id was released
---@field expired boolean true if the lease has expired
---@field until_ms integer an upper bound on the timestamps of its ids
---@field written_ms integer the last write, by the store's clock
---@field seen_ms integer the last write, by the holder's clock

---@alias vesta.verdict fun(ctx: vesta.ctx): string?, (number|string)?

---A policy as a table of functions: see docs/policies-reference.md.
---@class vesta.policy
---@field api 1
---@field fixed? boolean|"ordinal" whether its worker ids are fixed for a host ("ordinal": only if it has an ordinal)
---@field name? string
---@field about? string
---@field on_clock_back? vesta.verdict "wait"[, ms], "borrow"[, ms], "switch" or "refuse"[, reason]
---@field on_exhausted? vesta.verdict "wait"[, ms], "borrow"[, ms] or "refuse"[, reason]
---@field on_start? vesta.verdict "go" or "refuse"[, reason]
---@field on_store_down? vesta.verdict "continue" or "refuse"[, reason] (called only in a server)
---@field on_lease_lost? vesta.verdict "claim" or "stop"[, reason]
---@field choose_worker? fun(ctx: vesta.ctx): integer?, string? a worker id, or nil and a reason

---A built-in policy's name or a path, and its options: { "vesta", role = "server" }
---@class vesta.named_policy: { [string]: any }
---@field [1] string

---Options of vesta.open.  An unknown key raises.
---@class vesta.options
---@field layout? string|vesta.layout a layout text, preset name or layout (default: the file's, else vesta-second)
---@field path? string the generator file (default: <state>/<namespace>.gen)
---@field store? string file:DIR, sqlite:FILE, mysql://..., zk://... (default: the file's, else file:<state>)
---@field secret? string the database's password, or ZooKeeper's user:password (default: the URI's)
---@field lease? "local"|"strict"|"balanced"|"autonomous" the lease preset (default: the file's, else by the store)
---@field identity? string this generator's name in the store (default: the host's name and the path)
---@field namespace? string [A-Za-z0-9_.:-]{1,64} (default: the file's, else "default")
---@field worker? integer claim exactly this worker id
---@field any_worker? boolean claim a random free worker id and record it in the store
---@field fields? table<string, integer> constant fields of this handle's ids: { version = 1 }
---@field method? 0|1|2|3|"by_protocol" the value of the `method` field, if there is one (default: 2, by_protocol: 0)
---@field group? string the group that may share the files that this call creates
---@field pacing? "clock"|"history" default: the file's, else clock
---@field ahead_ms_max? integer how far ids may run ahead of the clock, in milliseconds
---@field wait_ms_max? number milliseconds that a call may wait (default: 100, or 2000 to claim a lease, 0 inside nginx)
---@field policy? string|vesta.named_policy|vesta.policy decides about pauses that are longer than wait_ms_max
---@field policy_env? string[] the environment variables that the policy may read
---@field unsafe_private? boolean an anonymous generator whose ids may repeat (for tests only)

---@class vesta.guess_row
---@field preset string
---@field about string
---@field parts vesta.parts

---@class vesta.need
---@field rate number ids per second that each node must be able to issue
---@field nodes integer maximum number of workers that run at the same time
---@field years number how many years the time field must last
---@field epoch? vesta.time the instant of time 0 (default: "2026-01-01T00:00:00Z")
---@field unit? string the time unit, from "1us" to "1s" (default: a millisecond if it is sufficient)
---@field bits? integer maximum bits of an id, 32 to 63 (53 for JavaScript numbers)

---@class vesta.fit_row
---@field layout string
---@field rate_max number
---@field nodes_max integer
---@field years_max number
---@field end_ms integer
---@field ends string

---@class vesta
---@field VERSION string
local vesta = {}

---Opens the generator of a path, and creates its file if necessary.  <state> is $VESTA_STATE, else /var/lib/vesta if it
---is writable, else ${XDG_STATE_HOME:-~/.local/state}/vesta.
---Errors: no_generator (no file, and no worker, any_worker or store), mismatch, bad_layout, bad_option, bad_field,
---epoch_end, io, no_memory.
---@param options vesta.options
---@return vesta.gen? gen
---@return string? message
---@return vesta.code? code
function vesta.open(options) end

---Opens a counter.  Errors: bad_option, io, no_memory.
---@param options vesta.segment_options
---@return vesta.segment? segment
---@return string? message
---@return vesta.code? code
function vesta.segment(options) end

---Leases the ids of past dates for an import.
---Errors: bad_option, epoch_end, too_many, mismatch, no_generator, bad_field, bad_layout, io, no_memory.
---@param options vesta.past_options
---@return vesta.past? range
---@return string? message
---@return vesta.code? code
function vesta.past(options) end

---Reads a layout text or a preset with overrides.  Errors: bad_layout.
---@param text string
---@return vesta.layout? layout
---@return string? message
---@return vesta.code? code
function vesta.layout(text) end

---Returns the presets: layouts with a name.
---@return { name: string, text: string, about: string }[]
function vesta.presets() end

---Returns the presets that an id could have if it was generated before `now` (default: the clock), likeliest first.
---Errors: bad_id.
---@param id vesta.id
---@param now? vesta.time
---@return vesta.guess_row[]? rows
---@return string? message
---@return vesta.code? code
function vesta.guess(id, now) end

---Proposes a layout for a need.  Errors: bad_field (63 bits do not suffice).
---@param need vesta.need
---@return vesta.fit_row? fit
---@return string? message
---@return vesta.code? code
function vesta.fit(need) end

---Formats an id.  hex, base32 and base62 are padded with zeros, so that the texts sort like the ids.  Errors: bad_id.
---@param id vesta.id
---@param base? "decimal"|"hex"|"base32"|"base62"
---@return string? text
---@return string? message
---@return vesta.code? code
function vesta.format(id, base) end

---Reads an id and returns it as decimal text.  Errors: bad_id.
---@param text string
---@param base? "decimal"|"hex"|"base32"|"base62"
---@return string? id
---@return string? message
---@return vesta.code? code
function vesta.parse(text, base) end

---The fields of a UUID, ULID, TypeID or trace id.  It has only those members that the text contains.
---@class vesta.uuid
---@field id string the canonical form of the text
---@field kind "uuid1"|"uuid2"|"uuid3"|"uuid4"|"uuid5"|"uuid6"|"uuid7"|"uuid8"|"uuid"|"ulid"|"hex32"|"nil"|"max"
---@field uuid string
---@field ulid string
---@field version? integer
---@field variant? integer
---@field prefix? string of a TypeID
---@field unix_ms? integer
---@field iso? string
---@field from? string the id from which a uuid8 of a preset was made

---Reads a UUID in any form, a ULID, a TypeID or 32 hex digits.  Errors: bad_id.
---@param text string
---@return vesta.uuid? fields
---@return string? message
---@return vesta.code? code
function vesta.explain_uuid(text) end

---Returns a UUID or ULID as a TypeID.  Errors: bad_field for the prefix, bad_id.
---@param prefix string 0 to 63 characters, a to z and _, which begins and ends with a letter
---@param uuid string
---@return string? typeid
---@return string? message
---@return vesta.code? code
function vesta.typeid(prefix, uuid) end

---Functions for nginx: require "vesta.resty".
---@class vesta.resty
local resty = {}

---Starts this nginx worker's keeper, unless a server keeps the file.  Call it in init_worker_by_lua.  It raises in
---init_by_lua.  Errors: io, no_memory.
---@param generator vesta.gen
---@return true? ok
---@return string? message
---@return vesta.code? code
function resty.keep(generator) end

---Returns the client's X-Request-Id if it is valid, else a new id.  Errors: the same as gen:next.
---@param generator vesta.gen
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function resty.request_id(generator) end

---Returns whether a text can be passed on as a request id: 1 to 64 of [A-Za-z0-9_.:+/=-].
---@param text any
---@return boolean
function resty.is_request_id(text) end

---@class vesta.client_options
---@field servers string[]|string at most 8, best first: "host:port", "unix:/path", "redis[s]://name:secret@host:port"
---@field name? string a namespace or tag of the servers (default: "default")
---@field user? string the client's name, if an address has none
---@field secret_file? string a file with the client's secret, read for each connection
---@field password? string the client's secret, or the servers' password
---@field tls_ca? string PEM file of the certificate authorities to trust (default: the system's)
---@field tls_certificate? string PEM file of the client's certificate
---@field tls_key? string PEM file of the client's key
---@field tls_unverified? boolean do not verify the server's certificate (for tests only)
---@field fallback? vesta.gen a generator that issues ids while no server is reachable (the client keeps it open)
---@field block_min? integer ids in the smallest block (default: 100)
---@field block_max? integer ids in the largest block, up to 100000 (default: 10000)
---@field ttl_ms? integer maximum age of a block in milliseconds (default: 10000)
---@field timeout_ms? integer maximum milliseconds for one request to one server (default: 2000)
---@field wait_ms_max? number maximum milliseconds that a call waits (default: 5000, inside nginx 0)

---Opens a client of vesta servers, which computes ids from blocks of the servers.  It connects at the first id.  Raises
---if an option is unknown or has a wrong type.  Errors: bad_option, io, no_memory.
---@param options vesta.client_options
---@return vesta.servers? client
---@return string? message
---@return vesta.code? code
function vesta.client(options) end

---A client of vesta servers.
---@class vesta.servers
local servers = {}

---Returns the next id.  Errors: range (no block arrived in time), closed.
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:next() end

---Returns the next id as an exact integer, in Lua 5.3 and later.  Raises in older versions.  Errors: range, closed.
---@return integer? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:next_int() end

---Returns a UUID as text, made from one id of a block.  Errors: range, closed, and bad_option if the ids of this name
---have no such shape.
---@param shape? "uuid7"|"uuid8"|"ulid"|"hex32" the default is uuid7
---@return string? uuid
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:next_uuid(shape) end

---Returns n ids, 1 to 10000.  Errors: range, closed.
---@param n integer
---@return string[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:batch(n) end

---@param n integer
---@return integer[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:batch_int(n) end

---@class vesta.source
---@field address string
---@field is_up boolean
---@field requests integer
---@field blocks integer
---@field ids integer
---@field errors integer
---@field error? string the last error, if no block has arrived since then

---@class vesta.servers_info
---@field name string
---@field ids integer ids taken from blocks
---@field blocks integer
---@field requests integer
---@field drops integer blocks that were dropped for their age
---@field dropped integer ids in them
---@field errors integer
---@field fallback_blocks integer
---@field left integer ids of the current block
---@field next_left integer
---@field block_ids integer the current size of a block
---@field servers vesta.source[]
---@field fallback? vesta.source

---Returns the state of this process's client.  Errors: closed.
---@return vesta.servers_info? info
---@return string? message
---@return vesta.code? code
function servers:info() end

---Closes the client.  The unused ids of its blocks are lost.  Later calls return "closed".
function servers:close() end

---Gets ids from servers inside nginx: require "vesta.resty.client".
---@class vesta.resty.client
local client = {}

---@class vesta.resty.client_options
---@field servers string[] 1 to 16 of "host:port", "[v6]:port", "unix:/path", "redis[s]://name:secret@host:port"
---@field name string the namespace or tag
---@field size? integer ids of a block (default: 1000)
---@field ttl? number how long a block may be used, in milliseconds (default: 10000)
---@field timeout? number how long a server may take for a block, in milliseconds (default: 2000)
---@field wait? number how long a call may wait, in milliseconds (default: 5000)
---@field user? string the client's name, if an address has none
---@field secret_file? string a file with the client's secret, read for each connection
---@field password? string the client's secret, or the servers' password
---@field tls_certificate? string PEM file of the client's certificate
---@field tls_key? string PEM file of the client's key
---@field tls_name? string the name in the servers' certificates, if servers are IP addresses
---@field tls_unverified? boolean do not verify the server's certificate (for tests only)

---Creates a client, in any phase.  Raises if an option is invalid.
---@param options vesta.resty.client_options
---@return vesta.resty.client
function client.new(options) end

---Returns the next id.  Errors: no_block, refused, closed.
---@return string? id
---@return string? message
---@return "no_block"|"refused"|"closed"? code
---@return number? wait_s
function client:next() end

---Returns n ids, 1 to 10000.  Errors: no_block, refused, closed.
---@param n integer
---@return string[]? ids
---@return string? message
---@return "no_block"|"refused"|"closed"? code
---@return number? wait_s
function client:batch(n) end

---@class vesta.resty.client_server
---@field address string
---@field errors integer
---@field message? string the last error
---@field rests_s number seconds until the client sends requests to this server again

---@class vesta.resty.client_info
---@field name string
---@field left integer ids
---@field blocks integer
---@field requests integer
---@field drops integer blocks that were dropped for their age
---@field is_fetching boolean
---@field servers vesta.resty.client_server[]

---Returns the state of this nginx worker's client.
---@return vesta.resty.client_info
function client:info() end

---Discards the blocks of this nginx worker.  Later calls return "closed".
function client:close() end

return vesta
