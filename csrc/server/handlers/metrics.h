/* metrics.h -- shared by the files of /metrics, and included only by these files. */
#ifndef VS_METRICS_H
#define VS_METRICS_H

#include "os/process.h"
#include "server/commands.h"

#define VS_METRICS_LINE_BYTES 160         /* bytes of the longest sample (checked when it is written) */
#define VS_METRICS_LINES_PER_NAMESPACE 23 /* lines per namespace in all families (a spec counts them) */
#define VS_METRICS_LINES_PER_CLIENT 8     /* as above, per client */
#define VS_METRICS_LINES_PER_TAG 7        /* as above, per tag */
#define VS_METRICS_OTHER_BYTES                                                                                         \
    (30000 + VS_COUNTED_MAX * VS_METRICS_LINES_PER_CLIENT * VS_METRICS_LINE_BYTES) /* heads and all other families */
/* Maximum number of tags with separate samples (fewer if the namespaces leave no room).  The other tags are added
 * up. */
#define VS_METRICS_TAGS_MAX 200

_Static_assert(VS_NAMESPACES_TOLD *VS_METRICS_LINES_PER_NAMESPACE *VS_METRICS_LINE_BYTES + VS_METRICS_OTHER_BYTES <=
                   VS_REPLY_MAX,
               "the metrics fit a reply");

#define VS_RENEWAL_ANSWERS 5 /* number of results in vesta_info */

struct vs_metrics {
    struct vs_out *out;
    const struct vs_server *server;
    const char *name;  /* name of the family that is being written */
    bool open;         /* in the OpenMetrics format */
    bool has_policies; /* false: there are no policies and nothing to reload */
    struct vs_policies_status policies;
    struct vs_process_usage process;
    struct {
        bool ready, held;
        uint64_t worker, renewals[VS_RENEWAL_ANSWERS];
        int64_t end_ms, drift_us;
    } ns[VS_NAMESPACES_TOLD];
    struct {
        uint64_t ids[VS_ID_PROTOCOLS], pauses[VS_WHYS_MAX];
    } others;      /* sum of the namespaces without separate samples */
    bool has_tags; /* the config has segments */
    struct vs_tags_status tags;
    struct vs_tag_total other; /* sum of the tags without separate samples, and of removed tags */
    size_t served, tag_count;
    struct {
        const char *name;
        struct vs_tag_total total;
        uint64_t ranges, errors, left, step;
    } tag[VS_METRICS_TAGS_MAX];
};

/* Writes one sample.  `format` begins after the family's name. */
void vs_metrics_sample(struct vs_metrics *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Formats microseconds as seconds, without floating point, because a double has too few digits. */
#define VS_SECONDS_MAX 32
#define SECONDS(us) vs_metrics_seconds((char[VS_SECONDS_MAX]){0}, (us))
const char *vs_metrics_seconds(char *buf, int64_t us);

/* metrics_tags.c: reads the state of all tags once, then writes the tag families from that state. */
void vs_metrics_look_at_tags(struct vs_metrics *m, const struct vs_tag_set *set);
typedef void vs_metrics_family(struct vs_metrics *m);
vs_metrics_family vs_put_tag_numbers, vs_put_tag_pauses,
    vs_put_tag_ranges, vs_put_tag_errors, vs_put_tag_left, vs_put_tag_step;

/* metrics_namespaces.c: does the same for namespaces. */
void vs_metrics_look_at_namespaces(struct vs_metrics *m);
vs_metrics_family vs_put_unready, vs_put_issued, vs_put_capacity, vs_put_pauses, vs_put_exhausted, vs_put_backwards,
    vs_put_drift, vs_put_held, vs_put_ready, vs_put_worker, vs_put_expiry, vs_put_renewals, vs_put_layout_end;

#endif
