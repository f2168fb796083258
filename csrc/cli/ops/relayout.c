/* relayout.c -- `vesta store relayout`: proves that a layout's ids differ from all that a namespace can have given, and
 * makes the namespace from which they are leased.  Hosts move to it one by one, by their configs. */
#include "cli/ops/relayout.h"

#include "id/id.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/lineage.h"

#include <string.h>

struct move {
    struct vs_lineage lineage;
    struct vesta_layout layout;
    struct vs_ns_record last; /* the newest generation's record */
    unsigned count;           /* generations that are there */
};

static int find_last(struct move *move) {
    struct vesta_error err;
    struct vs_ns_record ns;
    for (move->count = 0; move->count < VS_GENERATIONS_MAX; move->count++) {
        if (vs_lineage_read(&move->lineage, move->count + 1, &ns, &err) != VESTA_OK) return vs_report(&err);
        if (ns.ver == 0) break;
        move->last = ns;
    }
    if (move->count == VS_GENERATIONS_MAX)
        return vs_say("the namespace %s has had %d layouts, the most there can be", move->lineage.name,
                      VS_GENERATIONS_MAX),
               VS_FAILED;
    if (move->count) return VS_GO;
    vs_say("the namespace %s is not in the store: there is nothing to move; `vesta store show` lists those that are",
           move->lineage.name);
    return VS_FAILED;
}

static int tell(const struct move *move, const struct vs_at *at, unsigned n, bool made) {
    char name[VESTA_NAMESPACE_MAX], text[VESTA_LAYOUT_TEXT_MAX];
    vs_generation_name(move->lineage.name, n, name);
    vesta_layout_text(&move->layout, text);
    if (at->json) {
        vs_outf("{\"namespace\":\"%s\",\"leased_as\":\"%s\",\"layout\":\"%s\",\"created\":%s}\n", move->lineage.name,
                name, text, made ? "true" : "false");
        return VS_DONE;
    }
    vs_outf("proved: no id of this layout can be equal to one that %s has given or will give\n", move->lineage.name);
    vs_outf("%s %s: %s\n", name, made ? "was created" : "is there already", text);
    vs_outf("host by host, put this into the config and restart:\n");
    vs_outf("  namespaces = { [\"%s\"] = { leased_as = \"%s\", layout = \"%s\", ...\n", move->lineage.name, name, text);
    return VS_DONE;
}

/* The namespace that is the next generation; somebody else may be making it just now. */
static int make(const struct move *move, const struct vs_at *at) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_store *store;
    struct vesta_error err;
    struct vs_reply reply;
    struct vs_ns_record fresh = {.ver = 1, .fingerprint = move->layout.fingerprint};
    if (!vs_generation_name(move->lineage.name, move->count + 1, name))
        return vs_say("the name %s has no room for .%u", move->lineage.name, move->count + 1), VS_FAILED;
    vesta_layout_text(&move->layout, fresh.layout);
    if (move->last.static_count &&
        move->last.static_first + move->last.static_count - 1 <= vs_worker_max(&move->layout))
        fresh.static_first = move->last.static_first, fresh.static_count = move->last.static_count;
    if (vs_random(&fresh.incarnation, sizeof fresh.incarnation) != 0) return vs_say("no random bits"), VS_FAILED;
    fresh.incarnation |= 1;
    struct vs_store_opts opts = {.namespace_ = name,
                                 .group = -1,
                                 .clock = vs_clock_system(),
                                 .secret = at->secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    if (vs_store_open(at->uri, &opts, &store, &err) != VESTA_OK) return vs_report(&err);
    store->ops->ns_swap(store, 0, &fresh, &reply);
    store->ops->close(store);
    if (reply.outcome == VS_STORE_OK) return VS_GO;
    if (reply.outcome != VS_STORE_CONFLICT) return vs_at_told(at, &reply);
    return vs_say("somebody else made %s just now: look, and try again", name), VS_FAILED;
}

int vs_relayout(struct vs_at *at, const char *layout) {
    struct move move = {.lineage = {.uri = at->uri,
                                    .secret = at->secret,
                                    .name = at->name,
                                    .clock = vs_clock_system(),
                                    .call_ms_max = VS_OPERATOR_CALL_MS}};
    struct vesta_error err;
    int rc = vs_read_layout(layout, &move.layout);
    if (rc != VS_DONE) return rc;
    if ((rc = find_last(&move)) != VS_GO) return rc;
    /* asked again, after it was cut short or by somebody else: what is there is what was wanted */
    if (move.count > 1 && vs_lineage_check(&move.lineage, move.count, &move.layout, &err) == VESTA_OK)
        return tell(&move, at, move.count, false);
    if (vs_lineage_prove(&move.lineage, move.count + 1, &move.layout, &err) != VESTA_OK) {
        vs_say("nothing was done: %s", err.text);
        return VS_FAILED;
    }
    if ((rc = make(&move, at)) != VS_GO) return rc;
    return tell(&move, at, move.count + 1, true);
}
