/* server_steps.c -- bytes in, replies out, under a clock that the test moves: what waits, for how long, and what is
 * said when waiting is over; the table of commands, row by row. */
#include "steps.h"

/* ------------------------------------------------------------------ waiting */

static void waits_for_the_clock(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE));
    CHECK_EQ_I64(step(GET_ONE), VS_STEP_PAUSED);
    CHECK_EQ_U64(out.used, 0);
    CHECK_EQ_I64(session.wait_us, 1000);
    pass_us(session.wait_us);
    CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE));
    CHECK_EQ_I64(session.deadline_us, 0);
    close_server();
}

static void keeps_what_it_has(void) {
    static const char mget[] =
        "MGET default default default default default default default default default default\r\n";
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    CHECK_EQ_I64(step(mget), VS_STEP_PAUSED);
    CHECK_EQ_U64(session.kept_count, 4);
    uint64_t first = session.kept[0];
    pass_us(1000);
    CHECK_EQ_I64(step(mget), VS_STEP_PAUSED);
    CHECK_EQ_U64(session.kept_count, 8);
    CHECK_EQ_U64(session.kept[0], first);
    pass_us(1000);
    CHECK_EQ_I64(step(mget), (int)strlen(mget));
    CHECK_EQ_I64(count_bulks(), 10);
    CHECK_EQ_U64(strtoull(replies + strlen("*10\r\n$19\r\n"), NULL, 10), first);
    CHECK(!session.kept);
    close_server();
}

static void queues_behind(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    scratch.waiting = 1;
    scratch.pause = (struct vesta_pause){.why = VESTA_FULL, .wait_us = 700};
    CHECK_EQ_I64(step(GET_ONE), VS_STEP_PAUSED); /* there are ids, but another came first */
    CHECK_EQ_I64(session.wait_us, 700);
    CHECK_EQ_I64(step("PING\r\n"), 6); /* needs none */
    session.deadline_us = boot_now_us + 100000;
    CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE)); /* its turn */
    CHECK_EQ_I64(step("MGET default default\r\n"), VS_STEP_PAUSED);
    CHECK_EQ_U64(session.kept_count, 0);
    scratch.waiting = 0;
    close_server();
}

static void gives_up(void) {
    static const char many[] = "GET /v1/ids?n=10000 HTTP/1.1\r\nHost: a\r\n\r\n";
    open_server(FOUR_A_MS, VS_HTTP, 10, VESTA_UNSAFE_PRIVATE);
    int tries = 0;
    while (step(many) == VS_STEP_PAUSED && tries++ < 100)
        pass_us(session.wait_us);
    CHECK_EQ_I64(tries, 10);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    CHECK_HAS(replies, "\"code\":\"full\",");
    CHECK(!session.kept && session.deadline_us == 0);
    close_server();
}

static void does_not_wait_in_vain(void) {
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n");
    unix_now_us -= 2500000;
    CHECK(step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n") > 0); /* at once: the clock will not be back within 100 ms */
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 3\r\n");
    CHECK_HAS(replies, "Content-Type: text/plain\r\n");
    session.face = VS_RESP;
    CHECK(step(GET_ONE) > 0);
    CHECK_HAS(replies, "-TRYAGAIN the clock is 2.5");
    unix_now_us += 2450000;
    CHECK_EQ_I64(step(GET_ONE), VS_STEP_PAUSED);
    close_server();
}

static void ends(void) {
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    int64_t end_us = vesta_layout_end_ms(app.space[0].layout) * 1000;
    boot_now_us += end_us - unix_now_us;
    unix_now_us = end_us;
    CHECK(step("GET /v1/ids HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 500 ");
    CHECK_HAS(replies, "\"code\":\"epoch_end\"");
    CHECK(!strstr(replies, "Retry-After"));
    session.face = VS_RESP;
    CHECK(step(GET_ONE) > 0);
    CHECK_HAS(replies, "-ERR the layout's time is over");
    close_server();
}

static void has_no_lease(void) {
    open_server(FOUR_A_MS, VS_RESP, 20, VESTA_NO_KEEPER);
    int tries = 0;
    while (step(GET_ONE) == VS_STEP_PAUSED && tries++ < 100) {
        CHECK(session.wait_us >= 1000 && session.wait_us <= 5000);
        pass_us(session.wait_us);
    }
    CHECK(tries >= 4 && tries <= 20);
    CHECK_HAS(replies, "-LOADING no lease");
    session.face = VS_HTTP;
    app.space[0].wait_us_max = 0;
    CHECK(step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    CHECK(step("GET /makeid?time=1&seq=1 HTTP/1.1\r\nHost: a\r\n\r\n") > 0); /* whose machine is not known */
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    close_server();
}

/* ------------------------------------------------------------------ the table */

static void has_whole_rows(void) {
    int routes = 0, names = 0;
    for (int i = 0; vs_call_at(i); i++) {
        const struct vs_call *call = vs_call_at(i);
        struct vs_word rest;
        CHECK(call->handler && call->help && (call->name || call->route));
        CHECK(call->args_min <= call->args_max && call->args_max < VS_RESP_ARGS_MAX);
        CHECK(!call->route || (call->methods & (VS_GET | VS_POST)));
        CHECK_HAS(call->help, call->name ? call->name : call->route);
        if (call->name) CHECK(vs_call_named((struct vs_word){call->name, strlen(call->name)}) == call);
        char path[64];
        snprintf(path, sizeof path, "%s%s", call->route ? call->route : "",
                 call->route && strchr(call->help, '{') ? "1" : "");
        for (int face = VS_HTTP; call->route && face <= VS_ADMIN; face++) {
            const struct vs_call *found =
                vs_call_routed((struct vs_word){path, strlen(path)}, (enum vs_face)face, &rest);
            CHECK(found == (vs_call_is_at(call, (enum vs_face)face) ? call : NULL));
        }
        names += call->name != NULL;
        routes += call->route != NULL;
    }
    CHECK(names >= 12 && routes >= 7);
    CHECK(!vs_call_at(-1));
}

static void has_a_word_for_every_pause(void) {
    open_server(FOUR_A_MS, VS_HTTP, 0, VESTA_UNSAFE_PRIVATE);
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++) {
        struct vs_request r = {.session = &session, .out = &out, .face = VS_RESP};
        out.used = 0;
        CHECK(vs_refuse(&r, vesta_why_name((enum vesta_why)why), "why") == VS_ANSWERED);
        replies[out.used] = '\0';
        CHECK_HAS(replies, " why\r\n");
    }
    close_server();
}

static const struct check_case cases[] = {
    {"a request that comes too early answers nothing, and the same bytes give an id when the clock has moved",
     waits_for_the_clock},
    {"ids taken before a pause are kept for the next try, and none is lost", keeps_what_it_has},
    {"who comes while others wait queues behind them, who needs no id does not", queues_behind},
    {"a request gives up at its deadline: 503, when to come again, and nothing is kept", gives_up},
    {"a wait longer than the deadline is not begun", does_not_wait_in_vain},
    {"the end of the layout's time is 500 and -ERR", ends},
    {"without a lease a request looks often, then says LOADING or 503", has_no_lease},
    {"every row of the table is whole, and is found by its name and its route", has_whole_rows},
    {"every kind of pause has an answer", has_a_word_for_every_pause},
};

CHECK_MAIN_OF_STEPS(cases)
