/* log.c -- decides which events are logged, by level and repeats, and sets up the log.  writer.c writes the files. */
#include "base/error.h"
#include "log/writer.h"
#include "os/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE_BYTES 512
#define REPEATS_MAX 128 /* maximum number of events that are watched for repeats */
/* maximum number of different events with the same sentence and namespace that are logged within a second */
#define TEXTS_MAX 16
#define REPEAT_US 1000000

struct repeat {
    int64_t from_us; /* time at which the event was logged.  0: free entry */
    uint64_t count;  /* number of repeats since from_us, which were not logged */
    uint64_t whole;  /* hash of all texts of the event */
    uint64_t family; /* hash of the sentence and the namespace */
    enum vs_log_level level;
    char sentence[SENTENCE_BYTES], namespace_[VESTA_NAMESPACE_MAX];
};

static struct { /* guarded by the writer's lock */
    struct vs_log_opts opts;
    struct repeat repeats[REPEATS_MAX];
    struct vs_line line;
} self = {.opts = {.level = VS_LOG_INFO}};

/* ------------------------------------------------------------------ repeats */

static const struct vesta_clock *the_clock(void) {
    return self.opts.clock ? self.opts.clock : vs_clock_system();
}

static void begin_line(enum vs_log_level level, const char *sentence) {
    int64_t unix_ms = the_clock()->unix_us(the_clock()->self) / 1000;
    if (unix_ms < 0) unix_ms = 0;
    vs_line_begin(&self.line, self.opts.format, vs_writer_is_journal() ? -1 : unix_ms, level, sentence);
}

/* Logs an event's repeats, and frees its entry. */
static void log_tell(struct repeat *event) {
    if (event->count) {
        begin_line(event->level, event->sentence);
        if (*event->namespace_) vs_line_text(&self.line, "namespace", event->namespace_);
        vs_line_count(&self.line, "repeated", event->count);
        vs_writer_put(&self.line);
    }
    event->from_us = 0;
    event->count = 0;
}

static void tell_older(int64_t than_us) {
    for (int i = 0; i < REPEATS_MAX; i++)
        if (self.repeats[i].from_us && self.repeats[i].from_us <= than_us) log_tell(&self.repeats[i]);
}

/* Returns the entry of that event, or else a free entry.  If neither exists, frees the oldest entry and returns it. */
static struct repeat *find_place(uint64_t whole) {
    struct repeat *oldest = &self.repeats[0];
    for (struct repeat *event = self.repeats; event < self.repeats + REPEATS_MAX; event++) {
        if (event->from_us && event->whole == whole) return event;
        if (event->from_us < oldest->from_us) oldest = event;
    }
    log_tell(oldest);
    return oldest;
}

/* Returns how many events of a family are watched.  Sets *known to whether this event is among them. */
static int count_family(uint64_t family, uint64_t whole, bool *known) {
    int count = 0;
    *known = false;
    for (const struct repeat *event = self.repeats; event < self.repeats + REPEATS_MAX; event++) {
        if (!event->from_us || event->family != family) continue;
        count++;
        *known = *known || event->whole == whole;
    }
    return count;
}

static uint64_t hash_more(uint64_t hash, const char *text) { /* FNV-1a hash, including the NUL */
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

static bool log_is_number(const char *text) {
    return *text && text[strspn(text, "0123456789.-")] == '\0';
}

static const char *namespace_of(va_list args) {
    const char *name, *value;
    while ((name = va_arg(args, const char *))) {
        value = va_arg(args, const char *);
        if (value && strcmp(name, "namespace") == 0) return value;
    }
    return "";
}

/* Identifies an event by its texts.  Two events are equal if all their texts are equal, so the same sentence with a
 * different error is a new event.  Numeric values, such as attempts or milliseconds, are ignored.  If the texts differ
 * each time, TEXTS_MAX of them are logged. */
static void log_recognize(struct repeat *event, const char *sentence, va_list args) {
    va_list again;
    const char *name, *value;
    va_copy(again, args);
    snprintf(event->namespace_, VESTA_NAMESPACE_MAX, "%s", namespace_of(again));
    va_end(again);
    event->family = event->whole = hash_more(hash_more(UINT64_C(14695981039346656037), sentence), event->namespace_);
    while ((name = va_arg(args, const char *)))
        if ((value = va_arg(args, const char *)) && !log_is_number(value))
            event->whole = hash_more(hash_more(event->whole, name), value);
}

/* Returns true if the event must be logged now.  Sets *repeated to the number of repeats since the event was last
 * logged. */
static bool log_is_due(const struct repeat *new_, const char *sentence, uint64_t *repeated) {
    int64_t now_us = the_clock()->boot_us(the_clock()->self);
    bool watched;
    bool many = count_family(new_->family, new_->whole, &watched) >= TEXTS_MAX && !watched;
    struct repeat *event = find_place(many ? new_->family : new_->whole);
    bool known = event->from_us != 0;
    if (known && now_us - event->from_us < REPEAT_US) {
        event->count++;
        return false;
    }
    *repeated = known ? event->count : 0;
    *event = *new_;
    if (many) event->whole = new_->family;
    event->from_us = now_us > 0 ? now_us : 1;
    snprintf(event->sentence, SENTENCE_BYTES, "%s", sentence);
    tell_older(now_us - REPEAT_US);
    return true;
}

/* ------------------------------------------------------------------ events */

static void log_put_all(va_list args) {
    const char *name, *value;
    while ((name = va_arg(args, const char *)))
        if ((value = va_arg(args, const char *))) vs_line_text(&self.line, name, value);
}

void vs_log(enum vs_log_level level, const char *sentence, ...) {
    va_list args, again;
    struct repeat event = {.level = level};
    uint64_t repeated;
    va_start(args, sentence);
    va_copy(again, args);
    log_recognize(&event, sentence, again);
    vs_writer_lock();
    if (level >= self.opts.level && log_is_due(&event, sentence, &repeated)) {
        begin_line(level, sentence);
        log_put_all(args);
        if (repeated) vs_line_count(&self.line, "repeated", repeated);
        vs_writer_put(&self.line);
    }
    vs_writer_unlock();
    va_end(again);
    va_end(args);
}

void vs_log_tick(void) {
    vs_writer_lock();
    tell_older(the_clock()->boot_us(the_clock()->self) - REPEAT_US);
    vs_writer_unlock();
}

/* ------------------------------------------------------------------ setting up */

int vs_log_setup(const struct vs_log_opts *opts, struct vesta_error *err) {
    int rc = vs_writer_open(opts->path, err);
    if (rc != VESTA_OK) return rc;
    vs_writer_lock();
    self.opts = *opts;
    self.opts.path = NULL; /* the caller owns the path, so it is not retained */
    vs_writer_unlock();
    return VESTA_OK;
}

void vs_log_set_level(enum vs_log_level level) {
    vs_writer_lock();
    self.opts.level = level;
    vs_writer_unlock();
}

void vs_log_end(int64_t wait_ms) {
    vs_writer_lock();
    tell_older(INT64_MAX);
    vs_writer_unlock();
    vs_writer_end(wait_ms);
    vs_writer_lock();
    self.opts = (struct vs_log_opts){.level = VS_LOG_INFO};
    vs_writer_unlock();
}
