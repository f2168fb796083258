/* budget.h -- the places and the memory of clients, counted.  Knows no socket. */
#ifndef VS_BUDGET_H
#define VS_BUDGET_H

#include "access/limits.h"
#include "os/peer.h"

#include <stdatomic.h>
#include <stddef.h>

/* Places and memory, counted.  Own: free with vs_budget_free.  NULL: no memory. */
struct vs_budget;
struct vs_budget *vs_budget_new(const struct vs_limits *limits);
void vs_budget_free(struct vs_budget *budget); /* may be NULL */
const struct vs_limits *vs_budget_limits(const struct vs_budget *budget);

/* A connection comes, and goes if it was let in.  `peer` NULL: a balancer's, which counts for no address until the
 * client behind it is named; false: that one has too many, and it still counts for none.  Threads: any. */
enum vs_turned vs_budget_enter(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
bool vs_budget_name(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
void vs_budget_leave(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer);
/* Counts the unfinished TLS handshakes of an address that has connections.  `change` is 1, -1 or 0.  Returns their new
 * number, which is 0 for unix sockets. */
int vs_budget_shake(struct vs_budget *budget, enum vs_protocol protocol, const struct vs_peer *peer, int change);
int vs_budget_open(struct vs_budget *budget, enum vs_protocol protocol); /* VS_PROTOCOLS: all of them */

/* What one client, or one address, holds of the memory for all.  It may hold as much as it leaves free, divided by
 * `divisor`: one alone has a half, or a third with a divisor of 2, and however many take all they can, a part as large
 * is left for the next to come.  Zero but for the divisor at first. */
struct vs_memory_part {
    _Atomic int64_t bytes;
    int divisor;
};

/* Takes memory for a connection that holds `own` bytes already.  Half of the memory, divided by the number of
 * connections, is each connection's own: up to that, no part is asked.  `part` NULL: it is no client's.
 * false: clients would have more than they may, or this one more than its part.  Threads: any, as the next. */
bool vs_budget_take(struct vs_budget *budget, struct vs_memory_part *part, size_t own, size_t bytes);
void vs_budget_give(struct vs_budget *budget, struct vs_memory_part *part, size_t bytes);
int64_t vs_budget_memory(struct vs_budget *budget);
/* This part has three quarters of what it may: its connections that hold memory and do nothing must go. */
bool vs_budget_is_short(struct vs_budget *budget, struct vs_memory_part *part);

#endif
