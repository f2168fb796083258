std = "max"
max_line_length = 120
exclude_files = { "build/", "build.luarocks/" }
files["spec/**/*_spec.lua"] = { std = "max+busted" }
files["examples/lua/*_spec.lua"] = { std = "max+busted" }
files["examples/policies/*_spec.lua"] = { std = "max+busted" }
files["lua/vesta/init.lua"] = { read_globals = { "ngx" } }
files["lua/vesta/policy.lua"] = { read_globals = { "ngx" } }
files["lua/vesta/resty.lua"] = { std = "max+ngx_lua" }
files["lua/vesta/resty/"] = { std = "max+ngx_lua" }
files["examples/openresty"] = { std = "max+ngx_lua" }
files["examples/haproxy"] = { read_globals = { "core" } }
files["examples/tarantool"] = { read_globals = { "box" } }
files["examples/kong"] = { globals = { "kong" }, ignore = { "212/self" } }
files["spec/beside"] = { std = "max+ngx_lua" }
files["spec/lua/openresty"] = { std = "max+ngx_lua" }
local seen_by_policies = {
  std = "min",
  read_globals = { "split", "hash32", "ip4", "read_options", "judge_option", "is_free", "survey", "judge_peers", "log",
    "env", "localtime" },
}
files["lua/vesta/policy"] = seen_by_policies
files["examples/policies"] = seen_by_policies
files["examples/config"] = { read_globals = { "env", "file" } } -- what a config may see
files["examples/kubernetes"] = { read_globals = { "env", "file" } }
files["spec/clients"] = { std = "max+ngx_lua" }
files["spec/program/clients/tour.lua"] = { read_globals = { "ngx" } }
files["library"] = { ignore = { "211", "212", "241" } }
files["rockspec"] = { std = "rockspec" }
