/* answers.c -- the valid return values of a policy's functions, and the budget of each call. */
#include "judge.h"

#include <assert.h>

/* ------------------------------------------------------------------ the library */

static const char *const truths[] = {
    "('abc'):find('b', 1, true) == 2",
    "select(2, ('abcbc'):find('bc', 3, true)) == 5",
    "('abc'):find('b', 3, true) == nil",
    "('abc'):find('b', -2, true) == 2",
    "('abc'):find('b', -1, true) == nil",
    "('abc'):find('c', -9223372036854775807 - 1, true) == 3",
    "('abc'):find('c', 9223372036854775807, true) == nil",
    "('abc'):find('', 4, true) == 4 and select(2, ('abc'):find('', 4, true)) == 3",
    "('abc'):find('', 5, true) == nil",
    "('a.b'):find('.', 1, true) == 2",
    "('a\\0b'):find('\\0b', 1, true) == 2",
    "(''):find('x', 1, true) == nil",
    "(''):rep(5, '') == '' and ('x'):rep(0) == '' and ('x'):rep(-1) == '' and ('ab'):rep(2, ',') == 'ab,ab'",
    "('%d %s %q'):format(7, 'x', 'y') == '7 x \"y\"'",
    "('aBc'):upper() .. ('aBc'):lower() .. ('abc'):reverse() .. ('abc'):sub(-2) == 'ABCabccbabc'",
    "('abc'):byte(-1) == 99 and string.char(97, 98) == 'ab' and ('abc'):len() == 3",
    "'10' + 1 == 11 and '3' * '4' == 12 and 7 // 2 == 3 and 7 & 3 == 3",
    "select('#', pcall(function() return 1, 2, 3 end)) == 4",
    "select(2, pcall(function() return 1, 2, 3 end)) == 1",
    "pcall(error) == false and select(2, pcall(error, 'x', 0)) == 'x' and select(2, pcall(error, nil)) == nil",
    "not pcall(pcall)",
    "select(3, pcall(pcall, error, 'x', 0)) == 'x'",
    "not pcall(5) and not pcall(nil)",
    "(function() local t = {3, 1, 2} table.sort(t) return table.concat(t) end)() == '123'",
    "(function() local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return table.concat(t) end)() == "
    "'321'",
    "not pcall(table.sort, {1, 'x'}) and not pcall(table.sort) and not pcall(table.sort, {2, 1}, 5)",
    "(function() local t = {1, 3} table.insert(t, 2, 2) table.insert(t, 4) return table.concat(t, ',', 2) end)() == "
    "'2,3,4'",
    "(function() local t = {1, 2} return table.remove(t, 1) + table.remove(t) + #t end)() == 3",
    "not pcall(table.insert, 5, 1) and not pcall(table.concat, {{}})",
    "(function() local n = 0 for i, v in ipairs({5, 6}) do n = n + i * v end return n end)() == 17",
    "(function() local n = 0 for _, v in pairs({a = 5, b = 6}) do n = n + v end return n end)() == 11",
    "next({}) == nil and type(next) == 'function' and tonumber('ff', 16) == 255 and tostring(nil) == 'nil'",
    "math.max(1, 2) == 2 and math.floor(1.5) == 1 and math.huge > 1 and math.fmod(7, 3) == 1 and math.pi > 3",
    "#split('a,,b', ',') == 3 and ip4('10.0.3.7') == 167772935 and ip4('x') == nil",
    "next(string) == nil and next(_ENV) == nil",
};

static void the_library_is_lua_s(void) {
    struct shelf *vm = open_vm(&small);
    char text[512];
    NEED(vm != NULL);
    for (size_t i = 0; i < VS_COUNT(truths); i++) {
        snprintf(text, sizeof text, "assert(%s, 'untrue') return { api = 1 }", truths[i]);
        must_load(vm, text);
    }
    close_vm(vm);
}

/* ------------------------------------------------------------------ verdicts */

struct verdict {
    enum vs_hook hook;
    const char *body, *word;
    int64_t amount_ms;
    const char *reason; /* for VS_CALL_GARBAGE: a part of the message */
};

static enum vs_call_result ask(const struct verdict *v, struct vs_verdict *verdict, struct vesta_error *err) {
    char text[1024];
    struct shelf *vm = open_vm(&small);
    snprintf(text, sizeof text, "local inf = 1 / 0\nreturn { api = 1, %s = function(ctx) %s end }",
             vs_hook_name(v->hook), v->body);
    int policy = must_load(vm, text);
    enum vs_call_result result = policy < 0 ? VS_CALL_RESULTS : call(vm, policy, v->hook, verdict, err);
    close_vm(vm);
    return result;
}

static const struct verdict verdicts[] = {
    {VS_ON_CLOCK_BACK, "return 'wait'", "wait", -1, ""},
    {VS_ON_CLOCK_BACK, "return 'wait', 0", "wait", 0, ""},
    {VS_ON_CLOCK_BACK, "return 'wait', 12.75", "wait", 12, ""},
    {VS_ON_CLOCK_BACK, "return 'wait', 86400000, 'a day'", "wait", 86400000, "a day"},
    {VS_ON_CLOCK_BACK, "return 'wait', nil, 'why'", "wait", -1, "why"},
    {VS_ON_CLOCK_BACK, "return 'wait', 'why', 5", "wait", 5, "why"},
    {VS_ON_CLOCK_BACK, "return 'wait', 5, 'why', {}, 'more'", "wait", 5, "why"},
    {VS_ON_CLOCK_BACK, "return 'borrow', ctx.back_ms * 2", "borrow", 6000, ""},
    {VS_ON_CLOCK_BACK, "return 'switch', 'elsewhere'", "switch", -1, "elsewhere"},
    {VS_ON_CLOCK_BACK, "return 'refuse', 'no'", "refuse", -1, "no"},
    {VS_ON_EXHAUSTED, "return 'wait'", "wait", -1, ""},
    {VS_ON_EXHAUSTED, "return 'borrow', 1", "borrow", 1, ""},
    {VS_ON_EXHAUSTED, "return 'refuse'", "refuse", -1, ""},
    {VS_ON_START, "return 'go'", "go", -1, ""},
    {VS_ON_START, "return 'refuse', 'peers differ'", "refuse", -1, "peers differ"},
    {VS_ON_STORE_DOWN, "return 'continue'", "continue", -1, ""},
    {VS_ON_STORE_DOWN, "return 'refuse'", "refuse", -1, ""},
    {VS_ON_LEASE_LOST, "return 'claim'", "claim", -1, ""},
    {VS_ON_LEASE_LOST, "return 'stop', 'a person must look'", "stop", -1, "a person must look"},
    {VS_CHOOSE_WORKER, "return nil, 'full'", "nothing", -1, "full"},
    {VS_CHOOSE_WORKER, "", "nothing", -1, ""},
};

static void verdicts_are_understood(void) {
    for (size_t i = 0; i < VS_COUNT(verdicts); i++) {
        struct vs_verdict verdict = {0};
        struct vesta_error err = {.text = ""};
        if (ask(&verdicts[i], &verdict, &err) != VS_CALL_OK) CHECK_FAIL("%s: %s", verdicts[i].body, err.text);
        CHECK_STR(vs_verdict_name(verdict.kind), verdicts[i].word);
        CHECK_STR(verdict.reason, verdicts[i].reason);
        CHECK_EQ_I64(verdict.amount_ms, verdicts[i].amount_ms);
    }
}

static void workers_are_understood(void) {
    static const struct {
        const char *body;
        uint64_t worker;
    } numbers[] = {{"return 0", 0},
                   {"return 923", 923},
                   {"return 8 / 2", 4},
                   {"return 2^53", UINT64_C(1) << 53},
                   {"return 9223372036854775807", INT64_MAX},
                   {"return hash32('web-7') % 1024", 1017},
                   {"return ip4('10.0.3.7') % 65536", 775},
                   {"return tonumber(split('web-7', '-')[2])", 7}};
    for (size_t i = 0; i < VS_COUNT(numbers); i++) {
        struct vs_verdict verdict = {0};
        struct vesta_error err = {.text = ""};
        struct verdict v = {.hook = VS_CHOOSE_WORKER, .body = numbers[i].body};
        if (ask(&v, &verdict, &err) != VS_CALL_OK) CHECK_FAIL("%s: %s", v.body, err.text);
        CHECK_STR(vs_verdict_name(verdict.kind), "worker");
        CHECK_EQ_U64(verdict.worker, numbers[i].worker);
    }
}

static const struct verdict garbages[] = {
    {.hook = VS_ON_CLOCK_BACK,
     .body = "",
     .reason = "p.lua:2: on_clock_back returned nil; expected: 'wait', 'borrow', "},
    {.hook = VS_ON_CLOCK_BACK, .body = "return nil, 'why'", .reason = "returned nil"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'go'", .reason = "returned 'go'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'Wait'", .reason = "returned 'Wait'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait\\0'", .reason = "returned 'wait\\x00'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return ''", .reason = "returned ''"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return ('w'):rep(100000)", .reason = "ww...'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'a\\nb'", .reason = "'a\\x0ab'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'nothing'", .reason = "returned 'nothing'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'worker'", .reason = "returned 'worker'"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 7", .reason = "returned 7"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return true", .reason = "returned boolean"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return {}", .reason = "returned table"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return function() end", .reason = "returned function"},
    {.hook = VS_ON_CLOCK_BACK,
     .body = "return 'wait', -1",
     .reason = "returned -1; expected: milliseconds"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait', 0 / 0", .reason = "nan"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait', inf", .reason = "returned inf"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait', -inf", .reason = "returned -inf"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait', 86400001", .reason = "returned 86400001"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'borrow', 2^63", .reason = "returned 9.2233720368548e+18"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'borrow', math.abs(-5 - 2^63)", .reason = "returned 9.22"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'wait', {}", .reason = "returned table"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'refuse', 5", .reason = "returned 5; expected: a text"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'switch', 5", .reason = "returned 5; expected: a text"},
    {.hook = VS_ON_CLOCK_BACK, .body = "return 'refuse', 'no', true", .reason = "returned boolean"},
    {.hook = VS_ON_EXHAUSTED, .body = "return 'switch'", .reason = "expected: 'wait', 'borrow' or 'refuse'"},
    {.hook = VS_ON_START, .body = "return 'wait'", .reason = "expected: 'go' or 'refuse'"},
    {.hook = VS_ON_STORE_DOWN, .body = "return 'go'", .reason = "expected: 'continue' or 'refuse'"},
    {.hook = VS_ON_LEASE_LOST, .body = "return 'refuse'", .reason = "expected: 'claim' or 'stop'"},
    {.hook = VS_CHOOSE_WORKER, .body = "return -1", .reason = "returned -1; expected: a worker id of 0 or more"},
    {.hook = VS_CHOOSE_WORKER, .body = "return 1.5", .reason = "returned 1.5"},
    {.hook = VS_CHOOSE_WORKER, .body = "return 0 / 0", .reason = "nan"},
    {.hook = VS_CHOOSE_WORKER, .body = "return inf", .reason = "returned inf"},
    {.hook = VS_CHOOSE_WORKER, .body = "return 2^63", .reason = "returned 9.2233720368548e+18"},
    {.hook = VS_CHOOSE_WORKER, .body = "return -2^63", .reason = "returned -9.2233720368548e+18"},
    {.hook = VS_CHOOSE_WORKER, .body = "return '7'", .reason = "returned '7'"},
    {.hook = VS_CHOOSE_WORKER, .body = "return {7}", .reason = "returned table"},
    {.hook = VS_CHOOSE_WORKER, .body = "return false", .reason = "returned boolean"},
};

static void anything_else_is_garbage(void) {
    for (size_t i = 0; i < VS_COUNT(garbages); i++) {
        struct vs_verdict verdict = {.kind = VS_VERDICT_GO, .reason = "untouched"};
        struct vesta_error err = {.text = ""};
        enum vs_call_result result = ask(&garbages[i], &verdict, &err);
        if (result != VS_CALL_GARBAGE) CHECK_FAIL("%s: %s", garbages[i].body, vs_call_result_name(result));
        CHECK_HAS(err.text, garbages[i].reason);
        CHECK(verdict.kind == VS_VERDICT_GO);
        CHECK_STR(verdict.reason, "untouched");
    }
}

static void reasons_are_calmed(void) {
    static const struct {
        const char *lua, *reason;
    } reasons[] = {
        {"'a\\nb\\r\\0\\27[31m\\127'", "a\\x0ab\\x0d\\x00\\x1b[31m\\x7f"},
        {"'\xe6\x97\xb6\xe9\x92\x9f \xc3\xa9 \xf0\x9f\x98\x80'", "\xe6\x97\xb6\xe9\x92\x9f \xc3\xa9 \xf0\x9f\x98\x80"},
        {"'\\xff\\xc3 \\xc0\\x80 \\xe0\\x80\\x80 \\xf4\\x90\\x80\\x80'",
         "\\xff\\xc3 \\xc0\\x80 \\xe0\\x80\\x80 \\xf4\\x90\\x80\\x80"},
        {"'\\xed\\xa0\\x80 \\xc2\\x85 \\xe2\\x80\\xa8'", "\\xed\\xa0\\x80 \\xc2\\x85 \\xe2\\x80\\xa8"},
        {"'\\xe6\\x97'", "\\xe6\\x97"},
    };
    struct vs_verdict verdict = {0};
    struct vesta_error err = {.text = ""};
    char body[256];
    for (size_t i = 0; i < VS_COUNT(reasons); i++) {
        snprintf(body, sizeof body, "return 'refuse', %s", reasons[i].lua);
        CHECK_EQ_I64(ask(&(struct verdict){.hook = VS_ON_START, .body = body}, &verdict, &err), VS_CALL_OK);
        CHECK_STR(verdict.reason, reasons[i].reason);
    }
    for (int shift = 0; shift < 4; shift++) { /* a cut is never inside a character */
        snprintf(body, sizeof body, "return 'refuse', ('y'):rep(%d) .. ('\xf0\x9f\x98\x80'):rep(100000)", shift);
        CHECK_EQ_I64(ask(&(struct verdict){.hook = VS_ON_START, .body = body}, &verdict, &err), VS_CALL_OK);
        size_t length = strlen(verdict.reason);
        CHECK(length > sizeof verdict.reason - 8 && length < sizeof verdict.reason);
        CHECK_STR(verdict.reason + length - 4, "\x80...");
        CHECK_EQ_U64((length - 3 - (size_t)shift) % 4, 0);
    }
}

/* ------------------------------------------------------------------ budgets */

static void each_call_has_its_own_budget(void) {
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    struct vs_verdict verdict;
    NEED(vm != NULL);
    int policy = must_load(vm, "return { api = 1, on_clock_back = function(ctx)\n"
                               "for i = 1, 700000 do end return 'wait', ctx.back_ms end,\n"
                               "on_exhausted = function() for i = 1, 1100000 do end return 'wait' end }");
    for (int i = 0; i < 5; i++)
        check_good(vm, policy);
    CHECK_EQ_I64(call(vm, policy, VS_ON_EXHAUSTED, &verdict, &err), VS_CALL_INSTRUCTIONS);
    CHECK_HAS(err.text, "p.lua:3: ended after 1000000 instructions");
    check_good(vm, policy);
    close_vm(vm);
}

static void memory_is_had_back(void) {
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    int policy = must_load(vm, "return { api = 1, on_clock_back = function(ctx)\n"
                               "local t = {} for i = 1, 3 do t[i] = ('x'):rep(1000000) end\n"
                               "return 'wait', ctx.back_ms end }");
    for (int i = 0; i < 20; i++)
        check_good(vm, policy);
    close_vm(vm);
}

static void hoarding_harms_the_hoarder(void) {
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    struct vs_verdict verdict;
    NEED(vm != NULL);
    int hoarder = must_load(vm, "local kept = {} return { api = 1, on_clock_back = function(ctx)\n"
                                "while true do kept[#kept + 1] = ('x'):rep(10000 + #kept) end end }");
    int other = must_load(vm, good);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ_I64(call(vm, hoarder, VS_ON_CLOCK_BACK, &verdict, &err), VS_CALL_MEMORY);
        check_good(vm, other);
    }
    close_vm(vm);
}

static void policies_do_not_meet(void) {
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    must_load(vm, "local ok = pcall(function() string.x = 1 end)\n"
                  "return { api = 1, on_start = function() return ok and 'go' or 'refuse' end }");
    must_load(vm, "return { api = 1, about = tostring(pcall(function() return ('').x end)) }");
    must_load(vm, "local n = 0 return { api = 1, on_start = function() n = n + 1 return 'go', n .. '' end }");
    int again =
        must_load(vm, "local n = 0 return { api = 1, on_start = function() n = n + 1 return 'go', n .. '' end }");
    struct vs_verdict verdict = {0};
    struct vesta_error err = {.text = ""};
    CHECK_EQ_I64(call(vm, 0, VS_ON_START, &verdict, &err), VS_CALL_OK);
    CHECK_STR(vs_verdict_name(verdict.kind), "refuse");
    for (int i = 1; i < 4; i++) { /* a policy's own upvalues persist, and are not shared */
        CHECK_EQ_I64(call(vm, 2, VS_ON_START, &verdict, &err), VS_CALL_OK);
        CHECK_EQ_I64(verdict.reason[0], '0' + i);
    }
    CHECK_EQ_I64(call(vm, again, VS_ON_START, &verdict, &err), VS_CALL_OK);
    CHECK_STR(verdict.reason, "1");
    close_vm(vm);
}

/* ------------------------------------------------------------------ time */

/* A clock that advances by a millisecond at each read. */
static int64_t told_us;

static int64_t tell_time(void *self) {
    (void)self;
    return told_us += 1000;
}

static const struct vesta_clock told_clock = {.boot_us = tell_time};
static const struct vs_vm_limits hasty = {.call_ms = 50, .clock = &told_clock};

static void time_ends_a_call(void) {
    static const char *const bodies[] = {
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "for i = 1, 100 do pcall(function() while true do end end) end return 'wait'",
        "local t = {} for i = 1, 3000 do t[i] = i end table.sort(t)",
        "while true do pcall(string.rep, 'x', 100000) end",
    };
    for (size_t i = 0; i < VS_COUNT(bodies); i++) {
        char text[512];
        struct shelf *vm = open_vm(&hasty);
        struct vesta_error err = {.text = ""};
        struct vs_verdict verdict;
        NEED(vm != NULL);
        snprintf(text, sizeof text, "return { api = 1, on_start = function()\n%s\nend }", bodies[i]);
        int policy = must_load(vm, text), other = must_load(vm, good);
        enum vs_call_result result = call(vm, policy, VS_ON_START, &verdict, &err);
        if (result != VS_CALL_TIME) CHECK_FAIL("%s: %s, %s", bodies[i], vs_call_result_name(result), err.text);
        CHECK_HAS(err.text, "p.lua:2: ended after 50 ms");
        check_good(vm, other);
        close_vm(vm);
    }
}

/* Near its memory limit, each allocation may cause a collection.  The instructions between two reads of the clock would
 * then take seconds. */
static void refused_memory_looks_at_the_clock(void) {
    struct vs_vm_limits limits = hasty;
    limits.memory_bytes = 1000 * 1000;
    struct shelf *vm = open_vm(&limits);
    struct vesta_error err = {.text = ""};
    struct vs_verdict verdict = {0};
    NEED(vm != NULL);
    int policy = must_load(vm, "local rounds = 0 return { api = 1, on_start = function()\n"
                               "local kept, s = ('x'):rep(250000)\n"
                               "while true do s = kept .. rounds rounds = rounds + 1 end end,\n"
                               "on_exhausted = function() return 'wait', rounds end }");
    int64_t begun_us = told_us;
    CHECK_EQ_I64(call(vm, policy, VS_ON_START, &verdict, &err), VS_CALL_TIME);
    /* one read at the start, fifty until the time is over, and none after that: the call has ended */
    CHECK_EQ_I64(told_us - begun_us, 51 * 1000);
    CHECK_EQ_I64(call(vm, policy, VS_ON_EXHAUSTED, &verdict, &err), VS_CALL_OK);
    CHECK(verdict.amount_ms > 1 && verdict.amount_ms <= 50); /* one read per round.  The hook alone would read it
                                                                hundreds of times later */
    close_vm(vm);
}

static void loading_has_the_same_budget(void) {
    struct shelf *vm = open_vm(&hasty);
    struct vesta_error err = {.text = ""};
    NEED(vm != NULL);
    CHECK_EQ_I64(load(vm, "while true do end", &err), -1);
    CHECK_HAS(err.text, "p.lua:1: ended after 50 ms");
    check_good(vm, must_load(vm, good));
    close_vm(vm);
}

static const struct check_case cases[] = {
    {"the offered functions of Lua's library work as in Lua", the_library_is_lua_s},
    {"each function has its verdicts, with numbers and reasons", verdicts_are_understood},
    {"a worker id is a whole number, and helpers are available", workers_are_understood},
    {"nan, inf, 2^63, -1, a text or a table is garbage, and the message has the valid values",
     anything_else_is_garbage},
    {"a reason cannot break a log line or a JSON body", reasons_are_calmed},
    {"the budget of instructions is per call", each_call_has_its_own_budget},
    {"the memory of a call is available to the next one", memory_is_had_back},
    {"a policy that hoards memory only harms itself", hoarding_harms_the_hoarder},
    {"policies of one vm are separate", policies_do_not_meet},
    {"the time limit ends a call, whatever it catches", time_ends_a_call},
    {"a refused allocation reads the clock", refused_memory_looks_at_the_clock},
    {"running the file has the same budget", loading_has_the_same_budget},
};

CHECK_MAIN(cases)
