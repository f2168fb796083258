/* log.c -- where lines go, and which are told.  One line is one write; a line that cannot be written is lost and
 * counted, because no log is worth an id that is not given.  Knows no server. */
#include "base/error.h"
#include "log/line.h"
#include "os/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 512
#define SENTENCE_BYTES 512
#define REPEATS_MAX 128 /* events that are watched for repeats */
#define TEXTS_MAX                                                                                                      \
    16 /* of one sentence and namespace that are told within a second; numbers do not tell texts apart                 \
        */
#define REPEAT_US 1000000

_Static_assert(VS_LOG_LINE_MAX <= 4096, "PIPE_BUF: a pipe takes a line whole or not at all");

struct repeat {
    int64_t from_us; /* when its line was written; 0: a free place */
    uint64_t count;  /* events since that were not told */
    uint64_t whole;  /* a hash of all its texts */
    uint64_t family; /* ... of the sentence and the namespace */
    enum vs_log_level level;
    char sentence[SENTENCE_BYTES], namespace_[VESTA_NAMESPACE_MAX];
};

static struct {
    pthread_mutex_t mutex; /* over all that follows */
    struct vs_log_opts opts;
    char path[PATH_BYTES];
    int fd;
    bool is_socket, is_journal;
    bool torn; /* a line was written in part */
    uint64_t lost;
    struct repeat repeats[REPEATS_MAX];
    struct vs_line line;
} self = {.mutex = PTHREAD_MUTEX_INITIALIZER, .opts = {.level = VS_LOG_INFO}, .fd = STDERR_FILENO};

/* ------------------------------------------------------------------ the file */

/* Stderr that may make a writer wait is opened once more: non-blocking is then ours alone, not that of everybody who
 * shares the terminal.  A socket cannot be opened so; it is told with every line. */
static int own_stderr(void) {
    struct stat st;
    int fd = -1;
    if (fstat(STDERR_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
        fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? STDERR_FILENO : fd;
}

static int open_file(const char *path, int *fd, struct vesta_error *err) {
    *fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
    if (*fd >= 0) return VESTA_OK;
    return vs_fail(err, VESTA_EIO, "the log file '%s' cannot be opened: %s", path, strerror(errno));
}

static bool reads_journal(const struct stat *st) {
    const char *text = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 && device == st->st_dev && inode == st->st_ino;
}

static void take(int fd) {
    struct stat st = {0};
    if (self.fd != STDERR_FILENO) close(self.fd);
    (void)fstat(fd, &st); /* of a closed stderr: then nothing is true of it */
    self.fd = fd;
    self.torn = false;
    self.is_socket = S_ISSOCK(st.st_mode);
    self.is_journal = !self.opts.path && reads_journal(&st);
}

static bool write_line(const char *text, size_t length) {
    ssize_t done =
        self.is_socket ? send(self.fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL) : write(self.fd, text, length);
    if (done > 0) self.torn = (size_t)done < length;
    return done == (ssize_t)length;
}

static void end_line(void) {
    if (self.lost) vs_line_count(&self.line, "lost", self.lost);
    vs_line_end(&self.line);
    if (self.torn) write_line("\n", 1);
    if (!self.torn && write_line(self.line.text, self.line.used))
        self.lost = 0;
    else
        self.lost++;
}

/* ------------------------------------------------------------------ repeats */

static const struct vesta_clock *the_clock(void) {
    return self.opts.clock ? self.opts.clock : vs_clock_system();
}

static void begin_line(enum vs_log_level level, const char *sentence) {
    int64_t unix_ms = the_clock()->unix_us(the_clock()->self) / 1000;
    vs_line_begin(&self.line, self.opts.format, self.is_journal ? -1 : unix_ms < 0 ? 0 : unix_ms, level, sentence);
}

/* Frees the place of an event, telling how often it came again. */
static void tell(struct repeat *event) {
    if (event->count) {
        begin_line(event->level, event->sentence);
        if (*event->namespace_) vs_line_text(&self.line, "namespace", event->namespace_);
        vs_line_count(&self.line, "repeated", event->count);
        end_line();
    }
    event->from_us = 0;
    event->count = 0;
}

static void tell_older(int64_t than_us) {
    for (int i = 0; i < REPEATS_MAX; i++)
        if (self.repeats[i].from_us && self.repeats[i].from_us <= than_us) tell(&self.repeats[i]);
}

/* The place of that event, else a free one, else the oldest, freed. */
static struct repeat *find_place(uint64_t whole) {
    struct repeat *oldest = &self.repeats[0];
    for (struct repeat *event = self.repeats; event < self.repeats + REPEATS_MAX; event++) {
        if (event->from_us && event->whole == whole) return event;
        if (event->from_us < oldest->from_us) oldest = event;
    }
    tell(oldest);
    return oldest;
}

/* How many texts of a family are watched, and whether this is one of them. */
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

static uint64_t hash_more(uint64_t hash, const char *text) { /* FNV-1a, with the NUL */
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    while (*text++);
    return hash;
}

static bool is_number(const char *text) {
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

/* Two events are the same where all their texts are: another error behind the same sentence is news.  What only counts
 * (a try, a rest in milliseconds) tells no events apart, and what differs each time is told TEXTS_MAX times. */
static void recognize(struct repeat *event, const char *sentence, va_list args) {
    va_list again;
    const char *name, *value;
    va_copy(again, args);
    snprintf(event->namespace_, VESTA_NAMESPACE_MAX, "%s", namespace_of(again));
    va_end(again);
    event->family = event->whole = hash_more(hash_more(UINT64_C(14695981039346656037), sentence), event->namespace_);
    while ((name = va_arg(args, const char *)))
        if ((value = va_arg(args, const char *)) && !is_number(value))
            event->whole = hash_more(hash_more(event->whole, name), value);
}

/* Whether the event is to be told now; *repeated is how often it came since it was told last. */
static bool is_due(const struct repeat *new_, const char *sentence, uint64_t *repeated) {
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

static void put_all(va_list args) {
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
    recognize(&event, sentence, again);
    pthread_mutex_lock(&self.mutex);
    if (level >= self.opts.level && is_due(&event, sentence, &repeated)) {
        begin_line(level, sentence);
        put_all(args);
        if (repeated) vs_line_count(&self.line, "repeated", repeated);
        end_line();
    }
    pthread_mutex_unlock(&self.mutex);
    va_end(again);
    va_end(args);
}

void vs_log_tick(void) {
    pthread_mutex_lock(&self.mutex);
    tell_older(the_clock()->boot_us(the_clock()->self) - REPEAT_US);
    pthread_mutex_unlock(&self.mutex);
}

/* ------------------------------------------------------------------ setting up */

int vs_log_setup(const struct vs_log_opts *opts, struct vesta_error *err) {
    size_t length = opts->path ? strlen(opts->path) : 0;
    int fd = -1, rc = VESTA_OK;
    if (length >= PATH_BYTES)
        return vs_fail(err, VESTA_EIO, "the log file's path has %zu bytes, at most %d", length, PATH_BYTES - 1);
    if (opts->path && (rc = open_file(opts->path, &fd, err)) != VESTA_OK) return rc;
    pthread_mutex_lock(&self.mutex);
    self.opts = *opts;
    if (opts->path) {
        memcpy(self.path, opts->path, length + 1);
        self.opts.path = self.path;
    }
    take(fd >= 0 ? fd : own_stderr());
    pthread_mutex_unlock(&self.mutex);
    return VESTA_OK;
}

void vs_log_set_level(enum vs_log_level level) {
    pthread_mutex_lock(&self.mutex);
    self.opts.level = level;
    pthread_mutex_unlock(&self.mutex);
}

int vs_log_reopen(struct vesta_error *err) {
    int fd, rc = VESTA_OK;
    pthread_mutex_lock(&self.mutex);
    if (self.opts.path && (rc = open_file(self.path, &fd, err)) == VESTA_OK) take(fd);
    pthread_mutex_unlock(&self.mutex);
    return rc;
}

void vs_log_end(void) {
    pthread_mutex_lock(&self.mutex);
    tell_older(INT64_MAX);
    self.opts = (struct vs_log_opts){.level = VS_LOG_INFO};
    take(STDERR_FILENO);
    pthread_mutex_unlock(&self.mutex);
}
