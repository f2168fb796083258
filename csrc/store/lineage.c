/* lineage.c -- the generations of a namespace, and the proof that their ids differ. */
#include "store/lineage.h"
#include "id/id.h"
#include "os/random.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *vs_generation_name(const char *name, unsigned n, char *buf) {
    assert(n >= 1 && n <= VS_GENERATIONS_MAX);
    int length =
        n == 1 ? snprintf(buf, VESTA_NAMESPACE_MAX, "%s", name) : snprintf(buf, VESTA_NAMESPACE_MAX, "%s.%u", name, n);
    return length < VESTA_NAMESPACE_MAX ? buf : NULL;
}

unsigned vs_generation_of(const char *name, const char *leased) {
    char buf[VESTA_NAMESPACE_MAX];
    for (unsigned n = 1; n <= VS_GENERATIONS_MAX && vs_generation_name(name, n, buf); n++)
        if (strcmp(buf, leased) == 0) return n;
    return 0;
}

static int open_store(const struct vs_lineage *lineage, const char *name, struct vs_store **store,
                      struct vesta_error *err) {
    struct vs_store_opts opts = {.namespace_ = name,
                                 .group = -1,
                                 .clock = lineage->clock,
                                 .secret = lineage->secret,
                                 .call_ms_max = lineage->call_ms_max};
    return vs_store_open(lineage->uri, &opts, store, err);
}

int vs_lineage_read(const struct vs_lineage *lineage, unsigned n, struct vs_ns_record *out, struct vesta_error *err) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_store *store;
    struct vs_reply reply;
    if (!vs_generation_name(lineage->name, n, name))
        return vs_fail(err, VESTA_EOPTION, "the namespace's name %s has no room for .%u", lineage->name, n);
    int rc = open_store(lineage, name, &store, err);
    if (rc != VESTA_OK) return rc;
    store->ops->ns_read(store, &reply);
    store->ops->close(store);
    if (reply.outcome != VS_STORE_OK)
        return vs_fail(err, VESTA_EIO, "the store does not say which layout the namespace %s has: %.300s", name,
                       reply.text);
    *out = reply.ns;
    return VESTA_OK;
}

static int prove_against(const struct vs_ns_record *ns, const char *name, const struct vesta_layout *layout,
                         struct vesta_error *err) {
    struct vesta_layout old;
    struct vesta_proof proof;
    if (vesta_layout_parse(ns->layout, &old, NULL) != VESTA_OK || old.fingerprint != ns->fingerprint)
        return vs_fail(err, VESTA_EIO, "the record of namespace %s contradicts itself: its layout is %.120s", name,
                       ns->layout);
    const struct vesta_made a = {&old, INT64_MIN, INT64_MAX}, b = {layout, INT64_MIN, INT64_MAX};
    if (vesta_layout_prove(&a, &b, &proof) == VESTA_DISJOINT_BITS) return VESTA_OK;
    return vs_fail(err, VESTA_EMISMATCH,
                   "%llu can be an id of %s, whose layout is %.160s, and of this layout: take one that differs by a "
                   "constant, such as version:1=1, and see: vesta layout prove",
                   (unsigned long long)proof.id, name, ns->layout);
}

int vs_lineage_prove(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err) {
    for (unsigned i = 1; i < n; i++) {
        char name[VESTA_NAMESPACE_MAX];
        struct vs_ns_record ns;
        int rc = vs_lineage_read(lineage, i, &ns, err);
        if (rc != VESTA_OK) return rc;
        vs_generation_name(lineage->name, i, name);
        if (ns.ver == 0)
            return vs_fail(err, VESTA_EIO,
                           "the namespace %s is not in the store: without its layout nothing is proved of ids that it "
                           "gave; look for it: vesta store show",
                           name);
        if ((rc = prove_against(&ns, name, layout, err)) != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

/* Where a sequence starts is no part of what ids can be. */
static bool is_same(const struct vesta_layout *a, const struct vesta_layout *b) {
    if (a->fingerprint != b->fingerprint) return false;
    for (int i = 0; i < a->field_count; i++)
        if (a->field[i].fixed != b->field[i].fixed || a->field[i].value != b->field[i].value) return false;
    return true;
}

int vs_lineage_check(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err) {
    struct vs_ns_record ns;
    struct vesta_layout has;
    int rc = vs_lineage_read(lineage, n, &ns, err);
    if (rc != VESTA_OK) return rc;
    if (ns.ver == 0)
        return vs_fail(err, VESTA_EIO,
                       "generation %u of the namespace is not in the store; what makes it, once it is proved: vesta "
                       "store relayout --namespace %s --layout ...",
                       n, lineage->name);
    if (vesta_layout_parse(ns.layout, &has, NULL) != VESTA_OK || !is_same(&has, layout))
        return vs_fail(err, VESTA_EMISMATCH,
                       "generation %u of the namespace %s has the layout %.160s, to the last constant", n,
                       lineage->name, ns.layout);
    return vs_lineage_prove(lineage, n, layout, err);
}

/* ------------------------------------------------------------------ the next generation */

/* How many generations there are, and the newest one's record. */
static int find_last(const struct vs_lineage *lineage, unsigned *count, struct vs_ns_record *last,
                     struct vesta_error *err) {
    for (*count = 0; *count < VS_GENERATIONS_MAX; ++*count) {
        struct vs_ns_record ns;
        int rc = vs_lineage_read(lineage, *count + 1, &ns, err);
        if (rc != VESTA_OK) return rc;
        if (ns.ver == 0) break;
        *last = ns;
    }
    if (*count == VS_GENERATIONS_MAX)
        return vs_fail(err, VESTA_EFULL, "the namespace %s has had %d layouts, the most there can be", lineage->name,
                       VS_GENERATIONS_MAX);
    if (*count) return VESTA_OK;
    return vs_fail(err, VESTA_ENOGEN,
                   "the namespace %s is not in the store: there is nothing to move; `vesta store show` lists those "
                   "that are",
                   lineage->name);
}

/* The namespace that is generation n; somebody else may be making it just now. */
static int make(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                const struct vs_ns_record *last, struct vesta_error *err) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_store *store;
    struct vs_reply reply;
    struct vs_ns_record fresh = {.ver = 1, .fingerprint = layout->fingerprint};
    if (!vs_generation_name(lineage->name, n, name))
        return vs_fail(err, VESTA_EOPTION, "the name %s has no room for .%u", lineage->name, n);
    vesta_layout_text(layout, fresh.layout);
    if (last->static_count && last->static_first + last->static_count - 1 <= vs_worker_max(layout))
        fresh.static_first = last->static_first, fresh.static_count = last->static_count;
    if (vs_random(&fresh.incarnation, sizeof fresh.incarnation) != 0)
        return vs_fail(err, VESTA_EIO, "the system gives no random bits");
    fresh.incarnation |= 1;
    int rc = open_store(lineage, name, &store, err);
    if (rc != VESTA_OK) return rc;
    store->ops->ns_swap(store, 0, &fresh, &reply);
    store->ops->close(store);
    if (reply.outcome == VS_STORE_OK) return VESTA_OK;
    if (reply.outcome == VS_STORE_CONFLICT)
        return vs_fail(err, VESTA_EIO, "somebody else made %s just now: look, and try again", name);
    return vs_fail(err, VESTA_EIO, "%s%s was not made, or nobody knows whether it was: ask again: %.300s",
                   reply.outcome == VS_STORE_UNKNOWN ? "no answer came: " : "", name, reply.text);
}

int vs_lineage_extend(const struct vs_lineage *lineage, const struct vesta_layout *layout, unsigned *n, bool *is_new,
                      struct vesta_error *err) {
    struct vs_ns_record last = {.ver = 0};
    unsigned count;
    int rc = find_last(lineage, &count, &last, err);
    if (rc != VESTA_OK) return rc;
    *n = count, *is_new = false;
    if (count > 1 && vs_lineage_check(lineage, count, layout, err) == VESTA_OK) return VESTA_OK;
    *n = count + 1, *is_new = true;
    if ((rc = vs_lineage_prove(lineage, *n, layout, err)) != VESTA_OK) return rc;
    return make(lineage, *n, layout, &last, err);
}
