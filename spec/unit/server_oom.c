/* server_oom.c -- a Redis session whose n-th allocation fails, for every n: it gets an error or ids, no duplicates,
 * only the failed request's ids are lost, and the next request succeeds. */
#include "scarce.h"
#include "steps.h"

#define MGET_TEN "MGET default default default default default default default default default default\r\n"

static uint64_t last_id;
static int errors, given;

/* Reads a reply: counts errors, and checks that ids ascend. */
static void read_reply(void) {
    errors += *replies == '-';
    for (const char *at = replies; (at = strchr(at, '$')); given++) {
        at = strchr(at, '\n') + 1;
        uint64_t id = strtoull(at, NULL, 10);
        CHECK(id > last_id);
        last_id = id;
    }
}

static void say(const char *request) {
    int rc, tries = 0;
    while ((rc = step(request)) == NET_WAITS && tries++ < 100)
        pass_us(session.waiting.wait_us);
    CHECK_EQ_I64(rc, (int)strlen(request));
    read_reply();
}

static void one_session(void) {
    static const char *const requests[] = {MGET_TEN,   "MULTI\r\n", GET_ONE, MGET_TEN,    "PING\r\n",
                                           "EXEC\r\n", "MULTI\r\n", GET_ONE, "RESET\r\n", MGET_TEN};
    for (size_t i = 0; i < VS_COUNT(requests); i++)
        say(requests[i]);
}

static void survives_every_failure(void) {
    int points = 0;
    for (long n = 1;; n++) {
        open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
        last_id = 0, errors = given = 0;
        fails_at = n;
        one_session();
        bool was_met = fails_at == 0;
        fails_at = 0;
        if (!was_met) CHECK(errors == 0 && given == 31);
        points += was_met;
        say("RESET\r\n");
        errors = given = 0;
        say(GET_ONE);
        CHECK(errors == 0 && given == 1);
        close_server();
        if (!was_met) break;
    }
    /* allocations that failed: a transaction, its queue, its ids, and the state of a waiting request */
    CHECK(points >= 10);
}

static const struct check_case cases[] = {
    {"the n-th allocation of a session fails, and the session survives, for every n", survives_every_failure},
};

CHECK_MAIN_OF_STEPS(cases)
