/* stores.c -- a store, a namespace in it and its numbers, as the commands for operators see them.  Knows no command. */
#include "main/ops/stores.h"

#include "id/id.h"
#include "keeper/options.h"
#include "os/clock.h"
#include "os/files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int vs_at_find(struct vs_at *at, bool one) {
    at->where = (struct vs_where){
        .text = {[VS_W_CONFIG] = at->config_path, [VS_W_NAMESPACE] = at->name, [VS_W_STORE] = at->uri},
        .asks_no_file = true,
        .json = at->json};
    int rc = vs_where_read(&at->where);
    if (rc != VS_GO) return rc;
    if (one && !at->where.config) vs_where_put(&at->where, VS_W_NAMESPACE, "default", VS_FROM_DEFAULT, "default");
    if (at->effective && !at->where.text[VS_W_STORE])
        vs_effective_print(&(struct vs_conf_value){.path = "store", .absent = "none: name one, or run it with -c"},
                           at->json);
    if (at->effective) return vs_where_print(&at->where);
    bool is_named = at->where.text[VS_W_NAMESPACE] && at->where.origin[VS_W_NAMESPACE] != VS_FROM_FILE;
    if (one || is_named) at->name = vs_where_leased(&at->where);
    if (one || is_named) at->public_ = vs_where_public(&at->where, at->name);
    at->uri = at->where.text[VS_W_STORE];
    at->secret = at->where.secret;
    if (at->uri || !at->where.config) return VS_GO;
    return vs_usage(
        "the namespace %s of %s has no store: its numbers are of this machine; name it with --store file:DIR",
        at->where.text[VS_W_NAMESPACE], vs_shown_text(at->where.text[VS_W_CONFIG]));
}

static int no_store(void) {
    char state[PATH_MAX];
    if (vs_state_dir(state, sizeof state) != 0 || access(state, F_OK) != 0)
        return vs_usage("--store is missing: %s; or -c FILE", VS_STORE_FORMS);
    return vs_usage("--store is missing: %s; or -c FILE; what had no --store is in --store file:%s", VS_STORE_FORMS, state);
}

int vs_at_open(struct vs_at *at) {
    struct vesta_error err;
    if (!at->uri) return no_store();
    if (!at->name) at->name = "default";
    if (vs_namespace_check(at->name, &err) != VESTA_OK) return vs_report(&err);
    struct vs_store_opts opts = {.namespace_ = at->name,
                                 .group = -1,
                                 .clock = vs_clock_system(),
                                 .secret = at->secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    return vs_store_open(at->uri, &opts, &at->store, &err) == VESTA_OK ? VS_GO : vs_report(&err);
}

void vs_at_close(struct vs_at *at) {
    if (at->store) at->store->backend->close(at->store);
    at->store = NULL;
}

void vs_at_free(struct vs_at *at) {
    vs_at_close(at);
    vs_where_free(&at->where);
}

int vs_at_told(const struct vs_at *at, const struct vs_reply *reply) {
    const char *text = *reply->text ? reply->text : "it does not say why";
    switch (reply->outcome) {
    case VS_STORE_CONFLICT: vs_say("somebody else has changed it meanwhile: check it and try again"); break;
    case VS_STORE_MOVED:
        vs_say("the namespace %s has been replaced meanwhile: check it and try again", at->name);
        break;
    case VS_STORE_UNKNOWN:
        vs_say("no answer came, so it may have been done, or may still be: check it (%s)", text);
        break;
    default: vs_say("%s", text);
    }
    return VS_FAILED;
}

int vs_at_read(struct vs_at *at) {
    struct vesta_error err;
    struct vs_reply reply;
    at->store->leases->ns_read(at->store, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(at, &reply);
    at->ns = reply.ns;
    at->store_ms = reply.store_ms;
    if (at->ns.ver == 0) return VS_GO;
    if (vesta_layout_parse(at->ns.layout, &at->layout, &err) != VESTA_OK ||
        at->layout.fingerprint != at->ns.fingerprint) {
        vs_say("the record of namespace %s contradicts itself: its layout is %s", at->name,
               vs_shown_text(at->ns.layout));
        return VS_FAILED;
    }
    vs_shape_of(&at->layout, &at->shape);
    at->worker_max = at->layout.worker >= 0 ? at->layout.field[at->layout.worker].max : 0;
    if (!at->ns.static_count || at->ns.static_first + at->ns.static_count - 1 <= at->worker_max) return VS_GO;
    vs_say("the namespace %s has static numbers that its layout does not have", at->name);
    return VS_FAILED;
}

int vs_at_need(struct vs_at *at) {
    int rc = vs_at_read(at);
    if (rc != VS_GO || at->ns.ver) return rc;
    vs_say("the namespace %s is not in the store; `vesta store show` lists those that are; create it: vesta store init "
           "--namespace %s --layout ... (--again, if it was there before)",
           at->name, at->name);
    return VS_FAILED;
}

bool vs_is_leased_to(const struct vesta_layout *layout, const struct vs_ns_record *ns) {
    char why[VS_DEPARTURE_MAX];
    return layout->fingerprint == ns->fingerprint && !vs_layout_departs(layout, ns->layout, why);
}

const char *vs_at_named(const struct vs_at *at, char *buf) {
    snprintf(buf, VS_AT_NAMED_MAX, "%s%s%s", at->name, at->public_ ? ", leased for " : "",
             at->public_ ? at->public_ : "");
    return buf;
}

void vs_at_named_json(const struct vs_at *at) {
    vs_outf("{\"namespace\":");
    vs_out_json(at->name);
    if (!at->public_) return;
    vs_outf(",\"public\":");
    vs_out_json(at->public_);
}

int64_t vs_at_ahead_ms(int64_t store_ms) {
    return vs_now_ms() - store_ms;
}

/* ------------------------------------------------------------------ numbers */

int vs_at_list(struct vs_at *at, struct vs_workers *workers) {
    struct vs_reply reply;
    *workers = (struct vs_workers){0};
    at->store->leases->list(at->store, &workers->listed, &workers->count, &reply);
    if (reply.outcome != VS_STORE_OK) {
        free(workers->listed);
        workers->listed = NULL;
        return vs_at_told(at, &reply);
    }
    uint64_t used = 0;
    if (reply.store_ms > 0) at->store_ms = reply.store_ms;
    for (size_t i = 0; i < workers->count; i++) {
        if (workers->listed[i].worker > at->worker_max) continue;
        workers->standing[vs_standing_of(&workers->listed[i].record, at->store_ms)]++;
        used += !vs_is_static(&at->ns, workers->listed[i].worker);
    }
    workers->never = at->worker_max - used + 1 - at->ns.static_count;
    return VS_GO;
}
