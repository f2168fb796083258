/* namespace.c -- what a name means: a namespace of the server, open or not, or a tag.  A server listens before its
 * namespaces are open, so that one whose store is away harms no other.  Knows no protocol and opens nothing. */
#include "base/error.h"
#include "generator/generator.h"
#include "server/request.h"
#include "server/resp/multi.h"
#include "server/rights/rights.h"
#include "server/shares/shares.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t telling = PTHREAD_MUTEX_INITIALIZER; /* over the `why` of all: read where there is no id */

void vs_namespace_set(struct vs_namespace *ns, enum vs_namespace_state state, const char *why) {
    pthread_mutex_lock(&telling);
    if (why) snprintf(ns->why, sizeof ns->why, "%s", why);
    pthread_mutex_unlock(&telling);
    /* release: pairs with vs_namespace_is_open; gen and layout were set before */
    atomic_store_explicit(&ns->state, state, memory_order_release);
}

const char *vs_namespace_why(const struct vs_namespace *ns, char buf[VS_NAMESPACE_WHY_MAX]) {
    pthread_mutex_lock(&telling);
    memcpy(buf, ns->why, VS_NAMESPACE_WHY_MAX);
    pthread_mutex_unlock(&telling);
    return buf;
}

static enum vs_namespace_state state_of(const struct vs_namespace *ns) {
    /* acquire: pairs with vs_namespace_set, as in vs_namespace_is_open */
    return (enum vs_namespace_state)atomic_load_explicit(&ns->state, memory_order_acquire);
}

bool vs_namespace_has_ended(const struct vs_namespace *ns, char why[VS_NAMESPACE_WHY_MAX]) {
    struct vesta_pause pause;
    if (state_of(ns) == VS_NAMESPACE_ENDED) return vs_namespace_why(ns, why), true;
    if (!vs_namespace_is_open(ns) || vesta_peek(ns->gen[VS_RESP], &pause) == VESTA_OK || pause.why != VESTA_END)
        return false;
    vesta_pause_text(ns->gen[VS_RESP], &pause, why, VS_NAMESPACE_WHY_MAX);
    return true;
}

struct vs_tag_set *vs_request_tags(struct vs_request *r) {
    if (!r->tags) r->tags = r->session->multi ? vs_multi_tags(r->session) : vs_tags_now(r->session->app);
    return r->tags;
}

bool vs_request_find(struct vs_request *r, struct vs_slice name) {
    struct vs_namespace *ns = vs_namespace_named(r->session->app, name.at, name.length);
    struct vs_served_tag *tag = ns || !name.at ? NULL : vs_tag_named(vs_request_tags(r), name.at, name.length);
    if (ns) vs_request_turn(r, ns);
    if (tag) r->tag = tag;
    return ns || tag;
}

/* A name that a table may turn out to have is not unknown. */
static bool is_unread(struct vs_app *app, struct vs_tags_status *status) {
    status->unread = 0, status->is_reading = false;
    if (app->tags_status) app->tags_status(app->tags_self, status);
    return status->unread > 0;
}

static bool refuse_unknown(struct vs_request *r, struct vs_slice name) {
    struct vs_app *app = r->session->app;
    struct vs_tags_status status;
    char what[160];
    const struct vs_tag_set *tags = vs_request_tags(r);
    size_t count = (size_t)app->ns_count + (tags ? tags->count : 0);
    const char *first = app->ns_count > 0 ? app->ns[0].name : count > 0 ? tags->at[0]->name : "";
    if (name.at && is_unread(app, &status)) {
        r->reading = status.is_reading && !r->session->multi; /* a transaction has the tags that it began with */
        snprintf(what, sizeof what, "'%s' is not known yet", VS_QUOTE(name.at, name.length));
        return vs_refuse_why(r, "not_ready", what, status.unread_why), false;
    }
    if (!name.at)
        vs_refuse(r, "unknown_name", "a name is needed: this server has tags and no namespace%s%s%s",
                  count > 0 ? ", such as '" : "", first, count > 0 ? "'" : "");
    else if (count == 0 || !vs_rights_sees_all(r->session))
        vs_refuse(r, "unknown_name", "unknown name '%s'%s", VS_QUOTE(name.at, name.length),
                  count == 0 ? ": this server has none" : "");
    else if (count == 1)
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s'", VS_QUOTE(name.at, name.length), first);
    else
        vs_refuse(r, "unknown_name", "unknown name '%s': this server has '%s' and %zu more",
                  VS_QUOTE(name.at, name.length), first, count - 1);
    return false;
}

static bool refuse_closed(struct vs_request *r, struct vs_namespace *ns) {
    char why[VS_NAMESPACE_WHY_MAX], what[VESTA_NAMESPACE_MAX + 32];
    enum vs_namespace_state state = state_of(ns);
    bool for_good = state == VS_NAMESPACE_REFUSED;
    if (state == VS_NAMESPACE_ENDED) return vs_refuse(r, "epoch_end", "'%s': %s", ns->name, vs_namespace_why(ns, why)), false;
    r->opening = for_good ? NULL : ns;
    snprintf(what, sizeof what, "'%s' %s", ns->name, for_good ? "is not served" : "is not open yet");
    vs_refuse_why(r, for_good ? "not_served" : "not_ready", what, vs_namespace_why(ns, why));
    return false;
}

static bool refuse_dense(struct vs_request *r) {
    vs_refuse(r, "bad_command", "'%s' gives numbers without a gap: VESTA.RESERVE %s reserves one", r->tag->name,
              r->tag->name);
    return false;
}

/* Asked once: what a request that waits was granted is its own, and what a transaction wants was counted before. */
static bool is_used_up(struct vs_request *r) {
    const struct vs_session *s = r->session;
    struct vesta_error err;
    bool is_granted = s->waiting.request && s->waiting.queue >= VS_QUEUE_OF_IDS;
    if (!r->tag || !r->tag->form || s->multi || is_granted) return false;
    if (!vs_tag_is_used_up(r->tag, s->app->clock, &err)) return false;
    vs_refuse(r, "used_up", "'%s': %s", r->tag->name, err.text);
    return true;
}

static bool enter(struct vs_request *r, struct vs_slice name, bool only_reads) {
    if (!vs_rights_may_name(r, name)) return false;
    if (!vs_request_find(r, name)) return refuse_unknown(r, name);
    if (r->tag && !r->tag->seg) return refuse_dense(r);
    if (is_used_up(r)) return false;
    if (r->tag) return true;
    bool is_readable = vs_namespace_is_open(r->ns) || (only_reads && state_of(r->ns) == VS_NAMESPACE_ENDED);
    if (!is_readable) return refuse_closed(r, r->ns);
    return !r->session->share.is_metered || vs_shares_enter(r);
}

bool vs_request_enter(struct vs_request *r, struct vs_slice name) {
    return enter(r, name, false);
}

static bool is_namespace(struct vs_request *r) {
    if (!r->tag) return true;
    vs_refuse(r, "bad_command", "'%s' is a tag: its numbers count, and have no parts", r->tag->name);
    return false;
}

bool vs_request_enter_namespace(struct vs_request *r, struct vs_slice name) {
    return enter(r, name, false) && is_namespace(r);
}

bool vs_request_enter_layout(struct vs_request *r, struct vs_slice name) {
    return enter(r, name, true) && is_namespace(r);
}

bool vs_request_enter_tag(struct vs_request *r, struct vs_slice name) {
    if (!vs_request_enter(r, name)) return false;
    if (r->tag) return true;
    vs_refuse(r, "bad_command", "'%s' is a namespace, not a counter: GET %s gives its next id, VESTA.NEXT %s n several",
              r->ns->name, r->ns->name, r->ns->name);
    return false;
}

bool vs_request_enter_counter(struct vs_request *r, struct vs_slice name) {
    if (!vs_request_enter_tag(r, name)) return false;
    if (!r->tag->form) return true;
    vs_refuse(r, "bad_command",
              "'%s' gives numbers as text, which do not add up: GET %s gives its next, VESTA.NEXT %s n several",
              r->tag->name, r->tag->name, r->tag->name);
    return false;
}

uint64_t vs_namespace_refused(const struct vs_namespace *ns, struct vesta_pause *pause) {
    uint64_t refused = atomic_load(&ns->refused);
    *pause = (struct vesta_pause){.why = (enum vesta_why)atomic_load(&ns->refused_why),
                                  .wait_us = atomic_load(&ns->refused_wait_us)};
    return refused;
}
