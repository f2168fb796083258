/* server_steps.c -- requests in, replies out, under a clock that the test moves: which requests wait, for how long, and
 * with which reply the wait ends. Also the table of commands, row by row. */
#include "steps.h"

/* ------------------------------------------------------------------ waiting */

static void waits_for_the_clock(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    for (int i = 0; i < 4; i++)
        CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE));
    CHECK_EQ_I64(step(GET_ONE), NET_WAITS);
    CHECK_EQ_U64(out.used, 0);
    CHECK_EQ_I64(session.waiting.wait_us, 1000);
    pass_us(session.waiting.wait_us);
    CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE));
    CHECK_EQ_I64(session.waiting.deadline_us, 0);
    close_server();
}

static void keeps_its_ids(void) {
    static const char mget[] =
        "MGET default default default default default default default default default default\r\n";
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    CHECK_EQ_I64(step(mget), NET_WAITS);
    CHECK_EQ_U64(session.waiting.ids_count, 4);
    uint64_t first = session.waiting.ids[0];
    pass_us(1000);
    CHECK_EQ_I64(step(mget), NET_WAITS);
    CHECK_EQ_U64(session.waiting.ids_count, 8);
    CHECK_EQ_U64(session.waiting.ids[0], first);
    pass_us(1000);
    CHECK_EQ_I64(step(mget), (int)strlen(mget));
    CHECK_EQ_I64(count_bulks(), 10);
    CHECK_EQ_U64(strtoull(replies + strlen("*10\r\n$19\r\n"), NULL, 10), first);
    CHECK(!session.waiting.ids);
    close_server();
}

/* ------------------------------------------------------------------ once */

static int runs;

static struct vs_desk_job *pending;

static bool take_job(struct vs_desk *self, struct vs_desk_job *job) {
    (void)self;
    CHECK(!pending);
    pending = job;
    return true;
}

static void answer_job(void) {
    if (!pending) return;
    pending->numbers = (struct vesta_numbers){.first = 7, .count = 1, .stride = 1};
    pending->answer = VS_DESK_DONE;
    vs_tags_let(pending->tags);
    atomic_store(&pending->is_done, true);
    vs_desk_job_let(pending);
    pending = NULL;
}

/* Runs a command until it is answered, and counts how often its handler runs. Returns how often the request waited. */
static int waits_of(const char *command, vs_handler *handler, const char *name) {
    struct vs_call row = *vs_call_named((struct vs_slice){command, strlen(command)});
    struct vs_slice arg = {name, strlen(name)};
    struct vs_request first = {.session = &session,
                               .call = &row,
                               .arg = &arg,
                               .arg_count = 1,
                               .out = &out,
                               .protocol = VS_RESP,
                               .ns = server.names.at,
                               .ids = scratch.ids};
    row.handler = handler;
    runs = out.used = 0;
    int waits = 0;
    enum vs_reply_state state = vs_request_run(&first);
    for (; state == VS_WAITS && waits < 100; waits++) {
        pass_us(session.waiting.wait_us);
        if (waits == 3)
            vs_namespace_set(&server.names.at[server.names.count - 1], VS_NAMESPACE_OPEN, NULL), answer_job();
        state = vs_request_go_on(session.waiting.request, &out);
    }
    CHECK_EQ_I64(state, VS_ANSWERED);
    vs_request_end(session.waiting.request);
    return waits;
}

static enum vs_reply_state counted_next(struct vs_request *r) {
    return runs++, vs_on_next(r);
}

static enum vs_reply_state counted_count(struct vs_request *r) {
    return runs++, vs_on_count(r);
}

static void runs_a_handler_once(void) {
    static struct vs_desk desk = {.take = take_job};
    struct vs_served_tag *tag = vs_tag_new("orders", 1);
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    char store[96];
    snprintf(store, sizeof store, "file:%s/numbers", getenv("VESTA_STATE"));
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    for (int i = 0; i < 4; i++)
        step(GET_ONE);
    CHECK(waits_of("GET", counted_next, "default") > 0);
    CHECK_EQ_I64(runs, 1);
    add_namespace("late", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
    vs_namespace_set(&server.names.at[1], VS_NAMESPACE_OPENING, "not yet");
    CHECK(waits_of("GET", counted_next, "late") >= 4);
    CHECK_EQ_I64(runs, 1);
    opts.stores[0] = store;
    opts.tag = "orders";
    opts.order = VESTA_STRICT;
    opts.flags = VESTA_NO_KEEPER;
    opts.clock = &fake;
    CHECK(vesta_segment_open(&opts, &tag->seg, NULL) == VESTA_OK);
    tag->wait_us_max = 10000000;
    tag->desk = &desk;
    struct vs_tag_set *set = vs_tag_set_new(&tag, 1);
    vs_tags_replace(&server.tags, set);
    CHECK_EQ_I64(waits_of("INCR", counted_count, "orders"), 4);
    CHECK_EQ_I64(runs, 1);
    CHECK_HAS(replies, ":7\r\n");
    vs_tags_replace(&server.tags, NULL);
    CHECK(!vs_tags_are_held(set));
    vs_tag_set_free(set);
    vesta_segment_close(tag->seg);
    vs_tag_free(tag);
    close_server();
}

/* Creates a tag that never gets a range, because no keeper runs. */
static struct vs_served_tag *rangeless_tag(enum vesta_order order, struct vs_desk *desk) {
    struct vs_served_tag *tag = vs_tag_new("orders", 1);
    struct vesta_segment_opts opts = VESTA_SEGMENT_OPTS_INIT;
    char store[96];
    snprintf(store, sizeof store, "file:%s/numbers", getenv("VESTA_STATE"));
    opts.stores[0] = store;
    opts.tag = "orders";
    opts.order = order;
    opts.flags = VESTA_NO_KEEPER;
    opts.clock = &fake;
    CHECK(vesta_segment_open(&opts, &tag->seg, NULL) == VESTA_OK);
    tag->desk = desk;
    tag->wait_us_max = 10000000;
    return tag;
}

static void is_rejected_without_its_tag(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    struct vs_served_tag *tag = rangeless_tag(VESTA_TREND, NULL);
    struct vs_tag_set *set = vs_tag_set_new(&tag, 1);
    vs_tags_replace(&server.tags, set);
    CHECK_EQ_I64(step("INCR orders\r\n"), NET_WAITS);
    CHECK_EQ_I64(step("INCR orders\r\n"), NET_WAITS);
    vs_tags_replace(&server.tags, NULL);
    CHECK(vs_tags_are_held(set));
    CHECK(step("INCR orders\r\n") > 0);
    CHECK_HAS(replies, "-ERR unknown name 'orders'");
    CHECK(!vs_tags_are_held(set));
    vs_tag_set_free(set);
    vesta_segment_close(tag->seg);
    vs_tag_free(tag);
    close_server();
}

static void is_rejected_without_its_strict_tag(void) {
    static struct vs_desk desk = {.take = take_job};
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    struct vs_served_tag *tag = rangeless_tag(VESTA_STRICT, &desk);
    struct vs_tag_set *set = vs_tag_set_new(&tag, 1);
    vs_tags_replace(&server.tags, set);
    CHECK_EQ_I64(step("MGET orders default\r\n"), NET_WAITS);
    vs_tags_replace(&server.tags, NULL);
    CHECK(step("MGET orders default\r\n") > 0);
    CHECK_HAS(replies, "-ERR unknown name 'orders'");
    answer_job();
    vs_tags_replace(&server.tags, set);
    CHECK_EQ_I64(step("INCR orders\r\n"), NET_WAITS);
    vs_tags_replace(&server.tags, NULL);
    answer_job(); /* too late: other clients may already have received the error */
    CHECK(step("INCR orders\r\n") > 0);
    CHECK_HAS(replies, "-ERR unknown name 'orders'");
    CHECK(!vs_tags_are_held(set));
    vs_tag_set_free(set);
    vesta_segment_close(tag->seg);
    vs_tag_free(tag);
    close_server();
}

static void is_rejected_without_its_tag_before_its_turn(void) {
    static struct vs_desk desk = {.take = take_job};
    struct vs_peer tcp = {.family = 4, .at = {127, 0, 0, 1}};
    enum ledger_owner who;
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    struct vs_limits slow = limits;
    slow.address_rate[LEDGER_IDS] = 1;
    slow.proto_max[VS_RESP] = slow.tcp_max[VS_RESP] = slow.of_address[VS_RESP] = 1;
    ledger_free(server.ledger);
    server.ledger = ledger_new(&slow);
    struct vs_served_tag *tag = rangeless_tag(VESTA_STRICT, &desk);
    struct vs_tag_set *set = vs_tag_set_new(&tag, 1);
    vs_tags_replace(&server.tags, set);
    CHECK_EQ_I64(ledger_enter(server.ledger, &session.entry, VS_RESP, &tcp, false), VS_LET_IN);
    session.is_metered = true;
    scratch.now_us = boot_now_us;
    CHECK(ledger_charge(&session.entry, NULL, LEDGER_IDS, 3, scratch.now_us, 0, &who) == 0);
    CHECK_EQ_I64(step("MGET orders\r\n"), NET_WAITS);
    CHECK_EQ_I64(session.waiting.request->waits_for, VS_FOR_SHARE);
    vs_tags_replace(&server.tags, NULL);
    pass_us(5000000);
    scratch.now_us = boot_now_us;
    CHECK(step("MGET orders\r\n") > 0);
    CHECK_HAS(replies, "-ERR unknown name 'orders'");
    CHECK(!pending && !vs_tags_are_held(set));
    vs_tag_set_free(set);
    vesta_segment_close(tag->seg);
    vs_tag_free(tag);
    ledger_leave(server.ledger, &session.entry, scratch.now_us);
    close_server();
}

/* Starts another connection of the same event loop. Returns the current one. */
static struct vs_session another(void) {
    struct vs_session was = session;
    session = (struct vs_session){.server = &server, .scratch = &scratch, .protocol = was.protocol};
    return was;
}

static void queues_behind(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 1;
    scratch.queue[VS_QUEUE_OF_IDS + 0].pause = (struct vesta_pause){.why = VESTA_FULL, .wait_us = 700};
    CHECK_EQ_I64(step(GET_ONE), NET_WAITS); /* there are ids, but another request came first */
    CHECK_EQ_I64(session.waiting.wait_us, 700);
    struct vs_session first = another();
    CHECK_EQ_I64(step("PING\r\n"), 6); /* PING needs no ids */
    CHECK_EQ_I64(step("MGET default default\r\n"), NET_WAITS);
    CHECK_EQ_U64(session.waiting.ids_count, 0);
    vs_session_end(&session);
    session = first;
    CHECK_EQ_I64(step(GET_ONE), (int)strlen(GET_ONE)); /* now its connection is first in the queue */
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 0;
    close_server();
}

/* A waiting request must not point into the buffer that it arrived in, because the loop reads and answers others in the
 * meantime. */
static void is_whole_while_it_waits(void) {
    static const struct {
        const char *request, *answer;
    } asked[] = {
        {"GET /v1/ids?ns=o%72ders&n=2&format=text HTTP/1.1\r\nHost: a\r\n\r\n", "Content-Type: text/plain\r\n"},
        {"GET /v1/ids?n=2&ns=orders HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\n\r\n", "Content-Type: text/plain\r\n"},
        {"HEAD /genid?ns=orders HTTP/1.0\r\n\r\n", "Content-Length: 18\r\n"},
        {"GET /makeid?time=5&ns=orders&seq=1&machine=6 HTTP/1.1\r\nHost: a\r\n\r\n", "\r\n\r\n22020102"},
    };
    for (size_t i = 0; i < VS_COUNT(asked); i++) {
        open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
        add_namespace("orders", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
        vs_namespace_set(&server.names.at[1], VS_NAMESPACE_OPENING, "not yet");
        CHECK_EQ_I64(step(asked[i].request), NET_WAITS);
        CHECK_EQ_U64(session.waiting.bytes, strlen(asked[i].request));
        struct vs_session first = another();
        CHECK(step("GET /expid?id=%31 HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
        session = first;
        CHECK_EQ_I64(step(asked[i].request), NET_WAITS);
        vs_namespace_set(&server.names.at[1], VS_NAMESPACE_OPEN, NULL);
        CHECK(step(asked[i].request) != NET_WAITS);
        CHECK_HAS(replies, "HTTP/1.1 200 ");
        CHECK_HAS(replies, asked[i].answer);
        CHECK(!session.waiting.request && session.entry.bytes == 0);
        close_server();
    }
}

/* The loop's buffer still contains the last reply, which must not affect the next body. */
static void begins_with_its_own_first_byte(void) {
    static const char *const asked[] = {"GET /version HTTP/1.1\r\nHost: a\r\n\r\n", "GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n",
                                        "GET /v1/ids?n=0 HTTP/1.1\r\nHost: a\r\n\r\n"};
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    for (size_t i = 0; i < VS_COUNT(asked); i++) {
        memset(replies, '}', sizeof replies);
        CHECK(step(asked[i]) > 0);
        CHECK_HAS(replies, "\r\n\r\n{");
    }
    close_server();
}

static void gives_up(void) {
    static const char many[] = "GET /v1/ids?n=10000 HTTP/1.1\r\nHost: a\r\n\r\n";
    open_server(FOUR_A_MS, VS_HTTP, 10, VESTA_UNSAFE_PRIVATE);
    int tries = 0;
    while (step(many) == NET_WAITS && tries++ < 100)
        pass_us(session.waiting.wait_us);
    CHECK_EQ_I64(tries, 10);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    CHECK_HAS(replies, "\"code\":\"full\",");
    CHECK(!session.waiting.ids && session.waiting.deadline_us == 0);
    close_server();
}

static void does_not_begin_a_useless_wait(void) {
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n");
    unix_now_us -= 2500000;
    /* at once, because the clock needs longer than the 100 ms that a request waits */
    CHECK(step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 3\r\n");
    CHECK_HAS(replies, "Content-Type: text/plain\r\n");
    session.protocol = VS_RESP;
    CHECK(step(GET_ONE) > 0);
    CHECK_HAS(replies, "-TRYAGAIN the clock is 2.5");
    unix_now_us += 2450000;
    CHECK_EQ_I64(step(GET_ONE), NET_WAITS);
    close_server();
}

static void ends(void) {
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    int64_t end_us = vesta_layout_end_ms(server.names.at[0].layout) * 1000;
    boot_now_us += end_us - unix_now_us;
    unix_now_us = end_us;
    CHECK(step("GET /v1/ids HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 500 ");
    CHECK_HAS(replies, "\"code\":\"epoch_end\"");
    CHECK(!strstr(replies, "Retry-After"));
    session.protocol = VS_RESP;
    CHECK(step(GET_ONE) > 0);
    CHECK_HAS(replies, "-ERR the layout's time has ended");
    close_server();
}

static void has_no_lease(void) {
    open_server(FOUR_A_MS, VS_RESP, 20, VESTA_NO_KEEPER);
    int tries = 0;
    while (step(GET_ONE) == NET_WAITS && tries++ < 100) {
        CHECK(session.waiting.wait_us >= 1000 && session.waiting.wait_us <= 5000);
        pass_us(session.waiting.wait_us);
    }
    CHECK(tries >= 4 && tries <= 20);
    CHECK_HAS(replies, "-LOADING no lease");
    session.protocol = VS_HTTP;
    server.names.at[0].wait_us_max = 0;
    CHECK(step("GET /genid HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    /* the machine field is unknown without a lease */
    CHECK(step("GET /makeid?time=1&seq=1 HTTP/1.1\r\nHost: a\r\n\r\n") > 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_HAS(replies, "Retry-After: 1\r\n");
    close_server();
}

/* ------------------------------------------------------------------ a policy's verdict */

#define GET_HTTP "GET /genid HTTP/1.1\r\nHost: a\r\n\r\n"

static struct {
    enum vs_next_step says;
    int64_t until_us;
    int64_t borrow_ms; /* how much the policy borrows during the pause; -1: nothing */
    int asked;
    enum vesta_why why;
} policy;

static enum vs_next_step judge(void *self, int ns, struct vesta_gen *gen, const struct vesta_pause *pause,
                             int64_t *until_us) {
    CHECK(self == &policy && ns == 0);
    policy.asked++;
    policy.why = pause->why;
    *until_us = policy.until_us;
    if (policy.borrow_ms >= 0) CHECK(vesta_borrow(gen, pause, policy.borrow_ms) == VESTA_OK);
    return policy.says;
}

/* Opens a server with a policy and a clock that is 3 s behind. */
static void open_judged(enum vs_next_step says) {
    open_server(FOUR_A_MS, VS_HTTP, 100, VESTA_UNSAFE_PRIVATE);
    server.names.at[0].policy_wait_us_max = 2000000;
    server.above.policies = (struct vs_policies){.self = &policy, .judge = judge};
    memset(&policy, 0, sizeof policy);
    policy.says = says;
    policy.until_us = INT64_MAX;
    policy.borrow_ms = -1;
    step(GET_HTTP);
    unix_now_us -= 3000000;
}

/* Repeats the request until it is answered. Returns how long that took. */
static int64_t waited_us(void) {
    int64_t from_us = boot_now_us;
    while (step(GET_HTTP) == NET_WAITS && boot_now_us - from_us < 60000000) {
        CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), 1);
        pass_us(session.waiting.wait_us);
    }
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), 0);
    return boot_now_us - from_us;
}

static void is_refused_at_once(void) {
    for (enum vs_next_step says = VS_NO_VERDICT; says <= VS_REFUSE; says++) {
        if (says != VS_NO_VERDICT && says != VS_TRY_AGAIN && says != VS_REFUSE) continue;
        open_judged(says); /* the policy does not change anything, so the retry also fails */
        CHECK_EQ_I64(waited_us(), 0);
        CHECK_HAS(replies, "HTTP/1.1 503 ");
        CHECK_HAS(replies, "Retry-After: 3\r\n");
        CHECK_EQ_I64(policy.asked, 1);
        CHECK_STR(vesta_why_name(policy.why), "clock_back");
        close_server();
    }
}

static void issues_borrowed_ids(void) {
    open_judged(VS_TRY_AGAIN);
    policy.borrow_ms = 2;
    for (int i = 0; i < 11; i++) { /* 3 units of 4 ids, minus one that was issued before */
        CHECK_EQ_I64(waited_us(), 0);
        CHECK_HAS(replies, "HTTP/1.1 200 ");
    }
    CHECK_EQ_I64(waited_us(), 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    close_server();
}

static void waits_as_long_as_the_policy_decides(void) {
    open_judged(VS_WAIT);
    policy.until_us = boot_now_us + 500000;
    CHECK_EQ_I64(waited_us(), 500000);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    policy.until_us = INT64_MAX; /* the namespace's own limit applies */
    CHECK_EQ_I64(waited_us(), 2000000);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK(waited_us() <= 500000); /* the clock has caught up earlier */
    CHECK_HAS(replies, "HTTP/1.1 200 ");
    close_server();
}

static void waits_once_in_total(void) {
    open_judged(VS_WAIT);
    int64_t from_us = boot_now_us;
    policy.until_us = from_us + 300000;
    while (step(GET_HTTP) == NET_WAITS && boot_now_us - from_us < 3000000) {
        pass_us(session.waiting.wait_us);
        policy.until_us = boot_now_us + 300000;
    }
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK(boot_now_us - from_us <= 300000);
    close_server();
}

static void waits_briefly_for_a_silent_policy(void) {
    open_judged(VS_PENDING);
    CHECK_EQ_I64(waited_us(), 300000);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK(policy.asked > 2);
    close_server();
}

static void applies_a_late_verdict(void) {
    open_judged(VS_PENDING);
    CHECK_EQ_I64(step(GET_HTTP), NET_WAITS);
    CHECK(vs_session_is_due(&session, boot_now_us));
    policy.says = VS_WAIT;
    CHECK_EQ_I64(step(GET_HTTP), NET_WAITS);
    CHECK(!vs_session_is_due(&session, boot_now_us));
    CHECK(vs_session_is_due(&session, boot_now_us + 2000000));
    unix_now_us += 3000000;
    CHECK(step(GET_HTTP) > 0);
    CHECK_HAS(replies, "HTTP/1.1 200 ");
    CHECK(!vs_session_is_due(&session, boot_now_us));
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), 0);
    close_server();
}

static void does_not_wait_at_the_limit_or_at_the_end(void) {
    open_judged(VS_WAIT);
    atomic_store(&server.waiting_by_policy, VS_BY_POLICY_MAX);
    CHECK(step(GET_HTTP) > 0);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), VS_BY_POLICY_MAX);
    atomic_store(&server.waiting_by_policy, VS_BY_POLICY_MAX - 1);
    CHECK_EQ_I64(step(GET_HTTP), NET_WAITS);
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), VS_BY_POLICY_MAX);
    session.draining = true; /* while the server stops */
    CHECK_EQ_I64(step(GET_HTTP), NET_CLOSE);
    CHECK_HAS(replies, "HTTP/1.1 503 ");
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), VS_BY_POLICY_MAX - 1);
    atomic_store(&server.waiting_by_policy, 0);
    session.draining = false;
    CHECK_EQ_I64(step(GET_HTTP), NET_WAITS);
    vs_request_forget(&session); /* the client disconnected */
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), 0);
    close_server();
}

static void asks_only_when_the_fixed_rules_give_up(void) {
    open_judged(VS_REFUSE);
    unix_now_us += 2950000;
    CHECK_EQ_I64(step(GET_HTTP), NET_WAITS); /* 50 ms is within the limit, so the policy is not asked */
    CHECK_EQ_I64(policy.asked, 0);
    CHECK_EQ_I64(atomic_load(&server.waiting_by_policy), 0);
    pass_us(session.waiting.wait_us);
    CHECK(step(GET_HTTP) > 0);
    CHECK_HAS(replies, "HTTP/1.1 200 ");
    CHECK_EQ_I64(policy.asked, 0);
    close_server();
}

static void each_namespace_has_its_own_queue(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    add_namespace("orders", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 1;
    scratch.queue[VS_QUEUE_OF_IDS + 0].pause = (struct vesta_pause){.why = VESTA_CLOCK_BACK, .wait_us = 700};
    CHECK_EQ_I64(step(GET_ONE), NET_WAITS);
    CHECK_EQ_I64(session.waiting.queue, VS_QUEUE_OF_IDS);
    vs_request_forget(&session);
    CHECK(step("GET orders\r\n") > 0);
    CHECK_EQ_I64(count_bulks(), 1);
    CHECK_EQ_I64(step("MGET orders default\r\n"), NET_WAITS);
    CHECK_EQ_I64(session.waiting.queue, VS_QUEUE_OF_IDS);
    CHECK_EQ_U64(session.waiting.ids_count, 1);
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 0;
    close_server();
}

/* ------------------------------------------------------------------ the table */

static void has_whole_rows(void) {
    int routes = 0, names = 0;
    for (int i = 0; vs_call_at(i); i++) {
        const struct vs_call *call = vs_call_at(i);
        struct vs_slice rest;
        CHECK(call->handler && (call->name || call->route));
        CHECK(!call->help == !call->name && !call->route_help == !call->route);
        CHECK(call->args_min <= call->args_max && call->args_max < VS_RESP_ARGS_MAX);
        CHECK(!call->route || (call->methods & (VS_GET | VS_POST | VS_PUT)));
        if (call->help) CHECK_HAS(call->help, call->name);
        if (call->route_help) CHECK_HAS(call->route_help, call->route);
        if (call->name) CHECK(vs_call_named((struct vs_slice){call->name, strlen(call->name)}) == call);
        char path[64];
        snprintf(path, sizeof path, "%s%s", call->route ? call->route : "",
                 call->route && strchr(call->route_help, '{') ? "1" : "");
        for (int protocol = VS_HTTP; call->route && protocol <= VS_ADMIN; protocol++) {
            const struct vs_call *found =
                vs_call_routed((struct vs_slice){path, strlen(path)}, (enum vs_protocol)protocol, &rest);
            CHECK(found == (vs_call_is_at(call, (enum vs_protocol)protocol) ? call : NULL));
        }
        names += call->name != NULL;
        routes += call->route != NULL;
    }
    CHECK(names >= 12 && routes >= 7);
    CHECK(!vs_call_at(-1));
}

static void has_a_reply_for_every_pause(void) {
    open_server(FOUR_A_MS, VS_HTTP, 0, VESTA_UNSAFE_PRIVATE);
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++) {
        struct vs_request r = {.session = &session, .out = &out, .protocol = VS_RESP};
        out.used = 0;
        CHECK(vs_refuse(&r, vesta_why_name((enum vesta_why)why), "why") == VS_ANSWERED);
        replies[out.used] = '\0';
        CHECK_HAS(replies, " why\r\n");
    }
    close_server();
}

static const struct check_case cases[] = {
    {"a waiting request is complete and is not parsed again", is_whole_while_it_waits},
    {"the handler of a request runs once, however often the request waits", runs_a_handler_once},
    {"a request that waits for a number is rejected when its tag is removed", is_rejected_without_its_tag},
    {"a request that waits for the desk is rejected when its tag is removed", is_rejected_without_its_strict_tag},
    {"a request that waits for its share is rejected when its tag is removed",
     is_rejected_without_its_tag_before_its_turn},
    {"a request that comes too early waits, and gets an id when the clock has moved", waits_for_the_clock},
    {"ids issued before a pause are kept for the next try, and none is lost", keeps_its_ids},
    {"a request waits behind earlier ones, unless it needs no ids", queues_behind},
    {"each namespace has its own queue", each_namespace_has_its_own_queue},
    {"a policy is asked only when the fixed rules give up", asks_only_when_the_fixed_rules_give_up},
    {"a request is rejected at once if the policy rejects it, has no verdict or retries in vain", is_refused_at_once},
    {"ids that a policy borrowed are issued, and no more", issues_borrowed_ids},
    {"a request waits as long as the policy decides, or as its namespace allows", waits_as_long_as_the_policy_decides},
    {"a request that a policy delays repeatedly waits only once", waits_once_in_total},
    {"a request waits briefly for a policy that does not answer", waits_briefly_for_a_silent_policy},
    {"a policy's verdict is applied when it comes", applies_a_late_verdict},
    {"no request waits for a policy if too many do already, or if the server stops",
     does_not_wait_at_the_limit_or_at_the_end},
    {"a JSON body begins with its own first byte, whatever was in the buffer", begins_with_its_own_first_byte},
    {"a request past its deadline gets 503 with Retry-After, and nothing is kept", gives_up},
    {"a request does not begin a wait longer than its deadline", does_not_begin_a_useless_wait},
    {"the end of the layout's time is 500 and -ERR", ends},
    {"without a lease a request retries often, then gets LOADING or 503", has_no_lease},
    {"every row of the table is complete, and is found by its name and its route", has_whole_rows},
    {"every cause of a pause has a reply", has_a_reply_for_every_pause},
};

CHECK_MAIN_OF_STEPS(cases)
