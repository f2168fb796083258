/* access.c -- the access log (access.h). */
#include "log/access.h"
#include "base/error.h"
#include "log/writer.h"
#include "os/thread.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_BYTES (1 << 20) /* a power of two */
#define PATH_BYTES 512
#define REST_MS 100      /* interval between the thread's writes.  A half-full ring wakes it earlier */
#define TELL_US 10000000 /* minimum interval between warnings about lost lines */

struct ring {
    _Atomic uint64_t written, read; /* total bytes written by the loop, and read by the thread */
    _Atomic uint64_t lost;          /* number of lost lines */
    /* used only by the loop */
    uint64_t told; /* number of lost lines already reported in a line */
    struct vs_line line;
    int64_t unix_ms;
    char ts[VESTA_ISO_MAX];
    char bytes[RING_BYTES];
};

struct vs_access {
    enum vs_log_format format;
    pthread_mutex_t lock; /* guards `ending` and `is_over` */
    pthread_cond_t event;
    bool ending, is_over;
    atomic_bool reopens, is_urgent;
    pthread_t thread;
    /* used only by the thread */
    int fd;
    bool is_torn;               /* true if the last line was written only partly */
    _Atomic uint64_t unwritten; /* number of lines that could not be written to the file */
    uint64_t told;
    int64_t told_us;
    char path[PATH_BYTES];
    int loops;
    struct ring *ring;
};

/* ------------------------------------------------------------------ a loop's side */

struct vs_line *vs_access_begin(struct vs_access *access, int loop, int64_t unix_ms) {
    struct ring *ring = &access->ring[loop];
    if (unix_ms != ring->unix_ms || !*ring->ts) vs_line_iso(ring->ts, unix_ms), ring->unix_ms = unix_ms;
    vs_line_begin_with(&ring->line, access->format, ring->ts);
    return &ring->line;
}

/* Wakes the thread before its interval ends. */
static void alog_hurry(struct vs_access *access) {
    if (atomic_exchange(&access->is_urgent, true)) return;
    /* signal without the lock, because a lost signal only delays the write by REST_MS */
    pthread_cond_signal(&access->event);
}

static void copy_in(struct ring *ring, uint64_t at, const char *text, size_t length) {
    size_t from = at % RING_BYTES, first = RING_BYTES - from;
    if (first > length) first = length;
    memcpy(ring->bytes + from, text, first);
    memcpy(ring->bytes, text + first, length - first);
}

static void alog_put(struct vs_access *access, struct ring *ring) {
    uint64_t at = atomic_load_explicit(&ring->written, memory_order_relaxed);
    /* acquire: pairs with alog_drain, so that bytes are overwritten only after the thread has written them to the file
     */
    uint64_t used = at - atomic_load_explicit(&ring->read, memory_order_acquire);
    if (used > RING_BYTES / 2) alog_hurry(access);
    if (RING_BYTES - used < ring->line.used) {
        atomic_fetch_add(&ring->lost, 1);
        return;
    }
    copy_in(ring, at, ring->line.text, ring->line.used);
    /* release: pairs with alog_drain, so that the thread sees the line's bytes */
    atomic_store_explicit(&ring->written, at + ring->line.used, memory_order_release);
}

void vs_access_put(struct vs_access *access, int loop, size_t times) {
    struct ring *ring = &access->ring[loop];
    uint64_t lost = atomic_load(&ring->lost);
    if (lost > ring->told) vs_line_count(&ring->line, "lost", lost - ring->told);
    ring->told = lost;
    vs_line_end(&ring->line);
    for (size_t i = 0; i < times; i++)
        alog_put(access, ring);
}

uint64_t vs_access_lost(struct vs_access *access) {
    uint64_t sum = atomic_load(&access->unwritten);
    for (int i = 0; i < access->loops; i++)
        sum += atomic_load(&access->ring[i].lost);
    return sum;
}

/* ------------------------------------------------------------------ the thread's side */

static size_t count_lines(const char *bytes, size_t length) {
    size_t count = 0;
    for (const char *at = bytes, *end = at + length; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        count++;
    return count;
}

/* Writes bytes to the file.  A full disk may accept only part of a line, in which case a newline is written before the
 * next line. */
static void alog_write_bytes(struct vs_access *access, const char *bytes, size_t length) {
    char last = '\n';
    if (access->is_torn) access->is_torn = write(access->fd, "\n", 1) != 1;
    bool failed = access->is_torn;
    while (length > 0 && !failed) {
        ssize_t done = write(access->fd, bytes, length);
        failed = done <= 0 && errno != EINTR;
        if (done <= 0) continue;
        last = bytes[done - 1];
        bytes += done, length -= (size_t)done;
    }
    if (!failed) return;
    access->is_torn |= last != '\n';
    atomic_fetch_add(&access->unwritten, count_lines(bytes, length));
}

/* Writes a ring's bytes to the file.  Returns false if the ring is empty. */
static bool alog_drain(struct vs_access *access, struct ring *ring) {
    uint64_t at = atomic_load_explicit(&ring->read, memory_order_relaxed);
    /* acquire: pairs with alog_put, so that the line's bytes are visible */
    uint64_t until = atomic_load_explicit(&ring->written, memory_order_acquire);
    size_t from = at % RING_BYTES, length = (size_t)(until - at), first = RING_BYTES - from;
    if (length == 0) return false;
    if (first > length) first = length;
    alog_write_bytes(access, ring->bytes + from, first);
    if (length > first) alog_write_bytes(access, ring->bytes, length - first);
    /* release: pairs with alog_put, so that the bytes are overwritten only after they were read */
    atomic_store_explicit(&ring->read, until, memory_order_release);
    return true;
}

static void alog_reopen(struct vs_access *access) {
    struct vesta_error err;
    int fd;
    if (vs_log_open_file("access log", access->path, &fd, &err) != VESTA_OK) {
        vs_log(VS_LOG_ERROR, "the access log could not be reopened and continues in the old file", "error", err.text,
               NULL);
        return;
    }
    close(access->fd);
    access->fd = fd;
    access->is_torn = false;
    vs_log(VS_LOG_INFO, "the access log was reopened", NULL);
}

static void alog_tell_lost(struct vs_access *access) {
    uint64_t lost = vs_access_lost(access);
    int64_t now_us = vs_monotonic_us();
    if (lost == access->told || (access->told_us && now_us - access->told_us < TELL_US)) return;
    vs_log(VS_LOG_WARN, "lines of the access log were lost: check that its disk is not full or slow", "lost",
           VS_DIGITS((int64_t)(lost - access->told)), "file", access->path, NULL);
    access->told = lost;
    access->told_us = now_us;
}

static bool drain_all(struct vs_access *access) {
    bool any = false;
    atomic_store(&access->is_urgent, false);
    for (int i = 0; i < access->loops; i++)
        any |= alog_drain(access, &access->ring[i]);
    return any;
}

static void alog_rest(struct vs_access *access) {
    int64_t until_us = vs_monotonic_us() + REST_MS * 1000;
    pthread_mutex_lock(&access->lock);
    if (!access->ending && !atomic_load(&access->is_urgent)) vs_cond_wait(&access->event, &access->lock, until_us);
    pthread_mutex_unlock(&access->lock);
}

static bool alog_is_ending(struct vs_access *access) {
    pthread_mutex_lock(&access->lock);
    bool ending = access->ending;
    pthread_mutex_unlock(&access->lock);
    return ending;
}

static void *alog_write_all(void *self) {
    struct vs_access *access = self;
    bool ending = false, any = true;
    while (!ending || any) {
        ending = alog_is_ending(access); /* read this before drain_all, so that all earlier lines are written */
        any = drain_all(access);
        alog_tell_lost(access);
        if (atomic_exchange(&access->reopens, false)) alog_reopen(access);
        if (!any) alog_rest(access);
    }
    pthread_mutex_lock(&access->lock);
    access->is_over = true;
    pthread_cond_broadcast(&access->event);
    pthread_mutex_unlock(&access->lock);
    return NULL;
}

void vs_access_reopen(struct vs_access *access) {
    if (!access) return;
    atomic_store(&access->reopens, true);
    alog_hurry(access);
}

/* ------------------------------------------------------------------ begin and end */

static void alog_let(struct vs_access *access) {
    pthread_cond_destroy(&access->event);
    pthread_mutex_destroy(&access->lock);
    if (access->fd >= 0) close(access->fd);
    free(access->ring);
    free(access);
}

static int alog_begin(struct vs_access *access, struct vesta_error *err) {
    int rc = vs_log_open_file("access log", access->path, &access->fd, err);
    if (rc != VESTA_OK) return rc;
    rc = vs_thread_start(&access->thread, alog_write_all, access);
    return rc == 0 ? VESTA_OK : vs_fail(err, VESTA_EIO, "cannot start the access log's thread: %s", strerror(rc));
}

int vs_access_open(const char *path, enum vs_log_format format, int loops, struct vs_access **out,
                   struct vesta_error *err) {
    struct vs_access *access = calloc(1, sizeof *access);
    struct ring *ring = calloc((size_t)loops, sizeof *ring);
    if (!access || !ring) return free(access), free(ring), vs_fail(err, VESTA_ENOMEM, "no memory for the access log");
    access->format = format, access->loops = loops, access->ring = ring, access->fd = -1;
    strncpy(access->path, path, PATH_BYTES - 1); /* the config rejects longer paths */
    pthread_mutex_init(&access->lock, NULL);
    vs_cond_init(&access->event);
    int rc = alog_begin(access, err);
    if (rc != VESTA_OK) return alog_let(access), rc;
    *out = access;
    return VESTA_OK;
}

void vs_access_close(struct vs_access *access, int64_t wait_ms) {
    if (!access) return;
    int64_t until_us = vs_monotonic_us() + wait_ms * 1000;
    pthread_mutex_lock(&access->lock);
    access->ending = true;
    pthread_cond_broadcast(&access->event);
    while (!access->is_over && vs_cond_wait(&access->event, &access->lock, until_us))
        ;
    bool is_over = access->is_over;
    pthread_mutex_unlock(&access->lock);
    if (!is_over) { /* the thread hangs in a disk write, and still uses `access` */
        pthread_detach(access->thread);
        return;
    }
    pthread_join(access->thread, NULL);
    alog_let(access);
}
