/* audit_wide.c -- finds equal ids of 128 bits, and describes their kinds, order, times and rate. */
#include "main/ids/audit.h"
#include "main/ids/sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns whether every id contains a time in its highest bits, so that ids of one issuer ascend. */
static bool stream_ascends(const struct vs_wides *wides) {
    return wides->count > 0 && wides->timed == wides->count && wides->kinds[1] == 0;
}

/* Counts the ids that are smaller than the id before them in their file. */
static void stream_find_inversions(const struct vs_wides *wides, struct vs_wide_finding *out) {
    const char *file, *before;
    uint64_t line;
    for (size_t i = 1; i < wides->count; i++) {
        if (vs_wide_compare(wides->ids[i], wides->ids[i - 1]) >= 0) continue;
        vs_marks_where(&wides->marks, i - 1, &before, &line);
        vs_marks_where(&wides->marks, i, &file, &line);
        if (file == before && out->inversions++ == 0) out->inversions_at = i;
    }
}

static void stream_count_runs(const struct vs_wide *sorted, size_t count, struct vs_wide_finding *out) {
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && vs_wide_compare(sorted[end], sorted[i]) == 0;)
            end++;
        out->distinct++;
        if (end - i == 1 || out->shown_count == VS_DUPLICATES_SHOWN) continue;
        out->shown[out->shown_count].id = sorted[i];
        out->shown[out->shown_count++].times = end - i;
    }
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && sorted[end].high >> 16 == sorted[i].high >> 16;)
            end++;
        if (end - i > out->burst) out->burst = end - i;
    }
}

int vs_wides_find(const struct vs_wides *wides, struct vs_wide_finding *out) {
    *out = (struct vs_wide_finding){.distinct = 0};
    if (wides->count == 0) return VS_DONE;
    size_t bytes = wides->count * sizeof *wides->ids;
    struct vs_wide *sorted = malloc(bytes), *scratch = malloc(bytes);
    int rc = sorted && scratch ? VS_DONE : VS_FAILED;
    if (rc == VS_DONE) {
        memcpy(sorted, wides->ids, bytes);
        vs_sort_wide(sorted, scratch, wides->count);
        stream_count_runs(sorted, wides->count, out);
        out->min = sorted[0];
        out->max = sorted[wides->count - 1];
        if (stream_ascends(wides)) stream_find_inversions(wides, out);
    } else {
        vs_say("not enough memory to sort %zu ids: %zu MiB are needed", wides->count, 2 * bytes >> 20);
    }
    free(sorted);
    free(scratch);
    return rc;
}

/* ------------------------------------------------------------------ the report */

/* Calls `put` for each line that contains the id, at most VS_LINES_SHOWN times. */
static void stream_each_line(const struct vs_wides *wides, struct vs_wide id,
                             void (*put)(const char *, uint64_t, int)) {
    const char *file;
    uint64_t line;
    int count = 0;
    for (size_t i = 0; i < wides->count && count < VS_LINES_SHOWN; i++) {
        if (vs_wide_compare(wides->ids[i], id) != 0) continue;
        vs_marks_where(&wides->marks, i, &file, &line);
        put(file, line, count++);
    }
}

static void stream_put_line(const char *file, uint64_t line, int count) {
    vs_outf("%s", count ? ", " : "");
    vs_out_clean(file);
    vs_outf(" line %" PRIu64, line);
}

static void stream_put_json_line(const char *file, uint64_t line, int count) {
    vs_outf("%s{\"file\":", count ? "," : "");
    vs_out_json(file);
    vs_outf(",\"line\":%" PRIu64 "}", line);
}

/* All ids are shown as UUIDs, or as ULIDs if all are ULIDs. */
static const char *stream_text(const struct vs_wides *wides, struct vs_wide id, char *buf) {
    vs_wide_write(wides->kinds[VS_KIND_ULID] == wides->count ? VS_WIDE_ULID : VS_WIDE_UUID, id, buf);
    return buf;
}

void vs_wides_print_duplicates(const struct vs_wides *wides, const struct vs_wide_finding *found) {
    char text[VS_WIDE_TEXT_MAX];
    for (int i = 0; i < found->shown_count; i++) {
        vs_outf("  %s  %" PRIu64 " times: ", stream_text(wides, found->shown[i].id, text), found->shown[i].times);
        stream_each_line(wides, found->shown[i].id, stream_put_line);
        vs_outf("%s\n", found->shown[i].times > VS_LINES_SHOWN ? ", ..." : "");
    }
}

static const char *stream_kind(int kind, char buf[16]) {
    if (kind == 0) return "other"; /* no version of RFC 9562: the nil UUID, a trace id */
    snprintf(buf, 16, kind == VS_KIND_ULID ? "ulid" : "uuid%d", kind);
    return buf;
}

static void stream_print_odd(const struct vs_wides *wides, const char *name, uint64_t count, size_t at,
                             const char *meaning) {
    char text[VS_WIDE_TEXT_MAX];
    const char *file;
    uint64_t line;
    if (!vs_audit_count(name, count)) return;
    vs_marks_where(&wides->marks, at, &file, &line);
    vs_out_fittedf(29, 29, "%s. The first is %s, %s line %" PRIu64, meaning, stream_text(wides, wides->ids[at], text),
                   file, line);
}

/* Returns the average number of ids per second, or 0 if it is unknown. */
static uint64_t stream_rate(const struct vs_wides *wides) {
    uint64_t ms = (uint64_t)(wides->last_ms - wides->first_ms);
    return wides->timed > 1 && ms > 0 ? (uint64_t)((double)wides->timed * 1000 / (double)ms) : 0;
}

void vs_wides_print(const struct vs_wides *wides, const struct vs_wide_finding *found) {
    char buf[16], grouped[VS_GROUPED_MAX], burst[VS_GROUPED_MAX], first[VESTA_ISO_MAX], last[VESTA_ISO_MAX];
    if (wides->count == 0) return;
    for (int kind = 0; kind <= VS_KIND_ULID; kind++)
        if (wides->kinds[kind])
            vs_outf("%-12s %14s\n", stream_kind(kind, buf), vs_grouped(wides->kinds[kind], grouped));
    if (stream_ascends(wides))
        stream_print_odd(wides, "inversions", found->inversions, found->inversions_at, "smaller than the id before it");
    if (wides->timed == 0) return;
    stream_print_odd(wides, "future", wides->future, wides->future_at, "later than this machine's clock");
    vs_outf("%-12s %s to %s\n", "time", vs_iso(wides->first_ms, first), vs_iso(wides->last_ms, last));
    if (stream_rate(wides) > 0) vs_outf("%-12s %14s", "rate", vs_grouped(stream_rate(wides), grouped));
    if (stream_rate(wides) > 0 && stream_ascends(wides))
        vs_outf("  per second, at most %s with the same time\n", vs_grouped(found->burst, burst));
    else if (stream_rate(wides) > 0)
        vs_outf("  per second\n");
}

void vs_wides_print_json(const struct vs_wides *wides, const struct vs_wide_finding *found) {
    char buf[16], text[VS_WIDE_TEXT_MAX], first[VESTA_ISO_MAX], last[VESTA_ISO_MAX];
    const char *comma = "";
    if (wides->count == 0) return;
    vs_outf(",\"uuids\":{\"total\":%zu,\"min\":\"%s\"", wides->count, stream_text(wides, found->min, text));
    vs_outf(",\"max\":\"%s\",\"kinds\":{", stream_text(wides, found->max, text));
    for (int kind = 0; kind <= VS_KIND_ULID; kind++) {
        if (!wides->kinds[kind]) continue;
        vs_outf("%s\"%s\":%" PRIu64, comma, stream_kind(kind, buf), wides->kinds[kind]);
        comma = ",";
    }
    vs_outf("}");
    if (stream_ascends(wides))
        vs_outf(",\"inversions\":%" PRIu64 ",\"burst\":%" PRIu64, found->inversions, found->burst);
    if (wides->timed)
        vs_outf(",\"future\":%" PRIu64 ",\"first\":\"%s\",\"last\":\"%s\",\"per_second\":%" PRIu64, wides->future,
                vs_iso(wides->first_ms, first), vs_iso(wides->last_ms, last), stream_rate(wides));
    vs_outf(",\"shown\":[");
    for (int i = 0; i < found->shown_count; i++) {
        vs_outf("%s{\"id\":\"%s\",\"times\":%" PRIu64 ",\"lines\":[", i ? "," : "",
                stream_text(wides, found->shown[i].id, text), found->shown[i].times);
        stream_each_line(wides, found->shown[i].id, stream_put_json_line);
        vs_outf("]}");
    }
    vs_outf("]}");
}
