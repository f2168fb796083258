/* counts.h -- what a loop counts, for /metrics and INFO.  Knows no metric's name.
 *
 * Each loop counts for itself and is the only one that writes there, so to count is a load, an addition and a store:
 * no locked instruction, no line that another core writes.  Who asks adds up the loops. */
#ifndef VS_COUNTS_H
#define VS_COUNTS_H

#include "access/gate.h"
#include "net/net.h"
#include "server/server.h"

#define VS_CODES_MAX 48     /* "ok" and the names of failures: vs_code_name */
#define VS_WHYS_MAX 16      /* enum vesta_why */
#define VS_DURATIONS_MAX 16 /* vs_duration_us, and what is longer */

#define VS_SHARE_KINDS 8    /* enum vs_share_kind */

/* REFUSED_...: requests, by what was wrong; OPEN: connections, now */
enum vs_client_count {
    VS_CLIENT_ANSWERED,
    VS_CLIENT_IDS,
    VS_CLIENT_OPEN,
    VS_CLIENT_REFUSED_REQUEST, /* the request itself */
    VS_CLIENT_REFUSED_RIGHTS,  /* who asked */
    VS_CLIENT_REFUSED_RATE,    /* that it asked so often */
    VS_CLIENT_REFUSED_PAUSE,   /* nothing: there was no id, or no memory */
    VS_CLIENT_COUNTS
};

/* What the labels of a count in families.h are: its index. */
#define VS_OF_NONE
#define VS_OF_PROTO [VS_PROTOCOLS]
#define VS_OF_CODE [VS_PROTOCOLS][VS_CODES_MAX]
#define VS_OF_TURNED [VS_PROTOCOLS][VS_TURNED_REASONS]
#define VS_OF_SHARE [VS_SHARE_KINDS]

struct vs_counts {
#define COUNT(name, member, labels, ...) vs_count member VS_OF_##labels;
#include "server/families.h"
    vs_count of_client[VS_COUNTED_MAX][VS_CLIENT_COUNTS]; /* by vs_gate_counted */
    vs_count durations[VS_PROTOCOLS][VS_DURATIONS_MAX];   /* requests by the time from read to written */
    vs_count duration_us[VS_PROTOCOLS];
    vs_count closed[VS_PROTOCOLS]; /* connections; those turned away are in it, and in `accepted` */
    struct net_counts net;
    struct {
        vs_count ids[VS_ID_PROTOCOLS]; /* given, those of failing batches and of blocks too */
        vs_count pauses[VS_WHYS_MAX];  /* requests that met one, by the first they met */
    } ns[];
};

/* For so many namespaces, in lines of its own; all zero.  Own: free.  NULL: no memory. */
struct vs_counts *vs_counts_new(int namespaces);
size_t vs_counts_size(int namespaces);

/* Bounds of the durations that are told apart, ascending. */
extern const uint64_t vs_duration_us[VS_DURATIONS_MAX - 1];

/* n requests that took so long, each. */
static inline void vs_count_durations(struct vs_counts *counts, enum vs_protocol protocol, uint64_t us, uint64_t n) {
    int i = 0;
    while (i < VS_DURATIONS_MAX - 1 && us > vs_duration_us[i])
        i++;
    vs_add(&counts->durations[protocol][i], n);
    vs_add(&counts->duration_us[protocol], us * n);
}

/* Adds up one count of all loops: `of` is that count's place in the first loop's. */
uint64_t vs_total(const struct vs_monitor *monitor, const vs_count *of);
/* How many requests of a client were refused, for whatever reason. */
uint64_t vs_total_refused(const struct vs_monitor *monitor, int client);
/* How many connections a loop serves. */
uint64_t vs_served_by(const struct vs_monitor *monitor, int loop);

#endif
