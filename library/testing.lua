---@meta vesta.testing
-- Type declarations of vesta.testing for editors.  docs/policies.md describes the module.

local testing = {}

---Options of testing.world.  Each becomes a field of the world, which a test may set.
---@class vesta.testing.options
---@field policy string|vesta.named_policy|vesta.policy
---@field env? table<string, string|false> the variables that the policy may read (false: not set)
---@field layout? string a preset or layout text (default: "vesta-milli")
---@field namespace? string default "default"
---@field worker? integer the held worker id (default: 1)
---@field now_ms? integer|string the clock: Unix milliseconds or RFC 3339, such as "2026-01-31T02:00:00Z"
---@field ahead_ms_max? integer default 0
---@field lease_ms? integer how long a lease lasts after its last renewal (default: 600000)
---@field last_ms? integer|false the time of the last id for on_start (default: absent)
---@field host? string|false the host's name for choose_worker, like the next three fields (false: absent)
---@field ip? string|false
---@field ordinal? integer|false default: the number at the end of the host's name
---@field identity? string|false
---@field leaving? integer|false the worker id that must be replaced (default: false)
---@field random? number from 0 to 1

---@class vesta.testing.record
---@field worker integer
---@field epoch? integer
---@field holder? string
---@field identity? string
---@field held? boolean
---@field until_ms? integer
---@field written_ms? integer
---@field seen_ms? integer

---@class vesta.testing.world: vesta.testing.options
---@field records table<integer, vesta.testing.record> by worker id
---@field said string[] the lines that the policy logged
local world = {}

---Creates a world with a policy.  Raises if the policy cannot be loaded.
---@param given vesta.testing.options
---@return vesta.testing.world
function testing.world(given) end

---Sets the clock: -3000 sets it back by 3 seconds.
---@param ms integer
function world:step_clock(ms) end

---Lets time pass.
---@param ms integer
function world:pass(ms) end

---Lets ids be issued this far ahead of the latest time that was seen.
---@param ms integer
function world:run_ahead(ms) end

---Calls a function of the policy.  Raises if it fails, or if the policy lacks it.
---@param hook string "on_clock_back", ...
---@param more? table fields of ctx that differ from the world's in this call (false: absent)
---@return string|integer? word the verdict, or for choose_worker a worker id or nil
---@return integer? amount_ms
---@return string? reason
function world:verdict(hook, more) end

---Claims a worker id for a holder.
---@param given vesta.testing.record
---@return vesta.testing.record? record
---@return string? message
function world:claim(given) end

---Releases a worker id.
---@param worker integer
function world:release(worker) end

---Returns whether the lease of a record has expired.
---@param record vesta.testing.record
---@return boolean
function world:is_expired(record) end

---Makes the store unreachable until store_up.  Until then claims fail, and choose_worker is not called.
function world:store_down() end

function world:store_up() end

---Calls choose_worker and claims the worker id.  If the claim is lost, it tries again with fresh records.
---@return integer? worker
---@return string? reason
function world:choose() end

---Options of testing.generator.
---@class vesta.testing.generator_options
---@field layout? string|vesta.layout a preset or layout text (default: "vesta-milli")
---@field worker? integer default 1
---@field now_ms? integer|string the clock: Unix milliseconds or RFC 3339 (default: 2026-01-01T00:00:00Z)
---@field fields? table<string, integer> as in vesta.open, like the next four fields
---@field method? integer|string
---@field pacing? "clock"|"history"
---@field ahead_ms_max? integer
---@field wait_ms_max? number default 0, so that a call returns the pause (else the clock advances while a call waits)
---@field policy? string|table as in vesta.open, but a relative path starts at the folder of the spec
---@field policy_env? string[] as in vesta.open

---@class vesta.testing.clock
local clock = {}

---Returns Unix milliseconds.
---@return integer
function clock:now_ms() end

---Sets the clock: -3000 sets it back by 3 seconds.  Returns the new time.
---@param ms integer
---@return integer
function clock:step(ms) end

---Lets time pass.  Returns the new time.
---@param ms integer
---@return integer
function clock:pass(ms) end

---Returns a generator for the tests of a program, and its clock, which moves only when the test moves it.  The ids are
---the same in each run.  The generator has no file and no lease, and its namespace is "testing".
---@param options? vesta.testing.generator_options
---@return vesta.gen
---@return vesta.testing.clock
function testing.generator(options) end

return testing
