---@meta
-- What editors know about vesta (LuaLS: add this folder to workspace.library).
--
-- Failure: every function that can fail returns nil, message, code (and wait_s, seconds until it is worth trying
-- again, where waiting helps).  A wrong type raises at the caller's line.

---What an id argument may be: a decimal string, an integer of Lua 5.3+, an int64_t or uint64_t cdata of LuaJIT, or a
---double of at most 2^53.  A larger double is `bad_id`: it has lost digits.
---@alias vesta.id string|integer|ffi.cdata*|number

---A moment: Unix milliseconds, or RFC 3339 ("2026-01-01T00:00:00Z").
---@alias vesta.time integer|string

---The stable name of a failure.
---@alias vesta.code
---| "full"         # the time unit's sequence is used up
---| "clock_back"   # the clock is behind a time already seen
---| "clock_ahead"  # the clock jumped forward and is not confirmed yet
---| "ahead"        # the cursor is ahead of the clock
---| "lease"        # no lease is held yet, or its range is used up
---| "choose"       # a policy must pick a worker
---| "epoch_end"    # the layout's time is over
---| "closed"       # the generator was closed, or its map is being replaced: try again
---| "failstop"     # the store denies what it granted: an operator must act
---| "range"        # no block, or no range of a segment, is here just now
---| "bad_layout"   # a layout text that cannot be
---| "bad_field"    # a field's value is missing, too large or unknown
---| "bad_id"       # not an id, or not one of this layout
---| "mismatch"     # the existing file or namespace says otherwise
---| "no_generator" # no generator file, and not enough said to make one
---| "unknown_name" # no such namespace, preset or tag
---| "bad_option"   # an option that is wrong in itself
---| "refused"      # a policy says that this must not start
---| "io"           # the file system or the store said no
---| "no_memory"
---| "too_many"     # the answer is larger than what a face may give

---What an id says: every field of its layout by name, and
---@class vesta.parts: { [string]: integer }
---@field time integer time units since the layout's epoch
---@field seq integer
---@field worker? integer the leased field, whatever the layout calls it
---@field unix_ms integer when the id's time unit began
---@field iso string the same as RFC 3339 in UTC

---@class vesta.pair the smallest and largest id of an interval
---@field min string
---@field max string

---@class vesta.field
---@field name string
---@field width integer bits, 1 to 53
---@field shift integer the field's lowest bit, 0 to 63
---@field low_width? integer of a sequence in two parts: so many of its low bits stand apart
---@field low_shift? integer ... from this bit on
---@field max integer
---@field constant? integer the only value it may have

---What the 64 bits of an id mean.  Immutable.
---@class vesta.layout
local layout = {}

---Takes an id apart.  Errors: bad_id (not an id, or a constant field has another value).
---@param id vesta.id
---@return vesta.parts? parts
---@return string? message
---@return vesta.code? code
function layout:explain(id) end

---Makes an id from named values; explain's answer may be given back.  time, seq and the leased field are needed,
---others are 0 or their constant.  time counts time units, or is an RFC 3339 text; without it unix_ms or iso is used.
---Not a grant: other programs can still issue the same id.  Errors: bad_field.
---@param values table<string, vesta.id>
---@return string? id
---@return string? message
---@return vesta.code? code
function layout:make(values) end

---When an id's time unit began, in Unix milliseconds.  Errors: bad_id.
---@param id vesta.id
---@return integer? unix_ms
---@return string? message
---@return vesta.code? code
function layout:time(id) end

---Smallest and largest ids of [from, til), one pair per combination of the fields above time that `fields` does not
---name.  Without `til`: the one time unit of `from`.  At most 10000 pairs.  Errors: bad_field, epoch_end, too_many.
---@param from vesta.time
---@param til? vesta.time
---@param fields? table<string, integer>
---@return vesta.pair[]? pairs
---@return string? message
---@return vesta.code? code
function layout:range(from, til, fields) end

---Whether an id can be of this layout: true, or false and why not.  Errors: bad_id (nil: no id at all).
---@param id vesta.id
---@return boolean? fits
---@return string? message
---@return vesta.code? code
function layout:fits(id) end

---The canonical text.  Also tostring(layout).
---@return string
function layout:text() end

---The fields, from the highest bit to the lowest.
---@return vesta.field[]
function layout:fields() end

---The first instant that the layout's time cannot say.
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
---@field worker? integer only with a lease, like the next three
---@field drew_worker? boolean this process drew the number at random
---@field tick? string the next tick
---@field limit? string the lease's end, exclusive
---@field slot integer
---@field slots_used integer
---@field keeper string what the keeper last said
---@field warning string e.g. that the layout's time ends within a year

---@class vesta.segment_database
---@field store string
---@field step integer numbers asked for last
---@field ranges integer that this process got
---@field refused integer
---@field down integer
---@field unknown integer
---@field conflict integer
---@field granted string the highest end of a range that this host was granted
---@field stopped boolean its counter went back
---@field said string why it brings no range; "": all is well

---@class vesta.segment_info
---@field tag string
---@field order string
---@field position string the next number
---@field count integer numbers that the current range held
---@field left integer
---@field next_left integer
---@field until_refill integer so many more numbers, and the next range is asked for
---@field per_s number numbers a second; 0: not measured yet
---@field warning string
---@field databases vesta.segment_database[]

---A counter whose numbers come from a database, shared by the processes of this host.
---@class vesta.segment
local segment = {}

---One number as a decimal string.  Waits up to wait_ms_max.  Errors: range, failstop, closed.
---@return string? number
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:next() end

---One number as gen:next_int gives ids.  Errors: as next.
---@return integer|ffi.cdata*? number
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:next_int() end

---n consecutive numbers of one range (1 to 10000), or none.  Errors: as next; too_many: no range holds so many.
---@param n integer
---@return string[]? numbers
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function segment:batch(n) end

---How it stands.
---@return vesta.segment_info? info
---@return string? message
---@return vesta.code? code
function segment:info() end

---Gives back what is left of its ranges.  Errors: io, not_now, bad_option, closed.
---@return true? done
---@return string? message
---@return vesta.code? code
function segment:release() end

---Closes this handle; what is left stays for the next start.  May be called twice.
function segment:close() end

---How to open a segment.  An unknown key raises.
---@class vesta.segment_options
---@field store string|string[] URIs, 1 to 8, in the same order everywhere
---@field secret? string|string[]
---@field tag string
---@field table? string leaf_alloc
---@field step? integer 1000 where the row has none
---@field step_max? integer 1000000
---@field order? "trend"|"strict"
---@field group? string
---@field wait_ms_max? number 2000; inside nginx 0

---Gives ids.  Whoever opens the same path shares one cursor, in this process and in others.
---@class vesta.gen
local gen = {}

---One id as a decimal string, exact everywhere.  Waits up to wait_ms_max.
---Errors: full, clock_back, clock_ahead, ahead, lease, choose, epoch_end, closed, failstop.
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:next() end

---One id as an exact number: an integer in Lua 5.3+, an int64_t cdata in LuaJIT.  Raises in plain Lua 5.1 and 5.2.
---Negative where a layout sets bit 63.  Errors: as next.
---@return integer|ffi.cdata*? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:next_int() end

---Exactly n ids (1 to 10000), growing within equal higher fields, or none.  Errors: as next.
---@param n integer
---@return string[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:batch(n) end

---As batch, with what next_int gives.
---@param n integer
---@return integer[]|ffi.cdata*[]? ids
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function gen:batch_int(n) end

---As layout:explain, by the generator's layout.
---@param id vesta.id
---@return vesta.parts? parts
---@return string? message
---@return vesta.code? code
function gen:explain(id) end

---As layout:make, by the generator's layout.
---@param values table<string, vesta.id>
---@return string? id
---@return string? message
---@return vesta.code? code
function gen:make(values) end

---As layout:range, by the generator's layout.
---@param from vesta.time
---@param til? vesta.time
---@param fields? table<string, integer>
---@return vesta.pair[]? pairs
---@return string? message
---@return vesta.code? code
function gen:range(from, til, fields) end

---What the generator is, just now.
---@return vesta.info? info
---@return string? message
---@return vesta.code? code
function gen:info() end

---Starts this process's keeper now instead of at the first id.  Inside nginx, where the file's store is not file:, it
---wakes the host's that keeps the file, and starts none.  Errors: io, no_memory, bad_option (private).
---@return true? ok
---@return string? message
---@return vesta.code? code
function gen:keep() end

---Gives the lease back: the next id needs a new claim.  Blocks for the store.
---Errors: io, bad_option (private, or a file that a server keeps for nginx).
---@return true? ok
---@return string? message
---@return vesta.code? code
function gen:release() end

---Unmaps this handle only.  May be called twice; later calls of the others say "closed".
function gen:close() end

---What a function of a policy is told.  docs/policies-reference.md says which function gets which.
---@class vesta.ctx
---@field namespace string
---@field now_ms integer
---@field options table the policy's options, whole where it declares them; empty without
---@field worker? integer
---@field back_ms? integer how far the clock is behind what was seen
---@field ahead_ticks? integer how far the cursor is ahead of the clock
---@field ahead_ms_max? integer the generator's
---@field last_ms? integer when the last id was made, if that is known
---@field peers? { worker: integer, seen_ms: integer }[]
---@field range? { first: integer, last: integer } the numbers there are
---@field records? vesta.ctx_record[] the numbers that were ever used, ascending
---@field host? string
---@field ip? string this machine's IPv4 address, if it has one
---@field ordinal? integer the number behind the last - of the host's name
---@field identity? string the name for which a number is wanted
---@field random? integer another one at each call
---@field attempt? integer 1, and one more for each claim that somebody faster won
---@field leaving? integer the number that is held and to be left, after "switch"
---@field down_ms? integer for how long the store has been silent
---@field left_ms? integer for how long ids go on without it

---One of ctx.records.
---@class vesta.ctx_record
---@field worker integer
---@field epoch integer how often it was claimed
---@field holder string the process that holds or held it, for people
---@field identity string the name that gets the number back
---@field held boolean false once it was given back
---@field expired boolean its holder has been silent for longer than its lease
---@field until_ms integer up to when ids may have been made with it
---@field written_ms integer by the store's clock
---@field seen_ms integer by the holder's

---@alias vesta.verdict fun(ctx: vesta.ctx): string?, (number|string)?

---A policy in functions; docs/policies-reference.md.
---@class vesta.policy
---@field api 1
---@field fixed? boolean|"ordinal" whether its numbers follow from the host; "ordinal": of hosts with an ordinal
---@field name? string
---@field about? string
---@field on_clock_back? vesta.verdict "wait"[, ms], "borrow"[, ms], "switch" or "refuse"[, reason]
---@field on_exhausted? vesta.verdict "wait"[, ms], "borrow"[, ms] or "refuse"[, reason]
---@field on_start? vesta.verdict "go" or "refuse"[, reason]
---@field on_store_down? vesta.verdict "continue" or "refuse"[, reason]; asked in a server only
---@field on_lease_lost? vesta.verdict "claim" or "stop"[, reason]
---@field choose_worker? fun(ctx: vesta.ctx): integer?, string? a number, or nil and a reason

---{ "vesta", role = "server" }: a shipped policy's name or a path, and its options
---@class vesta.named_policy: { [string]: any }
---@field [1] string

---How to open a generator.  An unknown key raises.
---@class vesta.options
---@field layout? string|vesta.layout layout text, preset name or layout; the file's, else vesta-second
---@field path? string the generator file; <state>/<namespace>.gen
---@field store? string file:DIR, sqlite:FILE, mysql://USER@HOST/DB or zk://HOSTS/PATH; the file's, else file:<state>
---@field secret? string what that store knows us by: a database's password, a ZooKeeper's user:password; the URI's
---@field lease? "local"|"strict"|"balanced"|"autonomous" how it is timed; the file's, else by the store
---@field identity? string who asks the store; the host's name and the path
---@field namespace? string [A-Za-z0-9_.:-]{1,64}; the file's, else "default"
---@field worker? integer claim exactly this number
---@field any_worker? boolean draw a free worker id and keep it in the store
---@field fields? table<string, integer> this handle's constant fields: { version = 1 }
---@field method? 0|1|2|3|"by_protocol" the value of the layout's field method, if it has one; 2; by_protocol: 0
---@field group? string group that may share the files made by this call
---@field pacing? "clock"|"history" the file's, else clock
---@field ahead_ms_max? integer how far ids may run ahead of the clock; 0: not at all
---@field wait_ms_max? number how long a call may wait for an id; 100 (2000 for a lease), and 0 inside nginx
---@field policy? string|vesta.named_policy|vesta.policy asked about a pause that outlasts wait_ms_max
---@field policy_env? string[] the environment's variables that the policy may read
---@field unsafe_private? boolean an anonymous cursor outside every guarantee: for tests

---@class vesta.guess_row
---@field preset string
---@field about string
---@field parts vesta.parts

---@class vesta.need
---@field rate number ids per second that one node must be able to give
---@field nodes integer workers running at the same time
---@field years number how long the time field must last
---@field epoch? vesta.time when time 0 is; "2026-01-01T00:00:00Z"
---@field unit? string what the time counts, from "1us" to "1s"; a millisecond if that does
---@field bits? integer how many bits an id may have, 32 to 63; 53 are exact in JavaScript

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

---Opens, or makes, the generator of a path.  <state> is $VESTA_STATE, else /var/lib/vesta if writable, else
---${XDG_STATE_HOME:-~/.local/state}/vesta.
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

---Reads a layout text or a preset with overrides.  Errors: bad_layout.
---@param text string
---@return vesta.layout? layout
---@return string? message
---@return vesta.code? code
function vesta.layout(text) end

---The layouts that have names.
---@return { name: string, text: string, about: string }[]
function vesta.presets() end

---Which presets could have made an id by `now` (the clock, unless given), likeliest first.  Errors: bad_id.
---@param id vesta.id
---@param now? vesta.time
---@return vesta.guess_row[]? rows
---@return string? message
---@return vesta.code? code
function vesta.guess(id, now) end

---Proposes a layout for a need.  Errors: bad_field (63 bits cannot hold it).
---@param need vesta.need
---@return vesta.fit_row? fit
---@return string? message
---@return vesta.code? code
function vesta.fit(need) end

---Writes an id; hex, base32 and base62 are zero-padded, so that texts sort as ids do.  Errors: bad_id.
---@param id vesta.id
---@param base? "decimal"|"hex"|"base32"|"base62"
---@return string? text
---@return string? message
---@return vesta.code? code
function vesta.format(id, base) end

---Reads an id and gives it as decimal text.  Errors: bad_id.
---@param text string
---@param base? "decimal"|"hex"|"base32"|"base62"
---@return string? id
---@return string? message
---@return vesta.code? code
function vesta.parse(text, base) end

---Inside nginx; require "vesta.resty".
---@class vesta.resty
local resty = {}

---Starts this worker's keeper, or none where a server keeps the file.  For init_worker_by_lua; raises in
---init_by_lua.  Errors: io, no_memory.
---@param generator vesta.gen
---@return true? ok
---@return string? message
---@return vesta.code? code
function resty.keep(generator) end

---The request's id: the client's X-Request-Id if it is valid, else a new one.  Errors: as gen:next.
---@param generator vesta.gen
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function resty.request_id(generator) end

---Whether a text may be passed on as a request id: 1 to 64 of [A-Za-z0-9_.:+/=-].
---@param text any
---@return boolean
function resty.is_request_id(text) end

---@class vesta.client_options
---@field servers string[]|string at most 8, best first: "host:port", "unix:/path", "redis[s]://name:secret@host:port"
---@field name? string a namespace or tag of the servers; default "default"
---@field user? string the client's name, where an address has none
---@field secret_file? string a file with its secret, read for each connection
---@field password? string the secret itself, or the servers' password
---@field tls_ca? string PEM of the authorities that may sign servers' certificates; default the machine's
---@field tls_certificate? string PEM of the client's own certificate
---@field tls_key? string PEM of its key
---@field tls_unverified? boolean whoever answers is taken for the server: for trying out
---@field fallback? vesta.gen gives ids while no server answers; stays open for as long as the client is
---@field block_min? integer ids of the smallest block; default 100
---@field block_max? integer ids of the largest block, up to 100000; default 10000
---@field ttl_ms? integer how old a block may be; default 10000
---@field timeout_ms? integer how long one attempt at one server may take; default 2000
---@field wait_ms_max? number how long a call may wait; default 5000, in nginx 0

---Opens a client of vesta servers: ids from their blocks, made here.  Connects with the first id.  Raises where an
---option is unknown or of the wrong type.  Errors: bad_option, io, no_memory.
---@param options vesta.client_options
---@return vesta.servers? client
---@return string? message
---@return vesta.code? code
function vesta.client(options) end

---A client of vesta servers.
---@class vesta.servers
local servers = {}

---The next id.  Errors: range (no block is here in time), closed.
---@return string? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:next() end

---The same as an exact integer: Lua 5.3 and later; raises before.  Errors: range, closed.
---@return integer? id
---@return string? message
---@return vesta.code? code
---@return number? wait_s
function servers:next_int() end

---n ids, 1 to 10000.  Errors: range, closed.
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
---@field error? string the last one, if no block has come since

---@class vesta.servers_info
---@field name string
---@field ids integer taken out of blocks
---@field blocks integer
---@field requests integer
---@field drops integer blocks that were dropped for their age
---@field dropped integer ids in them
---@field errors integer
---@field fallback_blocks integer
---@field left integer ids of the current block
---@field next_left integer
---@field block_ids integer how many are asked for at present
---@field servers vesta.source[]
---@field fallback? vesta.source

---What this process has and what it met.  Errors: closed.
---@return vesta.servers_info? info
---@return string? message
---@return vesta.code? code
function servers:info() end

---Ends it; what is left of its blocks is lost.  Later calls return "closed".
function servers:close() end

---Ids from servers, inside nginx; require "vesta.resty.client".
---@class vesta.resty.client
local client = {}

---@class vesta.resty.client_options
---@field servers string[] 1 to 16 of "host:port", "[v6]:port", "unix:/path", "redis[s]://name:secret@host:port"
---@field name string the namespace or tag
---@field size? integer ids of a block; default 1000
---@field ttl? number milliseconds for which a block may be used; default 10000
---@field timeout? number milliseconds that one server may take for one block; default 1000
---@field wait? number milliseconds that a call may wait; default 2000
---@field user? string the client's name, where an address has none
---@field secret_file? string a file with its secret, read for each connection
---@field password? string the secret itself, or the servers' password
---@field tls_certificate? string PEM of the client's own certificate
---@field tls_key? string PEM of its key
---@field tls_name? string the name in the servers' certificates, where servers are addresses
---@field tls_unverified? boolean whoever answers is taken for the server: for trying out

---Makes a client; raises what is wrong with an option.  Any phase.
---@param options vesta.resty.client_options
---@return vesta.resty.client
function client.new(options) end

---The next id.  Errors: no_block, refused, closed.
---@return string? id
---@return string? message
---@return "no_block"|"refused"|"closed"? code
---@return number? wait_s
function client:next() end

---n ids, 1 to 10000.  Errors: no_block, refused, closed.
---@param n integer
---@return string[]? ids
---@return string? message
---@return "no_block"|"refused"|"closed"? code
---@return number? wait_s
function client:batch(n) end

---@class vesta.resty.client_server
---@field address string
---@field errors integer
---@field message? string what went wrong last
---@field rests_s number seconds for which it is not asked

---@class vesta.resty.client_info
---@field name string
---@field left integer ids
---@field blocks integer
---@field requests integer
---@field drops integer blocks that were dropped for their age
---@field is_fetching boolean
---@field servers vesta.resty.client_server[]

---What this worker has and what it met.
---@return vesta.resty.client_info
function client:info() end

---Drops the blocks of this worker; later calls return "closed".
function client:close() end

return vesta
