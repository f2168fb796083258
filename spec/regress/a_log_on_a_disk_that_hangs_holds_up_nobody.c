/* Regression: a thread held the log's lock during the write. If the log's disk hung, every thread that logged hung
 * as well, including the threads that issue ids. The first thread also reopened the file itself. In this spec the
 * log's disk hangs, and all other work must finish before the disk continues. */
#include "check.h"
#include "crowd.h"
#include "log/log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HANG_US_MAX 40000000 /* A longer wait is a failure. */
#define TIMES 3000

static _Atomic int hangs, hung; /* whether the disk hangs, and how many calls wait in it */

static void stay(void) {
    atomic_fetch_add(&hung, 1);
    while (atomic_load(&hangs))
        usleep(1000);
    atomic_fetch_sub(&hung, 1);
}

ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length) {
    if (atomic_load(&hangs)) stay();
    return __real_write(fd, bytes, length);
}

/* Ends the hang after the limit, so that the spec can fail with a message. */
static void *end_of_hang(void *unused) {
    for (int64_t us = 0; us < HANG_US_MAX && atomic_load(&hangs); us += 10000)
        usleep(10000);
    atomic_store(&hangs, 0);
    return unused;
}

static void is_still_in_it(const char *what) {
    if (!atomic_load(&hangs) || !atomic_load(&hung)) CHECK_FAIL("%s waited for the log's disk", what);
}

static void begin_hang(pthread_t *ends) {
    atomic_store(&hangs, 1);
    NEED(pthread_create(ends, NULL, end_of_hang, NULL) == 0);
    vs_log(VS_LOG_INFO, "this line hangs", NULL);
    while (!atomic_load(&hung) && atomic_load(&hangs))
        usleep(1000);
    is_still_in_it("a thread that logs");
}

static void end_hang(pthread_t ends) {
    atomic_store(&hangs, 0);
    pthread_join(ends, NULL);
}

static void *log_much(void *name) {
    for (int i = 0; i < TIMES; i++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "%s %d", (const char *)name, i);
        vs_log(VS_LOG_INFO, sentence, NULL);
    }
    return NULL;
}

static const char *logged(void) {
    static char text[1 << 20];
    int fd = open(in_folder("log"), O_RDONLY);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    close(fd);
    return text;
}

static long sum_after(const char *text, const char *mark) {
    long sum = 0;
    for (const char *at = text; (at = strstr(at, mark)); at += strlen(mark))
        sum += strtol(at + strlen(mark), NULL, 10);
    return sum;
}

static long times_of(const char *text, const char *mark) {
    long times = 0;
    for (const char *at = text; (at = strstr(at, mark)); at += strlen(mark))
        times++;
    return times;
}

static void await(const char *part) {
    for (int i = 0; i < HANG_US_MAX / 1000 && !strstr(logged(), part); i++)
        usleep(1000);
    CHECK_HAS(logged(), part);
}

/* The buffer has room for a fixed number of lines, and the others are counted. */
static void all_lines_are_told_of(const char *text) {
    long written = times_of(text, "msg=\"one ") + times_of(text, "msg=\"other "), lost = sum_after(text, " lost=");
    CHECK(written > 0);
    CHECK(lost > 0);
    CHECK_EQ_I64(written + lost, 2 * TIMES);
}

static void a_disk_hangs(void) {
    struct vesta_error err;
    pthread_t ends, thread[2];
    empty_folder();
    NEED(vs_log_setup(&(struct vs_log_opts){.level = VS_LOG_INFO, .path = in_folder("log")}, &err) == VESTA_OK);
    NEED(vs_log_begin(&err) == VESTA_OK);
    begin_hang(&ends);
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&thread[i], NULL, log_much, (char *[]){"one", "other"}[i]) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    is_still_in_it("a thread that logs much");
    vs_log_set_level(VS_LOG_DEBUG);
    vs_log_tick();
    vs_log_reopen();
    is_still_in_it("a new level, a tick, or who has the log opened anew");
    end_hang(ends);
    await("the log was reopened");
    vs_log(VS_LOG_INFO, "all is well", NULL);
    await("all is well");
    CHECK_HAS(logged(), "this line hangs");
    all_lines_are_told_of(logged());
    begin_hang(&ends);
    vs_log_end(VS_LOG_END_MS);
    is_still_in_it("the end of the log");
    end_hang(ends);
}

static const struct check_case cases[] = {
    {"a log with a hanging disk delays no thread that logs, sets the level, reopens the log or ends it", a_disk_hangs},
};

int main(int argc, char **argv) {
    return run_in_folder(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : NULL);
}
