/* server_multi.c -- MULTI and EXEC under a clock that the test moves: all ids or none, no duplicate, and no loss
 * without an error. */
#include "steps.h"

#define MGET_TEN "MGET default default default default default default default default default default\r\n"

/* Sends requests that are answered at once. The last reply stays in `replies`. */
static void say(const char *const *requests, size_t count) {
    for (size_t i = 0; i < count; i++)
        CHECK_EQ_I64(step(requests[i]), (int)strlen(requests[i]));
}
#define SAY(...)                                                                                                       \
    do {                                                                                                               \
        const char *const requests[] = {__VA_ARGS__};                                                                  \
        say(requests, VS_COUNT(requests));                                                                             \
    } while (0)

static size_t read_ids(uint64_t *ids) {
    size_t count = 0;
    for (const char *at = replies; (at = strchr(at, '$')); count++) {
        at = strchr(at, '\n') + 1;
        ids[count] = strtoull(at, NULL, 10);
    }
    return count;
}

static void check_ascending(const uint64_t *ids, size_t count) {
    for (size_t i = 1; i < count; i++)
        CHECK(ids[i] > ids[i - 1]);
}

/* ------------------------------------------------------------------ EXEC */

static void answers_together(void) {
    uint64_t ids[16];
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n");
    CHECK_STR(replies, "+OK\r\n");
    SAY("GET default\r\n", "PING\r\n", "GET nowhere\r\n", "MGET default default\r\n");
    CHECK_STR(replies, "+QUEUED\r\n");
    CHECK(!session.waiting.ids);
    SAY("EXEC\r\n");
    CHECK_HAS(replies, "*4\r\n$18\r\n");
    CHECK_HAS(replies, "\r\n+PONG\r\n-ERR unknown name 'nowhere': this server has 'default'\r\n*2\r\n$18\r\n");
    CHECK_EQ_U64(read_ids(ids), 3);
    check_ascending(ids, 3);
    SAY("EXEC\r\n");
    CHECK_STR(replies, "-ERR EXEC without MULTI\r\n");
    SAY("MULTI\r\n", "EXEC\r\n");
    CHECK_STR(replies, "*0\r\n");
    close_server();
}

static void waits_as_a_whole(void) {
    uint64_t ids[16], first;
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", GET_ONE, MGET_TEN, GET_ONE);
    for (int i = 1; i <= 2; i++) {
        CHECK_EQ_I64(step("EXEC\r\n"), NET_WAITS);
        CHECK_EQ_U64(out.used, 0);
        CHECK_EQ_U64(session.waiting.ids_count, 4 * (size_t)i);
        pass_us(session.waiting.wait_us);
    }
    first = session.waiting.ids[0];
    SAY("EXEC\r\n");
    CHECK_EQ_U64(read_ids(ids), 12);
    CHECK_EQ_U64(ids[0], first);
    check_ascending(ids, 12);
    CHECK(!session.waiting.ids && !session.multi && session.waiting.deadline_us == 0);
    close_server();
}

/* Parsing happened when the commands were queued. A retry of EXEC only issues ids. */
static void reads_nothing_while_it_waits(void) {
    static const char untouched[] = "untouched";
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    add_namespace("orders", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", GET_ONE, "MGET orders orders default default orders orders orders\r\n", MGET_TEN);
    CHECK_EQ_I64(step("EXEC\r\n"), NET_WAITS);
    do {
        scratch.args.at[0].at = untouched;
        pass_us(session.waiting.wait_us);
        CHECK_EQ_I64(step("EXEC\r\n"), NET_WAITS);
        CHECK(scratch.args.at[0].at == untouched);
    } while (session.waiting.ids_count < 14);
    pass_us(session.waiting.wait_us);
    SAY("EXEC\r\n");
    CHECK_EQ_I64(count_bulks(), 18);
    close_server();
}

static void gives_up_as_a_whole(void) {
    uint64_t ids[16], last = 0;
    open_server(FOUR_A_MS, VS_RESP, 1, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", MGET_TEN, "PING\r\n");
    while (step("EXEC\r\n") == NET_WAITS) {
        last = session.waiting.ids[session.waiting.ids_count - 1];
        pass_us(session.waiting.wait_us);
    }
    CHECK_HAS(replies, "-TRYAGAIN ");
    CHECK(!strstr(replies, "PONG"));
    CHECK(!session.waiting.ids && !session.multi);
    pass_us(1000);
    SAY(GET_ONE); /* outside the transaction, so the failed one has lost its ids */
    CHECK_EQ_U64(read_ids(ids), 1);
    CHECK(ids[0] > last);
    close_server();
}

static void queues_behind_others(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", GET_ONE);
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 1;
    scratch.queue[VS_QUEUE_OF_IDS + 0].pause = (struct vesta_pause){.why = VESTA_FULL, .wait_us = 700};
    CHECK_EQ_I64(step("EXEC\r\n"), NET_WAITS);
    CHECK_EQ_U64(session.waiting.ids_count, 0);
    SAY("EXEC\r\n"); /* now its connection is first in the queue */
    CHECK_EQ_I64(count_bulks(), 1);
    scratch.queue[VS_QUEUE_OF_IDS + 0].waiting = 0;
    close_server();
}

static void closes_while_it_waits(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", MGET_TEN);
    CHECK_EQ_I64(step("EXEC\r\n"), NET_WAITS);
    close_server(); /* the address sanitizer checks that everything is freed */
    CHECK(!session.waiting.ids && !session.multi);
}

/* ------------------------------------------------------------------ several namespaces */

static uint64_t worker_of(uint64_t id) {
    return id & 0xfffff; /* the worker id of FOUR_A_MS */
}

static void takes_from_each_namespace(void) {
    static const uint64_t want[] = {5, 6, 6, 5, 6};
    uint64_t ids[16];
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    add_namespace("orders", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MGET default orders orders default orders\r\n");
    CHECK_EQ_U64(read_ids(ids), 5);
    for (int i = 0; i < 5; i++)
        CHECK_EQ_U64(worker_of(ids[i]), want[i]);
    /* orders has only one id left, so the request waits */
    CHECK_EQ_I64(step("MGET default default orders orders\r\n"), NET_WAITS);
    CHECK_EQ_U64(session.waiting.ids_count, 3);
    pass_us(session.waiting.wait_us);
    SAY("MGET default default orders orders\r\n");
    CHECK_EQ_U64(read_ids(ids), 4);
    SAY("MGET default nowhere orders\r\n");
    CHECK_HAS(replies, "-ERR unknown name 'nowhere': this server has 'default' and 1 more");
    pass_us(1000);
    SAY("MULTI\r\n", "MGET orders default\r\n", "VESTA.NEXT orders 3\r\n", "EXEC\r\n");
    CHECK_EQ_U64(read_ids(ids), 5);
    CHECK(worker_of(ids[0]) == 6 && worker_of(ids[1]) == 5 && worker_of(ids[4]) == 6);
    close_server();
}

/* ------------------------------------------------------------------ refusals */

static void is_aborted(void) {
    static const char *const wrong[] = {"NOSUCH\r\n",  "GET\r\n",
                                        "MGET\r\n",    "HELLO 3\r\n",
                                        "AUTH x\r\n",  "VESTA.BLOCK default 4\r\n",
                                        "SET a b\r\n", "VESTA.NEXT default 5 5 5 5 5\r\n"};
    uint64_t ids[16];
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY(GET_ONE);
    read_ids(&ids[0]);
    for (size_t i = 0; i < VS_COUNT(wrong); i++) {
        SAY("MULTI\r\n", GET_ONE, wrong[i]);
        CHECK_HAS(replies, "-ERR ");
        SAY("HELLO 3\r\n");
        CHECK_HAS(replies, "-ERR HELLO is not allowed in a transaction");
        SAY(GET_ONE);
        CHECK_STR(replies, "+QUEUED\r\n"); /* Redis does the same */
        SAY("EXEC\r\n");
        CHECK_STR(replies, "-EXECABORT Transaction discarded because of previous errors.\r\n");
    }
    SAY("MULTI\r\n", GET_ONE, "EXEC now\r\n");
    CHECK_HAS(replies, "-EXECABORT ");
    SAY("EXEC\r\n");
    CHECK_STR(replies, "-ERR EXEC without MULTI\r\n");
    SAY("MULTI\r\n", "MULTI\r\n");
    CHECK_STR(replies, "-ERR MULTI calls can not be nested\r\n");
    SAY("WATCH a\r\n");
    CHECK_STR(replies, "-ERR WATCH inside MULTI is not allowed\r\n");
    SAY(GET_ONE, "DISCARD\r\n", "DISCARD\r\n");
    CHECK_STR(replies, "-ERR DISCARD without MULTI\r\n");
    SAY("MULTI\r\n", GET_ONE, "RESET\r\n", "EXEC\r\n");
    CHECK_STR(replies, "-ERR EXEC without MULTI\r\n");
    SAY(GET_ONE);
    read_ids(&ids[1]);
    CHECK_EQ_U64(ids[1], ids[0] + (1u << 20));
    close_server();
}

static void is_bounded(void) {
    static char large[VS_RESP_BULK_MAX + 32];
    open_server("sign:1 time:31 seq:22 worker:10 unit=1s epoch=2020-01-01T00:00:00Z", VS_RESP, 100,
                VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", "VESTA.NEXT default 9999\r\n", GET_ONE);
    CHECK_STR(replies, "+QUEUED\r\n");
    SAY(GET_ONE);
    CHECK_HAS(replies, "-ERR a transaction can take at most 10000 ids");
    SAY("EXEC\r\n");
    CHECK_HAS(replies, "-EXECABORT ");
    SAY("MULTI\r\n", "VESTA.NEXT default 10000\r\n", "EXEC\r\n");
    CHECK_EQ_I64(count_bulks(), 10000);
    SAY("MULTI\r\n");
    for (int i = 0; i < 10000; i++)
        SAY("PING\r\n");
    CHECK_STR(replies, "+QUEUED\r\n");
    SAY("PING\r\n");
    CHECK_HAS(replies, "-ERR a transaction can have at most 10000 commands");
    SAY("EXEC\r\n");
    size_t used = (size_t)sprintf(large, "*2\r\n$4\r\nECHO\r\n$65536\r\n");
    memset(large + used, 'x', VS_RESP_BULK_MAX);
    strcpy(large + used + VS_RESP_BULK_MAX, "\r\n");
    SAY("MULTI\r\n");
    for (int i = 0; i < 15; i++)
        SAY(large);
    CHECK_STR(replies, "+QUEUED\r\n");
    SAY(large);
    CHECK_HAS(replies, "commands of 1048576 bytes");
    close_server();
}

/* ------------------------------------------------------------------ replies that do not fit the buffer */

static void answers_in_parts(void) {
    static char large[VS_RESP_BULK_MAX + 32];
    size_t total = 0, used = (size_t)sprintf(large, "*2\r\n$4\r\nECHO\r\n$60000\r\n");
    int parts = 1, rc;
    uint64_t first = 0;
    memset(large + used, 'x', 60000);
    strcpy(large + used + 60000, "\r\n");
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    SAY("MULTI\r\n", GET_ONE);
    for (int i = 0; i < 15; i++)
        SAY(large);
    SAY(GET_ONE);
    for (; (rc = step("EXEC\r\n")) == NET_PART; parts++) {
        if (parts == 1) first = strtoull(replies + strlen("*17\r\n$18\r\n"), NULL, 10);
        total += out.used;
    }
    CHECK_EQ_I64(rc, 6);
    total += out.used;
    CHECK(parts > 1);
    CHECK_EQ_U64(total, strlen("*17\r\n") + 2 * 25 + 15 * (60000 + strlen("$60000\r\n\r\n")));
    CHECK(strtoull(strrchr(replies, '$') + 5, NULL, 10) > first);
    CHECK(first > 0 && !session.waiting.ids && !session.multi);
    close_server();
}

static const struct check_case cases[] = {
    {"EXEC returns one array with all replies, including errors", answers_together},
    {"EXEC that comes too early waits, keeps its ids, and replies as a whole", waits_as_a_whole},
    {"EXEC that waits is not parsed again", reads_nothing_while_it_waits},
    {"EXEC that reaches its deadline is one error, and its ids are lost, not repeated", gives_up_as_a_whole},
    {"EXEC waits behind earlier requests", queues_behind_others},
    {"a connection that closes while EXEC waits leaks nothing", closes_while_it_waits},
    {"MGET and EXEC issue ids of several namespaces, all or none", takes_from_each_namespace},
    {"a rejected command aborts the transaction, and no id is lost", is_aborted},
    {"a transaction is limited to 10000 ids, 10000 commands and 1 MiB", is_bounded},
    {"a reply that does not fit the buffer is sent in parts, with ids issued in one step", answers_in_parts},
};

CHECK_MAIN_OF_STEPS(cases)
