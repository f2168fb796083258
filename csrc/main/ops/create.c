/* create.c -- `vesta store init`: what a store needs, and a namespace's first record. */
#include "main/cli.h"
#include "main/ops/relayout.h"
#include "main/ops/store.h"

#include "os/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int vs_read_static(const struct vs_asked *asked, const struct vesta_layout *layout, struct vs_ns_record *ns) {
    uint64_t max = layout->worker >= 0 ? layout->field[layout->worker].max : 0, last;
    char first[24] = "";
    const char *dash = asked->static_ ? strchr(asked->static_, '-') : NULL;
    if (!asked->static_) return VS_GO;
    if (dash) snprintf(first, sizeof first, "%.*s", (int)(dash - asked->static_), asked->static_);
    if (!dash || dash - asked->static_ > 20 || !vs_read_count(first, max, &ns->static_first) ||
        !vs_read_count(dash + 1, max, &last) || last < ns->static_first)
        return vs_usage("--static is %s, which must be FIRST-LAST, numbers of the layout: 0 to %" PRIu64,
                        vs_shown_text(asked->static_), max);
    ns->static_count = last - ns->static_first + 1;
    return VS_GO;
}

int vs_fresh_namespace(const struct vs_asked *asked, struct vs_ns_record *ns) {
    struct vesta_layout layout;
    int rc = vs_read_layout(asked->layout, &layout);
    if (rc != VS_DONE) return rc;
    *ns = (struct vs_ns_record){.ver = 1, .fingerprint = layout.fingerprint};
    vesta_layout_text(&layout, ns->layout);
    if ((rc = vs_read_static(asked, &layout, ns)) != VS_GO) return rc;
    if (vs_random(&ns->incarnation, sizeof ns->incarnation) != 0) return vs_say("no random bits"), VS_FAILED;
    ns->incarnation |= 1;
    return VS_GO;
}

static const char counts_as_new[] =
    "it was created as new: if this store had lost it, run `vesta store advance` before anything starts\n";

/* There already: it stays as it is, and is what was asked for or not. */
static int keep_namespace(struct vs_asked *asked) {
    const struct vs_ns_record *ns = &asked->at.ns;
    struct vesta_layout layout;
    struct vs_ns_record wanted = {0};
    int rc = asked->layout ? vs_read_layout(asked->layout, &layout) : VS_DONE;
    if (rc != VS_DONE) return rc;
    if (asked->layout && !vs_is_leased_to(&layout, ns)) {
        vs_say("the namespace %s exists with the layout %s, not %s as asked; it keeps its layout: use another name, or give "
               "it a further one: vesta store relayout",
               asked->at.name, ns->layout, asked->layout);
        return VS_FAILED;
    }
    if ((rc = vs_read_static(asked, &asked->at.layout, &wanted)) != VS_GO) return rc;
    if (asked->static_ && (wanted.static_first != ns->static_first || wanted.static_count != ns->static_count)) {
        char now[64] = "none";
        if (ns->static_count)
            snprintf(now, sizeof now, "%" PRIu64 "-%" PRIu64, ns->static_first, ns->static_first + ns->static_count - 1);
        vs_say("the namespace %s exists with the static numbers %s, not %s as asked: they stay as they are",
               asked->at.name, now, asked->static_);
        return VS_FAILED;
    }
    if (asked->at.json) return VS_GO;
    vs_outf("namespace %s already exists and stays as it is\n", asked->at.name);
    if (asked->again && !ns->floor_ms) vs_outf(counts_as_new);
    return VS_GO;
}

static void print_made(const struct vs_asked *asked, const struct vs_ns_record *made) {
    char iso[VESTA_ISO_MAX];
    vs_outf("namespace %s was created: %s\n", asked->at.name, made->layout);
    if (made->floor_ms)
        vs_outf("no lease starts before %s: until then nobody gets ids\n", vs_iso(made->floor_ms, iso));
    else
        vs_outf(counts_as_new);
}

static int make_namespace(struct vs_asked *asked) {
    struct vs_ns_record fresh;
    struct vs_reply reply;
    int rc = vs_at_read(&asked->at);
    if (rc == VS_GO && asked->at.ns.ver) return keep_namespace(asked);
    if (rc == VS_GO) rc = vs_fresh_namespace(asked, &fresh);
    if (rc == VS_GO) rc = vs_admit(&asked->at, &fresh);
    if (rc != VS_GO) return rc;
    if (asked->again && (rc = vs_floor_check_clock(asked)) != VS_GO) return rc;
    if (asked->again) {
        fresh.ver = 0;
        vs_ns_put_right(&fresh, vs_floor_timing(asked), asked->at.store_ms, fresh.incarnation);
    }
    asked->at.store->leases->ns_swap(asked->at.store, 0, &fresh, &reply);
    if (reply.outcome != VS_STORE_OK && reply.outcome != VS_STORE_CONFLICT) return vs_at_told(&asked->at, &reply);
    rc = vs_at_read(&asked->at);
    if (rc == VS_GO && reply.outcome == VS_STORE_CONFLICT)
        return keep_namespace(asked); /* by somebody else, just now */
    if (rc == VS_GO) rc = vs_admit_made(&asked->at, &fresh);
    if (rc == VS_GO && !asked->at.json) print_made(asked, &fresh);
    return rc;
}

int vs_init_store(struct vs_asked *asked) {
    const struct vs_backend *backend = asked->at.store->backend;
    const struct vs_store_counters *counters = backend->counters;
    struct vs_reply reply;
    if ((asked->layout || asked->static_) && !asked->namespace_given)
        return vs_usage("--layout and --static describe a namespace: name it with --namespace");
    if (asked->segments && !counters)
        return vs_usage("--segments: the store %s: has no counters for segments", backend->scheme);
    if (asked->again && !(asked->namespace_given && asked->layout))
        return vs_usage("--again recreates a lost namespace: give its --namespace, and the --layout that it had");
    vs_store_init(asked->at.store, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    if (asked->segments && counters->tag_init) {
        counters->tag_init(asked->at.store, NULL, &reply);
        if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    }
    if (!asked->at.json) vs_outf("store is ready: %s; %s\n", backend->made, backend->rights);
    if (asked->segments && !asked->at.json)
        vs_outf("%s\n", counters->tag_init ? "for segments, the table leaf_alloc is there: vesta segments add TAG"
                                           : "for segments, it makes what they need with the first vesta segments add TAG");
    if (!asked->namespace_given) return VS_DONE;
    int rc = make_namespace(asked);
    if (rc == VS_GO && asked->at.json) return vs_show_namespace(asked);
    return rc == VS_GO ? VS_DONE : rc;
}
