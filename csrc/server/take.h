/* take.h -- takes ids for a request that has entered a namespace or a tag.
 *
 * Each function takes ids or numbers and calls `done`, at once or, if the request must wait, later (wait.c).  If other
 * requests of the loop already wait for the same namespace or tag, the request waits behind them. */
#ifndef VS_SERVER_TAKE_H
#define VS_SERVER_TAKE_H

#include "server/request.h"

/* Take one id, or n ids (at most VESTA_BATCH_MAX), into request->ids.  If the request has several names
 * (vs_request_enter_all), the i-th id is an id of the i-th name.  If there are too few ids, the request keeps the ids
 * that it has and waits for the missing ones. */
enum vs_reply_state vs_take_id(struct vs_request *request, vs_handler *done);
enum vs_reply_state vs_take_ids(struct vs_request *request, size_t n, vs_handler *done);
/* Takes 1 to n ids, as many as are available now, and sets request->n to their number. */
enum vs_reply_state vs_take_some(struct vs_request *request, size_t n, vs_handler *done);
/* Takes a block of the namespace's ticks, or 1 to n numbers of the tag, into request->got. */
enum vs_reply_state vs_take_block(struct vs_request *request, uint64_t n, vs_handler *done);
/* Takes n consecutive numbers from one range of the tag, and sets request->ids[0] to the last of them.  Rejects the
 * request if no range has n numbers. */
enum vs_reply_state vs_take_run(struct vs_request *request, uint64_t n, vs_handler *done);
/* Waits until the request's rate limits allow n ids, but takes no ids. */
enum vs_reply_state vs_take_turn(struct vs_request *request, uint64_t n, vs_handler *done);
/* Queues a job at the tag's desk and waits for its result in session->waiting.job.  Rejects the request if too many
 * jobs wait. */
enum vs_reply_state vs_take_job(struct vs_request *request, const struct vs_desk_job *what, vs_handler *done);

/* For EXEC, which takes the ids of all commands before it writes a reply.  vs_take_up_to takes ids as vs_take_ids does,
 * into ids[*have] and the following elements.  vs_take_run_now takes consecutive numbers without checking the size of
 * the ranges.  Both return false if not all ids could be taken.  request->pause is then the reason. */
bool vs_take_up_to(struct vs_request *request, uint64_t *ids, size_t *have, size_t n);
bool vs_take_run_now(struct vs_request *request, uint64_t n, uint64_t *last);
/* Returns whether the tag's known ranges allow n consecutive numbers.  If not, rejects the request. */
bool vs_take_check_run(struct vs_request *request, uint64_t n);
/* Makes `stage` run again when there may be ids.  Always returns VS_WAITS. */
enum vs_reply_state vs_take_wait(struct vs_request *request, vs_handler *stage);

#endif
