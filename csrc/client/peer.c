/* peer.c -- the health of one server. */
#include "client/peer.h"

#include <assert.h>

#define DOUBLINGS_MAX 6

void vs_peer_rest(struct vs_peer *peer, int64_t now_us, uint64_t dice) {
    int64_t us = VS_REST_MIN_US << (peer->failures < DOUBLINGS_MAX ? peer->failures : DOUBLINGS_MAX);
    assert(us <= VS_REST_MAX_US);
    peer->retry_us = now_us + us - (int64_t)(dice % (uint64_t)(us / 4));
    peer->failures++;
    peer->is_refusing = false;
}

void vs_peer_refuse(struct vs_peer *peer, int64_t now_us, uint64_t dice) {
    peer->failures = DOUBLINGS_MAX;
    vs_peer_rest(peer, now_us, dice);
    peer->is_refusing = true;
}

void vs_peer_hang_up(struct vs_peer *peer) {
    vs_link_close(&peer->link);
    peer->has_served = false;
}

bool vs_peer_is_up(const struct vs_peer *peer, int64_t now_us) {
    return peer->link.fd >= 0 && now_us >= peer->retry_us;
}

bool vs_peer_is_promising(const struct vs_peer *peer) {
    return peer->failures == 0;
}
