/* at.c -- a namespace of a store as commands see it (see at.h). */
#include "modules/at.h"
#include "command/command.h"

#include "id/id.h"
#include "keeper/options.h"
#include "os/clock.h"

#include <stdlib.h>

int vs_at_open(struct vs_at *at, struct vesta_error *err) {
    if (!at->name) at->name = "default";
    struct vs_store_opts opts = {.namespace_ = at->name,
                                 .group = -1,
                                 .clock = vs_clock_system(),
                                 .secret = at->secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    int rc = vs_namespace_check(at->name, err);
    return rc == VESTA_OK ? vs_store_open(at->uri, &opts, &at->store, err) : rc;
}

void vs_at_close(struct vs_at *at) {
    if (at->store) at->store->backend->close(at->store);
    at->store = NULL;
}

static int at_fail(const struct vs_reply *reply, struct vesta_error *err) {
    char text[sizeof err->text];
    return vs_fail(err, VESTA_EIO, "%s", vs_reply_say(reply, "the store gave no reason", text, sizeof text));
}

int vs_at_read(struct vs_at *at, struct vesta_error *err) {
    struct vs_reply reply;
    at->store->leases->ns_read(at->store, &reply);
    if (reply.outcome != VS_STORE_OK) return at_fail(&reply, err);
    at->ns = reply.ns;
    at->store_ms = reply.store_ms;
    if (at->ns.ver == 0) return VESTA_OK;
    if (vesta_layout_parse(at->ns.layout, &at->layout, err) != VESTA_OK || at->layout.fingerprint != at->ns.fingerprint)
        return vs_fail(err, VESTA_EIO, "the record of namespace %s contradicts itself: its layout is %s", at->name,
                       vs_shown_text(at->ns.layout));
    vs_shape_of(&at->layout, &at->shape);
    at->worker_max = at->layout.worker >= 0 ? at->layout.field[at->layout.worker].max : 0;
    if (at->ns.static_count && at->ns.static_first + at->ns.static_count - 1 > at->worker_max)
        return vs_fail(err, VESTA_EIO, "the namespace %s has static worker ids that its layout does not have",
                       at->name);
    return VESTA_OK;
}

int vs_at_need(struct vs_at *at, struct vesta_error *err) {
    int rc = vs_at_read(at, err);
    if (rc != VESTA_OK || at->ns.ver) return rc;
    return vs_fail(
        err, VESTA_ENOGEN,
        "the namespace %s is not in the store.  `vesta store show` lists its namespaces.  To create it: vesta "
        "store init --namespace %s --layout ... (add --again if it existed before)",
        at->name, at->name);
}

int vs_at_list(struct vs_at *at, struct vs_workers *workers, struct vesta_error *err) {
    struct vs_reply reply;
    *workers = (struct vs_workers){0};
    at->store->leases->list(at->store, &workers->listed, &workers->count, &reply);
    if (reply.outcome != VS_STORE_OK) {
        free(workers->listed);
        workers->listed = NULL;
        return at_fail(&reply, err);
    }
    uint64_t used = 0;
    if (reply.store_ms > 0) at->store_ms = reply.store_ms;
    for (size_t i = 0; i < workers->count; i++) {
        if (workers->listed[i].worker > at->worker_max) continue;
        workers->standing[vs_standing_of(&workers->listed[i].record, &at->shape, at->store_ms)]++;
        used += !vs_is_static(&at->ns, workers->listed[i].worker);
    }
    workers->never = at->worker_max - used + 1 - at->ns.static_count;
    return VESTA_OK;
}

static int at_by_worker(const void *key, const void *item) {
    uint64_t worker = *(const uint64_t *)key, other = ((const struct vs_listed *)item)->worker;
    return (worker > other) - (worker < other);
}

const struct vs_record *vs_workers_find(const struct vs_workers *workers, uint64_t worker) {
    const struct vs_listed *found =
        workers->count ? bsearch(&worker, workers->listed, workers->count, sizeof *workers->listed, at_by_worker)
                       : NULL;
    return found ? &found->record : NULL;
}

bool vs_is_leased_to(const struct vesta_layout *layout, const struct vs_ns_record *ns) {
    char why[VS_DEPARTURE_MAX];
    return layout->fingerprint == ns->fingerprint && !vs_layout_departs(layout, ns->layout, why);
}
