/* lineage.c -- the generations of a namespace, and the proof that their ids differ. */
#include "store/lineage.h"
#include "id/id.h"
#include "os/random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the text of a reply, truncated to 400 bytes for use inside a longer message */
#define LINEAGE_SAID(reply) vs_reply_say(reply, "", (char[400]){0}, 400)

const char *vs_generation_name(const char *name, unsigned n, char *buf) {
    assert(n >= 1 && n <= VS_GENERATIONS_MAX);
    char tail[16] = "";
    size_t length = strlen(name);
    if (n > 1) snprintf(tail, sizeof tail, ".%u", n);
    if (length + strlen(tail) >= VESTA_NAMESPACE_MAX) return NULL;
    memcpy(buf, name, length);
    memcpy(buf + length, tail, strlen(tail) + 1);
    return buf;
}

unsigned vs_generation_of(const char *name, const char *leased) {
    char buf[VESTA_NAMESPACE_MAX];
    for (unsigned n = 1; n <= VS_GENERATIONS_MAX && vs_generation_name(name, n, buf); n++)
        if (strcmp(buf, leased) == 0) return n;
    return 0;
}

static int lineage_open_store(const struct vs_lineage *lineage, const char *name, struct vs_store **store,
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
        return vs_fail(err, VESTA_EOPTION, "the namespace's name %s is too long for the suffix .%u", lineage->name, n);
    int rc = lineage_open_store(lineage, name, &store, err);
    if (rc != VESTA_OK) return rc;
    store->leases->ns_read(store, &reply);
    store->backend->close(store);
    if (reply.outcome != VS_STORE_OK)
        return vs_fail(err, VESTA_EIO, "cannot read the layout of namespace %s from the store: %s", name,
                       LINEAGE_SAID(&reply));
    *out = reply.ns;
    return VESTA_OK;
}

static bool has_layout(const struct vs_ns_record *ns, const struct vesta_layout *layout) {
    struct vesta_layout has;
    return vesta_layout_parse(ns->layout, &has, NULL) == VESTA_OK && vs_layout_is_same(&has, layout);
}

/* Proves that no id of `layout` can be an id of generation n with the record ns. */
static int prove_against(const struct vs_lineage *lineage, unsigned n, const struct vs_ns_record *ns,
                         const struct vesta_layout *layout, struct vesta_error *err) {
    char name[VESTA_NAMESPACE_MAX];
    struct vesta_layout old;
    struct vesta_proof proof;
    vs_generation_name(lineage->name, n, name);
    if (vesta_layout_parse(ns->layout, &old, NULL) != VESTA_OK || old.fingerprint != ns->fingerprint)
        return vs_fail(err, VESTA_EIO,
                       "the record of namespace %s is damaged: its layout %.120s does not match its fingerprint", name,
                       ns->layout);
    const struct vesta_made a = {&old, INT64_MIN, INT64_MAX}, b = {layout, INT64_MIN, INT64_MAX};
    if (vesta_layout_prove(&a, &b, &proof) == VESTA_DISJOINT_BITS) return VESTA_OK;
    if (vs_layout_is_same(&old, layout))
        return vs_fail(err, VESTA_EMISMATCH,
                       "%s already has this layout. To issue its ids on a host, set leased_as = \"%s\" in its config%s",
                       name, name, n == 1 ? ", or remove leased_as" : "");
    return vs_fail(err, VESTA_EMISMATCH,
                   "%llu can be an id of %s, whose layout is %.160s, and an id of this layout: choose a layout that "
                   "differs by a constant, for example version:1=1, and check it with vesta layout prove",
                   (unsigned long long)proof.id, name, ns->layout);
}

int vs_lineage_prove(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err) {
    for (unsigned i = 1; i < n; i++) {
        char name[VESTA_NAMESPACE_MAX];
        struct vs_ns_record ns;
        int rc = vs_lineage_read(lineage, i, &ns, err);
        if (rc != VESTA_OK) return rc;
        if (ns.ver == 0) {
            vs_generation_name(lineage->name, i, name);
            return vs_fail(err, VESTA_EIO,
                           "the namespace %s is not in the store, so its ids cannot be compared. Create it again with "
                           "the layout that it had: vesta store init --again --namespace %s --layout ...",
                           name, name);
        }
        if ((rc = prove_against(lineage, i, &ns, layout, err)) != VESTA_OK) return rc;
    }
    return VESTA_OK;
}

int vs_lineage_check(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                     struct vesta_error *err) {
    struct vs_ns_record ns;
    int rc = vs_lineage_read(lineage, n, &ns, err);
    if (rc != VESTA_OK) return rc;
    if (ns.ver == 0)
        return vs_fail(err, VESTA_EIO,
                       "generation %u of the namespace is not in the store. Create it with: vesta store relayout "
                       "--namespace %s --layout ...",
                       n, lineage->name);
    if (!has_layout(&ns, layout))
        return vs_fail(err, VESTA_EMISMATCH,
                       "generation %u of the namespace %s has the layout %.160s. Write exactly that into the config, "
                       "or make this layout the next generation with vesta store relayout",
                       n, lineage->name, ns.layout);
    return vs_lineage_prove(lineage, n, layout, err);
}

/* ------------------------------------------------------------------ the next generation */

struct newest {
    const char *name;
    unsigned n;
};

static void see_name(void *to, const char *name) {
    struct newest *newest = to;
    unsigned n = vs_generation_of(newest->name, name);
    if (n > newest->n) newest->n = n;
}

/* Finds the newest generation by looking up each possible name, so that a store with many namespaces need not list them
 * all. */
static unsigned look_for_newest(struct vs_store *store, const char *name) {
    char buf[VESTA_NAMESPACE_MAX];
    unsigned n = VS_GENERATIONS_MAX;
    while (n && !(vs_generation_name(name, n, buf) && store->leases->has(store, buf)))
        n--;
    return n;
}

static int ask_for_newest(struct vs_store *store, struct newest *newest, struct vesta_error *err) {
    struct vs_reply reply;
    store->leases->names(store, newest->name, see_name, newest, &reply);
    if (reply.outcome == VS_STORE_OK) return VESTA_OK;
    return vs_fail(err, VESTA_EIO, "cannot list the namespaces of the store: %s", LINEAGE_SAID(&reply));
}

int vs_lineage_newest(const struct vs_lineage *lineage, unsigned *n, struct vesta_error *err) {
    struct newest newest = {lineage->name, 0};
    struct vs_store *store = lineage->store;
    int rc = store ? VESTA_OK : lineage_open_store(lineage, lineage->name, &store, err);
    if (rc != VESTA_OK) return rc;
    if (store->leases->has)
        newest.n = look_for_newest(store, lineage->name);
    else
        rc = ask_for_newest(store, &newest, err);
    if (store != lineage->store) store->backend->close(store);
    if (rc != VESTA_OK) return rc;
    *n = newest.n;
    return VESTA_OK;
}

/* Finds the newest generation and reads its record.  If an older generation is missing, it was lost.  Counting up from
 * 1 would create the lost generation again, with ids that were not proved against the newer generations. */
static int find_last(const struct vs_lineage *lineage, unsigned *count, struct vs_ns_record *last,
                     struct vesta_error *err) {
    int rc = vs_lineage_newest(lineage, count, err);
    for (; rc == VESTA_OK && *count; --*count)
        if ((rc = vs_lineage_read(lineage, *count, last, err)) == VESTA_OK && last->ver) break;
    if (rc != VESTA_OK) return rc;
    if (*count == VS_GENERATIONS_MAX)
        return vs_fail(err, VESTA_EFULL, "the namespace %s has had %d layouts, which is the limit", lineage->name,
                       VS_GENERATIONS_MAX);
    if (*count) return VESTA_OK;
    return vs_fail(
        err, VESTA_ENOGEN,
        "the namespace %s is not in the store, so it has no layout to replace: `vesta store show` lists the namespaces",
        lineage->name);
}

/* Copies the static worker ids that also exist in the next layout. */
static void carry_static(const struct vs_ns_record *last, uint64_t max, struct vs_ns_record *fresh) {
    if (last->static_count == 0 || last->static_first > max) return;
    fresh->static_first = last->static_first;
    fresh->static_count = max - last->static_first + 1;
    if (last->static_count < fresh->static_count) fresh->static_count = last->static_count;
}

static int next_record(const struct vs_ns_record *last, const struct vesta_layout *layout, struct vs_ns_record *fresh,
                       struct vesta_error *err) {
    *fresh = (struct vs_ns_record){.ver = 1, .fingerprint = layout->fingerprint};
    vesta_layout_text(layout, fresh->layout);
    carry_static(last, vs_worker_max(layout), fresh);
    if (vs_random(&fresh->incarnation, sizeof fresh->incarnation) != 0)
        return vs_fail(err, VESTA_EIO, "the system has no random bits");
    fresh->incarnation |= 1;
    return VESTA_OK;
}

/* Creates the namespace of generation n.  Another host may create it at the same time. */
static int lineage_make(const struct vs_lineage *lineage, unsigned n, const struct vs_ns_record *fresh, bool *is_new,
                        struct vesta_error *err) {
    char name[VESTA_NAMESPACE_MAX];
    struct vs_store *store;
    struct vs_reply reply;
    if (!vs_generation_name(lineage->name, n, name))
        return vs_fail(err, VESTA_EOPTION, "the name %s is too long for the suffix .%u", lineage->name, n);
    int rc = lineage_open_store(lineage, name, &store, err);
    if (rc != VESTA_OK) return rc;
    store->leases->ns_swap(store, 0, fresh, &reply);
    store->backend->close(store);
    *is_new = reply.outcome == VS_STORE_OK;
    if (*is_new || (reply.outcome == VS_STORE_CONFLICT && strcmp(reply.ns.layout, fresh->layout) == 0)) return VESTA_OK;
    if (reply.outcome == VS_STORE_CONFLICT)
        return vs_fail(err, VESTA_EIO,
                       "another host has just created %s with the layout %.160s. If yours should come after it, repeat "
                       "the command",
                       name, reply.ns.layout);
    return vs_fail(err, VESTA_EIO, "%s%s was not created, or it is unknown whether it was: repeat the command: %s",
                   reply.outcome == VS_STORE_UNKNOWN ? "no reply came: " : "", name, LINEAGE_SAID(&reply));
}

/* Splits a name such as orders.2 into its base and the generation, which is 2 or higher.  Returns 0 if the name has no
 * such suffix. */
static unsigned lineage_place_of(const char *name, char *base) {
    const char *dot = strrchr(name, '.');
    snprintf(base, VESTA_NAMESPACE_MAX, "%.*s", dot ? (int)(dot - name) : 0, name);
    return dot ? vs_generation_of(base, name) : 0;
}

/* Rejects a name that is a generation of another namespace.  For example, orders.2 is a generation of orders if orders
 * exists. The next generation is then orders.3, and must be proved against both. */
static int check_public(const struct vs_lineage *lineage, struct vesta_error *err) {
    char base[VESTA_NAMESPACE_MAX];
    struct vs_lineage of = *lineage;
    struct vs_ns_record ns;
    of.name = base;
    unsigned n = lineage_place_of(lineage->name, base);
    int rc = n ? vs_lineage_read(&of, 1, &ns, err) : VESTA_OK;
    if (rc != VESTA_OK || n == 0 || ns.ver == 0) return rc;
    return vs_fail(err, VESTA_EOPTION, "%s is generation %u of %s. To replace its layout, use --namespace %s",
                   lineage->name, n, base, base);
}

int vs_lineage_extend(const struct vs_lineage *lineage, const struct vesta_layout *layout, unsigned *n, bool *is_new,
                      struct vesta_error *err) {
    struct vs_ns_record last = {.ver = 0}, fresh;
    unsigned count = 0;
    int rc = check_public(lineage, err);
    if (rc == VESTA_OK) rc = find_last(lineage, &count, &last, err);
    if (rc != VESTA_OK) return rc;
    *n = count, *is_new = false;
    if (count > 1 && vs_lineage_check(lineage, count, layout, err) == VESTA_OK) return VESTA_OK;
    *n = count + 1;
    if ((rc = vs_lineage_prove(lineage, *n, layout, err)) != VESTA_OK) return rc;
    if ((rc = next_record(&last, layout, &fresh, err)) != VESTA_OK) return rc;
    return lineage_make(lineage, *n, &fresh, is_new, err);
}

/* ------------------------------------------------------------------ a namespace by its name alone */

/* Proves the layout against the generations after n.  Such generations may exist if generation n was lost, or if it is
 * created after them. */
static int prove_behind(const struct vs_lineage *lineage, unsigned n, const struct vesta_layout *layout,
                        struct vesta_error *err) {
    unsigned newest = 0;
    int rc = vs_lineage_newest(lineage, &newest, err);
    for (unsigned i = n + 1; rc == VESTA_OK && i <= newest; i++) {
        struct vs_ns_record ns;
        rc = vs_lineage_read(lineage, i, &ns, err);
        if (rc == VESTA_OK && ns.ver) rc = prove_against(lineage, i, &ns, layout, err);
    }
    return rc;
}

int vs_lineage_admit(const struct vs_lineage *lineage, const struct vesta_layout *layout, struct vesta_error *err) {
    char base[VESTA_NAMESPACE_MAX];
    struct vs_lineage of = *lineage;
    struct vs_ns_record first = {.ver = 0};
    struct vesta_error why = {.text = ""};
    unsigned n = lineage_place_of(lineage->name, base);
    of.name = base;
    int rc = n ? vs_lineage_read(&of, 1, &first, &why) : VESTA_OK;
    if (rc == VESTA_OK && first.ver == 0) of.name = lineage->name, n = 1;
    if (rc == VESTA_OK) rc = vs_lineage_prove(&of, n, layout, &why);
    if (rc == VESTA_OK) rc = prove_behind(&of, n, layout, &why);
    if (rc == VESTA_OK) return rc;
    return vs_fail(err, rc,
                   "by its name, %s would be layout %u of %s: choose another name, or create it with vesta store "
                   "relayout (%.300s)",
                   lineage->name, n, of.name, why.text);
}

int vs_lineage_enter(const struct vs_lineage *lineage, struct vs_store *store, const struct vs_ns_record *ns,
                     struct vesta_error *err) {
    struct vs_listed *listed;
    struct vs_reply reply;
    struct vesta_layout layout;
    size_t count;
    /* the lease engine reports this error */
    if (vesta_layout_parse(ns->layout, &layout, NULL) != VESTA_OK) return VESTA_OK;
    int rc = vs_lineage_admit(lineage, &layout, err);
    if (rc == VESTA_OK) return rc;
    store->leases->list(store, &listed, &count, &reply);
    free(listed);
    /* a namespace that already has leases stays usable */
    return reply.outcome == VS_STORE_OK && count > 0 ? VESTA_OK : rc;
}

/* ------------------------------------------------------------------ the lease engine's calls */

static void lineage_fail(int rc, const struct vesta_error *err, struct vs_reply *reply) {
    assert(rc != VESTA_OK);
    *reply = (struct vs_reply){.outcome = rc == VESTA_EMISMATCH ? VS_STORE_REFUSED : VS_STORE_DOWN};
    snprintf(reply->text, sizeof reply->text, "%s", err->text);
}

void vs_lineage_ns_create(const struct vs_lineage *lineage, const struct vesta_layout *layout,
                          const struct vs_ns_record *fresh, struct vs_reply *reply) {
    struct vesta_error err;
    assert(lineage->store->backend->is_local); /* a person creates the namespaces of a shared store */
    int rc = vs_lineage_admit(lineage, layout, &err);
    if (rc == VESTA_OK)
        lineage->store->leases->ns_swap(lineage->store, 0, fresh, reply);
    else
        lineage_fail(rc, &err, reply);
}

void vs_lineage_ns_read(const struct vs_lineage *lineage, bool is_first, struct vs_reply *reply) {
    struct vesta_error err;
    struct vs_store *store = lineage->store;
    store->leases->ns_read(store, reply);
    bool is_there = reply->outcome == VS_STORE_OK && reply->ns.ver;
    if (!is_there || !store->backend->is_local || !is_first) return;
    int rc = vs_lineage_enter(lineage, store, &reply->ns, &err);
    if (rc != VESTA_OK) lineage_fail(rc, &err, reply);
}
