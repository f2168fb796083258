/* metrics_tags.c -- the tag families in /metrics.
 *
 * The number of samples is bounded: as many tags as fit have separate samples, and the counts of the other tags are
 * added up. */
#include "server/handlers/metrics.h"

#include <string.h>

static const char *const protocol_name[VS_ID_PROTOCOLS] = {[VS_RESP] = "resp", [VS_HTTP] = "http"};

/* ------------------------------------------------------------------ the state, read once */

static void metrics_tag_look_at_tag(struct vs_metrics *m, const struct vs_served_tag *tag) {
    struct vesta_segment_info info = {.stores = 0};
    if (tag->seg) vesta_segment_get_info(tag->seg, &info);
    m->tag[m->tag_count].name = tag->name;
    m->tag[m->tag_count].total = vs_tag_total(&m->server->monitor, tag);
    m->tag[m->tag_count].left = info.left + info.next_left;
    m->tag[m->tag_count].step = info.database[0].step;
    m->tag[m->tag_count].ranges = m->tag[m->tag_count].errors = 0;
    for (int i = 0; i < info.stores; i++) {
        m->tag[m->tag_count].ranges += info.database[i].ranges;
        m->tag[m->tag_count].errors += info.database[i].refused + info.database[i].down + info.database[i].unknown;
    }
    m->tag_count++;
}

static void add_up(struct vs_tag_total *sum, struct vs_tag_total more) {
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        sum->given[protocol] += more.given[protocol];
    sum->pauses += more.pauses;
}

/* A tag's `place` decides whether the tag has separate samples.  The place never changes while the tag is served, so
 * the tag's time series do not end before the tag is removed. */
void vs_metrics_look_at_tags(struct vs_metrics *m, const struct vs_tag_set *set) {
    size_t room = VS_REPLY_MAX - VS_METRICS_OTHER_BYTES -
                  (size_t)vs_told(&m->server->names) * VS_METRICS_LINES_PER_NAMESPACE * VS_METRICS_LINE_BYTES;
    size_t most = room / (VS_METRICS_LINES_PER_TAG * VS_METRICS_LINE_BYTES) - 1;
    if (most > VS_METRICS_TAGS_MAX) most = VS_METRICS_TAGS_MAX;
    m->has_tags = m->server->tags.status != NULL;
    if (!m->has_tags) return;
    m->server->tags.status(m->server->tags.self, &m->tags);
    m->other.pauses = m->tags.gone_pauses;
    memcpy(m->other.given, m->tags.gone_given, sizeof m->other.given);
    m->served = set ? set->count : 0;
    for (size_t i = 0; i < m->served; i++)
        if ((size_t)set->at[i]->place < most)
            metrics_tag_look_at_tag(m, set->at[i]);
        else
            add_up(&m->other, vs_tag_total(&m->server->monitor, set->at[i]));
}

/* ------------------------------------------------------------------ tags */

#define EACH_TAG(m, i) for (size_t i = 0; i < (m)->tag_count; i++)
#define OTHER VS_OTHERS /* no tag can have this name */

static void put_numbers_of(struct vs_metrics *m, const char *tag, const struct vs_tag_total *total) {
    for (int protocol = 0; protocol < VS_ID_PROTOCOLS; protocol++)
        vs_metrics_sample(m, "{tag=\"%s\",proto=\"%s\"} %llu", tag, protocol_name[protocol],
                          (unsigned long long)total->given[protocol]);
}

void vs_put_tag_numbers(struct vs_metrics *m) {
    EACH_TAG(m, i)
    put_numbers_of(m, m->tag[i].name, &m->tag[i].total);
    put_numbers_of(m, OTHER, &m->other);
}

void vs_put_tag_pauses(struct vs_metrics *m) {
    EACH_TAG(m, i)
    vs_metrics_sample(m, "{tag=\"%s\"} %llu", m->tag[i].name, (unsigned long long)m->tag[i].total.pauses);
    vs_metrics_sample(m, "{tag=\"" OTHER "\"} %llu", (unsigned long long)m->other.pauses);
}

void vs_put_tag_ranges(struct vs_metrics *m) {
    EACH_TAG(m, i)
    vs_metrics_sample(m, "{tag=\"%s\"} %llu", m->tag[i].name, (unsigned long long)m->tag[i].ranges);
}

void vs_put_tag_errors(struct vs_metrics *m) {
    EACH_TAG(m, i)
    vs_metrics_sample(m, "{tag=\"%s\"} %llu", m->tag[i].name, (unsigned long long)m->tag[i].errors);
}

void vs_put_tag_left(struct vs_metrics *m) {
    EACH_TAG(m, i)
    vs_metrics_sample(m, "{tag=\"%s\"} %llu", m->tag[i].name, (unsigned long long)m->tag[i].left);
}

void vs_put_tag_step(struct vs_metrics *m) {
    EACH_TAG(m, i)
    vs_metrics_sample(m, "{tag=\"%s\"} %llu", m->tag[i].name, (unsigned long long)m->tag[i].step);
}
