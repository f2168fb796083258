-- Replaces the schemas of the two gateways: type, required, default and length of the fields of a flat record.
local fields = {}

local LUA_TYPE = { array = "table", string = "string", boolean = "boolean", integer = "number" }

local function judge(name, rule, value)
  if type(value) ~= LUA_TYPE[rule.type] then return name .. ": expected a " .. rule.type end
  local least = rule.minItems or rule.len_min or rule.minLength or 0
  if (rule.type == "array" or rule.type == "string") and #value < least then return name .. ": too short" end
  local range = rule.between or { rule.minimum or -math.huge, rule.maximum or math.huge }
  if rule.type == "integer" and (value < range[1] or value > range[2]) then return name .. ": out of range" end
end

-- Fills in defaults.  Returns nil and a reason if a value violates its rule.
function fields.fill(rules, required, conf)
  for name, rule in pairs(rules) do
    if conf[name] == nil then conf[name] = rule.default end
    if conf[name] == nil and required[name] then return nil, name .. ": required" end
    local wrong = conf[name] ~= nil and judge(name, rule, conf[name])
    if wrong then return nil, wrong end
  end
  for name in pairs(conf) do
    if not rules[name] then return nil, name .. ": unknown" end
  end
  return true
end

-- APISIX has a JSON schema.
function fields.check(schema, conf)
  local required = {}
  for _, name in ipairs(schema.required) do required[name] = true end
  return fields.fill(schema.properties, required, conf)
end

-- Kong has a list of { name = rule }.
function fields.check_record(record, conf)
  local rules, required = {}, {}
  for _, field in ipairs(record.fields) do
    local name, rule = next(field)
    rules[name], required[name] = rule, rule.required
  end
  local ok, message = fields.fill(rules, required, conf)
  if not ok then return nil, message end
  return record.custom_validator(conf)
end

return fields
