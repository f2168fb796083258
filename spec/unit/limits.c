/* limits.c -- how many connections fit this process: the share of each protocol, and what is reduced if there are too
 * few file descriptors. */
#include "check.h"
#include "access/limits.h"

#include <string.h>

static const bool everywhere[VS_PROTOCOLS] = {true, true, true};

static struct vs_limits settled(struct vs_limits limits, int descriptors, int reserved,
                                const bool listens[VS_PROTOCOLS]) {
    struct vesta_error err;
    if (vs_limits_settle(&limits, descriptors, reserved, listens, &err) != VESTA_OK) CHECK_FAIL("%s", err.text);
    return limits;
}

static void shares_are_equal_or_as_configured(void) {
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

static void connections_are_cut_but_not_the_reserve(void) {
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

static void tags_get_their_descriptors(void) {
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

static const struct check_case cases[] = {
    {"each protocol has its share", shares_are_equal_or_as_configured},
    {"connections that do not fit the descriptors are cut, and the reserve never is",
     connections_are_cut_but_not_the_reserve},
    {"tags get the descriptors that the config lists, else those that connections leave, or a quarter",
     tags_get_their_descriptors},
};
CHECK_MAIN(cases)
