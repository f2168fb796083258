/* store.c -- examines the stores of worker ids: whether they reply, the namespace in them, and their clocks.  The only
 * write that it attempts names a version that no record has. */
#include "main/doctor/probe.h"

#include "base/array.h"
#include "modules/at.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBE_NO_VERSION (UINT64_C(1) << 62)
#define PROBE_READS 3

/* Returns the shortest duration of several reads that take one message each, or INT64_MAX. */
static int64_t probe_trip_us(const struct vs_probe *probe, struct vs_store *store) {
    const struct vesta_clock *clock = probe->clock;
    struct vs_reply reply;
    int64_t trip_us = INT64_MAX;
    for (int i = 0; i < PROBE_READS; i++) {
        int64_t begun_us = clock->boot_us(clock->self);
        store->leases->read(store, 0, &reply);
        int64_t took_us = clock->boot_us(clock->self) - begun_us;
        if (reply.outcome == VS_STORE_OK && took_us < trip_us) trip_us = took_us;
    }
    return trip_us;
}

/* Sets `key` to the store's message, and `key`_todo to the remedy. */
static void probe_set_trouble(lua_State *L, const char *key, const struct vs_reply *reply) {
    char todo[32];
    snprintf(todo, sizeof todo, "%s_todo", key);
    host_set_text(L, key, reply->text);
    host_set_text(L, todo, vs_fault_remedy(reply->fault));
}

static void probe_inspect(lua_State *L, struct vs_store *store) {
    struct vs_reply reply;
    host_push_faults(L, store, &reply);
    lua_setfield(L, -2, "findings");
    if (reply.outcome != VS_STORE_OK) probe_set_trouble(L, "unexamined", &reply);
}

/* Attempts to replace a version that does not exist.  The result is a conflict, unless this user may not write. */
static void probe_try_write(lua_State *L, struct vs_store *store, const struct vs_ns_record *stored) {
    struct vs_record record = {.ver = PROBE_NO_VERSION + 1, .fingerprint = stored->fingerprint};
    struct vs_reply reply;
    store->leases->swap(store, 0, PROBE_NO_VERSION, &record, &reply);
    if (reply.outcome != VS_STORE_CONFLICT) probe_set_trouble(L, "unwritable", &reply);
}

static void probe_count_workers(lua_State *L, struct vs_store *store, const struct vs_ns_record *stored) {
    struct vesta_layout layout;
    struct vs_listed *listed;
    struct vs_shape shape;
    struct vs_reply reply;
    size_t count, held = 0;
    bool is_known = vesta_layout_parse(stored->layout, &layout, NULL) == VESTA_OK;
    if (is_known) vs_shape_of(&layout, &shape);
    store->leases->list(store, &listed, &count, &reply);
    for (size_t i = 0; reply.outcome == VS_STORE_OK && i < count; i++)
        held += vs_standing_of(&listed[i].record, is_known ? &shape : NULL, reply.store_ms) == VS_STANDS_HELD;
    free(listed);
    if (reply.outcome != VS_STORE_OK) probe_set_trouble(L, "unlisted", &reply);
    if (!is_known) return;
    host_set_integer(L, "held", (int64_t)held);
    host_set_integer(L, "workers", layout.worker >= 0 ? (int64_t)layout.field[layout.worker].max + 1 : 1);
}

static void probe_push_store(lua_State *L, const struct vs_probe *probe, struct vs_store *store) {
    struct vs_reply reply;
    store->leases->ns_read(store, &reply);
    if (reply.outcome != VS_STORE_OK) {
        probe_set_trouble(L, "trouble", &reply);
        return;
    }
    const struct vs_ns_record stored = reply.ns;
    bool is_local = store->backend->is_local;
    host_set_flag(L, "is_there", stored.ver != 0);
    host_set_text(L, "layout", stored.layout);
    host_set_flag(L, "is_another", probe->incarnation && probe->incarnation != stored.incarnation && !stored.floor_ms);
    host_set_flag(L, "is_of_layout", !probe->layout.fingerprint || vs_is_leased_to(&probe->layout, &stored));
    if (!is_local) host_set_integer(L, "ahead_ms", vs_now_ms() - reply.store_ms);
    if (stored.ver == 0) return;
    int64_t trip_us = is_local ? INT64_MAX : probe_trip_us(probe, store);
    if (trip_us < INT64_MAX) host_set_integer(L, "trip_us", trip_us);
    probe_inspect(L, store);
    probe_try_write(L, store, &stored);
    probe_count_workers(L, store, &stored);
}

/* probe:store(i) -> { is_local, has_leased, missing } | { trouble, trouble_todo } |
 *   { is_local, has_leased, is_there, layout, is_another, is_of_layout, ahead_ms, trip_us, findings, unexamined,
 *   unwritable, unlisted, held, workers } | nil, text
 * Examines the store of the i-th namespace, after probe:file(i).  has_leased: the generator file has had leases.
 * missing: the path of a local store that does not exist.  is_another: the store is not the one that granted the file's
 * leases.  ahead_ms, trip_us: set only for a store on another machine.  unexamined, unwritable and unlisted each
 * describe a problem, or are nil.  Each problem has a remedy, such as unwritable_todo.  The remedy is nil if the
 * description contains it.  If the namespace is missing, no member after ahead_ms is set. */
int vs_probe_store(lua_State *L) {
    const struct vs_probe *probe = vs_probe_self(L);
    const struct vs_conf_namespace *ns = vs_probe_namespace(L);
    struct vs_store_opts opts = {.namespace_ = ns->leased_as ? ns->leased_as : ns->name,
                                 .group = -1,
                                 .clock = probe->clock,
                                 .secret = ns->opts.secret,
                                 .call_ms_max = VS_OPERATOR_CALL_MS};
    struct vs_store *store;
    struct vesta_error err;
    char path[VS_URI_MAX];
    if (vs_store_check(ns->opts.store, &err) != VESTA_OK) return host_fail(L, &err);
    lua_newtable(L);
    host_set_flag(L, "is_local", vs_store_is_local(ns->opts.store));
    host_set_flag(L, "has_leased", probe->incarnation != 0);
    if (vs_store_place(ns->opts.store, path) && access(path, F_OK) != 0) return host_set_text(L, "missing", path), 1;
    if (vs_store_open(ns->opts.store, &opts, &store, &err) != VESTA_OK) return host_fail(L, &err);
    probe_push_store(L, probe, store);
    store->backend->close(store);
    return 1;
}
