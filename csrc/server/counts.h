/* counts.h -- the counters of a loop, for /metrics and INFO.  Knows no metric's name.
 *
 * Only the loop itself writes its counters, so counting is a load, an addition and a store: no locked instruction, and
 * no cache line that another core writes.  Readers add up the loops. */
#ifndef VS_COUNTS_H
#define VS_COUNTS_H

#include "access/gate.h"
#include "net/net.h"
#include "server/server.h"

#define VS_CODES_MAX 48     /* "ok" and the names of failures: vs_code_name */
#define VS_WHYS_MAX 16      /* enum vesta_why */
#define VS_DURATIONS_MAX 16 /* vs_duration_us, and one for longer times */

#define VS_SHARE_KINDS 8    /* enum vs_share_kind */

/* REFUSED_...: rejected requests by cause (OPEN: current connections) */
enum vs_client_count {
    VS_CLIENT_ANSWERED,
    VS_CLIENT_IDS,
    VS_CLIENT_OPEN,
    VS_CLIENT_REFUSED_REQUEST, /* the request is wrong */
    VS_CLIENT_REFUSED_RIGHTS,  /* the client lacks the right */
    VS_CLIENT_REFUSED_RATE,    /* the client exceeds a rate */
    VS_CLIENT_REFUSED_PAUSE,   /* there was no id, or no memory */
    VS_CLIENT_COUNTS
};

/* The array dimensions that the labels of a count in families.h mean. */
#define VS_OF_NONE
#define VS_OF_PROTO [VS_PROTOCOLS]
#define VS_OF_CODE [VS_PROTOCOLS][VS_CODES_MAX]
#define VS_OF_TURNED [VS_PROTOCOLS][VS_TURNED_REASONS]
#define VS_OF_SHARE [VS_SHARE_KINDS]

struct vs_counts {
#define COUNT(name, member, labels, ...) vs_count member VS_OF_##labels;
#include "server/families.h"
    vs_count of_client[VS_COUNTED_MAX][VS_CLIENT_COUNTS]; /* by vs_gate_counted */
    vs_count durations[VS_PROTOCOLS][VS_DURATIONS_MAX];   /* requests by the time from reading to writing the reply */
    vs_count duration_us[VS_PROTOCOLS];
    /* connections, including all rejected at once, which are also in `accepted` */
    vs_count closed[VS_PROTOCOLS];
    struct net_counts net;
    struct {
        vs_count ids[VS_ID_PROTOCOLS]; /* issued, including those of failed batches and of blocks */
        vs_count pauses[VS_WHYS_MAX];  /* requests that found no id, by the first reason */
    } ns[];
};

/* Allocates zeroed counts in cache lines of their own.  Own: free.  NULL: no memory. */
struct vs_counts *vs_counts_new(int namespaces);
size_t vs_counts_size(int namespaces);

/* Upper bounds of the histogram of durations, ascending. */
extern const uint64_t vs_duration_us[VS_DURATIONS_MAX - 1];

/* Counts n requests that each took `us`. */
static inline void vs_count_durations(struct vs_counts *counts, enum vs_protocol protocol, uint64_t us, uint64_t n) {
    int i = 0;
    while (i < VS_DURATIONS_MAX - 1 && us > vs_duration_us[i])
        i++;
    vs_add(&counts->durations[protocol][i], n);
    vs_add(&counts->duration_us[protocol], us * n);
}

/* Adds up one counter of all loops.  `of` is its address in the first loop's counts. */
uint64_t vs_total(const struct vs_monitor *monitor, const vs_count *of);
/* Returns how many requests of a client were rejected. */
uint64_t vs_total_refused(const struct vs_monitor *monitor, int client);
/* Returns how many connections a loop serves. */
uint64_t vs_served_by(const struct vs_monitor *monitor, int loop);

#endif
