/* bombs.c -- policies that run for ever, use too much memory or try to escape.  Each is ended with the right result,
 * and afterwards both its other function and another policy work. */
#include "judge.h"

#include <assert.h>

struct bomb {
    const char *claim, *body; /* body: of on_clock_back, on the file's second line */
    enum vs_call_result want;
    const char *part; /* of the message */
};
static const struct bomb *bomb; /* the current case's policy */

static void explodes(void) {
    char text[4096];
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    snprintf(text, sizeof text,
             "return { api = 1, on_clock_back = function(ctx)\n%s\nend,\n"
             "on_exhausted = function() return 'refuse', 'alive' end }",
             bomb->body);
    int policy = must_load(vm, text), other = must_load(vm, good);
    for (int round = 0; policy >= 0 && other >= 0 && round < 2; round++) {
        struct vs_verdict verdict = {.kind = VS_VERDICT_STOP};
        struct vesta_error err = {.text = ""};
        enum vs_call_result result = call(vm, policy, VS_ON_CLOCK_BACK, &verdict, &err);
        if (result != bomb->want) CHECK_FAIL("%s: got %s (%s)", bomb->body, vs_call_result_name(result), err.text);
        CHECK_HAS(err.text, bomb->part);
        CHECK(verdict.kind == VS_VERDICT_STOP); /* unchanged */
        CHECK_EQ_I64(call(vm, policy, VS_ON_EXHAUSTED, &verdict, &err), VS_CALL_OK);
        CHECK_STR(verdict.reason, "alive");
        check_good(vm, other);
    }
    close_vm(vm);
}

#define STEPS VS_CALL_INSTRUCTIONS
#define MEMORY VS_CALL_MEMORY
#define ERROR VS_CALL_ERROR

/* Lua finds the end of a list by doubling: 18 elements may seem to be 2^17, or 63 of them 2^62. */
#define HOLES                                                                                                          \
    "local t = {[1]=1, [2]=1, [4]=1, [8]=1, [16]=1, [32]=1, [64]=1, [128]=1, [256]=1, [512]=1, [1024]=1, [2048]=1, "   \
    "[4096]=1, [8192]=1, [16384]=1, [32768]=1, [65536]=1, [131072]=1} "

static const struct bomb bombs[] = {
    {"an endless loop is ended, and the line is named", "while true do end", STEPS, "p.lua:2: "},
    {"a loop of goto is ended", "::again:: goto again", STEPS, "1000000 instructions"},
    {"a for loop of 2^63 rounds is ended", "for i = 1, 9223372036854775807 do end", STEPS, "p.lua:2: "},
    {"a tail call without end is ended", "local function f() return f() end f()", STEPS, "p.lua:2: "},
    {"an endless loop inside pcall is ended", "pcall(function() while true do end end) return 'wait'", STEPS,
     "p.lua:2: "},
    {"an endless loop of pcalls of endless loops is ended", "while true do pcall(function() while true do end end) end",
     STEPS, "p.lua:2: "},
    {"a loop that nests pcall in pcall is ended", "local function f() pcall(f) pcall(f) return f() end f()", STEPS,
     "instructions"},
    {"pcall of pcall gets no further", "while true do pcall(pcall, pcall, error) end", STEPS, "p.lua:2"},
    {"an iterator that never ends is ended", "for _ in function() return 1 end do end", STEPS, "p.lua:2"},
    {"a comparator that loops is ended", "table.sort({3, 2, 1}, function() while true do end end)", STEPS, "p.lua:2"},
    {"sorting with a comparator of the library is counted",
     "local t = {} for i = 1, 60000 do t[i] = '4' end pcall(table.sort, t, string.rep) while true do pcall(table.sort, "
     "t, string.rep) end",
     STEPS, "p.lua:2"},
    {"sorting long texts that differ at their ends is counted",
     "local s, t = ('x'):rep(30000), {} for i = 1, 50 do t[i] = s .. i end while true do table.sort(t) end", STEPS,
     "p.lua:2"},
    {"string.rep of 10^9 is refused for its memory", "return ('x'):rep(1000000000)", MEMORY, "4096 KiB"},
    {"string.rep of 2^31 is an error", "return ('x'):rep(2147483648)", ERROR, "p.lua:2: resulting string too large"},
    {"pcall does not catch the lack of memory", "while true do pcall(string.rep, 'x', 1000000000) end", MEMORY,
     "p.lua:2: "},
    {"string.rep of nothing, 2^62 times, is nothing", "error('<' .. (''):rep(2^62) .. '>', 0)", ERROR, "<>"},
    {"string.rep with a separator is bounded too", "return (''):rep(2^62, ',')", ERROR, "resulting string too large"},
    {"string.format is bounded", "local s = ('x'):rep(400000) return ('%s%s%s'):format(s, s, s)", MEMORY, "1024 KiB"},
    {"table.concat is bounded", "return table.concat({'a', 'b', 'c'}, ('x'):rep(600000))", MEMORY, "1024 KiB"},
    {"a text that doubles is ended", "local s = 'x' while true do s = s .. s end", MEMORY, "1024 KiB"},
    {"a text that grows by a character is ended", /* not longer: a million copies of it take minutes under sanitizers */
     "local s = '' while true do s = s .. 'x' if #s > 2000 then s = '' end end", STEPS, "p.lua:2"},
    {"a table that grows is ended", "local t = {} while true do t[#t + 1] = t end", MEMORY, "KiB"},
    {"many small tables are ended", "local t = {} while true do t = {t} end", MEMORY, "4096 KiB"},
    {"many short texts are ended", "local t = {} for i = 1, 1e9 do t[i % 9 .. 'k' .. i] = i end", MEMORY, "KiB"},
    {"a table of 10^9 is ended", "local t = {} for i = 1, 1000000000 do t[i] = i end", MEMORY, "KiB"},
    {"deep recursion is ended", "local function f() return 1 + f() end f()", MEMORY, "KiB"},
    {"recursion through C is an error",
     "local function f() return pcall(f) end local ok, e = f() local function g(n) return table.sort({1, 2}, "
     "function() g(n + 1) end) end g(1)",
     ERROR, "C stack overflow"},
    {"a list whose length seems to be 2^17 is refused", HOLES "table.insert(t, 1, 0)", ERROR,
     "p.lua:2: a list has more than"},
    {"... also by remove, concat and sort",
     HOLES "assert(not pcall(table.concat, t)) assert(not pcall(table.sort, t)) table.remove(t, 1)", ERROR,
     "100000 elements"},
    {"string.find with a pattern is refused", "return ('a'):rep(100):find('.-.-.-.-b')", ERROR, "true), or split"},
    {"string.find of plain text takes time by its length",
     "local s = ('a'):rep(400000) error(tostring(s:find(s:sub(1, 200000) .. 'b', 1, true)), 0)", ERROR, "nil"},
    {"string.match is not there", "return ('x'):match('x')", ERROR, "string.match is not declared"},
    {"string.gmatch is not there", "return ('x'):gmatch('x')", ERROR, "string.gmatch"},
    {"string.gsub is not there", "return ('x'):gsub('x', 'y')", ERROR, "string.gsub"},
    {"string.dump is not there", "return string.dump(function() end)", ERROR, "string.dump"},
    {"string.pack is not there", "return string.pack('i4', 1)", ERROR, "string.pack"},
    {"table.move is not there", "table.move({}, 1, 2^62, 2)", ERROR, "table.move"},
    {"table.unpack is not there", "table.unpack({}, 1, 1e7)", ERROR, "table.unpack"},
    {"math.random is not there", "math.random()", ERROR, "math.random"},
    {"coroutines are not there", "coroutine.wrap(function() while true do end end)()", ERROR,
     "coroutine is not declared"},
    {"nothing can be yielded across the border", "coroutine.yield('wait')", ERROR, "coroutine"},
    {"xpcall is not there", "xpcall(error, function() while true do end end)", ERROR, "xpcall is not"},
    {"__gc cannot be set", "setmetatable({}, {__gc = function() while true do end end})", ERROR, "setmetatable"},
    {"the strings' metatable cannot be had", "getmetatable('').__index = nil", ERROR, "getmetatable"},
    {"the string library cannot be changed", "string.rep = nil", ERROR, "string.rep cannot be changed"},
    {"nor math", "math.huge = 1", ERROR, "math.huge cannot be changed"},
    {"nor the globals", "pcall = nil", ERROR, "p.lua:2: global pcall cannot be changed"},
    {"rawset is not there", "rawset(string, 'rep', 1)", ERROR, "rawset"},
    {"load is not there", "load('return 1')()", ERROR, "load is not declared"},
    {"load(string.dump(f)) is not there", "load(string.dump(function() end))", ERROR, "is not declared"},
    {"require is not there", "require 'os'", ERROR, "require is not declared"},
    {"os is not there", "os.exit(0)", ERROR, "os is not declared"},
    {"io is not there", "io.open('/etc/passwd')", ERROR, "io is not declared"},
    {"debug is not there", "debug.getregistry()", ERROR, "debug is not declared"},
    {"setfenv is not there", "setfenv(1, {})", ERROR, "setfenv is not declared"},
    {"ffi is not there", "ffi.cast('int *', 0)", ERROR, "ffi is not declared"},
    {"the engine's globals are out of reach", "return rawget(ctx, 'options')", ERROR, "global rawget is not declared"},
    {"the engine's modules are out of reach", "return require('vesta.engine')", ERROR, "require is not declared"},
    {"a loop that looks up globals ends at the policy's line", "while true do local x = math.max end", STEPS,
     "p.lua:2: "},
    {"a loop that looks up undeclared globals ends at the policy's line",
     "while true do pcall(function() return nothing end) end", STEPS, "p.lua:2: "},
    {"a loop of helpers is ended", "while true do split('a,b', ',') end", STEPS, "instructions"},
    {"collectgarbage is not there", "collectgarbage('stop')", ERROR, "collectgarbage"},
    {"reading an undeclared global names it and its line", "local x = 1\nreturn wiat", ERROR,
     "p.lua:3: global wiat is not declared"},
    {"writing one does too", "local x = 1\ncounter = x", ERROR,
     "p.lua:3: assignment to undeclared global counter: declare it with local"},
    {"a global with a name of 100 KiB is no trouble", "return _ENV[('x'):rep(100000)]", ERROR, "xxx..."},
    {"an _ENV of its own has nothing in it", "local _ENV = {} return pcall", VS_CALL_GARBAGE, "nil"},
    {"an error has its file and line", "error('no luck')", ERROR, "p.lua:2: no luck"},
    {"an error that is nil", "error(nil)", ERROR, "is a nil, not a string"},
    {"an error that is a table", "error({ code = 1 })", ERROR, "is a table, not a string"},
    {"an error that is a function", "error(function() end)", ERROR, "is a function, not a string"},
    {"an error of 500 KiB is cut", "error(('e'):rep(500000))", ERROR, "eee..."},
    {"an error with controls and broken UTF-8 is calmed", "error('a\\n\\27[31m\\0\\255\\xc3', 0)", ERROR,
     "a\\x0a\\x1b[31m\\x00\\xff\\xc3"},
    {"arithmetic with nil has its line", "return ctx.nothing + 1", ERROR, "p.lua:2: attempt to perform"},
    {"a variable to be closed needs a metatable, which there is not", "local x <close> = {}", ERROR,
     "non-closable value"},
    {"a text that is no number is an error", "return ('x') + 1", ERROR, "p.lua:2: "},
};

int main(int argc, char **argv) {
    int passed = 0, failed = 0;
    for (bomb = bombs; bomb < bombs + VS_COUNT(bombs); bomb++) {
        if (argc > 1 && !strstr(bomb->claim, argv[1])) continue;
        *(check_run(&(struct check_case){bomb->claim, explodes}) ? &passed : &failed) += 1;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0 || passed == 0;
}
