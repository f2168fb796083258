/* take.h -- ids for a request, from a namespace; a request that finds none is told to wait (wait.c). */
#ifndef VS_SERVER_TAKE_H
#define VS_SERVER_TAKE_H

#include "server/request.h"

/* Takes one id, or n ids (at most VESTA_BATCH_MAX) into request->ids, from the namespace or, where there are names, the
 * i-th from the namespace names[i], which exists; VS_WAITS keeps what was taken for the next try.
 * Who comes while others of its loop wait for an id queues behind them. */
enum vs_reply_state vs_take_id(struct vs_request *request, uint64_t *id);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, const struct vs_slice *names);
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, struct vesta_block *block);
/* The same, from ids[*have] on, as far as that goes now; false: not to the end, and request->pause says why. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n, const struct vs_slice *names);

#endif
