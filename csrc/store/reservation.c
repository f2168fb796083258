#include "store/reservation.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

bool vs_reserved_is_own(const struct vs_reserved *row, const uint64_t token[2]) {
    /* a token of zeros is invalid, because a request may contain zeros, and a damaged row is read as zeros */
    bool is_drawn = token[0] | token[1];
    return is_drawn && row->is_there && row->token[0] == token[0] && row->token[1] == token[1];
}

/* Fills the reply with REFUSED and the cause VS_BY_RESERVATION, which is the number's row.  Returns false. */
static __attribute__((format(printf, 2, 3))) bool reservation_settled(struct vs_reply *reply, const char *format, ...) {
    char text[VS_SAID_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    reply->by = VS_BY_RESERVATION;
    return vs_answer(reply, VS_STORE_REFUSED, "%s", text);
}

bool vs_reservation_again(const struct vs_reserved *row, const char *tag, struct vs_reply *reply) {
    assert(row->is_there);
    if (!row->is_committed && row->free_ms != VS_CANCELLED_MS) return true;
    return reservation_settled(reply,
                               "number %" PRIu64 " of tag '%s' was %s under this token: reserve with a new token",
                               row->number, tag, row->is_committed ? "committed" : "cancelled");
}

/* Returns whether the database may have lost the row of a number that it granted.  No counter grants 0, and no
 * reservation has a token of zeros. */
static bool may_be_lost(const struct vs_reserved *row, const struct vs_reservation *reservation) {
    return !row->is_there && reservation->number > 0 && reservation->number < reservation->granted &&
           (reservation->token[0] | reservation->token[1]);
}

enum vs_settling vs_reservation_settle(const struct vs_reserved *row, const struct vs_reservation *reservation,
                                       bool commit, const char *tag, struct vs_reply *reply) {
    uint64_t number = reservation->number;
    if (may_be_lost(row, reservation))
        vs_answer(reply, VS_STORE_REFUSED,
                  "number %" PRIu64 " of tag '%s' was granted, but the database has no row for it: it may have been "
                  "restored from a backup. Ask an operator before you use or drop the number",
                  number, tag);
    else if (!row->is_there)
        reservation_settled(reply, "number %" PRIu64 " of tag '%s' was never reserved: check the number and the tag",
                            number, tag);
    else if (!vs_reserved_is_own(row, reservation->token))
        reservation_settled(reply,
                            "number %" PRIu64 " of tag '%s' is not reserved under this token. If it was, it was "
                            "cancelled or expired since, and it was reserved again",
                            number, tag);
    else if (row->is_committed && !commit)
        reservation_settled(reply, "number %" PRIu64 " of tag '%s' is committed and cannot be cancelled", number, tag);
    else if (!row->is_committed && row->free_ms == VS_CANCELLED_MS && commit)
        reservation_settled(
            reply, "number %" PRIu64 " of tag '%s' was cancelled and cannot be committed: reserve another number",
            number, tag);
    else
        return row->is_committed == commit && (commit || row->free_ms == VS_CANCELLED_MS) ? VS_SETTLE_DONE
                                                                                          : VS_SETTLE_WRITE;
    return VS_SETTLE_TOLD;
}

bool vs_reservation_check(const struct vs_tag *row, struct vs_reply *reply) {
    return row->delta == 1 || vs_answer(reply, VS_STORE_REFUSED,
                                        "tag '%s' has a delta of %" PRId64
                                        ", but numbers without gaps need a tag in a single database (delta 1)",
                                        row->tag, row->delta);
}

bool vs_reservation_went_back(uint64_t number, const char *tag, struct vs_reply *reply) {
    reply->by = VS_BY_HISTORY;
    reply->lowered = number;
    return vs_answer(reply, VS_STORE_REFUSED,
                     "the counter '%s' went back: it is at %" PRIu64 ", a number that was reserved before", tag,
                     number);
}

bool vs_reservation_remembers(const struct vs_tag *row, uint64_t granted, struct vs_reply *reply) {
    if (row->max < 0 || (uint64_t)row->max >= granted) return true; /* vs_counter_grant handles a value below 0 */
    reply->by = VS_BY_HISTORY;
    reply->lowered = (uint64_t)row->max;
    return vs_answer(reply, VS_STORE_REFUSED,
                     "the counter '%s' went back: it is at %" PRId64
                     ", but this host was granted all numbers below %" PRIu64,
                     row->tag, row->max, granted);
}

bool vs_reservation_is_spoilt(const char *tag, struct vs_reply *reply) {
    return vs_answer(reply, VS_STORE_REFUSED,
                     "a row of tag '%s' in " VS_RESERVATIONS
                     " is no valid reservation, so another program changed it. Correct or delete the row",
                     tag);
}

bool vs_reservation_grant(const struct vs_reserved *row, const char *tag, struct vs_reply *reply) {
    if (row->number >= VS_NUMBER_MAX) return vs_reservation_is_spoilt(tag, reply);
    reply->grant =
        (struct vs_grant){.from = row->number, .until = row->number + 1, .delta = 1, .held_until_ms = row->free_ms};
    return true;
}
