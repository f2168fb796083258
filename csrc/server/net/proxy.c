/* proxy.c -- the PROXY protocol's header: haproxy.org/download/3.0/doc/proxy-protocol.txt, 2.2. */
#include "server/net/proxy.h"

#include <string.h>

static const unsigned char signature[12] = "\r\n\r\n\0\r\nQUIT\n";
static const unsigned char version_1[6] = "PROXY ";

const char *const vs_proxy_result_name[VS_PROXY_RESULTS] = {
    [VS_PROXY_TAKEN] = "taken",   [VS_PROXY_OWN] = "own",   [VS_PROXY_MISSING] = "missing",  [VS_PROXY_V1] = "v1",
    [VS_PROXY_BROKEN] = "broken", [VS_PROXY_LATE] = "late", [VS_PROXY_UNLISTED] = "unlisted"};

static bool begins_as(const unsigned char *at, size_t length, const unsigned char *of, size_t size) {
    return memcmp(at, of, length < size ? length : size) == 0;
}

static unsigned number_of(const unsigned char at[2]) {
    return (unsigned)at[0] << 8 | at[1];
}

static int no(enum vs_proxy_result why, enum vs_proxy_result *what) {
    return *what = why, -1;
}

/* Version and command; family, in the upper half, and transport: those that there are. */
static bool is_known(const unsigned char *at) {
    return at[12] >> 4 == 2 && (at[12] & 15) <= 1 && at[13] >> 4 <= 3 && (at[13] & 15) <= 2;
}

/* The family of the address that it names; 0: none that could be used, and the balancer's own counts. */
static uint8_t family_of(const unsigned char *at) {
    bool is_passed_on = at[12] & 1;
    return !is_passed_on ? 0 : at[13] == 0x11 ? 4 : at[13] == 0x21 ? 6 : 0;
}

/* An address and port of the source, then those of the destination. */
static size_t source_size(uint8_t family) {
    return family == 6 ? 16 : 4;
}

int vs_proxy_size(const unsigned char *at, size_t length, enum vs_proxy_result *what) {
    if (!begins_as(at, length, signature, sizeof signature)) {
        if (!begins_as(at, length, version_1, sizeof version_1)) return no(VS_PROXY_MISSING, what);
        return length < sizeof version_1 ? 0 : no(VS_PROXY_V1, what);
    }
    if (length < VS_PROXY_FIXED) return 0;
    uint8_t family = family_of(at);
    unsigned behind = number_of(at + 14);
    bool is_whole = !family || behind >= 2 * source_size(family) + 4;
    return is_known(at) && is_whole ? VS_PROXY_FIXED + (int)behind : no(VS_PROXY_BROKEN, what);
}

enum vs_proxy_result vs_proxy_peer(const unsigned char *at, struct vs_peer *peer) {
    uint8_t family = family_of(at);
    if (!family) return VS_PROXY_OWN;
    const unsigned char *source = at + VS_PROXY_FIXED;
    *peer = vs_peer_at(family, source, (uint16_t)number_of(source + 2 * source_size(family)));
    return VS_PROXY_TAKEN;
}

bool vs_proxy_is_header(const char *at, size_t length) {
    const unsigned char *bytes = (const unsigned char *)at;
    return (length >= sizeof signature && begins_as(bytes, length, signature, sizeof signature)) ||
           (length >= sizeof version_1 && begins_as(bytes, length, version_1, sizeof version_1));
}
