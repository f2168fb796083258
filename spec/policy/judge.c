/* judge.c -- the control thread and verdicts about pauses: asked for once, in force for a moment, carried out.  Also
 * functions that fail and are not called for a while, and a call that does not end. */
#include "base/array.h"
#include "control.h"

#define POLICY(on_clock_back) "return { api = 1, on_clock_back = function(ctx) " on_clock_back " end }"

/* ------------------------------------------------------------------ asking */

static void is_asked_once(void) {
    int64_t until_us;
    int pending = 0;
    set_desk(POLICY("for i = 1, 100000 do end return 'refuse'"));
    for (int i = 0; i < 1000; i++)
        pending += ask_once(0, &desk.back, &until_us) == VS_PENDING;
    CHECK(pending > 0);
    settle();
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_REFUSE);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 1);
    CHECK_EQ_I64(atomic_load(&desk.changes), 1);
    clear_desk();
}

static void stays_in_force_while_it_is_asked_again(void) {
    int64_t until_us;
    set_desk(POLICY("return 'refuse'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    pass_ms(249);
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 1);
    pass_ms(1);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_REFUSE); /* at once, while the policy is asked again */
    settle();
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 2);
    pass_ms(1000);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_PENDING); /* from another time */
    settle();
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 3);
    clear_desk();
}

static void is_about_the_slot_that_paused(void) {
    int64_t until_us;
    set_desk(POLICY("return 'refuse'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    struct vesta_pause other = desk.back;
    other.slot++;
    CHECK_EQ_I64(ask_once(0, &other, &until_us), VS_PENDING);
    settle();
    CHECK_EQ_I64(ask_once(0, &other, &until_us), VS_REFUSE);
    clear_desk();
}

static void has_no_say_without_a_function(void) {
    set_desk(POLICY("return 'refuse'"));
    struct vesta_pause pause = desk.back;
    CHECK_EQ_I64(ask(0, &desk.full), VS_NO_VERDICT);
    CHECK_EQ_I64(ask(1, &desk.back), VS_NO_VERDICT); /* a namespace without a policy */
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++) {
        pause.why = (enum vesta_why)why;
        if (why != VESTA_CLOCK_BACK) CHECK_EQ_I64(ask(0, &pause), VS_NO_VERDICT);
    }
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK) + calls(VS_ON_EXHAUSTED, VS_CALL_OK), 0);
    clear_desk();
}

static void is_told_what_happened(void) {
    set_desk(
        "return { api = 1,\n"
        "  on_clock_back = function(c) if c.back_ms < 100 then return 'wait' end\n"
        "    error(c.namespace .. ' ' .. c.back_ms .. ' ' .. c.worker .. ' ' .. c.ahead_ms_max .. ' ' .. c.now_ms)\n"
        "  end,\n"
        "  on_exhausted = function(c) return 'refuse', 'ahead by ' .. c.ahead_ticks end }");
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_HAS(status_now().last_error, "default 3000 5 0 1699999997000");
    CHECK_EQ_I64(ask(0, &desk.full), VS_REFUSE);
    CHECK_HAS(told(), "reason=\"ahead by 4\"");
    clear_desk();
}

static int count_in(const char *text, const char *part) {
    int count = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        count++;
    return count;
}

static void says_ten_lines_a_second_and_how_many_not(void) {
    set_desk("local n = 0 return { api = 1, on_clock_back = function(ctx)\n"
             "  for i = 1, 25 do n = n + 1 log('line ' .. n .. ' \\n' .. ('x'):rep(2000)) end return 'refuse' end }");
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    CHECK_EQ_I64(count_in(told(), "msg=\"a policy says\""), 10);
    CHECK_HAS(told(), "namespace=default policy=");
    CHECK_HAS(told(), "text=\"line 1 \\\\x0axxx");
    CHECK(!strstr(told(), "dropped="));
    pass_ms(1000);
    ask(0, &desk.back);
    CHECK_HAS(told(), "line 26 ");
    CHECK_HAS(told(), "dropped=15");
    pass_ms(999);
    vs_saying_tell(desk.control->set); /* the thread is idle */
    CHECK_EQ_I64(count_in(told(), "a policy logged more lines"), 0);
    pass_ms(1);
    vs_saying_tell(desk.control->set);
    vs_saying_tell(desk.control->set);
    CHECK_EQ_I64(count_in(told(), "a policy logged more lines"), 1);
    clear_desk();
}

/* Each line costs the call a thousand instructions, logged or not: 500000 instructions are 500 lines. */
static void saying_without_end_ends(void) {
    set_desk("local n = 0 return { api = 1, on_clock_back = function(ctx) if ctx.back_ms < 100 then return 'wait' end\n"
             "  while true do log 'x' end end }");
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_INSTRUCTIONS), 1);
    uint64_t dropped = desk.control->set->saying[0].dropped;
    CHECK(dropped > 400 && dropped < 500);
    clear_desk();
}

/* ------------------------------------------------------------------ carrying out */

static int ids_now(void) {
    struct vesta_pause pause;
    uint64_t id;
    int count = 0;
    while (vesta_next(desk.gen, &id, &pause) == VESTA_OK)
        count++;
    return count;
}

static void borrows(void) {
    set_desk(POLICY("return 'borrow', 2"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN);
    CHECK_EQ_I64(ids_now(), 2 * 4);
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN); /* in force, but there are no more ids */
    CHECK_EQ_I64(ids_now(), 0);
    CHECK_HAS(told(), "hook=on_clock_back amount_ms=2 back_ms=3000");
    clear_desk();
    set_desk(POLICY("return 'borrow'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN);
    CHECK_EQ_I64(ids_now(), 3001 * 4); /* as long as the clock is behind */
    clear_desk();
}

/* 12,000 ids are borrowed.  After the first of them, the clock goes back by ten more minutes. */
static void is_asked_again_when_a_loan_expires(void) {
    struct vesta_pause pause;
    uint64_t id;
    set_desk(POLICY("if ctx.back_ms > 60000 then return 'refuse', 'too far' end return 'borrow'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN);
    CHECK(vesta_next(desk.gen, &id, &pause) == VESTA_OK);
    desk.unix_us -= 600 * 1000 * MS;
    CHECK(vesta_next(desk.gen, &id, &pause) == VESTA_OK);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 1);
    pass_ms(VESTA_VERDICT_MS);
    CHECK(ids_now() <= 4); /* the rest of the time unit, under history pacing */
    CHECK(vesta_next(desk.gen, &id, &pause) == VESTA_EPAUSE);
    CHECK_STR(vesta_why_name(pause.why), "clock_back");
    CHECK_EQ_I64(ask(0, &pause), VS_REFUSE);
    CHECK_HAS(told(), "msg=\"a policy judged: refuse\"");
    CHECK_HAS(told(), "reason=\"too far\" back_ms=60");
    CHECK_EQ_I64(ids_now(), 0);
    clear_desk();
}

static void logs_a_loan_that_goes_on_every_ten_seconds(void) {
    set_desk(POLICY("return 'borrow'"));
    for (int i = 0; i < 20; i++) {
        CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN);
        pass_ms(VESTA_VERDICT_MS);
    }
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 20);
    CHECK_EQ_I64(count_in(told(), "a policy judged: borrow"), 2);
    clear_desk();
}

static void says_how_long_to_wait(void) {
    int64_t until_us;
    set_desk(POLICY("return 'wait', 70"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_WAIT);
    pass_ms(100);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_WAIT);
    CHECK_EQ_I64(until_us, atomic_load(&desk.boot_us) + 70 * MS); /* each request has its own time */
    clear_desk();
    set_desk(POLICY("return 'wait'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_WAIT);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_WAIT);
    CHECK_EQ_I64(until_us, INT64_MAX);
    clear_desk();
}

static void keeps_a_number_given_by_hand_and_says_so_once(void) {
    set_desk(POLICY("return 'switch'"));
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
        pass_ms(2000);
    }
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_OK), 3);
    const char *first = strstr(told(), "counts as 'refuse': this worker id was assigned by hand");
    CHECK(first && !strstr(first + 1, "counts as 'refuse'"));
    clear_desk();
}

static void may_change_its_mind(void) {
    set_desk("local calls = 0\n"
             "return { api = 1, on_clock_back = function()\n"
             "  calls = calls + 1 if calls == 1 then return 'borrow', 1 end return 'refuse' end }");
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN); /* its first call: the calls of the trial are forgotten */
    pass_ms(250);
    CHECK_EQ_I64(ask(0, &desk.back), VS_TRY_AGAIN);
    CHECK_EQ_I64(ask(0, &desk.back), VS_REFUSE);
    CHECK_EQ_I64(atomic_load(&desk.changes), 2);
    clear_desk();
}

/* ------------------------------------------------------------------ failing */

static void leaves_the_fixed_rules_where_it_fails(void) {
    static const struct {
        const char *body;
        enum vs_call_result result;
        const char *error;
    } failing[] = {
        {"error('no luck')", VS_CALL_ERROR, "no luck"},
        {"return nil + 1", VS_CALL_ERROR, "arithmetic"},
        {"return 42", VS_CALL_GARBAGE, "42"},
        {"return nil", VS_CALL_GARBAGE, "on_clock_back returned nil"},
        {"while true do end", VS_CALL_INSTRUCTIONS, "instructions"},
        {"local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end", VS_CALL_MEMORY, "memory"},
    };
    for (size_t i = 0; i < VS_COUNT(failing); i++) {
        char source[512];
        int64_t until_us;
        snprintf(source, sizeof source,
                 "return { api = 1, on_clock_back = function(c)\nif c.back_ms > 100 then %s end\n"
                 "return 'refuse' end }",
                 failing[i].body);
        set_desk(source);
        CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
        struct vs_policies_status status = status_now();
        CHECK_EQ_U64(status.calls[VS_ON_CLOCK_BACK][failing[i].result], 1);
        CHECK_HAS(status.last_error, failing[i].error);
        if (failing[i].result != VS_CALL_MEMORY) CHECK_HAS(status.last_error, "p0.lua:"); /* and the line */
        CHECK_EQ_I64(status.last_error_unix_ms, atomic_load(&desk.unix_us) / 1000);
        CHECK(!status.stuck && status.reload_ok);
        CHECK_HAS(told(), "a policy failed: the fixed rules hold");
        CHECK_HAS(told(), vs_call_result_name(failing[i].result));
        CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_NO_VERDICT);
        clear_desk();
    }
}

static void is_left_alone_for_longer_and_longer(void) {
    static const int seconds[] = {1, 2, 4, 8, 16, 32, 60, 60};
    uint64_t called = 1;
    set_desk(POLICY("if ctx.back_ms > 100 then error('no') end return 'refuse'"));
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    for (size_t i = 0; i < VS_COUNT(seconds); i++) {
        pass_ms(1000 * seconds[i] - 1);
        CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
        CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_ERROR), called);
        pass_ms(1);
        CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT); /* no request waits for a function that has failed */
        CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_ERROR), ++called);
    }
    struct vesta_pause little = desk.back;
    little.back_us = 50 * MS; /* now it returns a verdict */
    pass_ms(60000);
    CHECK_EQ_I64(ask(0, &little), VS_NO_VERDICT);
    CHECK_EQ_I64(ask(0, &little), VS_REFUSE);
    CHECK_HAS(told(), "works again");
    pass_ms(1000);
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_HAS(strstr(told(), "works again"), "again_in_ms=1000"); /* starts again with the shortest pause */
    clear_desk();
}

static void harms_nobody_else(void) {
    static const char fails[] = POLICY("if ctx.back_ms > 100 then while true do end end return 'refuse'");
    set_desk(fails);
    write_policy(1, POLICY("return 'wait', 1"));
    reload();
    CHECK_EQ_I64(ask(0, &desk.back), VS_NO_VERDICT);
    CHECK_EQ_I64(ask(1, &desk.back), VS_WAIT);
    clear_desk();
}

/* ------------------------------------------------------------------ a call that does not end */

static void is_seen_to_be_stuck(void) {
    int64_t until_us;
    set_desk_within(POLICY("if ctx.back_ms > 100 then while true do end end return 'refuse'"),
                    (struct vs_vm_limits){.call_ms = 60000, .instructions = UINT64_MAX, .clock = &desk.clock});
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_PENDING);
    AWAIT(atomic_load(&desk.control->busy_since_us) != 0);
    CHECK(!status_now().stuck);
    pass_ms(VS_STUCK_MS - 1);
    CHECK(!status_now().stuck);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_PENDING);
    pass_ms(1);
    CHECK_EQ_I64(ask_once(0, &desk.back, &until_us), VS_NO_VERDICT);
    CHECK(status_now().stuck);
    CHECK_HAS(told(), "a policy is stuck");
    AWAIT((pass_ms(60000), is_idle())); /* its budget ends it in the end */
    CHECK(!status_now().stuck);
    CHECK_EQ_U64(calls(VS_ON_CLOCK_BACK, VS_CALL_TIME), 1);
    CHECK_HAS(told(), "has returned");
    clear_desk();
}

/* ------------------------------------------------------------------ many at once */

#define JUDGES 4

static atomic_bool enough;
static atomic_ullong seen[VS_REFUSE + 1];

static void *judge_on(void *arg) {
    (void)arg;
    for (int i = 0; !atomic_load(&enough); i++) {
        int64_t until_us;
        atomic_fetch_add(&seen[ask_once(i % NAMESPACES, i % 3 ? &desk.back : &desk.full, &until_us)], 1);
        if (i % 100 == 0) pass_ms(10);
        usleep(20); /* the control thread has a lower priority than a thread that does not rest */
    }
    return NULL;
}

static bool all_seen(void) {
    bool all = true;
    for (int verdict = VS_NO_VERDICT; verdict <= VS_REFUSE; verdict++)
        all = all && atomic_load(&seen[verdict]) > 0;
    return all;
}

static void is_asked_by_many_while_others_reload(void) {
    pthread_t threads[JUDGES];
    set_desk_within(POLICY("return 'refuse'"), (struct vs_vm_limits){0});
    write_policy(1, "return { api = 1, on_clock_back = function() return 'wait', 5 end, "
                    "on_exhausted = function() return 'borrow', 1 end }");
    for (int i = 0; i < JUDGES; i++)
        if (pthread_create(&threads[i], NULL, judge_on, NULL) != 0) abort();
    for (int i = 0; i < 20; i++)
        reload_while_asked();
    AWAIT(all_seen());
    atomic_store(&enough, true);
    for (int i = 0; i < JUDGES; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_U64(status_now().generation, 21);
    settle();
    clear_desk();
}

static const struct check_case cases[] = {
    {"a policy is asked once, however many requests need the verdict", is_asked_once},
    {"a verdict stays in force for a moment, and while the policy is asked again",
     stays_in_force_while_it_is_asked_again},
    {"a verdict applies to the slot that paused", is_about_the_slot_that_paused},
    {"without a function, nothing is asked", has_no_say_without_a_function},
    {"a function gets the facts of the pause", is_told_what_happened},
    {"ten lines of a policy are logged per second, and the number of the others",
     says_ten_lines_a_second_and_how_many_not},
    {"a policy that logs lines without end is ended", saying_without_end_ends},
    {"borrow: the slot runs ahead, up to the given time", borrows},
    {"borrow: a loan expires, and the policy is asked again with the new difference of the clock",
     is_asked_again_when_a_loan_expires},
    {"borrow: a loan that continues is logged every ten seconds", logs_a_loan_that_goes_on_every_ten_seconds},
    {"wait: the time counts from each request's own start", says_how_long_to_wait},
    {"switch counts as refuse for a worker id that was assigned by hand, and that is logged once",
     keeps_a_number_given_by_hand_and_says_so_once},
    {"a policy may change its verdict, and starts with its first call", may_change_its_mind},
    {"if a function fails in any way, the fixed rules hold, and the failure is logged",
     leaves_the_fixed_rules_where_it_fails},
    {"a function that fails is not called for a while, longer each time up to a minute",
     is_left_alone_for_longer_and_longer},
    {"an endless policy delays no verdict of other namespaces", harms_nobody_else},
    {"a call that does not end is detected, and so is its end", is_seen_to_be_stuck},
    {"many threads ask while policies are reloaded", is_asked_by_many_while_others_reload},
};

CHECK_MAIN(cases)
