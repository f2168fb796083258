#!/bin/bash
# rock_test.sh -- builds the rock with luarocks from a clean copy, offline, for three Luas in turn in one folder, and runs the
# first example of docs/lua.md from the installed files.  Prints a line per claim, and `N passed, M failed`.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
. "$root/spec/support/claims.sh"
work=$dir
export LUAROCKS_CONFIG=$work/luarocks.lua HOME=$work/home VESTA_STATE=$work/state
unset LUA_PATH LUA_CPATH LUA_PATH_5_4 LUA_CPATH_5_4
mkdir -p "$HOME" "$VESTA_STATE" "$work/source" "$work/nowhere"
# without a server, so the copy must be complete
echo "rocks_servers = { '$work/nowhere' }" >"$LUAROCKS_CONFIG"

tar -C "$root" --exclude=./build --exclude=./build.luarocks --exclude=./.git -cf - . | tar -C "$work/source" -xf -
cd "$work/source" || exit 1

rocks() { # rocks TREE LUA-VERSION ARGUMENT...
    local tree=$work/$1 version=$2
    shift 2
    luarocks --lua-version="$version" --tree="$tree" "$@"
}

# Prints the first Lua block of docs/lua.md.
awk '/^```lua/ { on = 1; next } /^```/ && on { exit } on' docs/lua.md >"$work/example.lua"

# Replaces ids, which differ in each run, and tabs.
plain() { sed -E 's/[0-9]{15,}/ID/g; s/[[:space:]]+/ /g'; }

# run TREE LUA: runs the example with the installed tree in another folder than the sources.  The expected output is after -->
run() {
    local tree=$work/$1 lua=$2 version want
    version=$("$lua" -e 'io.write(_VERSION:match "%d+%.%d+")')
    want=$(sed -n 's/.*--> //p' "$work/example.lua" | plain)
    (cd / && env LUA_PATH="$tree/share/lua/$version/?.lua;$tree/share/lua/$version/?/init.lua" \
        LUA_CPATH="$tree/lib/lua/$version/?.so" "$lua" "$work/example.lua") >"$work/said" 2>&1
    cat "$work/said"
    [ -n "$want" ] && [ "$(plain <"$work/said")" = "$want" ]
}

is_lonely() { ! readelf -d "$1" | grep -E 'NEEDED.*(lua|vesta|zookeeper|mysql|maria|sqlite|uv)'; }

# A module built with 5.1's headers must need only functions of plain lua5.1, so that it loads there and in LuaJIT.
needs_only_51() {
    local name missing=0
    for name in $(nm -D --undefined-only "$1" | awk '{ print $2 }' | grep -E '^lua'); do
        nm -D --defined-only "$(command -v lua5.1)" | grep -qE " $name(@|\$)" ||
            { echo "$name is not in Lua 5.1"; missing=1; }
    done
    return $missing
}

exports_only_ours() { ! nm -D --defined-only "$1" | awk '{ print $3 }' | grep -vE '^(vesta_[a-z_0-9]+|luaopen_vesta_core)$'; }

claim "the rockspec has no lint" luarocks lint rockspec/vesta-scm-1.rockspec
claim "luarocks makes the rock for 5.4" rocks t54 5.4 make
claim "luarocks makes the rock for 5.1 in the same folder" rocks t51 5.1 make
claim "luarocks makes the rock with LuaJIT's headers in the same folder" rocks tjit 5.1 make LUA_INCDIR=/usr/include/luajit-2.1
claim "the first example of docs/lua.md runs under lua5.4" run t54 lua5.4
claim "the first example of docs/lua.md runs under lua5.1" run t51 lua5.1
claim "the first example of docs/lua.md runs under luajit, built for 5.1" run t51 luajit
claim "the first example of docs/lua.md runs under luajit, built for LuaJIT" run tjit luajit
for tree in t54/lib/lua/5.4 t51/lib/lua/5.1 tjit/lib/lua/5.1; do
    claim "${tree%%/*}: the module links no Lua and no store" is_lonely "$work/$tree/vesta/core.so"
    claim "${tree%%/*}: the module exports only the library and its entry" exports_only_ours "$work/$tree/vesta/core.so"
done
claim "nginx's client of servers is installed" test -f "$work/t51/share/lua/5.1/vesta/resty/client.lua" -a -f "$work/t51/share/lua/5.1/vesta/resty/access.lua"
annotates() { # LANGUAGE-VERSION: checks the folder that docs/lua.md gives for editors
    local tree=t${1/./} library
    library=$(rocks "$tree" "$1" show --rock-dir vesta)/library
    grep -q '^---@meta' "$library/vesta.lua" && grep -qx -- '---@meta vesta.testing' "$library/testing.lua"
}
claim "the annotations for editors are in the folder that luarocks show prints, for 5.4" annotates 5.4
claim "the annotations for editors are in the folder that luarocks show prints, for 5.1" annotates 5.1
claim "the module for 5.1 uses no function that 5.1 lacks" needs_only_51 "$work/t51/lib/lua/5.1/vesta/core.so"
claim "a build without Lua's headers reports that" bash -c \
    '! cmake -S . -B "$0/none" -DVESTA_ROCK=ON >"$0/said" 2>&1 && grep -q "needs -DLUA_INCDIR" "$0/said"' "$work"

all_pass() { # runs the specs with `luarocks test` and the installed tree
    eval "$(rocks t54 5.4 path --no-bin)"
    rocks t54 5.4 test rockspec/vesta-scm-1.rockspec spec/lua/ids_spec.lua spec/lua/policy_spec.lua spec/policy examples/lua >"$work/out" 2>&1
    local rc=$?
    cat "$work/out"
    [ $rc -eq 0 ] && grep -q "0 failures / 0 errors" "$work/out"
}
claim "luarocks test runs the specs, and none fails" all_pass

claims_end
