/* dense.c -- gapless numbers, which are reserved and then committed or cancelled. */
#include "base/error.h"
#include "os/random.h"
#include "server/commands.h"
#include "server/named.h"
#include "server/rights.h"
#include "server/take.h"

#include <stdio.h>

#define HOLD_MS 60000
#define HOLD_MS_MAX 604800000 /* a week */
#define TOKEN_DIGITS 32

/* ------------------------------------------------------------------ arguments */

static bool read_hold(struct vs_request *r, struct vs_slice text, int64_t *hold_ms) {
    uint64_t ms = HOLD_MS;
    bool is_fit = !text.at || (vesta_parse(VESTA_DECIMAL, text.at, text.length, &ms) == VESTA_OK && ms >= 1000 &&
                               ms <= HOLD_MS_MAX);
    *hold_ms = (int64_t)ms;
    if (!is_fit)
        vs_refuse(r, "bad_field", "hold_ms '%s' must be a number from 1000 to %d", VS_QUOTE(text.at, text.length),
                  HOLD_MS_MAX);
    return is_fit;
}

static int dense_digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool dense_read_token(struct vs_request *r, struct vs_slice text, uint64_t token[2]) {
    bool is_fit = text.at && text.length == TOKEN_DIGITS;
    token[0] = token[1] = 0;
    for (size_t i = 0; is_fit && i < TOKEN_DIGITS; i++) {
        int digit = dense_digit_of(text.at[i]);
        is_fit = digit >= 0;
        token[i / 16] = token[i / 16] << 4 | (uint64_t)(digit & 15);
    }
    if (!is_fit)
        vs_refuse(r, "bad_field", "the token is malformed: send the %d digits 0-9 a-f that the reservation returned",
                  TOKEN_DIGITS);
    return is_fit;
}

static bool dense_read_number(struct vs_request *r, struct vs_slice text, uint64_t *number) {
    if (text.at && vesta_parse(VESTA_DECIMAL, text.at, text.length, number) == VESTA_OK && *number <= INT64_MAX)
        return true;
    return vs_refuse(r, "bad_field", "number '%s' must be a decimal number",
                     VS_QUOTE(text.at, text.at ? text.length : 0)),
           false;
}

/* ------------------------------------------------------------------ results */

static enum vs_reply_state tell_failure(struct vs_request *r, const struct vs_desk_job *job) {
    switch (job->answer) {
    case VS_DESK_SETTLED: return vs_refuse(r, "settled", "%s", job->text);
    case VS_DESK_BACK:
        if (vs_rights_sees_reasons(r->session)) return vs_refuse(r, "failstop", "%s", job->text);
        return vs_refuse_why(r, "failstop", "the tag is stopped", job->text);
    case VS_DESK_DOWN: return vs_refuse_why(r, "range", "nothing was done", job->text);
    default: return vs_refuse_why(r, "range", "the change may have been applied: send the request again", job->text);
    }
}

/* Returns the job if it succeeded.  Otherwise returns NULL, and the reply is an error. */
static const struct vs_desk_job *dense_done(struct vs_request *r) {
    const struct vs_desk_job *job = r->session->waiting.job;
    if (job->answer == VS_DESK_DONE) return job;
    tell_failure(r, job);
    return NULL;
}

/* ------------------------------------------------------------------ handlers */

static enum vs_reply_state put_reservation(struct vs_request *r) {
    char token[TOKEN_DIGITS + 1];
    const struct vs_desk_job *job = dense_done(r);
    if (!job) return VS_ANSWERED;
    snprintf(token, sizeof token, "%016llx%016llx", (unsigned long long)job->token[0],
             (unsigned long long)job->token[1]);
    vs_count_ids(r, 1);
    vs_named_open(r, 4);
    vs_named_text(r, "tag", r->tag->name);
    vs_named_wide(r, "number", job->number);
    vs_named_text(r, "token", token);
    vs_named_int(r, "held_until_ms", job->held_until_ms);
    vs_named_close(r);
    return VS_ANSWERED;
}

static enum vs_reply_state dense_reserve(struct vs_request *r) {
    struct vs_desk_job what = {.ask = VS_DESK_RESERVE};
    (void)read_hold(r, vs_arg(r, 1), &what.hold_ms);
    if (vs_random(what.token, sizeof what.token) != 0)
        return vs_refuse(r, "range", "the system returned no random bytes: try again later");
    return vs_take_job(r, &what, put_reservation);
}

/* A reservation counts as one id toward the client's rate limits. */
static enum vs_reply_state dense_take_turn(struct vs_request *r) {
    int64_t hold_ms;
    return read_hold(r, vs_arg(r, 1), &hold_ms) ? vs_take_turn(r, 1, dense_reserve) : VS_ANSWERED;
}

enum vs_reply_state vs_on_reserve(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_DENSE, dense_take_turn);
}

static enum vs_reply_state put_settled(struct vs_request *r) {
    const struct vs_desk_job *job = dense_done(r);
    if (!job) return VS_ANSWERED;
    if (r->protocol == VS_RESP) {
        vs_resp_simple(r->out, "OK");
        return VS_ANSWERED;
    }
    vs_named_open(r, 1);
    vs_named_text(r, "status", job->ask == VS_DESK_COMMIT ? "committed" : "cancelled");
    vs_named_close(r);
    return VS_ANSWERED;
}

static enum vs_reply_state dense_settle(struct vs_request *r) {
    struct vs_desk_job what = {.ask = r->call->handler == vs_on_commit ? VS_DESK_COMMIT : VS_DESK_CANCEL};
    bool is_right = dense_read_number(r, vs_arg(r, 1), &what.number) && dense_read_token(r, vs_arg(r, 2), what.token);
    return is_right ? vs_take_job(r, &what, put_settled) : VS_ANSWERED;
}

enum vs_reply_state vs_on_commit(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_DENSE, dense_settle);
}

enum vs_reply_state vs_on_cancel(struct vs_request *r) {
    return vs_request_enter(r, 0, VS_KIND_DENSE, dense_settle);
}
