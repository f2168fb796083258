/* show.c -- `vesta store show`: a namespace's record and how its numbers stand, or those of each in a store. */
#include "main/cli.h"
#include "main/ops/store.h"

#include "keeper/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_ns(const struct vs_asked *asked, const struct vs_workers *workers) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX], n[VS_GROUPED_MAX], named[VS_AT_NAMED_MAX];
    int64_t ahead_ms = vs_at_ahead_ms(at->store_ms);
    vs_outf("namespace    %s\n", vs_at_named(at, named));
    vs_outf("layout       ");
    vs_out_fitted(at->ns.layout, 13, 13);
    vs_outf("fingerprint  %016" PRIx64 "\n", at->ns.fingerprint);
    vs_outf("incarnation  %016" PRIx64 "\n", at->ns.incarnation);
    vs_outf("floor        %s%s\n", at->ns.floor_ms ? "no lease starts before " : "none",
            at->ns.floor_ms ? vs_iso(at->ns.floor_ms, iso) : "");
    if (at->ns.static_count)
        vs_outf("static       %" PRIu64 " to %" PRIu64 ": given out by hand, never chosen\n", at->ns.static_first,
                at->ns.static_first + at->ns.static_count - 1);
    vs_outf("clock        ");
    vs_out_fittedf(13, 13, "%s; this machine's is %.3f s %s", vs_iso(at->store_ms, iso),
                   (double)(ahead_ms < 0 ? -ahead_ms : ahead_ms) / 1000, ahead_ms < 0 ? "behind" : "ahead");
    vs_outf("numbers      %" PRIu64 " held, %" PRIu64 " expired, %" PRIu64 " free, %s never used\n",
            workers->standing[VS_STANDS_HELD], workers->standing[VS_STANDS_EXPIRED], workers->standing[VS_STANDS_FREE],
            vs_grouped(workers->never, n));
}

static void print_ns_json(const struct vs_asked *asked, const struct vs_workers *workers) {
    const struct vs_at *at = &asked->at;
    vs_at_named_json(at);
    vs_outf(",\"layout\":");
    vs_out_json(at->ns.layout);
    vs_outf(",\"fingerprint\":\"%016" PRIx64 "\",\"incarnation\":\"%016" PRIx64 "\"", at->ns.fingerprint,
            at->ns.incarnation);
    if (at->ns.floor_ms) vs_outf(",\"floor_ms\":%" PRId64, at->ns.floor_ms);
    if (at->ns.static_count)
        vs_outf(",\"static\":[%" PRIu64 ",%" PRIu64 "]", at->ns.static_first,
                at->ns.static_first + at->ns.static_count - 1);
    vs_outf(",\"store_ms\":%" PRId64 ",\"ahead_ms\":%" PRId64, at->store_ms, vs_at_ahead_ms(at->store_ms));
    for (int i = 0; i < VS_STANDINGS; i++)
        vs_outf(",\"%s\":%" PRIu64, vs_standing_name((enum vs_standing)i), workers->standing[i]);
    vs_outf(",\"never\":%" PRIu64 "}\n", workers->never);
}

int vs_show_namespace(struct vs_asked *asked) {
    struct vs_workers workers;
    int rc = vs_at_need(&asked->at);
    if (rc == VS_GO) rc = vs_at_list(&asked->at, &workers);
    if (rc != VS_GO) return rc;
    (asked->at.json ? print_ns_json : print_ns)(asked, &workers);
    free(workers.listed);
    return VS_DONE;
}

/* Names that a namespace can have; others are somebody else's. */
struct names {
    char (*name)[VESTA_NAMESPACE_MAX];
    size_t count;
    bool is_short; /* of memory */
};

static void keep_name(void *to, const char *name) {
    struct names *names = to;
    if (names->is_short || vs_namespace_check(name, NULL) != VESTA_OK) return;
    void *grown = realloc(names->name, (names->count + 1) * sizeof *names->name);
    names->is_short = !grown;
    if (!grown) return;
    names->name = grown;
    snprintf(names->name[names->count++], sizeof *names->name, "%s", name);
}

static int by_name(const void *a, const void *b) {
    return strcmp(a, b);
}

static int read_names(struct vs_asked *asked, struct names *names) {
    struct vs_reply reply;
    asked->at.store->leases->names(asked->at.store, NULL, keep_name, names, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(&asked->at, &reply);
    if (names->is_short) return vs_say("no memory for %zu names", names->count + 1), VS_FAILED;
    if (names->count == 0)
        return vs_say("no namespace is in the store; make one: vesta store init --namespace NAME --layout ..."),
               VS_FAILED;
    qsort(names->name, names->count, sizeof *names->name, by_name);
    return VS_GO;
}

/* Every namespace of the store, as if each had been named. */
static int show_all(struct vs_asked *asked) {
    struct names names = {0};
    int worst = read_names(asked, &names);
    if (worst == VS_GO) worst = VS_DONE;
    for (size_t i = 0; i < names.count; i++) {
        vs_at_close(&asked->at);
        asked->at.name = names.name[i];
        asked->at.public_ = vs_where_public(&asked->at.where, names.name[i]);
        if (i && !asked->at.json) vs_outf("\n");
        int rc = vs_at_open(&asked->at);
        if (rc == VS_GO) rc = vs_show_namespace(asked);
        if (rc == VS_DONE) continue;
        vs_say("so the namespace %s is not shown", names.name[i]);
        worst = rc;
    }
    free(names.name);
    return worst;
}

int vs_show_store(struct vs_asked *asked) {
    return asked->namespace_given ? vs_show_namespace(asked) : show_all(asked);
}
