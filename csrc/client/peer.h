/* peer.h -- a server as the thread sees it: its connection, or the one that is being made, and how long it is left
 * alone after a failure. */
#ifndef VS_CLIENT_PEER_H
#define VS_CLIENT_PEER_H

#include "base/rest.h"
#include "client/dial.h"

struct vs_client_peer {
    struct vs_dial *dial; /* a connection is being made; or NULL */
    struct vs_link link;  /* the connection */
    bool has_served;      /* a block came over it */
    bool is_refusing;     /* it answered, and only a person can change what: a name that it does not have, a password */
    unsigned failures;    /* since the last block */
    int64_t dialed_us;    /* when the dial began */
    int64_t retry_us;     /* not to be asked, or dialed, before */
};

/* It failed: it is left alone, for `failures` doublings of 0.1 s; `dice` takes up to a quarter off, so that clients
 * that lost a server together do not come back together. */
void vs_peer_rest(struct vs_client_peer *peer, int64_t now_us, uint64_t dice);

/* It refuses: it is left alone for the longest time. */
void vs_peer_refuse(struct vs_client_peer *peer, int64_t now_us, uint64_t dice);

/* Closes the connection: whatever may still come over it is nobody's. */
void vs_peer_hang_up(struct vs_client_peer *peer);

/* Connected, and not left alone. */
bool vs_peer_is_up(const struct vs_client_peer *peer, int64_t now_us);

/* It has not failed, and may answer within its deadline. */
bool vs_peer_is_promising(const struct vs_client_peer *peer);

#endif
