--- policy.lua -- `vesta policy check|run|test`: checks, runs and tests policies before a server uses them.
-- Each policy runs in the module `sandbox`, with the limits of a server.
local cli = require "cli.lib.cli"
local engine = require "vesta.engine"
local hooks = require "vesta.hooks"
local sandbox = require "sandbox"
local term = require "term"
local trial = require "vesta.trial"

local FILES_MAX = 1000
local ENV_MAX = 32

local HOOKS = {}
for i, row in ipairs(hooks.hooks) do HOOKS[i] = row[1] end

-- Ends the command with exit code 1 if value is nil or false.  Use it for faults of a policy, which are not usage
-- errors.
local function must(value, text)
  if not value then cli.fail("%s", text) end
  return value
end

-- Returns the policy's environment for a list of names such as "REGION,ROLE".
local function read_env(names)
  if not names then return nil end
  local list = {}
  for name in (names .. ","):gmatch "([^,]*)," do list[#list + 1] = name end
  if #list > ENV_MAX then cli.usage("--env names more than %d variables", ENV_MAX) end
  local env, text = sandbox.env(list)
  if not env then cli.usage("--env: %s", text) end
  return env
end

---------------------------------------------------------------- check

local function whole(number)
  if number ~= number or number <= -0x1p63 then return math.mininteger end
  return number < 0x1p63 and math.tointeger(number - math.fmod(number, 1)) or math.maxinteger
end

local function quoted_words(option)
  local words = {}
  for i, word in ipairs(option.words) do words[i] = '"' .. word .. '"' end
  return table.concat(words, " or ")
end

-- Prints "  borrow_ms_max: default 1000 ms, from 0 to 86400000: how far ahead of the clock ids may go".
local function print_option(option)
  local parts = { "  ", option.name, ": " }
  local function add(format, ...) parts[#parts + 1] = format:format(...) end
  local unit = option.unit ~= "" and " " .. option.unit or ""
  if option.kind == "number" and option.default then
    add("default %d%s, ", option.default, unit)
  elseif option.default then
    add('default "%s", ', option.default)
  elseif option.needed then
    add "required, "
  end
  if option.kind == "number" then
    add("from %d to %d%s", option.least, option.most, option.default and "" or unit)
  else
    add("%s", option.kind == "list" and "a list" or quoted_words(option))
  end
  if option.about ~= "" then add(": %s", option.about) end
  cli.printf("%s\n", table.concat(parts))
end

local function option_json(option)
  local members = { { "name", option.name }, { "kind", option.kind }, { "needed", option.needed } }
  local function add(key, value)
    if value ~= nil and value ~= "" then members[#members + 1] = { key, value } end
  end
  add("default", option.default)
  add("least", option.least)
  add("most", option.most)
  add("words", option.words)
  add("unit", option.unit)
  add("about", option.about)
  return cli.object(members)
end

-- Makes a policy's declaration of an option safe to print.  Texts become single lines, and numbers become integers.
local function presentable(option)
  option.name = sandbox.calm(option.name, 64)
  option.unit = sandbox.calm(option.unit or "", 24)
  option.about = sandbox.calm(option.about or "", 256)
  if option.kind == "number" then
    option.least, option.most = whole(option.least), whole(option.most)
    option.default = option.default and whole(option.default)
  elseif option.kind == "word" then
    for i, word in ipairs(option.words) do option.words[i] = sandbox.calm(word, 48) end
    option.default = option.default and sandbox.calm(option.default, 48)
  end
  return option
end

local function functions_of(policy)
  local functions = {}
  for _, hook in ipairs(HOOKS) do
    local _, has = policy:call("has", hook)
    if has then functions[#functions + 1] = hook end
  end
  return functions
end

local function print_policy(name, policy, is_json)
  local ok, declared = policy:call "declared"
  must(ok, declared)
  for _, option in ipairs(declared or {}) do presentable(option) end
  local functions = functions_of(policy)
  if is_json then
    local options = declared and {} or cli.null
    for i, option in ipairs(declared or {}) do options[i] = option_json(option) end
    cli.json(cli.object { { "policy", name }, { "functions", functions }, { "options", options } })
    return
  end
  cli.printf("%s: %s\n", name,
    functions[1] and table.concat(functions, ", ") or "no functions, so the fixed rules always apply")
  for _, option in ipairs(declared or {}) do print_option(option) end
end

-- Warns about fields that the policy read from ctx but that ctx never has, which are usually misspelt.  Returns whether
-- there is such a field.
local function warn_of_misread(name, policy)
  local _, misread = policy:call "misread"
  for _, row in ipairs(misread) do
    local near = term.nearest(row[2], engine.TOLD[row[1]])
    term.say(("%s: %s reads ctx.%s, which is never set%s"):format(name, row[1], sandbox.calm(row[2], 48),
      near and ", did you mean " .. near .. "?" or ""))
  end
  return misread[1] ~= nil
end

-- Calls each function once with typical values, to record which fields it reads.  sandbox.try has already checked the
-- results.
local function check_reads(name, policy)
  policy:call "watch"
  for _, hook in ipairs(functions_of(policy)) do policy:call("ask", hook, trial.ctx(hook, term.now_ms())) end
  return warn_of_misread(name, policy)
end

-- Loads a policy as a server does, and calls its functions to find failures early.  Returns the exit code.  Warnings
-- about misspelt fields are printed even after a failure, because they are often its cause.
local function check_one(name, options, env)
  local ok, text = sandbox.try(name, options.options, env, term.now_ms())
  local policy, problem = sandbox.load(name, options.options, env)
  if not ok and policy then check_reads(name, policy) end
  must(ok, text)
  print_policy(name, must(policy, problem), options.json)
  return check_reads(name, policy) and options.strict and 1 or 0
end

-- Checks every policy, even after one fails.
local function check(options, names, env)
  local code = 0
  if not names[1] then cli.usage "check needs at least one FILE or NAME" end
  for _, name in ipairs(names) do
    local ok, result = pcall(check_one, name, options, env)
    if not ok and type(result) ~= "table" then error(result, 0) end
    code = math.max(code, ok and result or 1)
  end
  return code
end

---------------------------------------------------------------- run

local function unknown_hook(given, name)
  if engine.TOLD[name] then cli.usage("put the function before the policy: vesta policy run %s %s", name, given) end
  local near = term.nearest(given, HOOKS)
  if near then cli.usage("a policy has no function %s, did you mean %s?", term.shown(given), near) end
  cli.usage("a policy has no function %s: use one of %s", term.shown(given), table.concat(HOOKS, ", "))
end

-- Reads a file of records into ctx[field].  It runs in the policy's Lua state, within the policy's limits.
local function set_rows(policy, ctx, field, path)
  local text, problem = sandbox.read(path, "records")
  local _, ok, rows = pcall(policy.call, policy, "data", must(text, problem), "@" .. path, "records")
  local is_list, records = pcall(trial.records, rows)
  if ok ~= true then records = rows or ok end
  if ok ~= true or not is_list then cli.fail("%s: %s", path, records) end
  ctx[field] = field == "peers" and trial.peers(records) or records
end

-- Sets one field of ctx from "back_ms=3000".  For a field of records, puts the name of their file into files[field].
local function set_field(hook, ctx, files, is_given, given)
  local field, text = given:match "^([^=]*)=(.*)$"
  if not field then
    cli.usage("%s is not of the form name=value", term.shown(given))
  end
  local is_told = {}
  for _, name in ipairs(engine.TOLD[hook]) do is_told[name] = true end
  if not is_told[field] then
    local near = term.nearest(field, engine.TOLD[hook])
    cli.usage("%s has no input %s%s", hook, term.shown(field),
      near and ", did you mean " .. near .. "?" or ": its inputs are " .. table.concat(engine.TOLD[hook], ", "))
  end
  if is_given[field] then cli.usage("%s is set twice", field) end
  is_given[field] = true
  local kind = trial.KINDS[field]
  if kind == "records" or kind == "peers" then
    files[field] = text
    return
  end
  ctx[field] = nil
  if trial.is_absent(field, text) then return end
  ctx[field] = trial.read(field, text)
  if ctx[field] == nil and kind == "moment" then ctx[field] = cli.time(text, term.now_ms()) end
  if ctx[field] == nil then cli.usage("%s must be %s, not %s", field, trial.form(field, "nil"), term.shown(text)) end
end

local function print_verdict(hook, word, amount_ms, reason, took_us)
  local amount = amount_ms and (" %d ms"):format(amount_ms) or ""
  cli.printf("%s%s%s\n", word or "no worker", amount, reason and ": " .. reason or "")
  cli.printf("(%s answered within %d us)\n", hook, took_us)
end

local function print_verdict_json(hook, word, amount_ms, reason, took_us)
  local worker = math.type(word) and word
  local members = { { "function", hook }, { "verdict", worker and "worker" or word or "nothing" } }
  if worker then table.insert(members, { "worker", worker }) end
  if amount_ms then table.insert(members, { "amount_ms", amount_ms }) end
  if reason then table.insert(members, { "reason", reason }) end
  table.insert(members, { "took_us", took_us })
  cli.json(cli.object(members))
end

local function run(options, operands, env)
  if options.strict then cli.usage "--strict is an option of check" end
  local hook, name = operands[1], operands[2]
  if not name then
    cli.usage "run needs a function and a FILE or NAME: vesta policy run on_clock_back borrow back_ms=3000"
  end
  if not engine.TOLD[hook] then unknown_hook(hook, name) end
  local ctx, files, is_given = trial.ctx(hook, term.now_ms()), {}, {}
  for i = 3, #operands do set_field(hook, ctx, files, is_given, operands[i]) end
  if is_given.host and not is_given.ordinal then
    ctx.ordinal = ctx.host and trial.ordinal_of(ctx.host)
  elseif is_given.ordinal and not ctx.ordinal and not is_given.host then
    ctx.host = "host"
  end
  local policy, text = sandbox.load(name, options.options, env, function(line)
    term.say(("%s logs: %s"):format(name, line))
  end)
  must(policy, text)
  for field, path in pairs(files) do set_rows(policy, ctx, field, path) end
  local _, has = policy:call("has", hook)
  if not has then cli.fail("%s has no %s, so the fixed rules apply", name, hook) end
  policy:call "watch"
  local from_us = sandbox.now_us()
  local ok, answer, word, amount_ms, reason = policy:call("ask", hook, ctx)
  local took_us = sandbox.now_us() - from_us + 1
  warn_of_misread(name, policy)
  if not ok then cli.fail("%s failed (%s): %s", hook, word, answer) end
  if math.type(word) and (word < ctx.range.first or word > ctx.range.last) then
    cli.fail("%s returned %d, but the worker ids of this layout are %d to %d", hook, word, ctx.range.first,
      ctx.range.last)
  end
  reason = reason and reason ~= "" and sandbox.calm(reason, 256) or nil
  local print_it = options.json and print_verdict_json or print_verdict
  print_it(hook, word, amount_ms, reason, took_us)
end

---------------------------------------------------------------- test

local function spec_files(operands)
  local files = {}
  local function add(path)
    if #files == FILES_MAX then cli.usage("more than %d spec files", FILES_MAX) end
    files[#files + 1] = path
  end
  for _, operand in ipairs(operands) do
    local names, text = sandbox.list(operand)
    must(names, text)
    for _, name in ipairs(names) do
      if name == "" then
        add(operand)
      elseif name:find ".+_spec%.lua$" then
        add(operand .. "/" .. name)
      end
    end
  end
  return files
end

local function test(options, operands)
  if options.options or options.env or options.json or options.strict then
    cli.usage "test takes no options: set a policy's options in the specs"
  end
  if not operands[1] then cli.usage "test needs at least one FILE or FOLDER of specs" end
  local passed, failed = sandbox.specs(spec_files(operands))
  must(passed, failed)
  cli.printf("%d passed, %d failed\n", passed, failed)
  if passed + failed > 0 then return failed > 0 and 1 or 0 end
  cli.fail("no tests were found: write them with describe and it, in a file, or in a folder's files that end in "
    .. "_spec.lua")
end

---------------------------------------------------------------- the command

local SUBCOMMANDS = { "check", "run", "test" }

local function run_policy(options, operands)
  local word = table.remove(operands, 1)
  if not word then cli.usage "the subcommand is missing: add check, run or test" end
  if word == "test" then return test(options, operands) end
  if word == "check" then return check(options, operands, read_env(options.env)) end
  if word == "run" then return run(options, operands, read_env(options.env)) end
  local near = term.nearest(word, SUBCOMMANDS)
  cli.usage("there is no subcommand %s%s", term.shown(word),
    near and ", did you mean " .. near .. "?" or ": use check, run or test")
end

return {
  order = 190,
  line = "check, run and test Lua policies",
  usage = [[
policy check NAME|FILE... [OPTION...]
       vesta policy run FUNCTION NAME|FILE [NAME=VALUE...] [OPTION...]
       vesta policy test FILE|FOLDER...]],
  about = [[
A policy is a Lua file with functions that decide what to do when, for example, the clock goes back or the
ids of a time unit are exhausted.  Each subcommand runs the policy with the limits of a server.
More: docs/policies.md.

  check NAME|FILE...     checks that policies load, and lists their functions
  run FUNCTION NAME|FILE [NAME=VALUE...]
                         calls a function with these inputs, and prints the
                         result.  The value nil removes an input.
  test FILE|FOLDER...    runs specs (describe, it, assert), which require
                         "vesta.testing"

  $ vesta policy check borrow ./mine.lua
  borrow: on_clock_back, on_exhausted
  ./mine.lua: on_clock_back

  $ vesta policy run on_clock_back wait back_ms=3000 \
    --options '{ wait_ms_max = 1000 }'
  refuse: the clock is back by 3000 ms, and the longest wait is 1000
  (on_clock_back answered within 41 us)

  $ vesta policy test spec/policy
  ok - borrow goes on, up to its bound, however far the clock is back
  ...
  18 passed, 0 failed
]],
  options = {
    { name = "options", value = "'{...}'", help = "the policy's options in Lua: '{ borrow_ms_max = 500 }'" },
    { name = "env", value = "NAME,...", help = "check, run: environment variables that the policy may read" },
    { name = "json", kind = "switch", help = "check, run: print one JSON object per line" },
    { name = "strict", kind = "switch", help = "check: exit with 1 after a warning too, for example in CI" },
  },
  run = run_policy,
}
