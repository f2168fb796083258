/* compare.c -- compares two ids: which was made first, and how certain that is. */
#include "main/ids/compare.h"
#include "id/id.h"

#include <inttypes.h>
#include <string.h>

struct compare_pair {
    const struct vesta_layout *layout;
    const uint64_t *ids;
    struct vesta_parts parts[2];
    int older; /* index of the older id in `ids` */
    bool same_worker, same_fields, same_time;
};

/* Returns whether all fields except time and sequence are equal.  If so, one sequence of ticks made both ids. */
static bool compare_has_same_fields(const struct compare_pair *p) {
    for (int i = 0; i < p->layout->field_count; i++)
        if (i != p->layout->time && i != p->layout->seq && p->parts[0].values[i] != p->parts[1].values[i]) return false;
    return true;
}

static void compare_read_pair(struct compare_pair *p) {
    for (int i = 0; i < 2; i++)
        vesta_explain(p->layout, p->ids[i], &p->parts[i], NULL);
    const struct vesta_parts *a = &p->parts[0], *b = &p->parts[1];
    p->same_time = a->time == b->time;
    p->same_worker = a->worker == b->worker;
    p->same_fields = compare_has_same_fields(p);
    p->older = p->same_time ? b->seq < a->seq : b->time < a->time;
}

/* Returns the fact from which the order follows. */
static const char *compare_certainty(const struct compare_pair *p) {
    if (p->layout->worker < 0) return "fields";
    if (p->same_worker) return "worker"; /* ticks of one worker id never go back */
    return p->same_time ? "unknown" : "clocks";
}

static uint64_t compare_apart_ms(const struct compare_pair *p) {
    uint64_t a = (uint64_t)p->parts[0].unix_ms, b = (uint64_t)p->parts[1].unix_ms;
    return p->parts[0].unix_ms < p->parts[1].unix_ms ? b - a : a - b;
}

static uint64_t compare_apart_ticks(const struct compare_pair *p) {
    unsigned bits = vs_seq(p->layout)->width;
    uint64_t a = p->parts[0].time << bits | p->parts[0].seq, b = p->parts[1].time << bits | p->parts[1].seq;
    return a < b ? b - a : a - b;
}

static void compare_print_json(const struct compare_pair *p) {
    const char *sure = compare_certainty(p);
    bool is_equal = p->ids[0] == p->ids[1];
    vs_outf("{\"compare\":[\"%" PRIu64 "\",\"%" PRIu64 "\"],\"equal\":%s", p->ids[0], p->ids[1],
            is_equal ? "true" : "false");
    if (!is_equal && strcmp(sure, "unknown") != 0) vs_outf(",\"older\":\"%" PRIu64 "\"", p->ids[p->older]);
    vs_outf(",\"by\":\"%s\",\"apart_ms\":%" PRIu64 ",\"apart_ticks\":\"%" PRIu64 "\",\"same_worker\":%s}\n", sure,
            compare_apart_ms(p), compare_apart_ticks(p), p->same_worker ? "true" : "false");
}

static void compare_print_distance(const struct compare_pair *p) {
    char span[VS_AGO_MAX], ms[VS_GROUPED_MAX], ticks[VS_GROUPED_MAX];
    if (p->same_time)
        vs_outf("  in the same %s, %s sequence number%s apart\n",
                p->layout->unit_us == 1000000 ? "second"
                : p->layout->unit_us == 1000  ? "millisecond"
                : p->layout->unit_us == 1     ? "microsecond"
                                              : "time unit",
                vs_grouped(compare_apart_ticks(p), ticks), compare_apart_ticks(p) == 1 ? "" : "s");
    else
        vs_outf("  %s apart (%s ms)\n", vs_span(compare_apart_ms(p), span), vs_grouped(compare_apart_ms(p), ms));
}

static void compare_print_order(const struct compare_pair *p) {
    uint64_t older = p->ids[p->older], newer = p->ids[!p->older];
    const struct vesta_parts *a = &p->parts[0], *b = &p->parts[1];
    if (p->layout->worker >= 0 && p->same_worker)
        vs_outf("  the same worker, %" PRIu64 "%s\n", a->worker,
                p->same_fields ? ": its ids ascend, so this is the order in which they were made"
                               : ", under other fields than time and sequence");
    else if (p->layout->worker >= 0)
        vs_outf("  different workers, %" PRIu64 " and %" PRIu64 "%s\n", a->worker, b->worker,
                p->same_time ? ": the ids do not show which was made first"
                             : ": the order is as accurate as their clocks agreed");
    if (older > newer && (p->same_worker || !p->same_time))
        vs_outf("  as numbers they sort the other way, because of fields above the time\n");
}

/* ------------------------------------------------------------------ ids of two layouts */

struct vs_moment vs_moment_of(const struct vesta_layout *layout, uint64_t id) {
    struct vs_moment moment;
    struct vesta_parts parts;
    vesta_explain(layout, id, &parts, NULL);
    vesta_format(VESTA_DECIMAL, id, moment.text);
    moment.from_ms = parts.unix_ms;
    moment.end_ms = vs_time_ms(layout, parts.time + 1) + (layout->unit_us % 1000 != 0);
    return moment;
}

/* Each time is as exact as the unit of its layout.  Equal worker ids in two layouts mean different workers. */
void vs_compare_times(const struct vs_moment m[2], const char *why_only, int json) {
    char span[VS_AGO_MAX], ms[VS_GROUPED_MAX];
    int i = m[1].from_ms < m[0].from_ms;
    const struct vs_moment *older = &m[i], *newer = &m[!i];
    uint64_t apart_ms = (uint64_t)newer->from_ms - (uint64_t)older->from_ms;
    bool is_known = older->end_ms <= newer->from_ms, is_equal = strcmp(m[0].text, m[1].text) == 0;
    if (json) {
        vs_outf("{\"compare\":[\"%s\",\"%s\"],\"equal\":%s", m[0].text, m[1].text, is_equal ? "true" : "false");
        if (is_known) vs_outf(",\"older\":\"%s\"", older->text);
        vs_outf(",\"by\":\"%s\",\"apart_ms\":%" PRIu64 "}\n", is_known ? "clocks" : "unknown", apart_ms);
    } else if (is_equal) {
        vs_outf("\nboth are the same id\n");
    } else if (is_known) {
        vs_outf("\n%s is older than %s\n  %s apart (%s ms)\n", older->text, newer->text, vs_span(apart_ms, span),
                vs_grouped(apart_ms, ms));
        vs_outf("  %s, so only their times are compared: as accurate as their clocks agreed\n", why_only);
    } else {
        vs_outf("\n%s and %s: neither is known to be older\n", m[0].text, m[1].text);
        vs_outf("  %s, so only their times are compared: they are within one time unit\n", why_only);
    }
}

void vs_compare_print(const struct vesta_layout *const layouts[2], const uint64_t ids[2], int json) {
    struct compare_pair p = {.layout = layouts[0], .ids = ids};
    if (layouts[0] != layouts[1]) {
        struct vs_moment moments[2] = {vs_moment_of(layouts[0], ids[0]), vs_moment_of(layouts[1], ids[1])};
        vs_compare_times(moments, "of two layouts", json);
        return;
    }
    compare_read_pair(&p);
    if (json) {
        compare_print_json(&p);
        return;
    }
    vs_outf("\n");
    if (ids[0] == ids[1]) {
        vs_outf("both are the same id\n");
        return;
    }
    if (p.same_time && !p.same_worker)
        vs_outf("%" PRIu64 " and %" PRIu64 ": neither is known to be older\n", ids[0], ids[1]);
    else
        vs_outf("%" PRIu64 " is older than %" PRIu64 "\n", ids[p.older], ids[!p.older]);
    compare_print_distance(&p);
    compare_print_order(&p);
}
