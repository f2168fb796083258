/* proxy.c -- parses the PROXY protocol header.  Specification: haproxy.org/download/3.0/doc/proxy-protocol.txt, section
 * 2.2. */
#include "net/proxy.h"

#include <string.h>

static const unsigned char net_proxy_signature[12] = "\r\n\r\n\0\r\nQUIT\n";
static const unsigned char net_proxy_version_1[6] = "PROXY ";

const char *const net_proxy_result_name[NET_PROXY_RESULTS] = {
    [NET_PROXY_TAKEN] = "taken",   [NET_PROXY_OWN] = "own",   [NET_PROXY_MISSING] = "missing",  [NET_PROXY_V1] = "v1",
    [NET_PROXY_BROKEN] = "broken", [NET_PROXY_LATE] = "late", [NET_PROXY_UNLISTED] = "unlisted"};

static bool net_proxy_begins_as(const unsigned char *at, size_t length, const unsigned char *of, size_t size) {
    return memcmp(at, of, length < size ? length : size) == 0;
}

static unsigned net_proxy_number_of(const unsigned char at[2]) {
    return (unsigned)at[0] << 8 | at[1];
}

static int net_proxy_no(enum net_proxy_result why, enum net_proxy_result *what) {
    return *what = why, -1;
}

/* Checks the version, command, address family and transport. */
static bool net_proxy_is_known(const unsigned char *at) {
    return at[12] >> 4 == 2 && (at[12] & 15) <= 1 && at[13] >> 4 <= 3 && (at[13] & 15) <= 2;
}

/* Returns the family of the client's address, 4 or 6.  Returns 0 if the header contains no such address.  The peer is
 * then the balancer. */
static uint8_t net_proxy_family_of(const unsigned char *at) {
    bool is_passed_on = at[12] & 1;
    return !is_passed_on ? 0 : at[13] == 0x11 ? 4 : at[13] == 0x21 ? 6 : 0;
}

static size_t net_proxy_source_size(uint8_t family) {
    return family == 6 ? 16 : 4;
}

int net_proxy_size(const unsigned char *at, size_t length, enum net_proxy_result *what) {
    if (!net_proxy_begins_as(at, length, net_proxy_signature, sizeof net_proxy_signature)) {
        if (!net_proxy_begins_as(at, length, net_proxy_version_1, sizeof net_proxy_version_1))
            return net_proxy_no(NET_PROXY_MISSING, what);
        return length < sizeof net_proxy_version_1 ? 0 : net_proxy_no(NET_PROXY_V1, what);
    }
    if (length < NET_PROXY_FIXED) return 0;
    uint8_t family = net_proxy_family_of(at);
    unsigned behind = net_proxy_number_of(at + 14);
    bool is_whole = !family || behind >= 2 * net_proxy_source_size(family) + 4;
    return net_proxy_is_known(at) && is_whole ? NET_PROXY_FIXED + (int)behind : net_proxy_no(NET_PROXY_BROKEN, what);
}

enum net_proxy_result net_proxy_peer(const unsigned char *at, struct vs_peer *peer) {
    uint8_t family = net_proxy_family_of(at);
    if (!family) return NET_PROXY_OWN;
    const unsigned char *source = at + NET_PROXY_FIXED;
    *peer = vs_peer_at(family, source, (uint16_t)net_proxy_number_of(source + 2 * net_proxy_source_size(family)));
    return NET_PROXY_TAKEN;
}

bool net_proxy_is_header(const char *at, size_t length) {
    const unsigned char *bytes = (const unsigned char *)at;
    return (length >= sizeof net_proxy_signature &&
            net_proxy_begins_as(bytes, length, net_proxy_signature, sizeof net_proxy_signature)) ||
           (length >= sizeof net_proxy_version_1 &&
            net_proxy_begins_as(bytes, length, net_proxy_version_1, sizeof net_proxy_version_1));
}
