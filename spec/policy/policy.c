/* policy.c -- which policies load, what a call gets, and which return values are verdicts. */
#include "judge.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ names */

static void hooks_have_names(void) {
    CHECK_STR(vs_hook_name(VS_ON_CLOCK_BACK), "on_clock_back");
    CHECK_STR(vs_hook_name(VS_HOOKS), "unknown");
    CHECK_STR(vs_call_result_name(VS_CALL_OK), "ok");
    CHECK_STR(vs_call_result_name(VS_CALL_MEMORY), "memory");
    CHECK_STR(vs_call_result_name(VS_CALL_RESULTS), "unknown");
    CHECK_STR(vs_verdict_name(VS_VERDICT_STOP), "stop");
    CHECK_STR(vs_verdict_name((enum vs_verdict_kind)99), "unknown");
}

/* ------------------------------------------------------------------ loading */

struct wrong {
    const char *text, *part;
};

static const struct wrong no_policies[] = {
    {"", "p.lua: a policy must return a table, return { api = 1, ... }; this one returns nothing"},
    {"return", "returns nothing"},
    {"return 1", "returns a number"},
    {"return 'wait'", "returns a string"},
    {"return function() end", "returns a function"},
    {"on_clock_back = function() end", "p.lua:1: assignment to undeclared global on_clock_back"},
    {"return {}", "p.lua: api is nil, which must be 1 for this version of vesta"},
    {"return { api = 2 }", "api is 2"},
    {"return { api = 0 / 0 }", "nan"},
    {"return { api = '1' }", "api is 1"},
    {"return { api = {} }", "api is table"},
    {"return { api = 1, on_clok_back = function() end }",
     "p.lua: 'on_clok_back' is not a key of a policy, did you mean 'on_clock_back'?"},
    {"return { api = 1, hook = 1 }", "'hook' is not a key of a policy"},
    {"return { api = 1, [''] = 1 }", "'' is not a key"},
    {"return { api = 1, ['a\\nb'] = 1 }", "'a\\x0ab' is not a key"},
    {"return { api = 1, 7 }", "p.lua: a key of a policy is a number, not a name"},
    {"return { api = 1, [true] = 7 }", "a key of a policy is a boolean"},
    {"return { api = 1, on_clock_back = 'wait' }", "p.lua: on_clock_back is a string, not a function"},
    {"return { api = 1, on_start = false }", "on_start is a boolean"},
    {"return { api = 1, name = 7 }", "name is a number, not a text"},
    {"return { api = 1, about = {} }", "about is a table, not a text"},
    {"return {\n api = 1,\n on_start = function(\n}", "p.lua:4: "},
    {"return { api = 1 } x", "p.lua:1: "},
    {"#!/usr/bin/lua", "p.lua:1: "},
    {"// no comment", "p.lua:1: "},
    {"\x1bLua\x54", "p.lua: this is compiled Lua. Pass its source"},
    {"\xff\xfe", "p.lua:1: "},
    {"while true do end", "p.lua:1: ended after 1000000 instructions"},
    {"local t = {} while true do t[#t + 1] = {} end", "4096 KiB"},
    {"return { api = 1, name = ('x'):rep(1e9) }", "4096 KiB"},
    {"error('on purpose')", "p.lua:1: on purpose"},
    {"\nreturn env('PATH')", "p.lua:2: env: policies may not read PATH"},
    {"\nreturn ('x'):find('x')", "p.lua:2: string.find works without patterns only"},
    {"\nreturn string.find('x', 'x')", "p.lua:2: string.find works without patterns only"},
    {"\nreturn log({})", "p.lua:2: log: a text is expected"},
    {"\nreturn localtime('x')", "p.lua:2: localtime: milliseconds are expected"},
    {"local function f()\nreturn env('PATH')\nend\nreturn f()", "p.lua:2: env: policies may not read PATH"},
    {"error()", "is a nil, not a string"},
    {"error({})", "is a table, not a string"},
    {"local ok = pcall(function() while true do end end) return { api = 1 }", "instructions"},
};

static void refuses_what_is_no_policy(void) {
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    for (size_t i = 0; i < VS_COUNT(no_policies); i++) {
        struct vesta_error err = {.text = ""};
        if (load(vm, no_policies[i].text, &err) >= 0) CHECK_FAIL("loaded: %s", no_policies[i].text);
        CHECK_EQ_I64(err.code, VESTA_EOPTION);
        CHECK_HAS(err.text, no_policies[i].part);
    }
    int policy = must_load(vm, good);
    CHECK_EQ_I64(policy, 0); /* none of them was opened */
    if (policy == 0) check_good(vm, policy);
    close_vm(vm);
}

static void nests(void) {
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    char text[2048] = "return ";
    NEED(vm != NULL);
    for (int i = 0; i < 220; i++)
        strcat(text, "{");
    CHECK_EQ_I64(load(vm, text, &err), -1);
    CHECK_HAS(err.text, "p.lua: it nests too deep (C stack overflow)");
    strcpy(text, "return ");
    for (int i = 0; i < 1000; i++)
        strcat(text, "(");
    CHECK_EQ_I64(load(vm, text, &err), -1);
    CHECK_HAS(err.text, "p.lua: it nests too deep");
    check_good(vm, must_load(vm, good));
    close_vm(vm);
}

static void takes_hundreds(void) {
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    for (int i = 0; i < 300; i++)
        CHECK_EQ_I64(must_load(vm, good), i);
    check_good(vm, 0);
    check_good(vm, 299);
    close_vm(vm);
}

static void limits_must_make_sense(void) {
    static const struct vs_vm_limits wrong[] = {
        {.call_ms = -1}, {.call_ms = VS_CALL_MS_MAX + 1}, {.call_ms = INT64_MIN}, {.memory_bytes = 65535}};
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        struct shelf *vm = open_vm(&wrong[i]);
        struct vesta_error err = {.text = ""};
        CHECK_EQ_I64(load(vm, good, &err), -1);
        CHECK_EQ_I64(err.code, VESTA_EOPTION);
        CHECK(err.text[0] != 0);
        close_vm(vm);
    }
}

/* ------------------------------------------------------------------ files and what ships */

static void check_load(struct shelf *vm, const char *name, const char *options, int want, const char *part) {
    struct vesta_error err = {.text = ""};
    int policy = -1;
    int rc = load_named(vm, name, options, &policy, &err);
    if (rc != want) CHECK_FAIL("%s: got %s (%s), want %s", name, vesta_code_name(rc), err.text, vesta_code_name(want));
    CHECK_HAS(err.text, part);
    CHECK((policy >= 0) == (want == VESTA_OK));
}

#define LONG_BYTES (2 * 65536)

struct file {
    const char *name;
    const char *bytes;
    size_t length;
    int want;
    const char *part;
};

static void check_file(struct shelf *vm, const struct file *file) {
    FILE *out = fopen(file->name, "w");
    NEED(out != NULL);
    CHECK(fwrite(file->bytes, 1, file->length, out) == file->length);
    CHECK(fclose(out) == 0);
    check_load(vm, file->name, NULL, file->want, file->part);
    unlink(file->name);
}

static void check_paths(struct shelf *vm) {
    char path[LONG_BYTES];
    check_load(vm, "missing.lua", NULL, VESTA_EIO, "missing.lua: No such file");
    check_load(vm, "./", NULL, VESTA_EIO, "not a regular file");
    check_load(vm, "/dev/zero", NULL, VESTA_EIO, "not a regular file");
    CHECK_EQ_I64(mkfifo("pipe.lua", 0600), 0);
    check_load(vm, "pipe.lua", NULL, VESTA_EIO, "not a regular file");
    unlink("pipe.lua");
    memset(path, '/', sizeof path);
    path[5000] = 0;
    check_load(vm, path, NULL, VESTA_EIO, "too long");
    memset(path, 'n', 400);
    path[400] = 0;
    path[1] = '/';
    check_load(vm, path, NULL, VESTA_EIO, "No such file");
}

static void reads_files(void) {
    static char newlines[LONG_BYTES];
    memset(newlines, '\n', sizeof newlines);
    const struct file files[] = {
        {"good.lua", good, strlen(good), VESTA_OK, ""},
        {"./good.lua", good, strlen(good), VESTA_OK, ""},
        {"bad.lua", "\n\nx", 3, VESTA_EOPTION, "bad.lua:3: "},
        {"nul.lua", "x\0y", 3, VESTA_EOPTION, "nul.lua:1: "},
        {"compiled.lua", "\x1bLua", 4, VESTA_EOPTION, "compiled.lua: this is compiled Lua"},
        {"empty.lua", "", 0, VESTA_EOPTION, "empty.lua: a policy must return a table"},
        {"long.lua", newlines, LONG_BYTES, VESTA_EOPTION, "long.lua: more than 65536 bytes"},
        {"limit.lua", newlines, 65536, VESTA_EOPTION, "limit.lua: a policy must return a table"},
    };
    char folder[] = "/tmp/vesta-policy.XXXXXX";
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL && mkdtemp(folder) && chdir(folder) == 0);
    for (size_t i = 0; i < VS_COUNT(files); i++)
        check_file(vm, &files[i]);
    check_good(vm, 0);
    check_paths(vm);
    CHECK_EQ_I64(rmdir(folder), 0);
    close_vm(vm);
}

static void ships_policies(void) {
    struct shelf *vm =
        open_vm(&(struct vs_vm_limits){.call_ms = VS_CALL_MS_MAX, .memory_bytes = 65536}); /* the minimum is enough */
    NEED(vm != NULL);
    int count = 0;
    for (const char *name; (name = vs_policy_shipped(count)); count++)
        check_load(vm, name,
                   strcmp(name, "twitter") == 0   ? "{ worker = 1 }"
                   : strcmp(name, "ip_list") == 0 ? "{ ips = { '10.0.0.1' } }"
                                                  : NULL,
                   VESTA_OK, "");
    check_load(vm, "twitter", NULL, VESTA_EOPTION, "the option worker is missing");
    CHECK(count >= 4);
    check_load(vm, "helpers", NULL, VESTA_ENAME, "there is no policy 'helpers': use one of any, borrow, ");
    check_load(vm, "wiat", NULL, VESTA_ENAME, "wait");
    check_load(vm, "", NULL, VESTA_ENAME, "''");
    check_load(vm, "../no such policy", NULL, VESTA_EIO, "../no such policy");
    check_load(vm, ".lua", NULL, VESTA_ENAME, "'.lua'");
    close_vm(vm);
}

static void check_shipped(const char *name, const char *options, int64_t back_ms, const char *word, int64_t amount_ms) {
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    struct vs_verdict verdict = {0};
    const struct vs_ctx ctx = {.name = "back_ms", .kind = VS_CTX_INTEGER, .integer = back_ms};
    int policy;
    NEED(vm != NULL);
    if (load_named(vm, name, options, &policy, &err) != VESTA_OK)
        CHECK_FAIL("%s: %s", name, err.text);
    else if (vs_policy_call(vm->policy[policy], &(struct vs_hook_input){VS_ON_CLOCK_BACK, &ctx, 1}, &verdict, &err) !=
             VS_CALL_OK)
        CHECK_FAIL("%s: %s", name, err.text);
    CHECK_STR(vs_verdict_name(verdict.kind), word);
    CHECK_EQ_I64(verdict.amount_ms, amount_ms);
    close_vm(vm);
}

static void shipped_policies_judge(void) {
    check_shipped("wait", NULL, 3000, "wait", 5000);
    check_shipped("wait", "{ wait_ms_max = 100 }", 3000, "refuse", -1);
    check_shipped("refuse", NULL, 1, "refuse", -1);
    check_shipped("borrow", NULL, 3000, "borrow", 1000);
    check_shipped("borrow", "{borrow_ms_max=5}", 3000, "borrow", 5);
    check_shipped("switch", NULL, 3000, "switch", -1);
}

/* ------------------------------------------------------------------ options and ctx */

static void options_are_a_table(void) {
    static const struct wrong wrong[] = {
        {"", "options: a table like { first = 0 } is expected, not a nil"},
        {"5", "not a number"},
        {"{", "options:1: "},
        {"{} {}", "options:1: "},
        {"{} os.exit(1)", "options:1: "},
        {"{ x = os }", "options:1: global os is not declared, and options may not use it"},
        {"{ x = pcall }", "global pcall is not declared"},
        {"(function() while true do end end)()", "options:1: ended after"},
        {"('x'):rep(1e9)", "KiB"},
    };
    struct shelf *vm = open_vm(&small);
    NEED(vm != NULL);
    for (size_t i = 0; i < VS_COUNT(wrong); i++)
        check_load(vm, "wait", wrong[i].text, VESTA_EOPTION, wrong[i].part);
    check_load(vm, "wait", "{}", VESTA_OK, "");
    close_vm(vm);
}

static void each_call_has_its_own_options(void) {
    static const char text[] = "return { api = 1, on_exhausted = function(ctx)"
                               " local o = ctx.options local seen = o.n .. o.list[1] .. o.deep.er.x .. ctx.ahead_ticks"
                               " o.n = 9 o.list[1] = 9 o.deep.er = nil ctx.ahead_ticks = 9 ctx.options = nil"
                               " return 'wait', seen end }";
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    int policy = -1;
    NEED(vm != NULL);
    const struct vs_policy_text source = {.chunk = "@p.lua",
                                          .text = text,
                                          .length = strlen(text),
                                          .options = "{n = 1, list = {2, 3}, deep = {er = {x = 4}}}"};
    load_text(vm, &source, &policy, &err);
    CHECK_STR(err.text, "");
    for (int i = 0; policy >= 0 && i < 3; i++) {
        struct vs_verdict verdict = {0};
        CHECK_EQ_I64(call(vm, policy, VS_ON_EXHAUSTED, &verdict, &err), VS_CALL_OK);
        CHECK_STR(verdict.reason, "12417");
    }
    close_vm(vm);
}

/* Each call has its own ctx and options, including the defaults of absent options. */
static void options_arrive_whole(void) {
    static const char text[] =
        "return { api = 1, options = { n = { 0, 9, default = 3 }, word = { 'a', 'b', default = 'b' },"
        " list = { list = true }, none = { 0, 1 } }, on_exhausted = function(ctx)"
        " local o = ctx.options local seen = o.n .. o.word .. tostring(o.list and #o.list)"
        " .. tostring(o.none) o.n = nil o.word = 'a' return 'wait', seen end }";
    static const struct {
        const char *given, *seen;
    } cases[] = {{NULL, "3bnilnil"}, {"{}", "3bnilnil"}, {"{n = 0, list = {1, 2}, none = 1}", "0b21"}};
    struct shelf *vm = open_vm(&small);
    struct vesta_error err = {.text = ""};
    NEED(vm != NULL);
    for (size_t i = 0; i < 2 * VS_COUNT(cases); i++) {
        struct vs_verdict verdict = {0};
        int policy = (int)i / 2;
        const struct vs_policy_text source = {
            .chunk = "@p.lua", .text = text, .length = strlen(text), .options = cases[i / 2].given};
        if (i % 2 == 0) load_text(vm, &source, &policy, &err);
        CHECK_STR(err.text, "");
        CHECK_EQ_I64(call(vm, policy, VS_ON_EXHAUSTED, &verdict, &err), VS_CALL_OK);
        CHECK_STR(verdict.reason, cases[i / 2].seen);
    }
    close_vm(vm);
}

static void ctx_has_what_it_is_told(void) {
    static const char text[] =
        "return { api = 1, choose_worker = function(ctx) local r, p = ctx.records, ctx.peers\n"
        "assert(#r == 2 and #p == 1 and ctx.host == 'web-7' and ctx.ip == nil and ctx.now_ms == -5)\n"
        "assert(r[1].worker == 7 and r[1].epoch == 3 and r[1].holder == 'h' and r[1].identity == '')\n"
        "assert(r[1].held and not r[1].expired and r[1].until_ms == 1 and r[1].written_ms == 2 and r[1].seen_ms == 3)\n"
        "assert(r[2].worker == 8 and not r[2].held and r[2].expired)\n"
        "assert(p[1].worker == 9 and p[1].seen_ms == 4)\n"
        "assert(next(ctx.options) == nil)\n"
        "return r[2].worker end }";
    const struct vesta_record records[] = {
        {.worker = 7, .epoch = 3, .holder = "h", .held = true, .until_ms = 1, .written_ms = 2, .seen_ms = 3},
        {.worker = 8, .expired = true}};
    const struct vs_ctx_peer peers[] = {{9, 4}};
    const struct vs_ctx ctx[] = {{.name = "records", .kind = VS_CTX_RECORDS, .records = records, .count = 2},
                                 {.name = "peers", .kind = VS_CTX_PEERS, .peers = peers, .count = 1},
                                 {.name = "host", .kind = VS_CTX_TEXT, .text = "web-7"},
                                 {.name = "ip", .kind = VS_CTX_TEXT},
                                 {.name = "now_ms", .kind = VS_CTX_INTEGER, .integer = -5}};
    struct shelf *vm = open_vm(&small);
    struct vs_verdict verdict = {0};
    struct vesta_error err = {.text = ""};
    NEED(vm != NULL);
    int policy = must_load(vm, text);
    CHECK_EQ_I64(vs_policy_call(vm->policy[policy], &(struct vs_hook_input){VS_CHOOSE_WORKER, ctx, VS_COUNT(ctx)},
                                &verdict, &err),
                 VS_CALL_OK);
    CHECK_STR(err.text, "");
    CHECK_STR(vs_verdict_name(verdict.kind), "worker");
    CHECK_EQ_U64(verdict.worker, 8);
    CHECK(vs_policy_has(vm->policy[policy], VS_CHOOSE_WORKER) && !vs_policy_has(vm->policy[policy], VS_ON_START));
    close_vm(vm);
}

static void more_than_memory_can_hold(void) {
    static struct vesta_record many[20000];
    const struct vs_ctx ctx = {.name = "records", .kind = VS_CTX_RECORDS, .records = many, .count = VS_COUNT(many)};
    struct shelf *vm = open_vm(&small);
    struct vs_verdict verdict = {0};
    struct vesta_error err = {.text = ""};
    NEED(vm != NULL);
    int policy = must_load(vm, "return { api = 1, choose_worker = function(ctx) return #ctx.records end }");
    const struct vs_hook_input asked = {VS_CHOOSE_WORKER, &ctx, 1};
    CHECK_EQ_I64(vs_policy_call(vm->policy[policy], &asked, &verdict, &err), VS_CALL_MEMORY);
    const struct vs_ctx none = {.name = "records", .kind = VS_CTX_RECORDS};
    CHECK_EQ_I64(
        vs_policy_call(vm->policy[policy], &(struct vs_hook_input){VS_CHOOSE_WORKER, &none, 1}, &verdict, &err),
        VS_CALL_OK);
    CHECK_EQ_U64(verdict.worker, 0);
    close_vm(vm);
}

/* ------------------------------------------------------------------ cases */

static const struct check_case cases[] = {
    {"functions, results and verdicts have names", hooks_have_names},
    {"an invalid policy is rejected with its place, and leaks nothing", refuses_what_is_no_policy},
    {"a text that nests too deep is an error", nests},
    {"hundreds of policies can be open, each with its own state", takes_hundreds},
    {"impossible limits are rejected", limits_must_make_sense},
    {"a policy is a file of limited size", reads_files},
    {"policies come with vesta, by name", ships_policies},
    {"the shipped policies judge as documented", shipped_policies_judge},
    {"options are a table without code", options_are_a_table},
    {"changes that a call makes to ctx and options are gone at the next call", each_call_has_its_own_options},
    {"declared options are complete in each call, with defaults for the absent ones", options_arrive_whole},
    {"a call gets records, peers, texts and numbers", ctx_has_what_it_is_told},
    {"more records than a policy's memory holds are a lack of memory", more_than_memory_can_hold},
};

CHECK_MAIN(cases)
