/* machine.c -- identifies this machine: the number in its host name, and its address. */
#include "check.h"
#include "os/host.h"

#include <arpa/inet.h>

static void the_ordinal_follows_the_last_dash(void) {
    static const struct {
        const char *name;
        int64_t place;
    } rows[] = {
        {"web-0", 0},
        {"web-12", 12},
        {"web-007", 7},
        {"a-b-3", 3},
        {"web-3.cluster", 3},
        {"web-3.a-4", 3},
        {"web-999999999", 999999999},
        {"web-1000000000", -1},
        {"web", -1},
        {"web3", -1},
        {"web-", -1},
        {"", -1},
        {"-", -1},
        {"-5", 5},
        {"7", -1},
        {"web-3a", -1},
        {"web--4", 4},
        {".web-3", -1},
        {"web-1 ", -1},
        {"web-99999999999999999999999", -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (vs_host_ordinal(rows[i].name) != rows[i].place)
            CHECK_FAIL("'%s': got %" PRId64 ", want %" PRId64, rows[i].name, vs_host_ordinal(rows[i].name),
                       rows[i].place);
}

static void an_address_is_usable_by_others(void) {
    char address[VS_ADDRESS_MAX] = "";
    unsigned char bytes[16];
    if (vs_host_address(address) != 0) return; /* a machine without a network has no address */
    CHECK(inet_pton(AF_INET, address, bytes) == 1 || inet_pton(AF_INET6, address, bytes) == 1);
    CHECK(strncmp(address, "127.", 4) != 0 && strcmp(address, "::1") != 0 && strncmp(address, "fe80", 4) != 0);
}

static const struct check_case cases[] = {
    {"a machine's number is the part of its host name after the last dash", the_ordinal_follows_the_last_dash},
    {"a machine's address is one that other machines can reach", an_address_is_usable_by_others},
};

CHECK_MAIN(cases)
