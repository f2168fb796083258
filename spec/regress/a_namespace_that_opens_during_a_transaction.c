/* Regression: the size of a transaction's reply is computed when commands are queued. A namespace that was not open
 * yet had no known size, but if it opened before EXEC its ids were issued, beyond the reserved memory. */
#include "steps.h"

static void say(const char *request) {
    CHECK_EQ_I64(step(request), (int)strlen(request));
}

static void opens_before_exec(void) {
    open_server(FOUR_A_MS, VS_RESP, 100, VESTA_UNSAFE_PRIVATE);
    add_namespace("orders", FOUR_A_MS, 100, VESTA_UNSAFE_PRIVATE);
    vs_namespace_set(&server.names.at[1], VS_NAMESPACE_OPENING, "just begun");
    say("MULTI\r\n");
    say("GET orders\r\n");
    CHECK_STR(replies, "-LOADING 'orders' is not open yet: just begun\r\n");
    vs_namespace_set(&server.names.at[1], VS_NAMESPACE_OPEN, NULL);
    say("EXEC\r\n");
    CHECK_STR(replies, "-EXECABORT Transaction discarded because of previous errors.\r\n");
    say("MULTI\r\n");
    say("GET orders\r\n");
    say("EXEC\r\n");
    CHECK_EQ_I64(count_bulks(), 1);
    close_server();
}

static const struct check_case cases[] = {
    {"a command for a namespace that is not open yet is rejected when it is queued", opens_before_exec},
};

CHECK_MAIN_OF_STEPS(cases)
