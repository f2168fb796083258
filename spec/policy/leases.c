/* leases.c -- policies about worker ids, with a real control thread, keeper and file: store.  The clock is the
 * machine's, and runs faster where a test needs it. */
#include "policy/control/controls.h"
#include "log/log.h"
#include "opened.h"
#include "said.h"
#include "store/store.h"
#include "tools.h"

#include <sys/stat.h>
#include <unistd.h>

#define LAYOUT "sign:1 time:41 seq:12 worker:10 unit=1ms epoch=2020-01-01T00:00:00Z"

/* A function that behaves well until it is in use.  The trial runs as host-0. */
#define AT_WORK(body) "choose_worker = function(ctx) if ctx.identity ~= 'host-0' then " body " end return 3 end"

static struct work {
    struct vesta_gen *gen;
    struct vs_control *control;
    struct vs_policies policies;
    char policy[128], log[128];
} work;

/* Not while a policy is asked, because its call would seem not to end. */
static void pass_ms(int64_t ms) {
    AWAIT(!work.control || atomic_load(&work.control->busy_since_us) == 0);
    atomic_fetch_add(&passed_us, ms * 1000);
}

/* ------------------------------------------------------------------ a server's namespace, without the server */

static struct vesta_gen *open_as(const char *name, struct vesta_opts opts) {
    opts.size = sizeof opts;
    opts.clock = &ahead_clock;
    return open_in_state(name, LAYOUT, opts);
}

static int read_source(void *self, struct vs_policy_text *out, struct vs_policy_text *shadow, struct vesta_error *err) {
    (void)shadow;
    (void)self;
    int rc = vs_policy_read(work.policy, NULL, &out[0], err);
    return rc == VESTA_OK ? vs_policy_try(&out[0], "default", vs_clock_system()->unix_us(NULL) / 1000, err) : rc;
}

/* `functions` is a policy's text: "choose_worker = function(ctx) return 7 end". */
static void begin_as(const char *name, const char *functions, struct vesta_opts opts) {
    static const char *const names[] = {"default"};
    struct vesta_error err = {0};
    memset(&work, 0, sizeof work);
    snprintf(work.policy, sizeof work.policy, "%s/policy.lua", state);
    snprintf(work.log, sizeof work.log, "%s/log", state);
    FILE *file = fopen(work.policy, "w");
    if (!file || fprintf(file, "local calls = 0\nreturn { api = 1, %s }\n", functions) < 0 || fclose(file) != 0)
        abort();
    if (vs_log_setup(&(struct vs_log_opts){.path = work.log, .clock = &ahead_clock}, &err) != VESTA_OK)
        CHECK_FAIL("%s", err.text);
    opts.flags |= VESTA_CHOOSES;
    opts.any_worker = !opts.has_worker;
    work.gen = open_as(name, opts);
    struct vs_control_opts control = {
        .name = names, .ns_count = 1, .gen = &work.gen, .sources = read_source, .clock = &ahead_clock};
    if (vs_control_open(&control, &work.control, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    work.policies = vs_control_policies(work.control);
}

static void begin(const char *functions) {
    begin_as("a.gen", functions, (struct vesta_opts){0});
}

static void finish(void) {
    vs_control_close(work.control);
    vesta_close(work.gen);
    vs_log_end(VS_LOG_END_MS);
}

/* Returns an id if there is one.  The keeper's question goes to the policy. */
static bool try_next(uint64_t *id) {
    struct vesta_pause pause;
    int64_t until_us;
    if (vesta_next_wait(work.gen, id, 20000, &pause) == VESTA_OK) return true;
    if (pause.why == VESTA_CHOOSE) work.policies.judge(work.policies.self, 0, work.gen, &pause, &until_us);
    return false;
}

static uint64_t worker_of(uint64_t id) {
    struct vesta_parts parts = {.worker = UINT64_MAX};
    CHECK(vesta_explain(vesta_gen_layout(work.gen), id, &parts, NULL) == VESTA_OK);
    return parts.worker;
}

static uint64_t next_id(void) {
    uint64_t id = 0;
    AWAIT(try_next(&id));
    return id;
}

static struct vesta_gen *holder_of(uint64_t worker) {
    char name[32];
    uint64_t id;
    struct vesta_pause pause;
    snprintf(name, sizeof name, "holder%d.gen", (int)worker);
    struct vesta_gen *gen = open_as(name, (struct vesta_opts){.has_worker = 1, .worker = worker});
    CHECK(vesta_next_wait(gen, &id, 20000000, &pause) == VESTA_OK);
    return gen;
}

static bool holds_number(uint64_t worker) {
    struct vesta_info info;
    vesta_get_info(work.gen, &info);
    return info.holds_lease && info.worker == worker;
}

static bool holds_lease(void) {
    struct vesta_info info;
    vesta_get_info(work.gen, &info);
    return info.holds_lease;
}

static uint64_t calls(enum vs_hook hook, enum vs_call_result result) {
    struct vs_policies_status status;
    work.policies.status(work.policies.self, &status);
    return status.calls[hook][result];
}

static const char *told(void) {
    return text_in(work.log);
}

/* Checks that there is no id for long enough that the keeper asks more than once. */
static void gets_no_id(void) {
    uint64_t id;
    for (int i = 0; i < 60; i++, usleep(10000)) {
        if (i % 20 == 0) pass_ms(1000);
        if (try_next(&id)) CHECK_FAIL("an id of number %d", (int)worker_of(id));
    }
}

static bool pauses_for(const char *part) {
    struct vesta_pause pause;
    char text[256];
    uint64_t id;
    if (try_next(&id) || vesta_next(work.gen, &id, &pause) == VESTA_OK) return false;
    vesta_pause_text(work.gen, &pause, text, sizeof text);
    return strstr(text, part);
}

static const char *over(void) {
    static char why[VS_OVER_MAX];
    return vs_control_is_over(work.control, 0, why) ? why : "it is not over";
}

/* ------------------------------------------------------------------ choosing */

static void the_number_that_is_named_is_claimed(void) {
    begin("choose_worker = function(ctx) return 7, 'for ' .. ctx.range.last .. ' ' .. ctx.attempt end");
    CHECK_EQ_U64(worker_of(next_id()), 7);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 1);
    CHECK_HAS(told(), "a policy chose a worker id");
    CHECK_HAS(told(), "worker=7 attempt=1 reason=\"for 1023 1\"");
    finish();
}

static void a_number_that_is_held_is_asked_about_again(void) {
    struct vesta_gen *seven = holder_of(7);
    begin("choose_worker = function(ctx) calls = calls + 1\n"
          "return calls == 1 and 7 or ctx.records[1].worker + ctx.records[1].epoch end");
    AWAIT(pauses_for("worker id 7 is held by"));
    pass_ms(1000);
    CHECK_EQ_U64(worker_of(next_id()), 8);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 2);
    finish();
    vesta_close(seven);
}

/* Ten times as fast as the machine's clock. */
static bool hastened(bool holds) {
    if (!holds) pass_ms(10);
    return holds;
}

static size_t told_lines(const char *part) {
    size_t count = 0;
    for (const char *at = told(); (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void a_choice_that_is_repeated_is_logged_once(void) {
    struct vesta_gen *seven = holder_of(7);
    begin("choose_worker = function() calls = calls + 1 return 7, calls > 2 and 'still' or nil end");
    AWAIT(hastened(calls(VS_CHOOSE_WORKER, VS_CALL_OK) >= 2 || try_next(&(uint64_t){0})));
    CHECK_EQ_U64(told_lines("a policy chose a worker id"), 1);
    AWAIT(hastened(calls(VS_CHOOSE_WORKER, VS_CALL_OK) >= 4 || try_next(&(uint64_t){0})));
    CHECK_EQ_U64(told_lines("a policy chose a worker id"), 2);
    finish();
    vesta_close(seven);
}

static void no_number_is_a_reason_and_a_second_question(void) {
    begin("choose_worker = function(ctx) calls = calls + 1\n"
          "if calls > 1 then return 8 end return nil, 'none before the second call' end");
    AWAIT(pauses_for("none before the second call"));
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 1);
    CHECK_HAS(told(), "a policy chose no worker id");
    pass_ms(1000);
    CHECK_EQ_U64(worker_of(next_id()), 8);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 2);
    finish();
}

static void where_no_function_chooses_the_fixed_rule_does(void) {
    begin("on_exhausted = function() return 'wait' end");
    CHECK(worker_of(next_id()) < 1024);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 0);
    CHECK(!strstr(told(), "a policy chose"));
    finish();
}

static void a_function_that_fails_leaves_the_fixed_rule(void) {
    static const struct {
        const char *functions;
        enum vs_call_result result;
        const char *error;
    } failing[] = {
        {AT_WORK("error 'no luck'"), VS_CALL_ERROR, "no luck"},
        {AT_WORK("return 'seven'"), VS_CALL_GARBAGE, "choose_worker returned 'seven'"},
        {AT_WORK("while true do end"), VS_CALL_INSTRUCTIONS, "instructions"},
        {AT_WORK("return 1024"), VS_CALL_OK, "choose_worker returned 1024, but worker ids are 0 to 1023"},
    };
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d.gen", (int)i);
        begin_as(name, failing[i].functions, (struct vesta_opts){0});
        CHECK(worker_of(next_id()) < 1024);
        CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, failing[i].result), 1);
        CHECK_HAS(told(), "a policy failed: the fixed rules hold");
        CHECK_HAS(told(), failing[i].error);
        CHECK(!strstr(told(), "a policy chose"));
        finish();
    }
}

static void a_function_that_failed_is_left_alone_for_a_second(void) {
    begin(AT_WORK("calls = calls + 1 if calls == 1 then error 'once' end return 9"));
    next_id();
    CHECK(vesta_drop(work.gen) == VESTA_OK);
    CHECK(worker_of(next_id()) != 9);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK) + calls(VS_CHOOSE_WORKER, VS_CALL_ERROR), 1);
    pass_ms(1000);
    CHECK(vesta_drop(work.gen) == VESTA_OK);
    CHECK_EQ_U64(worker_of(next_id()), 9);
    finish();
}

static void a_number_given_by_hand_is_no_question_of_choice(void) {
    begin_as("a.gen", "choose_worker = function() return 9 end, on_start = function() return 'go' end",
             (struct vesta_opts){.has_worker = 1, .worker = 4});
    CHECK_EQ_U64(worker_of(next_id()), 4);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 0);
    CHECK_EQ_U64(calls(VS_ON_START, VS_CALL_OK), 1);
    finish();
}

/* ------------------------------------------------------------------ starting */

static void what_on_start_refuses_is_over(void) {
    struct vesta_gen *five = holder_of(5);
    begin("choose_worker = function() return 9 end, on_start = function(ctx) local p = ctx.peers[1]\n"
          "if not p or p.worker ~= 5 then return 'go' end\n"
          "return 'refuse', #ctx.peers .. ' peer, ' .. tostring(ctx.last_ms) .. ', '\n"
          ".. (math.abs(p.seen_ms - ctx.now_ms) < 20000 and 'in step' or 'off') end");
    gets_no_id();
    CHECK_STR(over(), "the policy refuses to start: 1 peer, nil, in step");
    AWAIT(pauses_for("the policy refuses to start: 1 peer"));
    CHECK(!holds_lease());
    CHECK_EQ_U64(calls(VS_ON_START, VS_CALL_OK), 1);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 0);
    finish();
    vesta_close(five);
}

static void on_start_is_asked_once_and_hears_of_the_last_time(void) {
    begin("on_start = function(ctx) return ctx.last_ms and #ctx.peers == 0 and 'refuse' or 'go' end");
    uint64_t first = next_id();
    CHECK(vesta_drop(work.gen) == VESTA_OK);
    CHECK(next_id() != first);
    CHECK_STR(over(), "it is not over"); /* there is a last time now, but this is no start */
    CHECK_EQ_U64(calls(VS_ON_START, VS_CALL_OK), 1);
    CHECK(vesta_release(work.gen, NULL) == VESTA_OK);
    finish();
    begin("on_start = function(ctx) return ctx.last_ms and #ctx.peers == 0 and 'refuse' or 'go' end");
    gets_no_id();
    CHECK_STR(over(), "the policy refuses to start: it gave no reason");
    finish();
}

static void a_lease_that_goes_on_is_no_start(void) {
    begin("choose_worker = function() return 9 end");
    uint64_t first = next_id(), id;
    finish();
    begin("on_start = function() return 'refuse' end");
    struct vesta_pause pause;
    CHECK(vesta_next(work.gen, &id, &pause) == VESTA_OK && id != first);
    CHECK_EQ_U64(worker_of(id), 9);
    CHECK_EQ_U64(calls(VS_ON_START, VS_CALL_OK), 0);
    finish();
}

static void an_on_start_that_fails_starts(void) {
    struct vesta_gen *five = holder_of(5);
    begin("on_start = function(ctx) if #ctx.peers == 1 then error 'oh' end return 'go' end");
    next_id();
    CHECK_EQ_U64(calls(VS_ON_START, VS_CALL_ERROR), 1);
    CHECK_STR(over(), "it is not over");
    finish();
    vesta_close(five);
}

/* ------------------------------------------------------------------ a store that is silent */

/* A lease of ten minutes.  An administrator creates a namespace of such leases. */
static void begin_lasting(const char *functions) {
    struct vesta_gen *maker = holder_of(1);
    begin_as("a.gen", functions, (struct vesta_opts){.lease = "balanced"});
    vesta_close(maker);
}

/* Makes the namespace's record unreadable for a while. */
static void silence(bool silent) {
    char record[96], away[96];
    snprintf(record, sizeof record, "%s/default/namespace", state);
    snprintf(away, sizeof away, "%s/default/away", state);
    if (silent)
        CHECK(rename(record, away) == 0 && mkdir(record, 0700) == 0);
    else
        CHECK(rmdir(record) == 0 && rename(away, record) == 0);
}

static void on_continue_ids_go_on(void) {
    begin_lasting(
        "on_store_down = function(ctx) calls = calls + 1\n"
        "if ctx.down_ms < 1000 * (calls - 1) or ctx.left_ms < 1 or ctx.left_ms > 600000 then error 'wrong' end\n"
        "return 'continue' end");
    uint64_t first = next_id(), id;
    struct vesta_pause pause;
    silence(true);
    AWAIT(hastened(calls(VS_ON_STORE_DOWN, VS_CALL_OK) >= 3));
    CHECK_EQ_U64(calls(VS_ON_STORE_DOWN, VS_CALL_ERROR), 0);
    CHECK(vesta_next(work.gen, &id, &pause) == VESTA_OK && id != first);
    silence(false);
    finish();
}

static void on_refuse_the_lease_ends_until_the_store_answers(void) {
    begin_lasting("on_store_down = function(ctx) return ctx.left_ms > 0 and 'refuse' or 'continue', 'rather none' end");
    uint64_t first = next_id();
    CHECK_EQ_U64(calls(VS_ON_STORE_DOWN, VS_CALL_OK), 0);
    silence(true);
    AWAIT(hastened(calls(VS_ON_STORE_DOWN, VS_CALL_OK) >= 1 && !holds_lease()));
    CHECK_HAS(told(), "a policy ends a lease because its store is silent");
    CHECK_HAS(told(), "reason=\"rather none\"");
    gets_no_id();
    CHECK_STR(over(), "it is not over");
    silence(false);
    for (int i = 0; i < 5; i++)
        pass_ms(1000); /* until the policy is asked again */
    CHECK(next_id() != first);
    finish();
}

static void an_on_store_down_that_fails_goes_on(void) {
    begin_lasting("on_store_down = function(ctx) return ctx.left_ms == 60000 and 'continue' or 'wait' end");
    uint64_t first = next_id();
    silence(true);
    AWAIT(hastened(calls(VS_ON_STORE_DOWN, VS_CALL_GARBAGE) >= 1));
    CHECK(holds_lease());
    CHECK(next_id() != first);
    silence(false);
    finish();
}

/* ------------------------------------------------------------------ a number that is lost */

#define FORTY_THEN_41 "choose_worker = function(ctx) return ctx.records[1] and 41 or 40 end, "

static void lose(const char *functions) {
    begin(functions);
    CHECK_EQ_U64(worker_of(next_id()), 40);
    take_over(40, &ahead_clock);
    AWAIT(hastened(!holds_number(40))); /* the next worker id may be claimed before this check */
}

static void a_lost_number_is_replaced(const char *functions, enum vs_call_result result, uint64_t asked) {
    lose(functions);
    CHECK_EQ_U64(worker_of(next_id()), 41);
    CHECK_EQ_U64(calls(VS_ON_LEASE_LOST, result), asked);
    CHECK_HAS(told(), "a worker id was taken over by another process");
    CHECK_HAS(told(), "worker=40");
    CHECK_STR(over(), "it is not over");
    finish();
}

static void on_claim_another_number_is_claimed(void) {
    a_lost_number_is_replaced(FORTY_THEN_41 "on_lease_lost = function() return 'claim' end", VS_CALL_OK, 1);
}

static void without_a_word_another_number_is_claimed(void) {
    a_lost_number_is_replaced(FORTY_THEN_41, VS_CALL_OK, 0);
}

static void an_on_lease_lost_that_fails_claims(void) {
    a_lost_number_is_replaced(FORTY_THEN_41
                              "on_lease_lost = function(ctx) return ctx.worker == 40 and 40 or 'claim' end",
                              VS_CALL_GARBAGE, 1);
}

static void on_stop_no_number_is_claimed(void) {
    lose(FORTY_THEN_41 "on_lease_lost = function(ctx) return 'stop', 'look at ' .. ctx.worker end");
    gets_no_id();
    CHECK_STR(over(), "the policy wants no other worker id after the loss of the last one: look at 40");
    AWAIT(pauses_for("look at 40"));
    CHECK_EQ_U64(calls(VS_ON_LEASE_LOST, VS_CALL_OK), 1);
    CHECK_EQ_U64(calls(VS_CHOOSE_WORKER, VS_CALL_OK), 1);
    CHECK_HAS(told(), "a policy stops a namespace after the loss of its worker id");
    finish();
}

IN_NEW_STATE(the_number_that_is_named_is_claimed)
IN_NEW_STATE(a_number_that_is_held_is_asked_about_again)
IN_NEW_STATE(a_choice_that_is_repeated_is_logged_once)
IN_NEW_STATE(no_number_is_a_reason_and_a_second_question)
IN_NEW_STATE(where_no_function_chooses_the_fixed_rule_does)
IN_NEW_STATE(a_function_that_fails_leaves_the_fixed_rule)
IN_NEW_STATE(a_function_that_failed_is_left_alone_for_a_second)
IN_NEW_STATE(a_number_given_by_hand_is_no_question_of_choice)
IN_NEW_STATE(what_on_start_refuses_is_over)
IN_NEW_STATE(on_start_is_asked_once_and_hears_of_the_last_time)
IN_NEW_STATE(a_lease_that_goes_on_is_no_start)
IN_NEW_STATE(an_on_start_that_fails_starts)
IN_NEW_STATE(on_continue_ids_go_on)
IN_NEW_STATE(on_refuse_the_lease_ends_until_the_store_answers)
IN_NEW_STATE(an_on_store_down_that_fails_goes_on)
IN_NEW_STATE(on_claim_another_number_is_claimed)
IN_NEW_STATE(without_a_word_another_number_is_claimed)
IN_NEW_STATE(an_on_lease_lost_that_fails_claims)
IN_NEW_STATE(on_stop_no_number_is_claimed)

static const struct check_case cases[] = {
    {"the worker id that choose_worker returns is claimed, and its reason is logged",
     the_number_that_is_named_is_claimed_},
    {"if a worker id is held, the policy is asked again with fresh records",
     a_number_that_is_held_is_asked_about_again_},
    {"a choice that a policy repeats for a held worker id is logged once, and another choice at once",
     a_choice_that_is_repeated_is_logged_once_},
    {"no worker id: pauses report the reason, and the policy is asked again",
     no_number_is_a_reason_and_a_second_question_},
    {"without choose_worker, the fixed rule chooses", where_no_function_chooses_the_fixed_rule_does_},
    {"if choose_worker fails in any way, the fixed rule chooses, and the failure is logged",
     a_function_that_fails_leaves_the_fixed_rule_},
    {"a choose_worker that failed is not called for a second", a_function_that_failed_is_left_alone_for_a_second_},
    {"with a worker id assigned by hand, choose_worker is not called, but on_start is",
     a_number_given_by_hand_is_no_question_of_choice_},
    {"if on_start refuses, nothing is claimed, and pauses report the reason", what_on_start_refuses_is_over_},
    {"on_start is called once, with the last time", on_start_is_asked_once_and_hears_of_the_last_time_},
    {"a lease that continues is not a start", a_lease_that_goes_on_is_no_start_},
    {"if on_start fails, the generator starts", an_on_start_that_fails_starts_},
    {"on_store_down is called every second, and on 'continue' ids continue", on_continue_ids_go_on_},
    {"on 'refuse' by on_store_down, the lease ends until the store replies",
     on_refuse_the_lease_ends_until_the_store_answers_},
    {"if on_store_down fails, ids continue", an_on_store_down_that_fails_goes_on_},
    {"on 'claim' by on_lease_lost, another worker id is claimed", on_claim_another_number_is_claimed_},
    {"without on_lease_lost, another worker id is claimed as well", without_a_word_another_number_is_claimed_},
    {"if on_lease_lost fails, another worker id is claimed", an_on_lease_lost_that_fails_claims_},
    {"on 'stop' by on_lease_lost, no worker id is claimed, and pauses report the reason",
     on_stop_no_number_is_claimed_},
};

CHECK_MAIN(cases)
