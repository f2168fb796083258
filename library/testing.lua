---@meta vesta.testing
-- What editors know about vesta.testing: a world for who writes a policy (docs/policies.md).

local testing = {}

---What a world may be given; each is a field of it afterwards, which a test may set.
---@class vesta.testing.options
---@field policy string|vesta.named_policy|vesta.policy
---@field env? table<string, string|false> the variables that the policy may read; false: it is not set
---@field layout? string preset or layout text; "vesta-milli"
---@field namespace? string "default"
---@field worker? integer the number that is held; 1
---@field now_ms? integer|string the clock, Unix milliseconds, or such as "2026-01-31T02:00:00Z"
---@field ahead_ms_max? integer 0
---@field lease_ms? integer how long a silent holder keeps its number; 600000
---@field last_ms? integer|false when the last id was made, if on_start is to know
---@field host? string|false what choose_worker gets about this machine, as the next three; false: it has none
---@field ip? string|false
---@field ordinal? integer|false the number at the end of the host's name, unless it is given
---@field identity? string|false
---@field leaving? integer|false the number that is to be left for another; false
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
---@field records table<integer, vesta.testing.record> by worker number
---@field said string[] what the policy said with log(), first to last
local world = {}

---A world with a policy in it.  Raises where the policy cannot be loaded.
---@param given vesta.testing.options
---@return vesta.testing.world
function testing.world(given) end

---The clock is set: back by -3000, forward by 3000.
---@param ms integer
function world:step_clock(ms) end

---Time goes by.
---@param ms integer
function world:pass(ms) end

---Ids have been made so far ahead of the latest time that was seen.
---@param ms integer
function world:run_ahead(ms) end

---Asks the policy.  Raises where it fails, or has no such function.
---@param hook string "on_clock_back", ...
---@param more? table fields of ctx that differ from this world's for this call; false: absent
---@return string|integer? word for choose_worker its number, or nil
---@return integer? amount_ms
---@return string? reason
function world:verdict(hook, more) end

---Somebody holds a number.
---@param given vesta.testing.record
---@return vesta.testing.record? record
---@return string? message
function world:claim(given) end

---A number is given back.
---@param worker integer
function world:release(worker) end

---Whether a record's holder has been silent for longer than a lease lasts.
---@param record vesta.testing.record
---@return boolean
function world:is_expired(record) end

---No answer from the store, until store_up: nothing is claimed, and nobody asks choose_worker.
function world:store_down() end

function world:store_up() end

---Asks choose_worker and claims its number, again with fresh records where that is lost.
---@return integer? worker
---@return string? reason
function world:choose() end

---What a generator for tests may be given.
---@class vesta.testing.generator_options
---@field layout? string|vesta.layout preset or layout text; "vesta-milli"
---@field worker? integer 1
---@field now_ms? integer|string the clock, Unix milliseconds or RFC 3339; 1767225600000, which is 2026-01-01T00:00:00Z
---@field fields? table<string, integer> as in vesta.open, and so are the next four
---@field method? integer|string
---@field pacing? "clock"|"history"
---@field ahead_ms_max? integer
---@field wait_ms_max? number 0: a call returns the pause; more: its clock passes meanwhile
---@field policy? string|table as in vesta.open; a relative path is relative to the spec that names it
---@field policy_env? string[] as in vesta.open

---@class vesta.testing.clock
local clock = {}

---Unix milliseconds.
---@return integer
function clock:now_ms() end

---Sets the clock: back by -3000, forward by 3000.  Returns the new time.
---@param ms integer
---@return integer
function clock:step(ms) end

---Lets time pass.  Returns the new time.
---@param ms integer
---@return integer
function clock:pass(ms) end

---A generator for tests of a program, and its clock, which stands until the test moves it.  Its ids are the same in
---each run.  It has no file and no lease, its namespace is "testing", and info().warning says what it is for.
---@param options? vesta.testing.generator_options
---@return vesta.gen
---@return vesta.testing.clock
function testing.generator(options) end

return testing
