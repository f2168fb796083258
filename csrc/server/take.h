/* take.h -- ids for a request, from a namespace; a request that finds none is told to wait (wait.c). */
#ifndef VS_SERVER_TAKE_H
#define VS_SERVER_TAKE_H

#include "server/request.h"

/* Takes one id, or n ids (at most VESTA_BATCH_MAX) into request->ids, from the namespace or, where there are names, the
 * i-th from the namespace names[i], which exists; VS_WAITS keeps what was taken for the next try.
 * Who comes while others of its loop wait for an id queues behind them. */
enum vs_reply_state vs_take_id(struct vs_request *request, uint64_t *id);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, const struct vs_slice *names);
/* 1 to n ids: as many as there are at once. */
enum vs_reply_state vs_take_some(struct vs_request *request, size_t n, size_t *got);
/* A slice of the namespace's ticks; of the tag's numbers, 1 to n of them. */
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, struct vesta_block *block);
enum vs_reply_state vs_take_numbers(struct vs_request *request, uint64_t n, struct vesta_numbers *numbers);
/* Whether the request may take n ids now, by its rates.  false: it is to wait, as after vs_take_ids. */
bool vs_take_turn(struct vs_request *request, uint64_t n);
/* Has something done at the tag's desk: session->waiting.job, from now on.  false: too much waits there, or there is no
 * memory. */
bool vs_desk_ask(struct vs_request *request, const struct vs_desk_job *what);
/* Exactly n consecutive numbers of one range of the tag, of which *last is the last; where no range has so many that is
 * refused (request->code). */
enum vs_reply_state vs_take_run(struct vs_request *request, uint64_t n, uint64_t *last);
/* Ids as by vs_take_ids, from ids[*have] on, as far as that goes now; false: not to the end, and request->pause says
 * why. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n, const struct vs_slice *names);
/* Whether the tag's numbers can be in a row, as far as its ranges are known.  false: the request is rejected. */
bool vs_take_check_run(struct vs_request *request, uint64_t n);
/* A run, without a look at how many numbers a range has.  false: request->pause says why not. */
bool vs_take_run_now(struct vs_request *request, uint64_t n, uint64_t *last);

#endif
