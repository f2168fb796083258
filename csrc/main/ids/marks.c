/* marks.c -- copies text, with a mark after each id in it.
 *
 * A line does not show which of its numbers are ids.  Therefore a word of digits counts as an id if the layout could
 * have made it in recent years.  This is a guess, which --since makes more precise.  Lines are copied unchanged,
 * whatever bytes they contain, and without delay. */
#include "main/ids/marks.h"

#include "command/times.h"
#include "id/id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM (1 << 20)
#define DAY_MS INT64_C(86400000)
#define YEARS_MS (10 * INT64_C(31556952000))
#define MARK_MAX 512 /* bytes of a mark, without its holder */

struct marks_text {
    const struct vs_marks *marks;
    struct vs_finder finder;
    int64_t since_ms, until_ms;
    uint64_t line; /* line number of the text after `counted` */
    const char *counted;
    const char *paint, *plain; /* text before and after a mark */
    char when[VESTA_ISO_MAX];  /* time of the last mark, since ids in a line often have the same time */
    int64_t when_ms;
    struct vs_progress progress;
    uint64_t bytes, size; /* bytes read, and size of the file at stdin (0: not a file) */
    bool shows_progress;
};

/* Returns the smallest id with that time or a later time, or the largest id with that time or an earlier time. */
static uint64_t marks_bound_at(const struct vesta_layout *l, int64_t unix_ms, bool is_largest) {
    uint64_t values[VESTA_FIELDS_MAX] = {0}, id = 0;
    for (int i = 0; i < l->field_count; i++)
        values[i] = is_largest && !l->field[i].fixed ? l->field[i].max : l->field[i].value;
    values[l->time] = unix_ms > l->epoch_ms ? vs_time_in(l, unix_ms) : 0;
    if (values[l->time] > l->field[l->time].max) values[l->time] = l->field[l->time].max;
    vesta_compose(l, values, &id, NULL);
    return id;
}

/* Returns the minimum number of digits of an id, so that shorter numbers are skipped.  Ids from 2^63 on may appear as
 * negative numbers with fewer digits. */
static size_t marks_length_min(const struct vesta_layout *l, int64_t since_ms, int64_t until_ms) {
    char digits[VESTA_FORMAT_MAX];
    uint64_t largest = marks_bound_at(l, until_ms, true);
    size_t length = vesta_format(VESTA_DECIMAL, marks_bound_at(l, since_ms, false), digits);
    size_t negative = largest >> 63 ? vesta_format(VESTA_DECIMAL, -largest, digits) : length;
    return negative < length ? negative : length;
}

static bool marks_is_made_by_now(const struct marks_text *text, uint64_t id, struct vesta_parts *parts) {
    return vesta_explain(text->marks->layout, id, parts, NULL) == VESTA_OK && parts->unix_ms >= text->since_ms &&
           parts->unix_ms <= text->until_ms;
}

/* Returns whether the character before the number is a minus, not a hyphen after a word. */
static bool marks_has_sign(struct vs_slice all, const char *at) {
    static const char before[] = " \t\n\"'`([{<=:,;";
    return at > all.at && at[-1] == '-' && (at - 1 == all.at || memchr(before, at[-2], sizeof before - 1));
}

static bool marks_is_id(const struct marks_text *text, struct vs_slice all, struct vs_slice word, uint64_t *id,
                        struct vesta_parts *parts) {
    uint64_t n;
    if (vesta_parse(text->finder.base, word.at, word.length, &n) != VESTA_OK) return false;
    if (text->finder.base == VESTA_DECIMAL && marks_has_sign(all, word.at) && vs_id_of_negative(n, id) &&
        marks_is_made_by_now(text, *id, parts))
        return true;
    *id = n;
    return marks_is_made_by_now(text, n, parts);
}

static const char *marks_when_of(struct marks_text *text, int64_t unix_ms) {
    if (unix_ms != text->when_ms || !*text->when) vesta_iso(unix_ms, text->when);
    text->when_ms = unix_ms;
    return text->when;
}

static char *marks_put(char *at, const char *text) {
    return stpcpy(at, text);
}

static char *marks_put_number(char *at, const char *name, uint64_t n) {
    at = marks_put(at, name);
    return at + vesta_format(VESTA_DECIMAL, n, at);
}

/* Formats without printf, which would take half of the total time for millions of ids. */
static void marks_put_mark(struct marks_text *text, const struct vesta_parts *parts) {
    const struct vesta_layout *layout = text->marks->layout;
    const struct vs_record *r =
        text->marks->holders->is_known ? vs_workers_find(&text->marks->holders->workers, parts->worker) : NULL;
    char *from = vs_out_room(MARK_MAX),
         *at = marks_put(marks_put(marks_put(from, text->paint), "["), marks_when_of(text, parts->unix_ms));
    if (layout->worker >= 0) at = marks_put_number(at, " worker=", parts->worker);
    if (layout->seq >= 0) at = marks_put_number(at, " seq=", parts->seq);
    vs_out_took((size_t)(at - from));
    if (r && *r->holder) {
        vs_out_write(" ", 1);
        vs_out_clean(r->holder);
    }
    from = vs_out_room(MARK_MAX);
    vs_out_took((size_t)(marks_put(marks_put(from, "]"), text->plain) - from));
}

static void marks_put_json(struct marks_text *text, const char *at, uint64_t id, const struct vesta_parts *parts) {
    const char *newline;
    while ((newline = memchr(text->counted, '\n', (size_t)(at - text->counted))))
        text->line++, text->counted = newline + 1;
    vs_outf("{\"line\":%" PRIu64 ",\"id\":\"%" PRIu64 "\"", text->line, id);
    if (text->marks->layout->worker >= 0) vs_outf(",\"worker\":%" PRIu64, parts->worker);
    if (text->marks->layout->seq >= 0) vs_outf(",\"seq\":%" PRIu64, parts->seq);
    vs_outf(",\"unix_ms\":%" PRId64 ",\"iso\":\"%s\"", parts->unix_ms, marks_when_of(text, parts->unix_ms));
    vs_holders_json(text->marks->holders, parts);
    vs_outf("}\n");
}

static void marks_count_rest(struct marks_text *text, struct vs_slice all) {
    for (const char *end = all.at + all.length;
         (text->counted = memchr(text->counted, '\n', (size_t)(end - text->counted))); text->counted++)
        text->line++;
}

/* Copies a part of the text and marks the ids in it.  The part must not begin or end within a word. */
static void marks_each(struct marks_text *text, struct vs_slice all) {
    struct vs_slice word;
    struct vesta_parts parts;
    size_t from = 0, copied = 0;
    uint64_t id;
    text->counted = all.at;
    while (!vs_out_gone() && vs_finder_next(&text->finder, all, &from, &word)) {
        if (!marks_is_id(text, all, word, &id, &parts)) continue;
        if (text->marks->json) {
            marks_put_json(text, word.at, id, &parts);
            continue;
        }
        vs_out_write(all.at + copied, from - copied);
        copied = from;
        marks_put_mark(text, &parts);
    }
    if (text->marks->json)
        marks_count_rest(text, all);
    else
        vs_out_write(all.at + copied, all.length - copied);
}

/* Returns how much of the text can be processed: all whole lines, or all whole words of a very long line. */
static size_t marks_whole(const char *buf, size_t used) {
    const char *newline = memrchr(buf, '\n', used);
    if (newline) return (size_t)(newline - buf) + 1;
    if (used < ROOM) return 0;
    for (size_t at = used; at > 0; at--)
        if (buf[at - 1] == ' ' || buf[at - 1] == ',') return at;
    return used;
}

static int marks_copy(struct marks_text *text, char *buf) {
    size_t used = 0;
    ssize_t n = 1;
    while (n > 0 && !vs_out_gone()) {
        while ((n = read(STDIN_FILENO, buf + used, ROOM - used)) < 0 && errno == EINTR)
            ;
        if (n > 0) used += (size_t)n, text->bytes += (uint64_t)n;
        if (text->shows_progress) vs_progress_show(&text->progress, "bytes", text->bytes, text->size);
        size_t done = n > 0 ? marks_whole(buf, used) : used;
        marks_each(text, (struct vs_slice){buf, done});
        if (n < ROOM / 2) vs_out_flush(); /* there is no more input for now, and the reader must not wait */
        used -= done;
        memmove(buf, buf + done, used);
    }
    if (n >= 0) return VS_DONE;
    vs_say("cannot read stdin: %s", strerror(errno));
    return VS_FAILED;
}

int vs_marks_run(const struct vs_marks *marks) {
    struct marks_text text = {
        .marks = marks, .since_ms = marks->now_ms - YEARS_MS, .until_ms = marks->now_ms + DAY_MS, .line = 1};
    struct stat st;
    if (marks->since && vs_time_operand(marks->since, marks->now_ms, &text.since_ms) != VS_GO) return VS_USAGE;
    if (text.since_ms > text.until_ms) return vs_usage("--since %s is in the future", vs_shown_text(marks->since));
    text.paint = VS_CYAN;
    text.plain = VS_PLAIN;
    vs_finder_begin(&text.finder, marks->base, marks_length_min(marks->layout, text.since_ms, text.until_ms));
    vs_say_waiting("text from stdin, whose ids are marked");
    text.shows_progress = fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode) && !isatty(STDOUT_FILENO);
    if (text.shows_progress) text.size = (uint64_t)st.st_size;
    char *buf = malloc(ROOM);
    if (!buf) return vs_say("no memory"), VS_FAILED;
    int rc = marks_copy(&text, buf);
    vs_progress_end();
    free(buf);
    return rc;
}
