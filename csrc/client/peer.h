/* peer.h -- the fetching thread's state of one server: its connection or dial, and its pause after a failure. */
#ifndef VS_CLIENT_PEER_H
#define VS_CLIENT_PEER_H

#include "base/rest.h"
#include "client/dial.h"

struct vs_client_peer {
    struct vs_dial *dial; /* the connection attempt under way, or NULL */
    struct vs_link link;  /* the connection */
    bool has_served;      /* a block has arrived over this connection */
    /* the server rejects the client until an operator acts, for example for an unknown name or a wrong password */
    bool is_refusing;
    unsigned failures; /* number of failures since the last block */
    int64_t dialed_us; /* when the dial began */
    int64_t retry_us;  /* end of the pause.  No request or dial is made before this time */
};

/* Begins a pause after a failure.  It lasts 0.1 s, doubled with each further failure.  `dice` shortens the pause by up
 * to a quarter, so that clients that lost a server at the same time do not all reconnect at the same time. */
void vs_peer_rest(struct vs_client_peer *peer, int64_t now_us, uint64_t dice);

/* Begins the longest pause, because the server rejects the client. */
void vs_peer_refuse(struct vs_client_peer *peer, int64_t now_us, uint64_t dice);

/* Closes the connection.  A late reply is dropped. */
void vs_peer_hang_up(struct vs_client_peer *peer);

/* Returns true if the server is connected, and not in a pause. */
bool vs_peer_is_up(const struct vs_client_peer *peer, int64_t now_us);

/* Returns true if the server has not failed since its last block. */
bool vs_peer_is_promising(const struct vs_client_peer *peer);

#endif
