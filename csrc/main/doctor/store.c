/* store.c -- the stores that numbers are leased from: whether they answer, to whom, with which namespace, and by
 * which clock.  Changes nothing: the one write that it tries names a version that no record has. */
#include "main/doctor/doctor.h"
#include "modules/at.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_MS 1000
#define NO_VERSION (UINT64_C(1) << 62)

/* A store on this machine that is not there: nobody has used it yet, unless a generator file says otherwise. */
static bool is_missing(const char *uri) {
    char path[VS_URI_MAX];
    return vs_store_place(uri, path) && access(path, F_OK) != 0;
}

static void look_at_namespace(struct vs_doctor *doctor, const struct vs_conf_namespace *ns,
                              const struct vesta_layout *layout, const struct vs_ns_record *stored) {
    char todo[VESTA_NAMESPACE_MAX + 100];
    snprintf(todo, sizeof todo, "vesta store init --store URI --namespace %s --layout ... (--again, if it was there)",
             ns->name);
    if (stored->ver == 0 && vs_store_is_local(ns->opts.store) && !doctor->incarnation)
        vs_doctor_found(doctor, VS_FINE, "store", NULL, "%s: the namespace does not exist yet and will be created",
                        ns->name);
    else if (stored->ver == 0)
        vs_doctor_found(doctor, VS_SICK, "store", todo, "%s: the namespace is not in the store", ns->name);
    else if (doctor->incarnation && doctor->incarnation != stored->incarnation && !stored->floor_ms)
        vs_doctor_found(
            doctor, VS_SICK, "store",
            "name the store that did at its current address, restore its data, or use another path and namespace",
            "%s: this is not the store that granted the generator file's leases", ns->name);
    else if (layout->fingerprint && !vs_is_leased_to(layout, stored))
        vs_doctor_found(doctor, VS_SICK, "store",
                        "open a new generator file with that --layout, or use a new namespace",
                        "%s: in the store it has the layout %s", ns->name, stored->layout);
    else
        vs_doctor_found(doctor, VS_FINE, "store", NULL, "%s: it answers, and the namespace is there", ns->name);
}

/* Against the clock that leases are measured by. */
static void look_at_clock(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, int64_t store_ms) {
    int64_t ahead_ms = vs_now_ms() - store_ms, off_ms = ahead_ms < 0 ? -ahead_ms : ahead_ms;
    bool is_far = off_ms > vs_lease_preset_at(VS_LEASE_BALANCED)->skew_ms;
    vs_doctor_found(doctor,
                    is_far             ? VS_SICK
                    : off_ms > STEP_MS ? VS_WARN
                                       : VS_FINE,
                    "store", off_ms > STEP_MS ? "correct the one that is wrong" : NULL,
                    "%s: this machine's clock is %.3f s %s the store's", ns->name, (double)off_ms / 1000,
                    ahead_ms < 0 ? "behind" : "ahead of");
}

/* A write over a version that is not there: refused to who may not write, a conflict for who may. */
static void look_at_rights(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vs_store *store,
                           const struct vs_ns_record *stored) {
    struct vs_record record = {.ver = NO_VERSION + 1, .fingerprint = stored->fingerprint};
    struct vs_reply reply;
    store->leases->swap(store, 0, NO_VERSION, &record, &reply);
    if (reply.outcome == VS_STORE_CONFLICT)
        vs_doctor_found(doctor, VS_FINE, "store", NULL, "%s: it can be read and written", ns->name);
    else
        vs_doctor_found(doctor, VS_SICK, "store", "give the user the rights that docs/stores.md names",
                        "%s: it cannot be written to: %s", ns->name, reply.text);
}

static void look_at_numbers(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vs_store *store,
                            const struct vs_ns_record *stored) {
    struct vesta_layout layout;
    struct vs_listed *listed;
    struct vs_reply reply;
    size_t count, held = 0;
    store->leases->list(store, &listed, &count, &reply);
    for (size_t i = 0; reply.outcome == VS_STORE_OK && i < count; i++)
        held += vs_standing_of(&listed[i].record, reply.store_ms) == VS_STANDS_HELD;
    free(listed);
    if (vesta_layout_parse(stored->layout, &layout, NULL) != VESTA_OK) return;
    uint64_t all = layout.worker >= 0 ? layout.field[layout.worker].max + 1 : 1;
    if (reply.outcome != VS_STORE_OK)
        vs_doctor_found(doctor, VS_SICK, "store", "`vesta workers` lists them", "%s: its numbers cannot be listed: %s",
                        ns->name, reply.text);
    else
        vs_doctor_found(doctor, held >= all ? VS_WARN : VS_FINE, "store",
                        held >= all ? "the next process to start will wait; see `vesta workers`" : NULL,
                        "%s: %zu of %" PRIu64 " numbers are held", ns->name, held, all);
}

/* ------------------------------------------------------------------ how far, and how safe */

#define TRIPS 4 /* round trips of a renewal: a connection, a look, a write */

/* A renewal is over within a call's deadline, and leaves most of the window. */
static bool fits(const struct vs_lease_timing *timing, int64_t trip_us) {
    int64_t renewal_ms = TRIPS * trip_us / 1000;
    return renewal_ms <= timing->call_ms && 3 * renewal_ms <= timing->window_ms;
}

/* The shortest of some reads, each one message. */
static bool measure(struct vs_doctor *doctor, struct vs_store *store, int64_t *trip_us) {
    const struct vesta_clock *clock = doctor->clock;
    struct vs_reply reply;
    *trip_us = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t begun_us = clock->boot_us(clock->self);
        store->leases->read(store, 0, &reply);
        int64_t took_us = clock->boot_us(clock->self) - begun_us;
        if (reply.outcome == VS_STORE_OK && took_us < *trip_us) *trip_us = took_us;
    }
    return *trip_us < INT64_MAX;
}

static void look_at_distance(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vs_store *store) {
    const struct vs_lease_timing *own =
        vs_lease_preset(ns->opts.lease && strcmp(ns->opts.lease, "local") != 0 ? ns->opts.lease : "balanced");
    char list[64] = "";
    int64_t trip_us;
    if (!measure(doctor, store, &trip_us)) return; /* what is wrong is told by others */
    for (int64_t place = VS_LEASE_STRICT; place <= VS_LEASE_AUTONOMOUS; place++) {
        const struct vs_lease_timing *timing = vs_lease_preset_at(place);
        size_t used = strlen(list);
        if (fits(timing, trip_us)) snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", timing->name);
    }
    bool is_well = fits(own, trip_us);
    vs_doctor_found(doctor, is_well ? VS_FINE : VS_WARN, "store",
                    is_well ? NULL : "choose a lease that fits, or a nearer store",
                    "%s: a round trip takes %.4f s, which suits these leases: %s; the lease here is %s", ns->name,
                    (double)trip_us / 1e6, *list ? list : "none", own->name);
}

struct inspection {
    struct vs_doctor *doctor;
    const struct vs_conf_namespace *ns;
};

static void tell_found(void *to, const char *what, const char *todo) {
    struct inspection *inspection = to;
    vs_doctor_found(inspection->doctor, VS_SICK, "store", todo, "%s: %s", inspection->ns->name, what);
}

static void look_within(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, struct vs_store *store) {
    struct inspection inspection = {doctor, ns};
    struct vs_reply reply;
    if (!store->admin) return;
    store->admin->inspect(store, tell_found, &inspection, &reply);
    if (reply.outcome != VS_STORE_OK)
        vs_doctor_found(doctor, VS_SICK, "store", "give the user the rights that docs/stores.md names",
                        "%s: it cannot be examined: %s", ns->name, reply.text);
}

static void look_at(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, const struct vesta_layout *layout,
                    struct vs_store *store) {
    struct vs_reply reply;
    store->leases->ns_read(store, &reply);
    if (reply.outcome != VS_STORE_OK) {
        vs_doctor_found(doctor, VS_SICK, "store",
                        reply.outcome == VS_STORE_DOWN ? "start it, or check the network path to it"
                                                       : "set that right; docs/stores.md has the messages",
                        "%s: %s", ns->name, reply.text);
        return;
    }
    look_at_namespace(doctor, ns, layout, &reply.ns);
    if (!store->backend->is_local) look_at_clock(doctor, ns, reply.store_ms);
    if (reply.ns.ver == 0) return;
    if (!store->backend->is_local) look_at_distance(doctor, ns, store);
    look_within(doctor, ns, store);
    look_at_rights(doctor, ns, store, &reply.ns);
    look_at_numbers(doctor, ns, store, &reply.ns);
}

void vs_doctor_store(struct vs_doctor *doctor, const struct vs_conf_namespace *ns, const struct vesta_layout *layout) {
    struct vs_store_opts opts = {.namespace_ = ns->leased_as ? ns->leased_as : ns->name,
                                 .group = -1,
                                 .clock = doctor->clock,
                                 .secret = ns->opts.secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    struct vs_store *store;
    struct vesta_error err;
    char path[VS_URI_MAX];
    if (vs_store_check(ns->opts.store, &err) != VESTA_OK) {
        vs_doctor_found(doctor, VS_SICK, "store", NULL, "%s: %s", ns->name, err.text);
    } else if (is_missing(ns->opts.store) && doctor->incarnation) {
        vs_doctor_found(doctor, VS_SICK, "store", "bring it back; if it is lost: vesta store init --again",
                        "%s: %s is gone, and the generator file has had leases", ns->name,
                        vs_store_place(ns->opts.store, path) ? path : "");
    } else if (is_missing(ns->opts.store) && doctor->is_at_odds) {
        return; /* what was said of the file says why: it may have been of that store */
    } else if (is_missing(ns->opts.store)) {
        vs_doctor_found(doctor, VS_FINE, "store", NULL, "%s: it does not exist yet and will be created", ns->name);
    } else if (vs_store_open(ns->opts.store, &opts, &store, &err) != VESTA_OK) {
        vs_doctor_found(doctor, VS_SICK, "store", NULL, "%s: %s", ns->name, err.text);
    } else {
        look_at(doctor, ns, layout, store);
        store->backend->close(store);
    }
}
