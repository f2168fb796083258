/* peer.c -- see peer.h. */
#include "os/peer.h"
#include "vesta.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

struct vs_peer vs_peer_at(int family, const void *at, uint16_t port) {
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_mapped = family == 6 && memcmp(at, mapped, sizeof mapped) == 0;
    struct vs_peer peer = {.family = is_mapped ? 4 : (uint8_t)family, .port = port};
    memcpy(peer.at, (const unsigned char *)at + (is_mapped ? sizeof mapped : 0), peer.family == 6 ? 16 : 4);
    return peer;
}

struct vs_peer vs_peer_of(const struct sockaddr_storage *address) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    switch (address->ss_family) {
    case AF_INET: return vs_peer_at(4, &v4->sin_addr, ntohs(v4->sin_port));
    case AF_INET6: return vs_peer_at(6, &v6->sin6_addr, ntohs(v6->sin6_port));
    default: return (struct vs_peer){.family = 0};
    }
}

bool vs_peer_is_local(const struct vs_peer *peer) {
    static const unsigned char loopback[16] = {[15] = 1};
    if (peer->family == 0) return true;
    return peer->family == 4 ? peer->at[0] == 127 : memcmp(peer->at, loopback, sizeof loopback) == 0;
}

struct vs_peer vs_peer_key(const struct vs_peer *peer) {
    struct vs_peer key = {.family = peer->family};
    memcpy(key.at, peer->at, peer->family == 6 ? 8 : 4);
    return key;
}

/* Faster than inet_ntop, because each line of the access log has an address. */
static size_t put_v4(const struct vs_peer *peer, char *buf) {
    size_t n = vesta_format(VESTA_DECIMAL, peer->at[0], buf);
    for (int i = 1; i < 4; i++) {
        buf[n++] = '.';
        n += vesta_format(VESTA_DECIMAL, peer->at[i], buf + n);
    }
    return n;
}

const char *vs_peer_host(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]) {
    if (!peer || peer->family == 0) return strcpy(buf, "unix");
    if (peer->family == 6) return inet_ntop(AF_INET6, peer->at, buf, VS_PEER_TEXT_MAX);
    buf[put_v4(peer, buf)] = '\0';
    return buf;
}

const char *vs_peer_text(const struct vs_peer *peer, char buf[VS_PEER_TEXT_MAX]) {
    char host[VS_PEER_TEXT_MAX];
    if (peer->family == 0) return strcpy(buf, "unix");
    if (peer->family == 6) {
        snprintf(buf, VS_PEER_TEXT_MAX, "[%.45s]:%u", vs_peer_host(peer, host), peer->port);
        return buf;
    }
    size_t n = put_v4(peer, buf);
    buf[n++] = ':';
    n += vesta_format(VESTA_DECIMAL, peer->port, buf + n);
    buf[n] = '\0';
    return buf;
}
