/* proxy.c -- reads the PROXY header: every prefix of every kind of header, in memory that ends with its bytes. */
#include "check.h"
#include "os/address.h"
#include "net/proxy.h"

#include <stdlib.h>

static const unsigned char good[] = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\x0a\0\0\1\x12\x67\x1f\x98";
#define FIXED ((size_t)NET_PROXY_FIXED)

/* Reads an exact copy, so that the sanitizer finds a read past its end. */
static int size_of(const unsigned char *at, size_t length, enum net_proxy_result *what) {
    unsigned char *exact = malloc(length ? length : 1);
    memcpy(exact, at, length);
    int size = net_proxy_size(exact, length, what);
    struct vs_peer peer;
    if (size > 0 && length >= ((size_t)size < NET_PROXY_READ ? (size_t)size : NET_PROXY_READ)) *what = net_proxy_peer(exact, &peer);
    free(exact);
    return size;
}

static void each_beginning_wants_more_until_its_size_is_known(void) {
    enum net_proxy_result what = NET_PROXY_RESULTS;
    for (size_t length = 0; length < sizeof good; length++)
        CHECK_EQ_I64(size_of(good, length, &what), length < FIXED ? 0 : 28);
    CHECK_EQ_I64(what, NET_PROXY_TAKEN);
    struct vs_peer peer;
    char text[VS_PEER_TEXT_MAX];
    CHECK_EQ_I64(net_proxy_peer(good, &peer), NET_PROXY_TAKEN);
    CHECK(strcmp(vs_peer_text(&peer, text), "203.0.113.7:4711") == 0);
}

/* Tries all values of the bytes for command, family and length. No header is read past its end, and an address must fit
 * its header. */
static void every_kind_and_length_is_a_header_or_is_none(void) {
    enum net_proxy_result what;
    int taken = 0;
    for (int command = 0; command < 256; command++)
        for (int family = 0; family < 256; family++)
            for (int length = 0; length < 50; length += length == 11 || length == 35 ? 1 : 7) {
                unsigned char at[FIXED + 50] = {0};
                memcpy(at, good, FIXED);
                at[12] = (unsigned char)command, at[13] = (unsigned char)family, at[15] = (unsigned char)length;
                int size = size_of(at, FIXED + (size_t)length, &what);
                bool is_known = (command == 0x20 || command == 0x21) && family >> 4 <= 3 && (family & 15) <= 2;
                bool is_address = command == 0x21 && (family == 0x11 || family == 0x21);
                bool has_room = !is_address || length >= (family == 0x11 ? 12 : 36);
                if (is_known && has_room) {
                    CHECK_EQ_I64(size, (int)FIXED + length);
                    CHECK_EQ_I64(what, is_address ? NET_PROXY_TAKEN : NET_PROXY_OWN);
                    taken += is_address;
                } else {
                    CHECK(size < 0 && what == NET_PROXY_BROKEN);
                }
            }
    CHECK(taken > 0);
}

static void other_input_is_rejected_at_once(void) {
    enum net_proxy_result what;
    for (size_t i = 0; i < 12; i++) {
        unsigned char at[sizeof good];
        memcpy(at, good, sizeof good);
        at[i] ^= 1;
        CHECK(size_of(at, i + 1, &what) < 0 && what == NET_PROXY_MISSING);
    }
    CHECK(size_of((const unsigned char *)"PROXY", 5, &what) == 0);
    CHECK(size_of((const unsigned char *)"PROXY ", 6, &what) < 0 && what == NET_PROXY_V1);
    CHECK(size_of((const unsigned char *)"POST", 4, &what) < 0 && what == NET_PROXY_MISSING);
    CHECK(net_proxy_is_header((const char *)good, 12) && !net_proxy_is_header((const char *)good, 11));
}

static void networks_have_their_addresses(void) {
    static const struct {
        const char *network;
        int family;
        unsigned char at[16];
        bool has;
    } rows[] = {{"10.0.0.0/8", 4, {10, 255, 0, 1}, true},     {"10.0.0.0/8", 4, {11}, false},
                {"192.0.2.7", 4, {192, 0, 2, 7}, true},        {"192.0.2.7", 4, {192, 0, 2, 6}, false},
                {"0.0.0.0/0", 4, {1, 2, 3, 4}, true},          {"0.0.0.0/0", 6, {0}, false},
                {"127.0.0.2/31", 4, {127, 0, 0, 3}, true},     {"127.0.0.2/31", 4, {127, 0, 0, 4}, false},
                {"2001:db8::/33", 6, {0x20, 1, 0xd, 0xb8, 0x7f}, true}, {"2001:db8::/33", 6, {0x20, 1, 0xd, 0xb8, 0x80}, false},
                {"::/0", 6, {9}, true},                        {"::1", 6, {[15] = 1}, true},
                {"unix", 0, {0}, true},                        {"unix", 4, {0}, false},
                {"0.0.0.0/0", 0, {0}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vs_network network;
        struct vesta_error err;
        if (vs_network_read(rows[i].network, &network, &err) != VESTA_OK) CHECK_FAIL("%s %s", rows[i].network, err.text);
        if (vs_network_has(&network, rows[i].family, rows[i].at) != rows[i].has) CHECK_FAIL("row %zu, %s", i, rows[i].network);
    }
}

static const struct check_case cases[] = {
    {"every prefix of a header needs more bytes until its size is known",
     each_beginning_wants_more_until_its_size_is_known},
    {"every command, family and length is accepted or rejected", every_kind_and_length_is_a_header_or_is_none},
    {"input that is not a header is rejected at its first wrong byte", other_input_is_rejected_at_once},
    {"a network matches its addresses and no others", networks_have_their_addresses},
};
CHECK_MAIN(cases)
