/* peer.c -- the health of one server. */
#include "client/peer.h"

#include <assert.h>

#define LONGEST 6 /* number of failures after which the pause stops growing */

void vs_peer_rest(struct vs_client_peer *peer, int64_t now_us, uint64_t dice) {
    peer->retry_us = now_us + vs_rest_us(peer->failures, VS_REST_MIN_US, dice);
    peer->failures++;
    peer->is_refusing = false;
}

void vs_peer_refuse(struct vs_client_peer *peer, int64_t now_us, uint64_t dice) {
    peer->failures = LONGEST;
    vs_peer_rest(peer, now_us, dice);
    peer->is_refusing = true;
}

void vs_peer_hang_up(struct vs_client_peer *peer) {
    vs_link_close(&peer->link);
    peer->has_served = false;
}

bool vs_peer_is_up(const struct vs_client_peer *peer, int64_t now_us) {
    return peer->link.fd >= 0 && now_us >= peer->retry_us;
}

bool vs_peer_is_promising(const struct vs_client_peer *peer) {
    return peer->failures == 0;
}
