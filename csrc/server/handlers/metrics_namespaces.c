/* metrics_namespaces.c -- the namespace families in /metrics.
 *
 * The number of samples is bounded: the first namespaces (vs_told) have separate samples, and the counts of the other
 * namespaces are added up. */
#include "base/array.h"
#include "server/handlers/metrics.h"

#include <string.h>

/* in the order of vesta_info */
static const char *const renewal_name[] = {"ok", "conflict", "refused", "down", "unknown"};
#define RENEWALS VS_RENEWAL_ANSWERS
_Static_assert(VS_COUNT(renewal_name) == RENEWALS, "each answer has a name");
_Static_assert(sizeof((struct vesta_info){0}.renewals) == RENEWALS * sizeof(uint64_t), "each answer is exported");

static unsigned long long metrics_ns_total(const struct vs_metrics *m, const vs_count *of) {
    return vs_total(&m->server->monitor, of);
}
#define COUNTS(m) (*(m)->server->monitor.counts[0])

/* ------------------------------------------------------------------ the state, read once */

#define EACH_NAMESPACE(m, i) for (int i = 0; i < vs_told(&(m)->server->names); i++)
#define NAME(m, i) ((m)->server->names.at[i].name)

static void add_up_others(struct vs_metrics *m) {
    for (int i = VS_NAMESPACES_TOLD; i < m->server->names.count; i++) {
        for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
            m->others.ids[protocol] += metrics_ns_total(m, &COUNTS(m).ns[i].ids[protocol]);
        for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++)
            m->others.pauses[why] += metrics_ns_total(m, &COUNTS(m).ns[i].pauses[why]);
    }
}

void vs_metrics_look_at_namespaces(struct vs_metrics *m) {
    add_up_others(m);
    EACH_NAMESPACE(m, i) {
        struct vesta_info info = {.holds_lease = 0};
        if (vs_namespace_is_open(&m->server->names.at[i])) vesta_get_info(m->server->names.at[i].gen[VS_RESP], &info);
        struct vesta_pause pause;
        m->ns[i].ready = vs_namespace_is_ready(m->server, &m->server->names.at[i], &pause);
        m->ns[i].held = info.holds_lease;
        m->ns[i].worker = info.worker;
        m->ns[i].end_ms = info.lease_end_ms;
        m->ns[i].drift_us = info.clock_drift_us;
        memcpy(m->ns[i].renewals, &info.renewals, sizeof m->ns[i].renewals);
    }
}

/* ------------------------------------------------------------------ namespaces */

/* Iterates over the first namespaces, and over one more line for the sum of the other namespaces, if there are any. */
#define EACH_LINE(m, i) for (int i = 0; i < vs_told(&(m)->server->names) + has_others(m); i++)
#define LINE_NAME(m, i) ((i) < VS_NAMESPACES_TOLD ? NAME(m, i) : VS_OTHERS)

static bool has_others(const struct vs_metrics *m) {
    return m->server->names.count > VS_NAMESPACES_TOLD;
}

static unsigned long long metrics_ns_ids_of(const struct vs_metrics *m, int line, int protocol) {
    return line < VS_NAMESPACES_TOLD ? metrics_ns_total(m, &COUNTS(m).ns[line].ids[protocol]) : m->others.ids[protocol];
}

static unsigned long long pauses_of(const struct vs_metrics *m, int line, int why) {
    return line < VS_NAMESPACES_TOLD ? metrics_ns_total(m, &COUNTS(m).ns[line].pauses[why]) : m->others.pauses[why];
}

void vs_put_unready(struct vs_metrics *m) {
    int unready = vs_others_unready(&m->server->names);
    EACH_NAMESPACE(m, i) unready += !m->ns[i].ready;
    vs_metrics_sample(m, " %d", unready);
}

void vs_put_issued(struct vs_metrics *m) {
    EACH_LINE(m, i)
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        vs_metrics_sample(m, "{namespace=\"%s\",proto=\"%s\"} %llu", LINE_NAME(m, i), vs_protocol_name[protocol],
                          metrics_ns_ids_of(m, i, protocol));
}

void vs_put_capacity(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    if (vs_namespace_is_open(&m->server->names.at[i]))
        vs_metrics_sample(m, "{namespace=\"%s\"} %llu", NAME(m, i),
                          (unsigned long long)vs_namespace_capacity(&m->server->names.at[i]));
}

void vs_put_pauses(struct vs_metrics *m) {
    EACH_LINE(m, i)
    for (int why = VESTA_FULL; why <= VESTA_FAILSTOP; why++)
        vs_metrics_sample(m, "{namespace=\"%s\",why=\"%s\"} %llu", LINE_NAME(m, i), vesta_why_name((enum vesta_why)why),
                          pauses_of(m, i, why));
}

static void put_pauses_of(struct vs_metrics *m, enum vesta_why why) {
    EACH_LINE(m, i)
    vs_metrics_sample(m, "{namespace=\"%s\"} %llu", LINE_NAME(m, i), pauses_of(m, i, why));
}

void vs_put_exhausted(struct vs_metrics *m) {
    put_pauses_of(m, VESTA_FULL);
}

void vs_put_backwards(struct vs_metrics *m) {
    put_pauses_of(m, VESTA_CLOCK_BACK);
}

void vs_put_drift(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    vs_metrics_sample(m, "{namespace=\"%s\"} %s", NAME(m, i), SECONDS(m->ns[i].drift_us));
}

void vs_put_held(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    vs_metrics_sample(m, "{namespace=\"%s\"} %d", NAME(m, i), m->ns[i].held);
}

void vs_put_ready(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    vs_metrics_sample(m, "{namespace=\"%s\"} %d", NAME(m, i), m->ns[i].ready);
}

void vs_put_worker(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    if (m->ns[i].held) vs_metrics_sample(m, "{namespace=\"%s\"} %llu", NAME(m, i), (unsigned long long)m->ns[i].worker);
}

void vs_put_expiry(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    if (m->ns[i].held) vs_metrics_sample(m, "{namespace=\"%s\"} %s", NAME(m, i), SECONDS(m->ns[i].end_ms * 1000));
}

void vs_put_renewals(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i)
    for (int at = 0; at < RENEWALS; at++)
        vs_metrics_sample(m, "{namespace=\"%s\",result=\"%s\"} %llu", NAME(m, i), renewal_name[at],
                          (unsigned long long)m->ns[i].renewals[at]);
}

void vs_put_layout_end(struct vs_metrics *m) {
    EACH_NAMESPACE(m, i) {
        if (!vs_namespace_is_open(&m->server->names.at[i])) continue;
        int64_t end_ms = vesta_layout_end_ms(m->server->names.at[i].layout);
        vs_metrics_sample(m, "{namespace=\"%s\"} %lld", NAME(m, i), (long long)(end_ms / 1000));
    }
}
