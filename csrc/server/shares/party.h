/* party.h -- who has a share, and its seats: a stake in a namespace each.  Only this room includes it. */
#ifndef VS_PARTY_H
#define VS_PARTY_H

#include "server/shares/shares.h"

struct vs_party {
    char name[VS_ACCOUNT_NAME_MAX]; /* of a client; "": an address */
    struct vs_peer peer;            /* of an address: without its port, and of IPv6 the first half; family 0: free */
    uint32_t number;                /* it is not another's */
    int holders;                    /* connections of an address; under shares.c's lock */
    _Atomic uint32_t weight;
    struct vs_bucket ids, requests;
    struct vs_memory_part memory;
    vs_count held, refused; /* of all loops: counted where a request waits anyway */
    _Atomic int64_t told_us;
};

/* A party's stake in a namespace.  Where they are too few, who has not come for longest gives way. */
struct vs_seat {
    _Atomic uint64_t key; /* party and namespace; 0: free */
    struct vs_stake stake;
};

/* Whose share the connection's is: the client's, or the address's. */
struct vs_party *vs_party_of(struct vs_session *session);
/* The address's party; NULL: its rates and parts are not asked about. */
struct vs_party *vs_address_of(struct vs_session *session);
/* The connection's stake in the request's namespace; its purse is of that. */
struct vs_stake *vs_stake_of(struct vs_request *request);
/* As people know it: "client 'orders'", "address 192.0.2.7", "unix". */
#define VS_PARTY_TEXT_MAX 96
const char *vs_party_text(const struct vs_party *party, char buf[VS_PARTY_TEXT_MAX]);

#endif
