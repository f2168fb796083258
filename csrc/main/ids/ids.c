/* ids.c -- reads ids from files, millions per second, and records the lines on which they are. */
#include "main/ids/audit.h"
#include "command/notation.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_ROOM (1 << 18)
#define LINE_MAX_BYTES 65536 /* a longer line cannot be in a list of ids */
#define BAD_NAMED_MAX 10
#define JSON_DIGITS_MIN 15 /* shorter numbers in JSON are mostly not ids */

struct ids_reader {
    struct vs_ids *out;
    const char *file;
    uint64_t line;
    size_t column;            /* number of characters of the previous id */
    struct vs_marked *marked; /* the list whose next id needs no mark, because it is on the line after its last id */
    enum vs_notation notation;
    struct vs_progress progress;
    uint64_t size; /* size of the file (0: not a regular file) */
    char bytes_of[64];
};

static bool ids_grow(void **array, size_t *room, size_t item) {
    size_t more = *room ? *room * 2 : 4096;
    void *bigger = realloc(*array, more * item);
    if (!bigger) return false;
    *array = bigger;
    *room = more;
    return true;
}

static int ids_no_memory(const struct vs_ids *self) {
    vs_say("no memory for more than %zu ids", self->count);
    return VS_FAILED;
}

/* Records where the id with this index is, unless it is on the line after the id before it. */
static int ids_add_mark(struct ids_reader *r, struct vs_marked *marks, size_t index) {
    if (r->marked == marks) return VS_DONE;
    if (marks->count == marks->room && !ids_grow((void **)&marks->at, &marks->room, sizeof *marks->at))
        return ids_no_memory(r->out);
    marks->at[marks->count++] = (struct vs_mark){index, r->file, r->line};
    r->marked = marks;
    return VS_DONE;
}

static int ids_add_id(struct ids_reader *r, uint64_t id) {
    struct vs_ids *out = r->out;
    if (out->count == out->room && !ids_grow((void **)&out->ids, &out->room, sizeof *out->ids))
        return ids_no_memory(out);
    if (ids_add_mark(r, &out->marks, out->count) != VS_DONE) return VS_FAILED;
    out->ids[out->count++] = id;
    return VS_DONE;
}

static void ids_count_wide(const struct ids_reader *r, const struct vs_wide_found *found) {
    struct vs_wides *wides = &r->out->wides;
    struct vs_wide_found as_uuid = {.id = found->id, .text = VS_WIDE_UUID};
    bool is_ulid = found->text == VS_WIDE_ULID;
    struct vesta_uuid_parts parts;
    uint8_t bytes[VESTA_UUID_BYTES];
    int64_t unix_us;
    wides->kinds[is_ulid                                         ? VS_KIND_ULID
                 : vs_wide_variant(found->id) == VS_WIDE_VARIANT ? vs_wide_version(found->id)
                                                                 : 0]++;
    vs_wide_bytes(found->id, bytes);
    if (r->out->layout && !is_ulid && vesta_uuid_explain(r->out->layout, VESTA_UUID8, bytes, &parts, NULL) == VESTA_OK)
        unix_us = parts.unix_ms * 1000;
    else if (vs_wide_time_us(is_ulid ? found : &as_uuid, &unix_us, NULL) != VESTA_OK)
        return;
    int64_t unix_ms = unix_us / 1000;
    if (wides->timed++ == 0) wides->first_ms = wides->last_ms = unix_ms;
    if (unix_ms < wides->first_ms) wides->first_ms = unix_ms;
    if (unix_ms > wides->last_ms) wides->last_ms = unix_ms;
    /* the ids of a pipe may be younger than the last clock reading */
    if (unix_ms > r->out->now_ms) r->out->now_ms = vs_now_ms();
    if (unix_ms > r->out->now_ms + 1 && wides->future++ == 0) wides->future_at = wides->count;
}

static int ids_add_wide(struct ids_reader *r, const struct vs_wide_found *found) {
    struct vs_wides *wides = &r->out->wides;
    if (wides->count == wides->room && !ids_grow((void **)&wides->ids, &wides->room, sizeof *wides->ids))
        return ids_no_memory(r->out);
    if (ids_add_mark(r, &wides->marks, wides->count) != VS_DONE) return VS_FAILED;
    ids_count_wide(r, found);
    wides->ids[wides->count++] = found->id;
    return VS_DONE;
}

/* Returns the length of the first column, which ends at a separator or at its closing quote. */
static size_t ids_column_of(const char *line, size_t length) {
    size_t column = 0;
    while (column < length && memchr(" \t\"'", line[column], 4))
        column++;
    while (column < length && !memchr(" \t,;\r\"'", line[column], 7))
        column++;
    return column;
}

/* Returns whether the notation of the caller includes ids of 128 bits. */
static bool ids_reads_wide(const struct ids_reader *r) {
    return r->notation == VS_ANY_NOTATION || r->notation == VS_NOTATION_OF(VESTA_DECIMAL);
}

static void ids_add_bad(struct ids_reader *r, const char *line, size_t length) {
    r->marked = NULL;
    struct vs_slice column = {line, ids_column_of(line, length)};
    struct vesta_error err;
    if (++r->out->bad_lines <= BAD_NAMED_MAX) {
        if (ids_reads_wide(r) && vs_id_wide_trouble(column, &err))
            vs_say("%s line %" PRIu64 ": %s", r->file, r->line, err.text);
        else
            vs_say("%s line %" PRIu64 ": %s is not an id: %s", r->file, r->line, vs_shown(line, length),
                   vs_id_trouble(r->notation, column));
    }
    if (r->out->bad_lines == BAD_NAMED_MAX) vs_say("further lines of this kind are counted but not shown");
}

static bool ids_is_blank(const char *line, size_t length) {
    while (length > 0 && memchr(" \t\r", line[length - 1], 3))
        length--;
    return length == 0;
}

/* Tries the whole line as a decimal first, because decimals are by far the most common, and then the first column as
 * `explain` reads it. */
static bool ids_read_id(const struct ids_reader *r, const char *line, size_t length, size_t *column, uint64_t *id) {
    struct vs_found_id found;
    *column = length;
    if (r->notation == VS_NOTATION_OF(VESTA_DECIMAL) && vesta_parse(VESTA_DECIMAL, line, length, id) == VESTA_OK)
        return true;
    if (length >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) line += 3, length -= 3;
    *column = ids_column_of(line, length);
    bool is_id = vs_id_read(r->notation, (struct vs_slice){line, *column}, &found);
    *id = found.id;
    return is_id;
}

/* Reads an id of 128 bits from the first column. */
static bool ids_read_wide(const struct ids_reader *r, const char *line, size_t length, size_t *column,
                          struct vs_wide_found *found) {
    if (length < VS_WIDE_LENGTH_MIN || !ids_reads_wide(r)) return false;
    *column = ids_column_of(line, length);
    return *column >= VS_WIDE_LENGTH_MIN && vs_id_read_wide((struct vs_slice){line, *column}, found);
}

/* Adds the ids of 128 bits in a line of JSON, as ids_add_json does. */
static int ids_add_json_wide(struct ids_reader *r, struct vs_slice text, bool is_list) {
    struct vs_wide_found found;
    size_t from = 0;
    int count = 0;
    while ((count == 0 || is_list) && vs_id_next_wide(text, &from, &found)) {
        if (count++ > 0) r->marked = NULL; /* ids after a mark are on consecutive lines */
        if (ids_add_wide(r, &found) != VS_DONE) return -1;
    }
    return count;
}

/* Adds the ids in a line of JSON that `vesta gen --json` or /v1/ids printed: all ids of a list, or the first id of an
 * object.  Returns the number of ids, or -1 after a message. */
static int ids_add_json(struct ids_reader *r, const char *line, size_t length) {
    struct vs_slice text = {line, length}, word;
    struct vs_finder finder;
    struct vs_found_id found;
    size_t from = 0;
    int count = 0;
    if (r->notation != VS_NOTATION_OF(VESTA_DECIMAL) || length == 0 || !memchr("{[", *line, 2)) return 0;
    bool is_list = memchr(line, '[', length) != NULL;
    vs_finder_begin(&finder, VESTA_DECIMAL, JSON_DIGITS_MIN);
    while ((count == 0 || is_list) && vs_finder_next(&finder, text, &from, &word)) {
        if (!vs_id_read(r->notation, word, &found)) continue;
        if (count > 0) r->marked = NULL; /* ids after a mark are on consecutive lines */
        if (ids_add_id(r, found.id) != VS_DONE) return -1;
        count++;
    }
    if (count == 0) count = ids_add_json_wide(r, text, is_list);
    if (count > 1) r->marked = NULL;
    if (count == 1) r->column = length;
    return count;
}

static int ids_take_line(struct ids_reader *r, const char *line, size_t length) {
    struct vs_wide_found wide;
    size_t column;
    uint64_t id;
    r->line++;
    if (ids_is_blank(line, length)) {
        r->marked = NULL;
        return VS_DONE;
    }
    if (ids_read_wide(r, line, length, &column, &wide)) {
        r->column = column;
        return ids_add_wide(r, &wide);
    }
    if (!ids_read_id(r, line, length, &column, &id)) {
        int count = ids_add_json(r, line, length);
        if (count == 0) ids_add_bad(r, line, length);
        return count < 0 ? VS_FAILED : VS_DONE;
    }
    r->column = column;
    return ids_add_id(r, id);
}

/* Handles a last line without a newline.  The line may be an incomplete id of a killed writer.  Two incomplete ids may
 * be equal although the complete ids differ, so incomplete ids are not counted.  But a person's `printf` leaves a
 * complete id.  The ids of one writer have equal lengths, so a line that is as long as the previous id is complete. */
static int ids_take_rest(struct ids_reader *r, const char *line, size_t length) {
    if (length >= r->column) return ids_take_line(r, line, length);
    vs_say("%s line %" PRIu64 ": %s has no newline and is shorter than the id before it: an incomplete id, not counted",
           r->file, r->line + 1, vs_shown(line, length));
    return VS_DONE;
}

/* Takes the whole lines of buf[0..used).  Returns the number of bytes consumed, or -1 after a message. */
static ssize_t ids_take_lines(struct ids_reader *r, const char *buf, size_t used) {
    const char *at = buf, *end = buf + used, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        if (ids_take_line(r, at, (size_t)(newline - at)) != VS_DONE) return -1;
        at = newline + 1;
    }
    return at - buf;
}

/* Returns the number of bytes read into buf, 0 at the end of the file, or -1 after a message. */
static ssize_t ids_read_some(const char *file, int fd, char *buf, size_t size) {
    ssize_t n;
    while ((n = read(fd, buf, size)) < 0 && errno == EINTR)
        ;
    if (n < 0) vs_say("cannot read %s: %s", vs_shown_text(file), strerror(errno));
    return n;
}

static int ids_read_lines(struct ids_reader *r, int fd, char *buf) {
    size_t used = 0;
    uint64_t bytes = 0;
    ssize_t n, done;
    while ((n = ids_read_some(r->file, fd, buf + used, READ_ROOM - used)) > 0) {
        used += (size_t)n;
        if ((done = ids_take_lines(r, buf, used)) < 0) return VS_FAILED;
        used -= (size_t)done;
        memmove(buf, buf + done, used);
        if (used > LINE_MAX_BYTES) {
            vs_say("%s line %" PRIu64 " is longer than %d bytes: this is not a list of ids", r->file, r->line + 1,
                   LINE_MAX_BYTES);
            return VS_USAGE;
        }
        bytes += (uint64_t)n;
        if (r->size)
            vs_progress_show(&r->progress, r->bytes_of, bytes, r->size);
        else
            vs_progress_show(&r->progress, "ids read", r->out->count + r->out->wides.count, 0);
    }
    if (n < 0) return VS_FAILED;
    return used ? ids_take_rest(r, buf, used) : VS_DONE;
}

int vs_ids_read(struct vs_ids *self, enum vs_notation notation, const char *file) {
    bool is_stdin = strcmp(file, "-") == 0;
    struct ids_reader r = {.out = self, .notation = notation, .file = is_stdin ? "stdin" : file};
    int fd = is_stdin ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        vs_say("cannot open %s: %s", vs_shown_text(file), strerror(errno));
        return VS_FAILED;
    }
    struct stat st;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) r.size = (uint64_t)st.st_size;
    snprintf(r.bytes_of, sizeof r.bytes_of, "bytes of %.*s", (int)sizeof r.bytes_of - 16,
             is_stdin ? "stdin" : vs_shown_text(file));
    if (is_stdin) vs_say_waiting("ids from stdin, one per line");
    char *buf = malloc(READ_ROOM);
    int rc = buf ? ids_read_lines(&r, fd, buf) : ids_no_memory(self);
    free(buf);
    vs_progress_end();
    if (!is_stdin) close(fd);
    return rc;
}

void vs_ids_free(struct vs_ids *self) {
    free(self->ids);
    free(self->marks.at);
    free(self->wides.ids);
    free(self->wides.marks.at);
}

void vs_marks_where(const struct vs_marked *marks, size_t index, const char **file, uint64_t *line) {
    size_t low = 0, high = marks->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (marks->at[middle].index <= index)
            low = middle;
        else
            high = middle;
    }
    *file = marks->at[low].file;
    *line = marks->at[low].line + (index - marks->at[low].index);
}
