/* reload.c -- other policies are put in force, or the old ones stay and the reason is reported. */
#include "base/array.h"
#include "control.h"

#define POLICY(on_clock_back) "return { api = 1, on_clock_back = function(ctx) " on_clock_back " end }"

static const char *const broken[][2] = {
    {"", "must return a table"},
    {"return { api = 2 }", "api is 2"},
    {"return {", "p0.lua"},
    {"error('at load')", "at load"},
    {"while true do end", "instructions"},
    {"local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", "memory"},
    {"return { api = 1, on_clock_bakc = function() end }", "on_clock_back"},
    {"return { api = 1, on_clock_back = 'wait' }", "not a function"},
    {"\x1bLua", "compiled"},
    {POLICY("error('tried')"), "on_clock_back fails when it is tried with a clock that is 5 ms back (error): "},
    {POLICY("error('tried')"), "/p0.lua:1: tried"},
    {POLICY("return 'perhaps'"), "on_clock_back fails when it is tried with a clock that is 5 ms back (garbage)"},
    {POLICY("while true do end"), "on_clock_back fails when it is tried with a clock that is 5 ms back (instructions)"},
    {"return { api = 1, on_exhausted = function() return 'switch' end }", "on_exhausted fails when it is tried"},
    {"return { api = 1, on_exhausted = function(c) return c.no_such.field end }", "on_exhausted fails when it is"},
    {"return { api = 1, choose_worker = function(c) return c.records[1].worker end }", "tried with no records (error)"},
    {"return { api = 1, choose_worker = function(c) return #c.records > 0 and -1 or 0 end }",
     "tried with worker ids that are held, expired and released (garbage)"},
    {"return { api = 1, choose_worker = function(c)\n"
     "for _, r in ipairs(c.records) do if not r.held then return r.worker end end\n"
     "while c.records[1] do end return 0 end }",
     "choose_worker fails when it is tried with all worker ids held (instructions)"},
    {"return { api = 1, on_start = function(c) return c.last_ms < c.now_ms and 'go' or 'refuse' end }",
     "on_start fails when it is tried at a first start, alone (error)"},
    {"return { api = 1, on_start = function(c) return c.peers[1] and 'wait' or 'go' end }",
     "on_start fails when it is tried at another start, among peers (garbage)"},
    {"return { api = 1, on_store_down = function(c) return 'refuse', c.left_ms end }",
     "on_store_down fails when it is tried with an unreachable store (garbage)"},
    {"return { api = 1, on_lease_lost = function(c) return c.worker end }",
     "on_lease_lost fails when it is tried with a lost worker id (garbage)"},
};

static void a_broken_policy_does_not_start(void) {
    struct vesta_error err;
    set_desk(POLICY("return 'refuse'"));
    vs_control_close(desk.control);
    for (size_t i = 0; i < VS_COUNT(broken); i++) {
        write_policy(0, broken[i][0]);
        desk.control = NULL;
        CHECK(open_control(&err) != VESTA_OK);
        CHECK(!desk.control);
        CHECK_HAS(err.text, broken[i][1]);
        CHECK_HAS(err.text, "namespace 'default': ");
    }
    CHECK(unlink(desk.path[0]) == 0);
    CHECK_EQ_I64(open_control(&err), VESTA_EIO);
    CHECK_HAS(err.text, "cannot open the policy");
    desk.control = NULL;
    clear_desk();
}

static void a_broken_policy_does_not_replace_a_good_one(void) {
    set_desk(POLICY("return 'refuse'"));
    struct vs_policies_status first = status_now();
    CHECK_EQ_U64(first.generation, 1);
    CHECK_EQ_U64(first.reloads, 0);
    CHECK(first.reload_ok && first.last_error[0] == '\0');
    CHECK_EQ_I64(first.reload_unix_ms, atomic_load(&desk.unix_us) / 1000);
    for (size_t i = 0; i < VS_COUNT(broken); i++) {
        pass_ms(5000);
        write_policy(0, broken[i][0]);
        reload();
        struct vs_policies_status status = status_now();
        CHECK_EQ_U64(status.generation, 1);
        CHECK(!status.reload_ok);
        CHECK_HAS(status.last_error, broken[i][1]);
        CHECK_STR(status.reload_result, status.last_error);
        CHECK_EQ_I64(status.last_error_unix_ms, atomic_load(&desk.unix_us) / 1000);
        CHECK_EQ_I64(status.reload_unix_ms, first.reload_unix_ms);
        CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    }
    CHECK_HAS(told(), "reload failed: the old policies stay in use");
    pass_ms(5000);
    write_policy(0, POLICY("return 'wait'"));
    reload();
    struct vs_policies_status last = status_now();
    CHECK_EQ_U64(last.generation, 2);
    CHECK(last.reload_ok);
    CHECK_EQ_U64(last.reloads, VS_COUNT(broken) + 1);
    CHECK_STR(last.reload_result, "reloaded: the new policies are in use: default");
    CHECK_EQ_I64(last.reload_unix_ms, atomic_load(&desk.unix_us) / 1000);
    CHECK_EQ_I64(ask(0, &desk.back), VS_WAIT);
    CHECK_HAS(told(), "reloaded: the new policies are in use");
    clear_desk();
}

static void one_broken_policy_keeps_all_as_they_were(void) {
    set_desk(POLICY("return 'refuse'"));
    write_policy(0, POLICY("return 'wait'"));
    write_policy(1, POLICY("return 1"));
    reload();
    CHECK_HAS(status_now().last_error, "namespace 'orders': on_clock_back fails");
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    CHECK_EQ_I64(ask(1, &desk.back), VS_NO_VERDICT);
    write_policy(1, POLICY("return 'wait'"));
    reload();
    CHECK_EQ_I64(ask(0, &desk.back), VS_WAIT);
    CHECK_EQ_I64(ask(1, &desk.back), VS_WAIT);
    write_policy(0, NULL);
    reload();
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_I64(ask(1, &desk.back), VS_WAIT);
    clear_desk();
}

static void a_reload_forgets_what_was_judged(void) {
    int64_t until_us;
    set_desk(POLICY("if ctx.back_ms > 100 then error('no') end return 'refuse'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_NO_VERDICT); /* it is not called for a while ... */
    write_policy(0, POLICY("return 'refuse'"));
    reload();
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE); /* ... but this is another policy */
    reload();
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_PENDING);
    clear_desk();
}

static void the_end_waits_for_a_call(void) {
    int64_t until_us;
    set_desk(POLICY("if ctx.back_ms > 100 then while true do end end return 'refuse'"));
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_PENDING);
    desk.policies.reload(desk.policies.self);
    clear_desk();
}

static const struct check_case cases[] = {
    {"a broken policy does not start", a_broken_policy_does_not_start},
    {"a broken policy does not replace a good one", a_broken_policy_does_not_replace_a_good_one},
    {"one broken policy keeps all policies as they were", one_broken_policy_keeps_all_as_they_were},
    {"a reload forgets earlier verdicts and failures", a_reload_forgets_what_was_judged},
    {"closing waits for a call", the_end_waits_for_a_call},
};

CHECK_MAIN(cases)
