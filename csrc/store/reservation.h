/* reservation.h -- the rules of reservations, shared by the backends.  Pure.
 *
 * Every number that was ever reserved has a row: its tag, the token of the last reservation, and the time from which it
 * may be reserved again.  Rows are never deleted here, so a number without a row has never been reserved. */
#ifndef VS_STORE_RESERVATION_H
#define VS_STORE_RESERVATION_H

#include "store/counter.h"

#define VS_RESERVATIONS "vesta_reservation"
/* value of free_ms if the number may be reserved at once.  In the table, NULL means committed */
#define VS_CANCELLED_MS 0

struct vs_reserved {
    bool is_there, is_committed;
    uint64_t number, token[2];
    int64_t free_ms;
};

bool vs_reserved_is_own(const struct vs_reserved *row, const uint64_t token[2]);

/* Handles a repeated reserve: its token already has a row, which an earlier attempt has written.  If the number has
 * been settled since, fills the reply with REFUSED and returns false. */
bool vs_reservation_again(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

/* Decides how a settle changes the number's row.  WRITE: set free_ms.  DONE: the row already has that state.  TOLD: the
 * reply is REFUSED, with the reason.  If this host was granted the number, but the row is missing, the database may
 * have lost the row.  The reply then has the cause VS_BY_STORE, which is not final. */
enum vs_settling { VS_SETTLE_WRITE, VS_SETTLE_DONE, VS_SETTLE_TOLD };
enum vs_settling vs_reservation_settle(const struct vs_reserved *row, const struct vs_reservation *reservation,
                                       bool commit, const char *tag, struct vs_reply *reply);

/* Returns whether the counter's numbers are consecutive.  If not, fills the reply with REFUSED. */
bool vs_reservation_check(const struct vs_tag *row, struct vs_reply *reply);

/* Returns whether the counter is at or above the numbers that this host was granted.  If not, fills the reply with
 * REFUSED. */
bool vs_reservation_remembers(const struct vs_tag *row, uint64_t granted, struct vs_reply *reply);

/* Reports that the counter is at a number that was reserved before.  Fills the reply with REFUSED and returns false. */
bool vs_reservation_went_back(uint64_t number, const char *tag, struct vs_reply *reply);

/* Reports that the row has impossible values.  Fills the reply with REFUSED and returns false. */
bool vs_reservation_is_spoilt(const char *tag, struct vs_reply *reply);

/* Fills reply->grant with the row's number.  If no counter can have such a number, fills the reply with REFUSED and
 * returns false. */
bool vs_reservation_grant(const struct vs_reserved *row, const char *tag, struct vs_reply *reply);

#endif
