/* recent.c -- a ring of events, found by comparing the server's state and counters once a second.  This file adds no
 * counters, so requests do no extra work. */
#include "server/monitor/recent.h"
#include "server/counts.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256
#define EVENT_BYTES_MAX (2 * TEXT_MAX + 256) /* as JSON */
#define LOOK_US 900000 /* loops sweep twice a second, but not exactly */
#define OVER_US 2000000 /* a stop is over if no request was rejected for this time */
#define QUIET_US 60000000 /* a limit is reported again only if it was not exceeded for this time */
#define STEP_US 100000 /* a smaller clock change within a second may be a gradual correction */

enum recent_kind {
    RECENT_LEASE_CLAIMED,
    RECENT_LEASE_LOST,
    RECENT_LEASE_TROUBLE,
    RECENT_LEASE_RENEWED,
    RECENT_NO_IDS,
    RECENT_IDS_AGAIN,
    RECENT_CLOCK_BACK,
    RECENT_CLOCK_FORWARD,
    RECENT_RELOADED,
    RECENT_RELOAD_FAILED,
    RECENT_CLIENT_LIMITED,
    RECENT_CONNECTIONS_REFUSED
};

static const struct {
    const char *name, *level;
} recent_kinds[] = {[RECENT_LEASE_CLAIMED] = {"lease_claimed", "info"},
                    [RECENT_LEASE_LOST] = {"lease_lost", "error"},
                    [RECENT_LEASE_TROUBLE] = {"lease_trouble", "warn"},
                    [RECENT_LEASE_RENEWED] = {"lease_renewed", "info"},
                    [RECENT_NO_IDS] = {"no_ids", "error"},
                    [RECENT_IDS_AGAIN] = {"ids_again", "info"},
                    [RECENT_CLOCK_BACK] = {"clock_back", "warn"},
                    [RECENT_CLOCK_FORWARD] = {"clock_forward", "warn"},
                    [RECENT_RELOADED] = {"reloaded", "info"},
                    [RECENT_RELOAD_FAILED] = {"reload_failed", "error"},
                    [RECENT_CLIENT_LIMITED] = {"client_limited", "warn"},
                    [RECENT_CONNECTIONS_REFUSED] = {"connections_refused", "warn"}};

struct recent_event {
    uint64_t number;
    int64_t unix_ms;
    enum recent_kind kind;
    char namespace_[VESTA_NAMESPACE_MAX]; /* "": the whole server */
    char text[TEXT_MAX];
};

/* The state of a namespace at the last check. */
struct recent_namespace {
    bool has_lease, has_trouble, was_unready, has_stopped;
    uint64_t worker, refused;
    uint64_t refused_from;     /* value of `refused` before the stop */
    int64_t trouble_us;        /* when the keeper's trouble began */
    int64_t stop_us, fault_us; /* when the stop began, when it was last observed */
};

/* Counts of requests that exceeded a limit, and when a count last increased. */
struct recent_limit {
    uint64_t waited, rejected;
    int64_t rose_us; /* 0: never */
};

struct vs_recent {
    pthread_mutex_t lock; /* guards `count` and `event` (only the first loop uses the other members) */
    uint64_t count;       /* number of events so far */
    struct recent_event event[VS_RECENT_MAX];
    int64_t looked_us, now_us, unix_us; /* boot time of the last check, current boot time, current Unix time */
    int64_t offset_us;                  /* Unix time minus boot time */
    uint64_t reloads;
    struct recent_limit clients[VS_COUNTED_MAX], connections;
    struct recent_namespace ns[VS_NAMESPACES_TOLD];
};

struct vs_recent *vs_recent_new(void) {
    struct vs_recent *recent = calloc(1, sizeof *recent);
    if (recent) pthread_mutex_init(&recent->lock, NULL);
    return recent;
}

void vs_recent_free(struct vs_recent *recent) {
    if (!recent) return;
    pthread_mutex_destroy(&recent->lock);
    free(recent);
}

__attribute__((format(printf, 4, 5))) static void recent_add(struct vs_recent *recent, enum recent_kind kind,
                                                             const char *namespace_, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&recent->lock);
    struct recent_event *event = &recent->event[recent->count % VS_RECENT_MAX];
    event->number = ++recent->count;
    event->unix_ms = recent->unix_us / 1000;
    event->kind = kind;
    snprintf(event->namespace_, sizeof event->namespace_, "%s", namespace_);
    vsnprintf(event->text, sizeof event->text, format, args);
    pthread_mutex_unlock(&recent->lock);
    va_end(args);
}

/* ------------------------------------------------------------------ a namespace */

static int64_t recent_seconds(const struct vs_recent *recent, int64_t since_us) {
    return (recent->now_us - since_us + 500000) / 1000000;
}

static void recent_look_at_lease(struct vs_recent *recent, const struct vs_namespace *ns,
                                 struct recent_namespace *seen) {
    struct vesta_info info;
    if (!vs_namespace_is_open(ns)) return;
    vesta_get_info(ns->gen[VS_RESP], &info);
    if (info.holds_lease && (!seen->has_lease || info.worker != seen->worker))
        recent_add(recent, RECENT_LEASE_CLAIMED, ns->name, "worker id %" PRIu64 " is leased", info.worker);
    if (!info.holds_lease && seen->has_lease)
        recent_add(recent, RECENT_LEASE_LOST, ns->name, "the lease of worker id %" PRIu64 " has ended", seen->worker);
    seen->has_lease = info.holds_lease;
    if (info.holds_lease) seen->worker = info.worker;
    bool has_trouble = info.holds_lease && *info.keeper; /* otherwise no_ids contains the keeper's message */
    if (has_trouble && !seen->has_trouble) {
        recent_add(recent, RECENT_LEASE_TROUBLE, ns->name, "ids continue for now, but the lease is not renewed: %s",
                   info.keeper);
        seen->trouble_us = recent->now_us;
    }
    if (info.holds_lease && !has_trouble && seen->has_trouble)
        recent_add(recent, RECENT_LEASE_RENEWED, ns->name, "the lease is renewed again, after %" PRId64 " s",
                   recent_seconds(recent, seen->trouble_us));
    if (has_trouble || info.holds_lease) seen->has_trouble = has_trouble;
}

static void recent_add_stop(struct vs_recent *recent, const struct vs_server *server, const struct vs_namespace *ns,
                      const struct vesta_pause *pause) {
    char text[VS_PAUSE_TEXT_MAX];
    if (vs_namespace_is_open(ns))
        vs_namespace_pause_text(server, ns, pause, text);
    else
        vs_namespace_why(ns, text);
    recent_add(recent, RECENT_NO_IDS, ns->name, "no ids: %s", text);
}

/* Ignores a namespace that was unready for less than a second and rejected no request. */
static void recent_look_at_ids(struct vs_recent *recent, const struct vs_server *server, const struct vs_namespace *ns,
                        struct recent_namespace *seen) {
    struct vesta_pause pause, met;
    bool ready = vs_namespace_is_ready(server, ns, &pause);
    uint64_t refused = vs_namespace_refused(ns, &met), before = seen->refused;
    bool fails = (!ready && seen->was_unready) || refused != before;
    seen->was_unready = !ready;
    seen->refused = refused;
    if (fails) {
        if (!seen->has_stopped) {
            recent_add_stop(recent, server, ns, ready ? &met : &pause);
            seen->stop_us = recent->now_us;
            seen->refused_from = before;
        }
        seen->has_stopped = true;
        seen->fault_us = recent->now_us;
    } else if (seen->has_stopped && ready && recent->now_us - seen->fault_us >= OVER_US) {
        recent_add(recent, RECENT_IDS_AGAIN, ns->name,
                   "ids are issued again, after %" PRId64 " s and %" PRIu64 " rejected requests",
                   (seen->fault_us - seen->stop_us + 1500000) / 1000000, refused - seen->refused_from);
        seen->has_stopped = false;
    }
}

/* ------------------------------------------------------------------ the server */

static void recent_look_at_clock(struct vs_recent *recent) {
    int64_t offset_us = recent->unix_us - recent->now_us, moved_us = offset_us - recent->offset_us;
    bool is_first = recent->looked_us == 0;
    recent->offset_us = offset_us;
    if (is_first) return;
    if (moved_us < -STEP_US)
        recent_add(recent, RECENT_CLOCK_BACK, "", "the clock went back by %.3f s", (double)-moved_us / 1e6);
    if (moved_us > STEP_US)
        recent_add(recent, RECENT_CLOCK_FORWARD, "", "the clock jumped forward by %.3f s", (double)moved_us / 1e6);
}

static void recent_look_at_reloads(struct vs_recent *recent, const struct vs_server *server) {
    struct vs_policies_status policies;
    if (!server->above.policies.status) return;
    server->above.policies.status(server->above.policies.self, &policies);
    if (policies.reloads == recent->reloads) return;
    recent->reloads = policies.reloads;
    if (policies.reload_ok)
        recent_add(recent, RECENT_RELOADED, "", "%s", policies.reload_result);
    else
        recent_add(recent, RECENT_RELOAD_FAILED, "", "the reload failed, and the old policies stay in use: %s",
                   policies.reload_result);
}

/* Returns whether the counts increased for the first time in QUIET_US.  Sets *more to the increase. */
static bool recent_limit_is_news(struct recent_limit *limit, struct recent_limit now, int64_t now_us,
                          struct recent_limit *more) {
    int64_t rose_us = limit->rose_us;
    *more = (struct recent_limit){now.waited - limit->waited, now.rejected - limit->rejected, now_us};
    limit->waited = now.waited;
    limit->rejected = now.rejected;
    if (more->waited + more->rejected == 0) return false;
    limit->rose_us = now_us;
    return rose_us == 0 || now_us - rose_us >= QUIET_US;
}

static struct recent_limit recent_limit_of_client(const struct vs_server *server, int client, const char *name) {
    const struct vs_counts *first = server->monitor.counts[0];
    struct recent_limit now = {
        .rejected = vs_total(&server->monitor, &first->of_client[client][VS_CLIENT_REFUSED_RATE])};
    struct ledger_client seen;
    if (client != 0 && ledger_seen(server->ledger, name, &seen)) now.waited = seen.counts.held;
    return now;
}

static void recent_look_at_clients(struct vs_recent *recent, const struct vs_server *server) {
    struct recent_limit more;
    const char *name = VS_ACCOUNT_DEFAULT;
    bool has_names = server->gate && vs_gate_now(server->gate);
    for (int i = 0; i < (has_names ? VS_COUNTED_MAX : 1); i++) {
        if (has_names && !(name = vs_gate_counted(server->gate, i))) break;
        if (recent_limit_is_news(&recent->clients[i], recent_limit_of_client(server, i, name), recent->now_us, &more))
            recent_add(recent, RECENT_CLIENT_LIMITED, "",
                       "client %s reached its limit (requests: %" PRIu64 " waited, %" PRIu64 " rejected)", name,
                       more.waited, more.rejected);
    }
}

static void recent_look_at_connections(struct vs_recent *recent, const struct vs_server *server) {
    const struct vs_counts *first = server->monitor.counts[0];
    struct recent_limit now = {.rejected = 0}, more;
    for (int protocol = 0; protocol < VS_PROTOCOLS; protocol++)
        for (int why = VS_LET_IN + 1; why < VS_TURNED_REASONS; why++)
            now.rejected += vs_total(&server->monitor, &first->turned[protocol][why]);
    if (recent_limit_is_news(&recent->connections, now, recent->now_us, &more))
        recent_add(recent, RECENT_CONNECTIONS_REFUSED, "",
                   "%" PRIu64 " connection%s refused, because a limit on connections was reached", more.rejected,
                   more.rejected == 1 ? " was" : "s were");
}

void vs_recent_look(struct vs_recent *recent, const struct vs_server *server) {
    recent->now_us = server->clock->boot_us(server->clock->self);
    recent->unix_us = server->clock->unix_us(server->clock->self);
    if (recent->looked_us && recent->now_us - recent->looked_us < LOOK_US) return;
    recent_look_at_clock(recent);
    recent->looked_us = recent->now_us;
    recent_look_at_reloads(recent, server);
    recent_look_at_clients(recent, server);
    recent_look_at_connections(recent, server);
    for (int i = 0; i < vs_told(&server->names); i++) {
        recent_look_at_lease(recent, &server->names.at[i], &recent->ns[i]);
        recent_look_at_ids(recent, server, &server->names.at[i], &recent->ns[i]);
    }
}

/* ------------------------------------------------------------------ as JSON */

static void recent_put_event(const struct recent_event *event, struct vs_out *out) {
    vs_json_open(out, NULL, '{');
    vs_json_uint(out, "number", event->number);
    vs_json_int(out, "unix_ms", event->unix_ms);
    vs_json_text(out, "kind", recent_kinds[event->kind].name);
    vs_json_text(out, "level", recent_kinds[event->kind].level);
    if (*event->namespace_) vs_json_text(out, "namespace", event->namespace_);
    vs_json_text(out, "text", event->text);
    vs_put(out, "}", 1);
}

void vs_recent_put(struct vs_recent *recent, struct vs_out *out, size_t bytes_max) {
    vs_json_open(out, "recent", '[');
    pthread_mutex_lock(&recent->lock);
    uint64_t last = recent->count, kept = last < VS_RECENT_MAX ? last : VS_RECENT_MAX;
    for (uint64_t i = last; i > last - kept && out->used + EVENT_BYTES_MAX < bytes_max; i--)
        recent_put_event(&recent->event[(i - 1) % VS_RECENT_MAX], out);
    pthread_mutex_unlock(&recent->lock);
    vs_put(out, "]", 1);
}
