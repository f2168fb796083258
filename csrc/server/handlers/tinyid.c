/* tinyid.c -- the routes of tinyid's server, for tinyid clients.  Bodies have tinyid's form.  Errors have status 200
 * and a code of tinyid in the body, or an empty body. */
#include "server/commands.h"
#include "server/rights.h"
#include "server/take.h"

#include <string.h>

#define TOKEN_ERROR 5
#define SYSTEM_ERROR 6

enum { BIZ_TYPE, BATCH_SIZE, TOKEN, SEGMENT_TOKEN = 1 }; /* argument positions (segment routes have no batchSize) */

/* ------------------------------------------------------------------ errors */

void vs_tinyid_failure(struct vs_request *r, const char *text) {
    bool is_token = r->status == 401 || r->status == 403;
    r->status = 200;
    r->retry_after_s = 0;
    if (!r->call->json) return; /* the text routes reply to errors with an empty body */
    r->json = true;
    vs_put_text(r->out, "{\"data\":null,\"code\":");
    vs_put_uint(r->out, is_token ? TOKEN_ERROR : SYSTEM_ERROR);
    vs_json_text(r->out, "message", is_token ? "token is error" : text);
    vs_put_text(r->out, "}");
}

/* Checks the tinyid tokens of the config, which belong to no client.  If there are accounts, http.c has already checked
 * the token. */
static bool tinyid_may_ask(struct vs_request *r, struct vs_slice token) {
    const struct vs_server *server = r->session->server;
    int said = 0; /* the matching token, or if none matches, the shortest token, which is the easiest to guess */
    if (server->rules.tinyid_token_count == 0) return true;
    for (int i = 1; i < server->rules.tinyid_token_count; i++)
        if (strlen(server->rules.tinyid_token[i]) < strlen(server->rules.tinyid_token[said])) said = i;
    for (int i = 0; i < server->rules.tinyid_token_count; i++)
        if (token.at && vs_slice_is_secret(token, server->rules.tinyid_token[i])) said = i;
    if (!token.at) return vs_refuse(r, "no_token", "token is error"), false;
    enum vs_proof proof = vs_rights_prove_plain(r, token, server->rules.tinyid_token[said]);
    if (proof == VS_PROOF_WRONG) vs_refuse(r, "no_token", "token is error");
    return proof == VS_PROOF_RIGHT;
}

/* Checks the token and enters the tag that the request names. */
static enum vs_reply_state tinyid_enter(struct vs_request *r, int token, vs_handler *then) {
    if (!tinyid_may_ask(r, vs_arg(r, token))) return VS_ANSWERED;
    if (!vs_arg(r, BIZ_TYPE).at) return vs_refuse(r, "bad_field", "bizType is missing");
    return vs_request_enter(r, BIZ_TYPE, VS_KIND_COUNTER, then);
}

/* ------------------------------------------------------------------ ids */

/* Reads a batch size.  As in tinyid, a value above the limit of 100000 is reduced to the limit. */
static bool read_batch(struct vs_request *r, struct vs_slice text, uint64_t *n) {
    *n = 1;
    if (!text.at) return true;
    if (vesta_parse(VESTA_DECIMAL, text.at, text.length, n) != VESTA_OK || *n == 0)
        return vs_refuse(r, "bad_count", "batchSize must be a number of at least 1"), false;
    uint64_t most = vs_rights_n(r, VESTA_BATCH_MAX);
    if (*n > most) *n = most;
    return true;
}

static enum vs_reply_state tinyid_put_numbers(struct vs_request *r) {
    if (r->call->json) vs_put_text(r->out, "{\"data\":[");
    for (uint64_t i = 0; i < r->n; i++) {
        if (i > 0) vs_put(r->out, ",", 1);
        vs_put_uint(r->out, r->ids[i]);
    }
    if (r->call->json) vs_put_text(r->out, "],\"code\":200,\"message\":\"\"}");
    return VS_ANSWERED;
}

static enum vs_reply_state tinyid_take(struct vs_request *r) {
    uint64_t n;
    return read_batch(r, vs_arg(r, BATCH_SIZE), &n) ? vs_take_ids(r, n, tinyid_put_numbers) : VS_ANSWERED;
}

enum vs_reply_state vs_on_tinyid(struct vs_request *r) {
    return tinyid_enter(r, TOKEN, tinyid_take);
}

/* ------------------------------------------------------------------ segments */

/* The client issues the numbers from `current` + 1 to `max` whose remainder modulo `delta` is `remainder`.  When it
 * reaches `loading`, it requests the next segment. */
struct tinyid_segment {
    int64_t current, loading, max, delta, remainder;
};

static struct tinyid_segment segment_of(const struct vesta_numbers *numbers) {
    int64_t first = (int64_t)numbers->first, stride = (int64_t)numbers->stride;
    int64_t last = first + (int64_t)(numbers->count - 1) * stride;
    return (struct tinyid_segment){.current = first - 1,
                                   .loading = first - 1 + (last - (first - 1)) / 5,
                                   .max = last,
                                   .delta = stride,
                                   .remainder = first % stride};
}

static enum vs_reply_state put_segment(struct vs_request *r) {
    struct tinyid_segment s = segment_of(&r->got.numbers);
    const int64_t values[] = {s.current, s.loading, s.max, s.delta, s.remainder};
    if (!r->call->json) {
        for (int i = 0; i < 5; i++) {
            if (i > 0) vs_put(r->out, ",", 1);
            vs_put_int(r->out, values[i]);
        }
        return VS_ANSWERED;
    }
    vs_put_text(r->out, "{\"data\":{");
    vs_json_int(r->out, "maxId", s.max);
    vs_json_int(r->out, "loadingId", s.loading);
    vs_json_int(r->out, "currentId", s.current);
    vs_json_int(r->out, "delta", s.delta);
    vs_json_int(r->out, "remainder", s.remainder);
    vs_put_text(r->out, "},\"code\":200,\"message\":\"\"}");
    return VS_ANSWERED;
}

static enum vs_reply_state take_segment(struct vs_request *r) {
    if (!vs_rights_may_block(r)) return VS_ANSWERED;
    if (r->tag->desk)
        return vs_refuse(r, "bad_command",
                         "the tag has strict order, which a segment would break: use nextId");
    return vs_take_block(r, vs_rights_block(r, VESTA_BATCH_MAX), put_segment);
}

enum vs_reply_state vs_on_tinyid_segment(struct vs_request *r) {
    return tinyid_enter(r, SEGMENT_TOKEN, take_segment);
}
