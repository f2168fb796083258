/* masked.c -- writes and reads masked ids (mask/mask.h). */
#include "base/error.h"
#include "server/commands.h"
#include "server/rights.h"

#define ROW 64 /* ids that share the calls of AES */

bool vs_masked_write(struct vs_request *r, const uint64_t *ids, size_t n, char *texts) {
    struct vesta_error err;
    if (vs_mask_write(vs_request_mask(r), r->session->scratch->loop, ids, n, texts, &err) == VESTA_OK) return true;
    for (size_t i = 0; r->tag && i < n; i++)
        if (vs_mask_admits(r->tag->mask, ids[i], NULL) != VESTA_OK)
            vs_tag_rest(r->tag, ids[i], r->session->server->clock);
    vs_refuse(r, "used_up", "'%s': %s", r->tag ? r->tag->name : r->ns->name, err.text);
    return false;
}

static void masked_put_one(struct vs_request *r, const char *text, size_t length) {
    if (r->protocol == VS_RESP) {
        vs_resp_bulk(r->out, text, length);
        return;
    }
    if (r->json) vs_put(r->out, "\"", 1);
    vs_put(r->out, text, length);
    vs_put(r->out, r->json ? "\"" : "\n", 1);
}

_Static_assert(VESTA_BATCH_MAX *(VS_MASK_TEXT_MAX + 8) + 16 <= VS_REPLY_MAX, "a batch of masked ids fits a reply");

void vs_masked_put(struct vs_request *r, const uint64_t *ids, size_t n) {
    char texts[ROW * VS_MASK_TEXT_MAX];
    size_t length = vs_mask_length(vs_request_mask(r));
    for (size_t from = 0; from < n; from += ROW) {
        size_t count = n - from < ROW ? n - from : ROW;
        if (!vs_masked_write(r, ids + from, count, texts)) return;
        for (size_t i = 0; i < count; i++) {
            if (r->json && from + i > 0) vs_put(r->out, ",", 1);
            masked_put_one(r, texts + i * length, length);
        }
    }
}

bool vs_masked_read(struct vs_request *r, struct vs_slice text, uint64_t *number, int *version) {
    struct vesta_error err;
    if (!vs_rights_may_unmask(r)) return false;
    if (!text.at) return vs_refuse(r, "bad_field", "id is missing: %s", vs_call_help(r->call, r->protocol)), false;
    int loop = r->session->scratch->loop;
    if (vs_mask_read(vs_request_mask(r), loop, text.at, text.length, number, version, &err) == VESTA_OK) return true;
    vs_refuse(r, "bad_id", "%s", err.text);
    return false;
}
