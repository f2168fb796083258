/* reservation.h -- what the backends' reservations share: what may become of one.  Pure.
 *
 * A number that was ever reserved has a row: its tag, the token of whoever had it last, and from when on it may be
 * given again.  Rows are never deleted here, so a number without one was not given yet. */
#ifndef VS_STORE_RESERVATION_H
#define VS_STORE_RESERVATION_H

#include "store/counter.h"

#define VS_RESERVATIONS "vesta_reservation" /* the table's name */
#define VS_CANCELLED_MS 0 /* the row's free_ms: from now on; where it is NULL the number is committed */

struct vs_reserved {
    bool is_there, is_committed;
    uint64_t number, token[2];
    int64_t free_ms;
};

bool vs_reserved_is_own(const struct vs_reserved *row, const uint64_t token[2]);

/* A token's own row, which an earlier try of the same reserve has made.  False: REFUSED, for it was settled since. */
bool vs_reservation_again(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

/* What settling makes of the number's row.  WRITE: free_ms is to be set.  DONE: it stands there already.  TOLD:
 * REFUSED, and why.  A number without a row that this host knows was granted gets no verdict (VS_BY_STORE): the row may
 * be lost, and the number may be reserved. */
enum vs_settling { VS_SETTLE_WRITE, VS_SETTLE_DONE, VS_SETTLE_TOLD };
enum vs_settling vs_reservation_settle(const struct vs_reserved *row, const struct vs_reservation *reservation,
                                       bool commit, const char *tag, struct vs_reply *reply);

/* A counter whose numbers follow one another.  False: REFUSED. */
bool vs_reservation_check(const struct vs_tag *row, struct vs_reply *reply);

/* Whether the counter stands no lower than what this host was granted.  False: REFUSED. */
bool vs_reservation_remembers(const struct vs_tag *row, uint64_t granted, struct vs_reply *reply);

/* The counter stands at a number that was reserved before.  REFUSED; false. */
bool vs_reservation_went_back(uint64_t number, const char *tag, struct vs_reply *reply);

/* A row whose values are not those of a reservation.  REFUSED; false. */
bool vs_reservation_is_spoilt(const char *tag, struct vs_reply *reply);

/* Fills reply->grant with the row's number.  False: REFUSED, because no counter has such a number. */
bool vs_reservation_grant(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

#endif
