/* watch.c -- logs when a namespace issues no ids, or its keeper has a problem.  Called twice a second by life.c.
 * Contains no thread or signal code. */
#include "command/options.h"
#include "serve/serving.h"
#include "os/thread.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A failure counts as ended when no request was rejected for this long, so that it is not logged twice a second. */
#define QUIET_US 2000000

/* Logs problems of the keeper, and for how long ids are issued without it. */
static void look_at_keeper(const char *name, const struct vesta_info *info, struct vs_news *news) {
    if (*info->keeper && vs_news_take(news, info->keeper, vs_monotonic_us()))
        vs_log(VS_LOG_WARN, "the keeper of the lease has a problem", "namespace", name, "keeper", info->keeper,
               "lease_ms_left", info->holds_lease ? VS_DIGITS(info->lease_end_ms - vs_now_ms()) : NULL, NULL);
    if (*info->keeper || news->count == 0 || !info->holds_lease) return;
    vs_log(VS_LOG_INFO, "the keeper of the lease has recovered", "namespace", name, NULL);
    *news = (struct vs_news){.count = 0};
}

/* Returns when ids will be available: a time if it is known, otherwise an event. */
static const char *until(const struct vesta_pause *pause, char buf[40]) {
    switch (pause->why) {
    case VESTA_LEASE: return "the store acknowledges a lease";
    case VESTA_CHOOSE: return "a policy has chosen a worker id";
    case VESTA_FAILSTOP: return "an operator has repaired the store";
    case VESTA_CLOSED: return "the next map is in place";
    case VESTA_END: return "never";
    default: break;
    }
    int64_t at_ms = vs_now_ms() + pause->wait_us / 1000;
    time_t at = (time_t)(at_ms / 1000);
    struct tm tm;
    if (pause->wait_us < 0 || !gmtime_r(&at, &tm)) return "unknown";
    size_t used = strftime(buf, 32, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buf + used, 40 - used, ".%03dZ", (int)(at_ms % 1000));
    return buf;
}

static const char *to_do(const struct vesta_pause *pause, const struct vesta_info *info, bool by_policy) {
    switch (pause->why) {
    case VESTA_FULL: return "request fewer ids, or use a layout with more ids: vesta fit";
    case VESTA_CLOCK_BACK:
        if (by_policy) return "correct the clock. To tolerate such a step, change the policy and reload it";
        return "correct the clock. Until then, on_clock_back of a policy may wait, borrow or switch";
    case VESTA_CLOCK_AHEAD: return "correct the clock. If it is right, do nothing, because it will be accepted";
    case VESTA_AHEAD: return "do nothing if the store was repaired, otherwise correct the clock";
    case VESTA_LEASE:
        return *info->keeper ? "fix what the keeper reports: vesta doctor" : "check the store: vesta doctor";
    case VESTA_CHOOSE: return "check the policy's choose_worker: vesta policy check";
    case VESTA_FAILSTOP: return "check the store, then run: vesta store advance";
    case VESTA_CLOSED:
    case VESTA_RANGE: return "nothing";
    case VESTA_END: return "use a new namespace with another layout";
    }
    return "vesta doctor";
}

static void tell_refusals(const struct vs_server *server, const struct vs_namespace *ns, const struct vesta_info *info, const struct vesta_pause *pause,
                          uint64_t refused) {
    char why[VS_PAUSE_TEXT_MAX], at[40];
    bool by_policy = vs_namespace_pause_text(server, ns, pause, why);
    vs_log(VS_LOG_WARN, "no ids can be issued now", "namespace", ns->name, "code", vesta_why_name(pause->why), "why",
           why, "until", until(pause, at), "do", to_do(pause, info, by_policy), "refused", VS_DIGITS((int64_t)refused),
           NULL);
}

/* Logs one line when a failure begins, one line for each further cause, and one line when the failure ends. */
static void look_at_ids(struct vs_server *server, struct vs_namespace *ns, const struct vesta_info *info,
                        struct vs_seen *seen) {
    struct vesta_pause pause = {.why = VESTA_FULL}, met;
    bool ready = vs_namespace_is_ready(server, ns, &pause);
    vs_namespace_seen(&server->names, ns, ready || pause.why == VESTA_END);
    seen->is_stopped = !ready && pause.why != VESTA_END && pause.why != VESTA_FULL;
    uint64_t refused = vs_namespace_refused(ns, &met), before = seen->refused;
    bool fails = !ready || refused != before;
    int64_t now_us = vs_monotonic_us();
    seen->refused = refused;
    if (fails) {
        if (ready) pause = met; /* the pause has already ended, but a request encountered it */
        if (!seen->fails || pause.why != seen->why) tell_refusals(server, ns, info, &pause, refused - before);
        seen->refused_at = seen->fails ? seen->refused_at : before;
        seen->fails = true;
        seen->why = pause.why;
        seen->failed_us = now_us;
    } else if (seen->fails && now_us - seen->failed_us >= (before == seen->refused_at ? 0 : QUIET_US)) {
        vs_log(VS_LOG_INFO, "ids are available again", "namespace", ns->name, "refused",
               VS_DIGITS((int64_t)(refused - seen->refused_at)), NULL);
        seen->fails = false;
    }
}

void vs_watch_namespace(struct vs_server *server, struct vs_namespace *ns, struct vs_seen *seen, bool tell) {
    struct vesta_info info;
    vesta_get_info(ns->gen[VS_RESP], &info);
    /* Start with the worker id that was leased when the namespace settled. */
    if (!seen->known) *seen = (struct vs_seen){.known = true, .worker = info.worker};
    uint64_t worker = seen->worker;
    if (info.holds_lease) seen->worker = info.worker;
    if (!tell) return;
    if (seen->worker != worker)
        vs_log(VS_LOG_INFO, "leased another worker id", "namespace", ns->name, "worker",
               VS_DIGITS((int64_t)seen->worker), NULL);
    look_at_keeper(ns->name, &info, &seen->news);
    look_at_ids(server, ns, &info, seen);
}
