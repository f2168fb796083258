/* state.h -- what is known of a server by its events: totals become rates, and rates a small history. */
#ifndef VS_TOP_STATE_H
#define VS_TOP_STATE_H

#include "cli/top/value.h"
#include "command/command.h"

#define VS_TOP_HISTORY 60
#define VS_TOP_NAMESPACES 64
#define VS_TOP_CODES 64

struct vs_top_namespace {
    char name[VESTA_NAMESPACE_MAX], why[32], detail[200], keeper[200], warning[200];
    bool is_ready, has_lease;
    uint64_t worker, ids, pauses, refused;
    int64_t lease_end_ms, layout_end_ms, drift_ms; /* layout_end_ms: 0, not known */
    double ids_s, pauses_s, refused_s;
    bool has_drift, differs;       /* differs: a policy that is tried says other things than were done */
    char pausing[160];             /* which pauses there were since the event before */
    float history[VS_TOP_HISTORY]; /* ids a second, the oldest first; below 0: not known */
    uint64_t pause[16];
};

struct vs_top_code {
    char name[32];
    uint64_t count;
    double a_second;
};

struct vs_top_state {
    bool is_known;
    int64_t unix_ms, seen_ms; /* the server's clock, and ours when it came */
    int64_t uptime_s, connections, waiting, pid, generation;
    bool is_draining, has_policies, is_stuck, has_reloaded;
    char version[32], policy_error[200];
    struct vs_top_namespace ns[VS_TOP_NAMESPACES];
    size_t ns_count;
    struct {
        uint64_t count, unready, ids, refused;
        double ids_s, refused_s;
    } others; /* namespaces that the server does not tell of one by one */
    struct vs_top_code code[VS_TOP_CODES]; /* of requests that were refused */
    size_t code_count;
    double answered_s;
    uint64_t answered;
};

#define VS_TOP_YEAR_MS INT64_C(31556952000)
#define VS_TOP_DRIFT_MS_MAX 1000 /* of a clock that is all right */

/* Takes an event; rates are those since the one before, which *state has. */
void vs_top_take(struct vs_top_state *state, struct vs_slice event, int64_t now_ms);

#endif
