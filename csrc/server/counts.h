/* counts.h -- the counters of a loop, for /metrics and INFO.  Contains no metric names.
 *
 * Only the loop itself writes its counters, so counting needs no locked instruction, and no other core writes to the
 * cache lines.  Readers add up the counters of all loops. */
#ifndef VS_COUNTS_H
#define VS_COUNTS_H

#include "access/gate.h"
#include "net/net.h"
#include "server/server.h"

#define VS_CODES_MAX 64     /* maximum number of codes: "ok" and the failures (vs_code_name) */
#define VS_WHYS_MAX 16      /* enum vesta_why */
#define VS_DURATIONS_MAX 16 /* number of buckets: vs_duration_us, and one for longer times */

#define VS_SHARE_KINDS 8    /* enum vs_share_kind */

/* Results of requests for leases over the network. */
enum vs_lease_result {
    VS_LEASE_LEASED,
    VS_LEASE_RENEWED,
    VS_LEASE_RELEASED,
    VS_LEASE_BUSY,
    VS_LEASE_LIMITED,
    VS_LEASE_GONE,
    VS_LEASE_FAILED,
    VS_LEASE_RESULTS
};
extern const char *const vs_lease_result_name[VS_LEASE_RESULTS];

/* Counters of a client.  REFUSED_... count rejected requests by cause. */
enum vs_client_count {
    VS_CLIENT_ANSWERED,
    VS_CLIENT_IDS,
    VS_CLIENT_OPEN, /* current connections */
    VS_CLIENT_REFUSED_REQUEST, /* the request is invalid */
    VS_CLIENT_REFUSED_RIGHTS,  /* the client lacks the right */
    VS_CLIENT_REFUSED_RATE,    /* the client exceeds a rate limit */
    VS_CLIENT_REFUSED_PAUSE,   /* no id or no memory was available */
    VS_CLIENT_COUNTS
};

/* Maps the labels of a COUNT row in families.h to array dimensions. */
#define VS_OF_NONE
#define VS_OF_PROTO [VS_PROTOCOLS]
#define VS_OF_CODE [VS_PROTOCOLS][VS_CODES_MAX]
#define VS_OF_TURNED [VS_PROTOCOLS][VS_TURNED_REASONS]
#define VS_OF_SHARE [VS_SHARE_KINDS]
#define VS_OF_LEASE [VS_LEASE_RESULTS]

struct vs_counts {
#define COUNT(name, member, labels, ...) vs_count member VS_OF_##labels;
#include "server/families.h"
    vs_count of_client[VS_COUNTED_MAX][VS_CLIENT_COUNTS]; /* by vs_gate_count_of */
    vs_count durations[VS_PROTOCOLS][VS_DURATIONS_MAX];   /* number of requests, by duration */
    vs_count duration_us[VS_PROTOCOLS];
    /* closed connections, including connections rejected at once, which `accepted` counts too */
    vs_count closed[VS_PROTOCOLS];
    struct net_counts net;
    struct {
        vs_count ids[VS_ID_PROTOCOLS]; /* ids issued, including ids of failed batches and of blocks */
        vs_count pauses[VS_WHYS_MAX];  /* requests that found no id, by their first reason (enum vesta_why) */
    } ns[];
};

/* Allocates zeroed counters in separate cache lines.  The caller frees them.  Returns NULL if there is no memory. */
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
