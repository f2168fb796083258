/* take.h -- ids for a request that has entered a namespace or a tag.
 *
 * Each function takes ids, numbers or a turn and calls `done`, at once or when they are there (wait.c).  If other
 * requests of the loop already wait for the same namespace or tag, the request queues after them. */
#ifndef VS_SERVER_TAKE_H
#define VS_SERVER_TAKE_H

#include "server/request.h"

/* Takes one id into request->ids; n ids, at most VESTA_BATCH_MAX.  If the request has several names
 * (vs_request_enter_all), the i-th id is of the i-th name.  Ids that were taken are kept while the request waits for
 * the others. */
enum vs_reply_state vs_take_id(struct vs_request *request, vs_handler *done);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, vs_handler *done);
/* Takes 1 to n ids, as many as are available at once, and sets request->n. */
enum vs_reply_state vs_take_some(struct vs_request *request, size_t n, vs_handler *done);
/* Takes a slice of the namespace's ticks, or 1 to n of the tag's numbers, into request->got. */
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, vs_handler *done);
/* Takes n consecutive numbers of one range of the tag.  request->ids[0] is the last of them.  Rejects the request if no
 * range has so many. */
enum vs_reply_state vs_take_run(struct vs_request *request, uint64_t n, vs_handler *done);
/* Waits until the request's rates allow n ids. */
enum vs_reply_state vs_take_turn(struct vs_request *request, uint64_t n, vs_handler *done);
/* Waits for the tag's desk to complete session->waiting.job.  Rejects the request if too many jobs wait there. */
enum vs_reply_state vs_take_job(struct vs_request *request, const struct vs_desk_job *what, vs_handler *done);

/* For a transaction, which takes the ids of all its commands before it answers.  vs_take_up_to takes ids as vs_take_ids
 * does, from ids[*have] on.  vs_take_run_now takes a run without checking the size of a range.  false: not all were
 * taken, and request->pause is the reason. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n);
bool vs_take_run_now(struct vs_request *request, uint64_t n, uint64_t *last);
/* Returns whether the tag's known ranges allow n consecutive numbers.  false: the request is rejected. */
bool vs_take_check_run(struct vs_request *request, uint64_t n);
/* Makes `stage` run again when there may be ids. */
enum vs_reply_state vs_take_wait(struct vs_request *request, vs_handler *stage);

#endif
