/* take.h -- ids for a request that has entered a namespace or a tag.
 *
 * Each function takes what its name says and calls `done`: at once, or when it is there (wait.c).  A request that comes
 * while others of its loop wait for an id of the same namespace or tag queues behind them. */
#ifndef VS_SERVER_TAKE_H
#define VS_SERVER_TAKE_H

#include "server/request.h"

/* One id in request->ids; n of them, at most VESTA_BATCH_MAX.  If the request has several names (vs_request_enter_all), the
 * i-th id is of the i-th name.  Ids that were taken are kept while the request waits for the others. */
enum vs_reply_state vs_take_id(struct vs_request *request, vs_handler *done);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, vs_handler *done);
/* 1 to n ids, as many as there are at once: request->n. */
enum vs_reply_state vs_take_some(struct vs_request *request, size_t n, vs_handler *done);
/* A slice of the namespace's ticks, or 1 to n of the tag's numbers: request->got. */
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, vs_handler *done);
/* n consecutive numbers of one range of the tag; request->ids[0] is the last of them.  If no range has so many, the
 * request is rejected. */
enum vs_reply_state vs_take_run(struct vs_request *request, uint64_t n, vs_handler *done);
/* The turn to take n ids, by the request's rates. */
enum vs_reply_state vs_take_turn(struct vs_request *request, uint64_t n, vs_handler *done);
/* What the tag's desk answers: session->waiting.job.  If too many jobs wait there, the request is rejected. */
enum vs_reply_state vs_take_job(struct vs_request *request, const struct vs_desk_job *what, vs_handler *done);

/* For a transaction, which takes all that its commands want.  Ids as by vs_take_ids, from ids[*have] on; a run, without
 * a look at how many numbers a range has.  false: not to the end, and request->pause says why. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n);
bool vs_take_run_now(struct vs_request *request, uint64_t n, uint64_t *last);
/* Whether the tag's numbers can be in a row, as far as its ranges are known.  false: the request is rejected. */
bool vs_take_check_run(struct vs_request *request, uint64_t n);
/* Has `stage` run again when there may be ids. */
enum vs_reply_state vs_take_wait(struct vs_request *request, vs_handler *stage);

#endif
