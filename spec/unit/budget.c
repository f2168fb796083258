/* budget.c -- the places of clients: shares, cuts, and addresses counted against a plain model. */
#include "check.h"
#include "access/budget.h"

#include <stdlib.h>

static const bool everywhere[VS_PROTOCOLS] = {true, true, true};

static struct vs_limits settled(struct vs_limits limits, int descriptors, int reserved,
                                const bool listens[VS_PROTOCOLS]) {
    struct vesta_error err;
    if (vs_limits_settle(&limits, descriptors, reserved, listens, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return limits;
}

static void shares_are_equal_or_as_asked(void) {
    static const bool http_alone[VS_PROTOCOLS] = {[VS_HTTP] = true};
    struct vs_limits l = settled((struct vs_limits){.connections_max = 1000}, 2000, 100, everywhere);
    CHECK(l.proto_max[VS_HTTP] == 500 && l.proto_max[VS_RESP] == 500 && l.proto_max[VS_ADMIN] == 64);
    CHECK(l.of_address[VS_HTTP] == 250 && l.of_address[VS_ADMIN] == 32 && l.cut_from == 0);
    l = settled((struct vs_limits){.connections_max = 1000, .proto_max = {[VS_RESP] = 900}}, 2000, 100, everywhere);
    CHECK(l.proto_max[VS_HTTP] == 100 && l.proto_max[VS_RESP] == 900);
    l = settled((struct vs_limits){.connections_max = 1000, .address_max = 7}, 2000, 100, http_alone);
    CHECK(l.proto_max[VS_HTTP] == 1000 && l.proto_max[VS_RESP] == 0 && l.proto_max[VS_ADMIN] == 0);
    CHECK_EQ_I64(l.of_address[VS_HTTP], 7);
}

static void what_does_not_fit_is_cut_and_the_reserve_never_is(void) {
    struct vesta_error err;
    for (int descriptors = 100; descriptors < 1300; descriptors++) {
        struct vs_limits l = {.connections_max = 1000, .proto_max = {[VS_HTTP] = 990}};
        int rc = vs_limits_settle(&l, descriptors, 90, everywhere, &err);
        if (descriptors < 110) {
            CHECK(rc == VESTA_EIO && strstr(err.text, "LimitNOFILE="));
            continue;
        }
        CHECK_EQ_I64(rc, VESTA_OK);
        CHECK(l.connections_max + l.proto_max[VS_ADMIN] + 90 <= descriptors);
        CHECK(l.proto_max[VS_HTTP] >= 1 && l.proto_max[VS_RESP] >= 1 && l.proto_max[VS_ADMIN] >= 4);
        for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
            CHECK(l.of_address[protocol] >= 1 && l.of_address[protocol] <= l.proto_max[protocol]);
        CHECK_EQ_I64(l.cut_from, descriptors < 1000 + 64 + 90 ? 1000 : 0);
    }
}

static void tags_have_what_is_listed_and_else_what_connections_leave_or_a_quarter(void) {
    struct vesta_error err;
    for (int descriptors = 160; descriptors < 6000; descriptors++) {
        struct vs_limits l = {.connections_max = 1000, .tags = {.listed = 50, .found_max = 4096}};
        CHECK_EQ_I64(vs_limits_settle(&l, descriptors, 90, everywhere, &err), VESTA_OK);
        int room = descriptors - 90 - 50, left = room - 1000 - 64, least = room / 4 < room - 20 ? room / 4 : room - 20;
        int want = left > 4096 ? 4096 : left > least ? left : least;
        CHECK_EQ_I64(l.tags.found_max, want);
        CHECK_EQ_I64(l.reserved, 90 + 50 + want);
        CHECK(l.connections_max + l.proto_max[VS_ADMIN] + l.reserved <= descriptors);
    }
    struct vs_limits l = {.connections_max = 16, .tags = {.listed = 500}};
    CHECK_EQ_I64(vs_limits_settle(&l, 600, 90, everywhere, &err), VESTA_EIO);
    CHECK(strstr(err.text, "590 are reserved") && strstr(err.text, "500 of them for tags"));
}

/* ------------------------------------------------------------------ places against a model */

#define HOSTS 40
#define STEPS 200000

static struct vs_peer host(int i) {
    struct vs_peer peer = {.family = i % 2 ? 6 : 4, .port = (uint16_t)rand()};
    peer.at[0] = 10, peer.at[3] = (unsigned char)(i / 2);
    if (peer.family == 6) peer.at[15] = (unsigned char)rand(); /* of one network of 64 bits, it is one address */
    return peer;
}

static void places_are_those_of_a_plain_count(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 60, .proto_max = {40, 40}, .address_max = 5},
                                 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    int count[VS_PROTOCOLS][HOSTS] = {{0}}, open[VS_PROTOCOLS] = {0};
    NEED(budget);
    for (int step = 0; step < STEPS; step++) {
        int protocol = rand() % VS_PROTOCOLS, i = rand() % HOSTS;
        struct vs_peer peer = host(i);
        if (rand() % 2 && count[protocol][i] > 0) {
            vs_budget_leave(budget, (enum vs_protocol)protocol, &peer);
            count[protocol][i]--, open[protocol]--;
            continue;
        }
        enum vs_turned want = open[protocol] == l.proto_max[protocol]                       ? VS_TURNED_PROTO
                              : protocol != VS_ADMIN && open[VS_RESP] + open[VS_HTTP] == 60 ? VS_TURNED_TOTAL
                              : count[protocol][i] == 5                                     ? VS_TURNED_ADDRESS
                                                                                            : VS_LET_IN;
        CHECK_EQ_I64(vs_budget_enter(budget, (enum vs_protocol)protocol, &peer), want);
        if (want == VS_LET_IN) count[protocol][i]++, open[protocol]++;
        CHECK_EQ_I64(vs_budget_open(budget, (enum vs_protocol)protocol), open[protocol]);
    }
    vs_budget_free(budget);
}

static void handshakes_are_counted_by_address_and_protocol(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    const struct vs_peer client = host(0), other = host(2), local = {.family = 0};
    NEED(budget);
    for (int i = 0; i < 3; i++)
        CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, &client), VS_LET_IN);
    CHECK_EQ_I64(vs_budget_enter(budget, VS_RESP, &client), VS_LET_IN);
    CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, &other), VS_LET_IN);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &client, 1), 1);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &client, 1), 2);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &client, 0), 2);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &client, -1), 1);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_RESP, &client, 0), 0);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &other, 0), 0);
    CHECK_EQ_I64(vs_budget_shake(budget, VS_HTTP, &local, 1), 0);
    vs_budget_free(budget);
}

static void who_comes_over_a_unix_socket_has_no_address(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20, .address_max = 1}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    const struct vs_peer local = {.family = 0};
    NEED(budget);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, &local), VS_LET_IN);
    CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, &local), VS_TURNED_PROTO);
    vs_budget_leave(budget, VS_HTTP, &local);
    CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, &local), VS_LET_IN);
    vs_budget_free(budget);
}

static void a_balancers_connection_counts_for_no_address_before_it_is_named(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20, .address_max = 2}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    const struct vs_peer client = host(0), other = host(2);
    NEED(budget);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, NULL), VS_LET_IN);
    CHECK_EQ_I64(vs_budget_enter(budget, VS_HTTP, NULL), VS_TURNED_PROTO);
    CHECK(vs_budget_name(budget, VS_HTTP, &client) && vs_budget_name(budget, VS_HTTP, &client));
    CHECK(!vs_budget_name(budget, VS_HTTP, &client) && vs_budget_name(budget, VS_HTTP, &other));
    vs_budget_leave(budget, VS_HTTP, NULL); /* the one that was refused a name */
    vs_budget_leave(budget, VS_HTTP, &client);
    CHECK(vs_budget_name(budget, VS_HTTP, &client));
    CHECK_EQ_I64(vs_budget_open(budget, VS_HTTP), 8);
    vs_budget_free(budget);
}

static void memory_is_given_up_to_its_bound(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20, .memory_max = 1000}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    NEED(budget);
    CHECK(vs_budget_take(budget, NULL, 0, 750) && !vs_budget_is_short(budget, NULL));
    CHECK(!vs_budget_take(budget, NULL, 0, 251) && vs_budget_memory(budget) == 750);
    CHECK(vs_budget_take(budget, NULL, 0, 250) && vs_budget_is_short(budget, NULL) && !vs_budget_take(budget, NULL, 0, 1));
    vs_budget_give(budget, NULL, 1000);
    CHECK_EQ_I64(vs_budget_memory(budget), 0);
    vs_budget_free(budget);
}

/* Takes all that the part may have, in pieces of 100. */
static int64_t take_all(struct vs_budget *budget, struct vs_memory_part *part) {
    while (vs_budget_take(budget, part, 100000, 100)) {
    }
    return part->bytes;
}

static void a_part_leaves_as_much_free_as_it_has(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20, .memory_max = 1000000}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    struct vs_memory_part part[9] = {{.divisor = 1}}, address = {.divisor = 2};
    NEED(budget);
    CHECK_EQ_I64(take_all(budget, &address), 333300);
    vs_budget_give(budget, &address, 333300);
    for (int64_t i = 0; i < 9; i++) { /* each has half of what those before it left */
        part[i].divisor = 1;
        int64_t left = 1000000 - vs_budget_memory(budget), has = take_all(budget, &part[i]);
        CHECK(has > left / 2 - 200 && has <= left / 2);
    }
    CHECK(vs_budget_is_short(budget, &part[8]) && vs_budget_is_short(budget, &part[0]));
    CHECK(!vs_budget_is_short(budget, &address)); /* which has nothing */
    for (int i = 0; i < 9; i++)
        vs_budget_give(budget, &part[i], (size_t)part[i].bytes);
    CHECK_EQ_I64(vs_budget_memory(budget), 0);
    vs_budget_free(budget);
}

static void a_connection_has_an_own_part(void) {
    struct vs_limits l = settled((struct vs_limits){.connections_max = 20, .memory_max = 1000000}, 500, 10, everywhere);
    struct vs_budget *budget = vs_budget_new(&l);
    struct vs_memory_part part = {.divisor = 1};
    NEED(budget);
    int64_t has = take_all(budget, &part);
    CHECK(vs_budget_take(budget, &part, 0, 20000)); /* a twentieth of the half */
    CHECK(!vs_budget_take(budget, &part, 20000, 5001));
    vs_budget_give(budget, &part, (size_t)has + 20000);
    vs_budget_free(budget);
}

static const struct check_case cases[] = {
    {"each protocol has its share", shares_are_equal_or_as_asked},
    {"what does not fit the descriptors is cut, and the reserve never is",
     what_does_not_fit_is_cut_and_the_reserve_never_is},
    {"tags have what the config lists, and else what connections leave or a quarter",
     tags_have_what_is_listed_and_else_what_connections_leave_or_a_quarter},
    {"places by protocol, address and in all are those of a plain count", places_are_those_of_a_plain_count},
    {"unfinished handshakes are counted by address and protocol", handshakes_are_counted_by_address_and_protocol},
    {"who comes over a unix socket has no address", who_comes_over_a_unix_socket_has_no_address},
    {"a balancer's connection counts for no address before its client is named",
     a_balancers_connection_counts_for_no_address_before_it_is_named},
    {"memory is given up to its bound", memory_is_given_up_to_its_bound},
    {"a client may hold as much memory as it leaves free, and an address half of that", a_part_leaves_as_much_free_as_it_has},
    {"a connection has a little memory of its own, whatever its client holds", a_connection_has_an_own_part},
};
CHECK_MAIN(cases)
