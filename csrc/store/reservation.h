/* reservation.h -- the rules of reservations, shared by the backends.  Pure.
 *
 * Every number that was ever reserved has a row: its tag, the token of the last reservation, and the time from which it
 * may be reserved again.  Rows are never deleted here, so a number without a row has never been reserved. */
#ifndef VS_STORE_RESERVATION_H
#define VS_STORE_RESERVATION_H

#include "store/counter.h"

#define VS_RESERVATIONS "vesta_reservation"
#define VS_CANCELLED_MS 0 /* in free_ms: may be reserved at once.  In the table, NULL means committed */

struct vs_reserved {
    bool is_there, is_committed;
    uint64_t number, token[2];
    int64_t free_ms;
};

bool vs_reserved_is_own(const struct vs_reserved *row, const uint64_t token[2]);

/* For a reserve with a token that already has a row: an earlier attempt of the same reserve made it.  False: REFUSED,
 * because the number was settled since. */
bool vs_reservation_again(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

/* Decides what settling does to the number's row.  WRITE: set free_ms.  DONE: the row already has that state.  TOLD:
 * the reply is REFUSED, with the reason.  If the row is missing, but this host was granted the number, the cause is
 * VS_BY_STORE and not final: the database may have lost the row. */
enum vs_settling { VS_SETTLE_WRITE, VS_SETTLE_DONE, VS_SETTLE_TOLD };
enum vs_settling vs_reservation_settle(const struct vs_reserved *row, const struct vs_reservation *reservation,
                                       bool commit, const char *tag, struct vs_reply *reply);

/* Whether the counter's numbers are consecutive.  False: REFUSED. */
bool vs_reservation_check(const struct vs_tag *row, struct vs_reply *reply);

/* Whether the counter is not below the numbers that this host was granted.  False: REFUSED. */
bool vs_reservation_remembers(const struct vs_tag *row, uint64_t granted, struct vs_reply *reply);

/* The counter is at a number that was reserved before.  Fills the reply with REFUSED and returns false. */
bool vs_reservation_went_back(uint64_t number, const char *tag, struct vs_reply *reply);

/* The row has impossible values.  Fills the reply with REFUSED and returns false. */
bool vs_reservation_is_spoilt(const char *tag, struct vs_reply *reply);

/* Fills reply->grant with the row's number.  False: REFUSED, because no counter can have such a number. */
bool vs_reservation_grant(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

#endif
