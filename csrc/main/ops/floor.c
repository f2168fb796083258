/* floor.c -- `vesta store advance` and `lower`: the time below which no lease of a namespace starts. */
#include "main/cli.h"
#include "main/ops/relayout.h"
#include "main/ops/store.h"

#include "os/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct vs_lease_timing *vs_floor_timing(const struct vs_asked *asked) {
    return vs_lease_preset_at(asked->lease_given ? asked->lease : VS_LEASE_BALANCED);
}

int vs_floor_check_clock(const struct vs_asked *asked) {
    int64_t ahead_ms = vs_at_ahead_ms(asked->at.store_ms), off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    if (off_ms <= vs_floor_timing(asked)->skew_ms || asked->trust_clock) return VS_GO;
    vs_say("nothing was done: the store's clock is %.1f s %s this machine's, and the floor is counted from it; correct "
           "the one that is wrong, or add --trust-store-clock if it is this machine's",
           (double)off_ms / 1000, ahead_ms < 0 ? "ahead of" : "behind");
    return VS_FAILED;
}

/* ------------------------------------------------------------------ advance */

static int64_t margin_ms(const struct vs_lease_timing *timing) {
    return timing->skew_ms + 2 * timing->window_ms;
}

static void print_plan(const struct vs_asked *asked, const struct vs_lease_timing *timing) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX];
    int64_t floor_ms = at->store_ms + margin_ms(timing);
    if (floor_ms < at->ns.floor_ms) floor_ms = at->ns.floor_ms;
    fprintf(
        stderr,
        "This is for a store that lost what it had acknowledged: wiped, restored from a backup, or failed over to a\n"
        "copy that was behind.  It does two things to namespace %s:\n"
        "  - gives it a new incarnation, so that every holder of a number must claim again;\n"
        "  - lets no lease start before %s: the store's clock plus %.0f s, later than anything\n"
        "    ever granted under the lease '%s'.  Until then nobody gets ids.\n"
        "The store's clock must be right: it says %s.\n",
        at->name, vs_iso(floor_ms, iso), (double)margin_ms(timing) / 1000, timing->name,
        vs_iso(at->store_ms, (char[VESTA_ISO_MAX]){0}));
}

/* The namespace's name, typed: nobody does that by accident. */
static int confirm(const struct vs_asked *asked) {
    char line[VESTA_NAMESPACE_MAX + 2] = "";
    if (asked->yes) return VS_GO;
    if (!isatty(STDIN_FILENO)) return vs_usage("nothing was done: add --yes to confirm");
    fprintf(stderr, "Type the namespace's name to continue: ");
    if (!fgets(line, sizeof line, stdin)) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, asked->at.name) == 0) return VS_GO;
    vs_say("nothing was done");
    return VS_FAILED;
}

/* The record that an emptied store gets, or the incarnation of one that went back. */
static int plan_record(const struct vs_asked *asked, struct vs_ns_record *fresh) {
    const struct vs_at *at = &asked->at;
    struct vesta_layout layout;
    int rc = vs_fresh_namespace(asked, fresh);
    if (rc != VS_GO) return rc;
    if (at->ns.ver == 0 && !asked->layout)
        return vs_usage("the namespace %s is not in the store: give the --layout that it had", at->name);
    if (at->ns.ver == 0) return vs_admit(at, fresh);
    if (!asked->layout || vs_read_layout(asked->layout, &layout) != VS_DONE) return VS_GO;
    if (vs_is_leased_to(&layout, &at->ns)) return VS_GO;
    return vs_usage("the namespace %s has the layout %s, which cannot change", at->name, at->ns.layout);
}

int vs_advance_floor(struct vs_asked *asked) {
    struct vs_at *at = &asked->at;
    struct vs_ns_record fresh;
    struct vs_reply reply;
    const struct vs_lease_timing *timing = vs_floor_timing(asked);
    int rc = vs_at_read(at);
    if (rc == VS_GO) rc = plan_record(asked, &fresh);
    if (rc != VS_GO) return rc;
    bool is_new = at->ns.ver == 0;
    if ((rc = vs_floor_check_clock(asked)) != VS_GO) return rc;
    print_plan(asked, timing);
    if ((rc = confirm(asked)) != VS_GO) return rc;
    vs_store_advance(at->store, &fresh, timing, &reply);
    if (reply.outcome != VS_STORE_OK) return vs_at_told(at, &reply);
    if (is_new && (rc = vs_admit_made(at, &fresh)) != VS_GO) return rc;
    if ((rc = vs_at_need(at)) != VS_GO) return rc;
    return vs_show_namespace(asked);
}

/* ------------------------------------------------------------------ lower */

/* Nothing was granted above the floor to be, or what was is named. */
static int check_granted(const struct vs_asked *asked, const struct vs_workers *workers, int64_t floor_ms) {
    const struct vs_at *at = &asked->at;
    char iso[VESTA_ISO_MAX];
    uint64_t floor = vs_tick_at(&at->shape, floor_ms * 1000);
    for (size_t i = 0; i < workers->count; i++) {
        const struct vs_record *record = &workers->listed[i].record;
        if (record->until <= floor) continue;
        vs_say("nothing was done: number %" PRIu64 " was granted ids up to %s, above the new floor; %s",
               workers->listed[i].worker, vs_iso(vs_tick_unix_us(&at->shape, record->until) / 1000, iso),
               record->held ? "stop its holder and try again" : "leave the floor as it is, or wait until that time");
        return VS_FAILED;
    }
    return VS_GO;
}

/* As an advance, but that the floor sinks: who had claimed at the higher one claims anew. */
static int lower_to(struct vs_asked *asked, int64_t floor_ms) {
    struct vs_at *at = &asked->at;
    struct vs_ns_record next = at->ns;
    struct vs_reply reply;
    next.ver++;
    next.floor_ms = floor_ms;
    if (vs_random(&next.incarnation, sizeof next.incarnation) != 0) return vs_say("no random bits"), VS_FAILED;
    next.incarnation |= 1;
    at->store->leases->ns_swap(at->store, at->ns.ver, &next, &reply);
    return reply.outcome == VS_STORE_OK ? vs_at_need(at) : vs_at_told(at, &reply);
}

/* The floor that an advance would set now, by a clock that is right, in place of one that was set too high. */
int vs_lower_floor(struct vs_asked *asked) {
    struct vs_at *at = &asked->at;
    struct vs_workers workers = {0};
    char iso[VESTA_ISO_MAX];
    int rc = vs_at_need(at);
    if (rc == VS_GO) rc = vs_at_list(at, &workers);
    if (rc == VS_GO) rc = vs_floor_check_clock(asked);
    int64_t floor_ms = at->store_ms + margin_ms(vs_floor_timing(asked));
    if (rc == VS_GO && at->ns.floor_ms <= floor_ms) {
        vs_say("nothing was done: the floor is %s an advance would set it now",
               at->ns.floor_ms ? "not above where" : "not set;");
        rc = VS_FAILED;
    }
    if (rc == VS_GO) rc = check_granted(asked, &workers, floor_ms);
    if (rc == VS_GO)
        fprintf(stderr,
                "This is for a floor that was set by a clock that was ahead.  It sets the floor of namespace %s where\n"
                "an advance would set it now: at %s, the store's clock plus %.0f s.  Every holder of a number must\n"
                "claim again.\n",
                at->name, vs_iso(floor_ms, iso), (double)margin_ms(vs_floor_timing(asked)) / 1000);
    if (rc == VS_GO) rc = confirm(asked);
    if (rc == VS_GO) rc = lower_to(asked, floor_ms);
    free(workers.listed);
    return rc == VS_GO ? vs_show_namespace(asked) : rc;
}
